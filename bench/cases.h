/*
 * cases.h - what is timed: images as numbers, from which both a scene for the library and
 * a command line for a program are made.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BENCH_CASES_H
#define NB_BENCH_CASES_H

#include <stddef.h>

#include <nanobrag/nanobrag.h>

enum { NAME = 160 }; /* room for a message */

/* F = 100, or the list of cases_write_hkl(). */
struct bench_case {
    char letter;
    const char *what;
    int shape; /* enum nb_shape: NB_SQUARE or NB_GAUSS */
    double cell[6], misset[3]; /* A, degree */
    int ncells; /* along a, b and c */
    double mosaic; /* degree */
    int ndomains;
    double dispersion; /* percent */
    int nsource;
    double phi, osc; /* degree */
    int nphi;
    double wavelength, distance, pixel; /* A, mm, mm; 0: 1, 100, 0.1 */
    int nfast, nslow;
    int oversample; /* 0: by rule */
    int interpolate; /* NB_NEAREST or NB_TRICUBIC in the list; else F = 100 */
    int roi[4]; /* as in nb_detector; all 0: everything */
    /* of nanoBragg.c built with gcc -O3 -march=native -fopenmp: evaluations of the whole
     * process for each call of libm's sin() on the same core in the same minute */
    double nanobragg;
    double target[2]; /* times nanoBragg.c, by enum nb_precision; 0: none */
    double spots_target, spots_seconds; /* ... of NB_SPOTS: times, or seconds */
    double
        own_seconds[2]; /* of NB_SPOTS under NB_PROFILE_NANOBRAG, which such a case is for
                           alone: seconds by enum nb_precision on a core of 2.6 GHz */
};

extern const struct bench_case cases_list[];
extern const size_t cases_count;

/* every h k l to 2 A with F = 100 (1 + cos(1.3 h + 2.1 k + 0.7 l)); 0 when the file cannot
 * be written */
int cases_write_hkl(const char *path);

/* scene of a case under a profile (enum nb_profile); hkl is that list */
nb_scene cases_scene(const struct bench_case *c, int profile, const nb_hkl *hkl);

/* a command line under construction */
struct command {
    const char *word[64];
    size_t nwords;
    char text[2048]; /* where the words are kept */
    size_t used;
};

void command_add(struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* options of a case as nanoBragg has them */
void cases_command(const struct bench_case *c, const char *hkl, struct command *command);

/* a float image in o.bin and nothing else, as nanoBragg says it */
void command_image(struct command *command);

/* our own options: enum nb_precision, enum nb_strategy */
void command_manner(struct command *command, int precision, int strategy);

/* words for those two enums */
const char *precision_word(int precision);
const char *strategy_word(int strategy);

#endif
