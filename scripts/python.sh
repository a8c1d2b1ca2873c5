#!/usr/bin/env bash
# Runs Python with scripts/requirements.txt installed, in a virtual environment under the target folder.
set -euo pipefail
cd "$(dirname "$0")/.."

venv="${CARGO_TARGET_DIR:-target}/venv"

# The first Python that the pinned writers can run on.
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "error: no Python 3.11 or later; set PYTHON to one" >&2
    return 1
}

# Installed anew only when the requirements change.
if ! cmp -s scripts/requirements.txt "$venv/requirements.txt"; then
    python=$(find_python)
    echo "Installing scripts/requirements.txt into $venv" >&2
    "$python" -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r scripts/requirements.txt
    cp scripts/requirements.txt "$venv/requirements.txt"
fi
exec "$venv/bin/python" "$@"
