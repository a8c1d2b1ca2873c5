#!/usr/bin/env bash
# Runs all gates before a merge except for the tests, which scripts/test.sh runs.
source "$(dirname "$0")/steps.sh"

fuzz_seconds="${FUZZ_SMOKE_SECONDS:-5}"
all=(--workspace --all-features --locked)
tools="$target/tools"
export PATH="$tools/bin:$PATH"

main() {
    beside "wheel for release, and a build of the fuzz targets" build_beside
    step "tools" install_tools
    step "format" check_format
    # One of them, incompatible_msrv, holds the code to the rust-version of Cargo.toml.
    step "lints" cargo clippy "${all[@]}" --all-targets -- -D warnings
    step "each crate and codec alone" check_crates_alone
    step "documentation of the crates" check_documentation
    step "documentation site" scripts/docs.sh
    step "packages of the crates" scripts/packages.sh
    step "licences, bans and sources" check_dependencies
    step "public API against the last tag" check_public_api
    step "test data made again" remake_testdata
    step "records of comparisons, and texts that cite them" check_records
    step "faults, in their quick form" scripts/faults.sh --quick
    step "faults that each of these checks must find" scripts/faults.sh --quick --fault
    join
    step "fuzz targets, $fuzz_seconds s each" fuzz_smoke
    printf '\nAll %d steps passed in %d s.\n' "$step_number" "$SECONDS"
}

# What compiles longest, in folders of their own.
build_beside() {
    scripts/wheels.sh
    ! can_fuzz || QUICK_BUILD=1 scripts/fuzz.sh build
}

install_tools() {
    cargo fmt --version 2>/dev/null || rustup component add rustfmt
    cargo clippy --version 2>/dev/null || rustup component add clippy
    install_tool cargo-deny 0.20.2
    check_venv=$(scripts/venv.sh python/requirements/check.txt)
}

# Builds a tool once, without optimisation, into the target folder.
install_tool() {
    local name=$1 version=$2
    if ! "$tools/bin/$name" --version 2>/dev/null | grep -qwF "$version"; then
        CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug --root "$tools" "$name@$version"
    fi
    "$tools/bin/$name" --version
}

check_format() {
    cargo fmt --all --check
    cargo fmt --manifest-path fuzz/Cargo.toml --check
    "$check_venv/bin/ruff" check --no-cache .
    "$check_venv/bin/ruff" format --no-cache --check .
    "$check_venv/bin/cffconvert" --validate
}

# In a build of the workspace, a crate can depend on features that another crate enables.
check_crates_alone() {
    local crate codec
    for crate in atds-inflate atds-codec atds-btable atds-tfrecord avro-block avro-decode atds-features tensor-batch atds-shuffle atds-format atds-pipeline atds-sched atds-generate atds; do
        lint_alone "$crate" --no-default-features
    done
    for codec in deflate snappy zstandard bzip2 xz; do
        lint_alone atds-codec --no-default-features --features "$codec"
    done
    lint_alone atds-shuffle --all-features
}

lint_alone() {
    echo "-p $*"
    cargo clippy --quiet --locked -p "$@" -- -D warnings
}

check_documentation() {
    RUSTDOCFLAGS="-D warnings" cargo doc "${all[@]}" --no-deps
    scripts/python.sh scripts/check_readmes.py "$target/doc"
}

check_dependencies() {
    cargo deny --locked --all-features check bans licenses sources
    # The list of advisories is downloaded, which is not possible everywhere.
    if cargo deny --locked fetch db 2>"$target/deny-fetch.log"; then
        cargo deny --locked --all-features check advisories
    else
        echo "not checked: the advisories could not be fetched ($target/deny-fetch.log)"
    fi
}

check_public_api() {
    local tag
    if tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null); then
        install_tool cargo-semver-checks 0.51.0
        cargo semver-checks --workspace --baseline-rev "$tag"
    else
        echo "skipped: no version has been tagged yet"
    fi
}

remake_testdata() {
    scripts/python.sh scripts/make_testdata.py "$target/testdata" --compare testdata
    ATDS_TESTDATA="$target/testdata" cargo test "${all[@]}" --test interop
}

# The tables in README.md and docs/speed.md agree with their record, and cited records exist.
check_records() {
    PYTHONPATH=benches scripts/python.sh -m peers.report --check
}

# libFuzzer is C++ and is built from source.
can_fuzz() {
    [ "$(uname -s)" = Linux ] && command -v "${CXX:-c++}" >/dev/null
}

fuzz_smoke() {
    if can_fuzz; then
        # A fixed seed, so that chance does not decide about a merge.
        FUZZ_SEED=1 QUICK_BUILD=1 scripts/fuzz.sh "$fuzz_seconds"
    else
        echo "skipped: needs Linux and a C++ compiler"
    fi
}

main
