/*
 * measured_image.c - an image that a reader of one format fills; see measured.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/array.h>

#include "base/arena.h"
#include "base/context.h"
#include "nanobrag_io/measured/measured.h"

nb_status measured_new(nb_context *ctx, const char *name, uint64_t nfast, uint64_t nslow,
                       nb_measured **out)
{
    nb_measured *image;

    *out = NULL;
    if (nfast < 1 || nslow < 1 || nfast > measured_most / nslow)
        return fail(ctx, NB_ERR_FORMAT,
                    "%s: the image has %llu x %llu pixels, expected 1 to 2^31 in all; "
                    "check that it is "
                    "the right file",
                    name, (unsigned long long)nfast, (unsigned long long)nslow);
    image = malloc(sizeof *image);
    if (!image) return fail_memory(ctx, name);
    *image =
        (nb_measured){.nfast = (int)nfast, .nslow = (int)nslow, .npanel = 1, .frames = 1};
    image->pixel_fast = image->pixel_slow = image->wavelength = image->distance = NAN;
    image->beam_x = image->beam_y = image->osc_start = image->osc_range = NAN;
    image->exposure = image->overload = NAN;
    image->gain = 1;
    image->pixels = huge_pages_alloc((size_t)(nfast * nslow) * sizeof *image->pixels);
    if (!image->pixels) {
        free(image);
        return fail_memory(ctx, name);
    }
    *out = image;
    return NB_OK;
}

double *measured_pixels(nb_measured *image)
{
    return (double *)image->pixels;
}

uint8_t *measured_mask_of(nb_measured *image)
{
    const size_t n = (size_t)image->nfast * (size_t)image->nslow;
    uint8_t *mask = (uint8_t *)image->mask;

    if (mask) return mask;
    mask = malloc(n);
    if (mask) memset(mask, 1, n);
    image->mask = mask;
    return mask;
}

nb_status measured_mask(nb_context *ctx, const char *name, nb_measured *image, double least,
                        int equal)
{
    const size_t n = (size_t)image->nfast * (size_t)image->nslow;

    for (size_t i = 0; i < n; i++) {
        const double pixel = image->pixels[i];
        uint8_t *mask;

        if (equal ? pixel != least : !(pixel < least)) continue;
        mask = measured_mask_of(image);
        if (!mask) return fail_memory(ctx, name);
        mask[i] = 0;
    }
    return NB_OK;
}

nb_status measured_check_frame(nb_context *ctx, const char *name, int64_t frame,
                               int64_t frames)
{
    if (frame >= 0 && frame < frames) return NB_OK;
    return fail(ctx, NB_ERR_ARGUMENT, "%s: frame %lld was asked for, expected 0 to %lld",
                name, (long long)frame, (long long)frames - 1);
}

double measured_largest(int type, int bits)
{
    if (type == NB_TYPE_FLOAT) return INFINITY;
    return ldexp(1, type == NB_TYPE_INT ? bits - 1 : bits) - 1;
}

void nb_measured_free(nb_measured *image)
{
    if (!image) return;
    free((void *)image->pixels);
    free((void *)image->mask);
    free((void *)image->spectrum);
    free((void *)image->weights);
    free(image);
}
