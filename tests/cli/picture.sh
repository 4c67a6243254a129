#!/bin/sh
# picture.sh PROGRAM DATA - pictures of whole images, of a region and behind a mask, at any
# size, read point by point.
# SPDX-License-Identifier: MIT
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

run $scene -pngfile p.png
if grep -q 'lacks libpng' err; then
    echo "ok - # skip pictures: this build lacks libpng"
    finish
fi

# points FILE STATEMENTS: python with width, height and rows of a picture
points()
{
    PYTHONPATH=$here python3 -c "
from read_png import read_png
width, height, rows = read_png('$1')
grey = lambda x, y: rows[y][x][0] if len(set(rows[y][x])) == 1 else -1
$2"
}

# a crystal behind water, 96 pixels that become 480 points, and 15 rows of legend
crystal="-cell 30 40 50 90 90 90 -default_F 2000 -N 8 -detpixels 96 -pixel 1 -distance 100
    -fluence 1e26 -water 0.3"
run $crystal -pngfile p.png
is "96 pixels become 480 points and a legend" points work/p.png \
    'assert (width, height) == (480, 480 + 15), (width, height)'
is "the background is light, spots are black" points work/p.png '
values = [grey(x, y) for y in range(2, 480, 5) for x in range(2, 480, 5)]
light = sum(v > 200 for v in values) / len(values)
assert light > 0.6 and 0 in values, light'
is "rings, beam and legend are there" points work/p.png '
assert any((70, 120, 210) in row for row in rows)
assert any((220, 40, 40) in row for row in rows)
assert any((40, 40, 40) in row for row in rows[480:])'

# a region: only it is shown, with the greys it would have alone
run $crystal -roi 10 57 20 43 -pngfile p.png
is "a region of 48 x 24 fills 480 x 240 points" points work/p.png \
    'assert (width, height) == (480, 240 + 15), (width, height)'
is "whose background is light" points work/p.png '
values = [grey(x, y) for y in range(5, 240, 10) for x in range(5, 480, 10)]
light = sum(v > 200 for v in values) / len(values)
assert light > 0.6, light'

# a mask: hatched, and without influence on the grey of the rest
python3 - << 'END'
import struct
mask = [0 if fast < 80 else 1 for slow in range(96) for fast in range(96)]
header = "{\nHEADER_BYTES=512;\nDIM=2;\nBYTE_ORDER=little_endian;\nTYPE=unsigned_short;\n" \
    "SIZE1=96;\nSIZE2=96;\n}\n"
open("mask.img", "wb").write(header.encode().ljust(512) + struct.pack("<9216H", *mask))
END
inputs=mask.img
run $crystal -mask mask.img -pngfile p.png
is "masked pixels are hatched" points work/p.png '
colours = {rows[y][x] for y in range(480) for x in range(400)}
assert (228, 233, 242) in colours and (196, 206, 224) in colours
assert not any(c[0] == c[1] == c[2] and c != (255, 255, 255) for c in colours), colours'
is "the rest is light" points work/p.png '
values = [grey(x, y) for y in range(2, 480, 5) for x in range(402, 480, 5)]
assert sum(v > 200 for v in values) / len(values) > 0.6'
inputs=

# a detector so far away that no usual spacing makes a ring, with the beam on a corner of a pixel
run $scene -detpixels 128 -pixel 0.1 -oversample 1 -distance 50000 -pngfile p.png
is "a far detector has its picture" test "$code" -eq 0 -a -s work/p.png

# scale and size
run $crystal -png_size 96 -pngfile p.png
is "-png_size 96" points work/p.png 'assert height == 96 + 15, height'
run $crystal -png_size 40 -pngfile p.png
is "-png_size 40 takes 3 x 3 pixels a point" points work/p.png \
    'assert height == 32 + 15, height'
for kind in auto linear sqrt log; do
    run $crystal -water 0 -png_scale $kind -pngfile $kind.png
    is "-png_scale $kind" test "$code" -eq 0
    cp work/$kind.png .
done
is "without water auto is log" cmp -s auto.png log.png
is "linear, sqrt and log differ" test "$(cat linear.png sqrt.png log.png | wc -c)" -gt 0 -a \
    "$(for kind in linear sqrt log; do cksum < $kind.png; done | sort -u | wc -l)" -eq 3
# a range that is given: the same photons are the same grey in every picture
shade="assert 0 < grey(242, 242) < 255, grey(242, 242); print(grey(242, 242))"
run $crystal -default_F 0.001 -png_scale linear:0:1000 -pngfile p.png
points work/p.png "$shade" > one.txt
run $crystal -png_scale linear:0:1000 -roi 48 48 48 48 -default_F 0.001 -pngfile p.png
points work/p.png "$shade" > two.txt
is "a range is the same for a pixel alone" cmp one.txt two.txt
for wrong in loud auto:0:1 linear:5 linear:5:5 linear:0:x log:0:5 linear:0:1:2; do
    run $crystal -png_scale $wrong -pngfile p.png
    is "-png_scale $wrong is refused" test "$code" -eq 2
done
run $crystal -png_size 8 -pngfile p.png
is "-png_size 8 is refused" test "$code" -eq 2
finish
