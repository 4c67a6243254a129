#!/bin/sh
# errors.sh PROGRAM DATA - bad input ends with one line, the right status and no file.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
bare="-N 4 -detpixels 24 -pixel 1"
cell="-cell 30 40 50"

refuses 2 'nanobrag -help'
refuses 2 'no unit cell' $bare -default_F 1 -floatfile f
refuses 2 'no structure factors' $bare $cell -floatfile f
refuses 2 'nothing to write' $scene

# names: the nearest is offered within two edits, and less than half of the letters, or where
# it begins like the word
refuses 2 'the nearest is -lambda' $scene -lamda 1 -floatfile f
refuses 2 'the nearest is -detpixels$' $scene -detpixles 9 -floatfile f
refuses 2 'the nearest is -wavelength$' $scene -wavelen 1 -floatfile f
for pair in -hdiv:-hdivrange -vdiv:-vdivrange -water_um:-water -na:-Na -LAMBDA:-lambda \
    -detector_rotx_deg:-detector_rotx -mosaic_spread_deg:-mosaic_spread -expt_file:-expt \
    -polarization:-polar -dist:-distance -xbeam:-Xbeam; do
    refuses 2 "the nearest is ${pair#*:}\$" $scene "${pair%:*}" 1 -floatfile f
done
for option in -qqq -o -V '-?'; do
    refuses 2 'unknown option .*lists them' $scene $option 1 -floatfile f
done
refuses 2 'parameter "misset_w"; the nearest is misset_[xyz]$' $scene -gradient misset_w
refuses 2 'parameter "cel"; the nearest is cell$' $scene -jacobian cel -jacobianfile f
refuses 2 'parameter "wavlength"; the nearest is wavelength$' $scene -param wavlength=1 \
    -floatfile f
refuses 2 'there is no parameter "foo"' $scene -gradcheck foo
is "-gradcheck foo fails before anything is printed" test ! -s out
refuses 2 'no parameter "miset"; the nearest is misset$' $scene -gradcheck miset

# the quantity in words and the option, not the member of the library
refuses 2 '^nanobrag: -cell: gamma is 200, expected between 0 and 180$' $scene \
    -cell 30 40 50 90 90 200 -floatfile f
refuses 2 '^nanobrag: -cell: a is 0, expected more than 0$' $scene -cell 0 40 50 -floatfile f
refuses 2 '^nanobrag: -mosaic_domains is 200000000, expected between 0 and 100000000$' $scene \
    -mosaic 1 -mosaic_domains 200000000 -floatfile f
refuses 2 '^nanobrag: -oversample is 100000, expected between 0 and 10000$' $scene \
    -oversample 100000 -floatfile f

# one file under two names
for option in -imagefile -floatfile -intfile -noisefile -pngfile -json; do
    refuses 2 "^nanobrag: $option is given twice, as a.img and b.img, and writes one" $scene \
        $option a.img $option b.img
done
accepts 'files .* f' $scene -floatfile f -floatfile f
printf '1 2 3 4\n' > one.hkl
accepts 'warning: -hkl ../none.hkl has no effect: -hkl ../one.hkl comes later' $scene \
    -hkl ../none.hkl -hkl ../one.hkl -floatfile f

printf '1 2 3 4\n1 2 3 5\n2 2 2 -7\n2 2 3 -8\n' > again.hkl
accepts 'warning: ../again.hkl: reflections that are listed again with another F: 1; the last F counts$' \
    $scene -hkl ../again.hkl -floatfile f
accepts 'note: ../again.hkl: reflections with negative F: 2; the image uses F squared' $scene \
    -hkl ../again.hkl -floatfile f

# combinations that cannot be meant
refuses 2 'needs -detector_abs' $scene -detector_thick 300 -floatfile f
refuses 2 'needs -water' $scene -stol "$data/golden/water_like.stol" -floatfile f
refuses 2 'stolout is not supported' $scene -stolout o -floatfile f
refuses 2 '-phisteps 5 needs -osc,' $scene -phisteps 5 -floatfile f
refuses 2 '-mosaic_domains 5 needs -mosaic,' $scene -mosaic_domains 5 -floatfile f
refuses 2 '-hdivsteps 3 needs -hdivrange,' $scene -hdivsteps 3 -floatfile f
refuses 2 '-vdivsteps 3 needs -vdivrange,' $scene -vdivsteps 3 -floatfile f
refuses 2 '-dispsteps 3 needs -dispersion,' $scene -dispsteps 3 -floatfile f
refuses 2 'psf_fwhm' $scene -psf gauss -floatfile f
refuses 2 'differ' $scene -Xbeam 10 -Ybeam 10 -ORGX 3 -ORGY 3 -floatfile f
refuses 2 'same point' $scene -Xclose 10 -Yclose 10 -ORGX 3 -ORGY 3 -floatfile f
refuses 2 'holds no pixel' $scene -roi 30 40 0 10 -floatfile f
refuses 2 'holds no pixel' $scene -roi 9 3 0 10 -floatfile f
refuses 2 'outside the detector of 24 x 24' $scene -printout_pixel 24 3 -floatfile f
refuses 2 'vector needs a length' $scene -fdet_vector 0 0 0 -floatfile f
refuses 2 'infinite' $scene -beamsize 0 -flux 1e10 -floatfile f
refuses 2 'behind the crystal' $scene -twotheta 120 -floatfile f
refuses 2 'get the same names' $scene -images 3 -intfile n_1.img -noisefile n_3.img
refuses 2 'have the same name' $scene -floatfile f -doublefile f
refuses 2 'the reference computes in double' $scene -strategy reference -precision float \
    -floatfile f

# what goes to stdout
refuses 2 'name a file' $scene -floatfile -
refuses 2 'name a file' $scene -noisefile - -json -
if "$program" -version | grep -q cjson; then
    refuses 2 'both write to stdout' $scene -json - -printout_pixel 1 1
    if [ -w /dev/full ]; then
        "$program" $scene -json - -quiet > /dev/full 2> err
        is "-json - to a full device fails" test $? -eq 1
    fi
fi

# files that are not there, not readable as such, or not what they should be
refuses 2 'absent.hkl' $bare $cell -hkl absent.hkl -floatfile f
refuses 2 'absent.mat' $bare -mat absent.mat -default_F 1 -floatfile f
refuses 2 'absent.box' $scene -boxes absent.box -floatfile f
refuses 2 'absent.src' $scene -sourcefile absent.src -floatfile f
refuses 2 'absent.stol' $scene -water 1 -stol absent.stol -floatfile f
refuses 2 'absent.bin' $bare $cell -dump absent.bin -floatfile f
refuses 2 'absent.img' $scene -img absent.img -floatfile f
refuses 2 'absent.img' $scene -mask absent.img -floatfile f

: > empty
printf '1 0 0 10\n0 1 0 x\n' > word.hkl
printf '1 0 0 10\n0.5 1 0 3\n' > half.hkl
printf '1 0 0 10 3\n' > five.hkl
printf 'H K L FOBS SIGF\n1 0 0 10 0.1\n' > head.hkl
printf '1 0 0 10 0 1 0 20\n' > eight.hkl
printf '1 0 0 10\n' > one.hkl
printf '1 0 0 10\n0 1 0 20\n' > two.hkl
printf '1 0 0\n' > three.hkl
printf '1 2 3\n4 5 6\n' > six.mat
printf '0 0 0 1 1e-10\n' > nowhere.src
printf '%s\n' '-1 0 0 -2' > negative.src
printf '%s\n' '-1 0 0 1 0' > dark.src
printf '0.1 2\n0.1 3\n' > flat.stol
printf '{\nHEADER_BYTES=512;\nSIZE1=24;\n' > short.img
echo 0 5 0 5 > good.box
printf '0 5 0 5\n7 3 0 5\n' > reversed.box
echo 0 5 0 > short.box
echo 0 5 0 5000 > outside.box
echo 0.5 5 0 5 > part.box
echo 0 5 0 five > word.box
head -c 2000 /dev/zero > zero
inputs="$place/empty $place/word.hkl $place/half.hkl $place/five.hkl $place/three.hkl
    $place/six.mat $place/nowhere.src $place/negative.src $place/dark.src $place/flat.stol
    $place/short.img $place/zero $place/head.hkl $place/eight.hkl $place/one.hkl $place/two.hkl
    $place/good.box $place/reversed.box $place/short.box $place/outside.box $place/part.box
    $place/word.box"
for file in empty zero; do
    refuses 2 "$file" $bare $cell -hkl $file -floatfile f
    refuses 2 "$file" $bare -mat $file -default_F 1 -floatfile f
    refuses 2 "$file" $scene -sourcefile $file -floatfile f
    refuses 2 "$file" $scene -water 1 -stol $file -floatfile f
    refuses 2 "$file" $bare $cell -dump $file -floatfile f
    refuses 2 "$file" $scene -img $file -floatfile f
    refuses 2 "$file" $scene -mask $file -floatfile f
done
refuses 2 'word.hkl.*2' $bare $cell -hkl word.hkl -floatfile f
refuses 2 'half.hkl.*2' $bare $cell -hkl half.hkl -floatfile f
accepts 'five.hkl, line 1: columns after h k l F are ignored' $bare $cell -hkl five.hkl -floatfile f
accepts 'head.hkl, line 1: a header of words is skipped' $bare $cell -hkl head.hkl -floatfile f
same_image 'eight columns are one reflection' "$bare $cell -hkl eight.hkl" "$bare $cell -hkl one.hkl"
same_image "and two of nanoBragg's" "-compat nanobragg $bare $cell -hkl eight.hkl" \
    "-compat nanobragg $bare $cell -hkl two.hkl"
refuses 2 'three.hkl.*1' $bare $cell -hkl three.hkl -floatfile f
refuses 2 'six.mat' $bare -mat six.mat -default_F 1 -floatfile f
refuses 2 'source 1' $scene -sourcefile nowhere.src -floatfile f
refuses 2 'weight' $scene -sourcefile negative.src -floatfile f
refuses 2 'wavelength' $scene -sourcefile dark.src -floatfile f
refuses 2 'reversed.box: row 2' $scene -boxes reversed.box -floatfile f
for file in short outside part; do
    refuses 2 "$file.box: row 1" $scene -boxes $file.box -floatfile f
done
for wrong in auto: auto:3 auto:0:12 auto:3:0 auto:3:12:1 auto:3:12x auto:x:12; do
    refuses 2 "$wrong: expected auto:N:EDGE" $scene -boxes $wrong -floatfile f
done
refuses 2 'no reflection scatters onto the detector' $scene -lambda 1 -cell 1 1 1 90 90 90 \
    -distance 1000 -boxes auto:3:12 -floatfile f
refuses 2 'word.box, line 1' $scene -boxes word.box -floatfile f
refuses 2 'is an input' $scene -boxes good.box -floatfile good.box
same_image 'a box is an ROI' "$scene -roi 0 5 0 5" "$scene -boxes good.box"
run $scene -water 0.1 -noisefile n_1.img -seed 3
dd if=work/n_1.img of=whole.row bs=2 skip=256 count=6 2> /dev/null # after a header of 512 bytes
run $scene -water 0.1 -noisefile n_1.img -seed 3 -boxes good.box
dd if=work/n_1.img of=box.row bs=2 skip=256 count=6 2> /dev/null
is 'a pixel of a box has the noise of the whole image' cmp -s whole.row box.row
is 'which is not one number' test "$(od -An -v -t u2 -w2 box.row | sort -u | wc -l)" -gt 1
run $scene -boxes auto:2:3 -json - -floatfile f
is 'boxes around the brightest reflections' test "$code" -eq 0
is 'are counted' grep -q '"boxes":[[:space:]]*2,' out
is 'and so are their pixels' grep -q '"pixels":[[:space:]]*18,' out
refuses 2 'must increase from row to row' $scene -water 1 -stol flat.stol -floatfile f
refuses 2 'short.img' $scene -img short.img -floatfile f
refuses 2 'is an input' $bare $cell -default_F 1 -sourcefile dark.src -floatfile dark.src
inputs=$data/golden/mask.img
refuses 2 '96 x 80' $scene -mask mask.img -floatfile f

# outputs that cannot be written
inputs=
refuses 1 'no directory' $scene -floatfile absent/f
if "$program" -version | grep -q cjson; then
    refuses 1 'no directory' $scene -json absent/f
else
    refuses 2 'lacks cJSON' $scene -json absent/f
fi
refuses 1 'directory' $scene -floatfile .
if [ -w /dev/full ]; then
    refuses 1 '/dev/full' $scene -floatfile /dev/full
    refuses 1 '/dev/full' $scene -intfile /dev/full
fi

# reference profile: status 9, the message on stdout
compat_refuses()
{
    pattern=$1
    shift
    run -compat nanobragg "$@"
    [ "$code" -eq 9 ] && grep -q -e "^ERROR: .*$pattern" out && [ ! -s listing ]
    report $? "refuses (9): $*"
}
compat_refuses 'no unit cell' $bare -default_F 1
compat_refuses 'no structure factors' $bare $cell
compat_refuses 'absent' $bare $cell -hkl absent
compat_refuses 'absent' $bare $cell -mat absent -default_F 1
compat_refuses 'absent' $scene -sourcefile absent
compat_refuses 'absent' $scene -img absent
compat_refuses 'absent' $scene -stol absent
compat_refuses 'no directory' $scene -floatfile absent/f
compat_refuses 'the reference computes in double' $scene -strategy reference -precision float
compat_refuses 'less than 1' $scene -tolerance 2
compat_refuses '-threads 1025: must be at most 1024' $scene -threads 1025
inputs="$place/empty $place/zero $data/golden/mask.img"
compat_refuses 'empty' $bare $cell -hkl empty
compat_refuses 'zero' $scene -img zero
compat_refuses '96 x 80' $scene -mask mask.img -detpixels 24
# lists that are something else
printf 'h k l Iobs\n1 2 3 4\n' > intensities.hkl
printf '1,2,3,4\n2,2,3,4\n' > commas.hkl
inputs="intensities.hkl commas.hkl"
refuses 2 'intensities.hkl, line 1: the header names an intensity' $bare $cell -hkl intensities.hkl \
    -floatfile f
refuses 2 'commas.hkl, line 1: the line has 1 column, .* separate the numbers by blanks' $bare $cell \
    -hkl commas.hkl -floatfile f
inputs=
refuses 2 'unknown option -gauss; the nearest is -gauss_xtal' $scene -gauss -floatfile f

# what has no effect, or shows nothing
run $scene -mosaic 1 -mosaic_domains 1 -floatfile f
is "a spread of one domain" grep -q 'warning: -mosaic has no effect with one domain' err
run $scene -fluence 1e10 -noisefile n_1.img
is "an image without photons" grep -q 'warning: image 1 holds [0-9.e-]* photons in all' err

# a rule that asks for a year of work is stopped with the ways out; a number is obeyed
fine="-cell 419 188 31 103 103 84 -lambda 0.16 -Na 14 -Nb 3 -Nc 445 -gauss_xtal -default_F 100
    -pixel 0.232 -distance 2.8 -device cpu"
refuses 2 'automatic oversampling is 10000-fold, with 1e+08 samples per pixel, and would take about' \
    $fine -detpixels 1600 -floatfile f
is "and the ways out are named" grep -q 'give -oversample (.* is accepted too), a wider -mosaic' err
run $fine -detpixels 24 -oversample 40 -floatfile f
is "-oversample 40 is obeyed" test "$code" -eq 0
finish
