#!/usr/bin/env bash
# scaling.sh PART [ARGUMENT..]: runs a part of `make scaling`, or all of them.
# scaling.sh folder: only packs the folder of the part `cores`.
# scaling.sh pack ATDS FOLDER: packs it with a build that is there.
set -euo pipefail
cd "$(dirname "$0")/../.."

target="$(realpath -m "${CARGO_TARGET_DIR:-target}")"
folder="$target/scaling"
most_mib=60

main() {
    local part=$1
    shift
    case "$part" in
        pack) pack "$@" ;;
        folder)
            build_and_pack
            echo "packed; to measure here or elsewhere: $folder/run"
            ;;
        sleeping) sleeping "$@" ;;
        cores)
            build_and_pack
            "$folder/run" "$@"
            ;;
        all)
            sleeping
            build_and_pack
            "$folder/run" "$@"
            ;;
        *)
            echo "error: make scaling has no part '$part'; it has: sleeping, cores, all" >&2
            return 2
            ;;
    esac
}

sleeping() {
    cargo run --release --locked -p atds-test-formats --example sleeping -- "$@"
}

build_and_pack() {
    cargo build --release --locked -p atds-cli --bin atds
    pack "$target/release/atds" "$folder"
}

# The command, this program, and what it needs of benches/peers: all that another machine has to have
# is Python 3.10.
pack() {
    local atds=$1 folder=$2 size
    rm -rf "${folder:?}/lib"
    mkdir -p "$folder/lib/scaling" "$folder/lib/peers"
    install -m 755 "$atds" "$folder/atds"
    # Its debug information is most of it.
    if command -v strip >/dev/null; then strip "$folder/atds"; fi
    cp benches/scaling/{__init__,__main__,budget,cells,data,measure,report,together}.py "$folder/lib/scaling"
    cp benches/peers/{__init__,machine,plot,record,text}.py "$folder/lib/peers"
    install -m 755 benches/scaling/run "$folder/run"
    PYTHONPATH=benches python3 -c 'import json; from peers import machine; print(json.dumps(machine.versions()))' \
        >"$folder/versions.json"
    cat >"$folder/README.md" <<'END'
`./run` measures one pipeline of n threads beside n processes of one thread, in at most eight minutes, and writes `results/`.
It needs Linux and Python 3.10, no compiler, and 150 MB of disk for each core. `./run --help` lists its options.
END
    size=$(du -sm --exclude=results "$folder" | cut -f1)
    if [ "$size" -gt "$most_mib" ]; then
        echo "error: $folder has $size MiB, more than $most_mib" >&2
        return 1
    fi
}

main "$@"
