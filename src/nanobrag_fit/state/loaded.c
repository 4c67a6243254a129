/*
 * loaded.c - loads a shot for the time of an evaluation, and reads its pixels and domains.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include <nanobrag/description.h>

#include "base/array.h"
#include "base/context.h"
#include "base/window.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"
#include "scene/crystal.h"
#include "scene/random.h"

static void unload(nb_fit *fit, size_t shot, nb_shot *loaded)
{
    if (!fit->options.load || !fit->options.unload) return;
    (void)pthread_mutex_lock(&fit->loading);
    fit->options.unload(fit->options.user, (int64_t)shot, loaded);
    (void)pthread_mutex_unlock(&fit->loading);
}

nb_status fit_load(nb_fit *fit, nb_context *ctx, size_t shot, nb_shot *out)
{
    char failure[CONTEXT_MESSAGE];
    nb_status status;

    memset(out, 0, sizeof *out);
    if (!fit->options.load) {
        *out = fit->shot[shot];
        return outliers_hide(fit, ctx, shot, out);
    }
    (void)pthread_mutex_lock(&fit->loading);
    status = fit->options.load(fit->options.user, (int64_t)shot, out);
    (void)snprintf(failure, sizeof failure, "%s", out->failure ? out->failure : "");
    (void)pthread_mutex_unlock(&fit->loading);
    if (status == NB_OK) {
        status = outliers_hide(fit, ctx, shot, out);
        if (status != NB_OK) unload(fit, shot, out);
        return status;
    }
    if (*failure) return fail(ctx, status, "%s", failure);
    return fail(ctx, status, "shot %zu could not be loaded: %s", shot,
                nb_status_text(status));
}

void fit_unload(nb_fit *fit, size_t shot, nb_shot *loaded)
{
    outliers_unhide(fit, shot, loaded);
    unload(fit, shot, loaded);
}

/* Returns 1 if weights can be read here; nb_loss() reports weights that cannot. */
static int is_readable(const nb_array *weight, const nb_description *d)
{
    return weight && weight->device == NB_DEVICE_CPU && weight->data
           && (weight->ndim == 2 || (weight->ndim == 3 && array_is_stack(weight)))
           && array_extent(weight, 0) == d->nslow && array_extent(weight, 1) == d->nfast
           && weight->type == NB_TYPE_FLOAT && (weight->bits == 32 || weight->bits == 64);
}

nb_status fit_count_pixels(nb_context *ctx, nb_simulator *sim, const nb_target *target,
                           int64_t *out)
{
    nb_description d;
    nb_scene scene;
    struct window_pixels pixels;
    struct window window;

    NB_TRY(nb_simulator_describe(sim, NULL, &d));
    *out = d.pixels;
    if (!is_readable(target->weight, &d)) return NB_OK;
    NB_TRY(nb_simulator_resolved(sim, NULL, &scene));
    pixels = window_pixels_of(&scene.detector);
    if (!window_make(&pixels, &window)) return fail_memory(ctx, "the pixels of a shot");
    for (int t = 0; t < window.ntile; t++) {
        const struct tile *tile = window.tile + t;
        const struct window *panel = window_panel(&window, tile->panel);
        const int slow = panel->slow0 + tile->slow, fast = panel->fast0 + tile->fast;

        for (int r = 0; r < tile->height; r++)
            for (int i = 0; i < tile->width; i++)
                if (tile->shown[r] >> i & 1)
                    *out -= !(array_get(target->weight, slow + r, fast + i) > 0);
    }
    window_free(&window);
    return NB_OK;
}

void draws_note(struct fit_draws *draws, nb_simulator *sim)
{
    nb_scene scene;

    if (nb_simulator_resolved(sim, NULL, &scene) != NB_OK || scene.crystal.ndomains < 2)
        return;
    if (draws->ndomains == 0 || scene.crystal.ndomains < draws->ndomains)
        draws->ndomains = scene.crystal.ndomains;
}

nb_scene draws_scene(const nb_scene *scene, int draw)
{
    static const uint64_t golden = 0x9e3779b97f4a7c15U;
    nb_scene s = *scene;

    s.crystal.mosaic_seed = random_mixed(
        (int64_t)((uint64_t)crystal_mosaic_seed(scene) + golden * (uint64_t)draw));
    return s;
}

nb_context *nb_fit_context(const nb_fit *fit)
{
    return fit ? fit->ctx : NULL;
}
