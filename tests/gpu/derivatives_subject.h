/*
 * derivatives_subject.h - what the cases of test_gpu_derivatives share: the tangents of a
 * scene, and a watched device that takes on gpu_derivatives() of them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_DERIVATIVES_SUBJECT_H
#define NB_TESTS_DERIVATIVES_SUBJECT_H

#include "gpu/derivatives/derivatives.h"
#include "gpu/derivatives_run.h"

struct subject {
    struct device_run t;
    uint8_t *mask;
    int n, turning; /* tangents that are asked for, from number `first` on */
    int first;
    double *bar; /* (pixels) a cotangent, numbers between -1 and 1 */
    struct gpu *gpu;
    struct gpu_scene scene;
};

/* results of all ends */
struct results {
    double *gradient, *matrix, *f, **change;
    struct gpu_derivatives_sums sums;
};

/* An empty cache, counters as at the start, kernels of derivatives at hand. */
void begin_anew(void);

double *numbers(size_t n);
double *draws(size_t n, uint32_t seed);

/* Of a named scene with pixels masked away; at most so many tangents that turn. */
void subject_open(const char *name, int most_turning, struct subject *s);
void subject_close(struct subject *s); /* and a check that all was given back */

/* gpu_derivatives() with cotangents in double; what is asked for */
struct gpu_derivatives_job objective_of(const struct subject *s);
struct gpu_input host_image(const struct subject *s, const double *image);

struct results results_make(const struct subject *s,
                            const struct gpu_derivatives_job *request, int f);
void results_drop(const struct subject *s, struct results *r);

/* 1 when all that was asked for has the same bits. */
int results_same(const struct subject *s, const struct results *a, const struct results *b);

nb_status subject_run(struct subject *s, int single,
                      const struct gpu_derivatives_job *request, struct results *r);

/* the same, which is to succeed */
void run_well(struct subject *s, int single, const struct gpu_derivatives_job *request,
              struct results *r);

/* ---- gpu/derivatives_factors.c ---- */

int factors_of_nothing(void);
int constant_factor(void);

/* ---- gpu/derivatives_kernels.c ---- */

int not_to_be_had(void);
int stopped(void);
int kept_on_disk(void);
int limit(void);
int classes(void);
int time_to_wait(void);
int refusals(void);
int any_call_fails(void);

#endif
