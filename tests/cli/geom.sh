#!/bin/sh
# geom.sh PROGRAM DATA - -geom and -geomout: what options do beside them, the files, and every
# bad input. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
crystal="-cell 50 60 70 90 100 90 -misset 10 20 30 -default_F 100 -N 5 -gauss_xtal
    -fluence 1e28 -oversample 1"
cp "$data/geometries/agipd.geom" "$data/../../examples/data/jungfrau.geom" .

# ---- reading ----
accepts 'detector   8 panels in an image of 32 x 512 pixels; p1a0 has pixels of 0.2 mm, at 119.3 mm' \
    -geom ../agipd.geom $crystal -floatfile f.bin
accepts 'beam       1.33316 A (9.3 keV)' -geom ../agipd.geom $crystal -floatfile f.bin
accepts '14304 pixels are rendered.*without masked pixels' -geom ../agipd.geom $crystal \
    -floatfile f.bin
accepts 'panels  *8; the lines below are for m2 (2)' -geom ../jungfrau.geom $crystal -explain
accepts 'note: .*agipd.geom: fs and ss of 8 of 8 panels are corrected to unit vectors' \
    -geom ../agipd.geom $crystal -floatfile f.bin
accepts 'beam       1 A' -geom ../agipd.geom -lambda 1 $crystal -floatfile f.bin
accepts 'beam       1 A' -lambda 1 -geom ../agipd.geom $crystal -floatfile f.bin
accepts 'p1a0 has pixels of 0.2 mm, at 97 mm' -geom ../agipd.geom -distance 97 $crystal -floatfile f.bin
sed 's/^clen.*/clen = 0.097/' agipd.geom > near.geom
alike "-distance is clen" "-geom ../agipd.geom -distance 97 $crystal" \
    "-geom ../near.geom $crystal"
sed 's|^clen.*|clen = /LCLS/encoder mm|; s|^photon.*|photon_energy = /LCLS/energy|' \
    agipd.geom > data.geom
alike "numbers of data files are given by options" \
    "-geom ../data.geom -distance 97 -energy 9300 $crystal" "-geom ../near.geom $crystal"
printf '9300 1\n' > spectrum.eV
accepts '1 source' -geom ../data.geom -distance 97 -spectrum ../spectrum.eV $crystal \
    -floatfile f.bin
# the crystal lies in the frame of the convention; without it, that is that of -xds
alike "the frame is that of -xds" "-geom ../agipd.geom $crystal" \
    "-geom ../agipd.geom -xds $crystal"
run -geom ../agipd.geom $crystal -floatfile f.bin
cp work/f.bin first.bin
run -geom ../agipd.geom -mosflm $crystal -floatfile f.bin
is "under -mosflm the crystal lies otherwise" sh -c '! cmp -s first.bin work/f.bin'
# a quarter of a turn about y takes +z to +x: the crystal is turned along
run -geom ../agipd.geom -xds -cell 50 60 70 -misset 0 0 0 -default_F 100 -N 5 -gauss_xtal \
    -fluence 1e28 -oversample 1 -floatfile f.bin
cp work/f.bin first.bin
run -geom ../agipd.geom -mosflm -cell 50 60 70 -misset 0 90 0 -default_F 100 -N 5 \
    -gauss_xtal -fluence 1e28 -oversample 1 -floatfile f.bin
is "and turned with the frame it gives the same image" near 2e-6 first.bin work/f.bin
accepts 'warning: the SMV header cannot state several panels' -geom ../agipd.geom $crystal \
    -seed 1 -noisefile n.img
if "$program" -version | grep -q png; then
    accepts 'files .*p.png' -geom ../agipd.geom $crystal -pngfile p.png
fi
refuses 2 'miniCBF cannot state' -geom ../agipd.geom $crystal -seed 1 -imagefile f_1.cbf

# ---- pixels of the image ----
run -geom ../agipd.geom $crystal -floatfile f.bin
brightest=$(sed -n 's/.*brightest pixel fast \([0-9]*\) slow \([0-9]*\): .*/\1 \2/p' out)
od -A n -v -t f4 -w4 work/f.bin | awk -v at="$brightest" '$1 > most { most = $1; n = NR - 1 }
    END { exit !(at == n % 32 " " int(n / 32)) }'
is "the brightest pixel is told by its place in the image" test $? -eq 0
value=$(od -A n -v -t f4 -w4 work/f.bin |
    awk -v at="$brightest" 'BEGIN { split(at, p) } NR == p[2] * 32 + p[1] + 1 { print $1 }')
# shellcheck disable=SC2086 # two numbers
run -geom ../agipd.geom $crystal -floatfile f.bin -printout_pixel $brightest
is "-printout finds the panel of a pixel" grep -q "pixel *$(echo "$value" | cut -c1-6)" out

# ---- with a mask ----
run -cell 50 -default_F 1 -N 1 -detpixels_f 32 -detpixels_s 512 -pixel 0.2 -water 5 \
    -fluence 1e28 -roi 0 31 0 99 -noisefile m.img -seed 1
cp work/m.img .
accepts 'pixels are rendered' -geom ../agipd.geom -mask ../m.img $crystal -floatfile f.bin
od -A n -v -t f4 -w4 work/f.bin | awk 'NR > 100 * 32 && $1 != 0 { bad++ } $1 > 0 { good++ }
    END { exit !(bad == 0 && good > 0) }'
is "pixels of -mask are skipped, too" test $? -eq 0
refuses 2 'the mask has 32 x 512 pixels but the detector has 1024 x 4096' -geom ../jungfrau.geom \
    -mask ../m.img $crystal -floatfile f

# ---- writing ----
run -geom ../agipd.geom $crystal -floatfile f.bin -geomout g.geom
is "-geomout is told" grep -q 'files .*g.geom' out
is "and that bad regions are not in it" \
    grep -q 'note: g.geom does not have the bad regions of .*agipd.geom, 2080 pixels' err
cp work/g.geom .
grep -v '^bad\|no_index' agipd.geom > whole.geom
alike "-geom of -geomout is the same detector" "-geom ../whole.geom $crystal" \
    "-geom ../g.geom $crystal"
run -geom ../agipd.geom -detector_rotx 1 -param panel_shift_fast[2]=0.3 $crystal \
    -floatfile f.bin -geomout moved.geom
cp work/moved.geom .
alike "-geomout has what options and -param moved" \
    "-geom ../whole.geom -detector_rotx 1 -param panel_shift_fast[2]=0.3 $crystal" \
    "-geom ../moved.geom $crystal"
tilted="-xds -detpixels_f 40 -detpixels_s 37 -pixel 2 -distance 90 -detector_roty 4 -twotheta 8
    -lambda 1.1"
run $crystal $tilted -floatfile f.bin -geomout one.geom
cp work/one.geom .
alike "a rectangle is one panel" "$crystal $tilted" "$crystal -geom ../one.geom"
is "with one blank between terms" grep -q '^p0/fs = [+-][0-9.]*x [+-][0-9.]*y [+-][0-9.]*z$' one.geom

# ---- a fit ----
if "$program" -version | grep -q lapack; then
    start="-geom ../whole.geom -cell 78 78 37 -misset 10 20 30 -default_F 100 -N 6 -gauss_xtal
        -fluence 1e30"
    run $start -param panel_shift_fast[1]=0.1 -seed 1 -noisefile o_1.img -geomout true.geom
    cp work/o_1.img work/true.geom .
    run $start -data ../o_1.img -fit 'misset,panel_shift_fast[1]' -geomout fitted.geom
    is "-geomout of a fit is told" grep -q 'files .*fitted.geom' out
    corner()
    {
        sed -n "s|^$2/corner_y = ||p" "$1"
    }
    # the fast axis of p0a1 is +y; its pixels are 0.2 mm, and the shift 0.1 mm
    is "it has what the fit found" awk -v a="$(corner work/fitted.geom p0a1)" \
        -v b="$(corner true.geom p0a1)" -v c="$(corner whole.geom p0a1)" 'BEGIN {
            off = (a - b) * 0.2
            print "# off by " off " mm, allowed 0.005"
            exit !(b - c > 0.49 && off < 0.005 && off > -0.005) }'
    is "and the others as they were" test "$(corner work/fitted.geom p0a0)" = "$(corner g.geom p0a0)"
    refuses 2 '-fisher and -geomout exclude each other: expected errors are computed without a fit' $start -fisher \
        -fit misset -geomout g
fi

# ---- bad input ----
refuses 2 'No such file' -geom missing.geom $crystal -floatfile f
sed 's/+1.0000y/+1.0000q/' agipd.geom > letter.geom
refuses 2 "letter.geom, line 19: fs is '-0.0052x +1.0000q', expected a sum" \
    -geom ../letter.geom $crystal -floatfile f
refuses 2 'no panel: no line has the form' -geom ../spectrum.eV $crystal -floatfile f
refuses 2 'data.geom: clen is in the data files (/LCLS/encoder); state the distance by -distance' \
    -geom ../data.geom -energy 9300 $crystal -floatfile f
refuses 2 'photon energy is in the data files (/LCLS/energy); state it by -energy' \
    -geom ../data.geom -distance 97 $crystal -floatfile f
grep -v clen agipd.geom > without.geom
refuses 2 'without.geom: clen is not stated; state the distance by -distance' -geom ../without.geom \
    $crystal -floatfile f
for other in '-pixel 1' '-detpixels 9' '-detsize 9' '-Xbeam 1' '-ORGX 1' '-Xclose 1' \
    '-close_distance 1' '-fdet_vector 1 0 0' '-sdet_vector 0 1 0' '-odet_vector 0 0 1' \
    '-twotheta 1' '-twotheta_axis 1 0 0' '-pivot beam' '-pix0_vector 0 0 1' '-curved_det' \
    '-img ../m.img' '-xparm ../XPARM.XDS'; do
    cp "$data/XPARM.XDS" .
    refuses 2 "-geom and ${other%% *} exclude each other: both state the detector" \
        -geom ../agipd.geom $crystal $other -floatfile f
done
refuses 2 'agipd.geom is an input' -geom ../agipd.geom $crystal -floatfile ../agipd.geom
refuses 2 'is an input' -geom ../agipd.geom $crystal -floatfile f -geomout ../agipd.geom
refuses 2 'name a file' $scene -geomout - -floatfile f
refuses 2 'would overwrite an image' $scene -geomout f -floatfile f
refuses 2 'two outputs have the same name' $scene -geomout f -floatfile g -json f
refuses 1 'there is no directory none' $scene -geomout none/t.geom -floatfile f
refuses 2 '-geomout g: the detector is curved' $scene -curved_det -geomout g -floatfile f
refuses 2 'not at right angles, which .geom cannot' $scene -fdet_vector 0 0.1 1 -geomout g \
    -floatfile f
sed 's/^data = .*/&\ncolour = blue/' agipd.geom > blue.geom
accepts "warning: .*blue.geom, line 12: 'colour' is not understood and is left out" \
    -geom ../blue.geom $crystal -floatfile f
finish
