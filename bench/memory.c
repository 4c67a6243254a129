/*
 * memory.c - the largest resident size of a run with many pixels, orientations and
 * sources.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "bench.h"
#include "measure/process.h"

static const double resident_wanted = 1e9; /* byte */

/* 1 when auto takes the spots, which visit few of the samples: then the whole image ends */
static int auto_takes_spots(const struct bench_case *c)
{
    struct bench_case small = *c;
    struct manner manner = {.profile = NB_PROFILE_NANOBRAGG, .threads = 1};
    struct library lib;
    int spots;

    small.nfast = small.nslow = 64;
    small.ndomains = small.nsource = 1;
    spots = library_open(&lib, &small, &manner) && lib.description.strategy == NB_SPOTS;
    library_close(&lib);
    return spots;
}

/* case G with more pixels, domains and sources; without spots a single tile of it */
static struct bench_case large(const struct bench_case *g, int quick)
{
    struct bench_case c = *g;

    c.nfast = c.nslow = quick ? 1024 : 4096;
    c.ndomains = quick ? 100 : 1000;
    c.nsource = quick ? 10 : 100;
    return c;
}

static void run_one(struct report *report, const struct bench_case *c, int strategy)
{
    const struct options *options = report->options;
    struct peak *peak = &report->peaks[report->npeaks++];
    struct command command = {0};
    struct process p;
    char text[16];

    *peak = (struct peak){.strategy = strategy};
    (void)snprintf(peak->what, sizeof peak->what, "%.1f Mpixel, %d domains x %d sources%s",
                   1e-6 * c->nfast * c->nslow, c->ndomains, c->nsource,
                   c->roi[1] > 0 ? ", one tile" : "");
    command_add(&command, "%s", options->program);
    cases_command(c, options->hkl, &command);
    command_image(&command);
    command_manner(&command, NB_DOUBLE, strategy);
    process_environment(options->threads, 1);
    p = process_run(&command, NULL, (size_t)c->nslow * (size_t)c->nfast, 600);
    peak->seconds = p.seconds;
    peak->resident = p.resident;
    (void)printf("%-48s %-6s ", peak->what, strategy_word(strategy));
    if (p.ok)
        (void)printf("%9s %6.0f MB, wanted %.0f: %s\n",
                     seconds_text(p.seconds, text, sizeof text), 1e-6 * p.resident,
                     1e-6 * resident_wanted,
                     p.resident < resident_wanted ? "reached" : "NOT REACHED");
    else {
        (void)snprintf(peak->said, sizeof peak->said, "%s", p.said);
        report_failure(report, options->program, p.said);
        (void)printf("not run: %.40s\n", p.said);
    }
    (void)fflush(stdout);
}

/* A child counts what it had in common with us before it became the program, so this runs
 * first, while we are small. */
void memory_run(struct report *report)
{
    struct bench_case c = large(&cases_list[cases_count - 1], report->options->quick);

    (void)printf("\nlargest resident size of the program\n");
    if (auto_takes_spots(&c)) run_one(report, &c, NB_STRATEGY_AUTO);
    c.roi[0] = c.roi[2] = c.nfast / 2;
    c.roi[1] = c.roi[3] = c.roi[0] + 1;
    run_one(report, &c, NB_LANES);
    report->own_resident = process_own_resident();
    (void)printf("(this program itself: %.0f MB)\n", 1e-6 * report->own_resident);
}
