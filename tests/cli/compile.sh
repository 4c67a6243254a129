#!/bin/sh
# compile.sh PROGRAM DATA - compiled mode on the command line: options, variables of the
# environment, what is told. SPDX-License-Identifier: MIT
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
        is "$variable=1 overrides -compile $word" mode 'off: NANOBRAG.*_DISABLE_COMPILE=1'
        is "and says so" grep -q "note: .*$variable=1 .* overrides -compile $word\$" err
    done
    with $variable=1 run $scene -compile off -explain
    is "and not where nothing is overruled" sh -c '! grep -q " overrides " err'
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

finish
