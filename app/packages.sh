# shellcheck shell=bash disable=SC2034
# The Debian packages the project is built from, and the way both scripts get them. Sourced by
# app/run.sh and tests/run.sh.

# name|what it is for
readonly APP_PACKAGES="\
g++|compiler
cmake|build
ninja-build|build
pkg-config|finds libraries
libzstd-dev|zstd codecs
libxxhash-dev|record hashes
libssl-dev|SHA-256
libsqlite3-dev|register
libcli11-dev|command line
libtomlplusplus-dev|scenario files
nlohmann-json3-dev|JSON documents, safetensors headers
libfmt-dev|text
libhwy-dev|vector kernels
libbenchmark-dev|timing of refit bench"

# For `refit view` alone.
readonly VIEW_PACKAGES="\
libpng-dev|pictures
libgif-dev|moving pictures
libegl-dev|pictures without a display
libgl-dev|headers of OpenGL
libegl-mesa0|EGL on any machine
libgl1-mesa-dri|its software renderer
python3-pip|fetches Dear ImGui where git cannot
fonts-inter|text of pictures
fonts-jetbrains-mono|numbers of pictures"

readonly TEST_PACKAGES="\
libgtest-dev|tests
clang|second compiler, sanitizers
clang-format|layout of the sources
shellcheck|the scripts
python3|independent decoder of the format
zstd|its frames"

say() { printf '%s\n' "$*" >&2; }
die() {
    say "$0: $*"
    exit 1
}

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# The lines of a package list that this system lacks.
missing_packages() {
    local name use
    while IFS='|' read -r name use; do
        is_installed "$name" || printf '%s|%s\n' "$name" "$use"
    done <<<"$1"
}

in_container() { [ -e /.dockerenv ] || [ -e /run/.containerenv ]; }

# On a terminal the user decides, once. CI and containers have nobody to ask.
may_install() {
    if [ "$ASSUME_YES" = yes ] || [ -n "${CI:-}" ] || in_container; then return 0; fi
    if [ ! -t 0 ] || [ ! -t 2 ]; then return 1; fi
    local answer
    read -r -p "Install them now? [Y/n] " answer
    case "$answer" in "" | [Yy]*) return 0 ;; *) return 1 ;; esac
}

# Installs what is missing of a package list, or says in one line why it cannot.
ensure_packages() {
    local missing names
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        has_tools && return 0
        die "not a Debian or Ubuntu system; install these yourself: $(package_names "$1")"
    fi
    missing=$(missing_packages "$1")
    [ -n "$missing" ] || return 0
    names=$(package_names "$missing")
    [ "$INSTALL" = yes ] || die "missing packages: $names"
    say "Missing packages:"
    while IFS='|' read -r name use; do say "  $(printf '%-22s %s' "$name" "$use")"; done <<<"$missing"
    may_install || die "missing packages: $names"
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "no rights to install: $names"
        as_root=(sudo)
    fi
    # shellcheck disable=SC2086 # one word per package
    { "${as_root[@]}" apt-get update -q &&
        DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -q --no-install-recommends \
            $names; } >&2 || die "could not install: $names"
}

package_names() { cut -d'|' -f1 <<<"$1" | tr '\n' ' ' | sed 's/ $//'; }

# Elsewhere the build itself finds out about libraries; without these it cannot start.
has_tools() { command -v cmake >/dev/null && command -v ninja >/dev/null && command -v c++ >/dev/null; }
