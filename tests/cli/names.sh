#!/bin/sh
# names.sh PROGRAM DATA - JSON is valid whatever the names of files are, and a fit of such files
# is resumed. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
"$program" -version | grep -q lapack && "$program" -version | grep -q cjson \
    && command -v python3 > out || { echo "# needs LAPACK, cJSON and python3"; exit 77; }
cat > names.py << 'PY'
import json, os, subprocess, sys

program, *scene = sys.argv[1:]
NAMES = [b"plain", b"latin\xe9", b"byte\xff", b"overlong\xc0\x80", b"overlong\xe0\x80\xaf",
         b"overlong\xf0\x80\x80\xaf", b"surrogate\xed\xa0\x80", b"beyond\xf4\x90\x80\x80",
         b"cut\xe2\x82", b"utf\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xac", b'quote"', b"back\\slash",
         b"control\x01", b"line\nfeed", b"tab\t"]


def is_utf8(name):
    try:
        name.decode()
        return True
    except UnicodeDecodeError:
        return False


bad = 0


def check(ok, what):
    global bad
    bad += not ok
    print("%s - %s" % ("ok" if ok else "not ok", what))


said = b""


def run(*arguments):
    global said
    done = subprocess.run([program, *scene, *arguments], capture_output=True)
    said = done.stderr
    if done.returncode != 0:
        sys.stdout.buffer.write(b"# " + done.stderr.replace(b"\n", b"\n# ") + b"\n")
    return done.returncode == 0


def valid(path):
    try:
        return json.loads(open(path, "rb").read().decode())
    except (OSError, ValueError) as error:
        print("# %r: %s" % (path, error))
        return None


for name in NAMES:
    image = name + b"_1.cbf"
    os.makedirs(name, exist_ok=True)
    ok = run("-seed", "1", "-osc", "1", "-images", "2", "-imagefile", name + b"/" + image,
             "-truth", "t.expt", "-json", "j.json")
    truth, run_json = valid("t.expt"), valid("j.json")
    check(ok and truth and run_json, "%r: -truth and -json" % name)
    check((b"is not UTF-8" in said) != is_utf8(name), "  said where DIALS will not find it")
    if truth and is_utf8(name):
        template = truth["imageset"][0]["template"]
        check(name.decode() in template, "  the template has it: %r" % template[-40:])
    ok = run("-nonoise", "-floatfile", name) if not os.path.isdir(name) else True
    data = name + b".bin"
    ok = ok and run("-floatfile", data)
    fit = ("-data", data, "-fit", "scale", "-param", "scale=0.9")
    ok = ok and run(*fit, "-fitfile", "f.json", "-json", name + b".json", "-fitimage", name + b".i")
    fitted = valid("f.json")
    check(ok and fitted and valid(name + b".json"), "  a fit")
    if fitted and is_utf8(name):
        check(fitted["images"][0]["name"] == data.decode(), "  its file has the name")
    check(run(*fit, "-resume", "f.json", "-fitfile", "g.json") and valid("g.json"), "  resumed")
raise SystemExit(bad > 0)
PY
python3 names.py "$program" -cell 50 60 70 -default_F 100 -N 8 -gauss_xtal -mosaic 0.4 \
    -mosaic_domains 6 -fluence 1e28 -detpixels 40 -pixel 1.9 -oversample 1 -water 0.02 \
    -misset 10 20 30 -quiet
