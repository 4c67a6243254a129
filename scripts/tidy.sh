#!/bin/sh
# tidy.sh [FILE...] - clang-tidy 14 on the C sources (all of them without arguments), with
# the compile commands of a clang build in build/tidy. It reads a file once for each command
# that compiles it, so the pixel loops, whose text is one, are there for one instruction set.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

tool=$(command -v clang-tidy-14 || command -v clang-tidy) || {
    echo "tidy: no clang-tidy 14; scripts/setup.sh --dev installs it" >&2
    exit 1
}
mkdir -p build
cmake -S . -B build/tidy -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug \
    -DNANOBRAG_FUZZ=ON -DNANOBRAG_ISA_SETS=scalar -DNANOBRAG_BUILD_BENCH=ON \
    > build/tidy.log 2>&1 || { cat build/tidy.log; exit 1; }
if [ $# -eq 0 ]; then
    # only what the build compiles; generated units have nothing to say
    # shellcheck disable=SC2046
    set -- $(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/tidy/compile_commands.json \
        | grep '\.c$' | grep -v "^$PWD/build/" | sort -u)
fi
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" "$tool" --quiet -p build/tidy \
    2> build/tidy.log || { grep -v 'warnings generated' build/tidy.log >&2; exit 1; }
echo "tidy: $# files clean"
