# scripts/test.sh and scripts/check.sh source it. It runs named steps and stops at the first failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
step_number=0
step_name=""

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

report_failure() {
    [ -n "$step_name" ] || return
    # A full disk is a frequent reason, and what compilers say of it is easily missed.
    df -h "$target" >&2 || true
    printf '\n==> %s: FAILED\n' "$step_name" >&2
}
trap report_failure EXIT
