/* panels.c - see panels.h. SPDX-License-Identifier: MIT */
#include "device/panels.h"

#include <string.h>

#include <nanobrag/description.h>

#include "support/renders.h"
#include "support/scenes.h"
#include "support/worst.h"

enum { PIXELS = TILED_PIXELS, NSLOW = TILED_NSLOW, NFAST = TILED_NFAST };

nb_scene panels_placed(struct tiled *t)
{
    nb_scene scene = tiled_scene();
    nb_context *ctx = renders_context(1);
    nb_simulator *sim;
    nb_panel panel[TILED_PANELS];

    tiled_detector(t, 1, &scene);
    sim = renders_simulator(ctx, &scene, NULL, NULL);
    for (int i = 0; i < TILED_PANELS; i++)
        renders_require(ctx, nb_simulator_panel(sim, NULL, i, panel + i));
    nb_simulator_free(sim);
    nb_context_free(ctx);
    memcpy(t->panel, panel, sizeof panel);
    scene.detector = (nb_detector){.npanel = TILED_PANELS,
                                   .panel = t->panel,
                                   .nslow = NSLOW,
                                   .nfast = NFAST,
                                   .convention = NB_CONVENTION_DIALS,
                                   .pixel = 0.3};
    return scene;
}

/* ---- a panel alone ---- */

static int clamp(int n, int most)
{
    return n < 0 ? 0 : n < most ? n : most;
}

/* Cuts the ROI of an image to a panel; returns 0 if nothing is left. All of the image is a
 * ROI of zeros. */
static int cut_roi(const nb_panel *p, int roi[4])
{
    static const int all[4] = {0, 0, 0, 0};

    if (memcmp(roi, all, sizeof all) == 0) return 1;
    for (int k = 0; k < 2; k++) {
        roi[k] = clamp(roi[k] - p->fast0, p->nfast);
        roi[2 + k] = clamp(roi[2 + k] - p->slow0, p->nslow);
    }
    return roi[0] < roi[1] && roi[2] < roi[3];
}

/* Renders a panel of a scene alone, dense. */
static void render_alone(nb_context *ctx, const nb_scene *scene, int i,
                         const nb_options *options, double *image)
{
    static uint8_t mask[PIXELS];
    const nb_panel *p = scene->detector.panel + i;
    nb_panel one = *p;
    nb_scene s = *scene;
    nb_simulator *sim;

    one.slow0 = one.fast0 = 0;
    s.detector.npanel = 1;
    s.detector.panel = &one;
    s.detector.nslow = p->nslow;
    s.detector.nfast = p->nfast;
    if (!cut_roi(p, s.detector.roi)) {
        memset(image, 0, (size_t)p->nslow * (size_t)p->nfast * sizeof *image);
        return;
    }
    for (int r = 0; s.detector.mask && r < p->nslow; r++)
        memcpy(mask + (ptrdiff_t)r * p->nfast,
               scene->detector.mask + (ptrdiff_t)(p->slow0 + r) * NFAST + p->fast0,
               (size_t)p->nfast);
    if (s.detector.mask) s.detector.mask = mask;
    sim = renders_simulator(ctx, &s, NULL, options);
    renders_forward(ctx, sim, p->nslow, p->nfast, image);
    nb_simulator_free(sim);
}

struct panels_difference panels_compare(nb_context *ctx, const nb_scene *scene,
                                        const struct tiled *t, const nb_options *options,
                                        const double *image)
{
    static double alone[PIXELS];
    struct panels_difference differ = {0, 0};

    for (int i = 0; i < TILED_PANELS; i++) {
        const nb_panel *p = t->panel + i;

        render_alone(ctx, scene, i, options, alone);
        for (int r = 0; r < p->nslow; r++)
            differ.pixels +=
                (int)bits_differ(image + (ptrdiff_t)(p->slow0 + r) * NFAST + p->fast0,
                                 alone + (ptrdiff_t)r * p->nfast, (size_t)p->nfast);
    }
    for (int s = 0; s < NSLOW; s++)
        for (int f = 0; f < NFAST; f++)
            differ.light += tiled_panel_of(t, s, f) < 0 && image[s * NFAST + f] != 0;
    return differ;
}

/* ---- two panels ---- */

nb_scene panels_two(const char *name, int gaps)
{
    static nb_panel panel[2];
    nb_scene scene = scenes_named(SCENES_FEATURES, name);

    scenes_panels(&scene);
    memcpy(panel, scene.detector.panel, sizeof panel);
    if (gaps) {
        panel[0].nslow -= 3;
        panel[0].nfast -= 11;
        panel[0].fast0 = 5;
        panel[1].nfast -= 6;
    }
    scene.detector.panel = panel;
    return scene;
}

const char panels_moves[] =
    "panel_shift_fast panel_shift_slow panel_shift_normal panel_rot_fast panel_rot_slow "
    "panel_rot_normal group_shift_normal group_rot_fast misset ncells fluence";
