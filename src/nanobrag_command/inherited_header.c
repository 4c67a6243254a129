/*
 * inherited_header.c - takes defaults from the SMV headers of -mask and -img.
 *
 * A header that nanobrag wrote has ADC_OFFSET. Its BEAM_CENTER is written for dxtbx, so the
 * geometry is taken from ORGX and ORGY, the point nearest to the crystal, instead.
 * nanoBragg finds a keyword inside another word too, and knows fewer keywords.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_command/inherited_header.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_command/command.h"

enum { LINE_MOST = 400 };

/* bits for numbers that a header lacks, so that the library's default would be taken */
enum {
    LACKS_PIXEL = 1,
    LACKS_DISTANCE = 2,
    LACKS_WAVELENGTH = 4,
    LACKS_BEAM = 8,
    LACKS_SIZE = 16
};

/* a header to read */
struct header {
    struct settings *s;
    struct messages *messages;
    const nb_smv *smv;
    const char *file;
    int is_mask;
};

typedef int look_up(const nb_smv *smv, const char *keyword, double *value);

static void pair_from(const struct header *h, look_up *find, const char *x, const char *y,
                      struct pair *pair)
{
    if (find(h->smv, x, &pair->value[0])) pair->given[0] = 1;
    if (find(h->smv, y, &pair->value[1])) pair->given[1] = 1;
}

/* Takes the number of pixels. Returns 1 if the header states it for both edges. */
static int set_size(const struct header *h)
{
    struct settings *s = h->s;
    int n[2];
    nb_smv_image(h->smv, &n[0], &n[1], NULL, NULL);
    for (int i = 0; i < 2; i++) {
        if (n[i] <= 0) continue;
        s->npixel[i] = n[i];
        s->size[i] = s->pixel * n[i];
    }
    return n[0] > 0 && n[1] > 0;
}

/* ---- with -compat nanobragg ---- */

static void read_as_nanobragg(const struct header *h)
{
    struct settings *s = h->s;
    struct inherited *to = &s->inherited;
    double value;
    (void)nb_smv_search(h->smv, "PIXEL_SIZE", &s->pixel);
    (void)set_size(h);
    if (nb_smv_search(h->smv, "DISTANCE", &to->distance)) to->has_distance = 1;
    if (nb_smv_search(h->smv, "CLOSE_DISTANCE", &to->close_distance)) to->has_close = 1;
    if (nb_smv_search(h->smv, "TWOTHETA", &to->twotheta)) to->has_twotheta = 1;
    (void)nb_smv_search(h->smv, "WAVELENGTH", &s->scene.beam.wavelength);
    pair_from(h, nb_smv_search, "BEAM_CENTER_X", "BEAM_CENTER_Y", &to->beam);
    if (nb_smv_search(h->smv, "BEAM_CENTER_Y", &value)) {
        to->beam_flipped = h->is_mask;
        if (h->is_mask) to->beam.value[1] = s->size[1] - value;
    }
    pair_from(h, nb_smv_search, "ORGX", "ORGY", &to->org);
    (void)nb_smv_search(h->smv, "PHI", &s->scene.scan.phi0);
    if (nb_smv_search(h->smv, "OSC_RANGE", &value) && value >= 0) {
        s->scene.scan.osc = value;
        s->scene.given |= NB_GIVEN_OSC;
    }
}

/* ---- without -compat ---- */

/* Reads a number above 0. Some programs write 0 for an unknown number, so 0 counts as
 * absent. Returns 1 if there is one. */
static int read_positive(const struct header *h, const char *key, double *out)
{
    double value;
    if (!nb_smv_number(h->smv, key, &value) || !(value > 0)) return 0;
    *out = value;
    return 1;
}

/* Reads the first of two keys, or else the second. Warns if the header has both and they
 * differ. Returns 1 if there is one. */
static int read_either(const struct header *h, const char *first, const char *second,
                       double *out)
{
    double a, b;
    const int has[2] = {nb_smv_number(h->smv, first, &a),
                        nb_smv_number(h->smv, second, &b)};
    if (has[0] && has[1] && fabs(a - b) > 1e-6 * (1 + fabs(a)))
        message_warning(h->messages,
                        "%s: the header has %s=%g and %s=%g, which differ; %s is taken",
                        h->file, first, a, second, b, first);
    if (has[0] || has[1]) *out = has[0] ? a : b;
    return has[0] || has[1];
}

/* Check that the beam centre lies on the detector. The header should state mm, but some
 * programs write pixels: if it is far beside the detector in mm, and on it in pixels,
 * pixels are assumed. */
static void check_beam(const struct header *h)
{
    const struct settings *s = h->s;
    struct pair *beam = &h->s->inherited.beam;
    const int n = s->npixel[0] > s->npixel[1] ? s->npixel[0] : s->npixel[1];
    const double x = beam->value[0], y = beam->value[1], side = s->pixel * n;
    const int beside = x < 0 || x > side || y < 0 || y > side;
    if (!beam->given[0] || !beam->given[1] || !beside || n == 0) return;
    if ((x > 1.5 * side || y > 1.5 * side) && x >= 0 && x <= n && y >= 0 && y <= n) {
        message_warning(h->messages,
                        "%s: BEAM_CENTER %g, %g in mm would lie far beside the detector of "
                        "%d x %d pixels, so it is read as pixels; -Xbeam and -Ybeam "
                        "replace it",
                        h->file, x, y, s->npixel[0], s->npixel[1]);
        for (int i = 0; i < 2; i++) beam->value[i] *= s->pixel;
        return;
    }
    message_warning(h->messages,
                    "%s: BEAM_CENTER %g, %g mm lies beside the detector; -Xbeam and -Ybeam "
                    "replace it",
                    h->file, x, y);
}

/* Reads MOSFLM_CENTER or DENZO_X_BEAM in place of a missing BEAM_CENTER. The result goes to
 * ORGX and ORGY, which is right only if two theta is 0: then the beam hits the nearest
 * point. */
static void read_other_beam(const struct header *h)
{
    const struct inherited *from = &h->s->inherited;
    const double pixel = h->s->pixel;
    struct pair *org = &h->s->inherited.org;
    struct pair beam = {{0}, {0}};
    double shift = 1; /* MOSFLM counts from the middle of the first pixel */
    if (from->has_twotheta && from->twotheta != 0) return;
    pair_from(h, nb_smv_number, "MOSFLM_CENTER_X", "MOSFLM_CENTER_Y", &beam);
    if (!beam.given[0] || !beam.given[1]) {
        pair_from(h, nb_smv_number, "DENZO_X_BEAM", "DENZO_Y_BEAM", &beam);
        shift = 0.5;
    }
    if (!beam.given[0] || !beam.given[1]) return;
    for (int i = 0; i < 2; i++) {
        org->value[i] = beam.value[1 - i] / pixel + shift; /* their x is slow */
        org->given[i] = 1;
    }
}

static void read_beam(const struct header *h)
{
    struct inherited *to = &h->s->inherited;
    struct pair beam = {{0}, {0}}, org = {{0}, {0}};
    pair_from(h, nb_smv_number, "BEAM_CENTER_X", "BEAM_CENTER_Y", &beam);
    pair_from(h, nb_smv_number, "ORGX", "ORGY", &org);
    if (!org.given[0] || !org.given[1])
        pair_from(h, nb_smv_number, "XDS_ORGX", "XDS_ORGY", &org);
    if (beam.given[0] && beam.given[1]) to->beam = beam;
    if (org.given[0] && org.given[1]) to->org = org;
    if (beam.given[0] && beam.given[1]) to->beam_flipped = h->is_mask;
    if (to->ours) return;
    if (beam.given[0] && beam.given[1])
        check_beam(h);
    else if (!org.given[0] || !org.given[1])
        read_other_beam(h);
}

/* Warns if DISTANCE, measured along the beam, and CLOSE_DISTANCE, along the detector's
 * normal, contradict each other. */
static void check_distances(const struct header *h)
{
    const struct inherited *from = &h->s->inherited;
    const double turn = from->has_twotheta ? from->twotheta * acos(-1) / 180 : 0;
    const double along = from->distance * cos(turn);
    if (from->ours || !from->has_distance || !from->has_close) return;
    if (fabs(from->close_distance - along) <= 1e-4 * from->distance) return;
    message_warning(h->messages,
                    "%s: CLOSE_DISTANCE=%g mm contradicts DISTANCE=%g mm, which makes it "
                    "%g mm; the run takes DISTANCE if a beam centre places the detector, "
                    "else CLOSE_DISTANCE",
                    h->file, from->close_distance, from->distance, along);
}

/* Reads a header with the keywords of ADSC's detectors, which many programs write;
 * ADC_OFFSET is a sign of nanobrag. Removes from *lacks the bits of the numbers that the
 * header has. */
static void read_plain(const struct header *h, unsigned *lacks)
{
    struct settings *s = h->s;
    struct inherited *to = &s->inherited;
    double value;
    to->ours = nb_smv_number(h->smv, "ADC_OFFSET", &value);
    if (read_positive(h, "PIXEL_SIZE", &s->pixel)) *lacks &= ~(unsigned)LACKS_PIXEL;
    if (set_size(h)) *lacks &= ~(unsigned)LACKS_SIZE;
    if (read_positive(h, "DISTANCE", &to->distance)) to->has_distance = 1;
    if (read_positive(h, "CLOSE_DISTANCE", &to->close_distance)) to->has_close = 1;
    if (to->has_distance || to->has_close) *lacks &= ~(unsigned)LACKS_DISTANCE;
    if (nb_smv_number(h->smv, "TWOTHETA", &to->twotheta)) to->has_twotheta = 1;
    check_distances(h);
    if (read_positive(h, "WAVELENGTH", &s->scene.beam.wavelength))
        *lacks &= ~(unsigned)LACKS_WAVELENGTH;
    read_beam(h);
    if (to->beam.given[0] || to->org.given[0]) *lacks &= ~(unsigned)LACKS_BEAM;
    if (read_either(h, "OSC_START", "PHI", &s->scene.scan.phi0) && !h->is_mask) {
        to->has_phi = 1;
        to->phi = s->scene.scan.phi0;
    }
    if (nb_smv_number(h->smv, "OSC_RANGE", &value)) {
        s->scene.scan.osc = value;
        s->scene.given |= NB_GIVEN_OSC;
    }
}

/* Reads a header into the settings, and clears the bits in *lacks of its numbers.
 * Returns 0 or the exit status. */
static int read_header(const struct header *h, nb_context *ctx, unsigned *lacks)
{
    nb_experiment experiment;
    h->s->inherited.any = 1;
    if (h->s->compat) {
        read_as_nanobragg(h);
        return 0;
    }
    const nb_status status = nb_smv_experiment(ctx, h->smv, h->file, &experiment);
    if (status != NB_OK)
        return message_status(h->messages, status, nb_context_message(ctx), 0);
    if (experiment.found) {
        experiment_take(h->s, &experiment);
        if (experiment.found & NB_FOUND_SCAN && !h->is_mask) {
            h->s->inherited.has_phi = 1;
            h->s->inherited.phi = experiment.scene.scan.phi0;
        }
        *lacks = 0;
    } else {
        read_plain(h, lacks);
    }
    return 0;
}

static int is_given(const struct event_list *events, const int options[])
{
    for (int i = 0; options[i] != OPT_COUNT; i++)
        for (size_t k = 0; k < events->n; k++)
            if (events->at[k].option == options[i]) return 1;
    return 0;
}

/* Warns of numbers that neither a header nor an option states, and names the defaults. */
static void say_lacking(struct messages *messages, const struct event_list *events,
                        const char *file, unsigned lacks)
{
    static const struct {
        unsigned bit;
        const char *what;
        int options[8];
    } rows[] = {
        {LACKS_SIZE,
         "SIZE1 and SIZE2 above 0 (102.4 mm is taken)",
         {OPT_DETPIXELS, OPT_DETPIXELS_F, OPT_DETPIXELS_S, OPT_DETSIZE, OPT_DETSIZE_F,
          OPT_DETSIZE_S, OPT_COUNT}},
        {LACKS_PIXEL, "PIXEL_SIZE above 0 (0.1 mm is taken)", {OPT_PIXEL, OPT_COUNT}},
        {LACKS_DISTANCE,
         "DISTANCE above 0 (100 mm is taken)",
         {OPT_DISTANCE, OPT_CLOSE_DISTANCE, OPT_COUNT}},
        {LACKS_WAVELENGTH,
         "WAVELENGTH above 0 (1 A is taken)",
         {OPT_LAMBDA, OPT_ENERGY, OPT_SPECTRUM, OPT_SPECTRA, OPT_SOURCEFILE, OPT_COUNT}},
        {LACKS_BEAM,
         "BEAM_CENTER_X and _Y (the middle of the detector is taken)",
         {OPT_XBEAM, OPT_YBEAM, OPT_ORGX, OPT_ORGY, OPT_XCLOSE, OPT_YCLOSE, OPT_PIX0,
          OPT_COUNT}},
    };
    static const int elsewhere[] = {OPT_EXPT, OPT_XPARM, OPT_GEOM, OPT_COUNT};
    char list[LINE_MOST] = "";
    if (is_given(events, elsewhere)) return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t n = strlen(list);
        if (!(lacks & rows[i].bit) || is_given(events, rows[i].options)) continue;
        (void)snprintf(list + n, sizeof list - n, "%s%s", n ? ", no " : "", rows[i].what);
    }
    if (*list) message_warning(messages, "%s: the header has no %s", file, list);
}

/* Read the pixels of -mask as 0 or 1 each. Returns 0 or the exit status. */
static int read_mask(const struct header *h, struct mask *mask)
{
    nb_smv_image(h->smv, &mask->nfast, &mask->nslow, NULL, NULL);
    const size_t n = (size_t)mask->nfast * (size_t)mask->nslow;
    double *const pixels = malloc((n ? n : 1) * sizeof *pixels);
    mask->pixels = malloc(n ? n : 1);
    if (!pixels || !mask->pixels) {
        free(pixels);
        return message_failure(h->messages, "out of memory for the mask");
    }
    const int is_whole = nb_smv_pixels(h->smv, pixels);
    for (size_t i = 0; is_whole && i < n; i++)
        mask->pixels[i] = pixels[i] != 0 && !isnan(pixels[i]);
    free(pixels);
    if (is_whole) return 0;
    return message_usage(h->messages, "%s: %s; write the mask again", h->file,
                         n ? "the file ends before its last pixel"
                           : "the header has no SIZE1 and SIZE2 above 0");
}

int header_inherit(struct settings *s, struct messages *messages, nb_context *ctx,
                   const struct event_list *events, struct mask *mask)
{
    static const int options[] = {OPT_MASK, OPT_IMG};
    unsigned lacks =
        LACKS_SIZE | LACKS_PIXEL | LACKS_DISTANCE | LACKS_WAVELENGTH | LACKS_BEAM;
    const char *last = NULL;
    *mask = (struct mask){0};
    for (int i = 0; i < 2; i++) {
        const char *const file = events_text(events, options[i]);
        if (!file) continue;
        nb_smv *smv;
        const nb_status status = nb_smv_read(ctx, file, &smv);
        if (status != NB_OK)
            return message_status(messages, status, nb_context_message(ctx), 0);
        const struct header h = {s, messages, smv, file, options[i] == OPT_MASK};
        int code = read_header(&h, ctx, &lacks);
        if (!code && h.is_mask) code = read_mask(&h, mask);
        nb_smv_free(smv);
        if (code) return code;
        last = file;
    }
    if (last && !s->compat) say_lacking(messages, events, last, lacks);
    return 0;
}
