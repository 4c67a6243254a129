/*
 * check/check.h - whether the derivatives of a simulator are right.
 *
 * Derivatives by nb_vjp() and nb_jvp() are compared with finite differences of nb_forward()
 * that carry an error bar: central differences at twelve steps h0 2^-j, extrapolated; at a
 * bound of a parameter, differences to one side. Pixels in which a sample takes another
 * branch within those steps (its nearest reflection, dmin, the edge of a spot) are not
 * smooth there and are left out on both sides. docs/development/gradients.md tells how to
 * read a verdict.
 *
 * The check runs on the host, by the simulator's own strategy, always uncompiled, in double
 * and with nothing dropped, whatever its options and the environment say.
 *
 * Thread rule: that of context.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_GRADCHECK_H
#define NANOBRAG_GRADCHECK_H

#include <stdint.h>

#include <nanobrag/array.h>
#include <nanobrag/params.h>
#include <nanobrag/simulator.h>

NB_BEGIN_DECLS

/* one line per verdict: name, the sentence nb_verdict_text() returns */
#define NB_VERDICT_LIST(X)                                                                 \
    X(PASS, "the derivative is right")                                                     \
    X(FAIL_VALUE, "the derivative differs from the finite difference")                     \
    X(FAIL_VACUOUS, "the image is dark or does not depend on the parameter")               \
    X(FAIL_STRUCTURAL_ZERO, "a parameter declared without influence has some")             \
    X(FAIL_NONDETERMINISTIC, "the same call gave other bits")                              \
    X(FAIL_DOT, "tangent and adjoint are not each other's transpose")                      \
    X(FAIL_RATE, "the remainder of the first order does not shrink as the square")         \
    X(FAIL_MASK, "too few pixels are smooth about this value")                             \
    X(FAIL_STAIRCASE, "the image changes in steps: something is rounded to float")         \
    X(INCONCLUSIVE, "the error bar of the finite difference is too wide")                  \
    X(FAIL_COVERAGE, "a parameter of the registry is not checked")                         \
    X(FAIL_GUARD, "something compiled ran")                                                \
    X(FAIL_NAN, "a number is not finite")

#define NB_VERDICT_ENUM(name, text) NB_VERDICT_##name,
typedef enum nb_verdict { NB_VERDICT_LIST(NB_VERDICT_ENUM) NB_VERDICTS } nb_verdict;
#undef NB_VERDICT_ENUM

/* "FAIL_VALUE", and one sentence; "unknown verdict" for a number that is none. */
NB_API const char *nb_verdict_name(int verdict);
NB_API const char *nb_verdict_text(int verdict);

/* The sums of weight x image that are differentiated: weights of the caller (or all 1),
 * two sets drawn at random from -1 to 1, and the image itself over its peak. */
enum nb_gradcheck_loss { NB_LOSS_GIVEN, NB_LOSS_RANDOM, NB_LOSS_RANDOM_2, NB_LOSS_BRIGHT };
enum { NB_GRADCHECK_LOSSES = 4 };

/* "given", "random", "random_2", "bright". */
NB_API const char *nb_gradcheck_loss_name(int loss);

typedef struct nb_gradcheck_options {
    uint64_t seed; /* of weights and directions; 0: 1 */
    int ndirection; /* so many random directions of all parameters together; 0: every
                       parameter by itself */
    double coverage; /* error bars that a difference may amount to; 0: 8 */
} nb_gradcheck_options;

/* One derivative: of one loss along one parameter or direction ("direction[0]", in which
 * each parameter moves by a random part of its own length). */
typedef struct nb_gradcheck_row {
    nb_param param;
    int loss; /* enum nb_gradcheck_loss */
    int verdict; /* enum nb_verdict */
    double vjp, jvp; /* the derivative by nb_vjp() and by nb_jvp() */
    double fd, bar; /* the finite difference and its error bar */
    double truncation, noise; /* part of the bar; rounding of the loss */
    double step; /* of the difference that won */
    int order; /* of its error in the step */
    int side; /* 0: central; 1, -1: to one side of a bound */
    double scale; /* S = sum |weight| |dI|, what errors are measured against */
    double tolerance; /* coverage x bar + 1e-12 S */
    double kept; /* share of S in pixels that took part */
    double length; /* change of the parameter by which the image changes by itself */
    double
        rate; /* at which the remainder of the first order shrinks; 0: too small to tell */
    int evaluations; /* images, shared by all losses */
    char hint[80]; /* of FAIL_VALUE: what the ratio looks like; or "" */
} nb_gradcheck_row;

typedef struct nb_gradcheck_summary {
    int verdict; /* NB_VERDICT_PASS when everything passed, else the first that did not */
    char message[160]; /* what it was about */
    int verdicts[NB_VERDICTS]; /* how many rows of each */
    double dot; /* |<w, J d> - <J^T w, d>|, of its scale; 1e-12 is allowed */
    double linearity; /* of nb_vjp() in the cotangent, of its scale; 1e-13 is allowed */
    int threads; /* the same bits with one, two and so many */
    uint64_t evaluations; /* images */
    uint64_t launches, compiled_launches; /* of kernels; the latter must be 0 */
} nb_gradcheck_summary;

/* Rows that nb_gradcheck() fills; options may be NULL. */
NB_API size_t nb_gradcheck_rows(const nb_simulator *sim,
                                const nb_gradcheck_options *options);

/*
 * Check the derivatives at x.
 *
 *   x          [in]   parameters; NULL: the values of the scene        (nparam)
 *   bar_image  [in]   weights of NB_LOSS_GIVEN, in host memory; NULL: all 1
 *                                                                      (nslow x nfast)
 *   options    [in]   NULL: all defaults
 *   rows       [out]  parameter by parameter, the losses of each (nb_gradcheck_rows())
 *   summary    [out]  of all; may be NULL
 *
 * A derivative that is wrong is a verdict, not an error. Errors: NB_ERR_DONATED (bar_image
 * has NB_DONATE or NB_DONATED set: it is read many times), NB_ERR_ARGUMENT, NB_ERR_SHAPE,
 * NB_ERR_CANCELLED, NB_ERR_MEMORY, and those of nb_jvp(). Allocates; takes some sixty
 * images for each parameter.
 */
NB_API nb_status nb_gradcheck(nb_simulator *sim, const double *x, const nb_array *bar_image,
                              const nb_gradcheck_options *options, nb_gradcheck_row *rows,
                              nb_gradcheck_summary *summary);

/*
 * One line about a row: "FAIL_VALUE misset_x [degree] loss=random: adjoint ..., fd ...".
 * Cut at `size`; returns the length of the whole line. row must not be NULL.
 */
NB_API int nb_gradcheck_line(const nb_gradcheck_row *row, char *line, size_t size);

NB_END_DECLS

#endif
