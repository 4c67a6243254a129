#!/bin/sh
# compiles.sh COMPILER [PATH] - does physics/ compile with gcc, clang, nvcc or nvrtc?
# For nvrtc PATH is the program made of nvrtc.c. Exit 77 where the tool is absent.
# SPDX-License-Identifier: MIT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../../src/nanobrag" && pwd)
tool=$1
program=${2:-$tool}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! command -v "$program" > /dev/null 2>&1; then
    echo "skipped: no $tool here"
    exit 77
fi

# each header by itself, in both precisions, as strict C11
headers()
{
    count=0
    for header in "$source"/physics/*.h "$source"/physics/*/*.h; do
        printf '#include "%s"\nextern int header_%s;\n' "${header#"$source"/}" "$count" \
            > "$work/header.c"
        for precision in PHYS_DOUBLE PHYS_SINGLE; do
            "$program" -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wvla -Werror -O1 \
                "-D$precision" -I "$source" -c "$work/header.c" -o "$work/header.o"
        done
        count=$((count + 1))
    done
    [ "$count" -gt 0 ]
    echo "$tool: $count headers of physics/ compile alone in double and in float"
}

gpu()
{
    flags=
    known=$("$program" --list-gpu-arch)
    for sm in 75 80 86 89 90 100 120; do
        case "$known" in
        *compute_$sm*) flags="$flags -gencode arch=compute_$sm,code=sm_$sm" last=$sm ;;
        esac
    done
    flags="$flags -gencode arch=compute_$last,code=compute_$last"
    for precision in PHYS_DOUBLE PHYS_SINGLE; do
        # shellcheck disable=SC2086
        "$program" -c -O3 -Xptxas -v --threads 0 $flags "-D$precision" -I "$source" \
            "$here/physics.cu" -o "$work/physics.o" > "$work/log" 2>&1 \
            || { cat "$work/log"; exit 1; }
        kernels=$(grep -c 'spill stores' "$work/log" || true)
        clean=$(grep -c ' 0 bytes spill stores, 0 bytes spill loads' "$work/log" || true)
        echo "nvcc $precision: $kernels kernels, $clean without spills;$flags"
        [ "$kernels" -gt 0 ]
        if [ "$clean" -ne "$kernels" ]; then
            grep -B 2 'spill stores' "$work/log"
            exit 1
        fi
    done
}

# the draws have the CPU's bits only where nothing is contracted
contraction()
{
    "$program" -ptx -O3 -fmad=false -diag-suppress 550 -DPHYS_DOUBLE -arch "compute_$last" \
        -I "$source" "$source/gpu/text/noise.cu" -o "$work/noise.ptx"
    contracted=$(grep -c 'fma\.' "$work/noise.ptx" || true)
    echo "nvcc: $contracted contracted operations in noise.cu"
    [ "$contracted" -eq 0 ]
}

case $tool in
gcc | clang) headers ;;
nvcc)
    gpu
    contraction
    ;;
nvrtc) "$program" "$source" "$here/physics.cu" ;;
*)
    echo "compiles.sh: no tool '$tool'" >&2
    exit 2
    ;;
esac
