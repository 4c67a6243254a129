/*
 * models.h - the models of atoms that tests work on: files of this repository, files of
 * Debian packages where they are installed, and text.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_STRUCTURE_MODELS_H
#define NB_TESTS_STRUCTURE_MODELS_H

#include <stddef.h>

#include <nanobrag/structure.h>

struct model {
    const char *name, *path;
    int columns; /* columns of a line that hold PDB; 0: all */
    double dmin;
    const char *package; /* Debian's, that has it; NULL: it is here */
};

/* Model i; NULL past the end. Those of this repository come first. */
const struct model *model_at(size_t i);

/* The model of a name, which has to be one of this repository; ends the program if it
 * cannot be read. */
const struct model *model_named(const char *name);

/* Returns 0 where its package is not installed. */
int model_is_here(const struct model *model);

/* Reads a model; ends the program if that fails. */
nb_structure *model_read(nb_context *ctx, const struct model *model);

/* Parses the text of a PDB file; *status is what the parser returned. */
nb_structure *model_of_text(nb_context *ctx, const char *text, nb_status *status);

/* Calculates a list; ends the program if that fails. */
nb_hkl *model_list(nb_context *ctx, const nb_structure *structure, const nb_fcalc *how,
                   const double *x);

/* The complex factors of a list that nb_structure_fcalc() made. */
const double (*model_factors(const nb_hkl *list))[2];

/* R of |F|, and the root of the mean square difference of F over that of F. */
struct model_gap {
    double r, rms;
};
struct model_gap model_compare(const double (*f)[2], const double (*truth)[2], size_t n);

/* A context that keeps its warnings and notes, to be freed with nb_context_free(), and the
 * lines that it has kept since the last call. */
nb_context *model_listener(void);
const char *model_heard(void);

/* 1 in a build that reads models. */
int models_are_read(void);

#endif
