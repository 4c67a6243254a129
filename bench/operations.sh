#!/bin/sh
# operations.sh OBJECT - counts the vector instructions in the innermost loops of each
# specialised kernel of an object file (lanes.c.o of a build by gcc for v3 or v4): what the
# roof of figures.c is made of. A loop that rounds six times instead of three takes two
# vectors a turn. SPDX-License-Identifier: MIT
set -eu
objdump -d --no-show-raw-insn "$1" | awk '
/^[0-9a-f]+ <.*>:$/ { kernel = $2; gsub(/[<>:]/, "", kernel); first = NR; loops = 0; next }
kernel ~ /^[A-Z_]+$/ && NF > 1 {
    sub(/:/, "", $1)
    at[$1] = NR
    name[NR] = $2
    vector[NR] = /%[yz]mm/ && $2 ~ /p[sd]$/
    if ($2 !~ /^j/ || !($3 in at) || at[$3] < first) next
    # a backward jump ends a loop; it is innermost when no other lies in it
    from = at[$3]
    for (i = 1; i <= loops; i++) if (start[i] >= from) next
    start[++loops] = from
    fused = multiply = divide = round = add = 0
    for (i = from; i <= NR; i++) {
        if (!vector[i]) continue
        if (name[i] ~ /^vfn?m(add|sub)/) fused++
        else if (name[i] ~ /^vmul/) multiply++
        else if (name[i] ~ /^v(div|sqrt)/) divide++
        else if (name[i] ~ /^v(round|rndscale)/) round++
        else if (name[i] ~ /^v(add|sub)/) add++
    }
    if (fused + multiply > 3)
        printf "%-20s %3d fused %3d multiply %2d divide %2d round %3d add, %3d in all\n",
            kernel, fused, multiply, divide, round, add, NR - from + 1
}'
