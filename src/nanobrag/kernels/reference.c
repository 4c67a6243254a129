/*
 * reference.c - the photons and their derivatives in double, one pixel after the other.
 * All other kernels are tested against this one. NB_STRATEGY_REFERENCE and nb_gradcheck()
 * select it, and so do derivatives that the lanes cannot compute. It is compiled without
 * contraction.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>
#include <string.h>

#include "kernels/grid.h"
#include "kernels/kernels.h"
#include "kernels/variants.h"
#include "physics/pixel.h"
#include "physics/pixel_vjp.h"

/* Returns the number of samples of a pixel. */
static double evaluations(const struct phys_frame *frame)
{
    return (double)frame->oversample * frame->oversample * frame->nlayers * frame->nsource
           * frame->norientation;
}

/* A rendered pixel. */
struct place {
    int s, f, inside; /* slow and fast index; 1 if inside the image, as in a window */
};

static struct place place_of(const struct phys_frame *frame, const struct tile *tile,
                             const struct shown_pixels *shown, int i)
{
    const int pixel = shown->pixel[i];
    struct place p;

    p.s = tile->slow + pixel / tile->width;
    p.f = tile->fast + pixel % tile->width;
    p.inside = p.s < frame->nslow && p.f < frame->nfast;
    return p;
}

/* Computes the photons of a tile. `progress` may be NULL. */
static inline void run(struct phys_spec spec, struct progress *progress,
                       const struct phys_frame *frame, const struct tile *tile,
                       double *photons)
{
    const struct phys_view view = phys_view(frame);
    const double most = EVALUATIONS_PER_REPORT / 8.0, each = evaluations(frame);
    struct shown_pixels shown;
    double since = 0;

    grid_list(tile, &shown);
    for (int i = 0; i < shown.n; i++) {
        const struct place p = place_of(frame, tile, &shown, i);

        if (progress && since >= most) {
            if (progress_within(progress, (double)i / shown.n)) return;
            since = 0;
        }
        since += each;
        photons[i] = 0;
        if (p.inside)
            photons[i] = phys_finish(frame, phys_pixel(spec, frame, &view, p.s, p.f));
    }
}

static void omega_of(const struct phys_frame *frame, const struct tile *tile, double *omega)
{
    const struct phys_detector det = phys_detector(frame);
    const int n = frame->oversample, all = frame->each_omega;
    const int layers = all ? frame->nlayers : 1, subs = all ? n * n : 1;
    struct shown_pixels shown;

    grid_list(tile, &shown);
    for (int i = 0; i < shown.n; i++) {
        const struct place p = place_of(frame, tile, &shown, i);

        omega[i] = 0;
        for (int layer = 0; layer < layers; layer++)
            for (int sub = 0; sub < subs; sub++)
                omega[i] +=
                    phys_solid_angle(&det, phys_sub_pixel(&det, n, p.s, p.f, sub,
                                                          det.layer_offset
                                                              + layer * det.layer_step));
        omega[i] /= (double)layers * subs;
    }
}

/* Moves the derivatives of pixel i by the structure factors from bar->f to their columns,
 * and sets them to 0 in bar->f. */
static void pixel_columns(struct phys_frame_tangent *bar, int i, int pixels,
                          struct columns *columns)
{
    struct phys_touched *touched = &columns->touched;

    for (int k = 0; k < touched->n; k++) {
        const int place = touched->place[k];
        double *column = columns_take(columns, place, pixels);

        if (column) column[i] += bar->f[place];
        bar->f[place] = 0;
        touched->mark[place] = 0;
    }
    touched->n = 0;
}

/* Computes the Jacobian of a tile. For each pixel the cotangent of the frame is computed
 * for photons_bar = 1; its inner product with each tangent is the derivative. */
static inline void jacobian(struct phys_spec spec, const struct job *job,
                            const struct tile *tile, const struct tangents *along,
                            void *workspace, struct columns *columns, double *photons,
                            double *change)
{
    const struct phys_frame *frame = job->frame;
    const struct phys_view view = phys_view(frame);
    const int sources = frame->nsource, orientations = frame->norientation;
    struct shown_pixels shown;
    const size_t lists = (size_t)sources * sizeof(struct phys_source)
                         + (size_t)orientations * sizeof(struct phys_rotation);

    run(spec, NULL, frame, tile, photons);
    grid_list(tile, &shown);
    for (int i = 0; i < shown.n; i++) {
        const struct place p = place_of(frame, tile, &shown, i);
        struct phys_frame_tangent bar = {0};

        bar.source = workspace;
        bar.rotation = (struct phys_rotation *)(void *)(bar.source + sources);
        bar.f = columns ? columns->box : NULL;
        bar.touched = columns ? &columns->touched : NULL;
        memset(workspace, 0, lists);
        if (columns && columns->full) return;
        if (p.inside) phys_pixel_vjp(spec, frame, &view, p.s, p.f, 1, &bar);
        for (int d = 0; d < along->n; d++)
            change[(size_t)d * TILE_PIXELS + (size_t)i] =
                p.inside ? phys_frame_inner(sources, orientations, &bar, along->dot + d)
                         : 0;
        if (columns && p.inside) pixel_columns(&bar, i, shown.lanes, columns);
    }
}

static inline double objective_back(struct phys_spec spec, const struct job *job,
                                    const struct tile *tile,
                                    const struct objective *objective, void *workspace,
                                    struct phys_frame_tangent *bar, double *photons)
{
    const struct phys_frame *frame = job->frame;
    const struct phys_view view = phys_view(frame);
    double photons_bar[TILE_PIXELS], value, sum = 0;
    struct shown_pixels shown;

    (void)workspace;
    run(spec, NULL, frame, tile, photons);
    value = objective_tile(objective, job, tile, photons, photons_bar, NULL);
    grid_list(tile, &shown);
    for (int i = 0; i < shown.n; i++) {
        const struct place p = place_of(frame, tile, &shown, i);

        sum += photons_bar[i] * photons[i];
        if (photons_bar[i] != 0)
            phys_pixel_vjp(spec, frame, &view, p.s, p.f, photons_bar[i], bar);
    }
    return objective->linear ? sum : value;
}

#define VARIANT VARIANT_FUNCTION
#include "kernels/variants.def"
#undef VARIANT
#define VARIANT VARIANT_ADJOINT
#include "kernels/variants.def"
#undef VARIANT
#define VARIANT VARIANT_JACOBIAN
#include "kernels/variants.def"
#undef VARIANT

static double product(int n, const double *a, const double *b)
{
    double sum = 0;

    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void gram(const struct gram *g)
{
    for (int r = 0; r < g->rows; r++) {
        const double *row = g->change + (size_t)r * TILE_PIXELS;
        const size_t at = (size_t)(g->to ? g->to[r] : r);

        g->gradient[at] += product(g->n, g->bar, row);
        for (int c = 0; c <= r; c++) {
            const double *other = g->change + (size_t)c * TILE_PIXELS;
            double sum = 0;

            for (int i = 0; i < g->n; i++) sum += g->weight[i] * row[i] * other[i];
            g->matrix[at * g->stride + (size_t)(g->to ? g->to[c] : c)] += sum;
        }
    }
}

static double loss(const struct phys_loss_model *model, int n, const double *photons,
                   const double *observed, const double *weight, double *slope,
                   double *curvature)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        const struct phys_loss of = phys_loss(*model, photons[i], observed[i], weight[i]);

        sum += of.value;
        slope[i] = of.slope;
        curvature[i] = of.curvature;
    }
    return sum;
}

const struct kernels kernels_reference = {
    "reference",
    omega_of,
    NULL,
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = shape##_##lookup,
#include "kernels/variants.def"
#undef VARIANT
    },
    {{NULL}},
};

const struct adjoint_kernels adjoint_kernels_reference = {
    0,
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = shape##_##lookup##_vjp,
#include "kernels/variants.def"
#undef VARIANT
    },
    NULL,
    NULL,
    {
#define VARIANT(shape, lookup) [PHYS_##shape][PHYS_##lookup] = shape##_##lookup##_jacobian,
#include "kernels/variants.def"
#undef VARIANT
    },
    NULL,
    NULL,
    NULL,
    product,
    gram,
    loss,
};
