/*
 * run.h - a run of the program: what it reads, makes and knows at the end.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_RUN_H
#define NB_CLI_RUN_H

#include <stddef.h>
#include <stdint.h>

#include <nanobrag/nanobrag.h>

#include "cli/message.h"
#include "cli/options/inherited_header.h"
#include "cli/options/parameters.h"
#include "cli/options/settings.h"
#include "cli/progress.h"

/* Everything that was read from files. */
struct inputs {
    struct mask mask;
    nb_hkl *hkl;
    nb_hkl_info hkl_info;
    int from_dump; /* the list is the dump's */
    nb_source *sources;
    double (*positions)[3]; /* of the sources, as the file has them */
    int nsource;
    double *stol; /* pairs */
    size_t nstol;
};

/* Read what `s` names and put it into s->scene. Returns 0 or the exit status. */
int inputs_read(struct inputs *in, struct settings *s, struct messages *messages,
                nb_context *ctx);
void inputs_free(struct inputs *in);

/* One finished image. */
struct result {
    double phi; /* start, degree */
    nb_statistics statistics;
    double int_scale, pgm_scale; /* 0: no such file */
    double photons;
    int64_t saturated, overloads; /* of the scaled and of the noisy image */
    double seconds;
    char *file[OUT_COUNT];
};

struct run {
    struct settings *s;
    struct messages *messages;
    nb_context *ctx;
    struct inputs inputs;
    struct progress progress;
    nb_simulator *sim;
    nb_description description; /* of the first image */
    nb_scene resolved; /* of the first image, at its parameters */
    struct params params; /* what is free, and its values for the image in hand */
    struct derivatives *derivatives; /* NULL: none are asked for */
    double *image; /* photons, nslow x nfast */
    uint16_t *counts; /* NULL where no file holds any */
    struct result *results;
    int done; /* images that are finished */
    int compile; /* NB_COMPILE_..., as the options have it */
    double seconds_setup;
    int argc;
    char **argv;
};

/* Run what the events ask for; returns the exit status. */
int run_program(struct messages *messages, int argc, char **argv,
                const struct event_list *events);

/* ---- files (outputs.c) ---- */

/* Refuse before rendering what cannot be written in the end. */
int outputs_check(const struct settings *s, struct messages *messages);

/* 1 for the name "-". */
int outputs_to_stdout(const char *path);

/* Write image `i` of the run. Returns 0 or the exit status. */
int outputs_write(struct run *run, int i);

/* Name of the file of image i; free() it, NULL without memory. A run of # or the digits
 * before the extension count on, else _00001 is put before it. */
char *output_name(const char *pattern, int i, int sweep);

/* Lines of the SMV header after HEADER_BYTES, for an image that starts at phi. */
enum { SMV_HEADER_BYTES = 2048 };
void smv_header(const struct run *run, double phi, char out[SMV_HEADER_BYTES]);

/* The picture for the eye. */
int preview_write(struct run *run, const char *path);

/* Every number of the run. */
int json_write(struct run *run, const char *path);

/* ---- text on stdout ---- */

/* From the banner to the line before the statistics. */
void report_start(struct run *run);
void report_summary(const struct run *run);
int report_printout(struct run *run);

/* -explain: geometry in every convention, sampling, work. */
void explain(struct run *run);

/* -gradcheck: a table of derivatives against finite differences. Returns the exit status.
 */
int gradcheck(struct run *run);

/* ---- compiled mode ---- */

/* What -compile and -nocompile say: NB_COMPILE_..., and its word. */
int compiling_mode(const struct event_list *events);
const char *compiling_word(int mode);

/* The variable of the environment that turns it off, with its value; NULL: none does. */
const char *compiling_off_by(void);

/* 1 when plans are measured as they are made. */
int compiling_tunes(const struct run *run);

/* Tell when that variable overrules an option. */
void compiling_note(struct run *run);

/* -bench_compile: a table of compiled against uncompiled. Returns the exit status. */
int bench_compile(struct run *run);

/* 1 when it is to take scenes of its own, for the command line has none; the first option
 * given that replaces them, NULL: none does. */
int bench_compile_builtin(const struct settings *s);
const char *bench_compile_replaced(const struct settings *s);

/* The words of -strategy and -precision for what runs. */
const char *strategy_word(const nb_description *d);
const char *precision_word(const nb_description *d);

/* 1 when -precision float was asked for and nothing is done in it. */
int float_is_idle(const struct run *run);

/* ---- warnings and notes on stderr ---- */

void checks_before(struct run *run);
void checks_after(struct run *run);

/* Where the default profile does otherwise than nanoBragg, on this command line. */
void notes(struct run *run);

#endif
