/*
 * fit_ratios.c - has a part of a pass of a fit become slower? Compares the ratios of a run
 * with those of fit_ratios.def.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/* A ratio that has grown by more than this is reported: what others do to the caches moves
 * ratios by a tenth. */
static const double slack = 1.25;

static const struct stored {
    const char *isa, *what;
    double ratio[FIT_CALLS];
} all_stored[] = {
#define RATIOS(isa, what, image, value, gradient, matrix)                                  \
    {isa, what, {image, value, gradient, matrix}},
#include "fit_ratios.def"
#undef RATIOS
};

static const struct stored *find_stored(const char *isa, const char *what)
{
    for (size_t i = 0; i < sizeof all_stored / sizeof *all_stored; i++)
        if (strcmp(all_stored[i].isa, isa) == 0 && strcmp(all_stored[i].what, what) == 0)
            return all_stored + i;
    return NULL;
}

/* Returns the instruction set of the kernels. */
static const char *isa_of(const struct report *report)
{
    const char *named = getenv("NANOBRAG_ISA");

    return named && *named ? named : report->machine.isa;
}

void fits_compare(const struct report *report)
{
    static const char *const parts[FIT_CALLS] = {"image", "value", "gradient", "matrix"};
    const char *isa = isa_of(report);
    int compared = 0, slower = 0;

    if (report->options->quick) return; /* of other sizes */
    for (int i = 0; i < report->nfits; i++) {
        const struct fit *fit = &report->fits[i];
        const struct stored *stored = find_stored(isa, fit->what);

        for (int part = 0; stored && part < FIT_CALLS; part++) {
            const double ratio = fit->seconds[part] / fit->unit;

            compared++;
            if (ratio <= slack * stored->ratio[part]) continue;
            slower++;
            (void)printf("  %s: %s takes %.3g, %.2f times the stored ratio of %.3g%s\n",
                         fit->what, parts[part], ratio, ratio / stored->ratio[part],
                         stored->ratio[part], machine_is_busy() ? " (busy)" : "");
        }
    }
    if (compared == 0)
        (void)printf("  no ratios are stored for %s (fit_ratios.def)\n", isa);
    else
        (void)printf("  SLOWER than the stored ratios by more than %g: %d of %d\n", slack,
                     slower, compared);
}
