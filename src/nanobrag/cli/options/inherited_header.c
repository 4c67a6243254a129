/*
 * inherited_header.c - defaults from the SMV headers of -mask and -img.
 *
 * A header written by nanobrag has ADC_OFFSET, and its BEAM_CENTER is meant for dxtbx; so
 * the default profile takes the geometry from the point nearest to the crystal instead.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/options/inherited_header.h"

#include <stdlib.h>

static void pair_from(const nb_smv *smv, const char *x, const char *y, struct pair *pair)
{
    if (nb_smv_number(smv, x, &pair->value[0])) pair->given[0] = 1;
    if (nb_smv_number(smv, y, &pair->value[1])) pair->given[1] = 1;
}

static void read_size(struct settings *s, const nb_smv *smv)
{
    int n[2];
    nb_smv_image(smv, &n[0], &n[1], NULL);
    (void)nb_smv_number(smv, "PIXEL_SIZE", &s->pixel);
    for (int i = 0; i < 2; i++) {
        if (n[i] <= 0) continue;
        s->npixel[i] = n[i];
        s->size[i] = s->pixel * n[i];
    }
}

static void read_header(struct settings *s, const nb_smv *smv, int is_mask)
{
    struct inherited *to = &s->inherited;
    double value;
    to->any = 1;
    to->ours = !s->compat && nb_smv_number(smv, "ADC_OFFSET", &value);
    read_size(s, smv);
    if (nb_smv_number(smv, "DISTANCE", &to->distance)) to->has_distance = 1;
    if (nb_smv_number(smv, "CLOSE_DISTANCE", &to->close_distance)) to->has_close = 1;
    if (nb_smv_number(smv, "TWOTHETA", &to->twotheta)) to->has_twotheta = 1;
    (void)nb_smv_number(smv, "WAVELENGTH", &s->scene.beam.wavelength);
    pair_from(smv, "BEAM_CENTER_X", "BEAM_CENTER_Y", &to->beam);
    if (nb_smv_number(smv, "BEAM_CENTER_Y", &value)) {
        to->beam_flipped = is_mask;
        if (is_mask && s->compat) to->beam.value[1] = s->size[1] - value;
    }
    pair_from(smv, "ORGX", "ORGY", &to->org);
    (void)nb_smv_number(smv, "PHI", &s->scene.scan.phi0);
    if (nb_smv_number(smv, "OSC_RANGE", &value) && (value >= 0 || !s->compat)) {
        s->scene.scan.osc = value;
        s->scene.given |= NB_GIVEN_OSC;
    }
}

/* Read the pixels of a mask, each 0 or 1. */
static int read_mask(struct messages *messages, const nb_smv *smv, const char *file,
                     struct mask *mask)
{
    const uint16_t *pixels;
    nb_smv_image(smv, &mask->nfast, &mask->nslow, &pixels);
    if (!pixels)
        return message_usage(messages,
                             "%s: the file ends before its last pixel; write it anew",
                             file);
    const size_t n = (size_t)mask->nfast * (size_t)mask->nslow;
    mask->pixels = malloc(n ? n : 1);
    if (!mask->pixels) return message_failure(messages, "out of memory for the mask");
    for (size_t i = 0; i < n; i++) mask->pixels[i] = pixels[i] != 0;
    return 0;
}

int header_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                   const struct event_list *events, struct mask *mask)
{
    static const int options[] = {OPT_MASK, OPT_IMG};
    *mask = (struct mask){0};
    for (int i = 0; i < 2; i++) {
        const char *const file = events_text(events, options[i]);
        if (!file) continue;
        nb_smv *smv;
        const nb_status status = nb_smv_read(ctx, file, &smv);
        if (status != NB_OK)
            return message_status(messages, status, nb_context_message(ctx), 0);
        read_header(s, smv, options[i] == OPT_MASK);
        int code = 0;
        if (options[i] == OPT_MASK) code = read_mask(messages, smv, file, mask);
        nb_smv_free(smv);
        if (code) return code;
    }
    return 0;
}
