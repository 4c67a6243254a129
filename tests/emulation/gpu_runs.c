/* gpu_runs.c - see gpu_runs.h. SPDX-License-Identifier: MIT */
#include "emulation/gpu_runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emulation/emulated.h"
#include "gpu/text/loss_parameters.h"
#include "kernels/grid.h"
#include "kernels/rounding.h"
#include "physics/step.h"
#include "support/plant.h"
#include "support/renders.h"
#include "support/tap.h"
#include "support/worst.h"

/* ---- jobs ---- */

struct gpu_case *gpu_case_open(const nb_scene *scene)
{
    const nb_options options = {NB_SINGLE, NB_LANES, 0};
    struct gpu_case *c = calloc(1, sizeof *c);
    const struct phys_frame *frame;

    if (!c) abort();
    c->ctx = renders_context(1);
    if (nb_simulator_create(c->ctx, scene, NULL, &options, &c->sim) != NB_OK
        || simulator_frame(c->sim, NULL, &c->scene, &frame) != NB_OK) {
        tap_check(0, "a case: %s", nb_context_message(c->ctx));
        exit(1);
    }
    c->frame = *frame;
    c->job = simulator_job(c->sim, &c->scene, &c->frame, NULL);
    return c;
}

void gpu_case_close(struct gpu_case *c)
{
    nb_simulator_free(c->sim);
    nb_context_free(c->ctx);
    free(c);
}

static int on_cpu(struct gpu_case *c, const struct kernels *kernels, double *photons)
{
    const struct kernel_set set = {.precise = kernels};
    struct progress progress;

    progress_begin(&progress, c->ctx);
    c->job.photons = photons;
    if (tiles_forward(&progress, &set, &c->job) == NB_OK) return 1;
    return tap_check(0, "%s: %s", kernels->name, nb_context_message(c->ctx));
}

int gpu_case_reference(struct gpu_case *c, double *photons)
{
    return on_cpu(c, &kernels_reference, photons);
}

int gpu_case_lanes(struct gpu_case *c, double *photons)
{
    return on_cpu(c, kernels_lanes("").precise, photons);
}

/* ---- parameters ---- */

static int up(int a, int b)
{
    return (a + b - 1) / b;
}

int gpu_case_parts(const struct gpu_case *c)
{
    const struct rounding rounding = rounding_of(&c->frame, c->job.spec);

    for (int parts = 1; parts <= 2; parts++) {
        struct worst off = {0};

        for (int s = 0; s < c->frame.nslow; s += GPU_SLOW)
            for (int f = 0; f < c->frame.nfast; f += GPU_FAST) {
                const struct tile tile = grid_whole(f, s, GPU_FAST, GPU_SLOW);

                worst_add(&off, rounding_single(&rounding, &tile, parts), 0, 1);
            }
        if (off.error <= 1e-5) return parts;
    }
    return 0;
}

/* beyond this rho the profile is 0 to the bit; below 0: nowhere */
static double cut_of(const struct job *job, int single)
{
    const double fudge = job->frame->fudge, lowest = single ? 43 : 354;

    if (fudge <= 0) return -1;
    if (job->spec.shape == PHYS_GAUSS) return sqrt(0.63 * lowest / fudge);
    return job->spec.shape == PHYS_TOPHAT ? sqrt(0.3969 / fudge) : -1;
}

/* rho^2 of a scattering vector of length 1 is at most the trace of A^T G A */
static double stretch_of(const struct phys_frame *frame)
{
    const double *m = frame->metric, *rows = frame->orientation[0].axes;
    double trace = 0;

    for (int i = 0; i < 3; i++) {
        const double h = rows[i], k = rows[3 + i], l = rows[6 + i];

        trace += m[0] * h * h + m[1] * k * k + m[2] * l * l + m[3] * h * k + m[4] * h * l
                 + m[5] * k * l;
    }
    return sqrt(trace);
}

static double edges_of(const struct phys_frame *frame)
{
    double most = 0, sum = 0;

    for (int i = 0; i < frame->nsource; i++)
        most = fmax(most, frame->source[i].inverse_wavelength);
    for (int i = 0; i < 3; i++) {
        const double *a = frame->orientation[0].axes + 3 * (size_t)i;

        sum += sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    }
    return sum * most;
}

static struct gpu_parameters parameters_of(const struct gpu_case *c,
                                           const struct gpu_way *way)
{
    const struct phys_frame *frame = &c->frame;
    struct gpu_parameters p;

    memset(&p, 0, sizeof p);
    p.frame = *frame;
    p.factor = phys_constant_factor(c->job.spec, frame);
    p.cut = way->cut < 0 ? -1 : cut_of(&c->job, way->single);
    p.stretch = p.cut < 0 ? 0 : stretch_of(frame);
    if (way->cut > 0) {
        p.cut *= way->cut;
        p.stretch *= way->cut;
    }
    p.edges = edges_of(frame);
    memcpy(p.roi, c->job.roi, sizeof p.roi);
    p.stride = frame->nfast;
    p.parts = way->parts ? way->parts : gpu_case_parts(c);
    p.first_slow = GPU_SLOW * way->first_row;
    p.across = up(frame->nfast, GPU_FAST);
    p.down = way->rows ? way->rows : up(frame->nslow, GPU_SLOW);
    p.segments = up(frame->nsource * frame->norientation, SEGMENT);
    return p;
}

/* ---- runs ---- */

/* what a run holds of the device */
struct held {
    nb_context *ctx;
    void *device;
    gpu_address address[8];
    int n;
};

/* n bytes on the device; `from` NULL: nothing is copied there. Failures abort: they are
 * not what is tested here */
static gpu_address keep(struct held *held, const void *from, size_t bytes)
{
    gpu_address at;

    if (gpu_emulated.allocate(held->ctx, held->device, bytes, &at) != NB_OK) abort();
    if (from && gpu_emulated.upload(held->ctx, held->device, at, from, bytes) != NB_OK)
        abort();
    held->address[held->n++] = at;
    return at;
}

static void *pointer(gpu_address at)
{
    return (void *)(uintptr_t)at;
}

/* copies of the lists of a frame and of the mask */
static void keep_lists(struct held *held, const struct gpu_case *c, int single,
                       struct gpu_parameters *p)
{
    struct phys_frame *frame = &p->frame;
    const size_t nf =
        (size_t)frame->hkl_size[0] * (size_t)frame->hkl_size[1] * (size_t)frame->hkl_size[2]
        + 1;
    const size_t pixels = (size_t)frame->nslow * (size_t)frame->nfast;
    const int listed = c->job.spec.lookup != PHYS_CONSTANT;

    frame->source =
        pointer(keep(held, frame->source, (size_t)frame->nsource * sizeof *frame->source));
    frame->orientation =
        pointer(keep(held, frame->orientation,
                     (size_t)frame->norientation * sizeof *frame->orientation));
    if (frame->nstol > 0)
        frame->stol =
            pointer(keep(held, frame->stol, (size_t)frame->nstol * sizeof *frame->stol));
    frame->f =
        listed && !single ? pointer(keep(held, frame->f, nf * sizeof(double))) : NULL;
    frame->f_single =
        listed && single ? pointer(keep(held, frame->f_single, nf * sizeof(float))) : NULL;
    if (c->job.mask) p->mask = pointer(keep(held, c->job.mask, pixels));
}

static nb_status launch(struct held *held, const struct gpu_case *c, int single,
                        const struct gpu_parameters *p, double *rows)
{
    const int shape = c->job.spec.shape, lookup = c->job.spec.lookup;
    const unsigned tiles = (unsigned)(p->across * p->down);
    const struct gpu_launch image = {{GPU_IMAGE, shape, lookup, single, NULL},
                                     tiles * (unsigned)p->segments,
                                     0,
                                     0};
    const struct gpu_launch finish = {{GPU_FINISH, 0, 0, single, NULL}, tiles, 0, 0};
    const int left = p->frame.nslow - p->first_slow;
    const int n = left < GPU_SLOW * p->down ? left : GPU_SLOW * p->down;
    const gpu_address at = keep(held, p, sizeof *p);

    NB_TRY(gpu_emulated.launch(held->ctx, held->device, &image, at));
    NB_TRY(gpu_emulated.launch(held->ctx, held->device, &finish, at));
    NB_TRY(gpu_emulated.download(held->ctx, held->device, rows,
                                 (gpu_address)(uintptr_t)p->photons,
                                 (size_t)n * (size_t)p->frame.nfast * sizeof *rows));
    return gpu_emulated.wait(held->ctx, held->device);
}

/* opens a device, and sets what its kernels of an image read and sum; 0 after a failed
 * check */
static int begin(struct gpu_case *c, const struct gpu_way *way, struct held *held,
                 struct gpu_parameters *p)
{
    struct gpu_properties properties;
    size_t tiles;

    memset(held, 0, sizeof *held);
    held->ctx = c->ctx;
    if (gpu_emulated.open(c->ctx, 0, &held->device, &properties) != NB_OK) {
        tap_check(0, "open: %s", nb_context_message(c->ctx));
        return 0;
    }
    *p = parameters_of(c, way);
    keep_lists(held, c, way->single, p);
    tiles = (size_t)p->across * (size_t)p->down;
    p->partial = pointer(
        keep(held, NULL,
             tiles * (size_t)p->segments * GPU_FAST * GPU_SLOW * sizeof *p->partial));
    return 1;
}

/* releases what it holds; 0 after a failed check */
static int end(struct gpu_case *c, struct held *held, nb_status status)
{
    while (held->n > 0) gpu_emulated.release(held->device, held->address[--held->n]);
    gpu_emulated.close(held->device);
    return status == NB_OK || tap_check(0, "a run: %s", nb_context_message(c->ctx));
}

int gpu_case_run(struct gpu_case *c, const struct gpu_way *way, double *photons)
{
    struct held held;
    struct gpu_parameters p;
    const size_t fast = (size_t)c->frame.nfast;
    nb_status status;

    for (size_t i = 0; i < fast * (size_t)c->frame.nslow; i++) photons[i] = NAN;
    if (!begin(c, way, &held, &p)) return 0;
    p.photons =
        pointer(keep(&held, NULL, fast * (size_t)(GPU_SLOW * p.down) * sizeof *p.photons));
    status = launch(&held, c, way->single, &p, photons + fast * (size_t)p.first_slow);
    if (!end(c, &held, status)) return 0;
    plant_numbers("pixel", photons, fast * (size_t)c->frame.nslow);
    return 1;
}

/* the image's kernel reads the first member of these parameters */
static nb_status launch_loss(struct held *held, const struct gpu_case *c, int single,
                             const struct gpu_loss_parameters *p, double *totals)
{
    const unsigned tiles = (unsigned)(p->image.across * p->image.down);
    const struct gpu_launch image = {{GPU_IMAGE, c->job.spec.shape, c->job.spec.lookup,
                                      single, NULL},
                                     tiles * (unsigned)p->image.segments,
                                     0,
                                     0};
    const struct gpu_launch loss = {{GPU_LOSS, 0, 0, single, NULL}, tiles, 0, 0};
    const gpu_address at = keep(held, p, sizeof *p);

    NB_TRY(gpu_emulated.launch(held->ctx, held->device, &image, at));
    NB_TRY(gpu_emulated.launch(held->ctx, held->device, &loss, at));
    NB_TRY(gpu_emulated.download(held->ctx, held->device, totals,
                                 (gpu_address)(uintptr_t)p->totals,
                                 tiles * LOSS_LENGTH * sizeof *totals));
    return gpu_emulated.wait(held->ctx, held->device);
}

int gpu_case_loss(struct gpu_case *c, const struct gpu_way *way,
                  const struct gpu_target *target, double *value, double *brightest)
{
    struct held held;
    struct gpu_loss_parameters p = {.target = *target};
    double *totals;
    size_t tiles;
    nb_status status;

    *value = *brightest = 0;
    if (!begin(c, way, &held, &p.image)) return 0;
    tiles = (size_t)p.image.across * (size_t)p.image.down;
    totals = calloc(tiles + 1, LOSS_LENGTH * sizeof *totals);
    if (!totals) abort();
    p.totals = pointer(keep(&held, NULL, tiles * LOSS_LENGTH * sizeof *totals));
    status = launch_loss(&held, c, way->single, &p, totals);
    for (size_t i = 0; i < tiles; i++) {
        *value += totals[i * LOSS_LENGTH + LOSS_VALUE];
        *brightest = fmax(*brightest, totals[i * LOSS_LENGTH + LOSS_BRIGHTEST]);
    }
    free(totals);
    if (!end(c, &held, status)) return 0;
    plant_numbers("loss", value, 1);
    return 1;
}
