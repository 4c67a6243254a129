#!/bin/sh
# instructions.sh PROGRAM - a table of the instructions of PTX that a sample takes, by kernel,
# shape, look-up and precision: images of twice as many orientations have as many more
# samples, and nothing else, and the interpreter counts what they run. PROGRAM is that of a
# build with the interpreter (docs/development/ptx.md). SPDX-License-Identifier: MIT
set -eu
bin=$(cd "$(dirname "$1")" && pwd)
program=$bin/$(basename "$1")
folder=$(cd "$bin/../ptx" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LD_LIBRARY_PATH="$folder" PTX_CHECK=none NANOBRAG_CACHE_DIR="$folder/cache"
export NANOBRAG_HOT_THRESHOLD=0 NANOBRAG_STRICT=1
pixels=32 few=64 many=128
for h in -6 -5 -4 -3 -2 -1 0 1 2 3 4 5 6; do
    for k in -6 -5 -4 -3 -2 -1 0 1 2 3 4 5 6; do
        for l in -6 -5 -4 -3 -2 -1 0 1 2 3 4 5 6; do echo "$h $k $l 100"; done
    done
done > list.hkl

count() # KERNEL ORIENTATIONS OPTION...: instructions of the kernels whose names begin so
{
    kernel=$1
    domains=$2
    shift 2
    rm -f stats
    # small crystals, whose spots fill reciprocal space: no pair is left out
    PTX_STATS=stats "$program" -device cuda -lambda 1 -distance 100 -pixel 0.5 \
        -detpixels $pixels -cell 40 50 60 80 90 100 -Na 3 -Nb 3 -Nc 3 -mosaic 1 \
        -mosaic_model domains -mosaic_domains "$domains" -strategy lanes -oversample 1 -nonoise \
        -floatfile image.bin "$@" > log 2>&1 || { cat log >&2; exit 1; }
    awk -v kernel="$kernel" '$2 ~ "^" kernel { for (i = 1; i <= NF; i++) if ($i == "instructions") n += $(i - 1) }
        END { printf "%d", n }' stats
}

row() # KERNEL OPTION...
{
    kernel=$1
    shift
    printf '| %s | %s |' "$kernel" "$*"
    for precision in double float; do
        a=$(count "$kernel" $few -precision $precision "$@")
        b=$(count "$kernel" $many -precision $precision "$@")
        echo "$a $b" | awk -v n=$((pixels * pixels * (many - few))) \
            '{ if ($2 > $1) printf " %.1f |", ($2 - $1) / n; else printf " none |" }'
    done
    echo
}

echo '| kernel | options | double | float |'
echo '|---|---|---|---|'
for shape in -square_xtal -round_xtal -gauss_xtal -tophat_spots; do
    row image_ $shape -default_F 100
    row image_ $shape -hkl list.hkl -nointerpolate
    row image_ $shape -hkl list.hkl -interpolate
done
# a pass over up to 32 tangents; the classes FRAME, TURNED, FEW, and structure factors
for shape in -square_xtal -round_xtal -gauss_xtal -tophat_spots; do
    for names in distance mosaic misset,ncells; do
        row jacobian_ $shape -default_F 100 -gradient $names -gradfile out.json
    done
    row f_ $shape -hkl list.hkl -nointerpolate -hklgradfile out.txt
done
