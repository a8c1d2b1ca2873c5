#!/usr/bin/env bash
# Compares the Python package with tensorflow-io, value by value. It has its own environment, because tensorflow-io is built
# for another TensorFlow than the other tests use.
set -euo pipefail
cd "$(dirname "$0")/.."

wheel=$(scripts/wheels.sh)
venv=$(PYTHON="${PYTHON:-python3.11}" scripts/venv.sh python/requirements/peers.txt)
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"
exec "$venv/bin/python" python/tests/peers/compare_tensorflow_io.py "$@"
