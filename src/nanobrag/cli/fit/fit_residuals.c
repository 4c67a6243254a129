/*
 * fit_residuals.c - how far the images of a fit are from their data: by image, by
 * resolution and in all.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fit/fit_run.h"

/* ---- gathering ---- */

/* Sums, from which means are made at the end. */
static void add(nb_misfit *to, const nb_misfit *m)
{
    const double n = (double)m->pixels;
    if (m->pixels == 0) return;
    to->dmin = to->pixels == 0 ? m->dmin : fmin(to->dmin, m->dmin);
    to->dmax = to->pixels == 0 ? m->dmax : fmax(to->dmax, m->dmax);
    to->pixels += m->pixels;
    to->mean += n * m->mean;
    to->rms += n * m->rms * m->rms;
    to->loss += m->loss;
}

static void end(nb_misfit *m)
{
    const double n = (double)(m->pixels > 0 ? m->pixels : 1);
    m->mean /= n;
    m->rms = sqrt(m->rms / n);
}

int fit_residuals_gather(const struct fit_job *job, const nb_fit_result *r,
                         struct fit_residuals *out)
{
    memset(out, 0, sizeof *out);
    if (job->run->s->fit.fisher) return 0;
    out->image = calloc((size_t)r->nshot, sizeof *out->image);
    if (!out->image) return message_failure(job->run->messages, "out of memory");
    const int64_t n = r->nshot;
    for (int64_t i = 0; i < n; i++) {
        nb_fit_misfit misfit;
        if (r->shot[i].left_out || nb_fit_misfit_get(job->fit, i, &misfit) != NB_OK)
            continue;
        out->image[i] = misfit.all;
        out->nimage++;
        add(&out->all, &misfit.all);
        for (int k = 0; k < NB_FIT_SHELLS; k++) add(&out->shell[k], &misfit.shell[k]);
    }
    end(&out->all);
    for (int k = 0; k < NB_FIT_SHELLS; k++) end(&out->shell[k]);
    return 0;
}

void fit_residuals_free(struct fit_residuals *residuals)
{
    free(residuals->image);
    residuals->image = NULL;
}

/* ---- printing ---- */

enum { DIGITS = 40 };

static double loss_of_pixel(const nb_misfit *m)
{
    return m->pixels > 0 ? m->loss / (double)m->pixels : -INFINITY;
}

/* The image with the largest loss for each pixel below that of another, among those that
 * have one; `before` is -1 for the largest of all. */
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

/* To three digits behind the point, or three in all of a large number. */
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

/* Ten images at the most, the worst first. */
static void print_images(const struct fit_residuals *residuals, const nb_fit_result *r)
{
    enum { MOST = 10 };
    int64_t at = -1;
    size_t printed = 0;
    printf("residuals    over their standard deviation, and loss, the worst first\n");
    while (printed < MOST && (at = next_worst(residuals, r->nshot, at)) >= 0) {
        const nb_misfit *const m = &residuals->image[at];
        print_image(r->shot[at].name, m);
        printed++;
    }
    if (residuals->nimage > printed)
        printf("  and %zu images more\n", residuals->nimage - printed);
    print_image("all", &residuals->all);
}

void fit_residuals_print(const struct fit_residuals *residuals, const nb_fit_result *r)
{
    char rms[DIGITS], mean[DIGITS];
    if (residuals->nimage == 0) return;
    if (r->nshot > 1)
        print_images(residuals, r);
    else
        printf("residuals    of %s, over their standard deviation: %s rms, %s on "
               "average\n",
               r->shot[0].name, digits(residuals->all.rms, 0, rms),
               digits(residuals->all.mean, 1, mean));
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

/* ---- the verdict ---- */

int fit_verdict(const struct fit_job *job, const nb_fit_result *r)
{
    const int is_limited = r->end == NB_FIT_PASSES || r->end == NB_FIT_SECONDS;
    if (job->run->s->fit.fisher) return 0;
    for (size_t i = 0; i < r->nwarning; i++)
        message_warning(job->run->messages, "%s%s", r->warning[i],
                        is_limited && i + 1 == r->nwarning
                            ? "; go on by -resume, or with a larger -fit_passes"
                            : "");
    return r->end == NB_FIT_CONVERGED ? 0 : EXIT_RUN;
}
