#!/bin/sh
# options.sh PROGRAM DATA - how the default profile reads its command line.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"

# exact names, the nearest one named
refuses 2 'unknown option -distanse; the nearest is -distance' $scene -floatfile f -distanse 100
refuses 2 'nearest is -detpixels' $scene -floatfile f -detpixel 24
refuses 2 'nearest is -wavelength' $scene -floatfile f -wavelenght 1
refuses 2 'unknown option -N9' $scene -floatfile f -N9
refuses 2 'unknown option -foo-osc' $scene -floatfile f -foo-osc 1
refuses 2 'unexpected "image.bin"' $scene -floatfile f.bin image.bin
refuses 2 'unknown option -compat_nanobragg' $scene -floatfile f -compat_nanobragg

# values
refuses 2 'missing value' $scene -floatfile f -distance
refuses 2 'missing value' $scene -floatfile f -distance -pixel 1
refuses 2 'missing value' $scene -floatfile f -misset 1 2
refuses 2 'missing value' $scene -floatfile -distance 100
refuses 2 'missing value' $scene -floatfile f -detector_abs
refuses 2 'missing value' $scene -floatfile f -detector_thick
refuses 2 'missing value' $scene -floatfile f -thicksteps
refuses 2 'expected a number' $scene -floatfile f -distance 100mm
refuses 2 'expected a number' $scene -floatfile f -distance nan
refuses 2 'expected a number' $scene -floatfile f -distance inf
refuses 2 'expected a number' $scene -floatfile f -distance 1e999
refuses 2 'expected a number' $scene -floatfile f -distance 0x10
refuses 2 'expected a number' $scene -floatfile f -distance ''
refuses 2 'expected a whole number' $scene -floatfile f -oversample 2.7
refuses 2 'expected a whole number' $scene -floatfile f -seed 12x
refuses 2 'expected a whole number' $scene -floatfile f -seed 99999999999999999999
refuses 2 'too large' $scene -floatfile f -oversample 5000000000
refuses 2 'greater than 0' $scene -floatfile f -pixel 0
refuses 2 '-threads 0: must be greater than 0' $scene -floatfile f -threads 0
refuses 2 '-threads 1025: must be at most 1024' $scene -floatfile f -threads 1025
refuses 2 'not be negative' $scene -floatfile f -dmin -1
refuses 2 'expected gauss|fiber' $scene -floatfile f -psf wide
refuses 2 'expected sample|beam' $scene -floatfile f -pivot samples
refuses 2 'expected -1 to 1' $scene -floatfile f -polar 1.5
refuses 2 'expected double|float' $scene -floatfile f -precision single
refuses 2 'missing value' $scene -floatfile f -precision
refuses 2 'expected auto|reference|lanes|spots' $scene -floatfile f -strategy fast
refuses 2 'missing value' $scene -floatfile f -tolerance
refuses 2 'expected a number' $scene -floatfile f -tolerance tight
refuses 2 'greater than 0' $scene -floatfile f -tolerance 0
refuses 2 'greater than 0' $scene -floatfile f -tolerance -1e-6
refuses 2 'less than 1' $scene -floatfile f -tolerance 1

# what is legal all the same
accepts 'brightest pixel' -cell 30 -default_F 10 -N 4 -detpixels 24 -pixel 1 -floatfile f
accepts '^crystal  *30 40 30 A, 90 90 90 degree' -cell 30 40 -default_F 10 -N 4 -detpixels 24 -pixel 1 \
    -floatfile f
accepts 'brightest pixel' $scene -detector_thick 300 -detector_abs inf -floatfile f
accepts 'brightest pixel' $scene -misset -10 -20 -30 -floatfile f
accepts 'brightest pixel' $scene -seed -9223372036854775808 -noise
accepts 'brightest pixel' $scene -floatfile -my-osc.bin
accepts 'brightest pixel' $scene --distance 120 --floatfile f

# aliases say the same
same_image "-wavelength is -lambda" "$scene -lambda 1.1" "$scene -wavelength 1.1"
same_image "-energy is a wavelength" "$scene -lambda 1.1" "$scene -energy 11271.290909090909"
same_image "-oscillation is -osc" "$scene -osc 1 -phisteps 2" "$scene -oscillation 1 -phisteps 2"
same_image "-mosaic_spread is -mosaic" "$scene -mosaic 1" "$scene -mosaic_spread 1"
same_image "-binary_spots is -tophat_spots" "$scene -tophat_spots" "$scene -binary_spots"
same_image "-N is -Na -Nb -Nc" "$scene" "$scene -N 9 -Na 4 -Nb 4 -Nc 4"
same_image "later options win" "$scene -distance 90" "$scene -distance 50 -distance 90"
same_image "-polar cancels -nopolar" "$scene -polar 0.5" "$scene -nopolar -polar 0.5"
same_image "-misset cancels random" "$scene -misset 1 2 3" "$scene -misset random -misset 1 2 3"

# spots of any shape sum to those of square blocks
same_image "-normalise is off" "$scene -gauss_xtal" "$scene -gauss_xtal -normalise off"
same_image "-normalise leaves square blocks" "$scene" "$scene -fudge 2 -normalise on"
run $scene -gauss_xtal -floatfile f.bin
is "gauss says what its spots sum to" grep -q \
    'spots have 0.9844 times the sum of square blocks (-normalise on: the same sum)' out
cp work/f.bin plain.bin
run $scene -gauss_xtal -normalise on -floatfile f.bin -json f.json
is "normalised ones say so" grep -q 'spots have the sum of square blocks (-normalise on)' out
(od -A n -v -t f4 -w4 plain.bin; od -A n -v -t f4 -w4 work/f.bin) | awk '
    NR <= 576 { one[NR] = $1; next }
    one[NR - 576] > 0 { n++; d = $1 / one[NR - 576] * 0.984443146 - 1; if (d * d > m) m = d * d }
    END { print "# " n " pixels, off by " sqrt(m); exit !(n > 100 && m < 1e-12) }'
report $? "each pixel is brighter by 1/0.98444"
refuses 2 '-normalise on needs a -fudge above 0' $scene -gauss_xtal -fudge 0 -normalise on -floatfile f
refuses 2 'expected on|off' $scene -normalise yes -floatfile f
run $scene -compat nanobragg -nonoise -nopgm -gauss_xtal -normalise on
is "-compat nanobragg refuses it" sh -c "test $code -ne 0 && cat out err | \
    grep -q -e '-normalise on cannot be used with -compat nanobragg'"

# options that change nothing say so
accepts 'warning: -detector_thicksteps has no effect' $scene -thicksteps 3 -floatfile f
accepts 'warning: -density has no effect without -water' $scene -density 1.3 -floatfile f
accepts "warning: -planes has no effect without -fit, -fit_each or -integrate" $scene -planes -floatfile f
for late in '-coarse off' '-errors counting' '-fit_passes 3' '-fit_seconds 3'; do
    accepts "warning: ${late% *} has no effect without -fit or -fit_each" $scene $late -floatfile f
done
accepts 'warning: -images 2 without -osc' $scene -images 2 -floatfile f
accepts 'warning: -tolerance has no effect' $scene -strategy lanes -tolerance 1e-6 -floatfile f
accepts 'warning: -tolerance has no effect' $scene -tolerance 1e-6 -floatfile f
accepts 'warning: -precision float has no effect' $scene -precision float -tolerance 1e-12 \
    -floatfile f
is "once" test "$(grep -c 'has no effect' err)" -eq 1
run $scene -precision float -floatfile f
is "float that is used is not warned of" sh -c '! grep -q "no effect" err'

# the pixel loops: within their tolerance of one another; later options win
loop_agrees()
{
    allowed=$1
    shift
    run $scene "$@" -strategy reference -precision double -doublefile d.bin
    cp work/d.bin reference.bin
    run $scene "$@" -doublefile d.bin
    off=$( (od -A n -v -t f8 -w8 reference.bin; od -A n -v -t f8 -w8 work/d.bin) | awk '
        NR <= 576 { one[NR] = $1; if ($1 > peak) peak = $1; next }
        { d = $1 - one[NR - 576]; if (d < 0) d = -d; if (d > most) most = d }
        END { if (NR == 1152 && peak > 0) print most / peak; else print "nothing" }')
    awk "BEGIN { exit !(\"$off\" != \"nothing\" && $off + 0 <= $allowed) }"
    report $? "of the reference's peak off by $off, allowed $allowed: $*"
}
loop_agrees 1e-12 -strategy lanes
loop_agrees 1e-12 -precision float -precision double
loop_agrees 1e-5 -precision float
loop_agrees 1e-8 -precision float -tolerance 1e-8
loop_agrees 1e-5 -precision float -round_xtal
loop_agrees 1.01e-10 -strategy spots -gauss_xtal
loop_agrees 1.01e-4 -strategy spots -gauss_star -tolerance 1e-4
loop_agrees 2e-5 -strategy spots -precision float -tophat_spots
run $scene -precision float -doublefile d.bin
cp work/d.bin float.bin
run $scene -strategy lanes -doublefile d.bin
is "-precision float is another arithmetic" sh -c 'test -s float.bin && ! cmp -s float.bin work/d.bin'

# the profile of the environment, and -compat over it
NANOBRAG_COMPAT=nanobragg
export NANOBRAG_COMPAT
accepts 'nanoBragg nanocrystal' $scene -nonoise -nopgm
refuses 2 'nothing to write' $scene -compat none
NANOBRAG_COMPAT=nanobrag
refuses 2 'NANOBRAG_COMPAT is nanobrag' $scene
unset NANOBRAG_COMPAT

# what cannot be meant is refused, or said
refuses 2 'N 0: must be greater than 0' -cell 30 40 50 -default_F 10 -N 0 -floatfile f
refuses 2 'Na 0: must be greater than 0' $scene -Na 0 -floatfile f
refuses 2 'psf_fwhm 25 mm is wider than the detector of 24 x 24 mm' $scene -psf gauss \
    -psf_fwhm 25 -floatfile f
accepts 'roi reaches beyond the detector of 24 x 24 pixels; the run renders -roi 1 23 1 5' $scene \
    -roi 1 24 1 5 -floatfile f
accepts '12.4 eV is a wavelength of 999.873 A; if you mean keV, give -energy 12400' $scene \
    -energy 12.4 -floatfile f
accepts 'sees spacings above .* longest edge of the cell is 50 A' $scene -energy 12.4 \
    -floatfile f
printf '0 0 0 9\n30 30 30 10\n' > far.hkl
printf '0 0 0 9\n-3 3 -3 10\n' > near.hkl
inputs="$place/far.hkl $place/near.hkl"
listed="-cell 30 40 50 80 95 110 -N 4 -detpixels 24 -pixel 1"
accepts 'no listed reflection can reach the detector' $listed -hkl far.hkl -floatfile f
# silent DESCRIPTION ARGUMENTS...: no warning of these kinds
silent()
{
    what=$1
    shift
    run "$@" -floatfile f
    grep -q -e 'can reach' -e 'is this keV' -e 'reaches beyond' err
    report $(($? == 0 || code != 0)) "no warning: $what"
}
silent 'a reflection in reach' $listed -hkl near.hkl
silent 'a scene in reach' $scene -energy 8000 -roi 1 23 -1 -1
silent 'what -default_F reaches' $listed -hkl far.hkl -default_F 1
inputs=

# of options that set the same, the one that counts is named
accepts 'lambda has no effect: -energy comes later and sets the same' $scene -lambda 1 \
    -energy 10000 -floatfile f
accepts 'energy has no effect: -lambda comes later and sets the same' $scene -energy 10000 \
    -lambda 1 -floatfile f
accepts 'fluence has no effect beside -flux 1e12' $scene -flux 1e12 -fluence 1e20 \
    -floatfile f
accepts '-N has no effect: -Nc comes later' $scene -N 9 -Na 4 -Nb 4 -Nc 4 -floatfile f
accepts '-Nb has no effect: -N comes later' -Nb 9 $scene -floatfile f
accepts '-N has no effect: -xtalsize sets the same and wins' -xtalsize 2e-5 $scene -floatfile f
accepts 'round_xtal has no effect: -gauss_xtal comes later' $scene -round_xtal -gauss_xtal \
    -floatfile f
accepts 'noisefile has no effect: -nonoise comes later' $scene -noisefile n -nonoise -floatfile f
accepts 'detsize has no effect: -detpixels sets the same and wins' $scene -detsize 20 -floatfile f
accepts 'distance has no effect beside -pix0_vector' $scene -distance 60 \
    -pix0_vector 0.1 0.012 -0.012 -floatfile f
# keeps ARGUMENTS...: each of these has an effect
keeps()
{
    run $scene "$@" -floatfile f
    is "nothing is lost of $*" sh -c "test $code -eq 0 && ! grep -q 'has no effect' err"
}
keeps -Na 9
keeps -distance 50 -distance 90
keeps -flux 0 -fluence 1e20
keeps -xtalsize 0
keeps -noise -noisefile n
keeps -hdivrange 1 -vdivrange 2
keeps -Xbeam 12 -Ybeam 12 -distance 90
accepts 'nanoBragg nanocrystal' $scene -lambda 1 -energy 10000 -compat nanobragg -nonoise -nopgm
is "-compat nanobragg says nothing of it" sh -c '! grep -q "has no effect" err'
finish
