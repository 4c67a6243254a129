/*
 * parameter_check.c - finite differences of an image along one parameter or direction.
 * Images are computed at a ladder of steps, each half as long as the step before, which all
 * losses share. The file finds the pixels that are smooth over all steps, and measures the
 * rounding noise near x.
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "check.h"
#include "kernels/signature.h"

/* The first step is halved at most MOST_SHORTER times while too few pixels are smooth, and
 * at most MOST_FINER times more while the error bar is too wide. */
enum { MOST_SHORTER = 28, MOST_FINER = 10 };

/* The least share of S (struct check.sensitivity) that smooth pixels must have, and the
 * widest error bar, over S, that allows a verdict. */
static const double least_kept = 0.9, conclusive = 1e-8;

/* If a derivative falls by this factor from the longest step to the shortest, it is taken
 * to tend to 0, as the derivative of a power does. */
static const double flat_ratio = 1e-3;

static int is_whole(const double *v)
{
    return v[0] == floor(v[0]) && v[1] == floor(v[1]) && v[2] == floor(v[2]);
}

/* Returns 1 if all lattice points of a square crystal give the same intensity, at x and in
 * `other`: F is constant, and the numbers of cells are whole and unchanged, with none off
 * the diagonal. */
static int has_equal_lattice_points(const struct check *check, const nb_scene *other)
{
    const nb_scene *scene = &check->sim->scene;
    nb_scene start;
    int same =
        check->sim->spec.shape == PHYS_SQUARE && check->sim->spec.lookup == PHYS_CONSTANT;

    if (nb_simulator_resolved(check->sim, check->x, &start) != NB_OK) start = *scene;
    for (int i = 0; i < 3; i++)
        same &= start.crystal.ncells[i] == other->crystal.ncells[i]
                && other->crystal.ncells_off[i] == 0 && start.crystal.ncells_off[i] == 0;
    return same && is_whole(other->crystal.ncells);
}

/* Compute which branches each pixel takes at x (kernels/signature.h). `repeating` is
 * has_equal_lattice_points() for the two points that are compared. */
static nb_status signature_at(struct check *check, const double *x, int repeating,
                              uint64_t *out)
{
    const struct phys_frame *frame;
    nb_scene scene;
    struct job job;

    NB_TRY(simulator_frame(check->sim, x, &scene, &frame));
    if (frame->continuous) { /* the image of a continuous crystal has no branches */
        memset(out, 0, check->pixels * sizeof *out);
        return NB_OK;
    }
    job = simulator_job(check->sim, &scene, frame, NULL);
    memset(out, 0, check->pixels * sizeof *out);
    for (int l = 0; l < job.lattices; l++) {
        const struct job lattice = job_of_lattice(&job, l);

        signature_of(&lattice, repeating, check->ctx->threads, out);
    }
    return NB_OK;
}

/* Mark every pixel of the region of interest that the point spread reaches from a pixel
 * that differs. */
static void spread_differences(struct check *check)
{
    const struct window *w = &check->sim->window;
    const int reach = check->sim->scene.psf.radius;
    const int first = w->roi[2] > reach ? w->roi[2] - reach : 0;
    const int end = w->nslow - w->roi[3] > reach ? w->roi[3] + reach : w->nslow;
    const size_t nfast = (size_t)w->nfast;
    unsigned char *rows = check->row_differs, *all = check->differs;

    for (int s = first; s < end; s++)
        for (int f = w->roi[0]; f < w->roi[1]; f++) {
            unsigned char any = 0;

            for (int i = f - reach; i <= f + reach; i++)
                if (i >= 0 && i < w->nfast) any |= all[(size_t)s * nfast + (size_t)i];
            rows[(size_t)s * nfast + (size_t)f] = any;
        }
    for (int s = w->roi[2]; s < w->roi[3]; s++)
        for (int f = w->roi[0]; f < w->roi[1]; f++) {
            unsigned char any = 0;

            for (int i = s - reach; i <= s + reach; i++)
                if (i >= 0 && i < w->nslow) any |= rows[(size_t)i * nfast + (size_t)f];
            all[(size_t)s * nfast + (size_t)f] = any;
        }
}

/* Mark in check->differs the rendered pixels that take other branches than at x. */
static void find_differences(struct check *check)
{
    const int spread = check->sim->psf != NULL; /* light comes from other pixels too */
    const size_t n = spread ? check->pixels : check->n;

    for (size_t k = 0; k < n; k++) {
        const size_t i = spread ? k : (size_t)check->rendered[k];

        check->differs[i] = check->signature[i] != check->signature_at_x[i];
    }
    if (spread) spread_differences(check);
}

nb_status check_image(struct check *check, const double *d, double t, int *usable)
{
    nb_array image =
        nb_array_f64(check->image, check->sim->window.nslow, check->sim->window.nfast);
    nb_status status;

    if (check->before.progress && check->before.progress(check->before.user, check->done))
        return fail(check->ctx, NB_ERR_CANCELLED, "stopped on request");
    for (size_t p = 0; p < check->nparam; p++)
        check->moved[p] = check->x[p] + (d ? t * d[p] : 0);
    check->evaluations++;
    status = nb_forward(check->sim, check->moved, &image);
    *usable = status == NB_OK;
    if (status == NB_ERR_CANCELLED || status == NB_ERR_MEMORY) return status;
    return NB_OK;
}

/* Compute the rendered pixels at x + t d into `values`. Unless it is NULL, mark in
 * `unsmooth` the pixels that are not smooth between x and that point. */
static nb_status sample(struct check *check, const struct check_item *item, double t,
                        double *values, unsigned char *unsmooth)
{
    int usable, repeating;
    nb_scene scene;

    NB_TRY(check_image(check, item->d, t, &usable));
    if (!usable) {
        memset(values, 0, check->n * sizeof *values);
        if (unsmooth) memset(unsmooth, 1, check->n);
        return NB_OK;
    }
    for (size_t i = 0; i < check->n; i++) values[i] = check->image[check->rendered[i]];
    if (!unsmooth) return NB_OK;
    NB_TRY(nb_simulator_resolved(check->sim, check->moved, &scene));
    repeating = has_equal_lattice_points(check, &scene);
    if (check->repeating != repeating)
        NB_TRY(signature_at(check, check->x, repeating, check->signature_at_x));
    check->repeating = repeating;
    NB_TRY(signature_at(check, check->moved, repeating, check->signature));
    find_differences(check);
    for (size_t i = 0; i < check->n; i++)
        unsmooth[i] |= check->differs[check->rendered[i]] | !isfinite(values[i]);
    return NB_OK;
}

static nb_status sample_row(struct check *check, const struct check_item *item, int row,
                            double h)
{
    const int at = row % ROMBERG_ROWS;
    const double up = item->side == ROMBERG_BELOW ? 0 : h;
    const double down = item->side == ROMBERG_ABOVE ? 0 : h;
    double *above = check->above + (size_t)at * check->n;
    double *below = check->below + (size_t)at * check->n;
    unsigned char *unsmooth = check->unsmooth + (size_t)at * check->n;

    memset(unsmooth, 0, check->n);
    check->step[at] = h;
    check->run[at] = (long double)(item->at + up) - (long double)(item->at - down);
    if (up > 0)
        NB_TRY(sample(check, item, up, above, unsmooth));
    else
        memcpy(above, check->at_x, check->n * sizeof *above);
    if (down > 0)
        NB_TRY(sample(check, item, -down, below, unsmooth));
    else
        memcpy(below, check->at_x, check->n * sizeof *below);
    return NB_OK;
}

/* Returns the difference quotient of pixel i over the step of row `at`. */
static double slope_of(const struct check *check, int at, size_t i)
{
    const size_t place = (size_t)at * check->n + i;

    return (double)(((long double)check->above[place] - (long double)check->below[place])
                    / check->run[at]);
}

/* Returns the median of |slope_of()| of a pixel over all steps. A jump of the pixel in a
 * few rows does not change the median. */
static double robust_slope(const struct check *check, size_t i)
{
    double v[ROMBERG_ROWS];

    for (int at = 0; at < ROMBERG_ROWS; at++) {
        int k = at;
        const double slope = fabs(slope_of(check, at, i));

        for (; k > 0 && v[k - 1] > slope; k--) v[k] = v[k - 1];
        v[k] = slope;
    }
    return v[ROMBERG_ROWS / 2];
}

/* Find the pixels that are smooth in all rows. For each loss set out->scale to their S, and
 * out->kept to their share of the S of all pixels. Returns the smallest of these shares. */
static double find_mask(struct check *check, int first, unsigned char *mask,
                        struct check_slopes *out)
{
    const int last = (first + ROMBERG_ROWS - 1) % ROMBERG_ROWS;
    double all[NB_GRADCHECK_LOSSES] = {0}, least = 1, near = 0, far = 0;

    memset(out->scale, 0, sizeof out->scale);
    for (size_t i = 0; i < check->n; i++) {
        double slope;

        mask[i] = 1;
        for (int at = 0; at < ROMBERG_ROWS; at++)
            mask[i] &= !check->unsmooth[(size_t)at * check->n + i];
        slope = mask[i] ? fabs(slope_of(check, last, i)) : robust_slope(check, i);
        if (!isfinite(slope)) slope = 0;
        if (mask[i]) near += slope, far += fabs(slope_of(check, first % ROMBERG_ROWS, i));
        for (int loss = 0; loss < NB_GRADCHECK_LOSSES; loss++) {
            const double part = fabs(check->weight[loss][i]) * slope;

            all[loss] += part;
            if (mask[i]) out->scale[loss] += part;
        }
    }
    for (int loss = 0; loss < NB_GRADCHECK_LOSSES; loss++) {
        out->kept[loss] = all[loss] > 0 ? out->scale[loss] / all[loss] : 1;
        least = fmin(least, out->kept[loss]);
    }
    out->flat = near <= flat_ratio * far;
    return least;
}

/* Returns the difference of a loss between the images `values` and `from`. The difference
 * is summed pixel by pixel, because in a difference of two sums one bright pixel would
 * round the changes of all others away. */
static long double loss_change(const struct check *check, int loss,
                               const unsigned char *mask, const double *values,
                               const double *from)
{
    const double *weight = check->weight[loss];
    long double sum = 0;

    for (size_t i = 0; i < check->n; i++)
        if (mask[i])
            sum += (long double)weight[i] * ((long double)values[i] - (long double)from[i]);
    return sum;
}

static long double loss_at_x(const struct check *check, int loss, const unsigned char *mask)
{
    const double *weight = check->weight[loss];
    long double sum = 0;

    for (size_t i = 0; i < check->n; i++)
        if (mask[i]) sum += (long double)weight[i] * (long double)check->at_x[i];
    return sum;
}

/* Returns 1 if a pixel changes over any of the steps. */
static int is_moved(const struct check *check, size_t i)
{
    for (int at = 0; at < ROMBERG_ROWS; at++) {
        const size_t place = (size_t)at * check->n + i;

        if (check->above[place] != check->below[place]) return 1;
    }
    return 0;
}

/* Returns the least noise that loss_change() can have: the noise of the last rounding of
 * each pixel that changes, whose rms is between eps/2 and eps, over the root of 12. The
 * measured noise is 0 if no value changes between the points where it is measured. */
static long double least_noise(const struct check *check, int loss,
                               const unsigned char *mask)
{
    const double *weight = check->weight[loss];
    long double sum = 0;

    for (size_t i = 0; i < check->n; i++) {
        const long double part = (long double)weight[i] * (long double)check->at_x[i];

        if (mask[i] && is_moved(check, i)) sum += part * part;
    }
    return sqrtl(sum / 12) * (long double)DBL_EPSILON;
}

double check_unseen(const struct check *check, int loss)
{
    long double run = 0, sum = 0;

    for (int at = 0; at < ROMBERG_ROWS; at++) run = fmaxl(run, check->run[at]);
    for (size_t i = 0; i < check->n; i++) {
        const long double slope = fabsl((long double)check->tangent[check->rendered[i]]);
        const long double most =
            (long double)DBL_EPSILON * fabsl((long double)check->at_x[i]) / run;

        if (check->mask[i] && slope > 0 && !is_moved(check, i))
            sum += fabsl((long double)check->weight[loss][i]) * fminl(slope, most);
    }
    return (double)sum;
}

/* Compute, for one loss over the pixels of a mask, the slope, the rounding noise of its
 * values, and `staircase`: 1 if values at neighbouring x are equal, although the slope is
 * large enough to tell them apart, so that something is rounded to float. `first` is the
 * row of the largest step, `spacing` the distance of neighbouring x. */
static void slope_of_loss(const struct check *check, int loss, int first, int side,
                          const unsigned char *mask, double spacing,
                          struct check_slopes *out)
{
    const long double at_x = loss_at_x(check, loss, mask);
    long double values[ROMBERG_POINTS], amplitude = 0, steepest = 0;
    struct romberg_noise noise;
    struct romberg table;

    table.side = side;
    for (int j = 0; j < ROMBERG_ROWS; j++) {
        const int at = (first + j) % ROMBERG_ROWS;
        const double *above = check->above + (size_t)at * check->n;
        const double *below = check->below + (size_t)at * check->n;
        const long double up = loss_change(check, loss, mask, above, check->at_x);
        const long double down = loss_change(check, loss, mask, below, check->at_x);

        table.h[j] = check->step[at];
        table.t[j][0] = (up - down) / check->run[at];
        steepest = fmaxl(steepest, fabsl(table.t[j][0]));
        amplitude = fmaxl(amplitude, fmaxl(fabsl(at_x + up), fabsl(at_x + down)));
    }
    for (int i = 0; i < ROMBERG_POINTS; i++)
        values[i] = loss_change(check, loss, mask,
                                check->noise_samples + (size_t)i * check->n, check->at_x);
    noise = romberg_noise(values);
    noise.level = fmaxl(noise.level, least_noise(check, loss, mask));
    out->noise[loss] = (double)noise.level;
    out->staircase[loss] =
        noise.steps > 0
        && steepest * (long double)spacing > 4 * (long double)DBL_EPSILON * amplitude;
    out->slope[loss] = romberg_choose(&table, noise.level);
}

/* Returns the widest error bar of all losses, over the widest that allows a verdict. */
static double widest(const struct check_slopes *s)
{
    double widest = 0;

    for (int loss = 0; loss < NB_GRADCHECK_LOSSES; loss++)
        widest = fmax(widest, s->slope[loss].bar / (conclusive * s->scale[loss]));
    return widest;
}

static int nothing_changes(const struct check *check)
{
    return memcmp(check->above, check->below,
                  ROMBERG_ROWS * check->n * sizeof *check->above)
           == 0;
}

static int is_dark(const struct check_slopes *s)
{
    int dark = 1;

    for (int loss = 0; loss < NB_GRADCHECK_LOSSES; loss++) dark &= s->scale[loss] == 0;
    return dark;
}

static nb_status sample_noise(struct check *check, const struct check_item *item,
                              double spacing)
{
    for (int i = 0; i < ROMBERG_POINTS; i++)
        NB_TRY(sample(check, item, romberg_point(item->side, i) * spacing,
                      check->noise_samples + (size_t)i * check->n, NULL));
    return NB_OK;
}

nb_status check_differences(struct check *check, const struct check_item *item,
                            struct check_slopes *out)
{
    const uint64_t before = check->evaluations;
    const double spacing = romberg_spacing(item->at, item->length);
    double h = romberg_power_below(fmin(0.25 * item->length, 0.5 * item->limit));
    int finer = 0, found = 0;

    memset(out, 0, sizeof *out);
    NB_TRY(sample_noise(check, item, spacing));
    for (int row = 0; row < ROMBERG_ROWS; row++) {
        NB_TRY(sample_row(check, item, row, h));
        h /= 2;
    }
    out->zero = nothing_changes(check);
    for (int shorter = 0; !out->zero; shorter++) {
        const int first = shorter;
        struct check_slopes attempt = *out;

        if (find_mask(check, first, check->attempt, &attempt) >= least_kept) {
            for (int loss = 0; loss < NB_GRADCHECK_LOSSES; loss++)
                slope_of_loss(check, loss, first, item->side, check->attempt, spacing,
                              &attempt);
            if (!found || widest(&attempt) < widest(out)) {
                *out = attempt;
                memcpy(check->mask, check->attempt, check->n);
            }
            found = 1;
            if (widest(out) <= 1 || finer++ == MOST_FINER) break;
        } else if (found)
            break;
        if (shorter == MOST_SHORTER) break;
        NB_TRY(sample_row(check, item, first + ROMBERG_ROWS, h));
        h /= 2;
    }
    out->masked_out = !out->zero && !found;
    out->zero |= found && is_dark(out);
    out->evaluations = (int)(check->evaluations - before);
    return NB_OK;
}

/* unnoticed: if a change of a parameter by its scale changes the image by a smaller share,
 * the change counts as rounding. longest: bound on lengths, over the scale of the
 * parameter, because with a large flat background the image is a poor measure of length. */
static const double unnoticed = 1e-8, longest = 100;

/* Measure the change of the image over a step h of parameter p, per unit of the parameter,
 * and add S of each loss to `sensitivity`. */
static nb_status change_over(struct check *check, size_t p, double h, double *change,
                             double *sensitivity)
{
    const double x = check->x[p], down = x - check->param[p].lower;
    const double up = check->param[p].upper - x;
    struct check_item item = {check->direction, x, 0, HUGE_VAL, ROMBERG_CENTRAL};

    if (down < h || up < h) item.side = down < up ? ROMBERG_ABOVE : ROMBERG_BELOW;
    NB_TRY(sample_row(check, &item, 0, romberg_power_below(fmin(h, fmax(down, up)))));
    *change = 0;
    for (size_t i = 0; i < check->n; i++) {
        const double slope = check->unsmooth[i] ? 0 : fabs(slope_of(check, 0, i));

        *change += slope;
        for (int loss = 0; loss < NB_GRADCHECK_LOSSES; loss++)
            sensitivity[loss] += fabs(check->weight[loss][i]) * slope;
    }
    return NB_OK;
}

/* Estimate the length of one parameter from a small step. If the value lies at a bound, a
 * large step is taken too: if only the large step changes the image, the derivative is 0 at
 * the bound, as for a power. */
static nb_status estimate_length(struct check *check, size_t p)
{
    double *sensitivity = check->sensitivity + p * NB_GRADCHECK_LOSSES;
    double unused[NB_GRADCHECK_LOSSES] = {0}, change, over_scale, sum = 0;
    const nb_param *param = check->param + p;
    const int at_bound = check->x[p] == param->lower || check->x[p] == param->upper;

    memset(check->direction, 0, check->nparam * sizeof *check->direction);
    check->direction[p] = 1;
    for (size_t i = 0; i < check->n; i++) sum += fabs(check->at_x[i]);
    NB_TRY(change_over(check, p, 1e-5 * param->scale, &change, sensitivity));
    if (at_bound) {
        NB_TRY(change_over(check, p, param->scale, &over_scale, unused));
        if (change <= flat_ratio * over_scale) change = 0;
    }
    if (change * param->scale > unnoticed * sum)
        check->length[p] = fmin(sum / change, longest * param->scale);
    else
        memset(sensitivity, 0, NB_GRADCHECK_LOSSES * sizeof *sensitivity);
    return NB_OK;
}

nb_status check_probe(struct check *check)
{
    for (size_t p = 0; p < check->nparam; p++) NB_TRY(estimate_length(check, p));
    return NB_OK;
}
