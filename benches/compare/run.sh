#!/usr/bin/env bash
# Builds the command, installs requirements.txt in a virtual environment, and runs compare.py.
set -euo pipefail
cd "$(dirname "$0")/../.."

target="${CARGO_TARGET_DIR:-target}"
venv="$target/compare-venv"
requirements=benches/compare/requirements.txt

cargo build --release --locked -p atds-cli

# Installed anew only when the requirements change.
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
    python="${PYTHON:-python3.11}"
    if ! command -v "$python" >/dev/null; then
        echo "error: no $python; tensorflow-io needs Python 3.11, set PYTHON to it" >&2
        exit 1
    fi
    echo "Installing $requirements into $venv" >&2
    "$python" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
    cp "$requirements" "$venv/requirements.txt"
fi
exec "$venv/bin/python" benches/compare/compare.py --atds "$target/release/atds" "$@"
