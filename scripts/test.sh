#!/usr/bin/env bash
# Tests the Rust crates and the Python package, also with files by other writers. FRAMEWORKS=all installs PyTorch,
# TensorFlow and DuckDB and adds their tests. scripts/check.sh runs all other gates.
source "$(dirname "$0")/steps.sh"

# One set of packages and features: each dependency is compiled once.
all=(--workspace --all-features --locked)
# Without it, PyO3 links the module to the library of one Python.
export PYO3_BUILD_EXTENSION_MODULE=1

main() {
    beside "Python packages" install_python
    step "build" cargo build "${all[@]}" --lib --bins --tests --examples
    join
    beside "threads in all orders, under loom" test_models
    step "Rust tests" test_crates
    join
    step "programs that measure, and the judge of faults" test_programs
    step "workers find work in time, and few are woken" measure_workers
    step "generated files as fastavro reads them" read_generated
    step "Python package" test_package
    printf '\nAll %d steps passed in %d s.\n' "$step_number" "$SECONDS"
}

install_python() {
    scripts/venv.sh scripts/requirements.txt
    scripts/venv.sh python/requirements/build.txt
    scripts/venv.sh
}

# Many tests sleep or wait for threads of their own: twice as many at a time as there are cores.
test_crates() {
    RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((2 * $(getconf _NPROCESSORS_ONLN)))}" cargo test "${all[@]}"
}

# A build of its own, in which locks are loom's. Optimised, since each model runs thousands of times.
test_models() {
    RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" CARGO_PROFILE_DEV_OPT_LEVEL=2 \
        cargo test --locked -p tensor-batch -p atds-pipeline --lib --target-dir "$target/loom" models::
    # For a later step.
    cargo build --release --locked -p atds-test-formats --example sleeping
}

# Statistics and tables, a short run without its speed, and logs of consumers.
test_programs() {
    ATDS="$target/debug/atds" PYTHONPATH=benches scripts/python.sh -m unittest discover --buffer --start-directory benches
    scripts/python.sh -m unittest discover --buffer --start-directory faults --top-level-directory .
}

# The one timed test. A case below its bound is measured again, since the machine may be busy.
measure_workers() {
    sleeping --threads 16
    sleeping --threads 2,16,64 --slow-consumer
}

sleeping() {
    cargo run --release --locked -p atds-test-formats --example sleeping -- "$@" --again 2 --check
}

read_generated() {
    scripts/python.sh scripts/make_generated.py "$target/debug/atds" "$target/generated"
    ATDS_TESTDATA="$target/generated" \
        cargo test "${all[@]}" --test interop -- head_prints_what_fastavro_reads
}

# Packs the module of the test build as a wheel. `make wheels` builds wheels for release.
test_package() {
    local venv folder="$target/package"
    venv=$(scripts/venv.sh python/requirements/build.txt)
    rm -rf "$folder"
    mkdir -p "$folder/wheel"
    tar -C python -c --exclude=__pycache__ --exclude='*.so' atds | tar -C "$folder/wheel" -x
    cp "$target/debug/lib_native.so" "$folder/wheel/atds/_native.abi3.so"
    "$venv/bin/python" scripts/notices.py
    (cd python && PATH="$venv/bin:$PATH" maturin pep517 write-dist-info --quiet \
        --metadata-directory "$folder/wheel" --interpreter "$venv/bin/python")
    "$venv/bin/python" -m wheel pack "$folder/wheel" --dest-dir "$folder"
    scripts/test_python.sh "$folder"/*.whl
}

main
