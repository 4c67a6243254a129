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
finish
