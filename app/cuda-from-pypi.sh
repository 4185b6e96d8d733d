#!/usr/bin/env bash
# A CUDA toolkit from PyPI, for a machine with a driver and no toolkit: enough to build Refit.
# usage: app/cuda-from-pypi.sh [--with-libraries] PREFIX
# Needs python3 with pip, x86-64, and to run what is built a driver 580 or newer. Puts 0.3 GB into
# PREFIX; --with-libraries adds cuBLAS and NCCL, 1 GB more. Rights of its owner are enough.
set -euo pipefail

die() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 2
}

# CUDA 13.0, each version as it was tried.
readonly TOOLKIT=(nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88
    nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85 nvidia-nvtx==13.0.85)
readonly LIBRARIES=(nvidia-cublas==13.1.0.3 nvidia-cuda-nvrtc==13.0.88 nvidia-nccl-cu13==2.28.9)

wheels=("${TOOLKIT[@]}")
if [ "${1:-}" = --with-libraries ]; then
    wheels+=("${LIBRARIES[@]}")
    shift
fi
if [ $# -ne 1 ] || [ -z "$1" ] || [ "${1#-}" != "$1" ]; then
    die "usage: $0 [--with-libraries] PREFIX"
fi
[ "$(uname -sm)" = "Linux x86_64" ] || die "these wheels are for Linux on x86-64"
command -v python3 >/dev/null || die "needs python3"
python3 -m pip --version >/dev/null 2>&1 || die "needs pip: apt-get install python3-pip"

mkdir -p "$1"
prefix=$(cd "$1" && pwd)
readonly TOOLS=$prefix/nvidia/cu13
# From PyPI whatever is missing; a second run downloads nothing.
if [ ! -e "$prefix/.refit-${#wheels[@]}" ]; then
    python3 -m pip install -q --disable-pip-version-check --root-user-action ignore --no-deps \
        --upgrade --target "$prefix" "${wheels[@]}" || die "the wheels could not be installed"
    touch "$prefix/.refit-${#wheels[@]}"
fi

# The wheels are no toolkit as they are: nvcc looks into lib64, the linker for names without a
# version, and CMake for NCCL beside the rest.
ln -sfn lib "$TOOLS/lib64"
nccl=$prefix/nvidia/nccl
if [ -d "$nccl" ]; then
    for file in "$nccl"/lib/*.so*; do ln -sf "$file" "$TOOLS/lib/"; done
    for file in "$nccl"/include/*; do ln -sfn "$file" "$TOOLS/include/"; done
fi
for file in "$TOOLS"/lib/*.so.*; do
    [ -e "$file" ] || continue
    ln -sf "$(basename "$file")" "${file%%.so.*}.so"
done
chmod +x "$TOOLS"/bin/* "$TOOLS"/nvvm/bin/*
"$TOOLS/bin/nvcc" --version >/dev/null || die "nvcc does not run"

printf 'CUDA 13.0 is in %s. Next:\n' "$TOOLS"
printf '  CUDACXX=%q cmake --preset app\n' "$TOOLS/bin/nvcc"
printf '  cmake --build --preset app\n'
