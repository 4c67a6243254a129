/*
 * api/query.c - the calls that report on a simulator: its parameters, its resolved scene,
 * the terms of one pixel, and the statistics of an image.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "backend/backend.h"
#include "base/array.h"
#include "base/context.h"
#include "base/floats.h"
#include "grad/grad.h"
#include "image/solid_angle.h"
#include "image/statistics.h"
#include "kernels/trace.h"
#include "scene/beam.h"
#include "scene/detector/detector.h"
#include "scene/sampling.h"
#include "simulator.h"

const char *nb_version(void)
{
    return NANOBRAG_VERSION;
}

const char *nb_features(void)
{
    return ""
#ifdef _OPENMP
           "openmp "
#endif
#ifdef NANOBRAG_FFTW
           "fftw "
#endif
#ifdef NANOBRAG_PNG
           "png "
#endif
#ifdef NANOBRAG_CJSON
           "cjson "
#endif
#ifdef NANOBRAG_LAPACK
           "lapack "
#endif
#ifdef NANOBRAG_NLOPT
           "nlopt "
#endif
#ifdef NANOBRAG_GEMMI
           "gemmi "
#endif
#ifdef NANOBRAG_HDF5
           "hdf5 "
#endif
#ifdef NANOBRAG_BZIP2
           "bzip2 "
#endif
#ifdef NANOBRAG_CUDA
           "cuda "
#endif
           "double single";
}

size_t nb_simulator_nparam(const nb_simulator *sim)
{
    return sim ? sim->params.n : 0;
}

size_t nb_simulator_ndense(const nb_simulator *sim)
{
    return sim ? params_dense(&sim->params) : 0;
}

nb_status nb_simulator_param(const nb_simulator *sim, size_t i, nb_param *out)
{
    if (!sim || !out) return NB_ERR_ARGUMENT;
    if (i >= sim->params.n)
        return fail(sim->ctx, NB_ERR_ARGUMENT, "parameter %zu of %zu", i, sim->params.n);
    params_describe(&sim->params, &sim->scene, i, out);
    return NB_OK;
}

nb_status nb_simulator_select(const nb_simulator *sim, const char *names, size_t room,
                              size_t *index, size_t *n)
{
    if (!sim || !names || !n || (room > 0 && !index)) return NB_ERR_ARGUMENT;
    return params_find(sim->ctx, &sim->scene, &sim->params, names, room, index, n);
}

nb_status nb_simulator_resolved(const nb_simulator *sim, const double *x, nb_scene *out)
{
    STANDARD_FLOATS;
    if (!sim || !out) return NB_ERR_ARGUMENT;
    if (x) NB_TRY(params_check(sim->ctx, &sim->params, &sim->scene, x));
    *out = sim->scene;
    (void)params_write_f(&sim->params, x, sim->listed, NULL);
    if (!x) return NB_OK;
    params_unpack(&sim->params, x, &sim->resolved, out);
    /* The numbers of steps are fixed, so their lengths follow the ranges. The phi step
     * stays 0 if phi is integrated. */
    if (out->scan.step != 0) out->scan.step = sampling_step(&sim->fixed.phi, out->scan.osc);
    for (int i = 0; i < 2; i++)
        out->beam.divergence_step[i] =
            sampling_step(&sim->fixed.divergence[i], out->beam.divergence[i]);
    return NB_OK;
}

static void describe_policy(const nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frame, nb_description *out)
{
    const struct policy *policy = &sim->policy;
    const struct job job = simulator_job(sim, scene, frame, NULL);
    const int spots = policy->strategy == NB_STRATEGY_SPOTS;
    struct tiles_summary tiles = {0};

    if (spots && policy->kernels.single)
        tiles.rounding = spots_rounding(frame, sim->spec, policy->tolerance);
    else if (spots)
        tiles.rounding = spots_rounding_double(frame, sim->spec);
    else
        tiles = tiles_survey(&policy->kernels, &job);
    out->strategy = policy->strategy;
    out->strategy_why = policy->why;
    out->kernel = policy->kernels.precise->name;
    out->device = sim->device.name;
    out->device_why = sim->device.why;
    out->derivatives_why = backend_derivatives_why(sim);
    out->derivatives = out->derivatives_why && sim->device.scene.gpu ? "cpu" : out->device;
    if (!out->derivatives_why) out->derivatives_why = "the same as images";
    out->precision = NB_PRECISION_DOUBLE;
    if (policy->kernels.single && (spots || tiles.precise < tiles.tiles))
        out->precision = NB_PRECISION_SINGLE;
    out->tolerance = policy->tolerance;
    out->rounding = tiles.rounding;
    out->tiles = tiles.tiles;
    out->tiles_small = tiles.divided;
    out->tiles_double = tiles.precise;
}

nb_status nb_simulator_describe(nb_simulator *sim, const double *x, nb_description *out)
{
    STANDARD_FLOATS;
    nb_scene scene;
    const struct phys_frame *frame;

    if (!sim || !out) return NB_ERR_ARGUMENT;
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    NB_TRY(scene_describe(sim->ctx, &scene, &sim->fixed, out));
    describe_policy(sim, &scene, frame, out);
    if (sim->scene.crystal.hkl && sim->spec.lookup == PHYS_NEAREST)
        out->interpolate = NB_LOOKUP_NEAREST;
    out->pixels = sim->window.count;
    out->evaluations = (double)out->pixels * frame->oversample * frame->oversample
                       * frame->nlayers * frame->nsource * frame->norientation
                       * lattices_count(&scene);
    return NB_OK;
}

nb_status nb_simulator_source(nb_simulator *sim, const double *x, int i, nb_source *out,
                              double *deviation)
{
    STANDARD_FLOATS;
    nb_scene scene;
    struct phys_source source;

    if (!sim || !out) return NB_ERR_ARGUMENT;
    if (i < 0 || i >= sim->fixed.nsource)
        return fail(sim->ctx, NB_ERR_ARGUMENT, "source %d of %d", i, sim->fixed.nsource);
    NB_TRY(simulator_scene(sim, x, &scene));
    NB_TRY(beam_source(sim->ctx, &scene, &sim->fixed, i, &source));
    memcpy(out->direction, source.direction, sizeof out->direction);
    out->wavelength = 1 / source.inverse_wavelength;
    out->weight =
        scene.beam.nsource > 0 ? scene.beam.source[i].weight : 1.0 / sim->fixed.nsource;
    if (deviation) beam_deviation(&scene, &sim->fixed, i, deviation);
    return NB_OK;
}

nb_status nb_simulator_orientation(nb_simulator *sim, const double *x, int i, int j,
                                   double out[9])
{
    STANDARD_FLOATS;
    nb_scene scene;
    const struct phys_frame *frame;

    if (!sim || !out) return NB_ERR_ARGUMENT;
    if (i < 0 || i >= sim->scene.scan.nphi || j < 0 || j >= sim->scene.crystal.ndomains)
        return fail(sim->ctx, NB_ERR_ARGUMENT, "phi step %d of %d, domain %d of %d", i,
                    sim->scene.scan.nphi, j, sim->scene.crystal.ndomains);
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    memcpy(out,
           frame->orientation[(size_t)i * (size_t)sim->scene.crystal.ndomains + (size_t)j]
               .axes,
           9 * sizeof *out);
    return NB_OK;
}

static nb_status check_panel(const nb_simulator *sim, int i)
{
    const int n = window_panels(&sim->window);

    if (i >= 0 && i < n) return NB_OK;
    return fail(sim->ctx, NB_ERR_ARGUMENT, "panel %d of %d", i, n);
}

nb_status nb_simulator_panel(nb_simulator *sim, const double *x, int i, nb_panel *out)
{
    STANDARD_FLOATS;
    const nb_detector *d;
    struct detector_place place;
    nb_scene scene;

    if (!sim || !out) return NB_ERR_ARGUMENT;
    NB_TRY(check_panel(sim, i));
    NB_TRY(simulator_scene(sim, x, &scene));
    d = &scene.detector;
    NB_TRY(detector_derive(sim->ctx, &scene, sim->fixed.middle, i, &place));
    memset(out, 0, sizeof *out);
    if (d->npanel > 0) *out = d->panel[i];
    out->group = 0;
    out->nfast = place.nfast;
    out->nslow = place.nslow;
    out->pixel = panels_pixel(d, i);
    for (int k = 0; k < 3; k++) {
        out->origin[k] = 1000 * place.pix0[k];
        out->fast[k] = place.fast[k];
        out->slow[k] = place.slow[k];
        out->shift[k] = out->rotation[k] = 0;
    }
    return NB_OK;
}

nb_status nb_simulator_trace(nb_simulator *sim, const double *x, int panel, int slow,
                             int fast, nb_pixel_trace *out)
{
    STANDARD_FLOATS;
    nb_scene scene;
    const struct phys_frame *frame;
    const struct window *window;
    struct trace t;

    if (!sim || !out) return NB_ERR_ARGUMENT;
    NB_TRY(check_panel(sim, panel));
    window = window_panel(&sim->window, panel);
    if (slow < 0 || slow >= window->nslow || fast < 0 || fast >= window->nfast)
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "pixel %d %d (fast slow) lies outside the %s of %d x %d", fast, slow,
                    sim->window.npanel > 0 ? "panel" : "image", window->nfast,
                    window->nslow);
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    trace_pixel(frame + panel, sim->spec, slow, fast, &t);
    memset(out, 0, sizeof *out);
    out->stol = t.stol;
    memcpy(out->position, t.position, sizeof out->position);
    memcpy(out->h, t.h, sizeof out->h);
    memcpy(out->hkl, t.hkl, sizeof out->hkl);
    out->f_cell = t.f_cell;
    out->f_latt = t.f_latt;
    out->sum = t.sum;
    out->steps = (double)frame->oversample * frame->oversample * frame->nsource
                 * frame->norientation;
    out->polarization = t.polarization;
    out->omega = t.omega;
    out->capture = t.capture;
    out->intensity = t.photons;
    memcpy(out->axes, t.axes, sizeof out->axes);
    for (int l = 1; l < lattices_count(&scene); l++) {
        frame += window_panels(&sim->window);
        trace_pixel(frame + panel, sim->spec, slow, fast, &t);
        out->intensity += t.photons;
    }
    return NB_OK;
}

/* Returns the solid angle of the rendered pixels of panel i, in steradian. `job` renders
 * the whole image. */
static double solid_angle_of_panel(const nb_simulator *sim, const struct job *job, int i)
{
    const struct job panel = job_of_panel(job, i);
    double sum;

    if (solid_angle_of_rows(panel.window, panel.frame, &sum)) return sum;
    return tiles_solid_angle(sim->policy.kernels.precise, &panel, sim->ctx->threads,
                             sim->rows_of_image);
}

nb_status nb_statistics_get(nb_simulator *sim, const double *x, const nb_array *image,
                            nb_statistics *out)
{
    STANDARD_FLOATS;
    nb_scene scene;
    const struct phys_frame *frame;
    struct job job;
    int quirk, at[2];
    double sub;

    if (!sim || !out) return NB_ERR_ARGUMENT;
    NB_TRY(array_check(sim->ctx, image, "image", sim->window.nslow, sim->window.nfast,
                       NB_TYPE_FLOAT, 32, 64));
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    quirk = (scene.quirks & NB_QUIRK_STATISTICS) != 0;
    statistics_of(&sim->window, image, quirk, out, at);
    out->max_slow = out->max_fast = 0;
    out->max_panel = 0;
    if (at[0] >= 0 && sim->window.npanel > 0) {
        const struct window *panel = window_at(&sim->window, at[0], at[1]);

        out->max_panel = (int)(panel - sim->window.panel);
        at[0] -= panel->slow0;
        at[1] -= panel->fast0;
    }
    sub = panels_pixel(&scene.detector, out->max_panel) / frame->oversample;
    /* The place of a maximum is the centre of its pixel's last sub-pixel. */
    if (at[0] >= 0) {
        out->max_slow = sub * ((at[0] + 1.0) * frame->oversample - 0.5);
        out->max_fast = sub * ((at[1] + 1.0) * frame->oversample - 0.5);
    }
    job = simulator_job(sim, &scene, frame, NULL);
    /* Pixels of the margin for a point spread do not count. */
    job.window = &sim->window;
    out->solid_angle = 0;
    for (int i = 0; i < window_panels(&sim->window); i++)
        out->solid_angle += solid_angle_of_panel(sim, &job, i);
    /* nanoBragg sums over all steps, then divides by sources x phi steps x domains, but not
     * by layers. */
    if (quirk)
        out->solid_angle *= frame->nlayers / ((double)frame->nsource * frame->norientation);
    return NB_OK;
}
