#!/usr/bin/env bash
# Builds the wheel of the Python package and prints its path: for the oldest Linux that the toolchain here allows.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$(scripts/venv.sh python/requirements/build.txt)
wheels="$(realpath -m "${CARGO_TARGET_DIR:-target}")/wheels"
rm -rf "$wheels"
"$venv/bin/python" scripts/notices.py
PATH="$venv/bin:$PATH" "$venv/bin/maturin" build --release --locked --quiet --manifest-path python/Cargo.toml \
    --interpreter "$venv/bin/python" --out "$wheels" >&2
ls "$wheels"/avro_tensor_dataset-*.whl
