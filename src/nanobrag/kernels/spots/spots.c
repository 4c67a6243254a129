/*
 * spots.c - computes an image by spots. The detector is cut into strips of rows
 * (row_strips.c). One thread at a time works on a strip, pair by pair in the same order for
 * any number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/spots/spots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/floats.h"
#include "kernels/continuous/continuous.h"
#include "kernels/grid.h"
#include "kernels/rounding.h"
#include "kernels/spots/row_strips.h"
#include "kernels/spots/rows/tile_spots.h"
#include "physics/displacement.h"
#include "physics/step.h"

/* The largest number of attempts at an image that turns out to be weaker than guessed. */
enum { MOST_TRIES = 12 };

/* The smallest share of its peak at which a spot is cut off: no image resolves less. */
static const double least_share = 1e-300;

/* Returns the first guess of the share of a spot's peak that may be dropped if `tolerance`
 * of the image's peak may be. The share is smaller than the tolerance, because spots are
 * spread over pairs and pixels: the peak of the image lies below the highest possible peak
 * of a spot, by a factor of 2 to 13 in stills and sweeps with measured structure factors.
 * Derivatives are promised to a hundredth of the tolerance. */
static double first_share(double tolerance, enum spots_use use)
{
    return (use == SPOTS_IMAGE ? 0.02 : 1e-4) * tolerance;
}

double spots_share(const struct phys_frame *frame, struct phys_spec spec, double tolerance)
{
    const double radius = ewald_radius(frame, spec, first_share(tolerance, SPOTS_IMAGE));
    double stars[9];
    const double volume = ewald_stars(frame->orientation[0].axes, stars);

    return 4 * M_PI / 3 * radius * radius * radius * volume;
}

/* Nanoseconds that one core of 2021 takes: to search a row, to list a candidate, to scan a
 * candidate for one pair, to locate a spot, and to compute a sample: without factors of its
 * own, with such factors, and with its own capture. compile/policy.c has the costs of the
 * lanes on the same core. */
static const double per_row = 40, per_candidate = 30, per_look = 0.7, per_place = 60,
                    per_sample = 5, per_weighed = 20, per_absorbed = 100;

double spots_cost(const struct phys_frame *frame, int panels, struct phys_spec spec,
                  double tolerance, double lit, double limit)
{
    const double radius = ewald_radius(frame, spec, first_share(tolerance, SPOTS_IMAGE));
    const double pairs = (double)frame->nsource * frame->norientation;
    struct ewald e = ewald_of(frame, panels, spec, radius);
    const double group = strips_group(&e, frame);
    double cost = pairs / group * ewald_rows(&e) * per_row, listed = 0;
    const int each = frame->each_omega || frame->each_polar || frame->dmin > 0
                     || phys_is_displaced(frame);
    const double sample = frame->layer_mu != 0 ? per_absorbed
                          : each               ? per_weighed
                                               : per_sample;

    cost += pairs * frame->nlayers * ewald_hits(&e, radius) * per_place;
    cost += pairs * lit * sample;
    if (ewald_rows(&e) > strips_rows) return INFINITY;
    for (int i = 0; e.low[0] + i <= e.high[0] && cost <= limit; i++) {
        const double more = (double)ewald_most_in_layer(&e, e.low[0] + i);

        listed += more;
        cost += pairs * more * (per_candidate / group + frame->nlayers * per_look);
    }
    return listed > STRIPS_CANDIDATES ? INFINITY : cost;
}

double spots_rounding(const struct phys_frame *frame, struct phys_spec spec,
                      double tolerance)
{
    const struct rounding r = rounding_of(frame, spec);
    const double radius =
        ewald_radius(frame, spec, first_share(tolerance, SPOTS_DERIVATIVES));

    /* beyond half an index, float cannot tell the reflection that a sample belongs to */
    return ewald_widest(frame, radius) < 0.499 ? rounding_spot(&r, radius) : 1;
}

double spots_rounding_double(const struct phys_frame *frame, struct phys_spec spec)
{
    const struct rounding r = rounding_of(frame, spec);

    return rounding_double(&r);
}

void spots_free(struct spots_work *work)
{
    free(work->candidates);
    free(work->lists);
    free(work->hits);
    free(work->h_layers);
    free(work->located);
    free(work->ray);
    free(work->of_panel);
    free(work->first_strip);
    free(work->weight);
    free(work->reach);
    tile_spots_free(work);
    memset(work, 0, sizeof *work);
}

size_t spots_bytes(const struct spots_work *work)
{
    const size_t each = 3 * sizeof *work->lists + sizeof *work->hits;

    return (work->capacity + work->nlocated) * sizeof *work->candidates
           + work->nray * sizeof *work->ray
           + (size_t)work->npanels * (sizeof *work->of_panel + sizeof *work->first_strip)
           + work->each * each * (size_t)work->threads
           + (size_t)work->nh_layers * sizeof *work->h_layers
           + work->pixels * sizeof *work->weight + work->reach_words * sizeof *work->reach
           + tile_spots_bytes(work);
}

/* ---- the image ---- */

/* The argument of splat_pair(): the kernels of a precision, and the variant. */
struct splatting {
    const struct splat_kernels *splat_kernels;
    struct phys_spec spec;
};

/* Splats the reflections of one pair on a strip. */
static void splat_pair(const void *user, int chunk, const struct splat_layer *splat_layer,
                       const struct pair *pair, const struct reflections *list, int *hits)
{
    const struct splatting *splatting = user;
    const int n = splatting->splat_kernels->scan(pair, list, hits);

    (void)chunk;
    splatting->splat_kernels
        ->spots[splatting->spec.shape][splatting->spec.lookup](splat_layer, pair, list,
                                                               hits, n);
}

nb_status spots_splat(struct progress *progress, const struct kernel_set *kernels,
                      const struct job *job, const struct spots_attempt *attempt,
                      double share, struct spots_work *work)
{
    const struct splatting splatting = {attempt->single ? kernels->splat_single
                                                        : kernels->splat_precise,
                                        job->spec};
    const struct strips strips = {
        .job = job,
        .radius = attempt->radius,
        .bragg = job->photons,
        .share = share,
        .visit = splat_pair,
        .user = &splatting,
        .work = work,
    };

    return strips_run(progress, &strips);
}

int spots_is_dark(const struct phys_frame *frame, const struct tile *tile,
                  const double *sums)
{
    const int n = grid_rendered(tile);

    if (frame->amorphous_scale != 0) return 0;
    for (int i = 0; i < n; i++)
        if (sums[i] != 0) return 0;
    return 1;
}

/* Turns the Bragg sums of all tiles into photons and returns the brightest pixel. If `lit`
 * is not NULL, tiles with lit[t] = 0 have sums of 0, and the result is not valid. */
static double finish(const struct kernels *kernels, const struct job *job,
                     const unsigned char *lit)
{
    const double factor = phys_constant_factor(job->spec, job->frame);
    const int count = grid_count(job);
    const int threads = strips_threads(job, (double)count * TILE_PIXELS);
    double peak = 0;

#pragma omp parallel for schedule(dynamic, 16) num_threads(threads) reduction(max : peak)
    for (int t = 0; t < count; t++) {
        STANDARD_FLOATS;
        const int number = job->window->tile[t].panel, known = lit && !lit[t];
        double photons[TILE_PIXELS];
        struct tile tile;
        struct job panel;
        int dark = known && job->frame[number].amorphous_scale == 0;

        if (dark && (!job->packed || job->dark)) { /* most tiles of a still are dark */
            if (job->dark) job->dark[t] = 1;
            continue;
        }
        tile = grid_tile(job, t);
        panel = job_of_panel(job, number);
        if (known)
            memset(photons, 0, sizeof photons);
        else
            grid_read(&panel, &tile, photons);
        if (!known) dark = spots_is_dark(panel.frame, &tile, photons);
        if (job->dark) job->dark[t] = (unsigned char)dark;
        if (!dark)
            kernels->finish(panel.frame, &tile, factor, photons);
        else if (!known && grid_rendered(&tile) == TILE_PIXELS)
            continue; /* the tile is 0 already, and no masked pixel needs clearing */
        if (lit)
            grid_put(&panel, &tile, photons);
        else
            peak = fmax(peak, grid_write(&panel, &tile, photons));
    }
    (void)threads;
    return peak;
}

/* Returns a bound of the photons that a pixel loses if all spots are cut off at a share of
 * their peaks. */
static double most_dropped(const struct job *job, double share)
{
    return job->spec.shape == PHYS_TOPHAT ? 0 : share * rounding_brightest(job);
}

/* ---- attempts: the radius of the spots and the precision ---- */

struct spots_attempt spots_first(const struct kernel_set *kernels, const struct job *job,
                                 enum spots_use use)
{
    struct spots_attempt t;

    t.left = MOST_TRIES;
    t.single = kernels->single != NULL;
    t.share = first_share(job->tolerance, use);
    t.radius = ewald_radius(job->frame, job->spec, t.share);
    return t;
}

int spots_again(const struct job *job, double peak, struct spots_attempt *t)
{
    const double dropped = most_dropped(job, t->share);

    if (--t->left == 0) return 0;
    if (t->single && rounding_is_lost(job, peak)) {
        t->single = 0;
        return 1;
    }
    if (dropped <= job->tolerance * peak || t->share <= least_share) return 0;
    if (t->radius >= ewald_radius(job->frame, job->spec, 0)) return 0;
    /* The image is weaker than guessed. The next share follows from the bound; if the image
     * is dark, the next share is much smaller. */
    t->share =
        peak > 0 ? 0.25 * t->share * job->tolerance * peak / dropped : t->share * t->share;
    t->share = fmax(t->share, least_share);
    t->radius = ewald_radius(job->frame, job->spec, t->share);
    return 1;
}

nb_status spots_forward(struct progress *progress, const struct kernel_set *kernels,
                        const struct job *job, struct spots_work *work)
{
    struct spots_attempt attempt = spots_first(kernels, job, SPOTS_IMAGE);

    progress_start(progress, job->planned);
    if (grid_is_empty(job)) {
        grid_clear(job);
        return progress_end(progress);
    }
    if (job->frame->continuous) {
        NB_TRY(continuous_list(progress, kernels, job, work->continuous));
        NB_TRY(continuous_draw(progress, kernels, job, work->continuous));
        (void)finish(kernels->precise, job, work->continuous->lit);
        return progress_end(progress);
    }
    do NB_TRY(spots_splat(progress, kernels, job, &attempt, 1, work));
    while (spots_again(job, finish(kernels->precise, job, NULL), &attempt));
    return progress_end(progress);
}
