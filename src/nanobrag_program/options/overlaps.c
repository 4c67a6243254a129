/*
 * overlaps.c - warns of options that another option leaves without effect, because both set
 * the same numbers: the later one counts, or the one that always wins. A file that would be
 * written under two names is refused, as one of them would not be there.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "nanobrag_program/options/settings.h"

/* What several options set. Of the numbers that make it up each option sets some, as bits.
 */
enum what {
    WAVELENGTH,
    CELLS,
    SHAPE,
    SPREAD,
    INTERPOLATION,
    FLUENCE,
    POLARIZATION,
    DIVERGENCE,
    DIVERGENCE_STEPS,
    DIVERGENCE_EDGE,
    SPECTRUM,
    PIXELS,
    AXES,
    POSITION,
    TABLE,
    NOISE,
    NOISE_FILE,
    EXPERIMENT,
    GREY,
    GREY_FILE,
    SHOWN,
    TOLD,
    COMPILED
};

struct claim {
    int option;
    enum what what;
    unsigned bits;
    int wins; /* 1: over the others, wherever they stand */
};

static const struct claim claims[] = {
    {OPT_LAMBDA, WAVELENGTH, 1, 0},
    {OPT_ENERGY, WAVELENGTH, 1, 0},
    {OPT_NA, CELLS, 1, 0},
    {OPT_NB, CELLS, 2, 0},
    {OPT_NC, CELLS, 4, 0},
    {OPT_N, CELLS, 7, 0},
    {OPT_XTAL_X, CELLS, 1, 1},
    {OPT_XTAL_Y, CELLS, 2, 1},
    {OPT_XTAL_Z, CELLS, 4, 1},
    {OPT_XTAL_SIZE, CELLS, 7, 1},
    {OPT_SQUARE_XTAL, SHAPE, 1, 0},
    {OPT_ROUND_XTAL, SHAPE, 1, 0},
    {OPT_GAUSS_XTAL, SHAPE, 1, 0},
    {OPT_TOPHAT, SHAPE, 1, 0},
    {OPT_GAUSS_STAR, SHAPE, 1, 0},
    {OPT_MOSAIC, SPREAD, 1, 0},
    {OPT_MOSAIC_TENSOR, SPREAD, 1, 0},
    {OPT_INTERPOLATE, INTERPOLATION, 1, 0},
    {OPT_NOINTERPOLATE, INTERPOLATION, 1, 0},
    {OPT_FLUENCE, FLUENCE, 1, 0},
    {OPT_FLUX, FLUENCE, 1, 1},
    {OPT_POLAR, POLARIZATION, 1, 0},
    {OPT_NOPOLAR, POLARIZATION, 1, 0},
    {OPT_DIVERGENCE, DIVERGENCE, 3, 0},
    {OPT_HDIVRANGE, DIVERGENCE, 1, 0},
    {OPT_VDIVRANGE, DIVERGENCE, 2, 0},
    {OPT_DIVSTEPS, DIVERGENCE_STEPS, 3, 0},
    {OPT_HDIVSTEPS, DIVERGENCE_STEPS, 1, 0},
    {OPT_VDIVSTEPS, DIVERGENCE_STEPS, 2, 0},
    {OPT_ROUND_DIV, DIVERGENCE_EDGE, 1, 0},
    {OPT_SQUARE_DIV, DIVERGENCE_EDGE, 1, 0},
    {OPT_SOURCEFILE, SPECTRUM, 7, 1},
    {OPT_SPECTRUM, SPECTRUM, 7, 1},
    {OPT_DIVERGENCE, SPECTRUM, 3, 0},
    {OPT_HDIVRANGE, SPECTRUM, 1, 0},
    {OPT_VDIVRANGE, SPECTRUM, 2, 0},
    {OPT_DISPERSION, SPECTRUM, 4, 0},
    {OPT_DETPIXELS, PIXELS, 3, 1},
    {OPT_DETPIXELS_F, PIXELS, 1, 1},
    {OPT_DETPIXELS_S, PIXELS, 2, 1},
    {OPT_DETSIZE, PIXELS, 3, 0},
    {OPT_DETSIZE_F, PIXELS, 1, 0},
    {OPT_DETSIZE_S, PIXELS, 2, 0},
    {OPT_MOSFLM, AXES, 1, 0},
    {OPT_ADXV, AXES, 1, 0},
    {OPT_DENZO, AXES, 1, 0},
    {OPT_XDS, AXES, 1, 0},
    {OPT_DIALS, AXES, 1, 0},
    {OPT_PIX0, POSITION, 255, 1},
    {OPT_DISTANCE, POSITION, 1, 0},
    {OPT_CLOSE_DISTANCE, POSITION, 2, 0},
    {OPT_XBEAM, POSITION, 4, 0},
    {OPT_YBEAM, POSITION, 8, 0},
    {OPT_ORGX, POSITION, 16, 0},
    {OPT_ORGY, POSITION, 32, 0},
    {OPT_XCLOSE, POSITION, 64, 0},
    {OPT_YCLOSE, POSITION, 128, 0},
    {OPT_STOL, TABLE, 1, 0},
    {OPT_STOL4, TABLE, 1, 0},
    {OPT_STOLQ, TABLE, 1, 0},
    {OPT_NOISE, NOISE, 1, 0},
    {OPT_NONOISE, NOISE, 1, 0},
    {OPT_NOISEFILE, NOISE_FILE, 1, 0},
    {OPT_NONOISE, NOISE_FILE, 1, 0},
    {OPT_TRUTH, EXPERIMENT, 1, 0},
    {OPT_NOTRUTH, EXPERIMENT, 1, 0},
    {OPT_PGMSCALE, GREY, 1, 0},
    {OPT_NOPGM, GREY, 1, 0},
    {OPT_PGMFILE, GREY_FILE, 1, 0},
    {OPT_NOPGM, GREY_FILE, 1, 0},
    {OPT_PROGRESS, SHOWN, 1, 0},
    {OPT_NOPROGRESS, SHOWN, 1, 0},
    {OPT_QUIET, TOLD, 1, 1},
    {OPT_VERBOSE, TOLD, 1, 0},
    {OPT_COMPILE, COMPILED, 1, 0},
    {OPT_NOCOMPILE, COMPILED, 1, 0},
};

enum { CLAIMS = sizeof claims / sizeof *claims };

/* A flux or a size of 0 sets nothing. */
static int is_off(const struct settings *s, int option)
{
    static const int sizes[] = {OPT_XTAL_X, OPT_XTAL_Y, OPT_XTAL_Z};
    const double *const size = s->scene.crystal.size;
    for (int i = 0; i < 3; i++)
        if (option == sizes[i]) return size[i] == 0;
    if (option == OPT_XTAL_SIZE) return size[0] == 0 && size[1] == 0 && size[2] == 0;
    return option == OPT_FLUX && s->scene.beam.flux == 0;
}

/* Returns where an option stands last, from 1 on; 0: it does not, or sets nothing. */
static size_t place(const struct settings *s, const struct event_list *events, int option)
{
    if (is_off(s, option)) return 0;
    for (size_t i = events->n; i > 0; i--)
        if (events->at[i - 1].option == option) return i;
    return 0;
}

/* Returns the first event of a file that a later event names otherwise, and that one; NULL:
 * there is none. -data and -add may be repeated, and read files. */
static const struct event *find_renamed(const struct event_list *events, int kind,
                                        const struct event **later)
{
    for (size_t i = 0; i < events->n; i++)
        for (size_t k = i + 1; k < events->n; k++) {
            const struct event *const one = &events->at[i], *const two = &events->at[k];
            if (one->option != two->option || (int)option_at(one->option)->kind != kind
                || one->option == OPT_DATA || strcmp(one->text, two->text) == 0)
                continue;
            *later = two;
            return one;
        }
    return NULL;
}

int overlaps_check(const struct event_list *events, struct messages *messages)
{
    const struct event *later, *first = find_renamed(events, KIND_OUTPUT, &later);
    if (first)
        return message_usage(messages,
                             "%s is given twice, as %s and %s, and writes one file; leave "
                             "one out",
                             option_at(first->option)->name, first->text, later->text);
    first = find_renamed(events, KIND_INPUT, &later);
    if (first)
        message_warning(messages, "%s %s has no effect: %s %s comes later",
                        option_at(first->option)->name, first->text,
                        option_at(first->option)->name, later->text);
    return 0;
}

void overlaps_warn(const struct settings *s, const struct event_list *events,
                   struct messages *messages)
{
    for (int i = 0; i < CLAIMS; i++) {
        const struct claim *const claim = &claims[i], *last = claim;
        const size_t claimed = place(s, events, claim->option);
        unsigned left = claimed ? claim->bits : 0;
        for (int k = 0; k < CLAIMS && left; k++) {
            const struct claim *const by = &claims[k];
            const size_t at = place(s, events, by->option);
            if (by->what != claim->what || !(by->bits & left) || at == 0) continue;
            if (by->wins != claim->wins ? !by->wins : at <= claimed) continue;
            left &= ~by->bits;
            last = by;
        }
        if (last == claim || left) continue;
        message_warning(messages, "%s has no effect: %s %s", option_at(claim->option)->name,
                        option_at(last->option)->name,
                        last->wins > claim->wins ? "sets the same and wins"
                                                 : "comes later and sets the same");
    }
}
