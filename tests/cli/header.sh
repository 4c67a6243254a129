#!/bin/sh
# header.sh PROGRAM DATA - -img on one of our own images gives its geometry back.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
cell="-cell 61 72 83 -default_F 10 -N 3"

# round CONVENTION OPTIONS: the geometry lines of -explain, before and after
round()
{
    "$program" $cell $1 $2 -intfile own_1.img -quiet 2> /dev/null
    "$program" $cell $1 $2 -explain -quiet 2> /dev/null | sed -n '/^geometry/,/^$/p' > before
    "$program" $cell $1 -img own_1.img -explain -quiet 2> /dev/null \
        | sed -n '/^geometry/,/^$/p' > after
    awk '
        function near(a, b) { d = a - b; return d < 1e-4 && d > -1e-4 }
        NR == FNR { line[FNR] = $0; n = FNR; next }
        {
            if (split(line[FNR], a) != split($0, b)) exit bad = 1
            for (i = 1; i in a; i++)
                if (a[i] != b[i] && !near(a[i], b[i])) { print "# " line[FNR]; exit bad = 1 }
        }
        END { exit bad || n < 9 || FNR != n }' before after
    report $? "$1 $2"
}
plain="-detpixels_f 60 -detpixels_s 44 -pixel 0.172 -distance 81.23456 -lambda 1.1"
for convention in -mosflm -denzo -adxv -xds -dials; do
    round $convention "$plain"
    round $convention "$plain -Xbeam 3.45678 -Ybeam 4.56789"
    round $convention "$plain -ORGX 21.34567 -ORGY 33.45678"
    round $convention "$plain -ORGX 21.34567 -ORGY 33.45678 -twotheta 12"
    round $convention "$plain -twotheta 7 -pivot beam"
done

# an option wins over the header
"$program" $cell $plain -intfile own_1.img -quiet 2> /dev/null
"$program" $cell -img own_1.img -distance 90 -explain 2> /dev/null > out
is "-distance wins" grep -q 'distance along the beam     90 mm' out
"$program" $cell -img own_1.img -lambda 1.3 -explain -verbose 2> /dev/null > out
is "-lambda wins" grep -q 'wave=1.3e-10' out
"$program" $cell -img own_1.img -Xbeam 2 -Ybeam 3 -explain -verbose 2> /dev/null > out
is "-Xbeam wins" grep -q 'Xbeam=0.002 Ybeam=0.003' out

# nanoBragg's own headers: its convention's beam centre
cp "$data/golden/head.img" .
"$program" $cell -img head.img -explain -verbose 2> /dev/null > out
is "a foreign header's beam centre" grep -q 'Xbeam=0.0081 Ybeam=0.0094' out
"$program" $cell -img head.img -explain 2> /dev/null > out
is "its two theta is used, which is told" grep -q 'TWOTHETA of the header is used' out

# ---- the origin of DIALS ----
# a detector of 39 x 79 mm at 100 mm: x of dxtbx is along fast and y against slow, but for
# -adxv, whose image is the mirror image. Each convention has its own middle
small="-cell 30 40 50 -default_F 10 -N 4 -detpixels_f 39 -detpixels_s 79 -pixel 1"
for row in "mosflm -20.5 40.5" "denzo -20 40" "adxv -20 -40" "xds -19.5 39.5" "dials -19.5 39.5"; do
    set -- $row
    accepts "DIALS origin  *$2 $3 -100 mm" $small "-$1" -explain
    run $small "-$1" -intfile a_001.img
    is "SMV under -$1" grep -q -a "^DIALS_ORIGIN=$2,$3,-100" work/a_001.img
done
accepts "DIALS origin  *-19.5 39.5 -100 mm" $small -beam_vector 0 1 0 -fdet_vector 1 0 0 \
    -sdet_vector 0 0 -1 -odet_vector 0 1 0 -polar_vector 1 0 0 -pivot sample -Xclose 19.5 \
    -Yclose 39.5 -explain
run $small -compat nanobragg -dials -intfile a_001.img
is "nanoBragg's own under -compat" grep -q -a "^DIALS_ORIGIN=100,-39.5,19.5" work/a_001.img

# put NAME LINES PIXELS: an image of 6 x 4 pixels; PIXELS is a format of printf for one of them
put()
{
    { printf '{\nHEADER_BYTES=512;\nBYTE_ORDER=little_endian;\nSIZE1=6;\nSIZE2=4;\n'
      printf "$2}"; head -c 512 /dev/zero | tr '\000' ' '; } | head -c 512 > "$1"
    for pixel in 1 2 3 4 5 6 7 8 9 10 11 12; do printf "$3$3"; done >> "$1"
}
usual='TYPE=unsigned_short;\nPIXEL_SIZE=0.1;\nDISTANCE=150;\nWAVELENGTH=0.9;\n'
usual="$usual"'BEAM_CENTER_X=0.2;\nBEAM_CENTER_Y=0.3;\n'
# explain LINES: what is said of an image with these lines
explain()
{
    put h.img "$1" '\001\000'
    "$program" $cell -img h.img -explain > out 2> err
}
explain "$usual"
is "a whole header: no warning" test "$(grep -c "warning: h.img" err)" -eq 0
is "a whole header" grep -q 'at 150 mm, beam at fast 3.5 slow 2.5' out
sed 's/SIZE2=4/size_2=/' h.img > size.img
"$program" $cell -img size.img -explain > out 2> err
is "no SIZE2" grep -q 'size.img: the header has no SIZE1 and SIZE2 above 0 (102.4 mm is taken)' err
"$program" $cell -mask size.img -explain > out 2> err
is "a mask without SIZE2" grep -q 'size.img: the header has no SIZE1 and SIZE2 above 0; write' err
explain "${usual}OSC_START=90;\nOSC_RANGE=0.5;\n"
is "OSC_START" grep -q 'of 0.5 degree from 90 degree' out
explain "${usual}PHI=7;\nOSC_START=90;\nOSC_RANGE=0.5;\n"
is "OSC_START and PHI differ" grep -q 'OSC_START=90 and PHI=7, which differ; OSC_START is taken' err
explain "${usual}DETECTOR_DISTANCE=3;\nSCAN_WAVELENGTH=2;\nSOURCE_PIXEL_SIZE=3;\n"
is "keys are whole words" grep -q '6 x 4 pixels of 0.1 mm at 150 mm' out
explain 'TYPE=unsigned_short;\nWAVELENGTH=0;\n'
is "what is missing, and a wavelength of 0" grep -q 'h.img: the header has no PIXEL_SIZE above 0 (0.1 mm is taken), no DISTANCE above 0 (100 mm is taken), no WAVELENGTH above 0 (1 A is taken), no BEAM_CENTER_X and _Y (the middle of the detector is taken)' err
"$program" $cell -img h.img -pixel 0.1 -distance 90 -lambda 1 -Xbeam 1 -explain > out 2> err
is "what options state is not missing" test "$(grep -c 'has no' err)" -eq 0
explain 'TYPE=unsigned_short;\nPIXEL_SIZE=0.1;\nDISTANCE=150;\nWAVELENGTH=0.9;\nBEAM_CENTER_X=2;\nBEAM_CENTER_Y=3;\n'
is "a beam centre in pixels" grep -q 'fast 3.5 slow 2.5' out
is "which is told" grep -q 'BEAM_CENTER 2, 3 .* is read as pixels' err
explain 'TYPE=unsigned_short;\nPIXEL_SIZE=0.1;\nDISTANCE=150;\nWAVELENGTH=0.9;\nBEAM_CENTER_X=-20;\nBEAM_CENTER_Y=3;\n'
is "a beam centre beside the detector" grep -q 'BEAM_CENTER -20, 3 mm lies beside' err
explain 'TYPE=unsigned_short;\nPIXEL_SIZE=0.1;\nDISTANCE=150;\nWAVELENGTH=0.9;\nDENZO_X_BEAM=0.25;\nDENZO_Y_BEAM=0.35;\n'
is "the beam centre of Denzo" grep -q 'fast 3.5 slow 2.5' out
explain 'TYPE=unsigned_short;\nPIXEL_SIZE=0.1;\nDISTANCE=150;\nWAVELENGTH=0.9;\nMOSFLM_CENTER_X=0.2;\nMOSFLM_CENTER_Y=0.3;\n'
is "that of MOSFLM" grep -q 'fast 3.5 slow 2.5' out
explain "${usual}CLOSE_DISTANCE=140;\n"
is "distances that contradict" grep -q 'CLOSE_DISTANCE=140 mm contradicts DISTANCE=150 mm' err
explain "${usual}DISTANCE=140;\\n"
is "a distance twice" grep -q 'h.img: the header has DISTANCE=150 and DISTANCE=140; the last' err
explain "${usual}TWOTHETA=60;\nCLOSE_DISTANCE=75;\n"
is "distances that agree" test "$(grep -c "warning: h.img" err)" -eq 0
is "and which of them is which" grep -q 'along the beam     150 mm, along the normal 75' out

# d*TREK: the distance along the normal, two theta about the fast axis
explain 'Data_type=unsigned short int;\nDETECTOR_NAMES=D_;\nD_SPATIAL_DISTORTION_INFO=3 2 0.1 0.1;\nD_GONIO_VALUES=0 20 0 0 0 45;\nSOURCE_WAVELENGTH=1 1.5418;\nROTATION=10 10.5 0.5 30;\n'
is "d*TREK: distance" grep -q 'along the normal 45 mm' out
is "d*TREK: nearest point" grep -q 'nearest point  *3 2 pixels' out
is "d*TREK: wavelength" grep -q 'beam  *1.5418 A' out
is "d*TREK: scan" grep -q 'of 0.5 degree from 10 degree' out
is "d*TREK: a whole header" test "$(grep -c "warning: h.img" err)" -eq 0
explain 'TYPE=mad;\nData_type=unsigned short int;\nDETECTOR_NAMES=D_;\nD_SPATIAL_DISTORTION_INFO=3 2 0.1 0.1;\nD_GONIO_VALUES=0 20 0 0 0 45;\nSOURCE_WAVELENGTH=1 1.5418;\n'
is "d*TREK: TYPE=mad beside Data_type" grep -q 'along the normal 45 mm' out
is "d*TREK: no rotation" grep -q 'h.img: the header has no ROTATION; the run takes a still at 0 degrees' err
explain 'Data_type=unsigned short int;\nDETECTOR_NAMES=D_;\nSOURCE_WAVELENGTH=1 1.5418;\n'
is "d*TREK: what it lacks" grep -q 'h.img: the d\*TREK header lacks D_SPATIAL_DISTORTION_INFO' err

# masks of any type: half of the pixels are 0
for type in 'unsigned_char \001' 'unsigned_short \001\000' 'unsigned_int \000\000\001\000' \
    'float \000\000\200\077'; do
    bytes=${type#* }
    { put m.img "TYPE=${type% *};\nPIXEL_SIZE=0.1;\nDISTANCE=150;\nWAVELENGTH=0.9;\n" '';
      for pixel in 1 2 3 4 5 6 7 8 9 10 11 12; do
          printf "$bytes"
          printf "$bytes" | tr '\001\200\077' '\000\000\000'
      done; } >> m.img
    "$program" -cell 61 72 83 -default_F 1e-9 -N 1 -water 5 -mask m.img -floatfile m.bin \
        -quiet 2> err
    is "a mask of ${type% *}" test "$(od -An -v -tf4 -w4 m.bin | grep -c '^ *0$')" -eq 12
done

# data of 32 bits, 100000 counts in each pixel, are those of raw floats
put d.img "TYPE=signed_int;\nPIXEL_SIZE=0.1;\nDISTANCE=150;\nWAVELENGTH=0.9;\n" '\240\206\001\000'
for pixel in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '\000\120\303\107\000\120\303\107'; done > d.bin
for data in d.img d.bin; do
    "$program" $cell -detpixels_f 6 -detpixels_s 4 -pixel 0.1 -distance 150 -lambda 0.9 -water 5 \
        -data $data -fit scale -fit_passes 1 -coarse off -fitfile $data.json -quiet 2> err
    grep -m 1 '"loss"' $data.json > $data.loss
done
is "data of 32 bits" test -s d.img.loss
is "as raw floats" cmp -s d.img.loss d.bin.loss
finish
