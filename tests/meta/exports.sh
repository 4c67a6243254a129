#!/bin/sh
# exports.sh SHARED STATIC - both libraries define the functions that the headers mark
# NB_API, and no other global symbol. SPDX-License-Identifier: MIT
set -eu
headers=${NANOBRAG_SOURCE:?}/include/nanobrag

# the word before the first parenthesis of a declaration that begins with NB_API
# mpi.h is that of another library
find "$headers" -name '*.h' ! -name mpi.h -exec cat {} + | tr '\n' ' ' | grep -oE 'NB_API [^;{#]*;' \
    | sed 's/ *(.*//; s/.*[ *]//' | sort -u > declared
[ -s declared ]

bad=0
compare()
{
    if ! diff declared "$1" > difference; then
        echo "$1 library and headers differ (< declared only, > exported only):"
        cat difference
        bad=1
    fi
}
nm -D --defined-only "$1" | awk '$2 ~ /[TDBRVW]/ { print $3 }' | sort -u > shared
nm --defined-only "$2" | awk '$2 ~ /[TDBRVWC]/ { print $3 }' | sort -u > static
compare shared
compare static
echo "$(wc -l < declared) functions declared"
exit $bad
