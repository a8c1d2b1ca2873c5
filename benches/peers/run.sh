#!/usr/bin/env bash
# Builds the command and the Rust peers, installs the Python peers into virtual environments of their
# own under the target folder, and runs the comparison.
set -euo pipefail
cd "$(dirname "$0")/../.."

peers=benches/peers
target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"

main() {
    local tensorflow frames torch formats wheel venv
    cargo build --release --locked -p atds-cli -p atds-benches --bin atds --bin handwritten
    cargo build --release --locked --manifest-path "$peers/rust/Cargo.toml" --target-dir "$target/peers"
    tensorflow=$(environment tensorflow)
    frames=$(environment frames)
    formats=$(environment formats)
    # The large environment of the Python tests, with all frameworks.
    torch=$(scripts/venv.sh python/requirements/test.txt python/requirements/frameworks.txt)
    wheel=$(scripts/wheels.sh)
    for venv in "$tensorflow" "$torch" "$formats"; do
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel"
    done
    PYTHONPATH=benches exec "$tensorflow/bin/python" -m peers \
        "$target/release/atds" "$target/release/handwritten" "$target/peers/release/peers" \
        "$frames/bin/python" "$torch/bin/python" "$formats/bin/python" "$@"
}

# Prints the folder of the virtual environment NAME. Makes it if none has these requirements.
environment() {
    local requirements="$peers/requirements/$1.txt" python="${PYTHON:-python3.11}" hash folder
    hash=$(sha256sum "$requirements" | cut -c1-12)
    folder="$target/peers/$1-$hash"
    if [ ! -e "$folder/installed" ]; then
        if ! command -v "$python" >/dev/null; then
            echo "error: no $python; tensorflow-io needs Python 3.11, set PYTHON to it" >&2
            return 1
        fi
        echo "Installing $requirements into $folder" >&2
        "$python" -m venv --clear "$folder" >&2
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements" >&2
        touch "$folder/installed"
    fi
    echo "$folder"
}

main "$@"
