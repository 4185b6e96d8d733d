#!/usr/bin/env bash
# Every target under libFuzzer, one after the other: tests/fuzz/fuzz.sh BUILD/tests/fuzz [FLAGS...]
# FLAGS go to libFuzzer, such as -runs=2000 or -max_total_time=300. TARGETS="a b" takes only those.
# The checked-in corpus is read, never written. KEEP=FOLDER keeps logs, inputs and findings.
set -euo pipefail
binaries=$1
shift
corpus=$(cd "$(dirname "${BASH_SOURCE[0]}")/corpus" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
keep=${KEEP:-$scratch}
failed=0

# run BINARY TARGET FLAGS...
run() {
    local binary=$1 target=$2 log=$keep/$2.log
    shift 2
    mkdir -p "$keep/$target" "$keep/found"
    TIMEFORMAT=%U
    if { time "$binary" "$target" -entropic=0 -detect_leaks=0 "$@" -print_final_stats=1 \
        -artifact_prefix="$keep/found/$target-" "$keep/$target" "$corpus/$target" \
        >"$log" 2>&1; } 2>"$scratch/seconds"; then
        awk -v target="$target" -v seconds="$(tail -n 1 "$scratch/seconds")" \
            '/^stat::number_of_executed_units/ {
                 printf "%-20s %9d runs, %7d a second of one core\n", target, $2, $2 / (seconds + 0.001)
             }' "$log"
    else
        failed=1
        echo "$target: failed"
        tail -n 60 "$log"
    fi
}

for binary in "$binaries"/refit_fuzz_*; do
    for target in $("$binary" list); do
        case " ${TARGETS:-$target} " in
            *" $target "*) run "$binary" "$target" "$@" ;;
        esac
    done
done
exit "$failed"
