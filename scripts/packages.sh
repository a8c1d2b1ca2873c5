#!/usr/bin/env bash
# Packages the crates, and builds each from its package alone, with its examples and documentation examples.
set -euo pipefail
cd "$(dirname "$0")/.."

target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
alone="$target/package/alone"

main() {
    local log="$target/package.log" package name
    mkdir -p "$target"
    rm -f "$target"/package/*.crate
    # Without Cargo's own build of each package: the one below has the examples too.
    cargo package --workspace --locked --allow-dirty --no-verify 2>&1 | tee "$log"
    if grep -q '^warning' "$log"; then
        echo "error: there are warnings" >&2
        exit 1
    fi
    rm -rf "$alone"
    mkdir -p "$alone"
    # Crates that are not for publishing need not build.
    local crates=(crates/*/) patches=()
    for package in "${crates[@]}"; do
        name=$(sed -n 's/^name = "\(.*\)"/\1/p' "$package/Cargo.toml" | head -n 1)
        tar -xzf "$target/package/$name"-[0-9]*.crate -C "$alone"
        mv "$alone/$name"-[0-9]* "$alone/$name"
        [ -f "$alone/$name/LICENSE" ] || { echo "error: $name has no LICENSE" >&2 && exit 1; }
        patches+=(--config "patch.crates-io.$name.path='$alone/$name'")
    done
    export CARGO_TARGET_DIR="$target/package/target" CARGO_PROFILE_DEV_DEBUG=0
    for package in "$alone"/*/; do
        echo "$(basename "$package")"
        cd "$package"
        cargo "${patches[@]}" build --quiet --all-features --bins --examples
        # atds-cli has no library.
        [ ! -e src/lib.rs ] || cargo "${patches[@]}" test --quiet --all-features --doc
    done
    # More than a gigabyte that nothing else uses.
    rm -rf "$CARGO_TARGET_DIR"
}

main
