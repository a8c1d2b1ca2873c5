#!/usr/bin/env bash
# Prints the folder of a virtual environment with the given requirements files, for the first Python found. Without any, with
# those of the Python tests; FRAMEWORKS=all adds the large frameworks. The folder is under the target folder, named by the
# hash of the requirements, and made once.
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints the first Python that the pinned requirements support.
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

if [ $# = 0 ]; then
    set -- python/requirements/test.txt
    [ "${FRAMEWORKS:-}" != all ] || set -- "$@" python/requirements/frameworks.txt
fi
python=$(find_python)
hash=$({ "$python" -VV && cat "$@"; } | sha256sum | cut -c1-16)
venv="$(realpath -m "${CARGO_TARGET_DIR:-target}")/venvs/$hash"
if [ ! -e "$venv/installed" ]; then
    echo "Installing $* into $venv" >&2
    "$python" -m venv --clear "$venv"
    requirements=("$@")
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${requirements[@]/#/--requirement=}" >&2
    touch "$venv/installed"
fi
echo "$venv"
