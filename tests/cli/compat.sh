#!/bin/sh
# compat.sh PROGRAM DATA - nanoBragg's command line: patterns, ignored options, defaults.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
compat="-compat nanobragg $scene -nonoise -nopgm -intfile i.img"

# its files
run -compat nanobragg $scene -seed 1
is "writes nanoBragg's four files" test "$(tr '\n' ' ' < listing)" \
    = "floatimage.bin image.pgm intimage.img noiseimage.img "
run -compat nanobragg $scene -nonoise -nopgm
is "-nonoise -nopgm leaves two" test "$(tr '\n' ' ' < listing)" = "floatimage.bin intimage.img "
inputs=$data/golden/p1.hkl
run -compat nanobragg -cell 30 40 50 -hkl p1.hkl -N 4 -detpixels 24 -pixel 1 -nonoise -nopgm
is "Fdump.bin after -hkl" test -s work/Fdump.bin
inputs=

# bit for bit, by the reference strategy
mkdir stored
gunzip -c "$data/golden/mosflm_beam.f32.gz" > stored/f.bin
run -compat nanobragg -strategy reference -cell 32.1 38.7 43.9 81 96 103 -default_F 80 \
    -lambda 1.1 -distance 80 -detpixels 96 -pixel 0.25 -Xbeam 9.3 -Ybeam 13.7 -N 6 \
    -misset 12 -33 71 -nonoise -nopgm -floatfile f.bin
is "nanoBragg's image, bit for bit" cmp -s stored/f.bin work/f.bin

# the name of the program
ln -s "$program" nanoBragg
mkdir named
(cd named && ../nanoBragg $scene -nonoise -nopgm > ../out 2> ../err)
is "the name nanoBragg selects the profile" test -s named/intimage.img

# patterns fire anywhere in an argument; values are not consumed
same_image "suffixes and prefixes" "$compat -osc 1 -phistep 0.5" \
    "$compat -foo-oscillation 1 -phistep 0.5"
same_image "-matrix, -wavelength, -hklfile" "$compat -lambda 1.2" "$compat -my-wavelength 1.2"
same_image "numbers may have text behind" "$compat -distance 90 -oversample 2" \
    "$compat -distance 90mm -oversample 2.7"
same_image "a short -cell stops at an option" \
    "-compat nanobragg -cell 30 -default_F 10 -N 4 -detpixels 24 -nonoise -nopgm" \
    "-compat nanobragg -cell 30 30 30 90 90 90 -default_F 10 -N 4 -detpixels 24 -nonoise -nopgm"
same_image "-oversample_polar is no -oversample" "$compat -oversample 2 -oversample_polar" \
    "$compat -oversample 2 -oversample_polar 3"
same_image "-misset_seed is no -misset" "$compat -misset random -misset_seed 5 -osc 1 -phi 2" \
    "$compat -misset_seed 5 -misset random -osc 1 -phi 2"
same_image "-twotheta_axis is no -twotheta" "$compat -twotheta_axis 0 0 1" \
    "$compat -twotheta_axis 0 0 1 -twotheta 0"
same_image "-curved_det as last argument" "$compat -curved_det -floatfile f.bin" \
    "$compat -floatfile f.bin -curved_det"
same_image "-misset_seed follows -seed" "$compat -misset random -seed 7" \
    "$compat -misset random -misset_seed 7"

# what it passes over, with a warning
accepts 'warning: unknown option -bogus' $compat -bogus
accepts 'warning: unknown option -dispstep' $compat -dispstep 3
accepts 'warning: -detector_abs: too few values' $compat -detector_abs
accepts 'warning: -detector_thick: too few values' $compat -detector_thick
accepts 'warning: -thicksteps: too few values' $compat -thicksteps
run $compat -misset -1 -2 -3
is "negative numbers are no unknown options" test ! -s err
run $compat -floatfile -strange
is "a value is no unknown option" test ! -s err

# a stale dump is read, and says so
inputs=$data/golden/Fpre.bin
run -compat nanobragg -cell 30 40 50 -dump Fpre.bin -N 4 -detpixels 24 -nonoise -nopgm
is "a dump is read without -hkl" grep -q 'reading Fs from Fpre.bin' out
inputs=

# a header that outgrows 512 bytes is padded to the next multiple and says so
run $compat -detpixels 40 -pixel 0.123456 -distance 123.4567 -lambda 1.234567 \
    -Xbeam 2.345678 -Ybeam 2.456789 -detector_rotx 1.2345 -phi 12.34567 -osc 0.123456
long=$(head -c 40 work/i.img | sed -n 's/^HEADER_BYTES=\([0-9]*\);$/\1/p')
is "a long header says its length" test "$long" -eq 1024
is "and the pixels follow it" test "$(wc -c < work/i.img)" -eq $((1024 + 40 * 40 * 2))

# our own options come first and exact
accepts 'max_I' $compat -doublefile d.bin -threads 1 -strategy reference
is "-doublefile holds 8-byte floats" test "$(wc -c < work/d.bin)" -eq $((24 * 24 * 8))
accepts '100% done' $compat
run $compat -noprogress
is "-noprogress" sh -c '! grep -q done out'
finish
