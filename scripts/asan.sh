#!/usr/bin/env bash
# Tests the pipeline, its batches and its formats under AddressSanitizer, in a build of its own. Memory that is lost is
# an error, too.
set -euo pipefail
cd "$(dirname "$0")/.."

target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
host="$(rustc --version --verbose | sed -n 's/^host: //p')"
toolchain=()
if cargo +nightly --version >/dev/null 2>&1; then
    toolchain=(+nightly)
else
    export RUSTC_BOOTSTRAP=1
fi
# Without --target, build scripts and macros would be built with it, too. The test that is left out is timed: here, a
# worker decodes too slowly for one worker to do.
RUSTFLAGS="${RUSTFLAGS:-} -Zsanitizer=address" cargo "${toolchain[@]}" test --locked --target "$host" \
    --target-dir "$target/asan" -p tensor-batch -p atds-sched -p atds-pipeline -p atds-test-formats --tests "$@" \
    -- --skip one_worker_does_nine_tenths
