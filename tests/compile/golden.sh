#!/bin/sh
# golden.sh PROGRAM DATA - every golden case, compiled against uncompiled over the scene of
# its own command line: image and gradient, in double and in float. Prints the differences.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/../cli/lib.sh"
command -v python3 > /dev/null || { echo "skipped: no python3 to read the index"; exit 77; }

# a line per case: name | input files | arguments
python3 -c '
import json, sys
for case in json.load(open(sys.argv[1]))["cases"]:
    print(case["name"], " ".join(case["files"]), " ".join(case["args"]), sep="|")
' "$data/golden/index.json" > cases || exit 1

count=0
printf '%-26s %-9s %-7s %-10s %-10s %s\n' case of in difference relative bits
while IFS='|' read -r name files arguments; do
    inputs=
    for file in $files; do inputs="$inputs $data/golden/$file"; done
    run -compat nanobragg $arguments -noprogress -bench_compile verify < /dev/null
    # of a row: command line OPERATION PRECISION DIFFERENCE RELATIVE BITS ...
    sed -n 's/^command line  *//p' out \
        | awk -v name="$name" '{ printf "%-26s %-9s %-7s %-10s %-10s %s\n", name, $1, $2, $3,
            $4, $5 }'
    images=$(grep -c '^command line  *image .* PASS$' out)
    [ $code -eq 0 ] && [ "$images" -eq 2 ] && [ ! -s listing ]
    passes=$?
    report $passes "$name"
    [ $passes -eq 0 ] || { echo "# exit $code, images $images"; sed 's/^/# /' out err; }
    count=$((count + 1))
done < cases
is "all of them were there" test $count -ge 40
finish
