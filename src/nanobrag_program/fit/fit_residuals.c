/*
 * fit_residuals.c - computes and prints how far images are from their data after a fit: by
 * image, by resolution and in all.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_program/fit/fit_run.h"

/* ---- gathering ---- */

/* Compares images with their data: `which` is NB_FIT_FITTED or NB_FIT_HELD_OUT. Returns 0
 * or the exit status. */
static int gather(const struct fit_job *job, int64_t which, struct fit_residuals *out)
{
    nb_fit_misfit misfit;
    memset(out, 0, sizeof *out);
    const nb_status status = nb_fit_misfit_get(job->fit, which, &misfit);
    if (status != NB_OK)
        return message_status(job->run->command.messages, status,
                              nb_context_message(job->run->command.ctx), 1);
    out->all = misfit.all;
    out->r = misfit.r;
    out->r_expected = misfit.r_expected;
    memcpy(out->shell, misfit.shell, sizeof out->shell);
    out->nshot = misfit.nshot;
    out->image = calloc((size_t)misfit.nshot + 1, sizeof *out->image);
    if (!out->image) return message_failure(job->run->command.messages, "out of memory");
    for (int64_t i = 0; i < misfit.nshot; i++) {
        out->image[i] = misfit.shot[i];
        out->nimage += misfit.shot[i].pixels > 0;
    }
    return 0;
}

int fit_residuals_gather(struct fit_job *job)
{
    if (job->run->command.s->fit.fisher) return 0;
    const int code = gather(job, NB_FIT_FITTED, &job->fitted);
    return code || job->run->command.s->fit.holdout == 0
               ? code
               : gather(job, NB_FIT_HELD_OUT, &job->held_out);
}

void fit_residuals_free(struct fit_job *job)
{
    free(job->fitted.image);
    free(job->held_out.image);
    job->fitted.image = job->held_out.image = NULL;
}

/* ---- printing ---- */

enum { DIGITS = 40 };

static double loss_of_pixel(const nb_misfit *m)
{
    return m->pixels > 0 ? m->loss / (double)m->pixels : -INFINITY;
}

/* Returns the image whose loss per pixel comes next below image `before`, or the worst
 * image for before = -1; -1 if there is none. */
static int64_t next_worst(const struct fit_residuals *residuals, int64_t n, int64_t before)
{
    const nb_misfit *const m = residuals->image;
    int64_t found = -1;
    for (int64_t i = 0; i < n; i++) {
        if (m[i].pixels == 0 || i == before) continue;
        if (before >= 0
            && (loss_of_pixel(&m[i]) > loss_of_pixel(&m[before])
                || (loss_of_pixel(&m[i]) == loss_of_pixel(&m[before]) && i < before)))
            continue;
        if (found < 0 || loss_of_pixel(&m[i]) > loss_of_pixel(&m[found])) found = i;
    }
    return found;
}

/* Writes a number with three decimals or, if it is large, three digits. */
static const char *digits(double value, int sign, char out[DIGITS])
{
    (void)snprintf(out, DIGITS, fabs(value) < 1000 ? "%+.4f" : "%+.3g", value);
    if (!sign) (void)snprintf(out, DIGITS, fabs(value) < 1000 ? "%.3f" : "%.3g", value);
    return out;
}

static void print_image(const char *name, const nb_misfit *m)
{
    char rms[DIGITS], mean[DIGITS];
    printf("  %-28s %s rms, %s on average, loss %.4g for each pixel\n", name,
           digits(m->rms, 0, rms), digits(m->mean, 1, mean), loss_of_pixel(m));
}

/* Prints up to `most` images, the worst first, and all images together. */
static void print_images(const struct fit_residuals *residuals, const nb_fit_result *r,
                         size_t most)
{
    int64_t at = -1;
    size_t printed = 0;
    while (printed < most && (at = next_worst(residuals, r->nshot, at)) >= 0) {
        const nb_misfit *const m = &residuals->image[at];
        print_image(r->shot[at].name, m);
        printed++;
    }
    if (residuals->nimage > printed)
        printf("  further images: %zu\n", residuals->nimage - printed);
    print_image("all", &residuals->all);
}

double fit_ratio(double deviance, double expected)
{
    return expected > 0 ? deviance / expected : NAN;
}

/* Prints the deviance. Bright pixels, the spots, weigh more in the deviance than in rms z,
 * which dark pixels dominate. */
static void print_deviance(const struct fit_residuals *residuals)
{
    const nb_misfit *const m = &residuals->all;
    char all[DIGITS], bright[DIGITS];
    if (!(m->expected > 0)) return;
    printf("deviance     %s times the value of a right model",
           digits(fit_ratio(m->deviance, m->expected), 0, all));
    if (m->bright > 0)
        printf(", %s times in the %lld pixels of more than %d photons",
               digits(fit_ratio(m->bright_deviance, m->bright_expected), 0, bright),
               (long long)m->bright, NB_FIT_BRIGHT);
    printf("\n");
    if (isfinite(residuals->r))
        printf("R of boxes   %.4f, of which noise alone makes %.4f, between observed and "
               "computed photons of the boxes\n",
               residuals->r, residuals->r_expected);
}

/* Prints how many boxes look like the model. */
static void print_boxes(const struct fit_residuals *residuals)
{
    const nb_misfit *const m = &residuals->all;
    if (m->boxes == 0) return;
    printf("boxes        %lld of %lld correlate with the model over %g",
           (long long)m->alike, (long long)m->boxes, NB_FIT_ALIKE);
    if (residuals->nimage == 1)
        for (int64_t i = 0; i < residuals->nshot; i++)
            if (residuals->image[i].boxes > 0)
                printf(", with a median of %.3f", residuals->image[i].correlation);
    printf("\n");
}

static void print_shells(const struct fit_residuals *residuals)
{
    const char *before = "             rms by resolution, A:";
    for (int i = 0; i < NB_FIT_SHELLS; i++) {
        const nb_misfit *const m = &residuals->shell[i];
        if (m->pixels == 0) continue;
        printf("%s %.2f-%.2f ", before, m->dmax, m->dmin);
        printf(m->rms < 1000 ? "%.2f" : "%.3g", m->rms);
        before = ",";
    }
    printf("\n");
}

void fit_residuals_print(const struct fit_job *job, const nb_fit_result *r)
{
    const struct fit_residuals *const fitted = &job->fitted, *const held = &job->held_out;
    char rms[DIGITS], mean[DIGITS];
    if (fitted->nimage == 0) return;
    const size_t most = job->run->command.s->verbose ? SIZE_MAX : 10;
    if (r->nshot > 1) {
        printf("residuals    over their standard deviation, and loss; the worst image "
               "first\n");
        print_images(fitted, r, most);
    } else
        printf("residuals    of %s, over their standard deviation: %s rms, %s on "
               "average\n",
               r->shot[0].name, digits(fitted->all.rms, 0, rms),
               digits(fitted->all.mean, 1, mean));
    print_shells(fitted);
    print_deviance(fitted);
    print_boxes(fitted);
    if (held->nimage == 0) return;
    printf("held out     %zu image%s, which the fit has not used; the same columns\n",
           held->nimage, held->nimage == 1 ? "" : "s");
    print_images(held, r, most);
    print_shells(held);
    print_deviance(held);
}

/* ---- the verdict ---- */

enum { ADVICE = 200 };

/* Writes what the user may do about a fit that ended before it converged. */
static void write_advice(const struct fit_job *job, int end, char out[ADVICE])
{
    const char *const file = job->run->command.s->fit.fitfile;
    const char *const limit = end == NB_FIT_PASSES ? "-fit_passes" : "-fit_seconds";
    *out = 0;
    if (end == NB_FIT_STUCK)
        (void)snprintf(out, ADVICE,
                       "; start from other values, or fix parameters that correlate");
    else if (end == NB_FIT_PASSES || end == NB_FIT_SECONDS) {
        if (file)
            (void)snprintf(out, ADVICE, "; -resume %.100s continues the fit", file);
        else
            (void)snprintf(out, ADVICE,
                           "; give a larger %s, or write -fitfile FILE and continue with "
                           "-resume FILE",
                           limit);
    }
}

/* Warns if few boxes look like the model although their photons are not noise alone.
 * Returns 1 if none does: the model then describes something else. */
static int is_elsewhere(const struct fit_job *job)
{
    enum { ENOUGH = 5, SHARE = 4 };
    const nb_misfit *const m = &job->fitted.all;
    if (m->boxes < ENOUGH || SHARE * m->alike >= m->boxes
        || !(fit_ratio(m->deviance, m->expected) > 1.2))
        return 0;
    message_warning(job->run->command.messages,
                    "%lld of %lld boxes correlate with the model over %g: the spots of the "
                    "model miss the observed spots; check the orientation and its hand, "
                    "the place of the detector, the order of its panels, and the setting "
                    "of the structure factors",
                    (long long)m->alike, (long long)m->boxes, NB_FIT_ALIKE);
    return m->alike == 0;
}

int fit_verdict(const struct fit_job *job, const nb_fit_result *r)
{
    const int converged = r->end == NB_FIT_CONVERGED;
    char advice[ADVICE];
    if (job->run->command.s->fit.fisher) return 0;
    write_advice(job, r->end, advice);
    for (size_t i = 0; i < r->nwarning; i++)
        message_warning(job->run->command.messages, "%s%s", r->warning[i],
                        !converged && i + 1 == r->nwarning ? advice : "");
    return !is_elsewhere(job) && converged ? 0 : EXIT_RUN;
}
