/*
 * api/create.c - nb_simulator_create(). It resolves the scene, adds up the sizes of the
 * arrays that every call needs, allocates them in one arena, and fills the arrays that do
 * not depend on x. Lists of panels and of lattices have arenas of their own. The other
 * arenas in state.h are made by the first call that needs them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "base/context.h"
#include "base/floats.h"
#include "base/log.h"
#include "grad/grad.h"
#include "scene/detector/detector.h"
#include "scene/reflections/hkl_table.h"
#include "simulator.h"

/* The lengths of the arrays in take_arrays(); 0 if an array is not needed. */
struct sizes {
    size_t pixels, mask, boxes, sources, given_sources, beamlets, orientations, domains;
    size_t stol, box, box_single, unlisted;
    size_t source_change, rotations, box_bar, unspread;
    size_t dense, domain_weights, lists_source, lists_weight, listed;
    size_t lattices, panels, lists_panel, lists_group, lists_lattice, f_sum;
};

static size_t count_unlisted(const nb_hkl *hkl)
{
    /* the place behind the box holds default_f, too */
    size_t n = 1;

    if (!hkl) return 0;
    for (size_t i = 0; i < hkl_box_size(hkl); i++) n += isnan(hkl->box[i]) != 0;
    return n;
}

static struct sizes sizes_of(const nb_simulator *sim)
{
    const nb_scene *s = &sim->scene;
    struct sizes n = {0};

    n.pixels = (size_t)s->detector.nslow * (size_t)s->detector.nfast;
    n.mask = s->detector.mask ? n.pixels : 0;
    n.boxes = 4 * s->detector.nbox;
    n.panels = (size_t)detector_panels(&s->detector);
    n.lattices = (size_t)lattices_count(s);
    n.sources = (size_t)sim->fixed.nsource;
    n.given_sources = (size_t)s->beam.nsource;
    n.beamlets = sim->fixed.ngrid > 0 ? n.sources : 0;
    n.domains = (size_t)s->crystal.ndomains;
    n.domain_weights = s->crystal.domain_weight ? n.domains : 0;
    n.orientations = (size_t)s->scan.nphi * n.domains;
    n.stol = 2 * s->background.nstol;
    /* one more element, for default_f */
    n.box = s->crystal.hkl ? hkl_box_size(s->crystal.hkl) + 1 : 0;
    n.box_single = sim->policy.kernels.single ? n.box : 0;
    if (params_has(&sim->params, "default_f")) n.unlisted = count_unlisted(s->crystal.hkl);
    if (sim->params.n == 0) return n;
    /* never 0, even if all free parameters are structure factors */
    n.dense = params_dense(&sim->params) + 1;
    n.source_change = n.sources;
    n.rotations = n.orientations;
    n.box_bar = n.unlisted > 0 || sim->params.f.n > 0 ? n.box : 0;
    n.unspread = sim->psf ? n.pixels : 0;
    n.lists_source = n.given_sources;
    n.lists_weight = params_has(&sim->params, "domain_weight") ? n.domains : 0;
    n.lists_lattice = params_have_lattices(&sim->params) ? (size_t)s->crystal.nlattice : 0;
    n.f_sum = n.lattices > 1 ? n.box_bar : 0;
    n.listed = n.box;
    if (params_have_moves(&sim->params)) {
        n.lists_panel = (size_t)s->detector.npanel;
        n.lists_group = (size_t)s->detector.ngroup;
    }
    return n;
}

/* Returns the sizes of the adjoint; `box` is 0 unless an F or default_f is free. */
static struct adjoint_sizes adjoint_sizes_of(const nb_simulator *sim, const struct sizes *n)
{
    const nb_scene *s = &sim->scene;
    struct adjoint_sizes sizes;

    sizes.pixels = (size_t)sim->window.count;
    sizes.sources = n->source_change;
    sizes.orientations = n->rotations;
    sizes.box = n->box_bar;
    sizes.panels = (size_t)s->detector.npanel;
    sizes.samples = n->sources * (size_t)s->detector.nlayers * (size_t)s->oversample
                    * (size_t)s->oversample;
    sizes.threads = (size_t)sim->ctx->threads;
    return sizes;
}

struct arrays {
    nb_simulator *sim;
    const struct sizes *sizes;
};

/* Take all arrays of a simulator from an arena. The scene still points to the caller's
 * lists, which are copied here. */
static void take_arrays(struct arena *arena, void *user)
{
    const struct arrays *arrays = user;
    nb_simulator *sim = arrays->sim;
    const struct sizes *n = arrays->sizes;
    const struct adjoint_sizes adjoint = adjoint_sizes_of(sim, n);
    nb_scene *s = &sim->scene;
    nb_crystal *c = &s->crystal;
    const struct arena_part parts[] = {
        {&sim->rows_of_image, (size_t)s->detector.nslow, sizeof(double), NULL},
        {&s->detector.mask, n->mask, 1, s->detector.mask},
        {&s->detector.box, n->boxes, sizeof *s->detector.box, s->detector.box},
        {&sim->frames, n->lattices * n->panels, sizeof *sim->frames, NULL},
        {&sim->sources, n->sources, sizeof *sim->sources, NULL},
        {&s->beam.source, n->given_sources, sizeof(nb_source), s->beam.source},
        {&sim->fixed.beamlet, n->beamlets, sizeof *sim->fixed.beamlet, NULL},
        {&sim->orientations, n->lattices * n->orientations, sizeof *sim->orientations,
         NULL},
        {&sim->fixed.domain, n->domains, sizeof *sim->fixed.domain, NULL},
        {&c->domain_weight, n->domain_weights, sizeof(double), c->domain_weight},
        {&s->background.stol, n->stol, sizeof(double), s->background.stol},
        {&sim->box, n->box, sizeof(double), NULL},
        {&sim->box_single, n->box_single, sizeof(float), NULL},
        {&sim->unlisted, n->unlisted, sizeof *sim->unlisted, NULL},
        {&sim->source_change, n->source_change, sizeof *sim->source_change, NULL},
        {&sim->rotation, n->rotations, sizeof *sim->rotation, NULL},
        {&sim->gradient.dense, n->dense, sizeof(double), NULL},
        {&sim->gradient.f, n->f_sum, sizeof(double), NULL},
        {&sim->unspread, n->unspread, sizeof(double), NULL},
        {&sim->at_x.source, n->lists_source, sizeof(nb_source), NULL},
        {&sim->at_x.domain_weight, n->lists_weight, sizeof(double), NULL},
        {&sim->at_x.panel, n->lists_panel, sizeof(nb_panel), NULL},
        {&sim->at_x.group, n->lists_group, sizeof(nb_panel_group), NULL},
        {&sim->at_x.lattice, n->lists_lattice, sizeof(nb_lattice), NULL},
        {&sim->change.lattice, n->lists_lattice, sizeof(nb_lattice), NULL},
        {&sim->resolved.lattice, n->lists_lattice, sizeof(nb_lattice), NULL},
        {&sim->change.panel, n->lists_panel, sizeof(nb_panel), NULL},
        {&sim->change.group, n->lists_group, sizeof(nb_panel_group), NULL},
        {&sim->resolved.panel, n->lists_panel, sizeof(nb_panel), NULL},
        {&sim->resolved.group, n->lists_group, sizeof(nb_panel_group), NULL},
        {&sim->change.source, n->lists_source, sizeof(nb_source), NULL},
        {&sim->change.domain_weight, n->lists_weight, sizeof(double), NULL},
        {&sim->resolved.source, n->lists_source, sizeof(nb_source), NULL},
        {&sim->resolved.domain_weight, n->lists_weight, sizeof(double), NULL},
        {&sim->listed, n->listed, sizeof(double), NULL},
    };

    arena_take_parts(arena, parts, sizeof parts / sizeof *parts);
    if (sim->params.n > 0) adjoint_take(arena, &adjoint, &sim->adjoint);
}

static void list_unlisted(nb_simulator *sim, const struct sizes *n)
{
    sim->nunlisted = 0;
    for (size_t i = 0; n->unlisted > 0 && i < n->box; i++)
        if (i == n->box - 1 || isnan(sim->scene.crystal.hkl->box[i]))
            sim->unlisted[sim->nunlisted++] = i;
}

/* Allocate all arrays in one block, and list the places that hold default_f. */
static nb_status make_arrays(nb_simulator *sim, const struct sizes *n)
{
    struct arrays arrays = {sim, n};

    if (!arena_build(&sim->arena, take_arrays, &arrays))
        return fail_memory(sim->ctx, "a simulator");
    if (n->box_bar > 0 && n->f_sum == 0) sim->gradient.f = sim->adjoint.bar[0].f;
    list_unlisted(sim, n);
    return NB_OK;
}

/* Make the point spread for images as large as the largest panel, with a default radius for
 * the smallest pixels. */
static nb_status make_psf(nb_simulator *sim)
{
    nb_psf *psf = &sim->scene.psf;
    const nb_detector *d = &sim->scene.detector;
    int nslow = 0, nfast = 0;
    double pixel = INFINITY;

    if (psf->kind == NB_PSF_NONE) return NB_OK;
    for (int i = 0; i < detector_panels(d); i++) {
        const struct psf_panel panel = psf_panel_of(d, i);

        nslow = panel.nslow > nslow ? panel.nslow : nslow;
        nfast = panel.nfast > nfast ? panel.nfast : nfast;
        pixel = fmin(pixel, panel.pixel);
    }
    if (psf->radius == 0) psf->radius = psf_default_radius(psf->kind, psf->fwhm / pixel);
    return psf_create(sim->ctx, psf, nslow, nfast, &sim->psf);
}

/* List the pixels that are rendered in sim->window. With a point spread, sim->lit also has
 * the pixels around them and under the mask that spread light to them. */
static nb_status make_windows(nb_simulator *sim)
{
    struct window_pixels pixels = window_pixels_of(&sim->scene.detector);

    if (!window_make(&pixels, &sim->window))
        return fail_memory(sim->ctx, "the pixels to render");
    if (!sim->psf) return NB_OK;
    pixels.mask = NULL;
    pixels.margin = sim->scene.psf.radius;
    if (!window_make(&pixels, &sim->lit))
        return fail_memory(sim->ctx, "the pixels to render");
    return NB_OK;
}

/* Point the scene to the simulator's copy of the reflections, so that the caller may free
 * its list. If a parameter is free, the copy has NaN where nothing is listed; otherwise it
 * may have default_f there. */
static void keep_reflections(nb_simulator *sim, const struct sizes *n)
{
    const nb_hkl *hkl = sim->scene.crystal.hkl;

    if (!hkl) return;
    sim->hkl = *hkl;
    sim->hkl.box = sim->box;
    if (n->listed > 0) {
        sim->hkl.box = sim->listed;
        memcpy(sim->listed, hkl->box, hkl_box_size(hkl) * sizeof *hkl->box);
    }
    sim->scene.crystal.hkl = &sim->hkl;
}

/* Returns the largest |F| among listed reflections that are not free parameters. */
static double largest_fixed(const nb_simulator *sim)
{
    const struct params_f *f = &sim->params.f;
    const nb_hkl *hkl = &sim->hkl;
    double largest = 0;

    for (size_t i = 0; i < f->start[f->n]; i++) hkl->box[f->place[i]] = NAN;
    for (size_t i = 0; i < hkl_box_size(hkl); i++)
        if (!isnan(hkl->box[i])) largest = fmax(largest, fabs(hkl->box[i]));
    (void)params_write_f(&sim->params, NULL, hkl->box, NULL);
    return largest;
}

/* Returns the number of samples in the rendered pixels, for one source and one
 * orientation. */
static double samples_of(const nb_simulator *sim, const struct phys_frame *frame)
{
    return (double)sim->window.count * frame->nlayers * frame->oversample
           * frame->oversample;
}

/* Returns the number of samples among which the strategy spots has to find the spots. Boxes
 * lie around spots, so that a few rendered pixels may have all spots of the detector; then
 * all samples of the detector count. */
static double samples_around(const nb_simulator *sim, const struct phys_frame *frame)
{
    const struct window *w = &sim->window;

    if (!w->boxed || w->count == 0) return samples_of(sim, frame);
    return samples_of(sim, frame) / (double)w->count * w->nslow * w->nfast;
}

static void start_plans(nb_simulator *sim)
{
    sim->plans.ctx = sim->ctx;
    sim->plans.policy = &sim->policy;
    sim->plans.pixels = window_packed(sim->psf ? &sim->lit : &sim->window);
    simulator_sign(sim);
}

static void free_spots(nb_simulator *sim)
{
    for (int l = 0; l < lattices_count(&sim->scene); l++) {
        spots_free(sim->spots + l);
        sim->spots[l].continuous = sim->continuous + l;
    }
}

/* Make the workspaces of the strategies spots and continuous, one of each for a lattice. */
static nb_status make_spots(nb_simulator *sim, size_t lattices)
{
    sim->spots = calloc(lattices, sizeof *sim->spots);
    sim->continuous = calloc(lattices, sizeof *sim->continuous);
    if (!sim->spots || !sim->continuous) return fail_memory(sim->ctx, "a simulator");
    free_spots(sim);
    for (size_t l = 0; l < lattices; l++)
        sim->continuous[l].tail = params_has(&sim->params, "mosaic_tail");
    return NB_OK;
}

/* Copy the panels and groups of the detector, because scene_resolve() completes them. Lists
 * that scene_resolve() will refuse are not copied. */
static nb_status take_panels(nb_simulator *sim)
{
    nb_detector *d = &sim->scene.detector;
    const nb_detector given = *d;
    const struct arena_part parts[] = {
        {&d->panel, (size_t)d->npanel, sizeof *d->panel, given.panel},
        {&d->group, (size_t)d->ngroup, sizeof *d->group, given.group},
        {&sim->fixed.middle, (size_t)d->ngroup, sizeof *sim->fixed.middle, NULL},
    };

    if (d->npanel < 1 || d->npanel > PANELS_MOST || d->ngroup < 0 || d->ngroup > PANELS_MOST
        || !d->panel || (d->ngroup > 0 && !d->group))
        return NB_OK;
    if (arena_build_parts(&sim->panels_memory, parts, sizeof parts / sizeof *parts))
        return NB_OK;
    *d = given;
    return fail_memory(sim->ctx, "a simulator");
}

/* Copy the further lattices of the crystal, because scene_resolve() completes them. */
static nb_status take_lattices(nb_simulator *sim)
{
    nb_crystal *c = &sim->scene.crystal;
    const nb_crystal given = *c;
    const struct arena_part part = {&c->lattice, (size_t)c->nlattice, sizeof *c->lattice,
                                    given.lattice};

    if (c->nlattice < 1 || c->nlattice > LATTICES_MOST || !c->lattice) return NB_OK;
    if (arena_build_parts(&sim->lattices_memory, &part, 1)) return NB_OK;
    *c = given;
    return fail_memory(sim->ctx, "a simulator");
}

static nb_status build(nb_simulator *sim, const char *free_names, const nb_options *options)
{
    nb_scene *scene = &sim->scene;
    const struct phys_frame *frame;
    nb_scene first;
    struct sizes n;

    NB_TRY(policy_kernels(sim->ctx, options, &sim->policy));
    NB_TRY(take_panels(sim));
    NB_TRY(take_lattices(sim));
    if (params_name_width(free_names)) scene->given |= NB_GIVEN_WIDTH;
    NB_TRY(scene_resolve(sim->ctx, scene, &sim->fixed));
    if (params_are_named(free_names, "distance")) detector_measure_along_beam(scene);
    NB_TRY(params_select(sim->ctx, scene, free_names, &sim->params));
    sim->progress.lattices = lattices_count(scene);
    NB_TRY(make_psf(sim));
    NB_TRY(make_windows(sim));
    n = sizes_of(sim);
    NB_TRY(make_arrays(sim, &n));
    NB_TRY(make_spots(sim, n.lattices));
    scene_fill(scene, &sim->fixed, sim->box);
    for (size_t i = 0; i < n.box_single; i++) sim->box_single[i] = (float)sim->box[i];
    sim->fixed.f_single = sim->box_single;
    sim->spec = specialize_scene(scene);
    keep_reflections(sim, &n);
    if (sim->params.f.n > 0) sim->fixed.f_listed = largest_fixed(sim);
    /* From now on the window reads the simulator's copy of the mask. */
    window_set_mask(&sim->window, scene->detector.mask);
    /* The first frame is derived here, so that an invalid scene is refused now and not at
     * the first image. */
    NB_TRY(simulator_frame(sim, NULL, &first, &frame));
    policy_strategy(&sim->policy, frame, detector_panels(&scene->detector), sim->spec,
                    samples_of(sim, frame), samples_around(sim, frame));
    NB_TRY(backend_choose(sim, frame, samples_of(sim, frame)));
    log_topic(sim->ctx, TOPIC_AUTOTUNE, "%s", sim->policy.why);
    start_plans(sim);
    return NB_OK;
}

nb_status nb_simulator_create(nb_context *ctx, const nb_scene *scene,
                              const char *free_names, const nb_options *options,
                              nb_simulator **out)
{
    STANDARD_FLOATS;
    nb_simulator *sim;
    nb_status status;

    if (!ctx || !out) return NB_ERR_ARGUMENT;
    *out = NULL;
    if (!scene) return fail(ctx, NB_ERR_ARGUMENT, "no scene was given");
    sim = calloc(1, sizeof *sim);
    if (!sim) return fail_memory(ctx, "a simulator");
    sim->ctx = ctx;
    progress_begin(&sim->progress, ctx);
    sim->plans.fallbacks_before = ctx->fallbacks;
    sim->scene = *scene;
    status = build(sim, free_names, options);
    if (status != NB_OK) {
        nb_simulator_free(sim);
        return status;
    }
    *out = sim;
    return NB_OK;
}

void nb_simulator_free(nb_simulator *sim)
{
    if (!sim) return;
    if (sim->device.scene.gpu) gpu_scene_drop(&sim->device.scene);
    gpu_batch_drop(&sim->device.batch);
    psf_free(sim->psf);
    if (sim->continuous && sim->spots) free_spots(sim);
    for (int l = 0; sim->continuous && l < lattices_count(&sim->scene); l++)
        continuous_free(sim->continuous + l);
    free(sim->continuous);
    free(sim->spots);
    params_free(&sim->params);
    arena_free(&sim->panels_memory);
    arena_free(&sim->lattices_memory);
    arena_free(&sim->tangents_memory);
    arena_free(&sim->normal_memory);
    arena_free(&sim->photons_memory);
    arena_free(&sim->packed_memory);
    arena_free(&sim->other_memory);
    planes_columns_free(&sim->planes.columns);
    arena_free(&sim->plane_columns_memory);
    arena_free(&sim->planes_memory);
    window_free(&sim->window);
    window_free(&sim->lit);
    arena_free(&sim->device.memory);
    arena_free(&sim->device.sums_memory);
    gpu_workspace_drop(&sim->device.images);
    arena_free(&sim->arena);
    free(sim);
}
