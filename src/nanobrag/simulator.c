/*
 * simulator.c - the life of a call:
 *
 *   x -> scene -> frame -> photons -> image
 *
 *   params_unpack   x into the resolved scene                        grad/params.c
 *   scene_derive    the scene to vectors and lists, in double        scene/derive.c
 *   render          the frame to photons, tile by tile or spot by    kernels/
 *                   spot
 *   finish          point spread, ROI and mask                       image/
 *
 * Each line is a pure function of the one before. This is the only file that runs them
 * all; making a simulator and asking it questions live beside it, in create.c and query.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "simulator.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "grad/grad.h"
#include "grad/psf.h"
#include "grad/tangent.h"
#include "kernels/adjoint.h"
#include "kernels/kernels.h"
#include "kernels/spots_vjp.h"

nb_status simulator_scene(nb_simulator *sim, const double *x, nb_scene *scene)
{
    *scene = sim->scene;
    if (!x) return NB_OK;
    NB_TRY(params_check(sim->ctx, &sim->params, scene, x));
    params_unpack(&sim->params, x, &sim->at_x, scene);
    return NB_OK;
}

nb_status simulator_frame(nb_simulator *sim, const double *x, nb_scene *scene,
                          struct phys_frame *frame)
{
    double largest;

    NB_TRY(simulator_scene(sim, x, scene));
    largest = params_write_f(&sim->params, x, sim->box, sim->box_single);
    for (size_t i = 0; i < sim->nunlisted; i++)
        sim->box[sim->unlisted[i]] = scene->crystal.default_f;
    for (size_t i = 0; sim->box_single && i < sim->nunlisted; i++)
        sim->box_single[sim->unlisted[i]] = (float)scene->crystal.default_f;
    NB_TRY(
        scene_derive(sim->ctx, scene, &sim->fixed, sim->sources, sim->orientations, frame));
    frame->f_max = fmax(frame->f_max, largest);
    return NB_OK;
}

static int add_up_to(int a, int b, int most)
{
    return b < most - a ? a + b : most;
}

struct job simulator_job(const nb_simulator *sim, const nb_scene *scene,
                         const struct phys_frame *frame, double *photons)
{
    struct job job;

    job.frame = frame;
    job.spec = sim->spec;
    job.tolerance = sim->policy.tolerance;
    memcpy(job.roi, sim->window.roi, sizeof job.roi);
    job.mask = sim->window.mask;
    if (sim->psf) { /* what lies around the window, and under the mask, gives it light */
        const int reach = scene->psf.radius;

        job.roi[0] -= reach < job.roi[0] ? reach : job.roi[0];
        job.roi[2] -= reach < job.roi[2] ? reach : job.roi[2];
        job.roi[1] = add_up_to(job.roi[1], reach, sim->window.nfast);
        job.roi[3] = add_up_to(job.roi[3], reach, sim->window.nslow);
        job.mask = NULL;
    }
    job.photons = photons;
    return job;
}

static nb_status render(nb_simulator *sim, const struct job *job)
{
    const struct kernel_set *kernels = &sim->policy.kernels;

    if (sim->policy.strategy == NB_SPOTS) {
        const nb_status status = spots_forward(sim->ctx, kernels, job, &sim->spots);

        /* x may have led to where there are too many; whoever left it open gets an image */
        if (status != NB_ERR_MEMORY || !sim->policy.automatic) return status;
    }
    return tiles_forward(sim->ctx, kernels, job);
}

/* pixels that are not rendered stay 0, whatever the point spread carried into them */
static void blank(const struct window *window, double *photons)
{
    for (int s = 0; s < window->nslow; s++)
        for (int f = 0; f < window->nfast; f++) {
            const int inside = f >= window->roi[0] && f < window->roi[1]
                               && s >= window->roi[2] && s < window->roi[3];

            if (!inside || !window_shows(window, s, f))
                photons[(size_t)s * (size_t)window->nfast + (size_t)f] = 0;
        }
}

static void finish(nb_simulator *sim, const nb_scene *scene, double *photons)
{
    if (!sim->psf) return;
    psf_apply(sim->psf, scene->psf.fwhm / scene->detector.pixel, photons);
    blank(&sim->window, photons);
}

nb_status simulator_render(nb_simulator *sim, const nb_scene *scene,
                           const struct phys_frame *frame, double *photons)
{
    const struct job job = simulator_job(sim, scene, frame, photons);

    NB_TRY(render(sim, &job));
    finish(sim, scene, photons);
    return NB_OK;
}

static void deliver(const nb_simulator *sim, const double *photons, nb_array *image)
{
    for (int s = 0; s < sim->window.nslow; s++)
        for (int f = 0; f < sim->window.nfast; f++)
            array_set(image, s, f,
                      photons[(size_t)s * (size_t)sim->window.nfast + (size_t)f]);
}

nb_status nb_forward(nb_simulator *sim, const double *x, nb_array *image)
{
    nb_scene scene;
    struct phys_frame frame;
    double *photons;

    if (!sim) return NB_ERR_ARGUMENT;
    NB_TRY(array_check(sim->ctx, image, "image", sim->window.nslow, sim->window.nfast,
                       NB_FLOAT, 32, 64));
    photons = array_is_dense_f64(image) ? image->data : sim->photons;

    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    NB_TRY(simulator_render(sim, &scene, &frame, photons));
    if (photons != image->data) deliver(sim, photons, image);
    return NB_OK;
}

/* ---- the tangent: the same stages, each with its change ---- */

nb_status simulator_tangent(nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frame, size_t first, size_t n,
                            const double *dx, struct phys_slope *out)
{
    struct crystal_axes axes;
    nb_scene dot;

    params_unpack_change(&sim->params, first, n, dx, scene, &sim->change, &dot);
    NB_TRY(crystal_derive(sim->ctx, scene, &axes));
    scene_derive_tangent(scene, &dot, &sim->fixed, &axes, frame, out);
    for (size_t i = 0; out->f && i < sim->nunlisted; i++)
        out->f[sim->unlisted[i]] = dot.crystal.default_f;
    return NB_OK;
}

/* a tangent over the simulator's own lists */
static struct phys_slope slope_of(const nb_simulator *sim)
{
    struct phys_slope slope = {0};

    slope.source = sim->source_change;
    slope.turn = sim->turn;
    slope.f = sim->box_change;
    return slope;
}

nb_status simulator_derivable(const nb_simulator *sim)
{
    if (sim->params.n == 0)
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "no parameter is free: name some of them in "
                    "nb_simulator_create()");
    if (sim->scene.detector.curved && (sim->scene.quirks & NB_QUIRK_CURVED))
        return fail(sim->ctx, NB_ERR_UNSUPPORTED,
                    "nanoBragg's curved detector has no derivative; leave "
                    "NB_QUIRK_CURVED out");
    return NB_OK;
}

static nb_status check_directions(const nb_simulator *sim, int ndir, const double *dx,
                                  const nb_array *dimage)
{
    NB_TRY(simulator_derivable(sim));
    if (ndir < 1 || !dx || !dimage)
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "a tangent needs directions and images for them");
    for (int i = 0; i < ndir; i++)
        NB_TRY(array_check(sim->ctx, dimage + i, "dimage", sim->window.nslow,
                           sim->window.nfast, NB_FLOAT, 32, 64));
    for (size_t i = 0; i < sim->params.n * (size_t)ndir; i++)
        if (!isfinite(dx[i]))
            return fail(sim->ctx, NB_ERR_ARGUMENT, "dx[%zu] is not a number", i);
    return NB_OK;
}

nb_status simulator_unspread(nb_simulator *sim, const nb_scene *scene,
                             const struct phys_frame *frame)
{
    const struct kernel_set reference = {&kernels_reference, NULL, NULL, NULL,
                                         &pullers_reference, NULL, NULL, NULL};
    const struct job job = simulator_job(sim, scene, frame, sim->unspread);

    return sim->psf ? tiles_forward(sim->ctx, &reference, &job) : NB_OK;
}

static void finish_tangent(nb_simulator *sim, const nb_scene *scene, const double *dx,
                           double *change)
{
    nb_scene dot;

    if (!sim->psf) return;
    params_unpack_change(&sim->params, 0, sim->params.n, dx, scene, &sim->change, &dot);
    psf_tangent(sim->psf, scene, &dot, sim->unspread, change);
    blank(&sim->window, change);
}

nb_status nb_jvp(nb_simulator *sim, const double *x, int ndir, const double *dx,
                 nb_array *dimage)
{
    nb_scene scene;
    struct phys_frame frame;

    if (!sim) return NB_ERR_ARGUMENT;
    NB_TRY(check_directions(sim, ndir, dx, dimage));
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    NB_TRY(simulator_unspread(sim, &scene, &frame));
    for (int i = 0; i < ndir; i++) {
        const struct job job = simulator_job(sim, &scene, &frame, sim->photons);
        struct phys_slope dot = slope_of(sim);

        NB_TRY(simulator_tangent(sim, &scene, &frame, 0, sim->params.n,
                                 dx + (size_t)i * sim->params.n, &dot));
        (void)params_write_f(&sim->params, dx + (size_t)i * sim->params.n, sim->box_change,
                             NULL);
        NB_TRY(tiles_jvp(sim->ctx, &job, &dot));
        finish_tangent(sim, &scene, dx + (size_t)i * sim->params.n, sim->photons);
        deliver(sim, sim->photons, dimage + i);
    }
    return NB_OK;
}

/* ---- the adjoint: photons pull on the frame, and the frame on the parameters ---- */

nb_status simulator_gather(nb_simulator *sim, const nb_scene *scene,
                           const struct phys_frame *frame, const struct phys_slope *bar,
                           double *bar_x)
{
    static const double one = 1;

    for (size_t i = 0; i < sim->params.n; i++) {
        struct phys_slope dot = slope_of(sim);

        if (params_is_f(&sim->params, i)) continue;
        NB_TRY(simulator_tangent(sim, scene, frame, i, 1, &one, &dot));
        bar_x[i] += phys_slope_inner(frame->nsource, frame->norientation, bar, &dot);
        for (size_t k = 0; dot.default_f != 0 && k < sim->nunlisted; k++)
            bar_x[i] += bar->f[sim->unlisted[k]];
    }
    params_gather_f(&sim->params, bar->f, bar_x);
    return NB_OK;
}

nb_status simulator_pull_back(nb_simulator *sim, const nb_scene *scene,
                              const struct phys_frame *frame, const struct pull *pull)
{
    const struct job job = simulator_job(sim, scene, frame, NULL);
    const struct kernel_set *kernels = &sim->policy.kernels;

    if (sim->policy.strategy == NB_SPOTS) {
        const nb_status status =
            spots_vjp(sim->ctx, kernels, &job, pull, &sim->adjoint, &sim->spots);

        if (status != NB_ERR_MEMORY || !sim->policy.automatic) return status;
    }
    return adjoint_run(sim->ctx, kernels, &job, pull, &sim->adjoint);
}

/* an image, or several of the same shape, beside each other */
struct images {
    size_t nfast;
    const nb_array *bar;
};

static double pull_image(const void *user, size_t first, int n, const double *photons,
                         double *bar, double *weight)
{
    const struct images *images = user;
    const int64_t s = (int64_t)(first / images->nfast);
    const int64_t f = (int64_t)(first % images->nfast);

    (void)photons;
    if (weight) memset(weight, 0, (size_t)n * sizeof *weight); /* it has no curvature */
    array_row(images->bar, s, f, n, bar);
    return 0;
}

/* back through ROI, mask and point spread: the cotangent of the photons before it goes to
 * sim->photons, that of its width to `bar` */
static void finish_adjoint(nb_simulator *sim, const nb_scene *scene,
                           const nb_array *bar_image, nb_scene *bar)
{
    const size_t nfast = (size_t)sim->window.nfast;

    for (int s = 0; s < sim->window.nslow; s++)
        array_row(bar_image, s, 0, sim->window.nfast, sim->photons + (size_t)s * nfast);
    blank(&sim->window, sim->photons);
    psf_adjoint(sim->psf, scene, sim->unspread, sim->photons, bar);
}

/* bar_x += what the width of the point spread says about each parameter */
static void gather_spread(nb_simulator *sim, const nb_scene *scene, const nb_scene *bar,
                          double *bar_x)
{
    static const double one = 1;

    for (size_t i = 0; i < sim->params.n; i++) {
        nb_scene dot;

        if (params_is_f(&sim->params, i)) continue;
        params_unpack_change(&sim->params, i, 1, &one, scene, &sim->change, &dot);
        bar_x[i] += bar->psf.fwhm * dot.psf.fwhm + bar->detector.pixel * dot.detector.pixel;
    }
}

nb_status simulator_vjp(nb_simulator *sim, const nb_scene *scene,
                        const struct phys_frame *frame, const nb_array *bar_image,
                        double *bar_x)
{
    const nb_array before =
        nb_array_f64(sim->photons, sim->window.nslow, sim->window.nfast);
    const struct images images = {(size_t)sim->window.nfast,
                                  sim->psf ? &before : bar_image};
    const struct pull pull = {pull_image, &images, 1, NULL};
    nb_scene spread = {0};

    if (sim->psf) finish_adjoint(sim, scene, bar_image, &spread);
    NB_TRY(simulator_pull_back(sim, scene, frame, &pull));
    NB_TRY(simulator_gather(sim, scene, frame, sim->adjoint.bar, bar_x));
    if (sim->psf) gather_spread(sim, scene, &spread, bar_x);
    return NB_OK;
}

nb_status nb_vjp(nb_simulator *sim, const double *x, int ncot, const nb_array *bar_image,
                 double *bar_x)
{
    nb_scene scene;
    struct phys_frame frame;

    if (!sim) return NB_ERR_ARGUMENT;
    NB_TRY(simulator_derivable(sim));
    if (ncot < 1 || !bar_image || !bar_x)
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "an adjoint needs cotangent images and gradients for them");
    for (int i = 0; i < ncot; i++)
        NB_TRY(array_check(sim->ctx, bar_image + i, "bar_image", sim->window.nslow,
                           sim->window.nfast, NB_FLOAT, 32, 64));
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    NB_TRY(simulator_unspread(sim, &scene, &frame));
    for (int i = 0; i < ncot; i++)
        NB_TRY(simulator_vjp(sim, &scene, &frame, bar_image + i,
                             bar_x + (size_t)i * sim->params.n));
    return NB_OK;
}
