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
    # Crates that are not for publishing need not build. In one workspace a crate is compiled once for itself and for
    # those that depend on it with the same features, which are still those of the one package that is built.
    printf '[workspace]\nresolver = "3"\nmembers = ["*"]\n[patch.crates-io]\n' >"$alone/Cargo.toml"
    cp Cargo.lock "$alone"
    local crates=(crates/*/)
    for package in "${crates[@]}"; do
        name=$(sed -n 's/^name = "\(.*\)"/\1/p' "$package/Cargo.toml" | head -n 1)
        tar -xzf "$target/package/$name"-[0-9]*.crate -C "$alone"
        mv "$alone/$name"-[0-9]* "$alone/$name"
        [ -f "$alone/$name/LICENSE" ] || { echo "error: $name has no LICENSE" >&2 && exit 1; }
        echo "$name.path = \"$name\"" >>"$alone/Cargo.toml"
    done
    # Versions are those of Cargo.lock, without the packages that none of the crates has.
    cargo metadata --manifest-path "$alone/Cargo.toml" --format-version 1 >/dev/null
    # In the tests' folder, with their profile for C libraries: dependencies of the same features are there already.
    printf '[profile.dev]\ndebug = false\n[profile.dev.package]\n' >>"$alone/Cargo.toml"
    grep -e '-sys.opt-level' Cargo.toml >>"$alone/Cargo.toml"
    export CARGO_TARGET_DIR="$target"
    cd "$alone"
    for package in */; do
        name=$(basename "$package")
        echo "$name"
        cargo build --quiet --locked -p "$name" --all-features --bins --examples
        # atds-cli has no library.
        [ ! -e "$name/src/lib.rs" ] || cargo test --quiet --locked -p "$name" --all-features --doc
    done
}

main
