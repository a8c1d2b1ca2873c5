#!/usr/bin/env bash
# Runs the fuzz targets with cargo-fuzz: scripts/fuzz.sh [SECONDS [TARGET..]], or only builds all: scripts/fuzz.sh build
#
# Each target starts from fuzz/corpus/TARGET: the committed seeds, and inputs found on this machine. FUZZ_SEED=N repeats
# the choices of a run. ASAN=1 enables AddressSanitizer. QUICK_BUILD=1 builds in half the time, for short runs: an input takes
# up to twice as long.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.13.2
seconds="${1:-60}"
shift || true
target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
target_dir="$target/fuzz"
toolchain=()
sanitizer=none
options=()
rss_limit_mb=2048

main() {
    if [ "${ASAN:-0}" = 1 ]; then
        use_address_sanitizer
    fi
    if [ "${QUICK_BUILD:-0}" = 1 ]; then
        # Without the line tables that cargo-fuzz asks for: they take disk, and a panic names its line without them.
        export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 RUSTFLAGS="${RUSTFLAGS:-} -Cdebuginfo=0 -Cstrip=debuginfo"
        options=(--codegen-units 16)
        target_dir+="-quick"
    fi
    install_cargo_fuzz
    # cargo-fuzz has no option --locked.
    cargo metadata --manifest-path fuzz/Cargo.toml --locked --format-version 1 >/dev/null
    local names=("$@")
    if [ ${#names[@]} = 0 ]; then
        mapfile -t names < <(cargo fuzz list)
        cargo_fuzz build
    fi
    [ "$seconds" != build ] || return 0
    # Two at a time, which end together.
    local at
    for ((at = 0; at < ${#names[@]}; at += 2)); do
        fuzz "${names[at]}" &
        [ -z "${names[at + 1]:-}" ] || fuzz "${names[at + 1]}"
        wait $!
    done
}

use_address_sanitizer() {
    sanitizer=address
    target_dir+="-asan"
    # The limit includes its shadow memory and its quarantine of freed memory.
    rss_limit_mb=4096
    if cargo +nightly --version >/dev/null 2>&1; then
        toolchain=(+nightly)
    else
        export RUSTC_BOOTSTRAP=1
    fi
}

# Builds cargo-fuzz once, without optimisation, into the target folder.
install_cargo_fuzz() {
    local tools="$target/tools"
    export PATH="$tools/bin:$PATH"
    if [ "$("$tools/bin/cargo-fuzz" --version 2>/dev/null)" != "cargo-fuzz $version" ]; then
        CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug --root "$tools" "cargo-fuzz@$version"
    fi
}

cargo_fuzz() {
    local command=$1
    shift
    cargo "${toolchain[@]}" fuzz "$command" -s "$sanitizer" --target-dir "$target_dir" "${options[@]}" "$@"
}

fuzz() {
    local name=$1 log="$target_dir/$1.log"
    mkdir -p "$target_dir"
    # A run must have seeds, and end in time.
    if cargo_fuzz run "$name" -- -max_total_time="$seconds" -seed="${FUZZ_SEED:-0}" \
        -rss_limit_mb="$rss_limit_mb" -timeout=25 >"$log" 2>&1 && grep -q 'INFO: seed corpus: files: ' "$log"; then
        # The last line of progress has the number of runs and the coverage.
        printf '%-24s %s\n' "$name" "$(sed -n -e 's/^INFO: seed corpus: files: \([0-9]*\) .*/\1 inputs, /p' \
            -e 's/^#\([0-9]*\)\tDONE *\(cov: [0-9]*\).*/\1 runs, \2/p' "$log" | tr -d '\n')"
    else
        printf '%-24s FAILED\n\n' "$name" && tail -n 60 "$log" && printf '\nfull log: %s\n' "$log"
        exit 1
    fi
}

main "$@"
