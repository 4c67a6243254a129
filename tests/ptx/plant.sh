#!/bin/sh
# plant.sh BIN FIRST LAST KERNEL:PROGRAM:CASE[,CASE...]... - spoils one instruction of a kernel
# after another (PTX_PLANT, numbers FIRST to LAST for each row), and says which faults neither
# a check of the cases nor a report of the interpreter notices. By hand: cases are run until
# one notices. SPDX-License-Identifier: MIT
set -u
bin=$1 first=$2 last=$3
shift 3
export LD_LIBRARY_PATH=$bin/../ptx NANOBRAG_COMPILE_TIMEOUT=900
export NANOBRAG_CACHE_DIR=${NANOBRAG_CACHE_DIR:-$bin/../ptx/cache}
said=$(mktemp)
trap 'rm -f "$said"' EXIT
all=0
noticed=0
for row; do
    kernel=${row%%:*}
    cases=${row##*:}
    program=${row#*:}
    program=${program%%:*}
    for number in $(seq "$first" "$last"); do
        by=nothing
        for c in $(echo "$cases" | tr , ' '); do
            if ! PTX_PLANT=$kernel:$number PTX_MOST=4000000000 timeout 300 "$bin/$program" "$c" > "$said" 2>&1; then
                by=$c
                break
            fi
        done
        all=$((all + 1))
        [ "$by" = nothing ] || noticed=$((noticed + 1))
        echo "$kernel $number, $(sed -n 's/^ptx: \(.* of .*, PTX line [0-9]*\)$/\1/p' "$said" | head -n 1): $by"
    done
done
echo "$noticed of $all faults noticed"
[ "$noticed" -gt 0 ]
