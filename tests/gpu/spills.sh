#!/bin/sh
# spills.sh FOLDER - what ptxas said of every kernel (FOLDER/kernels_*.ptxas, kept by the
# build): no register of a kernel in float, or of noise, is spilled on any architecture. Those
# in double may be, and are shown. Exit 77 where there are no reports, as nvcc was not there.
# SPDX-License-Identifier: MIT
set -eu
folder=$1

if [ ! -f "$folder/kernels_single.ptxas" ]; then
    echo "skipped: nvcc compiled no kernels here"
    exit 77
fi

# lines of: kernel architecture registers spilled-bytes
table()
{
    awk '/Compiling entry function/ {
             split($0, part, "\047"); kernel = part[2]; sm = part[4]; spilled = "" }
         kernel != "" && /bytes spill stores/ {
             for (i = 2; i < NF; i++) if ($i == "spill" && $(i + 1) ~ /^stores/)
                 spilled += $(i - 2) }
         kernel != "" && /Used [0-9]+ registers/ {
             for (i = 2; i <= NF; i++) if ($i ~ /^registers/) registers = $(i - 1)
             print kernel, sm, registers, spilled == "" ? "unknown" : spilled
             kernel = "" }' "$1"
}

bad=0
for precision in single noise double; do
    report=$folder/kernels_$precision.ptxas
    table "$report" > "$precision"
    kernels=$(grep -c 'Compiling entry function' "$report" || true)
    told=$(wc -l < "$precision")
    clean=$(awk '$4 == "0"' "$precision" | wc -l)
    echo "$precision: $kernels kernels, $clean without spills"
    awk '$2 == "sm_90" { print "  " $1 ": " $3 " registers on sm_90, " $4 " bytes spilled" }' \
        "$precision"
    if [ "$kernels" -eq 0 ] || [ "$told" -ne "$kernels" ]; then
        echo "$report: figures of $told of $kernels kernels"
        bad=1
    fi
    if [ "$precision" != double ] && [ "$clean" -ne "$kernels" ]; then
        awk '$4 != "0" { print "  " $1 ": " $4 " bytes spilled on " $2 }' "$precision"
        bad=1
    fi
done
exit $bad
