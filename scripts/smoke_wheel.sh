#!/usr/bin/env bash
# Tests a wheel with each installed CPython from 3.10 on: scripts/smoke_wheel.sh WHEEL [PYTHON..]
set -euo pipefail
cd "$(dirname "$0")/.."

wheel=$(realpath "$1")
shift
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT

print_version='
import sys
assert sys.version_info >= (3, 10)
print(*sys.version_info[:3], sep=".")
'

main() {
    local python version
    [ $# -gt 0 ] || set -- python3 python3.{10..20}
    for python in "$@"; do
        if version=$("$python" -c "$print_version" 2>/dev/null) && [ ! -e "$folder/$version" ]; then
            try "$python" "$folder/$version"
        fi
    done
}

try() {
    local python=$1 venv=$2
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"
    cd "$venv"
    bin/atds generate data --records 1000 --files 2 >/dev/null
    bin/python - <<'EOF'
import platform
import atds
import numpy
batches = atds.Dataset("data", 100, shuffle_buffer_size=300)
steps = [batch.num_records for batch in batches]
assert steps == [100] * 10, steps
print(f"CPython {platform.python_version()}, numpy {numpy.__version__}: the wheel works")
EOF
    cd - >/dev/null
}

main "$@"
