#!/bin/sh
# build.sh - installs what is missing and builds into build/release, all of it or only
# $BUILD_TARGET; options go to setup.sh. SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

sh scripts/setup.sh "$@"
echo "build: configuring and building into build/release"
# nvcc takes minutes for the kernels of all GPUs: those of this machine will do
if [ ! -e build/release/CMakeCache.txt ] && command -v nvcc > /dev/null 2>&1; then
    gpus=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2> /dev/null | tr -d . \
        | sort -un | paste -s -d ';' -) || gpus=
    case $gpus in '' | *[!0-9\;]*) gpus=75 ;; esac
    set -- "-DNANOBRAG_CUDA_ARCHITECTURES=$gpus"
else
    set --
fi
cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release "$@"
cmake --build build/release ${BUILD_TARGET:+--target "$BUILD_TARGET"}
