#!/usr/bin/env bash
# Everything that must hold before a change is merged, step by step; stops at the first failure.
set -euo pipefail
cd "$(dirname "$0")/.."

target="${CARGO_TARGET_DIR:-target}"
fuzz_seconds="${FUZZ_SMOKE_SECONDS:-5}"

main() {
    step "tools" install_tools
    step "format" check_format
    step "lints" cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
    step "each crate alone" check_crates_alone
    step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps --locked
    step "tests" cargo test --workspace --all-features --locked
    step "test data made again" remake_testdata
    step "tests on the new test data" env ATDS_TESTDATA="$(realpath -m "$target/testdata")" \
        cargo test --workspace --all-features --locked --test interop
    step "generated files as fastavro reads them" read_generated
    step "the Python package's wheel" build_wheel
    step "the Python package" test_wheel
    step "papers of the latest comparison" check_papers
    step "fuzz targets, $fuzz_seconds s each" fuzz_smoke
    echo "All $number steps passed in $SECONDS s."
}

install_tools() {
    cargo fmt --version 2>/dev/null || rustup component add rustfmt
    cargo clippy --version 2>/dev/null || rustup component add clippy
}

check_format() {
    cargo fmt --all --check
    cargo fmt --manifest-path fuzz/Cargo.toml --check
}

# Within the workspace, a crate could lean on features that another one turns on.
check_crates_alone() {
    local crate codec
    for crate in atds-inflate avro-block avro-decode tensor-batch atds-shuffle atds-sched atds; do
        lint_alone "$crate" --no-default-features
    done
    for codec in deflate snappy zstandard bzip2 xz; do
        lint_alone avro-block --no-default-features --features "$codec"
    done
    lint_alone atds-shuffle --all-features
}

lint_alone() {
    echo "-p $*"
    cargo clippy --quiet --locked -p "$@" -- -D warnings
}

remake_testdata() {
    scripts/python.sh scripts/make_testdata.py "$target/testdata" --compare testdata
}

# What the README says of other readers is what the record has.
check_papers() {
    PYTHONPATH=benches scripts/python.sh -m peers.report --check
}

# The command was built for the tests.
read_generated() {
    scripts/python.sh scripts/make_generated.py "$target/debug/atds" "$target/generated"
    ATDS_TESTDATA="$(realpath -m "$target/generated")" \
        cargo test -p atds-cli --all-features --locked --test interop
}

build_wheel() {
    wheel=$(scripts/wheel.sh)
    echo "$wheel"
}

test_wheel() {
    scripts/test_python.sh "$wheel"
}

# libFuzzer is C++ and is built from source.
fuzz_smoke() {
    if [ "$(uname -s)" = Linux ] && command -v "${CXX:-c++}" >/dev/null; then
        # The same choices every time: what is merged is not held up by chance.
        FUZZ_SEED=1 scripts/fuzz.sh "$fuzz_seconds"
    else
        echo "skipped: needs Linux and a C++ compiler"
    fi
}

number=0
current=""
step() {
    number=$((number + 1))
    current="$number. $1"
    local started=$SECONDS
    printf '\n==> %s\n' "$current"
    shift
    "$@"
    printf '==> %s: passed in %d s\n' "$current" $((SECONDS - started))
    current=""
}

report_failure() {
    [ -z "$current" ] || printf '\n==> %s: FAILED\n' "$current" >&2
}
trap report_failure EXIT

main
