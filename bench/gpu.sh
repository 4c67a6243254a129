#!/bin/sh
# gpu.sh BENCH - the benchmark of devices at its smallest: the list of its cases, wrong
# options, and one case; skipped after the first two where there is no device.
# SPDX-License-Identifier: MIT
set -eu
bench=$1

for wrong in -fast '-cases Q' '-cases A,,B' '-cases A,' '-cases' '-threads 0' '-repeat x' \
    -repeat; do
    status=0
    # shellcheck disable=SC2086
    "$bench" $wrong > out.txt 2> err.txt || status=$?
    lines=$(wc -l < err.txt)
    echo "$wrong: status $status, expected 2; lines $lines, expected 1"
    [ "$status" = 2 ] && [ "$lines" = 1 ] && [ ! -s out.txt ] || exit 1
done
"$bench" -help | grep -q -- -cases
cases=$("$bench" --list | cut -c 1 | tr -d '\n')
echo "cases: measured $cases expected ABCDEFGHILMS"
[ "$cases" = ABCDEFGHILMS ]

status=0
"$bench" -cases s,A -repeat 1 > out.txt 2> err.txt || status=$?
cat out.txt err.txt
lines=$(wc -l < out.txt)
[ ! -s err.txt ]
if [ "$status" = 77 ]; then
    echo "without a device: lines $lines, expected 1"
    [ "$lines" = 1 ] && grep -q '^skipped: no device: ' out.txt || exit 1
    exit 77
fi
rows=$(grep -c '^[AS] ' out.txt)
longest=$(awk 'length > n { n = length } END { print n }' out.txt)
echo "status $status, expected 0; rows $rows, expected 6; longest $longest allowed 100"
[ "$status" = 0 ] && [ "$rows" = 6 ] && [ "$longest" -le 100 ]
