#!/bin/sh
# quick.sh BENCH PROGRAM - bench.py at its smallest, with every section: does it end well, is
# the table legible, is every figure of the JSON positive, and are wrong options refused and
# programs that fail found out? SPDX-License-Identifier: MIT
set -eu
command -v python3 > /dev/null || { echo "skipped: no python3"; exit 77; }
loops=$1
program=$2
folder=$(dirname "$0")
bench()
{
    python3 "$folder/bench.py" -bench "$loops" "$@"
}

rm -f table.txt quick.json quick.svg
set -- -quick -ladder -repeat 2 -program "$program" -peer "$program" -json quick.json
if python3 -c 'import matplotlib' 2> /dev/null; then set -- "$@" -plot quick.svg; fi
bench "$@" > table.txt || { cat table.txt; exit 1; }
cat table.txt
longest=$(awk 'length > n { n = length } END { print n }' table.txt)
echo "longest line of the table: measured $longest allowed 100"
[ "$longest" -le 100 ]
bench -quick -panels -repeat 1 > panels.txt
grep 'gauss, spots, double' panels.txt

python3 - quick.json << 'END'
import json, math, sys
found = json.load(open(sys.argv[1]))
least = {"cases": 14, "peer": 8, "memory": 1, "many_shots": 6, "gradients": 8, "fits": 11,
         "continuous": 12, "ladder": 8, "thread_scaling": 2}
for table, n in least.items():
    rows = found[table]
    print(f"{table}: {len(rows)} rows, allowed >= {n}")
    assert len(rows) >= n
    for row in rows:
        assert "not_run" not in row, row
        for key, value in row.items():
            # these are 0 where nothing is wanted, counted or different, and a call that is
            # too short to be told from its tile has less than none
            zero = key.startswith(("target", "tiles", "largest", "pixels_that", "one_minus"))
            if zero or key in ("call_seconds", "auto", "flat", "fraction_of_roof"):
                assert value is None or math.isfinite(value), (key, row)
            elif isinstance(value, (int, float)):
                assert value > 0 and math.isfinite(value), (key, row)
        for point in row.get("points", []):
            assert point["x"] > 0 and point["evaluations"] > 0 and point["seconds"] > 0, row
for row in found["cases"]:
    assert row["program_seconds"] > 0 and row["strategy"] != "lanes" or row["fraction_of_roof"] > 0
for row in found["peer"]:  # our own program: the images in double agree to the bit
    worst, allowed = row["largest_difference_over_peak"], 0 if row["precision"] == "double" else 2e-5
    print(f"{row['case']} {row['precision']}: measured {worst:g} allowed {allowed:g} of the peak")
    assert worst <= allowed
assert all(row["same_bits"] for row in found["thread_scaling"])
assert found["machine"]["hertz"] > 0 and found["machine"]["sines"] > 0
END
if [ -e quick.svg ]; then tail -n 1 quick.svg | grep '</svg>'; fi

for wrong in -fast '-cases Q' '-cases A,,B' '-cases A,' '-threads 0' '-repeat x' -json \
    '-program /no/such' '-json /no/such/file' '-plot /no/such/file' '-plot .'; do
    status=0
    # shellcheck disable=SC2086
    bench $wrong > out.txt 2> err.txt || status=$?
    lines=$(wc -l < err.txt)
    echo "$wrong: status $status, expected 2; lines $lines, expected 1"
    [ "$status" = 2 ] && [ "$lines" = 1 ] && [ ! -s out.txt ] || exit 1
done
bench --help | grep -q -- -peer

# fails REASON OPTION...: measures what it can, gives the reason, ends with status 1
fails()
{
    reason=$1
    shift
    status=0
    bench -quick -cases b -repeat 1 "$@" > out.txt 2> err.txt || status=$?
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
