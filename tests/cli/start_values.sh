#!/bin/sh
# start_values.sh PROGRAM DATA - fits whose boxes come from -refl start without -N, -mosaic,
# -gain, -dmin and a scale: the spots tell them. SPDX-License-Identifier: MIT
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
if ! "$program" -version | grep -q cjson || ! "$program" -version | grep -q lapack; then
    echo "ok - # skip this build has no cJSON or no LAPACK"
    exit 77
fi
data="$here/../../examples/data"
cell="-cell 53.91 23.10 23.10 90 110.4 90 -hkl $data/2erl_p1.hkl"
detector="-lambda 1.2 -distance 120 -detpixels 500 -pixel 0.2 -oversample 1 -misset 10 20 30"

# value NAME: the fitted value of a parameter, and pull NAME TRUTH: its distance in errors
value() { awk -v n="$1" '$1 == n { sub(/[(].*/, "", $2); print $2; exit }' out; }
start() { awk -v n="$1" '$1 == n { for (i = 1; i < NF; i++) if ($i == "from") { sub(/,/, "", $(i + 1)); print $(i + 1) } }' out; }
near()
{
    python3 - "$1" "$2" work/fit.json << 'PY'
import json, sys
found = {v["name"]: v for v in json.load(open(sys.argv[3]))["fit"]["values"]}[sys.argv[1]] \
    if "fit" in json.load(open(sys.argv[3])) else {v["name"]: v for v in json.load(open(sys.argv[3]))["values"]}[sys.argv[1]]
pull = (found["value"] - float(sys.argv[2])) / found["error"]
print("# %s %g(%g), %.2f errors from %s" % (sys.argv[1], found["value"], found["error"], pull, sys.argv[2]))
sys.exit(not abs(pull) < 3)
PY
}
# within NUMBER TRUTH FACTOR
within() { awk "BEGIN { exit !($1 <= $2 * $3 && $1 >= $2 / $3) }"; }

# ---- a still whose blocks and mosaic spread are not told to the fit ----
still="-Na 8 -Nb 19 -Nc 19 -gauss_xtal -mosaic 0.4 -fluence 3e27"
run $cell $still $detector -floatfile peaks.bin -truth s.expt
mv work/peaks.bin .
python3 - << 'PY' > rows.txt
# boxes of 9 x 9 pixels, as of dials.find_spots, around the peaks of the noise-free image
import array
n, edge = 500, 12
a = array.array("f")
a.frombytes(open("peaks.bin", "rb").read())
free = bytearray(b"\1") * (n * n)
found = 0
for i in sorted((i for i in range(n * n) if a[i] > 20), key=lambda i: -a[i]):
    s, f = divmod(i, n)
    if not free[i] or not (edge < f < n - edge and edge < s < n - edge):
        continue
    print(0, f - 4, f + 5, s - 4, s + 5)
    found += 1
    if found == 60:
        break
    for k in range(s - edge, s + edge + 1):
        free[k * n + f - edge:k * n + f + edge + 1] = bytes(2 * edge + 1)
PY
python3 "$here/refl.py" rows.txt s.refl
run $cell $still $detector -water 0.3 -seed 3 -noisefile s.img -truth s.expt
mv work/s.img work/s.expt .
python3 - << 'PY'
import json
e = json.load(open("s.expt"))
for crystal in e["crystal"]:
    for key in [k for k in crystal if "osaic" in k]:
        del crystal[key]
json.dump(e, open("s.expt", "w"))
PY
inputs="s.expt s.img s.refl"
fit="-expt s.expt -hkl $data/2erl_p1.hkl -gauss_xtal -oversample 1 -data s.img -refl s.refl -planes \
    -misset 0.03 -0.03 0.03 -fit misset,scale,ncells,mosaic,cell -fitfile fit.json"
run $fit
is "a fit without start values converges" test "$code" -eq 0
is "which are named" grep -q \
    'note: the fit starts from -Na [0-9]* -Nb [0-9]* -Nc [0-9]* -mosaic [0-9.]*, by the sizes of [0-9]* spots on 1 image$' err
is "and so is the scale" grep -q 'note: the scale starts at [0-9.e-]*: the photons of [0-9]* spots' err
is "a gain of 1 is not" test "$(grep -c 'takes -gain' err)" -eq 0
is "blocks start within a factor of 2" within "$(start ncells_a)" 8 2
is "the mosaic spread starts within a factor of 1.4" within "$(start mosaic)" 0.4 1.4
spots() { awk "BEGIN { print $("$1" scale) * $("$1" ncells_a) * $("$1" ncells_b) * $("$1" ncells_c) }"; }
is "the photons of spots start within a factor of 1.5" within "$(spots start)" "$(spots value)" 1.5
for pair in ncells_a:8 ncells_b:19 ncells_c:19 mosaic:0.4 cell_a:53.91; do
    is "${pair%:*} ends at the truth" near "${pair%:*}" "${pair#*:}"
done
is "the right model" sh -c "grep '^  all ' out | awk '{ exit !(\$2 > 0.97 && \$2 < 1.03) }'"
run $fit -N 1 -mosaic 0 -param scale=1 -fit_passes 25
is "the defaults do not get there" sh -c \
    "test $code -ne 0 || grep '^  all ' out | awk '{ exit !(\$2 > 1.1) }'"
cp out defaults

# ---- what is given counts ----
run $fit -Na 10 -Nb 20 -Nc 20 -mosaic 0.3 -param scale=0.05 -fit_passes 1
is "given values are the start" test "$(start ncells_a) $(start mosaic) $(start scale)" = "10 0.3 0.05"
is "and nothing is said" test "$(grep -c 'starts from\|scale starts' err)" -eq 0
run $fit -param 'ncells_a=9' -fit_passes 1
is "-param counts as given" test "$(start ncells_a) $(start ncells_b)" = "9 1"
run $fit -mosaic 0.3 -fit_passes 1
is "one of two may be given" sh -c "grep -q 'starts from -Na [0-9]* -Nb [0-9]* -Nc [0-9]*, by' err"

# ---- too few spots ----
head -3 rows.txt > few.txt
python3 "$here/refl.py" few.txt few.refl
inputs="$inputs few.refl"
run -expt s.expt -hkl "$data/2erl_p1.hkl" -gauss_xtal -data s.img -refl few.refl -fit scale
is "too few spots: a warning, and blocks of 1000 A" grep -q \
    'warning: too few bright spots in the boxes of few.refl .* 1000 A, which are 19 43 43 cells; give -Na' err

# ---- a gain that the header does not state ----
python3 - << 'PY'
import array, re
whole = open("s.img", "rb").read()
size = int(re.search(rb"HEADER_BYTES=\s*(\d+)", whole).group(1))
counts = array.array("H")
counts.frombytes(whole[size:])
pedestal = 40
for i, c in enumerate(counts):
    counts[i] = min(65535, pedestal + 4 * (c - pedestal))
for name, more in (("gain.img", b""), ("told.img", b"GAIN=4;\n")):
    head = whole[:size].replace(b";\n}", b";\n" + more + b"}") if more else whole[:size]
    open(name, "wb").write(head[:size] + counts.tobytes())
PY
inputs="$inputs gain.img told.img"
gained=$(echo "$fit" | sed 's/s\.img/gain.img/')
run $gained
is "a gain of 4 is found" sh -c "sed -n 's/.*takes -gain \([0-9.]*\),.*/\1/p' err | awk '{ exit !(\$1 > 3.7 && \$1 < 4.3) }'"
is "and the model is right" sh -c "grep '^  all ' out | awk '{ exit !(\$2 > 0.95 && \$2 < 1.05) }'"
run $gained -gain 5 -fit_passes 1
is "a given gain counts" test "$(grep -c 'takes -gain' err)" -eq 0
run $(echo "$fit" | sed 's/s\.img/told.img/')
is "so does the gain of a header" sh -c \
    "! grep -q 'takes -gain' err && grep '^  all ' out | awk '{ exit !(\$2 > 0.97 && \$2 < 1.03) }'"

# ---- the resolution of F ----
if "$program" -version | grep -q gemmi; then
    model="-expt s.expt -pdb $data/2erl.pdb -gauss_xtal -oversample 1 -data s.img -refl s.refl -planes \
        -Na 8 -Nb 19 -Nc 19 -mosaic 0.4 -fit scale"
    run $model
    cp out by_boxes
    is "F are calculated as far as the boxes reach" grep -q 'note: F are calculated to [0-9.]* A, a little beyond the boxes of s.refl' err
    run $model -dmin 1.5
    is "unless -dmin says how far" test "$(grep -c 'F are calculated' err)" -eq 0
    is "the fit is the same" sh -c "
        a=\$(sed -n 's/.*passes, loss \([0-9.]*\) for.*/\1/p' by_boxes)
        b=\$(sed -n 's/.*passes, loss \([0-9.]*\) for.*/\1/p' out)
        awk \"BEGIN { r = \$a / \$b; print \\\"# \\\" r; exit !(r > 0.99 && r < 1.01) }\""
fi
finish
