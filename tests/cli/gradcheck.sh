#!/bin/sh
# gradcheck.sh PROGRAM DATA - -gradcheck on a command line: the table, what it leaves, its
# exit status. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
small="-cell 31 37 44 81 96 103 -misset 12 -33 71 -default_F 80 -lambda 1.1 -N 5 -distance 80 -detpixels 12 -pixel 1.4 -oversample 1"

# checks DESCRIPTION ARGUMENTS...: every derivative is right, and no file is left
checks()
{
    what=$1
    shift
    run "$@"
    is "$what: exit status 0" test $code -eq 0
    is "$what: says so" grep -q '^every derivative is right$' out
    is "$what: leaves no file" test ! -s listing
}

checks "names" $small -gradcheck cell,misset,wavelength
is "ten parameters pass" test "$(grep -c " PASS" out)" -eq 10
checks "strategies" $small -gauss_xtal -strategy spots -gradcheck misset,distance
checks "float is checked in double" $small -precision float -gradcheck distance
checks "a large image" $scene -detpixels 300 -pixel 0.3 -gradcheck distance
is "a window of it" grep -q 'pixels [0-9]* to [0-9]* (fast)' out
checks "a region" $small -roi 3 8 2 6 -gradcheck distance
is "just that" grep -q 'pixels 3 to 8 (fast), 2 to 6 (slow)' out

checks "all" $small -gradcheck all

dark=$(echo "$small" | sed "s/-default_F 80/-default_F 0/")
printf "40 40 40 50\n40 40 41 50\n" > dark.hkl
run $dark -hkl "$place/dark.hkl" -gradcheck misset
is "a dark image fails" test $code -eq 1
is "as vacuous" grep -q FAIL_VACUOUS err
run $dark -hkl "$place/dark.hkl" -gradcheck all
is "in all parameters too" test $code -eq 1
is "and as vacuous" grep -q FAIL_VACUOUS err
NANOBRAGG_DISABLE_COMPILE=1
export NANOBRAGG_DISABLE_COMPILE
checks "with compiling off" $small -gradcheck misset_x
unset NANOBRAGG_DISABLE_COMPILE
refuses 2 'no_such.*-list_params' $small -gradcheck no_such
for absent in 'F[1,2,3]' source_wavelength; do
    refuses 2 'does not apply' $small -gradcheck "$absent"
    is "before anything is printed" test ! -s out
done
refuses 2 'one image' $small -osc 1 -images 2 -gradcheck distance
refuses 2 'absent.bin' $small -gradcheck distance -cotangent absent.bin

# the table shows the gradient of the weights given
run $small -doublefile w.bin -gradient distance -gradfile g
cp work/w.bin w.bin
inputs="$place/w.bin"
run $small -cotangent w.bin -gradient distance -gradfile g
gradient=$(sed -n 's/.*"distance".*"gradient": \([-0-9.e+]*\).*/\1/p' work/g)
checks "weights" $small -cotangent w.bin -gradcheck distance
is "the gradient is theirs" sh -c "awk -v g=$gradient '
    \$1 == \"distance\" { d = \$4 - g; exit !(d * d <= 1e-24 * g * g) }' out"
inputs=
finish
