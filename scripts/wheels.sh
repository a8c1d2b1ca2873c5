#!/usr/bin/env bash
# Builds the wheel of the Python package, checks it, and prints its path: scripts/wheels.sh [TARGET]
#
# TARGET is a Rust target. The default, x86_64-unknown-linux-gnu, gives a wheel for Linux with glibc 2.17 or later
# (manylinux2014) and CPython 3.10 or later. Other targets are untried. rustup must have them. zig links wheels for Linux;
# wheels for other systems need the linker of their Rust target.
set -euo pipefail
cd "$(dirname "$0")/.."

rust_target="${1:-x86_64-unknown-linux-gnu}"
glibc=2.17
wheels="$(realpath -m "${CARGO_TARGET_DIR:-target}")/wheels"

main() {
    local made wheel
    made=$(mktemp -d)
    build "$made" >&2
    mkdir -p "$wheels"
    wheel="$wheels/$(cd "$made" && ls avro_tensor_dataset-*.whl)"
    mv -f "$made"/*.whl "$wheel"
    rmdir "$made"
    case "$rust_target" in
    *-linux-gnu*) check_glibc "$wheel" >&2 ;;
    esac
    if [ "$(rustc -vV | sed -n 's/^host: //p')" = "$rust_target" ]; then
        scripts/smoke_wheel.sh "$wheel" >&2
    fi
    echo "$wheel"
}

build() {
    local venv options=()
    venv=$(scripts/venv.sh python/requirements/build.txt python/requirements/zig.txt)
    case "$rust_target" in
    # The linker of zig knows the symbols of each glibc, the linker of the system only those of its own.
    *-linux-gnu*) options=(--zig --compatibility manylinux2014 --auditwheel check) ;;
    *-linux-musl*) options=(--zig --compatibility musllinux_1_2 --auditwheel check) ;;
    esac
    "$venv/bin/python" scripts/notices.py
    PATH="$venv/bin:$PATH" maturin build --release --locked --quiet --manifest-path python/Cargo.toml \
        --interpreter "$venv/bin/python" --target "$rust_target" "${options[@]}" --out "$1"
}

# Checks the newest version of glibc that the module needs.
check_glibc() {
    local module newest
    module=$(mktemp)
    unzip -p "$1" 'atds/_native*' >"$module"
    newest=$(objdump -T "$module" | grep -o 'GLIBC_[0-9.]*' | cut -d_ -f2 | sort -uV | tail -n 1)
    rm "$module"
    echo "needs glibc $newest; the bound is $glibc"
    [ "$(printf '%s\n' "$newest" "$glibc" | sort -V | tail -n 1)" = "$glibc" ]
}

main
