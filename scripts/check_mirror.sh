#!/bin/sh
# check_mirror.sh - every file of scene/ and image/ is known here as one that parameters
# pass through or one they do not; from the first derivative on, each of the former must
# have its namesake in grad/. SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/../src/nanobrag"

with_parameters="scene/crystal.c scene/detector/detector.c scene/beam.c scene/mosaic.c
    scene/sampling.c scene/background.c scene/detector/panels.c scene/derive.c
    scene/continuous/broad.c image/psf.c"
without="scene/members/validate.c scene/sampling_rules.c scene/members/fingerprint.c scene/detector/attenuation.c scene/detector/layers.c
    scene/detector/scale.c scene/reflections/hkl_table.c scene/random.c scene/describe.c scene/reflections/symmetry.c
    scene/continuous/model.c scene/lattices/lattices.c
    image/noise_quirk.c image/digitize.c image/target.c image/statistics.c image/solid_angle.c"
known=" $(printf '%s ' $with_parameters $without)"

bad=0
for file in $(find scene image -name '*.c' | sort); do
    case $known in
    *" $file "*) ;;
    *)
        echo "$file: not listed in scripts/check_mirror.sh: do parameters pass through it?"
        bad=1
        ;;
    esac
done

# these are the registry and x, not derivatives
derivatives=$(find grad -name '*.c' ! -name params.c ! -name registry.c ! -name select.c \
    ! -name reflections.c | wc -l)
if [ "$derivatives" -gt 0 ]; then
    for file in $with_parameters; do
        [ "$(find grad -name "${file##*/}")" ] || { echo "$file: no grad/${file##*/}"; bad=1; }
    done
fi
echo "check_mirror: $derivatives derivative files in grad/"
exit $bad
