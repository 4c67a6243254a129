/*
 * fisher.c - the errors that a fit will have, before the experiment:
 * nb_fit_create_expected() at several distances of the detector. The nearer it stands, the
 * more spots tell of the crystal.
 *
 *   cc fisher.c $(pkg-config --cflags --libs nanobrag) -lm && ./a.out
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>

#include <nanobrag/nanobrag.h>

enum { SIDE = 128 };

static nb_scene scene = {
    .crystal = {.cell = {50, 60, 70, 90, 90, 90},
                .misset = {10, 20, 30},
                .ncells = {8, 8, 8},
                .mosaic = {0.3},
                .ndomains = 30,
                .shape = NB_SHAPE_GAUSS,
                .default_f = 100},
    .beam = {.fluence = 1e28},
    .background = {.water = 0.02},
    .detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 0.6},
    .oversample = 2,
};

int main(void)
{
    /* no image: what is expected at the values of the scene stands for it */
    const nb_shot shot = {.scene = &scene, .target = {.kind = NB_LOSS_POISSON}};
    const nb_fit_options options = {.shared = "cell_a misset mosaic scale"};
    nb_context *ctx;
    int is_finite = 1;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) return 1;
    for (int place = 0; place < 5; place++) {
        const double distance = 60 + 20 * place; /* mm */
        nb_fit *fit;
        nb_fit_result r;

        scene.detector.distance = distance;
        if (nb_fit_create_expected(ctx, 1, &shot, &options, &fit) != NB_OK
            || nb_fit_result_get(fit, &r) != NB_OK) {
            (void)fprintf(stderr, "fisher: %s\n", nb_context_message(ctx));
            return 1;
        }
        (void)printf("%5.0f mm:", distance);
        for (size_t i = 0; i < r.nvalue; i++) {
            (void)printf("  %s %.5f", r.value[i].param.name, r.value[i].error);
            is_finite &= isfinite(r.value[i].error) && r.value[i].error > 0;
        }
        (void)printf("\n");
        nb_fit_free(fit);
    }
    nb_context_free(ctx);
    return is_finite ? 0 : 1;
}
