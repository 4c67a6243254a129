/*
 * bench_compile.h - the option -bench_compile: it computes scenes twice, uncompiled (eager)
 * and compiled, and compares results and times.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_BENCH_COMPILE_BENCH_COMPILE_H
#define NB_CLI_BENCH_COMPILE_BENCH_COMPILE_H

#include "cli/run.h"

/* ---- scenes ---- */

enum { CASE_NAME = 32 };

struct bench_case {
    char name[CASE_NAME];
    nb_scene scene;
    nb_options how;
    /* These are freed with the case; the scene points to them. */
    nb_hkl *hkl;
    nb_source *sources;
    uint8_t *mask;
};

/* Return the number of scenes that are built in, and make scene i of them. A case has to be
 * freed even after a failure. */
int bench_cases_count(void);
nb_status bench_case_make(nb_context *ctx, int i, struct bench_case *out);
void bench_case_free(struct bench_case *c);

/* ---- results ---- */

enum { SIDE_EAGER, SIDE_COMPILED, SIDES };
enum { OPERATION_IMAGE, OPERATION_GRADIENT, OPERATIONS };

enum { PLAN_LINE = 192 };

/* The comparison of one operation on one scene. Of two values the first is eager; times are
 * in ms. */
struct bench_row {
    char name[CASE_NAME]; /* of the case */
    int operation, precision;
    size_t values; /* pixels or parameters */
    double mean; /* mean |value|, eager; a comparison of zeros would prove nothing */
    int moves; /* the other x gives other numbers */
    double difference, relative; /* mean |difference|, and the same over the mean */
    double allowed; /* the limit of `relative` */
    int equal; /* all bits are the same */
    /* a second call at x gave the same bits, after calls at another x */
    int repeats[SIDES];
    /* `first` includes making the simulator; `steady` is a median */
    double first[SIDES], steady[SIDES];
    double least[SIDES]; /* the least of the times of `steady` */
    double share; /* fraction of a processor that the calling thread had meanwhile */
    char plan[PLAN_LINE]; /* its line of nb_simulator_explain(); "": none */
    double fixed[SIDES]; /* times of a region of one pixel; negative: not measured */
    nb_compile_stats stats[SIDES];
    nb_description about[SIDES];
    int fails;
};

enum { BENCH_TIMES_MOST = 1001 };

/* How many times an operation is timed. */
struct bench_effort {
    const char *word;
    int least, most; /* if most is 0, nothing is timed */
    double seconds; /* after this time, no more than `least` are timed */
};

struct bench {
    struct run *run;
    struct bench_effort effort;
    int precisions[2], nprecision;
    struct bench_row *rows;
    int ncase, nrow; /* the rows have room for all comparisons */
    int failures;
    double expected, seconds; /* by the first calls; measured */
};

/* Compute a case at one precision, eager and compiled, and add its rows: the image, and the
 * gradient where there is one. Returns 0 or the exit status. */
int bench_run(struct bench *bench, const struct bench_case *c, int precision);

/* Make the first calls of a case, uncompiled, and add to `expected` how many seconds it
 * will take, without what tuning measures. Returns 0 or the exit status. */
int bench_expect(struct bench *bench, const struct bench_case *c);

/* Return the words of an operation and of the precision that was asked for. */
const char *bench_operation_word(int operation);
const char *bench_precision_word(int precision);

/* Returns 1 if the times show that something else ran on the machine. */
int bench_disturbed(const struct bench_row *row);

/* Returns the ratio of the least times, or 0 if there are none. */
double bench_speedup(const struct bench_row *row);

/* Write the table as a JSON document. */
int bench_json_write(const struct bench *bench, const char *path);

#endif
