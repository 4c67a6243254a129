/*
 * variants.h - a file that has a function run(spec, frame, tile, photons) gets from here
 * its specialised copies: VARIANT_FUNCTION over variants.def. SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_VARIANTS_H
#define NB_KERNELS_VARIANTS_H

#define VARIANT_FUNCTION(shape, lookup)                                                    \
    static void shape##_##lookup(const struct phys_frame *frame, const struct tile *tile,  \
                                 double *photons)                                          \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
                                                                                           \
        run(spec, frame, tile, photons);                                                   \
    }

/* and of a function objective_back(spec, job, tile, pull, room, bar, photons) from here */
#define VARIANT_ADJOINT(shape, lookup)                                                     \
    static double shape##_##lookup##_vjp(const struct job *job, const struct tile *tile,   \
                                         const struct objective *objective,                \
                                         void *workspace, struct phys_frame_tangent *bar,  \
                                         double *photons)                                  \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
                                                                                           \
        return objective_back(spec, job, tile, objective, workspace, bar, photons);        \
    }

/* and of a function rows(spec, job, tile, along, room, columns, photons, change) */
#define VARIANT_ROWS(shape, lookup)                                                        \
    static void shape##_##lookup##_rows(const struct job *job, const struct tile *tile,    \
                                        const struct tangents *along, void *workspace,     \
                                        struct columns *columns, double *photons,          \
                                        double *change)                                    \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
                                                                                           \
        rows(spec, job, tile, along, workspace, columns, photons, change);                 \
    }

#endif
