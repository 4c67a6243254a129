/*
 * shots.c - what a call costs beyond its pixels: many images from one simulator, each at
 * another orientation and cell.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"

enum { SIDE = 64, TILES = SIDE * SIDE / 256, PARAMETERS = 16 };

static const double overhead_wanted = 50e-6; /* seconds */

static double time_shots(struct library *lib, int quick)
{
    enum { MOST = 1000 };
    const int shots = quick ? 50 : MOST;
    double times[MOST], x[PARAMETERS] = {0};
    nb_param param;

    for (size_t i = 0; i < nb_nparam(lib->sim) && i < PARAMETERS; i++) {
        if (nb_param_at(lib->sim, i, &param) != NB_OK) return 0;
        x[i] = param.value;
    }
    for (int shot = 0; shot < shots; shot++) {
        for (size_t i = 0; i < nb_nparam(lib->sim) && i < PARAMETERS; i++)
            x[i] += 1e-6 * (double)(i + 1);
        times[shot] = library_run(lib, x);
        if (times[shot] == 0) return 0;
    }
    return timing_median(times, shots);
}

/* An image of one pixel costs the call and the tile of that pixel; an image of all tiles
 * the call and TILES of them. */
static int measure(struct shot *shot, int quick, char *said, size_t room)
{
    struct bench_case c = cases_list[1];
    struct manner manner = {.free_names = "misset cell"};
    double seconds[2] = {0, 0};

    manner.options.precision = shot->precision;
    manner.options.strategy = NB_LANES;
    manner.threads = 1;
    c.nfast = c.nslow = SIDE;
    c.ndomains = shot->orientations;
    for (int whole = 0; whole <= 1; whole++) {
        struct library lib;

        c.roi[1] = c.roi[3] = whole ? SIDE : 1;
        if (library_open(&lib, &c, &manner)) seconds[whole] = time_shots(&lib, quick);
        (void)snprintf(said, room, "%s", lib.said);
        library_close(&lib);
        if (seconds[whole] == 0) return 0;
    }
    shot->pixel = seconds[0];
    shot->tile = (seconds[1] - seconds[0]) / (TILES - 1);
    shot->overhead = shot->pixel - shot->tile;
    return 1;
}

void shots_run(struct report *report)
{
    (void)printf("\nmany shots from one simulator, orientation and cell new each time; "
                 "one thread\n"
                 "precision orientations   one pixel      a tile   the call  wanted\n");
    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++)
        for (int orientations = 1; orientations <= 100; orientations *= 10) {
            struct shot *shot = &report->shots[report->nshots];
            char pixel[16], tile[16], call[16], wanted[16], said[NAME];

            *shot = (struct shot){.precision = precision, .orientations = orientations};
            if (!measure(shot, report->options->quick, said, sizeof said)) {
                (void)printf("%-9s %12d   not run: %.60s\n", precision_word(precision),
                             orientations, said);
                continue;
            }
            (void)printf("%-9s %12d   %9s   %9s  %9s %7s %s\n", precision_word(precision),
                         orientations, seconds_text(shot->pixel, pixel, sizeof pixel),
                         seconds_text(shot->tile, tile, sizeof tile),
                         seconds_text(shot->overhead, call, sizeof call),
                         seconds_text(overhead_wanted, wanted, sizeof wanted),
                         verdict_text(shot->overhead <= overhead_wanted, "reached",
                                      "NOT REACHED"));
            report->nshots++;
        }
}
