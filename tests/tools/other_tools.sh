#!/usr/bin/env bash
# Other people's tools on the same two files: tests/tools/other_tools.sh BASE NEW
# BASE and NEW are safetensors files of 16-bit parameters. Prints what each tool needs to make NEW
# from BASE, in bits per parameter and in seconds of wall time, beside `refit encode`. Every result
# is decoded and compared with NEW before it is printed; what is missing is skipped with a reason.
#   REFIT    the program (default: build/refit beside this repository's root)
#   PYTHON   an interpreter that may have zipnn or openzl (default: python3)
set -euo pipefail

say() { printf '%s\n' "$*"; }
die() {
    say "$0: $*" >&2
    exit 2
}

[ $# -eq 2 ] || die "takes two safetensors files: BASE NEW"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
readonly BASE=$1 NEW=$2 REFIT=${REFIT:-$root/build/refit} PYTHON=${PYTHON:-python3}
for file in "$BASE" "$NEW"; do [ -f "$file" ] || die "no such file: $file"; done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
readonly XOR=$folder/xor PACKED=$folder/packed BACK=$folder/back
readonly BSDIFF_BYTES_MAX=$((64 << 20)) # its memory is 17 times the file

bytes=$(stat -L -c %s "$NEW")
header=$(od -An -t u8 -N 8 "$NEW" | tr -d ' ')
if [ -z "$header" ] || [ ${#header} -gt 9 ] || [ "$header" -lt 2 ] ||
    [ "$header" -ge $((bytes - 9)) ]; then
    die "$NEW is not a safetensors file"
fi
words=$(((bytes - 8 - header) / 2))
row() { printf '%-22s %12s %12s %10s %10s\n' "$@"; }
skip() { printf '%-22s skipped: %s\n' "$1" "$2"; }
now() { date +%s.%N; }
since() { awk -v from="$1" -v to="$2" 'BEGIN { printf "%.2f", to - from }'; }

# tool NAME ENCODE DECODE: two shell functions that write $PACKED and, from it and the base, $BACK.
tool() {
    local name=$1 encode=$2 decode=$3 from middle end size
    rm -rf "$PACKED" "$BACK"
    from=$(now)
    if ! "$encode" >"$folder/log" 2>&1; then
        printf '%-22s FAILED to encode: %s\n' "$name" "$(tail -n 1 "$folder/log")"
        return
    fi
    middle=$(now)
    if ! "$decode" >"$folder/log" 2>&1; then
        printf '%-22s FAILED to decode: %s\n' "$name" "$(tail -n 1 "$folder/log")"
        return
    fi
    end=$(now)
    if ! cmp -s "$BACK" "$NEW"; then
        printf '%-22s FAILED: what it decodes differs from %s\n' "$name" "$NEW"
        return
    fi
    size=$(stat -c %s "$PACKED")
    row "$name" "$size" "$(awk -v s="$size" -v w="$words" 'BEGIN { printf "%.4f", s * 8 / w }')" \
        "$(since "$from" "$middle")" "$(since "$middle" "$end")"
}

# needs NAME PROGRAM: is it here?
needs() {
    command -v "$2" >/dev/null && return 0
    skip "$1" "$2 is not installed"
    return 1
}

refit_encode() { "$REFIT" encode --base "$BASE" --new "$NEW" -o "$PACKED" --codec xc --quiet; }
refit_decode() { "$REFIT" apply --base "$BASE" --delta "$PACKED" -o "$BACK" --quiet; }

# A window as long as both files, or a match with the base is out of reach.
zstd_encode() { zstd -q -f "-$LEVEL" --long=31 --patch-from="$BASE" "$NEW" -o "$PACKED"; }
zstd_decode() { zstd -q -f -d --long=31 --patch-from="$BASE" "$PACKED" -o "$BACK"; }
xdelta_encode() { xdelta3 -q -f -e "-$LEVEL" -B "$window" -s "$BASE" "$NEW" "$PACKED"; }
xdelta_decode() { xdelta3 -q -f -d -B "$window" -s "$BASE" "$PACKED" "$BACK"; }
bsdiff_encode() { bsdiff "$BASE" "$NEW" "$PACKED"; }
bsdiff_decode() { bspatch "$BASE" "$BACK" "$PACKED"; }

# xor OTHER TARGET: BASE xor OTHER, as long as OTHER.
xor() {
    "$PYTHON" -c 'import sys
a, b = (open(name, "rb").read() for name in sys.argv[1:3])
a = a[:len(b)].ljust(len(b), b"\0")
x = int.from_bytes(a, "little") ^ int.from_bytes(b, "little")
open(sys.argv[3], "wb").write(x.to_bytes(len(b), "little"))' "$BASE" "$1" "$2"
}
xor_zstd_encode() { xor "$NEW" "$XOR" && zstd -q -f "-$LEVEL" "$XOR" -o "$PACKED"; }
xor_zstd_decode() { zstd -q -f -d "$PACKED" -o "$XOR" && xor "$XOR" "$BACK"; }
xor_lz4_encode() { xor "$NEW" "$XOR" && lz4 -q -f "-$LEVEL" "$XOR" "$PACKED"; }
xor_lz4_decode() { lz4 -q -f -d "$PACKED" "$XOR" && xor "$XOR" "$BACK"; }

# ZipNN knows no base: the whole file, and the XOR of both.
zipnn_code='import sys, zipnn
coder = zipnn.ZipNN(bytearray_dtype="bfloat16", input_format="byte")
data = open(sys.argv[2], "rb").read()
out = coder.compress(data) if sys.argv[1] == "encode" else coder.decompress(data)
open(sys.argv[3], "wb").write(out)'
zipnn_encode() { xor "$NEW" "$XOR" && "$PYTHON" -c "$zipnn_code" encode "$XOR" "$PACKED"; }
zipnn_decode() { "$PYTHON" -c "$zipnn_code" decode "$PACKED" "$XOR" && xor "$XOR" "$BACK"; }

# OpenZL, too; its graph for 16-bit numbers.
openzl_code='import sys
import openzl.ext as zl
data = open(sys.argv[2], "rb").read()
if sys.argv[1] == "encode":
    coder = zl.Compressor()
    graph = zl.nodes.ConvertSerialToNumLE16()(coder, zl.graphs.Compress()(coder))
    coder.select_starting_graph(graph)
    context = zl.CCtx()
    context.ref_compressor(coder)
    context.set_parameter(zl.CParam.FormatVersion, zl.MAX_FORMAT_VERSION)
    out = context.compress([zl.Input(zl.Type.Serial, data)])
else:
    out = zl.DCtx().decompress(data)[0].content.as_bytes()
open(sys.argv[3], "wb").write(out)'
openzl_encode() { xor "$NEW" "$XOR" && "$PYTHON" -c "$openzl_code" encode "$XOR" "$PACKED"; }
openzl_decode() { "$PYTHON" -c "$openzl_code" decode "$PACKED" "$XOR" && xor "$XOR" "$BACK"; }

has_module() {
    local error
    error=$("$PYTHON" -c "import $2" 2>&1) && return 0
    skip "$1" "$PYTHON cannot import $2: $(tail -n 1 <<<"$error")"
    return 1
}

window=$(($(stat -L -c %s "$BASE") + 4096))
if [ "$window" -lt $((512 << 10)) ]; then window=$((512 << 10)); fi # xdelta3 takes no less

say "$(basename "$NEW") from $(basename "$BASE"): $bytes bytes, $words parameters; each result is decoded and compared"
row tool bytes "bits/param" "encode s" "decode s"
if [ -x "$REFIT" ]; then tool "refit xc" refit_encode refit_decode; else skip "refit xc" "no $REFIT"; fi
for LEVEL in 1 19; do
    if needs "zstd -$LEVEL patch" zstd; then tool "zstd -$LEVEL patch" zstd_encode zstd_decode; fi
done
for LEVEL in 1 9; do
    if needs "xdelta3 -$LEVEL" xdelta3; then tool "xdelta3 -$LEVEL" xdelta_encode xdelta_decode; fi
done
if needs bsdiff bsdiff; then
    if [ "$bytes" -gt "$BSDIFF_BYTES_MAX" ]; then
        skip bsdiff "the file is above 64 MiB"
    else
        tool bsdiff bsdiff_encode bsdiff_decode
    fi
fi
if needs "tools on the XOR" "$PYTHON"; then
    for LEVEL in 1 9; do
        if needs "xor, lz4 -$LEVEL" lz4; then tool "xor, lz4 -$LEVEL" xor_lz4_encode xor_lz4_decode; fi
    done
    for LEVEL in 1 19; do
        if needs "xor, zstd -$LEVEL" zstd; then tool "xor, zstd -$LEVEL" xor_zstd_encode xor_zstd_decode; fi
    done
    if has_module "xor, ZipNN" zipnn; then tool "xor, ZipNN" zipnn_encode zipnn_decode; fi
    if has_module "xor, OpenZL" openzl; then tool "xor, OpenZL" openzl_encode openzl_decode; fi
fi
