/*
 * variants.h - macros that define the specialised copies of a kernel. A file that defines
 * run(spec, progress, frame, tile, photons) expands VARIANT_FUNCTION for each row of
 * variants.def. SPDX-License-Identifier: MIT
 */
#ifndef NB_KERNELS_VARIANTS_H
#define NB_KERNELS_VARIANTS_H

#define VARIANT_FUNCTION(shape, lookup)                                                    \
    static void shape##_##lookup(struct progress *progress,                                \
                                 const struct phys_frame *frame, const struct tile *tile,  \
                                 double *photons)                                          \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
                                                                                           \
        run(spec, progress, frame, tile, photons);                                         \
    }

/* VARIANT_ADJOINT does the same for the adjoint of a tile. The file defines
 * objective_back(spec, job, tile, objective, workspace, bar, photons). */
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

/* VARIANT_JACOBIAN does the same for the Jacobian of a tile. The file defines
 * jacobian(spec, job, tile, along, workspace, columns, photons, change). */
#define VARIANT_JACOBIAN(shape, lookup)                                                    \
    static void shape##_##lookup##_jacobian(const struct job *job,                         \
                                            const struct tile *tile,                       \
                                            const struct tangents *along, void *workspace, \
                                            struct columns *columns, double *photons,      \
                                            double *change)                                \
    {                                                                                      \
        const struct phys_spec spec = {PHYS_##shape, PHYS_##lookup, 0, 0};                 \
                                                                                           \
        jacobian(spec, job, tile, along, workspace, columns, photons, change);             \
    }

#endif
