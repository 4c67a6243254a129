#!/bin/sh
# expt_out.sh PROGRAM DATA - -exptout and -fittable: a fit from an .expt ends in one from
# which a second run has its loss at once; the table; bad input. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"

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
        [ "$(column work/fit.csv scale | sed 2q | sort -u | wc -l)" -eq 2 ]
    mkdir -p odd
    cp s_001.img 'odd/one, "two".img'
    (cd odd && "$program" -expt ../s.expt $model -data 'one, "two".img' -fit scale -quiet \
        -fittable f.csv) 2> err
    is "a name with a comma and quotes" [ "$(column odd/f.csv name)" = 'one, "two".img' ]
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
refuses 2 'the scene has 1 further lattices' $fit -lattice 1 2 3 -exptout f
refuses 2 'curved' $fit -curved_det -exptout f
finish
