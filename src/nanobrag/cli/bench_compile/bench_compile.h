/*
 * bench_compile.h - a scene computed twice, uncompiled and compiled, and what comes of it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_BENCH_COMPILE_BENCH_COMPILE_H
#define NB_CLI_BENCH_COMPILE_BENCH_COMPILE_H

#include "cli/run.h"

/* ---- scenes ---- */

struct bench_case {
    const char *name;
    nb_scene scene;
    nb_options how;
    /* what the scene points to, where the case owns it */
    nb_hkl *hkl;
    nb_source *sources;
    uint8_t *mask;
};

/* How many scenes this build has of its own, and scene i of them; free it even after a
 * failure. */
int bench_cases_count(void);
nb_status bench_case_make(nb_context *ctx, int i, struct bench_case *out);
void bench_case_free(struct bench_case *c);

/* ---- what is found ---- */

enum { SIDE_EAGER, SIDE_COMPILED, SIDES };
enum { OPERATION_IMAGE, OPERATION_GRADIENT, OPERATIONS };

enum { PLAN_LINE = 192 };

/* Of one operation; of two values the first is eager. Times in ms. */
struct bench_row {
    const char *name; /* of the case */
    int operation, precision;
    size_t values; /* pixels or parameters */
    double mean; /* of |value|, eager: 0 would prove nothing */
    int moves; /* the other x gives other numbers */
    double difference, relative; /* mean |difference|, and over the mean */
    double allowed; /* of `relative` */
    int equal; /* all bits */
    int repeats[SIDES]; /* x, another x, x gave the bits of x again, whatever came between
                         */
    double first[SIDES], steady[SIDES]; /* first: with making the simulator */
    double least[SIDES]; /* of those steady is the median of */
    double share; /* of a processor that the calling thread had meanwhile */
    char plan[PLAN_LINE]; /* its line of nb_simulator_explain(), compiled; "": none */
    const char *differs_by; /* what tuning did that may move bits; NULL: nothing known */
    double fixed[SIDES]; /* of a region of one pixel; negative: not taken */
    nb_compile_stats stats[SIDES];
    nb_description about[SIDES];
    int fails;
};

enum { BENCH_TIMES_MOST = 1001 };

/* how many times an operation is timed */
struct bench_effort {
    const char *word;
    int least, most; /* most 0: no times */
    double seconds; /* between them */
};

struct bench {
    struct run *run;
    struct bench_effort effort;
    int precisions[2], nprecision;
    struct bench_row *rows;
    int nrow, room;
    int failures;
    double seconds;
};

/* Compute a case at one precision, both ways, and add its rows: the image, and the gradient
 * where there is one. Returns 0 or the exit status. */
int bench_run(struct bench *bench, const struct bench_case *c, int precision);

/* Another row; NULL without memory. */
struct bench_row *bench_row_add(struct bench *bench);

const char *bench_operation_word(int operation);

/* 1 when the times say that something else ran beside. */
int bench_disturbed(const struct bench_row *row);

/* Of the least times; 0: there are none. */
double bench_speedup(const struct bench_row *row);

/* The table as a JSON document. */
int bench_json_write(const struct bench *bench, const char *path);

#endif
