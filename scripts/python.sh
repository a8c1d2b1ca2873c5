#!/usr/bin/env bash
# Runs Python in a virtual environment with scripts/requirements.txt, under the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(scripts/venv.sh scripts/requirements.txt)
exec "$venv/bin/python" "$@"
