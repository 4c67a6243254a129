/*
 * find.c - finds, in the image of one shot, single pixels that are far brighter than the
 * model and than their neighbours (zingers), and how far each box is off.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"

/* A single pixel leaves above this number of standard deviations. */
static const double single_most = 8;

/* Standard deviation that a pixel has from its neighbours, as a part of the brightest of
 * them: a spot may be sharper than the model, or lie elsewhere. */
static const double single_share = 0.5;

/* The neighbours of a single pixel may exceed their own neighbours by so many standard
 * deviations of their noise, and by this part of the pixel. Of a spot in a single pixel of
 * a Pilatus, 7 % or more fall on its neighbours. */
static const double leak_most = 3, leak_share = 0.04;

/* Least variance of a pixel, photons^2: five photons are then one bright pixel. */
static const double variance_least = 1e-3;

/* Most by which an intensity may be off before the box counts as different from its model.
 */
static const double factor_most = 4;

struct finder {
    const struct outliers_image *image;
    int *owner; /* 1 + the first box that holds a pixel; 0: none           (pixels) */
    size_t nbox, nsingle, room;
    double *single; /* OUTLIERS_PIXEL numbers of each single pixel */
    struct outliers_box *box; /*                                             (nbox) */
};

static size_t at(const struct outliers_image *image, int s, int f)
{
    return (size_t)s * (size_t)image->nfast + (size_t)f;
}

/* Returns how much the neighbours of a pixel, in data and model, and the pixel's own model
 * rise above the least model among them, photons. */
static double rise_of(const struct outliers_image *image, int slow, int fast)
{
    double most = 0, least = INFINITY;

    for (int s = slow - 1; s <= slow + 1; s++)
        for (int f = fast - 1; f <= fast + 1; f++) {
            size_t i;

            if (s < 0 || s >= image->nslow || f < 0 || f >= image->nfast) continue;
            i = at(image, s, f);
            if (!(image->variance[i] > 0)) continue;
            most = fmax(most, image->photons[i]);
            least = fmin(least, image->photons[i]);
            if (s != slow || f != fast) most = fmax(most, array_get(image->observed, s, f));
        }
    return fmax(most - least, 0);
}

/* Returns 1 if the eight neighbours of a pixel count no more than the sixteen pixels around
 * them. A spot in a single pixel leaks into its neighbours, but a zinger does not. */
static int is_alone(const struct outliers_image *image, int slow, int fast)
{
    double sum[2] = {0, 0}, n[2] = {0, 0}, expected;

    for (int s = slow - 2; s <= slow + 2; s++)
        for (int f = fast - 2; f <= fast + 2; f++) {
            const int ring = abs(s - slow) == 2 || abs(f - fast) == 2;

            if (s < 0 || s >= image->nslow || f < 0 || f >= image->nfast) continue;
            if ((s == slow && f == fast) || !(image->variance[at(image, s, f)] > 0))
                continue;
            sum[ring] += array_get(image->observed, s, f);
            n[ring]++;
        }
    if (!(n[0] > 0 && n[1] > 0)) return 0;
    expected = fmax(sum[1], 0) * n[0] / n[1];
    return sum[0] - expected <= leak_most * sqrt(expected * (1 + n[0] / n[1]) + 1)
                                    + leak_share * array_get(image->observed, slow, fast);
}

/* Returns the deviance of a pixel that differs by `off` from the model, as its signed root.
 * The pixel counts like a Poisson variable of this variance. */
static double deviations(double off, double variance)
{
    const double y = fmax(off + variance, 0);
    const double deviance = 2 * (variance - y + (y > 0 ? y * log(y / variance) : 0));

    return copysign(sqrt(fmax(deviance, 0)), off);
}

static int add_single(struct finder *w, int s, int f, double z)
{
    if (w->nsingle == w->room) {
        const size_t room = 2 * w->room + 16;
        double *more = realloc(w->single, room * OUTLIERS_PIXEL * sizeof *more);

        if (!more) return 0;
        w->single = more;
        w->room = room;
    }
    memcpy(w->single + OUTLIERS_PIXEL * w->nsingle++, (const double[]){f, s, z},
           OUTLIERS_PIXEL * sizeof(double));
    return 1;
}

/* Takes single pixels out of the image: their owner becomes -1 - the owner. */
static int find_single(struct finder *w)
{
    const struct outliers_image *image = w->image;

    for (int s = 0; s < image->nslow; s++)
        for (int f = 0; f < image->nfast; f++) {
            const size_t i = at(image, s, f);
            double off, z;

            if (!(image->variance[i] > 0)) continue;
            off = array_get(image->observed, s, f) - image->photons[i];
            if (!(off * off > single_most * single_most * image->variance[i])) continue;
            z = deviations(off, fmax(image->variance[i], variance_least)
                                    + pow(single_share * rise_of(image, s, f), 2));
            if (!(z > single_most) || !is_alone(image, s, f)) continue;
            if (!add_single(w, s, f, z)) return 0;
            w->owner[i] = -1 - w->owner[i];
        }
    return 1;
}

/* The first box that holds a pixel owns it, so boxes are written from the last to the
 * first. */
static void own(struct finder *w)
{
    for (size_t b = w->nbox; b-- > 0;) {
        const int *r = w->image->detector->box + 4 * b;

        for (int s = r[2]; s < r[3]; s++)
            for (int f = r[0]; f < r[1]; f++) w->owner[at(w->image, s, f)] = (int)b + 1;
    }
}

/* Sums over the pixels of a box, data y and model I less those of its first pixel. */
struct sums {
    double first[2], y, i, yy, yi, ii, noise;
};

static void add_pixel(struct outliers_box *box, struct sums *sums, double observed,
                      double photons, double variance)
{
    const double off = observed - photons;
    double y, i;

    if (box->pixels == 0) {
        sums->first[0] = observed;
        sums->first[1] = photons;
    }
    y = observed - sums->first[0];
    i = photons - sums->first[1];
    box->pixels++;
    box->excess[0] += off * off - variance;
    box->variance += variance + 2 * variance * variance;
    sums->noise += variance;
    sums->y += y;
    sums->i += i;
    sums->yy += y * y;
    sums->yi += y * i;
    sums->ii += i * i;
}

static void finish(struct outliers_box *box, const struct sums *sums)
{
    const double n = box->pixels;
    const double data = sums->yy - sums->y * sums->y / n;
    const double cross = sums->yi - sums->y * sums->i / n;
    const double model = sums->ii - sums->i * sums->i / n;
    const double best = model > 0 ? cross / model : 1;
    const double factor = fmin(fmax(best, 1 / factor_most), factor_most);

    box->energy[0] = fmax(data - sums->noise, 0) + model;
    box->energy[1] = fmax(data - sums->noise, 0) + factor * factor * model;
    box->excess[1] = data - 2 * factor * cross + factor * factor * model - sums->noise;
}

static void measure(const struct finder *w, size_t b)
{
    const struct outliers_image *image = w->image;
    const int *r = image->detector->box + 4 * b;
    struct outliers_box *box = w->box + b;
    struct sums sums = {{0, 0}, 0, 0, 0, 0, 0, 0};

    box->fast = r[0];
    box->slow = r[2];
    for (int s = r[2]; s < r[3]; s++)
        for (int f = r[0]; f < r[1]; f++) {
            const size_t i = at(image, s, f);

            box->single += w->owner[i] == -2 - (int)b;
            if (w->owner[i] == (int)b + 1 && image->variance[i] > 0)
                add_pixel(box, &sums, array_get(image->observed, s, f), image->photons[i],
                          fmax(image->variance[i], variance_least));
        }
    if (box->pixels > 0) finish(box, &sums);
}

void outliers_free(struct outliers_shot *out)
{
    free(out->at);
    free(out->found);
}

int outliers_take_found(struct outliers_shot *out, const double *found, size_t n)
{
    free(out->found);
    out->nfound = 0;
    out->found = n > 0 ? malloc(n * sizeof *out->found) : NULL;
    if (!out->found) return n == 0;
    memcpy(out->found, found, n * sizeof *found);
    out->nfound = n;
    return 1;
}

/* Writes the results one after the other, as processes exchange them. */
static int deliver(const struct finder *w, struct outliers_shot *out)
{
    const size_t boxes = 1 + w->nbox * OUTLIERS_BOX, pixels = w->nsingle * OUTLIERS_PIXEL;
    double *numbers = malloc((boxes + pixels) * sizeof *numbers);
    int is_taken;

    if (!numbers) return 0;
    numbers[0] = (double)w->nbox;
    memcpy(numbers + 1, w->box, w->nbox * sizeof *w->box);
    if (pixels > 0) memcpy(numbers + boxes, w->single, pixels * sizeof *numbers);
    is_taken = outliers_take_found(out, numbers, boxes + pixels);
    free(numbers);
    return is_taken;
}

nb_status outliers_find(nb_context *ctx, const struct outliers_image *image,
                        struct outliers_shot *out)
{
    struct finder w = {.image = image, .nbox = image->detector->nbox};
    int is_done;

    w.owner = calloc((size_t)image->nslow * (size_t)image->nfast, sizeof *w.owner);
    w.box = calloc(w.nbox + 1, sizeof *w.box);
    is_done = w.owner && w.box;
    if (is_done) {
        own(&w);
        is_done = find_single(&w);
    }
    for (size_t b = 0; is_done && b < w.nbox; b++) measure(&w, b);
    is_done = is_done && deliver(&w, out);
    free(w.owner);
    free(w.box);
    free(w.single);
    return is_done ? NB_OK : fail_memory(ctx, "the outliers of a shot");
}
