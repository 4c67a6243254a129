#!/bin/sh
# expt_out.sh PROGRAM DATA - -exptout, -fittable and -reflout: a fit from an .expt ends in one
# from which a second run has its loss at once; the tables; bad input. SPDX-License-Identifier: MIT
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"

if ! "$program" -version | grep -q lapack || ! "$program" -version | grep -q cjson; then
    echo "ok - # skip this build has no LAPACK or no cJSON"
    exit 77
fi

model="-default_F 100 -N 10 -gauss_xtal -mosaic 0.2 -fluence 1e28 -oversample 2"
off="-misset 0.05 -0.04 0.06 -distance 110.2"
run -cell 50 60 70 90 90 90 $model -osc 0.5 -misset 10 20 30 -lambda 1.2 -distance 110 \
    -detpixels 64 -pixel 1.2 -images 2 -seed 1 -noisefile s_001.img -truth s.expt
cp work/s_001.img work/s_002.img work/s.expt .
cp s_001.img 'one, "two".img'

# column FILE NAME: the numbers of a column, a line for each image
column()
{
    python3 -c '
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
at = rows[0].index(sys.argv[2])
assert all(len(row) == len(rows[0]) for row in rows)
print("\n".join(row[at] for row in rows[1:]))' "$@"
}

# same A B WITHIN: two numbers differ by no more than this share
same()
{
    echo "# $1 and $2, $3 of them allowed"
    awk -v a="$1" -v b="$2" -v w="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= w * b) }'
}

have_python=$(command -v python3 || true)

# ---- there and back ----
inputs="s_001.img s.expt"
run -expt s.expt $model $off -data s_001.img -fit cell,misset,scale,distance -exptout found.expt \
    -fittable fit.csv
is "a fit from an .expt" [ "$code" -eq 0 ]
is "names both files" grep -q '^files  *found.expt, fit.csv$' out
is "which are all it writes" [ "$(tr '\n' ' ' < listing)" = "fit.csv found.expt " ]
cp work/fit.csv work/found.expt . 2> /dev/null
is "the file names its images" grep -q 's_###.img' found.expt
is "and differs in crystal and distance alone" \
    [ "$(diff s.expt found.expt | grep -c '^>')" -eq 4 ]
if [ "$have_python" ]; then
    is "the table has one image" [ "$(column fit.csv name)" = s_001.img ]
    is "its experiment" [ "$(column fit.csv exp_name)/$(column fit.csv exp_idx)" = s.expt/0 ]
    is "how the fit ended" [ "$(column fit.csv end)" = converged ]
    is "a deviance as expected" same "$(column fit.csv deviance_over_expected)" 1 0.2
    is "a value near the truth" same "$(column fit.csv 'distance [mm]')" 110 0.002
    is "its error" [ -n "$(column fit.csv 'distance error [mm]')" ]
    inputs="s_001.img found.expt"
    run -expt found.expt $model -param scale="$(column fit.csv scale)" -data s_001.img \
        -fit cell,misset,scale,distance -exptout again.expt -fittable again.csv
    is "a second run from it converges at once" [ "$code/$(column work/again.csv passes)" = 0/1 ]
    is "with the same loss" same "$(column work/again.csv loss)" "$(column fit.csv loss)" 1e-9
fi

# ---- several images ----
inputs="s_001.img s_002.img s.expt"
cp 'one, "two".img' listed.img
inputs="$inputs listed.img"
run -expt s.expt $model $off -data s_001.img -data s_002.img -data none.img \
    -fit misset -fit_each scale -exptout found.expt -fittable fit.csv
is "several images of an experiment" [ "$code" -eq 0 ]
is "a note that one crystal has to do" grep -q 'found.expt has one crystal for the images' err
if [ "$have_python" ]; then
    is "a row for each" [ "$(column work/fit.csv name | wc -l)" -eq 3 ]
    is "one is left out, and says why" \
        [ "$(column work/fit.csv left_out | grep -c 'none.img.*No such file')" -eq 1 ]
    is "and has no values" [ -z "$(column work/fit.csv scale | sed -n 3p)" ]
    is "the others have their own" \
        [ "$(column work/fit.csv scale | sed -n 1,2p | sort -u | wc -l)" -eq 2 ]
    mkdir -p odd
    cp s_001.img 'odd/one, "two".img'
    (cd odd && "$program" -expt ../s.expt $model -data 'one, "two".img' -fit scale -quiet \
        -fittable f.csv) 2> err
    is "a name with a comma and quotes" [ "$(column odd/f.csv name)" = 'one, "two".img' ]
fi

# ---- several experiments ----
cat > stills.txt << TABLE
misset_x misset_y misset_z scale
10 20 30 1
40 50 60 1.2
70 15 25 0.8
TABLE
inputs=stills.txt
run -cell 50 60 70 90 90 90 $model -lambda 1.2 -distance 110 -detpixels 64 -pixel 1.2 -seed 1 \
    -shots stills.txt -imagefile t.img -truth t.expt
cp work/t_0000?.img work/t.expt .
inputs="t.expt t_00001.img t_00002.img t_00003.img"
run -expt t.expt $model -misset 0.05 -0.03 0.04 -fit cell -fit_each misset,scale -exptout three.expt \
    -fittable three.csv
is "a fit of three experiments" [ "$code" -eq 0 ]
is "each has a crystal of its own" [ "$(diff t.expt work/three.expt | grep -c '^>')" -eq 9 ]
if [ "$have_python" ]; then
    is "and a row" [ "$(column work/three.csv exp_idx | tr '\n' ' ')" = "0 1 2 " ]
    cp work/three.expt work/three.csv .
    inputs="three.expt t_00001.img t_00002.img t_00003.img"
    for i in 0 1 2; do
        run -expt three.expt:$i $model -param scale="$(column three.csv scale | sed -n $((i + 1))p)" \
            -fit misset -fit_passes 1 -fittable one.csv
        is "experiment $i has its loss at once" \
            same "$(column work/one.csv loss)" "$(column three.csv loss | sed -n $((i + 1))p)" 1e-6
    done
fi

# ---- names of images that begin in the folder of the .expt ----
sed 's|"[^"]*/\(t_0000[0-9].img\)"|"\1"|' t.expt > near.expt
inputs="near.expt t_00001.img t_00002.img t_00003.img"
is "relative names" [ "$(grep -c '"t_0000[123].img"' near.expt)" -eq 3 ]
run -expt near.expt $model -fit_each scale -fit_passes 1 -exptout still_near.expt
is "they stay in the same folder" [ "$(grep -c '"t_0000[123].img"' work/still_near.expt)" -eq 3 ]
run -expt near.expt $model -fit_each scale -fit_passes 1 -exptout ../far.expt
is "in another folder they become absolute" \
    [ "$(grep -c "\"$(cd work && pwd -P)/t_0000[123].img\"" far.expt)" -eq 3 ]

# ---- a table of reflections ----
if [ "$have_python" ]; then
    # boxes of a still with bright spots, a row that is not indexed, and one of no image
    run -cell 50 60 70 90 90 90 $model -misset 10 20 30 -lambda 1.2 -distance 110 -detpixels 64 \
        -pixel 1.2 -water 0.05 -seed 3 -noisefile b.img -truth b.expt
    cp work/b.img work/b.expt .
    run -cell 50 60 70 90 90 90 $model -misset 10 20 30 -lambda 1.2 -distance 110 -detpixels 64 \
        -pixel 1.2 -floatfile spots.bin
    cp work/spots.bin .
    printf '0 2 31 2 31\n0 32 61 2 31\n-1 5 9 5 9\n0 2 31 32 61\n7 3 8 3 8\n' > rows.txt
    python3 "$here/refl.py" rows.txt b.refl
    inputs="b.img b.expt b.refl"
    run -expt b.expt $model -water 0.05 -misset 0.03 0 0 -data b.img -fit misset,scale -refl b.refl \
        -boxes refl:1 -reflout fitted.refl
    is "a fit writes the table of its boxes" [ "$code" -eq 0 ]
    is "and names it" grep -q '^files  *fitted.refl$' out
    cp work/fitted.refl . 2> /dev/null
    is "it says where the model has its spots" python3 "$here/refl_fitted.py" fitted.refl spots.bin 64
    inputs="b.img b.expt b.refl fitted.refl"
    run -expt b.expt $model -water 0.05 -data b.img -fit scale -refl fitted.refl -boxes refl:1 \
        -reflout again.refl
    is "and again from itself" [ "$code" -eq 0 ]
    fit="-expt b.expt $model -data b.img -fit scale -refl b.refl"
    refuses 2 'b.refl is an input' $fit -reflout b.refl
    refuses 2 'name a file' $fit -reflout -
    refuses 2 '-reflout needs -refl' -expt b.expt $model -data b.img -fit scale -reflout f
    refuses 2 '-fisher and -reflout exclude' -expt b.expt $model -fit scale -fisher -refl b.refl \
        -reflout f
fi

# ---- what is refused ----
inputs="s_001.img s.expt"
fit="-expt s.expt $model -data s_001.img -fit scale"
refuses 2 's.expt is an input' $fit -exptout s.expt
refuses 2 's.expt is an input' -expt s.expt:0 $model -data s_001.img -fit scale -exptout s.expt
refuses 2 's_001.img is an input' $fit -fittable s_001.img
refuses 2 'two outputs have the same name f' $fit -exptout f -fittable f
refuses 2 'name a file' $fit -exptout -
refuses 2 'name a file' $fit -fittable -
refuses 1 'there is no directory none' $fit -exptout none/f.expt
refuses 1 'there is no directory none' $fit -fittable none/f.csv
refuses 2 '-fisher and -exptout exclude each other' -expt s.expt $model -fit scale -fisher -exptout f
refuses 2 '-exptout needs -fit' -expt s.expt $model -floatfile f -exptout g
refuses 2 '-fittable needs -fit' -expt s.expt $model -floatfile f -fittable g
refuses 2 '-exptout needs -expt' $scene -data s_001.img -fit scale -exptout f
refuses 2 '-exptout.*-lattice' $fit -lattice 1 2 3 -exptout f
refuses 2 'curved' $fit -curved_det -exptout f
finish
