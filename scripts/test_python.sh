#!/usr/bin/env bash
# Installs a wheel of the Python package and tests the installed package, not the sources. FRAMEWORKS=all installs the large
# frameworks too, and makes a skipped test a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

wheel=$1
venv=$(scripts/venv.sh)
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"

# In another folder, where Python does not find the sources in place of the package.
config="$PWD/python/pyproject.toml"
tests="$PWD/python/tests"
examples="$PWD/scripts/examples.py"
export ATDS_FRAMEWORKS="${FRAMEWORKS:-}"
cd "$venv"

# Each framework runs in its own process, because some fail to fork beside another framework's threads.
run() {
    local status=0
    bin/pytest --config-file "$config" --rootdir "$(dirname "$tests")" -p no:cacheprovider "$@" || status=$?
    # 5: no tests without that framework.
    [ "$status" = 0 ] || { [ "$status" = 5 ] && [ "$ATDS_FRAMEWORKS" != all ]; }
}
run_torch() {
    run "$tests"/test_torch*.py && bin/python "$examples"
}
run_others() {
    bin/mypy --config-file "$config" --package atds &&
        bin/stubtest --mypy-config-file "$config" atds._native &&
        run "$tests/test_processes.py" &&
        run --ignore-glob="$tests/test_torch*" --ignore="$tests/tf" --ignore="$tests/test_processes.py" "$tests" &&
        run "$tests/tf"
}
# PyTorch's tests wait for processes that start: others run beside them, and print before them. What has failed comes last.
run_torch >"$venv/torch.log" 2>&1 &
torch=$!
run_others || {
    wait
    exit 1
}
status=0
wait "$torch" || status=$?
cat "$venv/torch.log"
exit "$status"
