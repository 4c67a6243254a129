#!/bin/sh
# images.sh PROGRAM DATA - sweeps: numbered names, phi, noise, interruption.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"

names()
{
    tr '\n' ' ' < listing
}
run $scene -osc 1 -phisteps 2 -images 3 -floatfile x.bin
is "x.bin is numbered" test "$(names)" = "x_00001.bin x_00002.bin x_00003.bin "
run $scene -osc 1 -phisteps 2 -images 3 -floatfile 'a###b.bin'
is "a run of # is replaced" test "$(names)" = "a001b.bin a002b.bin a003b.bin "
run $scene -osc 1 -phisteps 2 -images 3 -floatfile n_0099.bin
is "digits count on" test "$(names)" = "n_0099.bin n_0100.bin n_0101.bin "
run $scene -osc 1 -phisteps 2 -images 2 -noise -seed 1
is "default names count on" test "$(names)" = "noise_00001.img noise_00002.img "
is "their noise differs" sh -c '! cmp -s work/noise_00001.img work/noise_00002.img'
run $scene -osc 1 -phisteps 2 -floatfile x.bin
is "no number without -images" test "$(names)" = "x.bin "

# image i is the single image at phi0 + i osc
run $scene -phi 10 -osc 0.7 -phisteps 3 -images 3 -doublefile x.bin
cp work/x_00003.bin third.bin
run $scene -phi 11.4 -osc 0.7 -phisteps 3 -doublefile x.bin
is "phi advances by -osc" cmp -s third.bin work/x.bin
run $scene -phi 10 -osc 0.7 -phisteps 3 -images 3 -intfile x.img
is "the header's PHI too" sh -c 'head -c 512 work/x_00003.img | grep -a -q "^PHI=11.4;"'

# noise of image i depends on its number, not on the sweep's length
run $scene -osc 1 -phisteps 2 -images 3 -noise -seed 4
cp work/noise_00002.img second.img
run $scene -osc 1 -phisteps 2 -images 2 -noise -seed 4
is "noise of image 2" cmp -s second.img work/noise_00002.img

# an interrupt: what is finished stays, nothing is half-written
for signal in INT TERM; do
    interrupted $signal x_00001.bin -floatfile x.bin
    whole=0
    for file in work/* work/.[!.]*; do
        [ -e "$file" ] || continue
        [ "$(wc -c < "$file")" -eq $((300 * 300 * 4)) ] || whole=1
    done
    is "every file is whole" test $whole -eq 0
done
finish
