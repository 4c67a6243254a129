/*
 * test_domains.c - mosaic domains that differ: weights. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"
#include "support/scenes.h"
#include "support/tap.h"

enum { PIXELS = 37 * 40 };

/* a weighted crystal is the weighted mean of crystals of one domain */
static int domain_weights(void)
{
    static double all[PIXELS], one[PIXELS], sum[PIXELS];
    static const double weight[7] = {1, 2.5, 0.3, 0, 1.2, 0.7, -1},
                        alike[6] = {2, 2, 2, 2, 2, 2};
    static const char *const scenes[] = {"base", "gauss_nearest", "each_factor"};

    for (size_t i = 0; i < COUNT(scenes); i++)
        for (int strategy = NB_REFERENCE; strategy <= NB_SPOTS; strategy++) {
            const nb_options options = {NB_DOUBLE, strategy, 1e-14};
            nb_scene s = probe_named(scenes[i]);
            nb_simulator *sim;
            char what[80];

            if (strategy == NB_SPOTS && s.crystal.shape == NB_SQUARE) continue;
            s.crystal.domain_weight = weight;
            if (nb_simulator_create(probe_context(), &s, "domain_weight", &options, &sim)
                != NB_OK)
                abort();
            probe_forward(sim, NULL, all);
            memset(sum, 0, sizeof sum);
            for (int d = 0; d < 6; d++) {
                double x[6] = {0};

                x[d] = 3;
                probe_forward(sim, x, one);
                for (int k = 0; k < PIXELS; k++) sum[k] += weight[d] / 5.7 * one[k];
            }
            (void)snprintf(what, sizeof what, "%s by strategy %d", scenes[i], strategy);
            tap_close(what, probe_off(all, sum, PIXELS), 0, 1e-12);
            probe_transposed("change and pull of the weights", sim, weight + 1);
            probe_forward(sim, alike, all);
            nb_simulator_free(sim);
            s.crystal.domain_weight = NULL;
            if (nb_simulator_create(probe_context(), &s, NULL, &options, &sim) != NB_OK)
                abort();
            probe_forward(sim, NULL, one);
            tap_check(memcmp(one, all, sizeof all) == 0, "weights that are alike are none");
            nb_simulator_free(sim);
        }
    return TAP_PASS;
}

static int domain_weights_refused(void)
{
    double weight[2] = {1, -1};
    nb_simulator *sim;
    nb_scene s = scenes_base();

    s.crystal.domain_weight = weight;
    s.crystal.ndomains = 0;
    probe_refused(&s, NB_ERR_ARGUMENT, "crystal.ndomains");
    s.crystal.ndomains = 2;
    probe_refused(&s, NB_ERR_ARGUMENT, "crystal.domain_weight[1] is -1");
    weight[1] = NAN;
    probe_refused(&s, NB_ERR_ARGUMENT, "crystal.domain_weight[1]");
    weight[0] = weight[1] = 0;
    probe_refused(&s, NB_ERR_SCENE, "add up to 0");
    s.crystal.domain_weight = NULL;
    s.crystal.ndomains = 1;
    tap_check(nb_simulator_create(probe_context(), &s, "domain_weight", NULL, &sim)
                  == NB_ERR_ARGUMENT,
              "%s", nb_context_message(probe_context()));
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"domain_weights", domain_weights},
        {"domain_weights_refused", domain_weights_refused},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
