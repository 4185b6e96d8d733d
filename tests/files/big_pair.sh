#!/usr/bin/env bash
# Encode of a pair of large files: peak memory, and speed beside the disk's own sequential reading
# of the same files (one after the other, or both at once: the faster), in turn:
#     tests/files/big_pair.sh [FOLDER] [TENSORS] [ROUNDS]
# One tensor is 32 MiB of either file; 128 make a pair of 4 GiB. Needs build/ of preset `check`.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d "${1:-/tmp}/refit-big-XXXXXX")
tensors=${2:-128}
rounds=${3:-5}
trap 'rm -rf "$folder"' EXIT

base=$folder/base.safetensors
next=$folder/next.safetensors
"$root/build/tests/files/make_pair" "$base" "$next" "$tensors" 10000
sync

# Dropped from the page cache, by the files' owner; no rights are needed.
forget() {
    dd if="$base" iflag=nocache count=0 status=none
    dd if="$next" iflag=nocache count=0 status=none
}

encode() {
    "$root/build/refit" --quiet encode --base "$base" --new "$next" -o "$folder/d.rfd" \
        --codec index-value >/dev/null
}

read_in_turn() { cat "$base" "$next" >/dev/null; }

read_at_once() {
    cat "$base" >/dev/null &
    cat "$next" >/dev/null
    wait
}

# Milliseconds a command takes with nothing of the files in memory.
cold_ms() {
    forget
    local start
    start=$(date +%s%N)
    "$@"
    echo $((($(date +%s%N) - start) / 1000000))
}

for round in $(seq "$rounds"); do
    in_turn=$(cold_ms read_in_turn)
    encoded=$(cold_ms encode)
    at_once=$(cold_ms read_at_once)
    best=$((in_turn < at_once ? in_turn : at_once))
    printf 'round %s: %d MiB read in %d ms, both at once in %d ms, encoded in %d ms: %d %% of the rate\n' \
        "$round" $((tensors * 64)) "$in_turn" "$at_once" "$encoded" $((best * 100 / encoded))
done
if [ -x /usr/bin/time ]; then
    /usr/bin/time -f 'peak memory of encode: %M KiB' "$root/build/refit" --quiet encode \
        --base "$base" --new "$next" -o "$folder/d.rfd" --codec index-value >/dev/null
    /usr/bin/time -f 'peak memory of apply: %M KiB' "$root/build/refit" --quiet apply \
        --base "$base" --delta "$folder/d.rfd" -o "$folder/out.safetensors" >/dev/null
    cmp "$folder/out.safetensors" "$next"
fi
