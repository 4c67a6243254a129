#!/bin/sh
# holdout.sh PROGRAM DATA - what the report of a fit says of spots, of images that are fitted
# and of those that are held out, and of what the fit chose for its user.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"

if ! "$program" -version | grep -q lapack || ! "$program" -version | grep -q cjson; then
    echo "ok - # skip this build has no LAPACK or no cJSON"
    exit 77
fi

have_python=$(command -v python3 || true)
still="-cell 50 60 70 90 90 90 -default_F 100 -N 8 -gauss_xtal -fluence 1e28 -detpixels 64 \
    -pixel 1.2 -oversample 1 -water 0.02"
for i in 1 2; do
    run $still -misset 10 20 $((30 * i)) -mosaic 0.4 -seed $i -noisefile n_00$i.img
    cp work/n_00$i.img .
done
printf '[{"data": "n_001.img", "misset": [10, 20, 30]}, {"data": "n_002.img", "misset": [10, 20, 60]}]' > two.json
inputs="n_001.img n_002.img two.json"

# every second image is held out: it is compared, and changes nothing of the fit
start="-misset 10 20 30 -mosaic 0.5 -boxes auto:20:9 -fit scale,mosaic"
run $still $start -shots two.json -holdout 2 -fitimage model_#.bin -json run.json -fitfile fit.json
is "-holdout converges" [ "$code" -eq 0 ]
is "the report has the deviance" \
    grep -q '^deviance     [01][.][0-9]* times the value of a right model, [0-9.]* times in the' out
is "and what is held out" grep -q '^held out     1 image, which the fit has not used; the same columns$' out
is "and R of boxes of both" [ "$(grep -c '^R of boxes   0.0[0-9]*, of which noise alone makes 0.0[0-9]*, between' out)" -eq 2 ]
is "nothing is left out" [ "$(grep -c '^left out' out)" -eq 0 ]
is "an image of each" sh -c 'test $(ls work/model_*.bin | wc -l) -eq 2'
cp work/run.json work/fit.json .
run $still $start -data n_001.img -json one.json
[ -z "$have_python" ] || is "a fit of the other image alone is the same" python3 -c '
import json
two, one, file = (json.load(open(n)) for n in ("run.json", "work/one.json", "fit.json"))
fit, alone = two["fit"], one["fit"]
ratio = {}
for which in "fitted", "held_out":
    ratio[which] = fit[which]["over_expected"], fit[which]["bright_over_expected"]
    print("# %s: deviance over its expectation %.4f, of bright pixels %.4f, 0.9 to 1.1 allowed" % (which, *ratio[which]))
off = max(abs(a["value"] - b["value"]) / a["error"] for a, b in zip(fit["values"], alone["values"]))
print("# values differ by %.2g errors, 1e-6 allowed" % off)
part = fit["images"][1]
ok = off < 1e-6 and part["held_out"] is True and part["loss"] is None and file["holdout"] == 2
ok = ok and len(part["shells"]) == 10 and file["images"][1]["residuals"]["deviance"] > 0
raise SystemExit(not (ok and all(0.9 < r < 1.1 for pair in ratio.values() for r in pair)))'
inputs="n_001.img n_002.img two.json fit.json"
run $still $start -shots two.json -holdout 2 -resume fit.json
is "goes on" [ "$code" -eq 0 ]
refuses 2 'fit.json: -holdout is 2 in the file and 0 here' $still $start -shots two.json -resume fit.json
refuses 2 '-holdout 1 leaves no image to fit' $still -fit scale -shots two.json -holdout 1
refuses 2 '-holdout 3 holds out no image: there are 2 to fit' \
    $still -fit scale -shots two.json -holdout 3
refuses 2 '-holdout 5 holds out no image: there is 1 to fit' \
    $still -fit scale -data n_001.img -holdout 5
run $still -misset 10 20 30 -mosaic 0.4 -fit scale -fisher -holdout 2
is "-fisher holds nothing out" sh -c \
    "test $code -eq 0 && grep -q 'warning: -holdout has no effect beside -fisher' err"
refuses 2 '-holdout and -fit_each exclude each other' \
    $still -fit mosaic -fit_each scale -shots two.json -holdout 2
refuses 2 '-holdout needs -fit or -fit_each' $still -holdout 2

# errors by boxes say so
run $still $start -data n_001.img -errors boxes
is "errors by boxes" grep -q '^errors       errors from the scatter among [0-9]* boxes, as all pixels' out
run $still $start -data n_001.img -errors boxes -boxes auto:2:9
is "two boxes are too few for two values" grep -q 'warning: errors are not from boxes: there are not more boxes than values' err

refuses 2 '^nanobrag: -errors boxes needs -boxes or -refl, for example auto:200:12, or a file of boxes$' \
    $still -misset 10 20 30 -mosaic 0.5 -fit scale -data n_001.img -errors boxes
refuses 2 '-errors boxes and -loss huber .*: -errors boxes needs -loss poisson or readout$' \
    $still $start -data n_001.img -errors boxes -loss huber

# a width that starts at 0 starts elsewhere, which is said
run $still -misset 10 20 30 -mosaic 0.4 -fit scale,strain -data n_001.img -fit_passes 1
is "a start elsewhere is a note" \
    grep -q 'note: the loss has no slope at a width of 0, so one width starts at another value: strain at ' err

# and so are a drift's middle and a bound that nobody gave
run $still -misset 10 20 30 -mosaic 0.4 -phi 3 -osc 0.4 -fit scale,rotation_drift_z -data n_001.img -fit_passes 1
is "where a drift is 0 is a note" grep -q 'note: the drift is 0 in the middle of all images, at phi 3.2 degrees;' err
sharp="-cell 50 60 70 90 90 90 -default_F 100 -gauss_xtal -fluence 1e28 -detpixels 64 -pixel 0.3 \
    -oversample 4 -water 0.02 -misset 10 20 30 -mosaic 0.02"
run $sharp -N 60 -noisefile sharp.img
cp work/sharp.img .
inputs="sharp.img"
run $sharp -N 1.5 -fit ncells,scale -data sharp.img -fit_passes 20
is "a bound of a fit is said" \
    grep -q 'ncells_a  *45.* at its upper bound, the default bound of a fit' out

finish
