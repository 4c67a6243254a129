#!/bin/sh
# plant.sh BIN FIRST LAST KERNEL:PROGRAM.CASE[,PROGRAM.CASE...]... - spoils one instruction of a
# kernel after another (PTX_PLANT, numbers FIRST to LAST for each row): a barrier, an index, a
# factor, a term. Says which case of the row notices, by a check or by a report of the
# interpreter, and which instructions no case executes. By hand. SPDX-License-Identifier: MIT
set -u
bin=$1 first=$2 last=$3
shift 3
export LD_LIBRARY_PATH=$bin/../ptx NANOBRAG_COMPILE_TIMEOUT=900 PTX_MOST=4000000000
export NANOBRAG_CACHE_DIR=${NANOBRAG_CACHE_DIR:-$bin/../ptx/cache}
said=$(mktemp)
trap 'rm -f "$said"' EXIT
all=0
noticed=0
idle=0
for row; do
    for number in $(seq "$first" "$last"); do
        by=
        ran=
        for case in $(echo "${row#*:}" | tr , ' '); do
            PTX_PLANT=${row%%:*}:$number timeout 300 "$bin/${case%%.*}" "${case#*.}" \
                > "$said" 2>&1 || by=$case
            grep -q "what was spoilt ran [1-9]" "$said" && ran=yes
            [ -z "$by" ] || break
        done
        all=$((all + 1))
        if [ -n "$by" ]; then
            noticed=$((noticed + 1))
        elif [ -z "$ran" ]; then
            idle=$((idle + 1))
            by='not executed'
        fi
        what=$(sed -n 's/.*ptx: \([a-z].*: .* of .*, PTX line [0-9]*\)$/\1/p' "$said" | head -n 1)
        echo "${row%%:*} $number, $what: ${by:-not noticed}"
    done
done
echo "$noticed of $all faults noticed, $idle are in what no case executes"
[ "$noticed" -gt 0 ]
