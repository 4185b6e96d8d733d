#!/usr/bin/env bash
# Every test this machine can run: tests/run.sh [--yes] [--no-install]
# Builds preset `check` (gcc, with benchmarks) and preset `sanitize` (clang, address and undefined
# sanitizers), runs both under CTest, and ends with one summary. Each skip says why.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=app/packages.sh
. app/packages.sh

ASSUME_YES=no
INSTALL=yes
for flag in "$@"; do
    case "$flag" in
        --yes) ASSUME_YES=yes ;;
        --no-install) INSTALL=no ;;
        *) die "unknown flag $flag; known: --yes, --no-install" ;;
    esac
done
ensure_packages "$APP_PACKAGES
$VIEW_PACKAGES
$TEST_PACKAGES"

readonly JOBS=2
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
passed=0
failed=0
skipped=0

# An attribute of the test suite in a JUnit file.
count() { sed -n "/[[:space:]]$2=\"[0-9]*\"/{s/^.*[[:space:]]$2=\"\([0-9]*\)\".*\$/\1/p;q}" "$1"; }

# The reasons of skipped tests stand in the line after GoogleTest's "Skipped".
skip_reasons() { grep -A 1 -E ': Skipped$' "$1" | grep -vE ': Skipped$|^--$' | sort | uniq -c || true; }

# preset FOLDER CTEST_FLAGS...
run_preset() {
    local preset=$1 folder=$2 junit="$logs/$1.xml" log="$logs/$1.log" status=0
    shift 2
    say "== $preset: build"
    { cmake --preset "$preset" && cmake --build --preset "$preset" -j "$JOBS"; } >"$log" 2>&1 || {
        cat "$log" >&2
        die "preset $preset does not build"
    }
    say "== $preset: test"
    ctest --preset "$preset" -j "$JOBS" --output-junit "$junit" "$@" >"$log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then cat "$log" >&2; fi
    if [ ! -s "$junit" ]; then die "preset $preset ran no test"; fi

    local tests bad skips
    tests=$(count "$junit" tests)
    bad=$(count "$junit" failures)
    skips=$(count "$junit" skipped)
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
    passed=$((passed + tests - bad - skips))
    failed=$((failed + bad))
    skipped=$((skipped + skips))
    if [ "$skips" -gt 0 ]; then
        say "   skipped, and why:"
        skip_reasons "$folder/Testing/Temporary/LastTest.log" >&2
    fi
}

run_preset check build
# House rules, README and the tables of reproduce do not depend on the compiler: once is enough.
# Of the swarm, a part.
export REFIT_SWARM_SEEDS=${REFIT_SWARM_SEEDS:-100}
run_preset sanitize build/sanitize --label-exclude "house|readme|big"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
