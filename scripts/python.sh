#!/usr/bin/env bash
# Runs Python with scripts/requirements.txt installed, in a virtual environment under the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(scripts/venv.sh scripts/requirements.txt)
exec "$venv/bin/python" "$@"
