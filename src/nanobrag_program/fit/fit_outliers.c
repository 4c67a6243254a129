/* fit_outliers.c - prints which boxes and pixels left a fit by themselves.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "nanobrag_program/fit/fit_run.h"

enum { LISTED_MOST = 10 };

const char *fit_outlier(const nb_fit_outlier *o, char out[FIT_OUTLIER])
{
    if (o->box < 0)
        (void)snprintf(out, FIT_OUTLIER,
                       "pixel (%d, %d): %.3g standard deviations above the model", o->fast,
                       o->slow, o->z);
    else
        (void)snprintf(out, FIT_OUTLIER,
                       "box %d at (%d, %d): its residuals are %.3g deviations above those "
                       "of other boxes",
                       o->box, o->fast, o->slow, o->z);
    return out;
}

void fit_outliers_print(const nb_fit_result *r)
{
    size_t boxes = 0, pixels = 0, listed = 0;
    char why[FIT_OUTLIER];
    for (int64_t i = 0; i < r->nshot; i++)
        for (size_t k = 0; k < r->shot[i].noutlier; k++)
            ++*(r->shot[i].outlier[k].box < 0 ? &pixels : &boxes);
    if (boxes + pixels == 0) return;
    printf("outliers     %zu box%s and %zu single pixel%s left the fit by themselves; "
           "-outliers keep uses all\n",
           boxes, boxes == 1 ? "" : "es", pixels, pixels == 1 ? "" : "s");
    for (int64_t i = 0; i < r->nshot; i++)
        for (size_t k = 0; k < r->shot[i].noutlier; k++)
            if (listed++ < LISTED_MOST)
                printf("  %s%s%s\n", r->nshot > 1 ? r->shot[i].name : "",
                       r->nshot > 1 ? ", " : "", fit_outlier(&r->shot[i].outlier[k], why));
    if (boxes + pixels > LISTED_MOST)
        printf("  further outliers: %zu; -json lists all\n", boxes + pixels - LISTED_MOST);
}
