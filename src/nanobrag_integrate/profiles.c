/*
 * profiles.c - renders the profiles of reflections. The image is linear in F^2, so an image
 * in which some reflections have F = 1 and all others F = 0 holds the profiles of these
 * reflections, if their boxes do not touch. Such a set of reflections is a colour.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_integrate/profiles.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "nanobrag_integrate/lattice.h"

/* Boxes that share a cell of CELL x CELL pixels have different colours; bit c of a cell is
 * set if it has a box of colour c. */
enum { CELL = 4, COLOURS = 64 };

/* The profiles of one lattice that are rendered together. */
struct rendering {
    nb_context *ctx;
    struct profile_of **at; /* (n) sorted by h, k, l */
    size_t n, nf; /* nf: number of different h, k, l */
    int *colour; /* (n) -1: none yet */
    int colours;
    uint64_t *cell; /* (cells of the image) */
    int across, down; /* cells of the image along fast, slow */
    nb_simulator *sim;
    double *f; /* (nf) the parameters of `sim`: F in the order of h, k, l */
    nb_array image;
    double *pixel;
};

static nb_status no_memory(nb_context *ctx)
{
    (void)fail_memory(ctx, "profiles of reflections");
    return NB_ERR_MEMORY;
}

static int by_hkl(const void *a, const void *b)
{
    const struct profile_of *p = *(struct profile_of *const *)a,
                            *q = *(struct profile_of *const *)b;

    for (int i = 0; i < 3; i++)
        if (p->hkl[i] != q->hkl[i]) return p->hkl[i] < q->hkl[i] ? -1 : 1;
    return (p > q) - (p < q);
}

static int same_hkl(const struct profile_of *p, const struct profile_of *q)
{
    return memcmp(p->hkl, q->hkl, sizeof p->hkl) == 0;
}

/* Returns the end of the profiles that have the h, k, l of profile i. */
static size_t end_of_group(const struct rendering *r, size_t i)
{
    size_t end = i + 1;

    while (end < r->n && same_hkl(r->at[i], r->at[end])) end++;
    return end;
}

/* ---- colours ---- */

/* Returns the bits of all cells that a box touches, and adds `bits` to them. */
static uint64_t touch(const struct rendering *r, const int box[4], uint64_t bits)
{
    uint64_t all = 0;

    for (int s = box[2] / CELL; s <= (box[3] - 1) / CELL; s++)
        for (int f = box[0] / CELL; f <= (box[1] - 1) / CELL; f++) {
            uint64_t *const cell = r->cell + (size_t)s * (size_t)r->across + (size_t)f;

            *cell |= bits;
            all |= *cell;
        }
    return all;
}

/* Gives colours to profiles that have none, as far as COLOURS allow. Returns 1 if some are
 * left. */
static int colour_some(struct rendering *r)
{
    int left = 0;

    r->colours = 0;
    memset(r->cell, 0, (size_t)r->across * (size_t)r->down * sizeof *r->cell);
    for (size_t i = 0, end; i < r->n; i = end) {
        uint64_t taken = 0;
        int colour = 0;

        end = end_of_group(r, i);
        if (r->colour[i] == -2) continue;
        for (size_t k = i; k < end; k++) taken |= touch(r, r->at[k]->box, 0);
        while (colour < COLOURS && taken >> colour & 1) colour++;
        if (colour == COLOURS) {
            left = 1;
            continue;
        }
        for (size_t k = i; k < end; k++) {
            r->colour[k] = colour;
            (void)touch(r, r->at[k]->box, (uint64_t)1 << colour);
        }
        if (colour >= r->colours) r->colours = colour + 1;
    }
    return left;
}

/* ---- images ---- */

static void copy_box(const struct rendering *r, const struct profile_of *p)
{
    const size_t width = (size_t)profile_width(p), stride = (size_t)r->image.shape[1];

    for (int s = p->box[2]; s < p->box[3]; s++)
        memcpy(p->photons + (size_t)(s - p->box[2]) * width,
               r->pixel + (size_t)s * stride + (size_t)p->box[0],
               width * sizeof *p->photons);
}

/* Renders the profiles of a colour, and marks them as done (-2). */
static nb_status render_colour(struct rendering *r, int colour)
{
    size_t at = 0;

    for (size_t i = 0; i < r->n; i = end_of_group(r, i))
        r->f[at++] = r->colour[i] == colour;
    NB_TRY(nb_forward(r->sim, r->f, &r->image));
    for (size_t i = 0; i < r->n; i++) {
        if (r->colour[i] != colour) continue;
        copy_box(r, r->at[i]);
        r->colour[i] = -2;
    }
    return NB_OK;
}

static nb_status render_all(struct rendering *r)
{
    int left = 1;

    while (left) {
        left = colour_some(r);
        for (int c = 0; c < r->colours; c++) NB_TRY(render_colour(r, c));
    }
    return NB_OK;
}

/* Makes a simulator in whose boxes the listed reflections scatter. */
static nb_status make_simulator(struct rendering *r, nb_scene *scene)
{
    int(*hkl)[3] = malloc((r->n + 1) * sizeof *hkl);
    int(*box)[4] = malloc((r->n + 1) * sizeof *box);
    nb_hkl *list = NULL;
    nb_status status = NB_ERR_MEMORY;

    if (hkl && box) {
        r->nf = 0;
        for (size_t i = 0; i < r->n; i++) {
            if (i == 0 || !same_hkl(r->at[i - 1], r->at[i]))
                memcpy(hkl[r->nf++], r->at[i]->hkl, sizeof *hkl);
            memcpy(box[i], r->at[i]->box, sizeof *box);
        }
        for (size_t i = 0; i < r->nf; i++) r->f[i] = 1;
        status = nb_hkl_create(r->ctx, r->nf, hkl[0], r->f, &list);
        scene->crystal.hkl = list;
        scene->crystal.default_f = 0;
        scene->crystal.interpolate = NB_LOOKUP_NEAREST;
        scene->detector.box = box[0];
        scene->detector.nbox = r->n;
        if (status == NB_OK)
            status = nb_simulator_create(r->ctx, scene, "F[*]", NULL, &r->sim);
    } else
        status = no_memory(r->ctx);
    nb_hkl_free(list);
    free(hkl);
    free(box);
    return status;
}

static int make_memory(struct rendering *r, const nb_scene *scene)
{
    const int nslow = scene->detector.nslow, nfast = scene->detector.nfast;

    r->across = (nfast + CELL - 1) / CELL;
    r->down = (nslow + CELL - 1) / CELL;
    r->cell = malloc((size_t)r->across * (size_t)r->down * sizeof *r->cell);
    r->colour = calloc(r->n + 1, sizeof *r->colour);
    r->f = malloc((r->n + 1) * sizeof *r->f);
    r->pixel = malloc((size_t)nslow * (size_t)nfast * sizeof *r->pixel);
    if (!r->cell || !r->colour || !r->f || !r->pixel) return 0;
    r->image = nb_array_f64(r->pixel, nslow, nfast);
    for (size_t i = 0; i < r->n; i++) {
        struct profile_of *const p = r->at[i];

        r->colour[i] = -1;
        free(p->photons);
        p->photons = malloc(profile_pixels(p) * sizeof *p->photons);
        if (!p->photons) return 0;
    }
    return 1;
}

static nb_status render_lattice(nb_context *ctx, nb_simulator *sim, const double *x,
                                struct rendering *r, int lattice)
{
    nb_scene scene;
    nb_status status;

    qsort(r->at, r->n, sizeof(struct profile_of *), by_hkl);
    NB_TRY(lattice_scene(ctx, sim, x, lattice, &scene));
    if (scene.psf.kind == NB_PSF_FIBER && scene.psf.fwhm > 0)
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "reflections are neither predicted nor integrated with a point spread "
                    "of "
                    "long tails (fiber), which reach every box");
    status = make_memory(r, &scene) ? make_simulator(r, &scene) : no_memory(ctx);
    if (status == NB_OK) status = render_all(r);
    nb_simulator_free(r->sim);
    free(r->cell);
    free(r->colour);
    free(r->f);
    free(r->pixel);
    return status;
}

nb_status profiles_render(nb_context *ctx, nb_simulator *sim, const double *x,
                          struct profiles *profiles)
{
    struct profile_of **const at = malloc((profiles->n + 1) * sizeof(struct profile_of *));
    int lattice = 0, next;
    nb_status status = NB_OK;

    if (!at) return no_memory(ctx);
    for (; status == NB_OK && lattice >= 0; lattice = next) {
        struct rendering r = {.ctx = ctx, .at = at};

        next = -1;
        for (size_t i = 0; i < profiles->n; i++) {
            struct profile_of *const p = profiles->of + i;

            if (!p->is_done && p->lattice == lattice) at[r.n++] = p;
            if (!p->is_done && p->lattice > lattice && (next < 0 || p->lattice < next))
                next = p->lattice;
        }
        if (r.n > 0) status = render_lattice(ctx, sim, x, &r, lattice);
    }
    free(at);
    return status;
}

void profiles_free(struct profiles *profiles)
{
    for (size_t i = 0; i < profiles->n; i++) free(profiles->of[i].photons);
    free(profiles->of);
    *profiles = (struct profiles){0};
}
