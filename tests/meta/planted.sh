#!/bin/sh
# planted.sh - do the tests notice? Puts a NaN, or an error of ten times the tolerance, into
# results (support/plant.h) and expects every program of the table below to fail, and to pass
# without. Prints a table. `quick`, `device`: the lines that are marked so.
# SPDX-License-Identifier: MIT
#
# usage: planted.sh BIN [quick | device]
set -u
bin=$1
only=${2:-all}
bad=0
runs=0

# program | cases | NaN in | AMOUNT:RESULT ... | mark
table() {
    grep -v '^#' <<'END'
test_kernels|lanes_v2 roi_point_spread threads_same_bits|pixel|3e-8:pixel|
test_rounding|thin_sensor jumps|pixel|1e-4:pixel|
test_spots|tails_in_lanes threads_same_bits|pixel|1e-4:pixel|
test_strategy_choice|runs|pixel|1e-4:pixel|
test_brute_force|third_opinion|pixel|1e-10:pixel|
test_brute_force|mean_of_singles|pixel|8e-12:pixel|quick
test_brute_force|polarization|trace|1e-13:trace|quick
test_water|water water_table|pixel trace|3e-13:pixel|quick
test_lattice|shapes_on_the_detector tricubic_keeps_cubics|trace||
test_lattice|tricubic_image|pixel|5e-13:pixel|quick
test_crystal|cell_comes_back axes_are_dual|geometry|1e-12:geometry|quick
test_detector|placement|geometry|1e-10:geometry|quick
test_laboratory|beams_off_axis|geometry|1e-12:geometry|quick
test_written_experiment|round_trip|pixel|2e-11:pixel|quick
test_detector|layers_of_a_sensor|pixel trace|1e-11:pixel|
test_layers|spots_of_deep_sensors|pixel||
test_sampling|phi_steps divergence_grid|geometry|1e-11:geometry|quick
test_mosaic_domains|domain_weights|pixel jacobian gradient|1e-12:pixel 1e-6:gradient|
test_resolved_scene|forward_at_x default_f_of_gaps|pixel|1e-6:pixel|
test_parameters|change_with_f rotation_vector|pixel jacobian gradient geometry|4e-11:jacobian|
test_psf_gradients|gradcheck.psf.directions|jacobian|1e-14:jacobian|quick
test_tricubic|by_v2|pixel gradient|1e-11:pixel 1e-11:gradient|
test_jacobian|many_columns|jacobian|5e-11:jacobian|quick
test_jacobian|same_bits|jacobian|1e-13:jacobian|
test_jacobian|lanes_as_reference|jacobian|6e-12:jacobian|
test_loss|scenes_by_lanes|jacobian gradient matrix diagonal loss|2e-11:gradient 2e-11:matrix 2e-11:diagonal 1e-11:loss|quick
test_loss|scenes_with_reflections threads_same_bits|coupling gradient|2e-11:coupling|quick
test_planes|least_losses|loss planes|1e-12:loss 1e-7:planes|
test_planes|matrices|matrix diagonal coupling gradient|1e-12:matrix 1e-12:diagonal 4e-12:coupling 1e-10:gradient|
test_spots_vjp|masked tails dark_between_spots|gradient loss|1e-8:gradient 1e-10:loss|
test_forward_calls|calls_leave_no_trace two_simulators_in_turn|pixel|1e-12:pixel|
test_compile|same_as_uncompiled|pixel gradient|1e-12:pixel 1e-12:gradient|
test_batch|layouts|pixel|1e-12:pixel|device
test_gpu|regions|pixel|1e-4:pixel|device
test_gpu_edges|sizes_of_detectors|pixel|1e-4:pixel|device
test_gpu_gradients|structure_factors|gradient|1e-9:gradient|device
test_gpu_gradients|losses|gradient loss matrix|1e-10:gradient 1e-11:loss 1e-10:matrix|device
test_gpu_gradients|tangents|jacobian|1e-9:jacobian|device
test_device_images|cancelled|pixel|1e-11:pixel|device
test_device_loss|lost_by_float|loss||device
test_graphs|back_and_forth|pixel|1e-12:pixel|device
test_hot|fifth_use|pixel|1e-12:pixel|device
test_gpu_derivatives|corners|loss|1e-9:loss|device
test_fcalc|one_atom|factors|1e-12:factors|quick
test_gemmi_factors|p21_1yjp|factors|1e-4:factors|quick
test_fcalc_gradients|transpose|gradient jacobian|1e-11:gradient 1e-11:jacobian|quick
test_gradients|gradcheck.float.gradients|gradient jacobian|4e-4:gradient|
test_gradients|gradcheck.replay.threads|gradient|1e-12:gradient|quick
test_gradients|gradcheck.base.full|gradient jacobian|1e-3:gradient|
test_oracle|scene.base|pixel jacobian gradient|1e-11:pixel 1e-10:jacobian|quick
END
}

# status of a program: 0 passed, 1 noticed; anything else is neither
run() { # PLANT PROGRAM CASES...
    plant=$1
    shift
    program=$1
    shift
    runs=$((runs + 1))
    NANOBRAG_TEST_PLANT=$plant "$bin/$program" "$@" >planted.log 2>&1
    echo $?
}

table >planted.table
while IFS='|' read -r program cases nans errors mark; do
    [ "$only" = all ] || [ "$mark" = "$only" ] || continue
    if [ ! -x "$bin/$program" ]; then
        echo "$program: not built here"
        continue
    fi
    # shellcheck disable=SC2086 # a list of cases
    clean=$(run '' "$program" $cases)
    if [ "$clean" = 77 ]; then
        echo "$program $cases: skipped here"
        continue
    fi
    line=
    [ "$clean" = 0 ] || { line=' WITHOUT A PLANT IT FAILS'; bad=$((bad + 1)); }
    plants=$errors
    for result in $nans; do plants="$plants nan:$result"; done
    for plant in $plants; do
        # shellcheck disable=SC2086
        status=$(run "$plant" "$program" $cases)
        if [ "$status" = 1 ]; then
            line="$line $plant"
        else
            line="$line $plant=NOT_NOTICED($status)"
            bad=$((bad + 1))
        fi
    done
    echo "$program $cases: noticed$line"
done <planted.table
rm -f planted.table planted.log
echo "$bad of these went wrong"
[ "$bad" = 0 ]
