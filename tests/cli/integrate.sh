#!/bin/sh
# integrate.sh PROGRAM DATA - the reflections of images: -predict and -integrate.
# SPDX-License-Identifier: MIT
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
if ! "$program" -version | grep -q lapack || ! "$program" -version | grep -q cjson; then
    echo "ok - # skip this build has no LAPACK or no cJSON"
    exit 77
fi
geometry="-lambda 1 -distance 100 -detpixels 400 -pixel 0.2 -oversample 2"
crystal="-cell 60 60 40 -N 10 -gauss_xtal -mosaic 0.4 -fluence 3e26 -default_F 100"
noise="-water 5e-6 -seed 3"
run $crystal $geometry -misset 10 20 30 $noise -noisefile a_001.img -predict a.refl
is "an image and its prediction" sh -c "test $code -eq 0 && test -s work/a.refl"
is "the report counts reflections" grep -q '^predicted  *[1-9][0-9]* reflections, in a.refl' out
cp work/a_001.img work/a.refl .
run $crystal $geometry -misset 11 20 30 $noise -noisefile b_002.img
cp work/b_002.img .
inputs="a_001.img b_002.img"

run $crystal $geometry -misset 10 20 30 -data a_001.img -integrate j.refl
is "integrated without a fit" test "$code" -eq 0
is "the report says how many" grep -q '^integrated  *[1-9][0-9]* of [1-9][0-9]* reflections of 1 image, in j.refl' out
is "J is F^2 within its errors" python3 "$here/integrated.py" work/j.refl 10000 "[0]"
run $crystal $geometry -misset 10.03 20 30 -data a_001.img -fit misset,scale -boxes auto:100:12 -planes \
    -integrate j.refl
is "integrated by the model of a fit" python3 "$here/integrated.py" work/j.refl 10000 "[0]"
run $crystal $geometry -misset 10.03 20 30 -water 5e-6 -data a_001.img -fit misset,scale -integrate j.refl
is "with amorphous material in place of planes" python3 "$here/integrated.py" work/j.refl 10000 "[0]"
printf '[{"data": "a_001.img", "misset_x": 10}, {"data": "b_002.img", "misset_x": 11}]' > shots.json
inputs="$inputs shots.json"
run $crystal $geometry -misset 0 20 30 -shots shots.json -fit scale -integrate j.refl
is "two images have two ids" python3 "$here/integrated.py" work/j.refl 10000 "[0, 1]"
{ printf '['; for _ in 1 2 3 4 5 6 7 8 9 10; do printf '{"data": "a_001.img"}, '; done
  printf '{"data": "b_002.img"}]'; } > shots.json
for verbose in "" -verbose; do
    run $crystal $geometry -misset 10 20 30 -shots shots.json -fit scale -fit_passes 1 -boxes auto:9:6 $verbose
    grep -cE '^ +[ab]_00[12].img .* rms, ' out
done > lines
is "-verbose has a line for each of 11 images" test "$(tr '\n' ' ' < lines)" = "10 11 "
run $crystal $geometry -misset 10 20 30 -osc 0.5 -images 3 $noise -noisefile s_001.img -truth s.expt
cp work/s_00?.img work/s.expt .
inputs="s.expt s_001.img s_002.img s_003.img"
crystal_only="-N 10 -gauss_xtal -mosaic 0.4 -fluence 3e26 -default_F 100 -oversample 2"
run -expt s.expt $crystal_only -integrate j.refl
is "three images of a scan have one id" python3 "$here/integrated.py" work/j.refl 10000 "[0]"
is "and frames 0.5, 1.5, 2.5" python3 - work/j.refl << 'PY'
import struct, sys
table = open(sys.argv[1], "rb").read()
at = table.index(b"xyzcal.px") + 9
while table[at] not in (0xC5, 0xC6):
    at += 1
size = 4 if table[at] == 0xC6 else 2
length = int.from_bytes(table[at + 1 : at + 1 + size], "big")
frames = sorted({r[2] for r in struct.iter_unpack("<3d", table[at + 1 + size : at + 1 + size + length])})
print("#", frames)
sys.exit(frames != [0.5, 1.5, 2.5])
PY
run -expt s.expt -gauss_xtal -fluence 3e26 -default_F 100 -oversample 2 -integrate j.refl
is "blocks of one cell bring a warning" grep -q 'blocks of 1 x 1 x 1 cells' err
inputs="a_001.img"
refuses 2 "-integrate without -fit and -json" $crystal $geometry -data a_001.img \
    -integrate j.refl -json j.json
refuses 2 "intensities need variances" $crystal $geometry -data a_001.img -integrate j.refl -loss gauss
refuses 2 "-integrate" $crystal $geometry -integrate j.refl
refuses 2 "-data.*-fit" $crystal $geometry -data a_001.img
refuses 2 "a fit moves the reflections" $crystal $geometry -data a_001.img -fit scale -predict a.refl
refuses 1 "a.refl" $crystal $geometry -noisefile c_001.img -predict no/a.refl
finish
