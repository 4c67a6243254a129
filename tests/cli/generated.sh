#!/bin/sh
# generated.sh PROGRAM DATA - texts made from the option table are complete and current.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
docs=$(cd "$data/../../docs" && pwd)

"$program" -generate markdown > cli.md
is "docs/cli.md is current" cmp -s cli.md "$docs/cli.md"
"$program" -generate man > man.1
"$program" -generate bash > completion
"$program" -help all > help
is "--help is -help" sh -c "\"$program\" --help all | cmp -s - help"
"$program" --version > version
is "--version names the program" grep -q '^nanobrag [0-9]' version

# the first screen fits one, and its options are real
"$program" -help > first
is "-help has at most 24 lines" test "$(wc -l < first)" -le 24
is "-help has at most 80 columns" test -z "$(awk 'length > 80' first)"
sed -n '4,/^$/s/ \(-[A-Za-z_]* \)/\n\1/gp' first | grep -o '^-[A-Za-z_]*' > common
is "-help has the options most used" test "$(wc -l < common)" -ge 25
for option in -cell -hkl -pdb -mtz -expt -geom -shots -fit; do
    is "-help has $option" grep -q -x -e "$option" common
done
while read -r option; do
    is "$option of -help is one" "$program" -help "$option" > none
done < common
# helps PATTERN WORD: -help WORD prints a line with this pattern
helps()
{
    "$program" -help "$2" > word 2> err
    code=$?
    is "-help $2" sh -c "test $code -eq 0 && grep -q -e '$1' word"
}
helps '^  -distance d .*Distance' distance
helps '^  -distance d .*Distance' -distance
helps 'distance .*Parameter of the group' distance
helps 'Also: -matrix' matrix
helps '^  -pixel p' detector
helps '^  -floatfile' 'output files'
helps '^  cell_beta .*angle between a and c .degree.' cell_beta
helps '^  misset_y' misset
helps '^  F\[' 'F[1,2,3]'
helps 'NANOBRAG_STRICT' environment
helps 'Seconds that NVRTC' NANOBRAG_COMPILE_TIMEOUT
refuses 2 'nearest is -distance' -help distanse
refuses 2 'of this name$' -help xyzzy

# every option of the table is in all four, with what -help all shows
sed -n 's/^  \(-[A-Za-z0-9_]*\).*/\1/p' help > options
is "-help lists more than a hundred options" test "$(wc -l < options)" -gt 100
missing=0
while read -r option; do
    grep -q -F "\`$option" cli.md || { echo "# $option is not in cli.md"; missing=1; }
    escaped=$(printf '%s' "$option" | sed 's/-/\\\\-/')
    grep -q "^\\.B $escaped\\\\fR" man.1 || { echo "# $option is not in man.1"; missing=1; }
    grep -q -e "^ *$option\\( \\|\$\\)" completion \
        || { echo "# $option is not in the completion"; missing=1; }
done < options
is "every option is everywhere" test $missing -eq 0
for variable in NANOBRAG_COMPAT NANOBRAG_THREADS OMP_NUM_THREADS NANOBRAG_ISA \
    NANOBRAGG_DISABLE_COMPILE NANOBRAG_DISABLE_COMPILE NANOBRAG_LOGS NANOBRAG_CACHE_DIR \
    NANOBRAG_GRAPHS NANOBRAG_STRICT NANOBRAG_COMPILE_TIMEOUT NANOBRAG_HOT_THRESHOLD \
    NANOBRAG_RECOMPILE_LIMIT; do
    is "$variable is in -help, cli.md and man.1" sh -c "grep -q $variable help \
        && grep -q $variable cli.md && grep -q $variable man.1"
done
if command -v bash > /dev/null; then
    is "the completion is bash" bash -n completion
    is "it completes names" bash -c '. ./completion
        COMP_WORDS=(nanobrag -detpix) COMP_CWORD=1; _nanobrag
        [ "${COMPREPLY[0]}" = -detpixels ]'
    is "it completes choices" bash -c '. ./completion
        COMP_WORDS=(nanobrag -pivot s) COMP_CWORD=2; _nanobrag
        [ "${COMPREPLY[0]}" = sample ]'
fi
if command -v mandoc > /dev/null; then
    is "the man page is clean" sh -c 'mandoc -T lint -W error man.1 > lint'
elif command -v groff > /dev/null; then
    groff -man -Tascii -ww man.1 > formatted 2> lint
    is "the man page is clean" test ! -s lint
fi
finish
