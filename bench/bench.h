/*
 * bench.h - what was asked for, and what was found: every section fills its part of the
 * report and prints it, then the whole goes to JSON and into the plot.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BENCH_BENCH_H
#define NB_BENCH_BENCH_H

#include "cases.h"
#include "library.h"
#include "measure/machine.h"
#include "timing.h"

struct options {
    const char *letters; /* of the cases */
    const char *program, *peer; /* paths; peer NULL: none */
    const char *json, *plot; /* files; NULL: none */
    const char *hkl; /* list of structure factors */
    const char *threads_word, *repeat_word;
    int threads, repeat;
    int quick, longer, ladder, fits, continuous, floor, help;
};

enum {
    ROWS = 64,
    PEERS = 32,
    SERIES = 12,
    POINTS = 16,
    SHOTS = 8,
    GRADIENTS = 16,
    FITS = 16,
    FIT_CALLS = 4,
    CONTINUOUS = 16,
    PEAKS = 4
};

/* 1, 2, 4 ... and the count itself are at most 32 numbers of int, in two precisions */
enum { SCALES = 2 * 32 };

/* a case in one precision and strategy */
struct row {
    const struct bench_case *c;
    int profile, precision, strategy;
    int is_auto; /* the strategy that NB_STRATEGY_AUTO takes */
    char kernel[16];
    int tiles, tiles_small, tiles_double; /* as in nb_description */
    double part; /* of the image that was computed in the library, 1: all */
    double evaluations; /* of the whole image */
    double library, scalar, program; /* seconds for the whole image; 0: not run */
    double roof; /* fewest seconds that the loop's arithmetic takes; 0: not counted */
    /* evaluations for each libm sin() of a core, and that over what nanoBragg.c does, whole
     * process; 0: not known */
    double library_per_sine, library_times, program_per_sine, program_times;
    double target_times, target_seconds; /* of the program; 0: none */
    struct machine machine; /* in the same minute */
    char said[NAME]; /* why something was not run */
};

/* another program and ours in turn */
struct peer {
    const struct bench_case *c;
    int precision, runs;
    double theirs, ours; /* median seconds */
    double worst; /* largest difference over the peak */
    double decorrelation; /* 1 - correlation of the two images */
    size_t differ, pixels; /* float32 that differ in any bit */
    char said[NAME];
};

/* one axis of the ladder */
struct series {
    const char *axis, *label;
    int precision, n;
    double x[POINTS], evaluations[POINTS], seconds[POINTS];
    double small[POINTS], precise[POINTS]; /* share of tiles that are divided, in double */
    double spread; /* largest cost per evaluation over the smallest */
    int flat; /* 1: that is allowed; -1: cannot be told at this load */
    char said[NAME];
};

struct scale {
    int precision, threads, same; /* same: the bits of one thread */
    double seconds, speedup;
};

struct shot {
    int precision, orientations;
    double pixel, tile, overhead; /* seconds: one-pixel image, a tile, the rest */
};

/* what a gradient of all parameters costs; seconds */
struct gradient {
    const struct bench_case *c;
    int precision, strategy;
    size_t parameters;
    double forward, adjoint, loss; /* the adjoint renders the image anew */
    /* of the parameters of a fit: their number, an image again, one tangent, sixteen at
     * once, the normal matrix */
    size_t fitted;
    double image, tangent, tangents, normal;
};

/* a pass of a fit: image, value of the loss, gradient, normal matrix */
struct fit {
    const char *what;
    double seconds[FIT_CALLS];
    double unit; /* seconds of the image in whose units `wanted` is */
    double wanted[FIT_CALLS]; /* 0: nothing */
};

/* a part of a pass by the closed form of a continuous crystal, and by domains; seconds */
struct continuous {
    const char *what, *part;
    int precision;
    double seconds, domains;
    double unit; /* seconds of that in which `wanted` is */
    double wanted;
};

struct peak {
    char what[NAME];
    int strategy;
    double seconds, resident; /* byte */
    char said[NAME];
};

struct report {
    const struct options *options;
    int cores; /* that this process may use */
    double load; /* at the start */
    char failure[NAME]; /* the first program that could not be run, and why */
    struct machine machine; /* at the start */
    struct row rows[ROWS];
    struct peer peers[PEERS];
    struct series series[SERIES];
    struct scale scales[SCALES];
    struct shot shots[SHOTS];
    struct gradient gradients[GRADIENTS];
    struct fit fits[FITS];
    struct continuous continuous[CONTINUOUS];
    struct peak peaks[PEAKS];
    double own_resident; /* of this program: no child can be found to be smaller   byte */
    int nrows, npeers, nseries, nscales, nshots, ngradients, nfits, ncontinuous, npeaks;
};

/* sections */
void figures_run(struct report *report);
void peers_run(struct report *report);
void ladder_run(struct report *report);
void shots_run(struct report *report);
void gradients_run(struct report *report);
void fits_run(struct report *report);
void fits_compare(const struct report *report); /* with the stored ratios */
void continuous_run(struct report *report);
void memory_run(struct report *report);
int floor_run(void); /* an exit status */

/* "1.23 ms"; returns `text` */
const char *seconds_text(double seconds, char *text, size_t room);

#define TOO_BUSY "cannot be told at this load"

/* `yes` when something was reached; else `no`, or that others are too busy to tell */
const char *verdict_text(int reached, const char *yes, const char *no);

/* A program could not be run: the exit status will be 1. */
void report_failure(struct report *report, const char *who, const char *why);

/* 0 when the file cannot be written */
int json_write(const struct report *report, const char *path);
int plot_write(const struct report *report, const char *path);

#endif
