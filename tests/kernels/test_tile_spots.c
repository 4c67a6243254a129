/*
 * test_tile_spots.c - more spots than are listed at a time, for the rows of a Jacobian: in
 * several bands of the detector, and by lanes where a single strip has too many.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#include <nanobrag/nanobrag.h>

#include "simulator.h"
#include "support/renders.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { CROWDED = 448, ONE_STRIP = 64, PARAMETERS = 3 };

/* What a loss gives, and how it was computed. */
struct found {
    double matrix[PARAMETERS * PARAMETERS], gradient[PARAMETERS];
    double adjoint[PARAMETERS]; /* the gradient without the matrix, which lists no spots; of
                                   the larger detector alone */
    int row; /* of tiles, from which on spots were listed last */
    int by_lanes; /* 1: lanes computed the matrix */
};

static struct found loss_of(const nb_scene *s, int threads, int strategy)
{
    static double observed[CROWDED * CROWDED];
    const nb_options options = {NB_PRECISION_DOUBLE, strategy, 0};
    const nb_array data = nb_array_f64(observed, s->detector.nslow, s->detector.nfast);
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &data};
    nb_context *ctx = renders_context(threads);
    struct found found = {{0}, {0}, {0}, 0, 0};
    nb_normal normal = {.matrix = found.matrix, .gradient = found.gradient};
    nb_normal slopes = {.gradient = found.adjoint};
    nb_simulator *sim;
    double value;

    if (nb_simulator_create(ctx, s, "misset_x misset_y scale", &options, &sim) != NB_OK
        || (s->detector.nfast == CROWDED
            && nb_loss(sim, NULL, &target, &value, &slopes) != NB_OK)
        || nb_loss(sim, NULL, &target, &value, &normal) != NB_OK) {
        (void)fprintf(stderr, "%s\n", nb_context_message(ctx));
        abort();
    }
    found.row = sim->spots->first_row;
    found.by_lanes = sim->spots->reach_words > 0;
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return found;
}

static nb_scene crowded(int side, int ndomains)
{
    nb_scene s = scenes_named(SCENES_FEATURES, "gauss_constant");

    s.detector.nfast = s.detector.nslow = side;
    s.detector.pixel = 90. / side;
    s.detector.distance = 100;
    s.oversample = 1;
    s.crystal.ndomains = ndomains;
    s.crystal.mosaic[0] = 0.2;
    for (int i = 0; i < 3; i++) s.crystal.cell[i] = 100 + 20 * i, s.crystal.ncells[i] = 20;
    return s;
}

/* Spots of some strips are listed at a time, of all strips where there are as many threads:
 * the bits are the same, and the gradient is that of the adjoint, which lists none. */
static int bands(void)
{
    const nb_scene s = crowded(CROWDED, 300);
    const struct found one = loss_of(&s, 1, NB_STRATEGY_SPOTS);

    tap_check(one.row > 0, "one thread lists the last spots from row %d of the tiles on",
              one.row);
    /* sums of pixels of either sign; rows and adjoint drop different samples of the tails:
     * 2.5e-13 of the largest measured */
    for (int i = 0; i < PARAMETERS; i++)
        tap_close("gradient with the matrix", one.gradient[i], one.adjoint[i],
                  4e-12 * worst_largest(one.adjoint, PARAMETERS));
    for (int threads = 3; threads <= 7; threads += 4) {
        const struct found some = loss_of(&s, threads, NB_STRATEGY_SPOTS);

        tap_check(threads == 3 ? some.row > 0 : some.row == 0,
                  "%d threads: from row %d of the tiles on", threads, some.row);
        tap_check(!some.by_lanes && bits_same(some.matrix, one.matrix, 9)
                      && bits_same(some.gradient, one.gradient, PARAMETERS),
                  "the same bits on %d threads", threads);
    }
    return TAP_PASS;
}

/* A strip with more spots than any list may hold, 2^23 of 26000 domains: lanes compute the
 * matrix, for the pairs that reach each tile. */
static int too_many(void)
{
    const nb_scene s = crowded(ONE_STRIP, 26000);
    const struct found spots = loss_of(&s, 2, NB_STRATEGY_SPOTS),
                       lanes = loss_of(&s, 2, NB_STRATEGY_LANES);

    tap_check(spots.by_lanes, "by lanes");
    for (int i = 0; i < PARAMETERS * PARAMETERS; i++) /* 1.3e-13 measured */
        tap_close("matrix", spots.matrix[i], lanes.matrix[i],
                  2e-12 * worst_largest(lanes.matrix, PARAMETERS * PARAMETERS));
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"bands", bands}, {"too_many", too_many}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
