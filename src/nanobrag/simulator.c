/*
 * simulator.c - the image and its derivatives, in stages. Each stage is computed from the
 * result of the stage before it:
 *
 *   x -> scene -> frame -> photons -> image
 *
 *   stage            what it computes                its tangent, its adjoint
 *   simulator_frame  the resolved scene at x, and    simulator_tangent,
 *                    vectors and lists of its frame  simulator_frame_adjoint
 *   backend_run      photons of the frame            BACKEND_JACOBIAN, BACKEND_ADJOINT
 *   finish           point spread, ROI and mask      finish_tangent, finish_adjoint
 *
 * nb_jvp() runs the tangents in this order, nb_vjp() the adjoints in reverse order.
 * simulator_frame() is in state/frame_at_x.c; backend_run() also calls its adjoint.
 * api/loss.c and api/batch.c run the same stages.
 *
 * SPDX-License-Identifier: MIT
 */
#include "simulator.h"

#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "base/array.h"
#include "base/context.h"
#include "base/floats.h"
#include "grad/psf.h"
#include "grad/tangent.h"
#include "kernels/grid.h"
#include "scene/detector/detector.h"

static nb_status render(nb_simulator *sim, const nb_scene *scene,
                        const struct phys_frame *frame, double *photons)
{
    struct request request = backend_request(BACKEND_FORWARD, sim, scene, frame);

    request.photons = photons;
    return backend_run(&request);
}

/* Set the pixels outside the ROI and under the mask to 0, because the point spread may have
 * carried light to them. */
static void blank(const struct window *window, double *photons)
{
    for (int s = 0; s < window->nslow; s++)
        for (int f = 0; f < window->nfast; f++)
            if (!window_shows(window, s, f))
                photons[(size_t)s * (size_t)window->nfast + (size_t)f] = 0;
}

static void finish(nb_simulator *sim, const nb_scene *scene, double *photons)
{
    if (!sim->psf) return;
    for (int i = 0; i < detector_panels(&scene->detector); i++) {
        const struct psf_panel area = psf_panel_of(&scene->detector, i);

        psf_apply(sim->psf, &area, scene->psf.fwhm / area.pixel, photons);
    }
    blank(&sim->window, photons);
}

nb_status simulator_render(nb_simulator *sim, const nb_scene *scene,
                           const struct phys_frame *frame, double *photons)
{
    NB_TRY(render(sim, scene, frame, photons));
    finish(sim, scene, photons);
    return NB_OK;
}

/* Render into an image on the device, which the backend writes in place. */
static nb_status render_in_place(nb_simulator *sim, const nb_scene *scene,
                                 const struct phys_frame *frame, const nb_array *image)
{
    struct request request = backend_request(BACKEND_FORWARD, sim, scene, frame);

    request.output = image;
    return backend_run(&request);
}

/* Write the packed photons of a job (base/window.h) to an image. The photons of a tile with
 * dark[t] = 1 are 0. */
static void unpack(const struct job *job, const unsigned char *dark, const nb_array *image)
{
    const int count = grid_count(job);

    if (!window_is_whole(job->window) || memchr(dark, 1, (size_t)count)) array_zero(image);
    for (int t = 0; t < count; t++) {
        double photons[TILE_PIXELS];
        struct shown_pixels shown;

        if (dark[t]) continue;

        const struct tile tile = grid_tile(job, t);
        const struct job panel = job_of_panel(job, tile.panel);
        const int slow = panel.window->slow0 + tile.slow;
        const int fast = panel.window->fast0 + tile.fast;

        grid_read(&panel, &tile, photons);
        if (grid_is_full(&tile)) {
            for (int r = 0; r < tile.height; r++)
                array_set_row(image, slow + r, fast, tile.width,
                              photons + (ptrdiff_t)r * tile.width);
            continue;
        }
        grid_list(&tile, &shown);
        for (int i = 0; i < shown.n; i++)
            array_set(image, slow + shown.pixel[i] / TILE_FAST,
                      fast + shown.pixel[i] % TILE_FAST, photons[i]);
    }
}

/* Render into an image that is not dense float64. With a point spread or a device, the
 * photons are first computed as a dense image, otherwise packed in tiles. */
static nb_status render_converted(nb_simulator *sim, const nb_scene *scene,
                                  const struct phys_frame *frame, const nb_array *image)
{
    struct request request = backend_request(BACKEND_FORWARD, sim, scene, frame);
    struct job job = simulator_job(sim, scene, frame, NULL);

    if (sim->psf || sim->device.scene.gpu) {
        NB_TRY(simulator_photons(sim));
        NB_TRY(simulator_render(sim, scene, frame, sim->photons));
        array_write(image, sim->photons);
        return NB_OK;
    }
    NB_TRY(simulator_packed(sim, &job));
    request.photons = job.photons;
    request.packed = 1;
    request.dark = sim->dark;
    memset(sim->dark, 0, (size_t)grid_count(&job));
    NB_TRY(backend_run(&request));
    unpack(&job, sim->dark, image);
    return NB_OK;
}

nb_status simulator_forward(nb_simulator *sim, const double *x, nb_array *image)
{
    nb_scene scene;
    const struct phys_frame *frame;

    if (!image) return fail(sim->ctx, NB_ERR_ARGUMENT, "image: no array was given");
    NB_TRY(backend_check_output(sim, image));
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    if (array_is_on_device(image)) return render_in_place(sim, &scene, frame, image);
    if (!array_is_dense_f64(image)) return render_converted(sim, &scene, frame, image);
    return simulator_render(sim, &scene, frame, image->data);
}

nb_status nb_forward(nb_simulator *sim, const double *x, nb_array *image)
{
    STANDARD_FLOATS;
    if (!sim) return NB_ERR_ARGUMENT;
    progress_begin(&sim->progress, sim->ctx);
    return simulator_forward(sim, x, image);
}

/* ---- nb_jvp(): the tangent of each stage, in order ---- */

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
                           sim->window.nfast, NB_TYPE_FLOAT, 32, 64));
    for (size_t i = 0; i < sim->params.n * (size_t)ndir; i++)
        if (!isfinite(dx[i]))
            return fail(sim->ctx, NB_ERR_ARGUMENT, "dx[%zu] is not a number", i);
    return NB_OK;
}

int simulator_widens(const nb_simulator *sim)
{
    return sim->psf
           && (params_has(&sim->params, "psf_fwhm") || params_has(&sim->params, "pixel"));
}

nb_status simulator_unspread(nb_simulator *sim, const nb_scene *scene,
                             const struct phys_frame *frame)
{
    return simulator_widens(sim) ? render(sim, scene, frame, sim->unspread) : NB_OK;
}

static void finish_tangent(nb_simulator *sim, const nb_scene *scene, const double *dx,
                           double *change)
{
    nb_scene dot;

    params_unpack_change(&sim->params, 0, sim->params.n, dx, scene, &sim->change, &dot);
    psf_tangent(sim->psf, scene, &dot, sim->unspread, change);
    blank(&sim->window, change);
}

static void take_tangents(struct arena *arena, void *user)
{
    nb_simulator *sim = user;
    struct tangents_work *t = &sim->tangents;
    const struct jacobian_sizes n = simulator_jacobian_sizes(sim, TANGENTS_AT_ONCE, 1);

    jacobian_take(arena, &n, &t->jacobian);
    t->f_dot = arena_take(arena, TANGENTS_AT_ONCE * (n.f + 1), sizeof *t->f_dot);
}

static nb_status make_tangents(nb_simulator *sim)
{
    if (sim->tangents.f_dot) return NB_OK;
    if (!arena_build(&sim->tangents_memory, take_tangents, sim))
        return fail_memory(sim->ctx, "tangents");
    simulator_assign_places(sim, &sim->tangents.jacobian);
    return NB_OK;
}

/* Write the tangents of the frames of all lattices along n directions dx (n x nparam) to
 * sim->tangents. */
static nb_status find_tangents(nb_simulator *sim, const nb_scene *scene,
                               const struct phys_frame *frame, int n, const double *dx)
{
    const struct params *params = &sim->params;
    struct tangents_work *t = &sim->tangents;
    const struct jacobian_work *work = &t->jacobian;
    struct lattice_at at;

    for (int l = 0; work; work = work->next) {
        NB_TRY(simulator_lattice(sim, scene, frame, l++, &at));
        for (int d = 0; d < n; d++)
            simulator_tangent(sim, &at, 0, params->n, dx + (size_t)d * params->n,
                              work->dot + d);
        simulator_directions_on_panels(sim, scene, n, dx, work);
    }
    for (int d = 0; d < n; d++) {
        const double *along = dx + (size_t)d * params->n;

        for (size_t i = 0; params->f.n > 0 && i < params->n; i++)
            if (params_is_f(params, i))
                t->f_dot[(size_t)d * params->f.n + (size_t)params->at[i].index] = along[i];
    }
    return NB_OK;
}

/* Write the tangents of the photons before the point spread to n images `change`, along n
 * directions dx; n is at most TANGENTS_AT_ONCE. */
static nb_status change_photons(nb_simulator *sim, const nb_scene *scene,
                                const struct phys_frame *frame, int n, const double *dx,
                                nb_array *change)
{
    struct request request = backend_request(BACKEND_JACOBIAN, sim, scene, frame);

    request.n = n;
    request.change = change;
    NB_TRY(find_tangents(sim, scene, frame, n, dx));
    return backend_run(&request);
}

nb_status simulator_changes(nb_simulator *sim, const nb_scene *scene,
                            const struct phys_frame *frame, int n, const double *dx,
                            nb_array *change)
{
    NB_TRY(make_tangents(sim));
    for (int i = 0; i < n; i += TANGENTS_AT_ONCE) {
        const int some = n - i < TANGENTS_AT_ONCE ? n - i : TANGENTS_AT_ONCE;

        NB_TRY(change_photons(sim, scene, frame, some, dx + (size_t)i * sim->params.n,
                              change + i));
    }
    for (int i = 0; sim->psf && i < n; i++)
        finish_tangent(sim, scene, dx + (size_t)i * sim->params.n, change[i].data);
    return NB_OK;
}

static int are_dense(int n, const nb_array *images)
{
    for (int i = 0; i < n; i++)
        if (!array_is_dense_f64(images + i)) return 0;
    return 1;
}

nb_status nb_jvp(nb_simulator *sim, const double *x, int ndir, const double *dx,
                 nb_array *dimage)
{
    STANDARD_FLOATS;
    nb_array change;
    nb_scene scene;
    const struct phys_frame *frame;

    if (!sim) return NB_ERR_ARGUMENT;
    progress_begin(&sim->progress, sim->ctx);
    NB_TRY(check_directions(sim, ndir, dx, dimage));
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    /* Without a point spread, or if all images are dense, the tangents are computed in the
     * caller's images. */
    if (!sim->psf || are_dense(ndir, dimage)) {
        progress_passes(&sim->progress,
                        simulator_widens(sim)
                            + (ndir + TANGENTS_AT_ONCE - 1) / TANGENTS_AT_ONCE);
        NB_TRY(simulator_unspread(sim, &scene, frame));
        return simulator_changes(sim, &scene, frame, ndir, dx, dimage);
    }
    progress_passes(&sim->progress, simulator_widens(sim) + ndir);
    NB_TRY(simulator_unspread(sim, &scene, frame));
    NB_TRY(simulator_photons(sim));
    change = nb_array_f64(sim->photons, sim->window.nslow, sim->window.nfast);
    for (int i = 0; i < ndir; i++) {
        NB_TRY(simulator_changes(sim, &scene, frame, 1, dx + (size_t)i * sim->params.n,
                                 &change));
        array_write(dimage + i, sim->photons);
    }
    return NB_OK;
}

/* ---- nb_vjp(): the adjoint of each stage, in reverse order ---- */

/* Apply the adjoint of ROI, mask and point spread. sim->photons receives the cotangent of
 * the photons before the point spread; `bar` receives the cotangents of fwhm and pixel
 * size. */
static void finish_adjoint(nb_simulator *sim, const nb_scene *scene,
                           const nb_array *bar_image, nb_scene *bar)
{
    const size_t nfast = (size_t)sim->window.nfast;

    for (int s = 0; s < sim->window.nslow; s++)
        array_row(bar_image, s, 0, sim->window.nfast, sim->photons + (size_t)s * nfast);
    blank(&sim->window, sim->photons);
    psf_adjoint(sim->psf, scene, simulator_widens(sim) ? sim->unspread : NULL, sim->photons,
                bar);
}

/* Write to sim->gradient the derivatives of L by the parameters. `bar` has the derivatives
 * of L by the photons before the point spread. */
static nb_status photons_adjoint(nb_simulator *sim, const nb_scene *scene,
                                 const struct phys_frame *frame, const nb_array *bar)
{
    struct request request = backend_request(BACKEND_ADJOINT, sim, scene, frame);

    request.objective.cotangent = bar;
    return backend_run(&request);
}

void simulator_add_gradient(const nb_simulator *sim, double *bar_x)
{
    const double *dense = sim->gradient.dense;

    for (size_t i = 0; i < sim->params.n; i++)
        if (!params_is_f(&sim->params, i)) bar_x[i] += *dense++;
    params_gather_f(&sim->params, sim->gradient.f, bar_x);
}

/* Add to bar_x the part of the gradient that comes from the width of the point spread in
 * pixels, which is fwhm over pixel size. */
static void add_spread(nb_simulator *sim, const nb_scene *scene, const nb_scene *bar,
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
    nb_array bar_photons = *bar_image;
    nb_scene bar = {0};

    if (sim->psf) {
        NB_TRY(simulator_photons(sim));
        finish_adjoint(sim, scene, bar_image, &bar);
        bar_photons = nb_array_f64(sim->photons, sim->window.nslow, sim->window.nfast);
    }
    NB_TRY(photons_adjoint(sim, scene, frame, &bar_photons));
    simulator_add_gradient(sim, bar_x);
    if (sim->psf) add_spread(sim, scene, &bar, bar_x);
    return NB_OK;
}

nb_status nb_vjp(nb_simulator *sim, const double *x, int ncot, const nb_array *bar_image,
                 double *bar_x)
{
    STANDARD_FLOATS;
    nb_scene scene;
    const struct phys_frame *frame;

    if (!sim) return NB_ERR_ARGUMENT;
    progress_begin(&sim->progress, sim->ctx);
    NB_TRY(simulator_derivable(sim));
    if (ncot < 1 || !bar_image || !bar_x)
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "an adjoint needs cotangent images and gradients for them");
    for (int i = 0; i < ncot; i++)
        NB_TRY(backend_check_input(sim, bar_image + i, "bar_image", 1));
    NB_TRY(simulator_frame(sim, x, &scene, &frame));
    progress_passes(&sim->progress, simulator_widens(sim) + ncot);
    NB_TRY(simulator_unspread(sim, &scene, frame));
    for (int i = 0; i < ncot; i++)
        NB_TRY(simulator_vjp(sim, &scene, frame, bar_image + i,
                             bar_x + (size_t)i * sim->params.n));
    return NB_OK;
}
