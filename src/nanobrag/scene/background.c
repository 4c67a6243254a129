/*
 * background.c - amorphous material (docs/theory.md, 7). As in nanoBragg, the molecules are
 * those in a cube whose edge is the thickness, and they scatter independently.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/background.h"

#include "base/context.h"
#include "scene/beam.h"

#define WATER_F 2.57 /* F of a water molecule, electron, as in nanoBragg */

nb_status background_resolve(nb_context *ctx, nb_scene *scene)
{
    nb_background *b = &scene->background;

    if (b->nstol > 0 && b->water == 0)
        return fail(ctx, NB_ERR_SCENE,
                    "a table of amorphous scattering needs a thickness; give -water");
    if (b->nstol > 0 && b->nstol < 4)
        return fail(ctx, NB_ERR_SCENE,
                    "the number of rows in the table of amorphous scattering is %zu, "
                    "expected at least 4",
                    b->nstol);
    for (size_t i = 1; i < b->nstol; i++)
        if (!(b->stol[2 * i] > b->stol[2 * i - 2]))
            return fail(ctx, NB_ERR_SCENE,
                        "row %zu of the table of amorphous scattering: "
                        "sin(theta)/lambda %g does not rise above %g",
                        i + 1, b->stol[2 * i], b->stol[2 * i - 2]);
    if (b->density == 0) b->density = 1;
    if (b->molecular_weight == 0) b->molecular_weight = 18;
    return NB_OK;
}

/* Returns the number of molecules in a cube whose edge is the thickness. */
static double molecules(const nb_background *b)
{
    const double edge = b->water * 1e-6;

    return edge * edge * edge * 1e6 * b->density * AVOGADRO / b->molecular_weight;
}

static double quirk_molecules(const nb_background *b)
{
    const double edge = b->water * 1e-6;

    return edge * edge * edge * 1e6 * AVOGADRO / 18;
}

double background_quirk_intensity(const nb_scene *scene)
{
    return WATER_F * WATER_F * BEAM_RE2 * scene->beam.fluence
           * quirk_molecules(&scene->background);
}

void background_frame(const nb_scene *scene, struct phys_frame *frame)
{
    const nb_background *b = &scene->background;
    const double per_electron2 = BEAM_RE2 * scene->beam.fluence;

    frame->amorphous_f = WATER_F;
    frame->nstol = (int)b->nstol;
    frame->stol = (const struct phys_node *)(const void *)b->stol;
    if (scene->quirks & NB_QUIRK_WATER) {
        /* nanoBragg adds I_bg, which has the factor r_e^2 fluence, once to the sum of F^2.
         * That sum is then divided by the number of steps and multiplied by r_e^2 fluence
         * again. */
        const double nsub = (double)scene->oversample * scene->oversample;
        const double steps = (double)frame->nsource * frame->norientation * nsub;
        const double layers = frame->each_capture ? 1 : frame->nlayers;

        frame->nstol = 0;
        frame->amorphous_in_samples = quirk_molecules(b) > 0;
        frame->amorphous_scale =
            per_electron2 / steps * per_electron2 * quirk_molecules(b) / (nsub * layers);
        return;
    }
    frame->amorphous_in_samples = 0;
    frame->amorphous_scale = per_electron2 * molecules(b);
}
