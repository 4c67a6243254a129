#!/bin/sh
# tampered.sh PROGRAM DATA - a file of a fit in which one number of its state is another: it is
# refused in one line, or the fit ends where the one of the true file does.
# SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
"$program" -version | grep -q lapack && "$program" -version | grep -q cjson \
    && command -v python3 > out || { echo "# needs LAPACK, cJSON and python3"; exit 77; }

still="-cell 50 60 70 90 90 90 -default_F 100 -N 8 -gauss_xtal -mosaic_domains 6 -fluence 1e28 \
    -detpixels 40 -pixel 1.9 -oversample 1 -water 0.02 -threads 1"
for i in 1 2; do
    "$program" $still -misset 10 20 $((30 * i)) -mosaic 0.4 -seed $i -noisefile n_00$i.img -quiet \
        > out 2> err
done
off="-misset 10.1 19.9 30.1 -mosaic 0.5 -param scale=0.8"
cat > shots.json << 'EOF'
[{"data": "n_001.img", "misset": [10.1, 19.9, 30.1]},
 {"data": "n_002.img", "misset": [10.1, 19.9, 60.1]}]
EOF

cat > tamper.py << 'PY'
import copy, json, subprocess, sys

program, path, *command = sys.argv[1:]
true = json.load(open(path))
errors = [v["error"] for v in true["values"]]
names = [v["name"] for v in true["values"]]


def resume(what, data):
    json.dump(data, open("bad.json", "w"))
    done = subprocess.run([program, *command, "-resume", "bad.json", "-fitfile", "out.json"],
                          capture_output=True, text=True)
    lines = [l for l in done.stderr.splitlines() if "warning:" not in l and "note:" not in l]
    if done.returncode == 2:
        ok = len(lines) == 1 and "bad.json" in lines[0]
        how = lines[0] if lines else "no line"
    elif done.returncode == 1: # it says that it has not converged
        ok, how = "warning: the fit has not converged" in done.stderr, "not converged"
    else:
        found = json.load(open("out.json"))
        # 1e-3 of the loss ends a fit: 0.05 errors, and as much by rounding on the way
        off = max(abs(a["value"] - b["value"]) / b["error"]
                  for a, b in zip(found["values"], whole["values"]))
        change = abs(found["loss"] - whole["loss"])
        ok = done.returncode == 0 and off < 0.1 and change < 0.01
        how = "%.2g errors off, 0.1 allowed, loss %.2g off, 0.01 allowed" % (off, change)
    print("%s - %s (%d): %s" % ("ok" if ok else "not ok", what, done.returncode, how))
    return ok


whole = None
subprocess.run([program, *command, "-resume", path, "-fitfile", "whole.json"],
               capture_output=True)
whole = json.load(open("whole.json"))
good = resume("the true file", true)

state = true["state"]
plain, kept = lambda data: data["state"], lambda data: data["state"]["kept"]
for at, key in [(kept, "x")] + [(plain, k) for k in ("x", "lower", "upper", "centre", "weight")]:
    for i in range(len(at(true)[key])):
        for change in (13, -40, 1e6, 1e300, None):
            data = copy.deepcopy(true)
            old = at(data)[key][i]
            if old is None and change is None:
                continue
            step = (errors[i] or 1) * (change or 0)
            at(data)[key][i] = None if change is None else (old or 0) + step
            good &= resume("%s of %s by %s errors" % (key, names[i], change), data)
for at in (plain, kept):
    for i in range(len(at(true)["tracks"])):
        for k in range(len(at(true)["tracks"][i])):
            for value in (None, -1, 0, 1, 2, 7, 1e-3, 1e8, 1e300):
                data = copy.deepcopy(true)
                at(data)["tracks"][i][k] = value
                good &= resume("number %d of track %d: %s" % (k, i, value), data)
for i in range(len(state["history"])):
    for value in (None, 0, 1e9):
        data = copy.deepcopy(true)
        data["state"]["history"][i] = value
        good &= resume("loss %d of the history: %s" % (i, value), data)
for key in ("alone", "was_alone"):
    for value in (None, -1, 0, 1, 2, 0.5):
        data = copy.deepcopy(true)
        data["state"][key] = value
        good &= resume("%s: %s" % (key, value), data)
for key in ("passes", "end", "method", "nanobrag_fit"):
    for value in (None, -1, 0, 1, 2, 3, 4, 5, 6, 100, 1e10, 1.5):
        data = copy.deepcopy(true)
        data[key] = value
        good &= resume("%s: %s" % (key, value), data)
data = copy.deepcopy(true)
data["state"]["history"].append(1.0)
good &= resume("a loss more", data)
raise SystemExit(not good)
PY

# tampered DESCRIPTION FITFILE ARGUMENTS...: of a file that the fit has written
tampered()
{
    what=$1
    file=$2
    shift 2
    python3 tamper.py "$program" "$file" "$@" > lines
    code=$?
    grep -v "^ok" lines
    is "$what: $(grep -c '^ok' lines) of $(wc -l < lines) changes" \
        test $code -eq 0 -a "$(wc -l < lines)" -gt 100
}
one="$still $off -fit misset,mosaic,scale -data n_001.img"
"$program" $one -fitfile ended.json > out 2> err
tampered "a fit that has ended" ended.json $one
"$program" $one -fit_passes 3 -fitfile part.json > out 2> err
tampered "a fit that was stopped" part.json $one
wrong="$still -misset 10.5 19.9 30.1 -mosaic 0.5 -fit misset,mosaic,scale -data n_001.img"
"$program" $wrong -fitfile again.json -fit_passes 40 > out 2> err
tampered "a fit with a second attempt" again.json $wrong
two="$still $off -fit mosaic -fit_each misset,scale -shots shots.json"
"$program" $two -fit_passes 1 -fitfile two.json > out 2> err
tampered "a fit of two images" two.json $two
"$program" $two -fit_seconds 1e-9 -fitfile alone.json > out 2> err
is "images are fitted alone first" grep -q '"alone":[^0-9]*1' alone.json
tampered "images that are fitted alone" alone.json $two
finish
