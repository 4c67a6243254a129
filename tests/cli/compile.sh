#!/bin/sh
# compile.sh PROGRAM DATA - compiled mode on the command line: options, variables of the
# environment, what is told, -bench_compile. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"
NANOBRAG_CACHE_DIR=$place/cache
export NANOBRAG_CACHE_DIR
has_json=0
if command -v python3 > /dev/null && "$program" -version | grep -q cjson; then has_json=1; fi

# with VARIABLE=VALUE COMMAND...: in that environment
with()
{
    export "${1?}"
    variable=${1%%=*}
    shift
    "$@"
    unset "$variable"
}

# mode PATTERN: what -explain says
mode()
{
    grep -q "^compiled mode $1\$" out
}

# ---- -compile ----
for word in off on tune; do
    run $scene -compile $word -explain
    is "-compile $word" mode "$(echo $word | sed 's/off/off: asked for/; s/tune/on/')"
    is "-compile $word leaves no file" test ! -s listing
done
is "tune is said to be on" grep -q 'tuning is the same as without' err
is "nothing is kept" test ! -e cache
run $scene -threads 1 -explain
is "-explain tells the most threads" grep -q ', at most 1 thread$' out
run $scene -explain
is "on is the default" mode on
is "with nothing said" sh -c "! grep -q tuning err"
is "-explain has a section of it" sh -c "grep -A 1 '^compiled mode' out | grep -q '^  '"
run $scene -nocompile -explain
is "-nocompile" mode 'off: asked for'
run $scene -nocompile -compile tune -explain
is "the later option wins" mode on
run $scene -compile tune -nocompile -explain
is "either way" mode 'off: asked for'
refuses 2 '^nanobrag: -compile maybe: expected off|on|tune$' $scene -compile maybe -floatfile f
refuses 2 '^nanobrag: -compile: missing value' $scene -floatfile f -compile
run -compat nanobragg $scene -compile maybe
is "refused under -compat as well" sh -c "[ $code -eq 9 ] && [ ! -s listing ] \
    && [ \"\$(wc -l < out)\" -eq 1 ]"
run -compat nanobragg $scene -nonoise -nopgm -nocompile -explain
is "-nocompile under -compat" mode 'off: asked for'

# ---- the variables win ----
for variable in NANOBRAGG_DISABLE_COMPILE NANOBRAG_DISABLE_COMPILE; do
    with $variable=1 run $scene -explain
    is "$variable=1" mode 'off: NANOBRAG.*_DISABLE_COMPILE=1'
    is "and says nothing more" sh -c '! grep -q "compiled mode is off" err'
    for word in on tune; do
        with $variable=1 run $scene -compile $word -explain
        is "$variable=1 wins over -compile $word" mode 'off: NANOBRAG.*_DISABLE_COMPILE=1'
        is "and says so" grep -q "note: .*$variable=1 .* wins over -compile $word\$" err
    done
    with $variable=1 run $scene -compile off -explain
    is "and not where nothing is overruled" sh -c '! grep -q " wins over " err'
    for value in 0 ''; do
        with $variable=$value run $scene -explain
        is "$variable=$value is no effect" mode on
        is "without a warning" sh -c "! grep -q $variable err"
    done
    with $variable=yes run $scene -explain
    is "$variable=yes is no effect" mode on
    is "with a warning" grep -q "warning: $variable=yes " err
done

# ---- the same bytes ----
turned="-cell 31.4 37.2 43.9 81 96 103 -misset 12 -33 71 -pixel 0.25 -oversample 1"
for more in "" "$turned" "$turned -gauss_xtal" "-precision float" "-gauss_xtal -strategy spots" "-mosaic 1 -mosaic_dom 3"; do
    run $scene $more -doublefile d.bin -floatfile f.bin -nocompile
    cp work/d.bin d.bin
    cp work/f.bin f.bin
    run $scene $more -doublefile d.bin -floatfile f.bin -compile on
    is "off and on, the same bytes: $more" sh -c \
        'cmp -s d.bin work/d.bin && cmp -s f.bin work/f.bin'
    with NANOBRAGG_DISABLE_COMPILE=1 run $scene $more -doublefile d.bin -floatfile f.bin
    is "and with the variable" sh -c 'cmp -s d.bin work/d.bin && cmp -s f.bin work/f.bin'
    is "which leaves the files asked for" test "$(tr '\n' ' ' < listing)" = "d.bin f.bin "
done
run $scene -strategy lanes -floatfile f.bin -nocompile
cp work/f.bin f.bin
run $scene -strategy lanes -floatfile f.bin -compile tune
is "tune with a strategy that was asked for too" cmp -s f.bin work/f.bin
is "-nocompile, off and the variable keep nothing" sh -c "
    rm -rf cache; NANOBRAG_CACHE_DIR=$place/cache '$program' $scene -nocompile -explain \
        > /dev/null && [ ! -e cache ]"

# ---- NANOBRAG_LOGS ----
with NANOBRAG_LOGS=cache,recompiles run $scene -floatfile f.bin
is "NANOBRAG_LOGS=cache,recompiles tells of the cache" grep -q '^nanobrag: \[cache\] .' err
is "and of plans" grep -q '^nanobrag: \[recompiles\] .' err
is "and of nothing else" sh -c \
    '! grep "^nanobrag: \[" err | grep -q -v -e "\[cache\]" -e "\[recompiles\]"'
is "on stderr" sh -c '! grep -q "\[cache\]" out'
run $scene -floatfile f.bin
is "without it nothing is told" sh -c '! grep -q "^nanobrag: \[" err'
with NANOBRAG_LOGS=all run $scene -floatfile f.bin -nocompile
is "nor of what is off" sh -c '! grep -q "^nanobrag: \[recompiles\]" err'
with NANOBRAG_LOGS=cache,nonsense run $scene -explain
is "an unknown topic is a warning" grep -q 'warning: NANOBRAG_LOGS: nonsense is none of' err
is "and no failure" test $code -eq 0

# ---- -json ----
# counters TEST ARGUMENTS...: of the object "compiled"
counters()
{
    what=$1
    shift
    run $scene -floatfile f.bin "$@" -json j.json
    is "counters: $* $what" python3 -c "
import json
c = json.load(open('work/j.json'))['compiled']
names = 'compiles recompiles hits misses captures replays skips fallbacks compiled_launches'
for name in names.split() + ['donated', 'bytes', 'builds', 'promotions',
                             'cubin_hits', 'cubin_misses']:
    assert isinstance(c[name], int) and c[name] >= 0, name
assert len(c['plan_hash']) == 16 and int(c['plan_hash'], 16) >= 0
explain = c['explain']
assert explain[0].startswith('compiled mode ' + ('off' if c['mode'] == 'off' else 'on'))
assert len(explain) >= 4 and all(line and '\n' not in line for line in explain), explain
assert $what, c"
}
if [ $has_json -eq 1 ]; then
    counters "c['mode'] == 'on' and c['off_by'] is None and c['compiles'] > 0"
    counters "c['compiled_launches'] > 0 and int(c['plan_hash'], 16) != 0 and c['bytes'] > 0"
    counters "any(' forward: ' in line for line in explain)"
    counters "c['hits'] > 0" -osc 1 -images 3
    counters "c['mode'] == 'on' and c['compiled_launches'] > 0" -compile tune
    counters "c['mode'] == 'off' and c['compiles'] == c['compiled_launches'] == 0" -nocompile
    with NANOBRAG_DISABLE_COMPILE=1 counters "c['mode'] == 'off' and \
c['off_by'] == 'NANOBRAG_DISABLE_COMPILE=1' and c['compiled_launches'] == 0"
fi

# ---- -bench_compile ----
# compares DESCRIPTION ARGUMENTS...: all passes, and no file is left
compares()
{
    what=$1
    shift
    run "$@"
    is "$what: exit status 0" test $code -eq 0
    is "$what: says so" grep -q '^every comparison passes$' out
    is "$what: leaves no file" test ! -s listing
    [ $code -eq 0 ] || sed 's/^/# /' out err
}
compares "scenes of its own" -bench_compile verify
is "of every kind" test "$(grep -c ' image  *double .* PASS$' out)" -ge 25
is "in float too" test "$(grep -c ' gradient  *float .* PASS$' out)" -ge 25
is "without times" sh -c '! grep -q speedup out'
is "how long it takes is estimated before the first comparison" test \
    "$(grep -n '^about [1-9][0-9]* \(s\|min\) by the first calls$' out | cut -d: -f1)" = 2
is "what may differ is told" grep -q '^1e-13 in double, 1e-6 in float' out
is "nothing is said of a busy machine" sh -c "! grep -q '^~' out"
compares "the scene given" $scene -mosaic 1 -mosaic_dom 3 -bench_compile verify
is "and no other" test "$(grep -c ' PASS$' out)" -eq 4
compares "one precision" $scene -precision float -bench_compile verify
is "is half of it" test "$(grep -c '^command line .* float .* PASS$' out)" -eq 2
compares "times" $scene -bench_compile quick
is "are told" \
    grep -q '^case .* precision .* first ms  *eager ms  *compiled ms  *speedup .* memory MiB' out
is "rows of a busy machine are told of" test \
    "$(grep -c ' ~[0-9.]*x ' out)" = "$(sed -n 's/^~ in \([0-9]*\) rows.*/\1/p' out | \
        grep . || echo 0)"
compares "quick" $scene -bench_compile
is "is what no word means" grep -q ', quick$' out
compares "the reference" $scene -strategy reference -param distance=90 -bench_compile verify
is "is in double" test "$(grep -c ' PASS$' out)" -eq 2
is "is eager twice" \
    grep -q '^eager against eager: the strategy reference always runs uncompiled$' out
compares "a mask and a region" -roi 3 18 2 20 $scene -bench_compile quick
compares "nanoBragg's curved detector" -compat nanobragg $scene -curved_det \
    -bench_compile verify
is "has no gradient" sh -c '! grep -q "^command line  *gradient" out'
compares "-nocompile" $scene -nocompile -bench_compile verify
is "is eager twice" grep -q '^eager against eager: -compile off$' out
with NANOBRAGG_DISABLE_COMPILE=1 compares "the variable" -bench_compile verify
is "is too" grep -q '^eager against eager: NANOBRAGG_DISABLE_COMPILE=1$' out
refuses 2 '^nanobrag: -bench_compile soon: expected verify|quick|full$' -bench_compile soon
refuses 2 'no unit cell: options of a scene, as -detpixels, replace the scenes' \
    -bench_compile verify -detpixels 30
refuses 2 'leave out -explain' $scene -bench_compile verify -explain
refuses 2 'leave out -gradcheck' $scene -bench_compile verify -gradcheck distance
refuses 2 'of one image' $scene -bench_compile verify -osc 1 -images 2
for file in floatfile doublefile intfile noisefile pgmfile pngfile hklgradfile; do
    refuses 2 "leave out -$file\$" $scene -bench_compile verify -$file f
done
for switch in noise printout 'printout_pixel 1 1' 'pgmscale 2' 'gradient cell'; do
    refuses 2 "leave out -${switch%% *}\$" $scene -bench_compile verify -$switch
done
refuses 2 'leave out -gradient$' $scene -bench_compile verify -gradient cell -gradfile f
refuses 2 'leave out -jacobian$' $scene -bench_compile verify -jacobian cell -jacobianfile f
refuses 2 'leave out -floatfile$' -bench_compile verify -floatfile f
printf '1 0 0 7\n' > list.hkl
inputs=list.hkl
refuses 2 'leave out -dump$' $scene -hkl list.hkl -bench_compile verify -dump d
inputs=
compares "nanoBragg's files are not made" -compat nanobragg $scene -bench_compile verify \
    -floatfile f
is "and that is said" grep -q '^no image is written$' out
if "$program" -version | grep -q cjson; then
    refuses 1 'no directory' -bench_compile verify -json absent/j
else
    refuses 2 'lacks cJSON' -bench_compile verify -json j
fi
run -bench_compile verify -quiet
is "-quiet is quiet" test $code -eq 0 -a ! -s out -a ! -s err
if [ $has_json -eq 1 ]; then
    run -bench_compile verify -json j.json
    is "its table as JSON" python3 -c '
import json
j = json.load(open("work/j.json"))
assert j["mode"] == "on" and j["effort"] == "verify" and j["failures"] == 0
assert j["machine"]["threads"] > 0 and j["version"]
rows = j["comparisons"]
assert len({row["case"] for row in rows}) >= 25
assert {row["operation"] for row in rows} == {"image", "gradient"}
for row in rows:
    # a dark image, or an x that moves nothing, would prove nothing
    assert row["mean"] > 0 and row["moves"] and row["values"] > 0, row
    assert row["passes"] and row["relative_difference"] <= row["relative_allowed"], row
    assert row["eager"]["repeats"] and row["compiled"]["repeats"], row
    assert "speedup" not in row and "steady_ms" not in row["eager"], row
    assert " threads" in row["plan"], row
    assert row["eager"]["compiled_launches"] == 0, row
    assert row["compiled"]["compiled_launches"] > 0, row
assert {row["eager"]["strategy"] for row in rows} == {"lanes", "spots"}
assert {row["eager"]["precision"] for row in rows} == {"double", "float"}
'
    is "and no file but it" test "$(cat listing)" = j.json
    run $scene -bench_compile quick -json j.json
    is "times in it too" python3 -c '
import json
rows = json.load(open("work/j.json"))["comparisons"]
assert len(rows) == 4
for row in rows:
    assert row["case"] == "command line"
    assert row["speedup"] == row["eager"]["least_ms"] / row["compiled"]["least_ms"], row
    assert row["disturbed"] in (True, False) and row["processor_share"] > 0
    for side in row["eager"], row["compiled"]:
        assert side["first_ms"] >= 0 and side["steady_ms"] > 0 and side["fixed_ms"] > 0, row
'
    run -bench_compile verify -json -
    is "-json - writes to stdout" python3 -c 'import json; json.load(open("out"))'
    is "and no file" test ! -s listing
fi

# an interrupted one ends with the status of the others
: > out # what the run before left must not be taken for this one's
"$program" -bench_compile full > out 2> err &
job=$!
waited=0
while [ ! -s out ] && [ $waited -lt 60 ]; do
    sleep 1
    waited=$((waited + 1))
done
catching $job
kill -INT $job
wait $job
is "an interrupt stops it" test $? -eq 130
finish
