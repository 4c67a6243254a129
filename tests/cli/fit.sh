#!/bin/sh
# fit.sh PROGRAM DATA - -fit: what an image with noise was computed from is found within its
# errors, by one image and by several; bad input. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"

if ! "$program" -version | grep -q lapack || ! "$program" -version | grep -q cjson; then
    run $scene -fit scale -fisher
    is "without LAPACK a fit is refused" grep -q LAPACK err
    echo "ok - # skip this build has no LAPACK or no cJSON"
    exit 77
fi

still="-cell 50 60 70 90 90 90 -default_F 100 -N 8 -gauss_xtal -mosaic_domains 12 -fluence 1e28 \
    -detpixels 64 -pixel 1.2 -oversample 1 -water 0.02"
for i in 1 2; do
    run $still -misset 10 20 $((30 * i)) -mosaic 0.4 -seed $i -noisefile n_00$i.img -floatfile f$i.bin
    cp work/n_00$i.img work/f$i.bin .
done
truth="cell_a=50 misset_x=10 misset_y=20 misset_z=30 mosaic=0.4 scale=1"

# within FILE NAME=VALUE...: each value of a fit within five of its errors, without that of
# sampling: data and model have the same mosaic domains
within()
{
    python3 - "$@" << 'PY'
import json, sys
found = {}
for v in json.load(open(sys.argv[1]))["values"]:
    found.setdefault(v["name"], []).append(v)
bad = 0
for word in sys.argv[2:]:
    name, value = word.split("=")
    for v in found[name]:
        error = (v["error"] ** 2 - (v["sampling"] or 0) ** 2) ** 0.5
        pull = (v["value"] - float(value)) / error
        print("# %s %.6g +- %.2g, true %s: %.2f errors, 5 allowed"
              % (name, v["value"], error, value, pull))
        bad += not abs(pull) < 5
sys.exit(bad > 0)
PY
}

have_python=$(command -v python3 || true)
free="cell_a,misset,mosaic,scale"
off="-misset 10.1 19.9 30.1 -mosaic 0.5 -param scale=0.8 -param cell_a=50.1"

# ---- one image ----
inputs="n_001.img f1.bin"
run $still $off -fit $free -data n_001.img -fitfile fit.json -fitimage model.bin -json run.json
is "a fit" [ "$code" -eq 0 ]
is "says that it converged" grep -q '^fit  *converged' out
is "names its files" grep -q '^files  *fit.json, run.json, model.bin$' out
is "and prints values with errors" grep -q '^  cell_a  *[0-9.]*([0-9]*) *A' out
cp work/fit.json work/model.bin work/run.json . 2> /dev/null
[ -z "$have_python" ] || is "within its errors" within fit.json $truth
is "writes the image of the fit" [ "$(wc -c < model.bin)" -eq 16384 ]
is "and tells of it in -json" grep -q '"converged' run.json
run $still $off -fit $free -data n_001.img -fitimage z.bin -fitimage_kind z
[ -z "$have_python" ] || is "z has variance 1" python3 -c '
import array
z = array.array("f", open("work/z.bin", "rb").read())
rms = (sum(x * x for x in z) / len(z)) ** 0.5
print("# rms %.3f, 0.9 to 1.1 allowed" % rms)
raise SystemExit(not 0.9 < rms < 1.1)'
run $still $off -fit $free -data n_001.img -loss gauss -fitfile fit.json
is "squares have errors from the variance of counting" grep -q '^errors .*from the variance' out
is "and residuals too" grep -q '^residuals .*: [01]\.[019][0-9]* rms' out
cp work/fit.json .
[ -z "$have_python" ] || is "within its errors" within fit.json $truth
run $still $off -fit $free -data f1.bin -loss gauss -fitfile fit.json
is "raw floats" [ "$code" -eq 0 ]
cp n_001.img mask.img
inputs="n_001.img f1.bin"
run $still $off -fit $free -data n_001.img -data_mask f1.bin -quiet
is "a mask; -quiet prints nothing" [ "$code" -eq 0 -a ! -s out ]

# ---- a model that misfits ----
# A spread that is held at a wrong value: misset is off by many errors of counting.
wrong="-misset 10.05 20 30 -mosaic 0.5"
inputs="n_001.img"
run $still $wrong -fit misset,scale -data n_001.img -fitfile fit.json -json run.json
is "a misfit scales errors, and is said" \
    grep -q '^errors .*times [0-9.]*, since the misfit of bright pixels is [0-9.]* times' out
is "in the warning too" grep -q 'and the errors include this' err
is "in -json" grep -q '"error_factor":	[2-9]' work/run.json
is "and in -fitfile" grep -q '"bright_misfit":	[1-9][0-9]' work/fit.json
is "errors have that of sampling" grep -q '^errors .* sampling the mosaic domains, by 8 other draws' out
is "nothing holds for the domains that were drawn" [ "$(grep -c '^domains' out)" -eq 0 ]
[ -z "$have_python" ] || is "it is in both files" python3 -c '
import json
run, file = json.load(open("work/run.json"))["fit"], json.load(open("work/fit.json"))
parts = [[v["sampling"] for v in where["values"]] for where in (run, file)]
raise SystemExit(not (run["draws"] == file["draws"] == 8 and parts[0] == parts[1] and min(parts[0]) > 0))'
cp work/fit.json scaled.json
run $still $wrong -fit misset,scale -data n_001.img -errors counting -fitfile fit.json
is "-errors counting does not" grep -q '"error_factor":	1,' work/fit.json
is "errors hold for the domains then" grep -q '^domains .* for the 12 mosaic domains' out
is "and warns" grep -q 'and the printed errors ignore this' err
cp work/fit.json .
[ -z "$have_python" ] || is "scaled errors reach the truth" python3 -c '
import json
truth = {"misset_x": 10, "misset_y": 20, "misset_z": 30, "scale": 1}
worst, factor = [], json.load(open("scaled.json"))["error_factor"]
for file in "scaled.json", "fit.json":
    values = json.load(open(file))["values"]
    errors = [(v["error"] ** 2 - (v["sampling"] or 0) ** 2) ** 0.5 for v in values]
    worst.append(max(abs(v["value"] - truth[v["name"]]) / e for v, e in zip(values, errors)))
print("# %.1f errors off, 5 allowed; %.1f errors of counting" % tuple(worst))
raise SystemExit(not (worst[0] < 5 < worst[1] and abs(worst[1] / worst[0] / factor - 1) < 1e-9))'
run $still -misset 10.1 19.9 30.1 -mosaic 0.5 -fit misset,scale,mosaic -data n_001.img -json run.json
is "a right model has no factor" grep -q '"error_factor":	1,' work/run.json
is "and no line of it" [ "$(grep -c '^errors .*since the misfit' out)" -eq 0 ]
run $scene -fit scale -fisher -errors counting
is "-errors without a fit" grep -q 'errors has no effect beside -fisher' err
refuses 2 'errors plain: expected scaled|misfit|counting|boxes' $still -fit scale -data n_001.img -errors plain

# ---- a scale that is far off ----
for times in 700 0.0014; do
    run $still -misset 10.1 19.9 30.1 -mosaic 0.5 -param scale=$times -fit misset,scale,mosaic \
        -data n_001.img -fitfile fit.json
    is "a scale of $times is found" [ "$code" -eq 0 ]
    is "and its start is said once" [ "$(grep -c 'warning: the scale is far off' err)" -eq 1 ]
    cp work/fit.json .
    [ -z "$have_python" ] || is "within its errors" within fit.json scale=1 misset_x=10 mosaic=0.4
done

# ---- cells that a fit found ----
inputs=
run $still -misset 10 20 30 -mosaic 0.4 -Na 8.37 -Nb 7.6 -floatfile a.bin
cp work/a.bin a.bin
run $still -misset 10 20 30 -mosaic 0.4 -param ncells_a=8.37 -param ncells_b=7.6 -floatfile a.bin
is "-Na takes a real number" cmp -s a.bin work/a.bin
is "without a word" [ "$(grep -c 'square' err)" -eq 0 ]
run $scene -N 4.5 -floatfile a.bin
is "of a square crystal with one" grep -q 'a square crystal of 4.5 x 4.5 x 4.5 cells' err
refuses 2 'Na 0.5: must be at least 1' $scene -Na 0.5 -floatfile a.bin
inputs="n_001.img"

# ---- stopped and gone on ----
run $still $off -fit $free -data n_001.img -fit_passes 2 -fitfile part.json
is "a limit" grep -q 'ended after 2 passes' out
is "is exit status 1" [ "$code" -eq 1 ]
is "with a warning" grep -q 'warning: the fit has not converged (ended after 2 passes' err
is "and with a file" [ -s work/part.json ]
cp work/part.json .
inputs="n_001.img part.json"
run $still $off -fit $free -data n_001.img -resume part.json -fitfile whole.json
strip() { grep -v -e '"ended"' -e '"end"' "$1"; }
cmp_fits() { strip work/whole.json > a.json; strip fit.json > b.json; cmp -s a.json b.json; }
inputs="n_001.img"
run $still $off -fit $free -data n_001.img -fitfile fit.json
cp work/fit.json .
inputs="n_001.img part.json"
run $still $off -fit $free -data n_001.img -resume part.json -fitfile whole.json
is "goes on with the bits of a fit that was not stopped" cmp_fits
run $still $off -fit $free -data n_001.img -distance 101 -resume part.json
is "not with another scene" grep -q "of n_001.img, the distance is 100 in the file and 101 here" err
is "exit status 2" [ "$code" -eq 2 ]
# other PATTERN ARGUMENTS...: the fit is not gone on with
other()
{
    pattern=$1
    shift
    refuses 2 "of another scene: of n_001.img, $pattern" $still $off -fit $free -data n_001.img \
        -resume part.json "$@"
}
cp n_001.img same.img
size=$(wc -c < n_001.img) # the last two pixels are other ones
head -c $((size - 4)) n_001.img > data.img
printf '\050\000\051\000' >> data.img
printf '1 0 0 100\n0 1 0 100\n' > my.hkl
printf '0 63 0 62\n' > boxes.txt
inputs="n_001.img part.json my.hkl f1.bin boxes.txt"
other 'misset_x is 10.1 in the file and 10.2 here' -misset 10.2 19.9 30.1
other 'phi0 is 0 in the file and 5 here' -phi 5
other 'the density of the background is 1 in the file and 1.1 here' -density 1.1
other "the crystal's fudge is 1 in the file and 1.2 here" -fudge 1.2
other 'the list of structure factors differs' -hkl my.hkl
other 'default_f is 100 in the file and 101 here' -default_F 101
other 'b_factor is 0 in the file and 10 here' -param b_factor=10
other 'the kind of point spread is 0 in the file and 1 here' -psf gauss -psf_fwhm 1
other 'the seed of the mosaic domains is' -mosaic_seed 5
other 'whether the beam is unpolarised is 0 in the file and 1 here' -nopolar
other 'the loss is 1 in the file and 3 here' -loss huber
other 'the weight of pixels differs' -data_mask f1.bin
other 'the list of boxes differs' -boxes boxes.txt
mv data.img n_001.img
other 'the observed image differs'
mv same.img n_001.img

# ---- outputs that are inputs ----
# keeps FILE PATTERN ARGUMENTS...: refuses, and FILE is what it was
keeps()
{
    file=$1
    shift
    refuses 2 "$@"
    is "and $file is what it was" cmp -s "$file" "work/$file"
}
overwritten='is an input and would be overwritten'
inputs="n_001.img n_002.img f1.bin part.json"
keeps n_001.img "$overwritten" $still $off -fit $free -data n_001.img -fitfile n_001.img
keeps n_001.img "$overwritten" $still $off -fit $free -data n_001.img -fitimage ./n_001.img
keeps n_001.img "$overwritten" $still $off -fit $free -data n_001.img -json n_001.img
keeps n_002.img "$overwritten" $still $off -fit $free -data n_001.img -data n_002.img \
    -fitimage n_001.img
keeps f1.bin "$overwritten" $still $off -fit $free -data n_001.img -data_mask f1.bin \
    -fitfile f1.bin
keeps part.json "$overwritten" $still $off -fit $free -data n_001.img -resume part.json \
    -fitimage part.json
refuses 2 'two outputs have the same name' $still $off -fit $free -data n_001.img -data n_002.img \
    -fitimage m.bin -fitfile m_00002.bin
printf '[{"data": "n_001.img"}]' > shots.json
inputs="n_001.img shots.json"
keeps n_001.img "$overwritten" $still $off -fit $free -shots shots.json -fitfile n_001.img
keeps shots.json "$overwritten" $still $off -fit $free -shots shots.json -fitfile shots.json
inputs="n_001.img part.json"
run $still $off -fit $free -data n_001.img -resume part.json -fitfile part.json
is "-fitfile may be the file of -resume" [ "$code" -eq 0 ]

# ---- results that are not to be trusted ----
inputs="n_001.img"
run $still -mosaic 0.5 -misset 40 50 60 -fit scale -data n_001.img -quiet
is "a wrong model is no failure" [ "$code" -eq 0 ]
is "but has a warning, with -quiet too" grep -q 'warning: the misfit is [0-9.e+]*, where 1 is expected: the model does not describe' err
run $still $off -fit $free -data n_001.img
is "a right one has none" [ "$(grep -c -e 'misfit' -e 'header' -e 'left out' err)" -eq 0 ]
# contradicts PATTERN ARGUMENTS...: a warning that the header says so
contradicts()
{
    pattern=$1
    shift
    run $still $off -fit scale -data n_001.img "$@"
    is "the header contradicts $*" grep -q "n_001.img: the header has $pattern; check" err
}
contradicts 'a pixel of 1.2 mm but the scene has 1.25 mm' -pixel 1.25
contradicts 'a wavelength of 1 A but the scene has 1.02 A' -lambda 1.02
contradicts 'a distance of 100 mm but the scene has 110 mm' -distance 110
contradicts 'a beam centre at 38.4, 38.4 mm but the scene has 20.6, 30.6 mm from the corner' -Xbeam 30 -Ybeam 20
# a gap of the detector
printf '\000\000\200\277' > gap.bin
tail -c 16380 f1.bin >> gap.bin
printf '\000\000\300\177' > nan.bin
tail -c 16380 f1.bin >> nan.bin
inputs="gap.bin nan.bin"
run $still $off -fit $free -data gap.bin
is "pixels below 0 are left out" grep -q 'warning: left out: 1 pixel of 1 image with fewer photons' err
run $still $off -fit $free -data gap.bin -loss readout -readout 0.1
is "and those six times the read-out noise below" grep -q 'warning: left out: 1 pixel of 1 image with' err
run $still $off -fit $free -data gap.bin -loss readout -readout 0.2
is "but not others" [ "$(grep -c 'left out' err)" -eq 0 ]
accepts '^fit  *converged' $still $off -fit $free -data nan.bin -data_mask nan.bin
printf '8 55 8 55\n' > inner.txt
inputs="gap.bin nan.bin inner.txt"
run $still $off -fit $free -data gap.bin -boxes inner.txt
is "pixels outside the boxes are not counted" [ "$code$(grep -c 'left out' err)" = 00 ]
accepts '^fit  *converged' $still $off -fit $free -data nan.bin -boxes inner.txt

# ---- an interrupt ----
rm -rf work
mkdir work
cp n_001.img work
(cd work && exec "$program" $still $off -mosaic_domains 400 -oversample 6 -fit $free -data n_001.img \
    -fit_passes 500 -restrain mosaic=0.45..0.6 -coarse on -fitfile fit.json > ../out 2> ../err) &
child=$!
catching $child
for _ in $(seq 600); do
    [ ! -s work/fit.json ] || break
    sleep 0.1
done
kill -INT $child
wait $child
is "an interrupted fit ends with status 130" [ $? -eq 130 ]
is "says how to go on" grep -q 'interrupted after [0-9]* pass.*; fit.json holds the fit' err
is "prints the best values so far" grep -q '^  cell_a  *[0-9.]*(' out
is "and leaves a whole file" grep -q '"tracks"' work/fit.json
is "alone" [ "$(ls -A work | paste -s -d ' ' -)" = "fit.json n_001.img" ]

# ---- several images ----
cat > shots.json << 'J'
[{"data": "n_001.img", "misset": [10.05, 19.95, 30.05], "scale": 0.9},
 {"data": "n_002.img", "misset": [9.95, 20.05, 59.95]}]
J
inputs="n_001.img n_002.img shots.json"
run $still -mosaic 0.5 -fit cell_a,mosaic -fit_each misset,scale -shots shots.json -fitfile both.json
is "two images together" [ "$code" -eq 0 ]
is "with the residuals of each" [ "$(grep -c '^  n_00[12].img  *[01].[019][0-9]* rms' out)" -eq 2 ]
is "and of all" grep -q '^  all  *[01].[019][0-9]* rms' out
cp work/both.json .
[ -z "$have_python" ] || is "the file has correlations, covariance and residuals" python3 -c '
import json
d = json.load(open("both.json"))
n = len(d["values"])
error = [v["error"] for v in d["values"]]
worst = max(abs(d["covariance"][i][i] ** 0.5 / error[i] - 1) for i in range(n))
rms = [s["residuals"]["z_rms"] for s in d["images"]]
pairs = [(p["first"], p["second"], round(p["value"], 3)) for p in d["correlated"]]
print("# names %r, free %r, correlated %r, rms %r, roots of variances off by %.1e, 1e-12 allowed"
      % (d["names"], d["free"], pairs, rms, worst))
raise SystemExit(d["names"] != "cell_a mosaic misset scale" or d["free"] != []
                 or not worst < 1e-12 or len(d["images"][1]["shells"]) < 5
                 or not all(0.9 < r < 1.1 for r in rms))'
[ -z "$have_python" ] || is "within errors" within both.json cell_a=50 mosaic=0.4 misset_x=10 scale=1
tied="$still $off -fit fluence,water -fit_each scale -restrain fluence=1e28:5e27"
run $tied -shots shots.json -json tied.json
is "correlated values are named with their image" \
    grep -q '^correlated .* scale of n_00[12].img' out
is "in -json too" grep -q '"second":.*"scale of n_00[12].img"' work/tied.json
printf '[{"data": "gone.img"}, {"data": "n_001.img"}, {"data": "n_001.img"}]' > shots.json
run $tied -shots shots.json
is "a first image that is missing leaves the others in" grep -q 'pixels of 2 of 3 images' out
printf '[{"data": "gone.img"}, {"data": "n_001.img"}]' > shots.json
run $still $off -fit cell_a,mosaic -fit_each misset,scale -shots shots.json -fitfile one.json
is "an image that is missing is left out by its name" \
    grep -q '^left out  *gone.img: cannot read' out
is "with a warning" grep -q 'warning: .*gone.img' err
is "and without values" [ "$(grep -c '^  misset_x' out)" -eq 1 ]
is "and is not counted" grep -q 'pixels of 1 of 2 images' out
cp work/one.json .
cp n_002.img gone.img
inputs="n_001.img gone.img shots.json one.json"
run $still $off -fit cell_a,mosaic -fit_each misset,scale -shots shots.json -resume one.json
is "and stays left out" grep -q '^left out  *gone.img: cannot read' out
run $still $off -fit cell_a,mosaic -fit_each misset,scale -shots shots.json -fitfile two.json
cp work/two.json .
inputs="n_001.img shots.json two.json"
refuses 2 'gone.img: cannot read' $still $off -fit cell_a,mosaic -fit_each misset,scale \
    -shots shots.json -resume two.json

# ---- boxes, with planes of background that the scene does not know ----
inputs="n_001.img"
run $still $off -water 0 -fit $free -data n_001.img -boxes auto:20:8 -planes -fitfile fit.json
is "planes in boxes" [ "$code" -eq 0 ]
cp work/fit.json .
[ -z "$have_python" ] || is "within errors" within fit.json $truth

run $still $off -fit $free -data n_001.img -boxes auto -fitfile fit.json
cp work/fit.json auto.json
run $still $off -fit $free -data n_001.img -boxes auto:200:12 -fitfile fit.json
is "-boxes auto is auto:200:12" cmp auto.json work/fit.json

# ---- on a terminal, the line of progress is gone before the report ----
[ -z "$have_python" ] || is "the progress is gone before the report" python3 - "$program" $still \
    $off -oversample 4 -fit $free -data n_001.img << 'PY'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
text = b""
try:
    while more := os.read(fd, 65536):
        text += more
except OSError:
    pass
os.waitpid(pid, 0)
line = text[:text.index(b"fit          ")].split(b"\n")[-1]
print("# before the report: %r" % line[-60:])
sys.exit(b"% of the pass" not in text or not (line == b"" or line.endswith(b"\r\x1b[K")))
PY

# ---- one crystal that phi has turned, or its setting: a fit finds the same three spreads ----
axes="$still -dials -spindle_axis 1 0 0 -osc 1 -phisteps 2 -mosaic 0.4"
far="$axes -phi -145 -misset 10 20 30"
near="$axes -phi -0.75 -misset 10 20 30 -param rotation_x=-144.25"
inputs=
run $far -param mosaic_a=0.2 -param mosaic_b=0.6 -noisefile axes_001.img -seed 5
cp work/axes_001.img .
inputs=axes_001.img
for way in far near; do
    eval "run \$$way -param scale=0.9 -fit rotation,mosaic_axes,scale -data axes_001.img" \
        -fitfile fit.json
    cp work/fit.json $way.json
done
[ -z "$have_python" ] || is "the three spreads are those of the crystal" python3 -c '
import json
far, near = ({v["name"]: v for v in json.load(open(f))["values"]} for f in ("far.json", "near.json"))
bad = 0
for name, true in (("mosaic_a", 0.2), ("mosaic_b", 0.6), ("mosaic_c", 0.4), ("scale", 1)):
    a, b = far[name], near[name]
    apart, off = (a["value"] - b["value"]) / a["error"], (a["value"] - true) / a["error"]
    print("# %s %.6g and %.6g +- %.2g: apart %.1e errors, 1e-4 allowed, true %g: off %.1f, 5 allowed"
          % (name, a["value"], b["value"], a["error"], apart, true, off))
    bad += not (abs(apart) < 1e-4 and abs(off) < 5)
raise SystemExit(bad > 0)'

# ---- restraints, and errors without data ----
inputs="n_001.img"
run $still $off -fit $free -data n_001.img -restrain mosaic=0.45..0.6
is "bounds" grep -q '^  mosaic.* at its lower bound' out
run $still $off -fit $free -data n_001.img -restrain cell_a=50.05:0.00001
is "a restraint" grep -q '^  cell_a  *50\.0[45]' out
inputs=
accepts '^  cell_a  *50.00*([0-9]*)' $still -misset 10 20 30 -mosaic 0.4 -fit $free -fisher
run $still -misset 10 20 30 -mosaic 0.4 -fit $free -fisher_scan distance=80:120:20
is "a table against distance" [ "$(grep -c '^ *[0-9]' out)" -eq 3 ]
is "with units" grep -q '^mm  *A  *degree' out
run $still -misset 10 20 30 -mosaic 0.4 -fit $free -fisher_scan distance=80:120:20 -json -
is "or in -json alone" [ "$(grep -c '"value":' out)" -gt 20 -a "$(grep -c '^80' out)" -eq 0 ]

# each_row NAME=FROM:TO:STEP OPTION VALUES SCENE: each point of a scan is what -fisher says of the
# scene with that value, structure factors and sub-pixels included
cat > each_row.py << 'PY'
import json, sys
def errors(at):
    return [(v["name"], v["value"], v["error"]) for v in at["fit"]["values"]]
scan = json.load(open("scan.json"))["fisher_scan"]
points = scan["points"]
bad = len(points) != len(sys.argv) - 2
for point, value in zip(points, sys.argv[2:]):
    alone = json.load(open("alone_%s.json" % value))
    worst = max(abs(a[2] / b[2] - 1) for a, b in zip(errors(point), errors(alone)))
    same = [a[0] for a in errors(point)] == [b[0] for b in errors(alone)]
    same = same and point["oversample"] == alone["sampling"]["oversample"]
    print("# %s=%s: errors within %.1e of -fisher alone, 1e-9 allowed; %d sub-pixels"
          % (scan["name"], value, worst, point["oversample"]))
    bad += not (same and worst <= 1e-9)
sys.exit(bad > 0)
PY
each_row()
{
    scan=$1 option=$2 values=$3
    shift 3
    inputs=each_row.py
    run "$@" -fisher_scan "$scan" -json scan.json
    cp work/scan.json .
    for value in $values; do
        run "$@" "$option" "$value" $rest -fisher -json alone.json
        cp work/alone.json "alone_$value.json"
    done
    is "each point of $scan is resolved by itself" python3 each_row.py "$scan" $values
}
if [ -n "$have_python" ]; then
    lattice="-N 6 -gauss_xtal -mosaic 0.3 -mosaic_domains 3 -misset 10 20 30 -detpixels 32
        -fluence 1e26 -water 0.05 -fit cell_a,misset,scale -quiet"
    rest=
    atoms="-pdb $data/../../examples/data/2erl.pdb -pixel 3 $lattice"
    if "$program" -version | grep -q gemmi; then
        each_row distance=50:150:50 -distance '50 100 150' $atoms -lambda 1.2
        each_row distance=60:50:-10 -distance '60 50' $atoms -lambda 1.2 -boxes auto:9:3
        each_row wavelength=0.9:1.5:0.3 -lambda '0.9 1.2 1.5' $atoms -distance 80
    fi
    listed="-cell 53.91 23.1 23.1 90 110.4 90 -default_F 100 $lattice"
    each_row pixel=2:4:1 -pixel '2 3 4' $listed
    each_row fluence=1e25:2.1e25:1e25 -fluence '1e25 2e25' $listed -pixel 3
    each_row ncells_a=2:6:2 -Na '2 4 6' $listed -pixel 3
    each_row osc=0.5:1:0.5 -osc '0.5 1' $listed -pixel 3 -osc 0.1
    rest="23.1 23.1 90 110.4 90"
    each_row cell_a=40:60:10 -cell '40 50 60' $listed -pixel 3
fi
inputs="f1.bin"
run $still $off -water 0 -fit cell_a,scale,fluence -data f1.bin -loss gauss
is "what the data leave free" grep -q '^free  *the data do not determine .*scale.*fluence' out
run $still $off -water 0 -fit cell_a,scale,fluence -data f1.bin -loss gauss -fitfile fit.json
is "also in the file" grep -q '"free":.*scale.*fluence' work/fit.json

# ---- what is said of values that are held ----
inputs="n_001.img"
run $still $off -param scale=0 -fit $free -data n_001.img
is "what moved is not said to be held" [ "$(cat out err | grep -c -e 'keeps its value' -e held)" -eq 0 ]
for i in 0 1 2 3 4; do for j in 0 1 2 3 4 5; do for k in 0 1 2 3 4 5 6; do
    echo "$i $j $k $((60 + (i * 7 + j * 5 + k * 3) % 40))"
done; done; done > some.hkl
inputs=some.hkl
run $still -default_F 0 -hkl some.hkl -misset 10 20 30 -mosaic 0.4 -noisefile f.img -seed 3
cp work/f.img .
inputs="some.hkl f.img"
run $still -default_F 0 -hkl some.hkl -misset 10.02 20 30 -mosaic 0.4 -fit misset,scale,F -data f.img
is "a scale beside all F is not held" grep -q '^  scale .* the errors of F contain its error' out
is "and many F are summed up" grep -q '^  F: the data determine' out
is "on the scale of the start" grep -q '^scale of F  *as at the start, because scale is free too$' out
run $still -default_F 0 -hkl some.hkl -misset 10.02 20 30 -mosaic 0.4 -fit 'misset,F[1,2,3],F[0,0,0]' \
    -data f.img
is "a few F are listed" [ "$(grep -c '^  F\[[01],[02],[03]\]' out)" -eq 2 ]
is "nothing is said of their scale where all are held" [ "$(grep -c '^scale of F' out)" -eq 0 ]
run $still -default_F 0 -hkl some.hkl -misset 10 20 30 -mosaic 0.4 -fit F -data f.img -fitfile fit.json
is "the scale of F is that of the shape" grep -q \
    '^scale of F  *1.008 times the scale for square blocks, as spots sum to 0.9844 of spots of square blocks' out
cp work/fit.json plain.json
run $still -default_F 0 -hkl some.hkl -misset 10 20 30 -mosaic 0.4 -fit F -data f.img \
    -fitfile fit.json -normalise on
is "or that of square blocks" grep -q '^scale of F  *as for square blocks$' out
[ -z "$have_python" ] || is "and F is smaller by as much" python3 -c '
import json
plain, normal = ({v["name"]: v for v in json.load(open(name))["values"]}
                 for name in ("plain.json", "work/fit.json"))
name = min(plain, key=lambda n: (plain[n]["error"] or 1e9) / abs(plain[n]["value"]))
ratio = plain[name]["value"] / normal[name]["value"]
print("# %s: %.6f times" % (name, ratio))
raise SystemExit(not abs(ratio - 0.984443146**-0.5) < 2e-3) # a fit ends within 0.05 errors'

# ---- options without effect ----
idle()
{
    pattern=$1
    shift
    run $still $off -fit scale -data n_001.img "$@"
    is "$*: $pattern" grep -q -e "warning: $pattern" err
}
inputs="n_001.img"
idle '-readout has no effect without -loss readout' -readout 3
idle '-loss readout without -readout: the read-out noise is 0' -loss readout
idle '-delta has no effect without -loss huber|cauchy' -delta 3
idle '-fitimage_kind has no effect without -fitimage' -fitimage_kind z
idle '-fit is given more than once and only the last one counts; separate names by commas' -fit misset
idle 'n_001.img is given more than once' -data n_001.img
idle '-planes beside -water' -boxes auto:20:8 -planes
refuses 2 '^nanobrag: .*planes and read-out noise need a -readout above 0.* variance$' $still \
    -mosaic 0.4 -fit scale -data n_001.img -boxes auto:20:8 -planes -loss readout
run $still -mosaic 0.4 -nonoise -floatfile exact.bin
cp work/exact.bin .
inputs=exact.bin
run $still -mosaic 0.4 -fit scale -data exact.bin
is "data without noise are told" grep -q 'warning: .* where 1 is expected: the data have less noise' err
inputs="n_001.img"
run $still $off -fit scale -fisher -coarse on
is "-coarse has no effect on -fisher" grep -q 'warning: -coarse has no effect beside -fisher' err

# ---- the crystal system ----
inputs=
run -cell 50 60 70 90 90 90 -default_F 100 -N 8 -gauss_xtal -detpixels 64 -pixel 1.2 -oversample 1 \
    -water 0.02 -crystal_system orthorhombic -fit cell -fisher
is "three edges of an orthorhombic cell" [ "$(grep -c '^  cell_' out)" -eq 3 ]
refuses 2 'beta of the unit cell is 100, but in a tetragonal crystal it is 90' $still \
    -mosaic 0.4 -cell 50 50 70 90 100 90 -crystal_system tetragonal -fit scale -fisher
if "$program" -version | grep -q gemmi; then
    model="-pdb $data/structures/1yjp.pdb -N 6 -gauss_xtal -detpixels 64 -pixel 1.6 -lambda 1.2 -distance 120 \
        -oversample 1 -water 0.02 -fisher"
    run $model -fit cell
    is "P 21 ties alpha and gamma" [ "$(grep '^  cell_' out | cut -c 1-12 | paste -s -d, -)" = \
        "  cell_a    ,  cell_b    ,  cell_c    ,  cell_beta " ]
    is "with a note" grep -q 'monoclinic, as the space group P 1 21 1 asks; -crystal_system' err
    run $model -fit cell -crystal_system triclinic
    is "triclinic frees them" [ "$(grep -c '^  cell_' out)" -eq 6 ]
    refuses 2 'cell_alpha is free, but a monoclinic crystal fixes it' $model -fit cell_alpha
    while IFS=: read -r a b c alpha beta gamma group free_edges; do
        printf 'CRYST1%9.3f%9.3f%9.3f%7.2f%7.2f%7.2f %-11s%4d\n' "$a" "$b" "$c" "$alpha" "$beta" \
            "$gamma" "$group" 1 > group.pdb
        echo 'ATOM      1  CA  ALA A   1       1.000   2.000   3.000  1.00 10.00           C' \
            >> group.pdb
        inputs=group.pdb
        run -pdb group.pdb -N 6 -gauss_xtal -detpixels 64 -pixel 1.6 -oversample 1 -water 0.02 \
            -fisher -fit cell
        is "$group has $free_edges free numbers" [ "$(grep -c '^  cell_' out)" -eq "$free_edges" ]
    done << 'GROUPS'
20:30:40:80:95:100:P 1:6
20:30:40:90:95:90:P 1 21 1:4
20:30:40:90:95:90:C 1 2 1:4
20:30:40:90:90:90:P 1 1 2:6
20:30:40:90:90:90:P 21 21 21:3
20:20:40:90:90:90:P 43 21 2:2
20:20:40:90:90:120:P 32 2 1:2
20:20:40:90:90:120:H 3:2
20:20:20:80:80:80:R 3:2
20:20:40:90:90:120:P 61 2 2:2
20:20:20:90:90:90:I 4 3 2:1
20:20:20:90:90:90:F 2 3:1
GROUPS
fi

# ---- bad input ----
printf '\211PNG\r\n' > picture.img
inputs=picture.img
refuses 2 'picture.img: is a file of PNG, expected an image in SMV' $still -mosaic 0.4 \
    -fit scale -data picture.img
bad="$still -mosaic 0.4"
inputs="n_001.img f1.bin"
refuses 2 'no parameter "foo"' $bad -fit foo -data n_001.img
refuses 2 '^nanobrag: -fit: parameter scale is named twice' $bad -fit scale,scale -data n_001.img
refuses 2 '-fit and -fit_each: parameter scale is named twice' $bad -fit scale -fit_each scale \
    -data n_001.img
# without a line of the table
scan_refuses()
{
    refuses 2 "$1" $bad -fit scale -fisher_scan "$2"
    is "prints no table" [ "$(grep -c -i -e expected -e distance out)" -eq 0 ]
}
scan_refuses 'there is no parameter "distnce"; the nearest is distance' distnce=80:100:10
scan_refuses 'the name stands for 3 parameters; name one, such as misset_x' misset=1:2:1
scan_refuses 'distance: expected values of 1e-06 to 1e+09' distance=0:10:5
refuses 2 '-shots none.json: cannot be read: No such file' $bad -fit scale -shots none.json
# entry PATTERN LIST
entry()
{
    printf '%s' "$2" > shots.json
    inputs="n_001.img shots.json"
    refuses 2 "shots.json: entry $1" $bad -fit scale -shots shots.json
    inputs="n_001.img f1.bin"
}
entry '1: there is no parameter "scal"; the nearest is scale$' '[{"data": "n_001.img", "scal": 1}]'
entry '2: mosaic is -1, expected 0 to ' '[{"data": "n_001.img"}, {"data": "n_001.img", "mosaic": -1}]'
entry '1: misset: expected 3 numbers, but the file gives 2$' '[{"data": "n_001.img", "misset": [1, 2]}]'
refuses 2 'cannot read' $bad -fit scale -data none.img
refuses 2 '64 x 64 pixels but the detector has 32 x 32' $bad -detpixels 32 -fit scale -data n_001.img
refuses 2 'bytes, expected' $bad -detpixels 32 -fit scale -data f1.bin
refuses 2 'greater than 0' $bad -fit scale -data n_001.img -gain -1
refuses 2 'must not be negative' $bad -fit scale -data n_001.img -readout -1
refuses 2 'outside its bounds' $bad -fit scale -data n_001.img -restrain scale=2..3
refuses 2 'no free parameter' $bad -fit scale -data n_001.img -restrain mosaic=2..3
refuses 2 'sigma above 0' $bad -fit scale -data n_001.img -restrain scale=1:0
refuses 2 'NAME=CENTRE:SIGMA' $bad -fit scale -data n_001.img -restrain scale
refuses 2 'every pixel .* saturated' $bad -fit scale -data n_001.img -pedestal 0 -saturation 1
refuses 2 'not above the pedestal' $bad -fit scale -data n_001.img -saturation 1
refuses 2 'NAME=FROM:TO:STEP' $bad -fit scale -fisher_scan distance=3
refuses 2 '-planes needs -boxes' $bad -fit scale -data n_001.img -planes
refuses 2 '-fit needs -data, -shots, -expt or -fisher, as a fit needs observed images' $bad -fit scale
refuses 2 'needs -fit' $bad -data n_001.img
refuses 2 'exclude each other' $bad -fit scale -data n_001.img -floatfile x.bin
refuses 2 'both name the images' $bad -fit scale -data n_001.img -shots shots.json
refuses 2 'expected errors are computed without a fit' $bad -fit scale -fisher -fitfile x.json
head -c 16384 /dev/zero > zero.bin
printf '\000\000\300\177' > nan.bin
tail -c 16380 f1.bin >> nan.bin
head -c 4000 n_001.img > short.img
inputs="n_001.img zero.bin nan.bin short.img"
refuses 2 'every pixel is masked' $bad -fit scale -data n_001.img -data_mask zero.bin
refuses 2 'short.img: the file ends before its last pixel' $bad -fit scale -data n_001.img -data_mask short.img
refuses 2 'pixel fast 0 slow 0 is nan' $bad -fit scale -data nan.bin
for text in '{' '{}' '[]' '[1]' '[{"misset": 1}]' '[{"data": "n_001.img", "misset": 1}]' \
    '[{"data": "n_001.img", "foo": 1}]' '[{"data": "n_001.img", "scale": "1"}]'; do
    printf '%s' "$text" > shots.json
    inputs="n_001.img shots.json"
    refuses 2 shots.json $bad -fit scale -shots shots.json
done
printf '0 8 0 99\n' > boxes.txt
inputs="n_001.img boxes.txt"
refuses 2 'boxes.txt' $bad -fit scale -data n_001.img -boxes boxes.txt
printf '{"nanobrag_fit": 1}' > fit.json
inputs="n_001.img fit.json"
refuses 2 'fit.json: an older nanobrag wrote this file of a fit, in format 1; .*: run the fit again$' $bad -fit scale \
    -data n_001.img -resume fit.json
printf '{"nanobrag_fit": 99}' > fit.json
refuses 2 'fit.json: .* expected the file of a fit$' $bad -fit scale -data n_001.img -resume fit.json

finish
