#!/bin/sh
# commands.sh PROGRAM SOURCE - runs the ```sh blocks of README.md and docs/*.md, each
# document in an empty directory that holds only examples/. The two commands that install
# and build are not run but must name scripts that exist. SPDX-License-Identifier: MIT
. "$(dirname "$0")/../cli/lib.sh"
source=$data
drop=

# run_blocks DOCUMENT FILE...: its commands succeed without a warning and leave these files
run_blocks()
{
    document=$1
    shift
    rm -rf work
    mkdir work
    ln -s "$source/examples" work/examples
    sed -n '/^```sh$/,/^```$/p' "$source/$document" | grep -v '^```' > commands
    is "$document has commands" test -s commands
    for script in $(sed -n 's/^sh \(scripts[^ ]*\).*/\1/p' commands); do
        is "$document: $script is a script" sh -n "$source/$script"
    done
    grep -v '^sh scripts/' commands | sed "s#^nanobrag#'$program'#$drop" > commands.sh
    (cd work && sh -e ../commands.sh > ../out 2> ../err)
    status=$?
    is "$document: its commands run" test $status -eq 0
    is "$document: without a warning" sh -c '! grep warning: err'
    rm work/examples
    is "$document: they write $*" test "$(ls work | paste -s -d ' ' -)" = "$*"
}

has_gradient()
{
    grep '"distance"' work/gradient.json | grep -q '"gradient": -*[0-9.]*[1-9]'
}

# what this build lacks is left out of the command lines
picture=image.png
"$program" -version > version
grep -q fftw version || drop="$drop;s/ -psf gauss -psf_fwhm [0-9.]*//"
grep -q png version || { drop="$drop;s/ -pngfile image.png//"; picture=; }
run_blocks README.md gradient.json image.bin $picture image_00001.img
is "a gradient that is not 0" has_gradient
is "512 x 512 photons" test "$(wc -c < work/image.bin)" -eq $((512 * 512 * 4))
run_blocks docs/derivatives.md columns.bin gradient.json image.bin
is "four columns" test "$(wc -c < work/columns.bin)" -eq $((4 * 128 * 128 * 8))
is "a gradient that is not 0" has_gradient
is "columns that are not 0" test "$(tr -d '\000' < work/columns.bin | wc -c)" -gt 100000

for document in "$source"/docs/*.md "$source"/docs/development/*.md; do
    case $document in */docs/derivatives.md) continue ;; esac
    is "${document##*/} has no command that nobody runs" \
        sh -c "! grep -q '^\`\`\`sh' '$document'"
done
finish
