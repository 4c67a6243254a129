#!/bin/sh
# quick.sh BENCH PROGRAM [CHECK] - the benchmark at its smallest, with every section: does
# it end well, is the table legible, the JSON complete (CHECK reads it), the plot there, and
# are wrong options refused and programs that fail found out? SPDX-License-Identifier: MIT
set -eu
bench=$1
program=$2
check=${3-}
rm -f table.txt quick.json quick.svg

set -- -quick -ladder -repeat 2 -program "$program" -peer "$program" -plot quick.svg
[ -z "$check" ] || set -- "$@" -json quick.json
"$bench" "$@" > table.txt || { cat table.txt; exit 1; }
cat table.txt

longest=$(awk 'length > n { n = length } END { print n }' table.txt)
echo "longest line of the table: measured $longest allowed 100"
[ "$longest" -le 100 ]

curves=$(grep -c '<polyline' quick.svg)
echo "curves in the plot: measured $curves allowed >= 8"
[ "$curves" -ge 8 ]
[ "$(tail -n 1 quick.svg)" = '</svg>' ]

for wrong in -fast '-cases Q' '-cases A,,B' '-cases A,' '-threads 0' '-repeat x' -json \
    '-program /no/such' '-json /no/such/file' '-plot /no/such/file' '-plot .'; do
    status=0
    # shellcheck disable=SC2086
    "$bench" $wrong > out.txt 2> err.txt || status=$?
    lines=$(wc -l < err.txt)
    echo "$wrong: status $status, expected 2; lines $lines, expected 1"
    [ "$status" = 2 ] && [ "$lines" = 1 ] && [ ! -s out.txt ] || exit 1
done
"$bench" -help | grep -q -- -peer
"$bench" --help | grep -q -- -peer

# fails REASON OPTION...: measures what it can, gives the reason, ends with status 1
fails()
{
    reason=$1
    shift
    status=0
    "$bench" -quick -cases b -repeat 1 "$@" > out.txt 2> err.txt || status=$?
    lines=$(wc -l < err.txt)
    echo "$*: status $status, expected 1; lines $lines, expected 1"
    grep "not run: .*$reason" out.txt && grep "$reason" err.txt || exit 1
    [ "$status" = 1 ] && [ "$lines" = 1 ] || exit 1
}
# a program that fails without a word, and one that is content with nothing
no=$(command -v false)
yes=$(command -v true)
fails 'exit status 1' -program "$no"
fails 'no o.bin' -program "$yes"
fails 'exit status 1' -program "$program" -peer "$no"
fails 'no o.bin' -program "$program" -peer "$yes"

[ -z "$check" ] || "$check" quick.json
