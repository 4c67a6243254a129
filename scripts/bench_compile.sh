#!/bin/sh
# bench_compile.sh - compiled against uncompiled: the program's own small scenes, then the
# cases of the benchmark, on one thread and on all. Takes some minutes;
# nothing else should run. Usage: scripts/bench_compile.sh [PROGRAM [THREADS]]
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

program=${1-build/release/bin/nanobrag}
all=${2-$(nproc)}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
NANOBRAG_CACHE_DIR=$folder
export NANOBRAG_CACHE_DIR

# structure factors of case E to 2 A
awk 'BEGIN { for (h = -25; h <= 25; h++) for (k = -30; k <= 30; k++) for (l = -35; l <= 35; l++)
    print h, k, l, 50 + (7 * h * h + 5 * k * k + 3 * l * l + h * k + 100) % 97 }' > "$folder/e.hkl"

crystal="-cell 50 60 70 80 95 105 -misset 10 20 30 -lambda 1 -distance 100"
case_of() # LETTER: its options
{
    case $1 in
    A) echo "-cell 100 100 100 90 90 90 -N 10 -default_F 100 -lambda 1 -distance 100 -detpixels 1024 -oversample 3" ;;
    B) echo "$crystal -N 20 -default_F 100 -mosaic 0.5 -mosaic_dom 50 -oversample 1 -detpixels 512" ;;
    C) echo "$crystal -N 20 -default_F 100 -mosaic 0.5 -mosaic_dom 50 -oversample 1 -detpixels 512 -gauss_xtal" ;;
    D) echo "$crystal -N 20 -default_F 100 -mosaic 0.5 -mosaic_dom 10 -dispersion 1 -dispsteps 20 -oversample 1 -detpixels 256" ;;
    E) echo "$crystal -N 20 -hkl $folder/e.hkl -nointerpolate -mosaic 0.5 -mosaic_dom 20 -phi 5 -osc 1 -phisteps 10 -oversample 1 -detpixels 256" ;;
    esac
}

header='^case'
echo "== the program's own scenes, on"
"$program" -bench_compile full -compile on -threads "$all"
for threads in 1 $( [ "$all" -gt 1 ] && echo "$all" ); do
    echo
    echo "== cases of the benchmark, $threads threads (D, E smaller)"
    first=yes
    for letter in A B C D E; do
        # shellcheck disable=SC2046 # the options are words
        "$program" $(case_of $letter) -threads "$threads" -bench_compile full \
            > "$folder/table" 2> "$folder/notes" || cat "$folder/notes" "$folder/table"
        [ -z "$first" ] || sed -n "/$header/p" "$folder/table"
        first=
        sed -n "s/^command line/$letter           /p" "$folder/table"
    done
done
