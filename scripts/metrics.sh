#!/bin/sh
# metrics.sh - limits on C sources: file 600 lines, function 80 lines, 8 parameters,
# 92 columns, 20 sources in a folder of the library. Prints the largest of each; fails above.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."

find src include -name '*.[ch]' -o -name '*.cu' -o -name '*.def' | sed 's|/[^/]*$||' | sort \
    | uniq -c | sort -rn | awk '
NR == 1 { printf "metrics: largest folder %d (%s)\n", $1, $2 }
$1 > 20 { printf "%s: %d sources, limit 20\n", $2, $1; bad++ }
END { exit bad > 0 }
'

find . \( -path ./build -o -path ./.git -o -path ./demo \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.def' \) -print | sort | xargs awk '
function over(what, value, limit, where, unit) {
    if (value > largest[what]) { largest[what] = value; place[what] = where }
    if (value > limit) { printf "%s: %s %d %s, limit %d\n", where, what, value, unit, limit; bad++ }
}
# commas of the outermost parentheses of a signature
function parameters(text,   i, c, depth, n) {
    sub(/[ \t]*__attribute__.*/, "", text)
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "(") { depth++; if (depth == 1 && !n) n = 1 }
        else if (c == ")") depth--
        else if (c == "," && depth == 1) n++
    }
    return n
}
function close_file() { if (previous) over("file", lines, 600, previous, "lines") }
FNR == 1 { close_file(); previous = FILENAME; signature = ""; start = 0 }
{
    lines = FNR
    # the lists of .def files are tables: one row a line
    if (FILENAME !~ /\.def$/) over("line", length($0), 92, FILENAME ":" FNR, "columns")
}
# a function: a signature from column 0, its braces alone in column 0
/^\{/ && signature ~ /\(/ {
    start = FNR
    over("parameters", parameters(signature), 8, FILENAME ":" FNR, "")
    signature = ""
    next
}
/^\}/ {
    if (start) over("function", FNR - start - 1, 80, FILENAME ":" start, "lines")
    start = 0; signature = ""
    next
}
start { next }
/^[ \t]*$/ || /^#/ || /^[ ]?\*/ || /^\/[*\/]/ || /;[ \t]*$/ { signature = ""; next }
{ signature = signature " " $0 }
END {
    close_file()
    for (what in largest) printf "metrics: largest %s %d (%s)\n", what, largest[what], place[what]
    if (!previous) { print "metrics: no files"; bad++ }
    exit bad > 0
}
'
