#!/bin/sh
# expt_fit.sh PROGRAM DATA - fits that start from files of DIALS: the images that -expt names
# are the data, and the reflections of -refl are the boxes. SPDX-License-Identifier: MIT
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
if ! "$program" -version | grep -q cjson; then
    echo "ok - # skip this build has no cJSON"
    exit 77
fi
crystal="-hkl $here/../../examples/data/2erl_p1.hkl -N 6 -gauss_xtal"
detector="-lambda 1.2 -fluence 1e28 -distance 120 -detpixels 128 -pixel 0.8 -oversample 2"
cell="-cell 53.91 23.10 23.10 90 110.4 90"

# values WHAT FILE: the lines of the report with fitted values
values()
{
    grep -E '^  [a-z].* from [0-9.-]+ *$' "$1"
}

# ---- three stills in one file ----
cat > three.txt << TABLE
misset_x misset_y misset_z scale
10 20 30 1
40 50 60 1.2
70 15 25 0.8
TABLE
inputs=three.txt
run $cell $crystal -mosaic 0.5 $detector -water 0.05 -seed 1 -shots three.txt -imagefile s.img \
    -truth stills.expt
is "stills are made" test "$code" -eq 0
mv work/s_0000?.img work/stills.expt .
inputs="stills.expt s_00001.img s_00002.img s_00003.img"
start="$crystal -mosaic 0.4 -fluence 1e28 -oversample 2 -misset 0.1 -0.1 0.1 -water 0.05"
free="-fit cell,mosaic -fit_each misset,scale"
run -expt stills.expt $start $free
is "three stills are fitted" test "$code" -eq 0
is "by all of their pixels" grep -q '49152 pixels of 3 images' out
is "the right model" sh -c "grep '^  all ' out | awk '{ exit !(\$2 > 0.97 && \$2 < 1.03) }'"
is "no note says that one of them is taken" test "$(grep -c 'first is\|makes the first' err)" -eq 0
is "the cell is near 53.91" sh -c "awk '/^  cell_a/ { exit !(\$2 > 53.89 && \$2 < 53.93) }' out"
run -expt stills.expt:1 $start -fit misset,scale
is "FILE:1 is one of them" grep -q '16384 pixels of 1 image$' out
is "its scale is 1.2" sh -c "awk '/^  scale/ { exit !(\$2 > 1.18 && \$2 < 1.22) }' out"

# ---- boxes of a table ----
cat > rows.txt << ROWS
0 20 40 30 50
0 60 80 70 90
-1 5 20 5 20
1 50 52 60 62
2 100 110 20 30
ROWS
printf '20 40 30 50\n60 80 70 90\n' > boxes.txt
python3 "$here/refl.py" rows.txt some.refl
inputs="$inputs some.refl boxes.txt"
run -expt stills.expt:0 $start -fit misset,scale -refl some.refl -param scale=1
is "882 pixels in the boxes of experiment 0" grep -q '882 pixels of 1 image$' out
values out > by_table
run -expt stills.expt:0 $start -fit misset,scale -boxes boxes.txt -param scale=1
values out > by_text
is "a table fits as a text of the same boxes" cmp -s by_table by_text
is "with values" test "$(wc -l < by_table)" -eq 4
run -expt stills.expt $start -fit mosaic -refl some.refl -boxes refl:16
is "each image has its own boxes, 16 pixels wide at least" \
    grep -q "$((21 * 21 * 2 + 16 * 16 + 16 * 16)) pixels of 3 images" out
run -expt stills.expt:1 $cell $start -refl some.refl -boxes refl:4 -floatfile a.bin
is "boxes of an image that is made" grep -q '16 pixels are rendered' out
python3 - << 'PY' > rows2.txt
print("0 20 40 30 50\n1 50 52 60 62")
PY
python3 "$here/refl.py" rows2.txt two.refl
inputs="$inputs two.refl"
run -expt stills.expt $start -fit mosaic -refl two.refl
is "an image without reflections is left out, and named" \
    sh -c "grep -q 's_00003.img: no reflection of two.refl is indexed' out err"
refuses 2 "no reflection of experiment 2 is indexed" -expt stills.expt:2 $cell $start -refl two.refl -floatfile a.bin
refuses 2 "-refl.*-expt" $cell $start $detector -refl two.refl -floatfile a.bin
refuses 2 "stills.expt is not MessagePack" -expt stills.expt $start -fit mosaic -refl stills.expt
refuses 2 "expected refl:EDGE" -expt stills.expt $start -fit mosaic -refl two.refl -boxes refl:0
refuses 2 "-boxes.*-refl" -expt stills.expt $start -fit mosaic -boxes refl

# ---- boxes that look like the model, and a crystal that is turned wrongly ----
run -expt stills.expt:0 $start -fit misset,scale -boxes auto:20:8
is "boxes correlate with the model" grep -q '^boxes  *20 of 20 correlate with the model over 0.3' out
run -expt stills.expt:0 $start -misset 7 8 9 -fit scale -boxes auto:20:8 -coarse off
is "a wrong orientation brings a warning" grep -q 'boxes correlate.*check the orientation' err
run -expt stills.expt:0 $crystal -mosaic 0.4 -fluence 1e28 -oversample 2 -misset 7 8 9 -fit scale -planes \
    -boxes auto:20:8 -coarse off
is "planes of background do not hide it" grep -q 'boxes correlate.*check the orientation' err

# ---- a mask of another size; own mosaic spreads; the first image without reflections ----
head -c 400 /dev/zero > small.bin
"$program" $scene -detpixels 16 -noisefile small.img -quiet 2> /dev/null
inputs="$inputs small.img"
refuses 2 "small.img: the image has 16 x 16 pixels" -expt stills.expt:0 $start -fit scale \
    -data_mask small.img
python3 - << 'PY'
import json
e = json.load(open("stills.expt"))
for crystal, mosaic in zip(e["crystal"], (0.02, 0.25, 0.25)):
    crystal["ML_half_mosaicity_deg"] = mosaic
    crystal["ML_domain_size_ang"] = 1000
json.dump(e, open("own.expt", "w"))
PY
inputs="$inputs own.expt"
without="$crystal -fluence 1e28 -oversample 2 -water 0.05"
run -expt own.expt $without -fit_each scale -exptout out.expt
is "each experiment keeps its own mosaicity" python3 -c '
import json
print("#", [c["ML_half_mosaicity_deg"] for c in json.load(open("work/out.expt"))["crystal"]])
assert [c["ML_half_mosaicity_deg"] for c in json.load(open("work/out.expt"))["crystal"]] == [
    0.02, 0.25, 0.25]'
printf '1 50 52 60 62\n' > rows4.txt
python3 "$here/refl.py" rows4.txt second.refl
inputs="$inputs second.refl"
run -expt stills.expt $start -fit mosaic -refl second.refl -exptout out.expt -fittable t.csv
is "the first image may be without reflections" test -s work/out.expt
is "-fittable has the file of -expt" grep -q ',stills.expt,1,' work/t.csv

# ---- lattices of -lattice hold for all images, and so does -cell for those of the file ----
run -expt stills.expt $start -lattice 10 20 31 0.5 -fit lattice_scale -fit_each scale
is "-lattice gives every image a lattice" \
    sh -c "grep -q 'of 3 images' out && ! grep -q 'left out' out err"
python3 - << 'PY'
import copy, json
e = json.load(open("stills.expt"))
twin = copy.deepcopy(e["crystal"][1])
for axis in ("real_space_a", "real_space_b", "real_space_c"):
    twin[axis] = [1.03 * x for x in twin[axis]]
e["crystal"].append(twin)
e["experiment"].append(dict(e["experiment"][1], crystal=3))
json.dump(e, open("twin.expt", "w"))
twin.update(e["crystal"][1])
json.dump(e, open("same.expt", "w"))
PY
inputs="$inputs twin.expt same.expt"
run -expt same.expt $cell $start -fit_each scale
values out > same
run -expt twin.expt $cell $start -fit_each scale
values out > twin
is "-cell is the cell of the lattices of all images" cmp -s same twin
is "which are three" test "$(wc -l < twin)" -eq 3

# ---- a sweep ----
inputs=
run $cell $crystal -mosaic 0.5 $detector -water 0.05 -seed 2 -osc 0.5 -phi 10 -misset 10 20 30 \
    -images 3 -imagefile w.img -truth sweep.expt
is "a sweep is made" test "$code" -eq 0
mv work/w_0000?.img work/sweep.expt .
printf '0 20 40 30 50 0 2\n0 60 80 70 90 1 3\n' > rows3.txt
python3 "$here/refl.py" rows3.txt sweep.refl
inputs="sweep.expt w_00001.img w_00002.img w_00003.img sweep.refl"
run -expt sweep.expt $start -misset 0.05 0.05 0.05 -fit misset,scale -refl sweep.refl
is "a reflection is in the images of its bbox" grep -q '1764 pixels of 3 images' out
run -expt sweep.expt $start -misset 0.05 0.05 0.05 -fit misset,scale
is "each image begins where its scan says" test "$code" -eq 0
is "the right model of a sweep" \
    sh -c "grep '^  all ' out | awk '{ exit !(\$2 > 0.97 && \$2 < 1.03) }'"
python3 - << 'PY'
import json
e = json.load(open("sweep.expt"))
for name, scan in (("turn", [370 - 360 * 2, 0.5]), ("away", [40, 0.5])):
    for s in e["scan"]:
        s["oscillation"] = scan
        s.pop("properties", None)
    json.dump(e, open(name + ".expt", "w"))
del e["experiment"][0]["imageset"]
e["scan"][0].update(image_range=[101, 103], oscillation=[10, 0.5])
json.dump(e, open("noset.expt", "w"))
PY
printf '0 20 40 30 50 101 102\n' > rows5.txt
python3 "$here/refl.py" rows5.txt late.refl
inputs="$inputs turn.expt away.expt noset.expt late.refl"
one="-data w_00002.img -fit scale"
run -expt turn.expt $start $one -refl sweep.refl
is "an angle is looked for a whole turn away" grep -q '882 pixels of 1 image' out
refuses 2 "no reflection of sweep.refl is indexed" -expt away.expt $start $one -refl sweep.refl
run -expt noset.expt $start $one -refl late.refl
is "frames count from image_range, without names of images too" \
    grep -q '441 pixels of 1 image' out
rm w_00002.img
inputs="sweep.expt w_00001.img w_00003.img"
run -expt sweep.expt $start -fit misset,scale
is "an image that is not there is left out, and named" \
    sh -c "grep -q 'w_00002.img' out err"
finish
