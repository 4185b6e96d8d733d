#!/usr/bin/env bash
# Builds the program into build/ and runs it: app/run.sh [--yes] [--no-install] [ARGS of refit]
# Without ARGS it runs the main job. Missing packages are listed and asked for once.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=app/packages.sh
. "$root/app/packages.sh"

ASSUME_YES=no
INSTALL=yes
while [ $# -gt 0 ]; do
    case "$1" in
        --yes) ASSUME_YES=yes ;;
        --no-install) INSTALL=no ;;
        *) break ;;
    esac
    shift
done

# Runs a build step: seen on a terminal, elsewhere shown only when it fails.
step() {
    if [ -t 2 ]; then
        "$@" >&2 || die "failed: $*"
        return
    fi
    local log
    log=$("$@" 2>&1) || {
        say "$log"
        die "failed: $*"
    }
}

# What draws pictures is fetched and built once somebody asks for a picture.
build() {
    local packages=$APP_PACKAGES view=OFF
    if [ "${1:-}" = view ]; then
        packages="$APP_PACKAGES
$VIEW_PACKAGES"
        view=AUTO
    fi
    if [ ! -e "$root/build/build.ninja" ]; then
        ensure_packages "$packages"
        say "Building Refit into build/ (a few minutes the first time)"
        (cd "$root" && step cmake --preset app -DREFIT_VIEW=$view)
    elif [ $view = AUTO ] && grep -q '^REFIT_VIEW:STRING=OFF$' "$root/build/CMakeCache.txt"; then
        ensure_packages "$packages"
        (cd "$root" && step cmake --preset app -DREFIT_VIEW=AUTO)
    fi
    # Ninja alone knows what is out of date; asking it keeps a second start under a second.
    if ! ninja -C "$root/build" -n refit 2>/dev/null | grep -q 'no work to do'; then
        ensure_packages "$packages"
        step ninja -C "$root/build" refit
    fi
}

build "$@"
[ $# -gt 0 ] || set -- run
# Not from the root: paths among the arguments are the caller's.
exec "$root/build/refit" "$@"
