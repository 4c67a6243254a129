/*
 * gradcheck.h - tests whether the derivatives of a simulator are right.
 *
 *   const size_t n = nb_gradcheck_rows(sim, NULL);
 *   nb_gradcheck_row *rows = calloc(n, sizeof *rows);
 *   nb_gradcheck_summary summary;
 *   char line[200];
 *
 *   if (rows && nb_gradcheck(sim, NULL, NULL, NULL, rows, &summary) == NB_OK)
 *       puts(nb_verdict_text(summary.verdict));
 *   for (size_t i = 0; rows && i < n; i++)
 *       if (rows[i].verdict != NB_VERDICT_PASS && nb_gradcheck_line(rows + i, line, 200))
 *           puts(line);
 *   free(rows);
 *
 * nb_gradcheck() compares the derivatives of nb_vjp() and nb_jvp() with finite differences
 * of nb_forward(). Each finite difference has an error bar. It is a central difference at
 * twelve steps h0 2^-j, extrapolated to step 0 (Romberg's scheme). At a bound of the
 * parameter it is a one-sided difference.
 *
 * The comparison leaves out pixels where the image is not smooth: pixels with a sample that
 * takes another branch within these steps. A sample takes another branch if its nearest
 * reflection changes, or if it passes dmin or the edge of a spot.
 * docs/development/gradients.md explains the method and how to read a verdict.
 *
 * The check runs on the host, with the simulator's strategy. For any options and any
 * environment it runs uncompiled, in double, and drops nothing from a pixel.
 *
 * Threads: see context.h.
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

/* One line for each verdict: its name without NB_VERDICT_, and its text. */
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

/*
 * The name of a verdict, such as "FAIL_VALUE", and one sentence that describes it; "unknown
 * verdict" for a number that is not a verdict. Static strings, never NULL.
 */
NB_API const char *nb_verdict_name(int verdict);
NB_API const char *nb_verdict_text(int verdict);

/*
 * The losses that nb_gradcheck() differentiates. Each loss is the sum over pixels of weight
 * x image. The losses differ in the weights:
 */
enum nb_gradcheck_loss {
    NB_GRADCHECK_GIVEN, /* given by the caller, or all 1 */
    NB_GRADCHECK_RANDOM, /* drawn at random from -1 to 1 */
    NB_GRADCHECK_RANDOM_2, /* another random set from -1 to 1 */
    NB_GRADCHECK_BRIGHT /* the image at x divided by its largest pixel */
};
enum { NB_GRADCHECK_LOSSES = 4 };

/*
 * The name of a loss: "given", "random", "random_2" or "bright"; "unknown loss" for another
 * number. A static string, never NULL.
 */
NB_API const char *nb_gradcheck_loss_name(int loss);

typedef struct nb_gradcheck_options {
    uint64_t seed; /* seed of random weights and directions; 0: 1 */
    int ndirection; /* number of random directions, each moving all parameters together;
                       0: each parameter is checked by itself */
    double coverage; /* allowed deviation, in error bars; 0: 8 */
} nb_gradcheck_options;

/*
 * One checked derivative: dL/dp of a loss L with respect to a parameter p, or along a
 * direction ("direction[0]", unit "1"). A direction moves each parameter by a random part
 * of its length (`length` below).
 *
 * Units: photons for the loss and S, photons per unit of the parameter for derivatives, and
 * the unit of the parameter for step and length.
 */
typedef struct nb_gradcheck_row {
    nb_param param; /* the parameter, with its value at x */
    int loss; /* enum nb_gradcheck_loss */
    int verdict; /* enum nb_verdict */
    double vjp, jvp; /* dL/dp by nb_vjp() and by nb_jvp() */
    double fd, bar; /* the finite difference and its error bar */
    double truncation, noise; /* truncation part of the bar; rounding error of the loss */
    double step; /* smallest step of the chosen difference */
    int order; /* the error of the chosen difference falls as step^order */
    int side; /* 0: central; 1: one-sided, above x; -1: one-sided, below x */
    double scale; /* S = sum over pixels of |weight| |dI/dp| */
    double tolerance; /* coverage x bar + 1e-12 S */
    double kept; /* fraction of S in the pixels that were compared */
    double length; /* change of p that changes the image by about itself */
    double rate; /* n in |I(x + h) - I(x) - h dI/dp| ~ h^n, 2 if right; 0: not measurable */
    int evaluations; /* number of computed images; all losses share them */
    char hint[80]; /* with FAIL_VALUE: a known factor near the ratio vjp/fd; else "" */
} nb_gradcheck_row;

typedef struct nb_gradcheck_summary {
    int verdict; /* NB_VERDICT_PASS if all passed, else the first failure */
    char message[160]; /* what failed; "" if all passed */
    int verdicts[NB_VERDICTS]; /* number of rows with each verdict */
    double dot; /* |<w, J d> - <J^T w, d>| over its scale; at most 1e-12 */
    double linearity; /* error of linearity of nb_vjp() over its scale; at most 1e-13, and
                         1e-12 for a continuous crystal */
    int threads; /* bits were compared for 1, 2 and this number of threads */
    uint64_t evaluations; /* number of computed images */
    uint64_t launches, compiled_launches; /* kernel launches; compiled_launches must be 0 */
} nb_gradcheck_summary;

/*
 * The number of rows that nb_gradcheck() fills: 4 losses for each parameter or direction; 0
 * for sim = NULL. options may be NULL.
 */
NB_API size_t nb_gradcheck_rows(const nb_simulator *sim,
                                const nb_gradcheck_options *options);

/*
 * Check the derivatives at x. A wrong derivative is a verdict, not an error. The call
 * allocates its workspace, frees it at the end, and computes some sixty images for each
 * parameter.
 *
 *   x          [in]   parameters; NULL: the values of the scene        (nparam)
 *   bar_image  [in]   weights of NB_GRADCHECK_GIVEN, float32 or float64, on the host;
 *                     NULL: all 1                                      (nslow x nfast)
 *   options    [in]   NULL: all defaults
 *   rows       [out]  the losses of the first parameter, then of the next parameter
 *                                                                (nb_gradcheck_rows())
 *   summary    [out]  verdict of the whole check; may be NULL
 *
 * Errors:
 *   NB_ERR_ARGUMENT     sim or rows is NULL; no parameter is free; a parameter is outside
 *                       its bounds; an option is out of range.
 *   NB_ERR_SHAPE        bar_image has a wrong size or type, or lies on a device.
 *   NB_ERR_DONATED      bar_image has NB_DONATED; or bar_image has NB_DONATE, and compiled
 *                       mode is on.
 *   NB_ERR_SCENE, NB_ERR_UNIT_CELL  x gives an impossible geometry, or a flat cell.
 *   NB_ERR_UNSUPPORTED  the scene has NB_QUIRK_CURVED and a curved detector; or the device
 *                       or compiled mode cannot do this, and NANOBRAG_STRICT=1 forbids
 *                       another way (the host, or uncompiled mode).
 *   NB_ERR_MEMORY, NB_ERR_CANCELLED.
 */
NB_API nb_status nb_gradcheck(nb_simulator *sim, const double *x, const nb_array *bar_image,
                              const nb_gradcheck_options *options, nb_gradcheck_row *rows,
                              nb_gradcheck_summary *summary);

/*
 * Describe a row in one line: "FAIL_VALUE misset_x [degree] loss=random: adjoint ..., fd
 * ...".
 *
 *   row   [in]   a row; not NULL
 *   line  [out]  the text, cut to size - 1 characters and a NUL          (size)
 *
 * Returns the length of the whole line without its NUL, as snprintf() does.
 */
NB_API int nb_gradcheck_line(const nb_gradcheck_row *row, char *line, size_t size);

NB_END_DECLS

#endif
