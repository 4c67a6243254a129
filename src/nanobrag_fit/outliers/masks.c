/*
 * masks.c - takes the boxes and pixels that left a fit out of a loaded shot.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"

/* a scene with another mask, in place of the scene of a loaded shot */
struct hidden {
    nb_scene scene;
    const nb_scene *before;
    uint8_t mask[];
};

/* Returns how many of the outliers of a shot are hidden now. While a fit is made it has no
 * outliers. */
static size_t hidden_of(const nb_fit *fit, size_t shot)
{
    const struct outliers_shot *o = fit->outliers ? fit->outliers + shot : NULL;
    size_t n = 0;

    for (size_t i = 0; o && i < o->n; i++)
        n += o->at[i].box < 0 || fit->beside != FIT_JUDGE;
    return n;
}

static int is_inside(const struct outliers_shot *o, const nb_fit_outlier *at, size_t nbox)
{
    return at->box < (int)nbox && at->fast >= 0 && at->fast < o->nfast && at->slow >= 0
           && at->slow < o->nslow;
}

/* Sets the pixels of a box to their mask if the box stays, or else to 0. */
static void mask_box(const nb_scene *scene, size_t b, int stays, int nfast, uint8_t *mask)
{
    const int *r = scene->detector.box + 4 * b;
    const uint8_t *before = scene->detector.mask;

    for (int s = r[2]; s < r[3]; s++)
        for (int f = r[0]; f < r[1]; f++) {
            const size_t i = (size_t)s * (size_t)nfast + (size_t)f;

            mask[i] = stays ? before ? before[i] : 1 : 0;
        }
}

/* A pixel belongs to the first box that holds it, so boxes are masked from the last to the
 * first. `stays` has a number for each box. */
static void mask_all(const nb_fit *fit, const struct outliers_shot *o, unsigned char *stays,
                     struct hidden *h)
{
    const size_t nbox = h->scene.detector.nbox;

    memset(stays, 1, nbox);
    for (size_t i = 0; i < o->n; i++)
        if (o->at[i].box >= 0) stays[o->at[i].box] = fit->beside == FIT_JUDGE;
    for (size_t b = nbox; b-- > 0;) mask_box(h->before, b, stays[b], o->nfast, h->mask);
    for (size_t i = 0; i < o->n; i++)
        if (o->at[i].box < 0)
            h->mask[(size_t)o->at[i].slow * (size_t)o->nfast + (size_t)o->at[i].fast] = 0;
}

nb_status outliers_hide(nb_fit *fit, nb_context *ctx, size_t shot, nb_shot *loaded)
{
    const struct outliers_shot *o = fit->outliers ? fit->outliers + shot : NULL;
    const nb_detector *d;
    struct hidden *h;
    unsigned char *stays;
    size_t pixels;

    if (!o || hidden_of(fit, shot) == 0) return NB_OK;
    d = &loaded->scene->detector;
    pixels = (size_t)o->nslow * (size_t)o->nfast;
    for (size_t i = 0; i < o->n; i++)
        if (!is_inside(o, o->at + i, d->nbox))
            return fail(ctx, NB_ERR_FORMAT,
                        "%s: the file was changed: it leaves out box %d, or pixel (%d, "
                        "%d), which %s does not have; run the fit again",
                        fit->path ? fit->path : "the fit", o->at[i].box, o->at[i].fast,
                        o->at[i].slow, fit->name[shot]);
    h = malloc(sizeof *h + pixels);
    stays = malloc(d->nbox + 1);
    if (h && stays) {
        h->scene = *loaded->scene;
        h->before = loaded->scene;
        h->scene.detector.mask = h->mask;
        if (d->mask)
            memcpy(h->mask, d->mask, pixels);
        else
            memset(h->mask, 1, pixels);
        mask_all(fit, o, stays, h);
        loaded->scene = &h->scene;
        free(stays);
        return NB_OK;
    }
    free(h);
    free(stays);
    return fail_memory(ctx, "the outliers of a shot");
}

void outliers_unhide(const nb_fit *fit, size_t shot, nb_shot *loaded)
{
    struct hidden *h = (struct hidden *)(uintptr_t)loaded->scene; /* its first member */

    if (hidden_of(fit, shot) == 0) return;
    loaded->scene = h->before;
    free(h);
}
