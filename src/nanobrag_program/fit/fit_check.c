/*
 * fit_check.c - options of a fit that need others, exclude them, or have no effect.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "nanobrag_program/fit/fit_run.h"

static int needs_fit(const struct settings *s, struct messages *messages, int option)
{
    if (!s->given[option]) return 0;
    return message_usage(messages, "%s needs -fit or -fit_each, with the parameters to fit",
                         option_at(option)->name);
}

static int check_needs(const struct settings *s, struct messages *messages)
{
    /* -shots and -resume are those of shots_check() otherwise */
    static const int fits[] = {OPT_DATA,        OPT_DATA_MASK,     OPT_RESTRAIN,
                               OPT_FITFILE,     OPT_FITIMAGE,      OPT_FISHER,
                               OPT_FISHER_SCAN, OPT_LOSS,          OPT_SATURATION,
                               OPT_READOUT,     OPT_GAIN,          OPT_PEDESTAL,
                               OPT_DELTA,       OPT_FITIMAGE_KIND, OPT_HOLDOUT};
    if (s->fit.shared || s->fit.own) return 0;
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        const int code = needs_fit(s, messages, fits[i]);
        if (code) return code;
    }
    return 0;
}

static int check_data(const struct settings *s, struct messages *messages)
{
    const int fisher = s->fit.fisher || s->fit.fisher_scan;
    if (s->given[OPT_DATA] && s->fit.shots)
        return message_usage(messages, "-data and -shots both name the images; give one");
    if (!fisher && !s->given[OPT_DATA] && !s->fit.shots)
        return message_usage(messages, "-fit needs the observed image: -data FILE, or "
                                       "-fisher for the "
                                       "errors that one would give");
    if (fisher
        && (s->fit.fitfile || s->fit.fitimage || s->fit.resume || s->geomout || s->truth))
        return message_usage(messages,
                             "-fisher and -fisher_scan fit nothing: leave out -fitfile, "
                             "-fitimage, -geomout, -truth and -resume");
    if (s->truth && (s->fit.shots || s->given[OPT_DATA] > 1))
        return message_usage(messages,
                             "-truth of a fit is the experiment of one image, and "
                             "there are several; leave it out");
    if (s->fit.holdout == 1)
        return message_usage(messages, "-holdout 1 leaves no image to fit; give 2 or more");
    if (s->fit.holdout > 0 && s->fit.own)
        return message_usage(messages,
                             "-holdout and -fit_each exclude each other: an image that is "
                             "not fitted has no values of its own");
    if (s->images > 1)
        return message_usage(messages, "-images and -fit exclude each other: an image of a "
                                       "fit has its own -phi");
    return 0;
}

/* Refuses what needs boxes, or a likelihood, and has none. */
static int check_boxes(const struct settings *s, struct messages *messages)
{
    const int by_boxes = s->fit.scaling == NB_FIT_SCALING_BOXES && !s->fit.fisher;
    if ((s->fit.planes || by_boxes) && !s->given[OPT_BOXES])
        return message_usage(messages,
                             "%s needs boxes: give -boxes auto:200:12 or a file of boxes",
                             s->fit.planes ? "-planes" : "-errors boxes");
    if (by_boxes && s->fit.loss != NB_LOSS_POISSON && s->fit.loss != NB_LOSS_READOUT)
        return message_usage(messages,
                             "-errors boxes needs a likelihood, -loss poisson or readout");
    return 0;
}

/* A fit writes no image of the start. */
static int check_images(const struct settings *s, struct messages *messages)
{
    static const int outputs[] = {OPT_FLOATFILE,  OPT_DOUBLEFILE, OPT_INTFILE,
                                  OPT_NOISEFILE,  OPT_PGMFILE,    OPT_PNGFILE,
                                  OPT_IMAGEFILE,  OPT_GRADIENT,   OPT_JACOBIAN,
                                  OPT_HKLGRADFILE};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        if (s->given[outputs[i]])
            return message_usage(messages,
                                 "%s and -fit exclude each other; -fitimage writes the "
                                 "image of the fit",
                                 option_at(outputs[i])->name);
    return 0;
}

static int check_stdout(const struct settings *s, struct messages *messages)
{
    if (outputs_to_stdout(s->fit.fitfile) || outputs_to_stdout(s->fit.fitimage))
        return message_usage(messages, "-fitfile and -fitimage cannot be written to \"-\"; "
                                       "name a file");
    return 0;
}

static void warn_idle(struct messages *messages, int is_idle, int option, const char *why)
{
    if (is_idle)
        message_warning(messages, "%s has no effect %s", option_at(option)->name, why);
}

/* Warns of options that change nothing where nothing is fitted. */
static void check_idle(const struct settings *s, struct messages *messages)
{
    static const int fits[] = {OPT_PLANES, OPT_COARSE, OPT_ERRORS, OPT_FIT_PASSES,
                               OPT_FIT_SECONDS};
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++)
        warn_idle(messages, s->given[fits[i]], fits[i], "without -fit or -fit_each");
}

/* Warns of options that another one leaves without effect. */
static void check_effects(const struct settings *s, struct messages *messages)
{
    static const int once[] = {OPT_FIT, OPT_FIT_EACH, OPT_FITFILE, OPT_SHOTS,
                               OPT_DATA_MASK};
    static const int runs[] = {OPT_COARSE, OPT_ERRORS, OPT_FIT_PASSES, OPT_FIT_SECONDS,
                               OPT_HOLDOUT};
    const int *const given = s->given;
    const int spares = s->fit.loss == NB_LOSS_HUBER || s->fit.loss == NB_LOSS_CAUCHY;
    warn_idle(messages, given[OPT_READOUT] && s->fit.loss != NB_LOSS_READOUT, OPT_READOUT,
              "without -loss readout");
    warn_idle(messages, given[OPT_DELTA] && !spares, OPT_DELTA,
              "without -loss huber or cauchy");
    if (s->fit.loss == NB_LOSS_READOUT && !(s->fit.readout > 0))
        message_warning(messages,
                        "-loss readout without -readout: the read-out noise is 0 photons");
    if (s->fit.planes && s->scene.background.water > 0)
        message_warning(messages,
                        "-planes beside -water: planes, which are nowhere negative, cannot "
                        "take back water that is too much; leave out one of them");
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        if (given[once[i]] > 1)
            message_warning(messages, "%s is given %d times: the last one counts%s",
                            option_at(once[i])->name, given[once[i]],
                            i < 2 ? "; names are separated by commas" : "");
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        warn_idle(messages, given[runs[i]] && s->fit.fisher, runs[i],
                  "on errors that are expected without a fit");
}

int fit_check(const struct settings *s, struct messages *messages)
{
    int code = check_needs(s, messages);
    if (!code && !fit_asked(s)) {
        check_idle(s, messages);
        return 0;
    }
    if (!code) code = check_data(s, messages);
    if (!code) code = check_boxes(s, messages);
    if (!code) code = check_images(s, messages);
    if (!code) code = check_stdout(s, messages);
    if (!code && s->fit.fisher_scan) code = fisher_scan_check(s, messages);
    if (!code) check_effects(s, messages);
    return code;
}
