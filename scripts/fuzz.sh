#!/usr/bin/env bash
# Runs the fuzz targets: scripts/fuzz.sh [SECONDS [TARGET..]]
#
# Plain libFuzzer on the stable toolchain, without cargo-fuzz. Each target starts from fuzz/seeds/TARGET
# (committed) and fuzz/artifacts/TARGET (found before), and collects what it learns in fuzz/corpus/TARGET
# (not committed). FUZZ_SEED=N repeats a run's choices. With ASAN=1 it runs under AddressSanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds="${1:-60}"
shift || true
host=$(rustc -vV | sed -n 's/^host: //p')
target_dir="$(realpath -m "${CARGO_TARGET_DIR:-target}")/fuzz"
toolchain=()
rss_limit_mb=2048
# What cargo-fuzz passes too. With --target, build scripts are left without it.
flags=(
    -Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares
    -Cllvm-args=-simplifycfg-branch-fold-threshold=0
    -Cdebug-assertions
    -Ccodegen-units=1
    --cfg=fuzzing
)

main() {
    if [ "${ASAN:-0}" = 1 ]; then
        use_address_sanitizer
    fi
    local names=("$@")
    if [ ${#names[@]} = 0 ]; then
        mapfile -t names < <(basename -s .rs fuzz/fuzz_targets/*.rs)
    fi
    build "${names[@]}"
    local name
    for name in "${names[@]}"; do
        fuzz "$name"
    done
}

use_address_sanitizer() {
    flags+=(-Zsanitizer=address)
    target_dir+="-asan"
    # Its shadow memory and its quarantine of freed memory count too.
    rss_limit_mb=4096
    # The C libraries are instrumented too, and libdeflate has constants of one name in several files.
    export ASAN_OPTIONS="detect_odr_violation=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
    if cargo +nightly --version >/dev/null 2>&1; then
        toolchain=(+nightly)
    else
        export RUSTC_BOOTSTRAP=1
    fi
}

build() {
    local bins=() name
    for name in "$@"; do
        bins+=(--bin "$name")
    done
    RUSTFLAGS="${flags[*]}" cargo "${toolchain[@]}" build --manifest-path fuzz/Cargo.toml --locked --release \
        --target "$host" --target-dir "$target_dir" "${bins[@]}"
}

fuzz() {
    local name=$1 log="$target_dir/$1.log" folders=("fuzz/corpus/$1") folder
    mkdir -p "fuzz/corpus/$name" "fuzz/artifacts/$name"
    for folder in "fuzz/seeds/$name" "fuzz/artifacts/$name"; do
        if [ -d "$folder" ]; then folders+=("$folder"); fi
    done
    printf '%-24s ' "$name"
    if "$target_dir/$host/release/$name" -max_total_time="$seconds" -seed="${FUZZ_SEED:-0}" -rss_limit_mb="$rss_limit_mb" -timeout=25 \
        -artifact_prefix="fuzz/artifacts/$name/" "${folders[@]}" >"$log" 2>&1; then
        # The last line of progress: how often it ran and what it covers.
        sed -n 's/^#\([0-9]*\)\tDONE *\(cov: [0-9]*\).*/\1 runs, \2/p' "$log"
    else
        printf 'FAILED\n\n' && tail -n 60 "$log" && printf '\nfull log: %s\n' "$log"
        exit 1
    fi
}

main "$@"
