#!/bin/sh
# Puts what `refit reproduce --markdown` says of results/measured into README.md.
# usage: tests/tools/readme_tables.sh [PROGRAM]
set -eu
cd "$(dirname "$0")/../.."
program=${1:-build/refit}
"$program" reproduce --markdown results/measured/reproduce.json >README.md.summary
awk -v summary=README.md.summary '
    /^<!-- refit reproduce -->$/ { print; while ((getline line < summary) > 0) print line; skip = 1 }
    /^<!-- end -->$/ { skip = 0 }
    !skip && !/^<!-- refit reproduce -->$/ { print }
' README.md >README.md.new
rm README.md.summary
mv README.md.new README.md
