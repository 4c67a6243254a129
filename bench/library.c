/* library.c - see library.h. SPDX-License-Identifier: MIT */
#include "library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing.h"

/* a context that sees NANOBRAG_ISA = isa */
static nb_status make_context(const struct manner *manner, nb_context **ctx)
{
    static const char name[] = "NANOBRAG_ISA";
    const char *before = getenv(name);
    char *kept = before ? strdup(before) : NULL;
    nb_context_options options = {0};
    nb_status status;

    options.threads = manner->threads;
    if (manner->isa) (void)setenv(name, manner->isa, 1);
    status = nb_context_create(NB_API_VERSION, &options, ctx);
    if (kept)
        (void)setenv(name, kept, 1);
    else
        (void)unsetenv(name);
    free(kept);
    return status;
}

int library_open(struct library *lib, const struct bench_case *c,
                 const struct manner *manner)
{
    nb_scene scene;
    nb_status status;

    memset(lib, 0, sizeof *lib);
    lib->clock =
        manner->threads == 1 && !manner->wall ? timing_process_seconds : timing_seconds;
    if (make_context(manner, &lib->ctx) != NB_OK) {
        (void)snprintf(lib->said, sizeof lib->said, "no context");
        return 0;
    }
    status = c->interpolate ? nb_hkl_read(lib->ctx, manner->hkl, &lib->hkl) : NB_OK;
    scene = cases_scene(c, manner->profile, lib->hkl);
    if (status == NB_OK)
        status = nb_simulator_create(lib->ctx, &scene, manner->free_names, &manner->options,
                                     &lib->sim);
    if (status == NB_OK) status = nb_describe(lib->sim, NULL, &lib->description);
    if (status == NB_OK)
        lib->pixels = calloc((size_t)c->nslow * (size_t)c->nfast, sizeof *lib->pixels);
    if (lib->pixels) return 1;
    (void)snprintf(lib->said, sizeof lib->said, "%s",
                   status == NB_OK ? "out of memory" : nb_context_message(lib->ctx));
    return 0;
}

void library_close(struct library *lib)
{
    free(lib->pixels);
    nb_simulator_free(lib->sim);
    nb_hkl_free(lib->hkl);
    nb_context_free(lib->ctx);
}

double library_run(struct library *lib, const double *x)
{
    nb_array image =
        nb_array_f32(lib->pixels, lib->description.nslow, lib->description.nfast);
    const double start = lib->clock();

    if (nb_forward(lib->sim, x, &image) == NB_OK) return lib->clock() - start;
    (void)snprintf(lib->said, sizeof lib->said, "%s", nb_context_message(lib->ctx));
    return 0;
}

double library_time(struct library *lib, int repeat, double budget)
{
    enum { MOST = 64 };
    const double enough = 0.1; /* seconds; short runs are repeated until then */
    double times[MOST], spent = library_run(lib, NULL);
    int n = 0;

    if (spent == 0) return 0;
    /* a long run needs no warming up */
    if (spent > budget / 2) times[n++] = spent;
    while (n < MOST && (n < repeat || spent < enough) && (n == 0 || spent < budget)) {
        times[n] = library_run(lib, NULL);
        if (times[n] == 0) return 0;
        spent += times[n++];
    }
    return timing_median(times, n);
}
