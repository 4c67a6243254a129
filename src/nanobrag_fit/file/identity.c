/*
 * identity.c - computes the numbers that identify a shot: the fingerprint of its resolved
 * scene (scene/members/fingerprint.h), its loss, its accuracy, and checksums of its images.
 * The file of a fit contains them, so that a fit of something else refuses the file and
 * names the difference.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_fit/file/identity.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/context.h"
#include "scene/members/fingerprint.h"

/* Names of the numbers of take_others(), in the same order. */
static const char *const others[] = {
    "the seed of the misset",
    "the precision",
    "the tolerance",
    "the loss",
    "the read-out noise",
    "the gain",
    "the delta of the loss",
    "the saturation",
    "the background of the loss",
};
static const char *const images[] = {"the observed image", "the weight of pixels"};

enum { NOTHERS = sizeof others / sizeof *others, NIMAGES = sizeof images / sizeof *images };

size_t identity_count(void)
{
    return fingerprint_numbers() + NOTHERS + NIMAGES + FINGERPRINT_SUMS;
}

static void name_number(size_t i, char *out, size_t size)
{
    const size_t n = fingerprint_numbers(), rest = i - n;

    if (i < n)
        fingerprint_name(i, out, size);
    else if (rest < NOTHERS + NIMAGES)
        (void)snprintf(out, size, "%s",
                       rest < NOTHERS ? others[rest] : images[rest - NOTHERS]);
    else
        fingerprint_name(i - NOTHERS - NIMAGES, out, size);
}

static double sum_of_image(const nb_array *image)
{
    double sum = 0;

    if (!errors_can_read(image)) return 0;
    for (int64_t s = 0; s < array_extent(image, 0); s++)
        for (int64_t f = 0; f < array_extent(image, 1); f++) {
            const double v = array_get(image, s, f);

            if (isfinite(v))
                sum += fingerprint_weight((uint64_t)(s * array_extent(image, 1) + f)) * v;
        }
    return sum;
}

static void take_others(const nb_shot *shot, const nb_crystal *crystal, double *out)
{
    const nb_options how = shot->options ? *shot->options : (nb_options){0};
    const nb_target *t = &shot->target;
    const double numbers[NOTHERS] = {
        /* without a random misset the seed changes nothing, and is not compared */
        crystal->random_misset ? (double)crystal->misset_seed : 0,
        how.precision,
        how.tolerance,
        t->kind,
        t->sigma_readout,
        t->gain,
        t->delta,
        t->saturation,
        t->background,
    };

    memcpy(out, numbers, sizeof numbers);
}

nb_status identity_take(nb_fit *fit, nb_simulator *sim, const nb_shot *shot, double *out)
{
    const nb_target *t = &shot->target;
    double *const rest = out + fingerprint_numbers();
    nb_scene s;

    NB_TRY(nb_simulator_resolved(sim, NULL, &s));
    NB_TRY(fingerprint_take(fit->ctx, &s, out, rest + NOTHERS + NIMAGES));
    take_others(shot, &s.crystal, rest);
    rest[NOTHERS] = fit->is_expected ? 0 : sum_of_image(t->observed);
    rest[NOTHERS + 1] = sum_of_image(t->weight);
    return NB_OK;
}

/* ---- comparison ---- */

int identity_same(double a, double b)
{
    return fingerprint_same(a, b);
}

int identity_differs(const double *there, const double *here, char *what, size_t size)
{
    const size_t n = identity_count();
    char name[80];
    size_t i = 0;

    while (i < n && identity_same(there[i], here[i])) i++;
    if (i == n) return 0;
    name_number(i, name, sizeof name);
    if (i >= fingerprint_numbers() + NOTHERS)
        (void)snprintf(what, size, "%s differs", name);
    else
        (void)snprintf(what, size, "%s is %.10g in the file and %.10g here", name, there[i],
                       here[i]);
    return 1;
}
