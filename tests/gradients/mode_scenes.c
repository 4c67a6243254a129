/*
 * mode_scenes.c - the cases gradcheck.SCENE.fast (random directions, every strategy) and
 * gradcheck.SCENE.full (every single parameter), and what they cover together.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gradients/gradients.h"
#include "gradients/harness.h"
#include "support/scenes.h"

/* spots of a square or round crystal reach everywhere, and are slow to sum one by one: left
 * to the full tier, with few sources */
static void check(int i, int ndirection)
{
    const nb_scene scene = modes_scene(modes_list + i);
    const int shape = modes_list[i].is.shape;
    const int everywhere = shape == SQUARE || shape == ROUND;
    const int slow = everywhere && (ndirection > 0 || modes_list[i].is.sources == GRID);

    harness_check(modes_list[i].name, &scene,
                  slow ? HARNESS_REFERENCE | HARNESS_LANES : HARNESS_ALL, ndirection);
}

enum {
#define MODES(name, ...) SCENE_##name,
#include "gradients/modes.def"
#undef MODES
};

#define MODES(name, ...)                                                                   \
    int scene_##name##_fast(void)                                                          \
    {                                                                                      \
        check(SCENE_##name, 4);                                                            \
        return TAP_PASS;                                                                   \
    }                                                                                      \
    int scene_##name##_full(void)                                                          \
    {                                                                                      \
        check(SCENE_##name, 0);                                                            \
        return TAP_PASS;                                                                   \
    }
#include "gradients/modes.def"
#undef MODES

/* every two modes meet in some scene */
int modes_pairs(void)
{
    int pairs = 0, missing = 0;

    for (int a = 0; a < MODE_KINDS; a++)
        for (int b = a + 1; b < MODE_KINDS; b++)
            for (int i = 0; i < modes_values(a) * modes_values(b); i++) {
                const int v = i / modes_values(b), w = i % modes_values(b);
                char one[24], two[24];
                int met = modes_exclude(a, v, b, w);

                for (size_t k = 0; k < modes_count; k++)
                    met |= modes_value(modes_list + k, a) == v
                           && modes_value(modes_list + k, b) == w;
                pairs++;
                missing += !met;
                if (!met)
                    tap_note("%s %s with %s %s: in no scene", modes_kind(a),
                             modes_value_name(a, v, one, sizeof one), modes_kind(b),
                             modes_value_name(b, w, two, sizeof two));
            }
    tap_check(missing == 0, "%d of %d pairs of modes are missing in %zu scenes", missing,
              pairs, modes_count);
    return TAP_PASS;
}

/* what becomes of a parameter in a scene, without computing an image */
static int state_of(nb_context *ctx, const char *scene_name, const nb_scene *scene,
                    const nb_param *row)
{
    const char *reason = modes_zero(scene, row->name);
    char name[sizeof row->name];
    nb_simulator *sim;
    nb_param param;
    int state = REPORT_MISSING;

    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(row->name, "["), row->name);
    if (nb_simulator_create(ctx, scene, name, NULL, &sim) != NB_OK) {
        report_state(scene_name, row->name, REPORT_NOT_APPLICABLE, nb_context_message(ctx));
        return REPORT_NOT_APPLICABLE;
    }
    if (nb_simulator_param(sim, 0, &param) == NB_OK)
        state = reason || param.smooth == NB_SMOOTH_ZERO ? REPORT_ZERO : REPORT_CHECKED;
    report_state(scene_name, row->name, state, reason ? reason : "");
    nb_simulator_free(sim);
    return state;
}

/* Every parameter of the registry is checked with every mode, or its derivative is known to
 * be 0 there, or it does not apply. The scenes take their parameters from the registry, so
 * that a new row is checked where it applies, and fails here where that is nowhere. */
int coverage_complete(void)
{
    nb_context *ctx = harness_context();
    int rows = 0, unchecked = 0, checked = 0, zero = 0, other = 0;
    nb_param row;

    for (int r = 0; nb_param_registry(r, &row); r++, rows++) {
        int somewhere = 0;

        for (size_t i = 0; i < modes_count; i++) {
            const nb_scene scene = modes_scene(modes_list + i);
            const int state = state_of(ctx, modes_list[i].name, &scene, &row);

            checked += state == REPORT_CHECKED;
            zero += state == REPORT_ZERO;
            other += state == REPORT_NOT_APPLICABLE;
            somewhere |= state == REPORT_CHECKED;
        }
        /* point spread and lattices have scenes of their own in points.c */
        if (somewhere || strcmp(row.name, "psf_fwhm") == 0 || scenes_is_width(row.name)
            || scenes_is_lattice(row.name))
            continue;
        unchecked++;
        tap_note("%s %s: checked in no scene of modes.def",
                 nb_verdict_name(NB_VERDICT_FAIL_COVERAGE), row.name);
    }
    tap_check(rows > 0 && unchecked == 0,
              "%d of %d parameters are checked in no scene; cells of the matrix: %d "
              "checked, %d zero, %d not applicable",
              unchecked, rows, checked, zero, other);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* parameter by mode: no cell is empty but those where the parameter does not apply */
int coverage_modes(void)
{
    nb_context *ctx = harness_context();
    int cells = 0, empty = 0, covered = 0;
    nb_param row;

    for (int r = 0; nb_param_registry(r, &row); r++)
        for (int kind = 0; kind < MODE_KINDS; kind++)
            for (int value = 0; value < modes_values(kind); value++) {
                int best = REPORT_MISSING;
                char name[24];

                for (size_t i = 0; i < modes_count; i++) {
                    const nb_scene scene = modes_scene(modes_list + i);
                    int state;

                    if (modes_value(modes_list + i, kind) != value) continue;
                    state = report_find(modes_list[i].name, row.name);
                    if (state == REPORT_MISSING)
                        state = state_of(ctx, modes_list[i].name, &scene, &row);
                    if (state < best) best = state;
                }
                cells++;
                covered += best == REPORT_CHECKED;
                empty += best == REPORT_MISSING;
                if (best == REPORT_MISSING)
                    tap_note("%s with %s %s", row.name, modes_kind(kind),
                             modes_value_name(kind, value, name, sizeof name));
            }
    tap_check(cells > 0 && empty == 0,
              "%d of %d cells parameter x mode are empty, %d checked, the others zero or "
              "not applicable",
              empty, cells, covered);
    nb_context_free(ctx);
    return TAP_PASS;
}
