#!/bin/sh
# expt_list.sh PROGRAM DATA - fits of several files of experiments: by a list of -shots with
# lines "expt refl [spectrum] [number]", and by -expt and -refl that are repeated.
# SPDX-License-Identifier: MIT
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
if ! "$program" -version | grep -q cjson; then
    echo "ok - # skip this build has no cJSON"
    exit 77
fi

# values FILE: the lines of the report with fitted values, and its loss
values()
{
    grep -E '^  [a-z].* from [0-9.-]+ *$|passes, loss ' "$1" | sed 's/ *[0-9.]* s$//'
}

# ---- three stills in one file, and in two ----
cat > three.txt << TABLE
misset_x misset_y misset_z scale
10 20 30 1
40 50 60 1.2
70 15 25 0.8
TABLE
crystal="-default_F 100 -N 6 -gauss_xtal -oversample 1 -fluence 1e28 -water 0.05"
inputs=three.txt
run -cell 53.91 23.10 23.10 90 110.4 90 $crystal -mosaic 0.5 -lambda 1.2 -distance 120 \
    -detpixels 64 -pixel 1.6 -seed 1 -shots three.txt -imagefile s.img -truth stills.expt
is "stills are made" test "$code" -eq 0
mv work/s_0000?.img work/stills.expt .
python3 - << 'PY'
import copy, json
e = json.load(open("stills.expt"))
def part(name, which):
    p = copy.deepcopy(e)
    p["experiment"] = [p["experiment"][i] for i in which]
    json.dump(p, open(name, "w"))
part("a.expt", [0])
part("bc.expt", [1, 2])
PY
printf '0 20 40 30 50\n1 50 52 40 42\n2 40 50 20 30\n' > rows.txt
printf '0 20 40 30 50\n' > rows_a.txt
printf '0 50 52 40 42\n1 40 50 20 30\n' > rows_bc.txt
for name in rows rows_a rows_bc; do python3 "$here/refl.py" $name.txt $name.refl; done
cat > list.txt << LIST
# written by hand
bc.expt rows_bc.refl 1

a.expt rows_a.refl
bc.expt rows_bc.refl None 0   # the other one
LIST
start="$crystal -mosaic 0.4 -misset 0.05 0.05 0.05 -fit cell_a -fit_each scale"
inputs="stills.expt a.expt bc.expt rows.refl rows_a.refl rows_bc.refl list.txt s_00001.img \
    s_00002.img s_00003.img"
run -expt stills.expt -refl rows.refl $start
is "a fit of one file" test "$code" -eq 0
values out | sed 's/ of .*img//' > by_file
is "with values" test "$(wc -l < by_file)" -eq 5
run -expt a.expt -expt bc.expt -refl rows_a.refl -refl rows_bc.refl $start -fittable t.csv
values out | sed 's/ of .*img//' > by_options
is "the same images in two files give the same fit" cmp -s by_file by_options
is "-fittable names file and number" test \
    "$(cut -d , -f 2,3 work/t.csv | sed 1d | tr -d '\r' | tr '\n' ' ')" = "a.expt,0 bc.expt,0 bc.expt,1 "
run -shots list.txt $start -fittable t.csv
is "a list of -shots is fitted" test "$code" -eq 0
is "each line is a shot" test \
    "$(cut -d , -f 2,3 work/t.csv | sed 1d | tr -d '\r' | tr '\n' ' ')" = "bc.expt,1 a.expt,0 bc.expt,0 "
values out | sed 's/ of .*img//' | sort > by_list
is "with its own boxes" sh -c "grep cell_a by_list | cut -c 1-24 > one; grep -qF -f one by_file"
run -expt bc.expt:1 -expt a.expt $start
is "FILE:N is one experiment of a file" grep -q 'pixels of 2 images' out
printf 'bc.expt rows_bc.refl 1\nbc.expt rows_bc.refl 0\n' > list2.txt
inputs="$inputs list2.txt"
run -shots list2.txt $start -exptout out.expt -reflout out.refl
is "lines of the same two files have copies" sh -c "test -s work/out.expt && test -s work/out.refl"

# ---- experiments with detectors of their own ----
both="-cell 53.91 23.10 23.10 90 110.4 90 $crystal -mosaic 0.5 -lambda 1.2 -detpixels 64 -pixel 1.6"
inputs=
run $both -distance 120 -misset 10 20 30 -seed 2 -noisefile near_1.img -truth near.expt
mv work/near_1.img work/near.expt .
run $both -distance 131 -detector_rotx 4 -misset 40 50 60 -seed 3 -noisefile far_1.img -truth far.expt
mv work/far_1.img work/far.expt .
python3 - << 'PY'
import copy, json
near, far = (json.load(open(n + ".expt")) for n in ("near", "far"))
one = copy.deepcopy(near)
for key in ("detector", "crystal", "imageset"):
    one[key] += far[key]
more = dict(one["experiment"][0], detector=1, crystal=1, imageset=1)
one["experiment"].append(more)
json.dump(one, open("one.expt", "w"))
far["detector"][0]["panels"][0]["image_size"] = [64, 63]
json.dump(far, open("small.expt", "w"))
PY
start="$crystal -mosaic 0.4 -misset 0.05 0.05 0.05"
inputs="near_1.img far_1.img near.expt far.expt one.expt small.expt"
# alike NAME: the values of an image, without its name
alike() { grep -E "of .*$1.* from [0-9.-]+ *$" out | sed 's/ of .*img//' | tr -s ' '; }
for name in near far; do
    run -expt $name.expt $start -fit_each misset,scale -coarse off -errors counting
    alike $name > alone_$name
done
run -expt near.expt -expt far.expt $start -fit_each misset,scale -coarse off -errors counting
is "images with detectors of their own" grep -q "each image has the detector of its own" err
for name in near far; do
    alike $name > together
    is "$name: the fit of its own file" cmp -s alone_$name together
done
is "with values" test "$(wc -l < together)" -eq 4
run -expt one.expt $start -fit_each scale,misset -coarse off -exptout out.expt
is "-exptout keeps both detectors" python3 -c '
import json
a, b = (json.load(open("work/" + n))["detector"] for n in ("one.expt", "out.expt"))
assert a == b and a[0] != a[1]'
run -expt one.expt $start -fit close_distance -fit_each scale,misset -fit_passes 1
is "a free detector is one for all" grep -q "1 of 2 images have another detector .* because -fit frees" err
run -expt one.expt $start -distance 125 -fit_each scale -fit_passes 1
is "so is one that an option states" grep -q "taken for all, because an option states" err
refuses 2 "small.expt: the detector of experiment 0 has other panels or pixels" \
    -expt near.expt -expt small.expt $start -fit_each scale
start="$crystal -mosaic 0.4 -misset 0.05 0.05 0.05 -fit cell_a -fit_each scale"
inputs="stills.expt a.expt bc.expt rows.refl rows_a.refl rows_bc.refl list.txt s_00001.img \
    s_00002.img s_00003.img"

# ---- what is refused ----
# line TEXT: a list with this second line
line() { printf 'a.expt rows_a.refl\n%s\n' "$1" > bad.txt; }
inputs="$inputs bad.txt"
line 'bc.expt rows_bc.refl'
refuses 2 "bc.expt holds 2 experiments; add the number" -shots bad.txt $start
line 'bc.expt rows_bc.refl 2'
refuses 2 "bc.expt: there is no experiment 2; the file holds 2" -shots bad.txt $start
line 'bc.expt rows_bc.refl spectrum.lam 1'
refuses 2 "bad.txt, line 2: the spectrum spectrum.lam cannot be used" -shots bad.txt $start
line 'bc.expt'
refuses 2 "bad.txt, line 2: expected FILE.expt FILE.refl" -shots bad.txt $start
line 'a.expt rows_a.refl 0'
refuses 2 "a.expt names an experiment twice" -shots bad.txt $start
line 'none.expt rows_a.refl'
refuses 2 "none.expt: cannot" -shots bad.txt $start
refuses 2 "leave out -expt, -xparm and -refl" -shots list.txt $start -expt a.expt
refuses 2 "-refl 1 times" -expt a.expt -expt bc.expt -refl rows_a.refl $start
refuses 2 "-exptout copies one file, but there are a.expt and bc.expt" -expt a.expt -expt bc.expt \
    $start -exptout out.expt
refuses 2 "-reflout copies one file, but there are rows_bc.refl and rows_a.refl" -shots list.txt $start \
    -reflout out.refl
refuses 2 "-expt is given twice; only a fit takes several" -expt a.expt -expt bc.expt $crystal \
    -floatfile a.bin
finish
