#!/usr/bin/env bash
# Injects faults into the command and the Python package: scripts/faults.sh [--quick] [--fault] [--only NAME..]; see
# faults/README.md. FRAMEWORKS=all has half of the killed consumers read through torchdata's StatefulDataLoader.
set -euo pipefail
cd "$(dirname "$0")/.."

target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
venv=$(scripts/venv.sh)

# The build of the tests, in which overflows panic, too.
PYO3_BUILD_EXTENSION_MODULE=1 cargo build --quiet --workspace --all-features --locked --lib --bins
package="$target/faults"
rm -rf "$package"
mkdir -p "$package"
tar -C python -c --exclude=__pycache__ --exclude='*.so' atds | tar -C "$package" -x
cp "$target/debug/lib_native.so" "$package/atds/_native.abi3.so"
PYTHONPATH="$package" exec "$venv/bin/python" -m faults --atds "${ATDS:-$target/debug/atds}" "$@"
