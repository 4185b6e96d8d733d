#!/usr/bin/env bash
# Everything that only a GPU can tell, in at most four minutes: tests/gpu_check.sh [-o FILE.json]
# Needs the built program and the repository, nothing else. Prints a line a step and ends with
# `N passed, N failed, N skipped`; the file (default: gpu.json here) holds every figure and is what
# results/measured/gpu.json is made of. Fails if a step does.
#   --backend simt   the same steps on the host executor, small: no GPU needed, and no speeds
#   --refit PROGRAM  default: build/refit beside this repository's root
set -euo pipefail

say() { printf '%s\n' "$*"; }
die() {
    say "$0: $*" >&2
    exit 2
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BACKEND=cuda
REFIT=$root/build/refit
OUT=gpu.json
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || die "$1 needs a value, or is unknown"
    case "$1" in
        --backend) BACKEND=$2 ;;
        --refit) REFIT=$2 ;;
        -o) OUT=$2 ;;
        *) die "unknown flag $1; known: --backend, --refit, -o" ;;
    esac
    shift 2
done
case "$BACKEND" in cuda | simt) ;; *) die "backend $BACKEND: takes cuda or simt" ;; esac
[ -x "$REFIT" ] || die "no program at $REFIT: build it first (app/run.sh), or give --refit"
command -v timeout >/dev/null || die "needs timeout (coreutils)"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_STATE_HOME=$folder/state REFIT_DATA=${REFIT_DATA:-$root}
readonly TRACE=$root/workloads/traces/dense
# On the executor less of everything, and more time for it.
if [ "$BACKEND" = cuda ]; then
    readonly CODECS="xc cf index-value" PRODUCTS=(--time 5s) SLOWER=1
else
    readonly CODECS=index-value PRODUCTS=(--time 500ms) SLOWER=4
fi
passed=0
failed=0
skipped=0
steps=
deadline=0 # in $SECONDS, of the step that runs

# The rest of the step's time, for one command; its stderr is kept for the reason.
limited() {
    local left=$((deadline - SECONDS))
    [ "$left" -gt 0 ] || left=1
    timeout -k 5 "$left" "$@" 2>"$folder/err"
}
program() { limited "$REFIT" "$@"; }
silent() { program "$@" --quiet >/dev/null; }

# A JSON string of one line of plain text.
quoted() { printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"; }

# skip REASON and fail REASON: how a step ends that did not pass.
skip() {
    reason=$1
    return 77
}
fail() {
    reason=$1
    return 1
}
last_error() { tail -n 1 "$folder/err" 2>/dev/null || true; }

# step NAME SECONDS FUNCTION
step() {
    local name=$1 limit=$(($2 * SLOWER)) status=0 begin=$SECONDS state
    reason=
    : >"$folder/err"
    deadline=$((SECONDS + limit))
    "$3" || status=$?
    case "$status" in
        0) state=passed passed=$((passed + 1)) ;;
        77) state=skipped skipped=$((skipped + 1)) ;;
        *)
            state=failed failed=$((failed + 1))
            if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
                reason="not done after $limit s"
            elif [ -z "$reason" ]; then
                reason="exit code $status: $(last_error)"
            fi
            ;;
    esac
    say "$(printf '%-9s %-22s %3d s  %s' "$state" "$name" $((SECONDS - begin)) "$reason")"
    steps+=${steps:+,}$'\n'"    {\"name\": $(quoted "$name"), \"state\": \"$state\", \
\"seconds\": $((SECONDS - begin)), \"reason\": $(quoted "$reason")}"
}

card=
driver=
facts() {
    [ "$BACKEND" = cuda ] || { skip "no card: backend $BACKEND" || return; }
    command -v nvidia-smi >/dev/null || { skip "nvidia-smi is not here" || return; }
    limited nvidia-smi --query-gpu=name,driver_version --format=csv,noheader \
        >"$folder/smi" || return
    card=$(head -n 1 "$folder/smi" | cut -d, -f1)
    driver=$(head -n 1 "$folder/smi" | cut -d, -f2 | tr -d ' ')
    [ -n "$card" ] || fail "nvidia-smi names no card"
}

doctor() { program doctor --json >"$folder/doctor.json"; }

# Copy ceiling, a row per kernel and size, and every result compared with the CPU's.
kernels() {
    program bench kernels --backend "$BACKEND" --json >"$folder/kernels.json" || return
    local state=measured
    [ "$BACKEND" = cuda ] || state=proved
    grep -q "\"state\": *\"$state\"" "$folder/kernels.json" ||
        fail "no row is $state: $(grep -o '"reason": *"[^"]*"' "$folder/kernels.json" | head -n 1)"
}

# What the CPU encodes, byte for byte, and back again.
checkpoints() {
    local codec base=$TRACE/v0/model.safetensors next=$folder/next.safetensors
    local delta=$folder/gpu.rfd back=$folder/back.safetensors
    silent apply --base "$base" --delta "$TRACE/v1.rfd" -o "$next" --backend cpu || return
    for codec in $CODECS; do
        silent encode --base "$base" --new "$next" -o "$folder/cpu.rfd" --codec "$codec" \
            --backend cpu || return
        silent encode --base "$base" --new "$next" -o "$delta" --codec "$codec" \
            --backend "$BACKEND" || return
        cmp -s "$folder/cpu.rfd" "$delta" || { fail "$codec: other bytes" || return; }
        silent apply --base "$base" --delta "$delta" -o "$back" --backend "$BACKEND" || return
        cmp -s "$next" "$back" || { fail "$codec: other words" || return; }
        silent verify --base "$base" --delta "$delta" --new "$next" --backend "$BACKEND" || return
        rm "$folder/cpu.rfd" "$delta" "$back"
    done
}

# The CPU's products, and those of the GPU with what the codec takes of them; without the library
# there is nothing to check of the latter.
products() {
    program bench compute "${PRODUCTS[@]}" --json >"$folder/compute.json" || return
    [ "$BACKEND" = cuda ] || return 0
    ! grep -q '"state": *"measured"' "$folder/compute.json" || return 0
    local why
    why=$(grep -o '"reason": *"[^"]*"' "$folder/compute.json" | head -n 1 || true)
    case "$why" in
        *'"cuBLASLt: '*) skip "$why" ;;
        *) fail "no product is measured on a GPU: $why" ;;
    esac
}

# network RANKS FLAGS...: without a library or a GPU there is nothing to check.
network() {
    local ranks=$1 status=0
    shift
    [ "$BACKEND" = cuda ] || { skip "no NCCL: backend $BACKEND" || return; }
    program bench net --nccl --ranks "$ranks" "$@" --json >"$folder/net$ranks.json" || status=$?
    [ "$status" -ne 0 ] || return 0
    rm -f "$folder/net$ranks.json"
    [ "$status" -eq 1 ] || return "$status"
    case "$(last_error)" in
        *"NCCL: "* | *"ranks need"*) skip "$(last_error)" ;;
        *) return "$status" ;;
    esac
}
one_rank() { network 1; }
# Ranks on one card pass for hosts of their own: what is sent is right, how fast says nothing.
two_ranks() { network 2 --share-gpu; }

# The pieces of a record that must not depend on the backend.
payload_of() { grep -A 2 '"payload_bytes"' "$1" | head -n 3; }

refit_run() {
    local backend
    for backend in cpu "$BACKEND"; do
        program run "$root/scenarios/smoke.toml" --backend "$backend" --json \
            --out "$folder/$backend" >"$folder/$backend.json" || return
    done
    mv "$folder/$BACKEND.json" "$folder/run.json"
    grep -q '"exact": *true' "$folder/run.json" || { fail "not exact" || return; }
    grep -q '"by_cause"' "$folder/run.json" || { fail "no idle split" || return; }
    [ "$(payload_of "$folder/run.json")" = "$(payload_of "$folder/cpu.json")" ] ||
        fail "another payload than on the CPU"
}

# document KEY FILE: a document as it was printed, null where there is none.
document() {
    printf ',\n  "%s": ' "$1"
    if [ -s "$2" ]; then cat "$2"; else printf 'null'; fi
}

step "device facts" 10 facts
step "doctor" 5 doctor
step "kernels" 90 kernels
step "encode, apply, verify" 30 checkpoints
step "matrix products" 20 products
step "NCCL, 1 rank" 20 one_rank
step "NCCL, 2 ranks" 20 two_ranks
step "refit, end to end" 40 refit_run

commit=$(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown)
{
    printf '{\n  "schema": "refit.gpu/1",\n  "backend": "%s",\n' "$BACKEND"
    printf '  "card": %s,\n  "driver": %s,\n' "$(quoted "$card")" "$(quoted "$driver")"
    printf '  "commit": %s,\n  "version": %s,\n' "$(quoted "$commit")" \
        "$(quoted "$("$REFIT" --version 2>/dev/null | head -n 1)")"
    printf '  "passed": %d,\n  "failed": %d,\n  "skipped": %d,\n' $passed $failed $skipped
    printf '  "steps": [%s\n  ]' "$steps"
    document doctor "$folder/doctor.json"
    document kernels "$folder/kernels.json"
    document compute "$folder/compute.json"
    document net_1 "$folder/net1.json"
    document net_2 "$folder/net2.json"
    document run "$folder/run.json"
    printf '\n}\n'
} >"$OUT"
say "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
