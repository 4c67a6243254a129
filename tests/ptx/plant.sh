#!/bin/sh
# plant.sh BIN FIRST LAST KERNEL:PROGRAM.CASE[,PROGRAM.CASE...]... - spoils one instruction of a
# kernel after another (PTX_PLANT, numbers FIRST to LAST for each row): a barrier, an index, a
# branch, a factor, a term. Says which case of the row notices, by a check or by a report of
# the interpreter. By hand. SPDX-License-Identifier: MIT
set -u
bin=$1 first=$2 last=$3
shift 3
export LD_LIBRARY_PATH=$bin/../ptx NANOBRAG_COMPILE_TIMEOUT=900 PTX_MOST=4000000000
export NANOBRAG_CACHE_DIR=${NANOBRAG_CACHE_DIR:-$bin/../ptx/cache}
said=$(mktemp)
trap 'rm -f "$said"' EXIT
all=0
noticed=0
for row; do
    for number in $(seq "$first" "$last"); do
        by=
        for case in $(echo "${row#*:}" | tr , ' '); do
            PTX_PLANT=${row%%:*}:$number timeout 300 "$bin/${case%%.*}" "${case#*.}" \
                > "$said" 2>&1 || by=$case
            [ -z "$by" ] || break
        done
        all=$((all + 1))
        [ -z "$by" ] || noticed=$((noticed + 1))
        what=$(sed -n 's/^ptx: \(.*: .* of .*, PTX line [0-9]*\)$/\1/p' "$said" | head -n 1)
        echo "${row%%:*} $number, $what: ${by:-not noticed}"
    done
done
echo "$noticed of $all faults noticed"
[ "$noticed" -gt 0 ]
