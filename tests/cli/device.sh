#!/bin/sh
# device.sh PROGRAM DATA - which device computes: options, the environment, what is told.
# Without a device of CUDA all of it ends on the processor. SPDX-License-Identifier: MIT
. "$(dirname "$0")/lib.sh"

run $scene -floatfile f.bin
cp work/f.bin f.bin
on='^  images on  *'
run $scene -explain
is "the processor by default" grep -q "${on}cpu: requested or default\$" out
for value in cpu auto; do
    run $scene -device $value -explain
    is "-device $value: so little work stays there" grep -q "${on}cpu: " out
    is "without a warning" test ! -s err
done
for value in gpu cuda: cuda:x cuda:-1 cuda:99999 CUDA ''; do
    run $scene -device "$value" -floatfile f.bin
    is "-device '$value' is refused" test $code -eq 2 -a ! -s listing
    is "in one line" grep -c -q '^nanobrag: -device' err
done
refuses 2 '^nanobrag: -device: missing value' $scene -floatfile f -device
run $scene -device cuda -device cpu -explain
is "the last one counts" sh -c "grep -q '${on}cpu: requested' out && [ ! -s err ]"
NANOBRAG_DEVICE=cpu
export NANOBRAG_DEVICE
run $scene -explain
is "NANOBRAG_DEVICE=cpu" grep -q "${on}cpu: requested" out
NANOBRAG_DEVICE=tpu
run $scene -explain
is "what it does not know is a warning" grep -q 'warning: NANOBRAG_DEVICE=tpu' err
unset NANOBRAG_DEVICE

# a device that is not there
absent="$scene -device cuda:4000"
run $absent -floatfile f.bin
is "the processor computes instead" test $code -eq 0
is "the same bytes" cmp -s f.bin work/f.bin
is "one line says so, and why" test "$(grep -c 'warning: the host computes: ' err)" -eq 1
is "and nothing else is said" test "$(wc -l < err)" -eq 1
run $absent -explain
is "-explain says so" grep -q "${on}cpu: " out
is "with compiled mode's fallback" grep -q '^  fallback: device cuda:4000: ' out
NANOBRAG_STRICT=1
export NANOBRAG_STRICT
refuses 2 'cuda:4000: .*(NANOBRAG_STRICT=1)$' $absent -floatfile f
unset NANOBRAG_STRICT
run $scene -device cuda:4000 -strategy reference -explain
is "the reference does not ask for it" grep -q "${on}cpu: the reference runs on the host" out
if command -v python3 > /dev/null && "$program" -version | grep -q cjson; then
    run $absent -floatfile f.bin -json j.json
    is "the summary says so" python3 -c "
import json
loop = json.load(open('work/j.json'))['sampling']
assert loop['device'] == 'cpu' and len(loop['device_why']) > 10, loop"
fi
finish
