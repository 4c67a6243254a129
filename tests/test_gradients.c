/*
 * test_gradients.c - every derivative that the physics returns, compared with extrapolated
 * central differences of closed forms in long double and of its own value. The table below
 * lists the cases, which are in gradients/.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include "gradients/gradients.h"

void tally_slope(struct tally *tally, const char *what, const struct ladder *ladder,
                 double slope)
{
    const struct ladder_slope found = ladder_run(ladder);
    double off;
    const int agrees = ladder_agrees(&found, slope, &off);

    tally->checks++;
    tally->worst = fmax(tally->worst, off);
    if (found.scale > 0) {
        tally->steepest = fmax(tally->steepest, fabs(slope) / found.scale);
        tally->bar = fmax(tally->bar, found.bar / found.scale);
    }
    if (agrees || tally->failures++ >= 5) return;
    tap_note("%s at %.17g: slope %.15e, ladder %.15e +- %.1e (%s, h %.1e, column %d), "
             "scale %.1e, off by %.2g x allowed",
             what, ladder->x, slope, found.slope, found.bar,
             ladder_verdict_name(found.verdict), found.h, found.column, found.scale, off);
}

int tally_finish(const struct tally *tally)
{
    tap_check(tally->checks > 0 && tally->failures == 0,
              "%d of %d slopes fail; worst difference %.2g x allowed, largest bar %.1e of "
              "the scale",
              tally->failures, tally->checks, tally->worst, tally->bar);
    tap_check(tally->steepest > 1e-3, "not vacuous: steepest slope %.2g of its scale",
              tally->steepest);
    return TAP_PASS;
}

double random_number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

#define CONTINUOUS(name) {"gradcheck.continuous." #name, continuous_##name},
#define POINT(name)      {"gradcheck.points." #name, point_##name},

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"ladder.known_slopes", ladder_known_slopes},
        {"ladder.wrong_slopes", ladder_wrong_slopes},
        {"ladder.staircase", ladder_staircase},
        {"ladder.noise", ladder_noise},
        {"ladder.kinks", ladder_kinks},
        {"values.sinpi", values_sinpi},
        {"values.sinpi_slope", values_sinpi_slope},
        {"values.exp", values_exp},
        {"values.sphere", values_sphere},
        {"values.slit", values_slit},
        {"values.slit_slope", values_slit_slope},
        {"values.tricubic", values_tricubic},
        {"gradcheck.slit.peak", slit_peak},
        {"gradcheck.slit.zeros", slit_zeros},
        {"gradcheck.slit.between", slit_between},
        {"gradcheck.sphere.series", sphere_series},
        {"gradcheck.sphere.switch", sphere_switch},
        {"gradcheck.sphere.far", sphere_far},
        {"gradcheck.profile.round", profile_round},
        {"gradcheck.profile.gauss", profile_gauss},
        {"gradcheck.profile.tophat", profile_tophat},
        {"gradcheck.factors.solid_angle", factor_solid_angle},
        {"gradcheck.factors.capture", factor_capture},
        {"gradcheck.factors.polarization", factor_polarization},
        {"gradcheck.crystal.square", crystal_square},
        {"gradcheck.crystal.round", crystal_round},
        {"gradcheck.crystal.gauss", crystal_gauss},
        {"gradcheck.frame.tangents", frame_tangents},
        {"gradcheck.frame.continuous", continuous_tangents},
        {"modes.pairs", modes_pairs},
        {"gradcheck.coverage.complete", coverage_complete},
        {"gradcheck.coverage.modes", coverage_modes},
        {"gradcheck.base.full", base_full},
        {"gradcheck.base.figures", base_figures},
        {"gradcheck.float.gradients", float_gradients},
        {"gradcheck.verdict.vacuous", verdict_vacuous},
        {"gradcheck.verdict.staircase", verdict_staircase},
        {"gradcheck.verdict.rounding", verdict_rounding},
        {"gradcheck.verdict.mask", verdict_mask},
        {"gradcheck.verdict.replay", verdict_replay},
        {"gradcheck.verdict.stopped", verdict_stopped},
        {"gradcheck.verdict.dot", verdict_dot},
        {"gradcheck.verdict.rate", verdict_rate},
        {"gradcheck.verdict.structural_zero", verdict_structural_zero},
        {"gradcheck.replay.threads", replay_threads},
        {"gradcheck.cotangents", cotangents},
        {"gradcheck.guard", guard},
        {"gradcheck.donated", donated},
        {"gradcheck.refused", refused},
        {"gradcheck.hints", hints},
        {"gradcheck.report", report_is_json},
        CONTINUOUS_LIST(CONTINUOUS) POINT_LIST(POINT)
#define MODES(name, ...) {"gradcheck." #name ".fast", scene_##name##_fast},
#include "gradients/modes.def"
#undef MODES
            {"gradcheck.lattice.square", lattice_square},
        {"gradcheck.lattice.real_cells", lattice_real_cells},
        {"gradcheck.lattice.round", lattice_round},
        {"gradcheck.lattice.gauss", lattice_gauss},
        {"gradcheck.tricubic.inside", tricubic_inside},
        {"gradcheck.tricubic.at_integers", tricubic_at_integers},
        {"gradcheck.tricubic.outside", tricubic_outside},
        {"gradcheck.step.square_constant", step_square_constant},
        {"gradcheck.step.square_nearest", step_square_nearest},
        {"gradcheck.step.square_tricubic", step_square_tricubic},
        {"gradcheck.step.round_constant", step_round_constant},
        {"gradcheck.step.round_nearest", step_round_nearest},
        {"gradcheck.step.round_tricubic", step_round_tricubic},
        {"gradcheck.step.gauss_constant", step_gauss_constant},
        {"gradcheck.step.gauss_nearest", step_gauss_nearest},
        {"gradcheck.step.gauss_tricubic", step_gauss_tricubic},
        {"gradcheck.step.tophat_tricubic", step_tophat_tricubic},
        {"gradcheck.step.tophat_flat", step_tophat_flat},
        {"gradcheck.step.along_q", step_along_q},
    };

    return tap_main(argc, argv, cases, LENGTH(cases));
}
