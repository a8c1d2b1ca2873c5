# scripts/test.sh and scripts/check.sh source it. It runs named steps and stops at the first failure. One step at a time may
# run beside the others.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
step_number=0
step_name=""
beside_name=""
beside_process=""
beside_log="$target/beside.log"

# step NAME COMMAND [ARGUMENT..]
step() {
    step_number=$((step_number + 1))
    step_name="$step_number. $1"
    local started=$SECONDS
    printf '\n==> %s\n' "$step_name"
    shift
    "$@"
    printf '==> %s: passed in %d s\n' "$step_name" $((SECONDS - started))
    step_name=""
}

# beside NAME COMMAND [ARGUMENT..]
#
# Begins a step that runs beside the next ones, since compilers and installers use one core for long. What it prints is
# printed by `join`, which waits for it.
beside() {
    step_number=$((step_number + 1))
    beside_name="$step_number. $1"
    shift
    printf '\n==> %s: begins, beside the next steps\n' "$beside_name"
    mkdir -p "$target"
    # A process group of its own, so that its compilers end with it.
    set -m
    (
        SECONDS=0
        "$@"
        printf '==> %s: passed in %d s\n' "$beside_name" "$SECONDS"
    ) </dev/null >"$beside_log" 2>&1 &
    beside_process=$!
    set +m
}

join() {
    local status=0
    wait "$beside_process" || status=$?
    beside_process=""
    step_name=$beside_name
    printf '\n==> %s\n' "$step_name"
    cat "$beside_log"
    [ "$status" = 0 ]
    step_name=""
}

report_failure() {
    [ -z "$beside_process" ] || kill -- "-$beside_process" 2>/dev/null || true
    [ -n "$step_name" ] || return
    # A full disk is a frequent reason, and what compilers say of it is easily missed.
    df -h "$target" >&2 || true
    printf '\n==> %s: FAILED\n' "$step_name" >&2
}
trap report_failure EXIT
