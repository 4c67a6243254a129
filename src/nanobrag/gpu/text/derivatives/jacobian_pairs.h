/*
 * jacobian_pairs.h - the derivatives of the samples of one sub-pixel under one source. F^2
 * of each pair and its derivatives are added up in registers, as in
 * kernels/lanes/lane_slopes.h and lane_jacobian.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_JACOBIAN_PAIRS_H
#define NB_GPU_TEXT_DERIVATIVES_JACOBIAN_PAIRS_H

#include "gpu/text/derivatives/derivatives_parameters.h"
#include "gpu/text/image_block.h"
#include "physics/step_vjp.h"

#if defined(__CUDACC__)
#define JACOBIAN_UNROLLED _Pragma("unroll")
#else
#define JACOBIAN_UNROLLED
#endif

/* The derivatives that a kernel is compiled to compute. No tangent of a launch may need a
 * derivative that is left out. */
struct jacobian_spec {
    struct phys_spec spec;
    int strain; /* 1: tangents may strain the cell */
    int crystal; /* 1: tangents may change the numbers of cells, or fudge and metric */
    int turns; /* number of tangents that may rotate orientations */
};

enum { JACOBIAN_TURNS = 8, JACOBIAN_CRYSTAL = 6 };

/* The rotation of an orientation along a tangent, in `real`, loaded by one instruction. */
struct __attribute__((aligned(16))) jacobian_turn {
    struct phys_vec3 by;
    real weight;
};

/* The scattering vector of a part's middle times the wavelength, and 1/wavelength. */
struct __attribute__((aligned(16))) jacobian_middle {
    struct phys_vec3 way;
    real unit;
};

/* The memory that the threads of a block share. */
struct jacobian_shared {
    struct tile_shared tile;
    struct jacobian_middle middle[BLOCK_THREADS];
};

struct jacobian_memory {
    struct jacobian_shared *shared;
    struct jacobian_turn
        *rotation; /* (BLOCK_THREADS x spec.turns) for the pairs of a chunk */
    /* used when all samples are done, so it may share its memory with `rotation` */
    double *stage; /* (STAGE x STAGE_ROW) */
};

/* The sums over the samples of a sub-pixel, without its weight. F^2 and its derivative by
 * the direction belong to the current source, without the source's weight. All other
 * derivatives are summed over all sources: by strain, along the rotations of tangents, and
 * by the crystal's numbers. These are the numbers of cells or, for other shapes, the metric
 * (divided by the fudge factor), from which close_width() computes the derivative by the
 * fudge factor. */
struct jacobian_sums {
    real f2;
    struct phys_vec3 slope;
    real strain[9], crystal[JACOBIAN_CRYSTAL], rotation[JACOBIAN_TURNS];
};

/* A sub-pixel and the source for which its samples are computed. */
struct jacobian_aim {
    struct aim sample;
    const struct jacobian_turn *rotation;
    struct phys_vec3 way; /* scattering vector times the wavelength */
    real share; /* weight and factors of the source */
};

PHYS_FN void clear_sums(struct jacobian_spec spec, struct jacobian_sums *sums)
{
    sums->f2 = 0;
    sums->slope = phys_vec3(0, 0, 0);
    JACOBIAN_UNROLLED
    for (int i = 0; i < 9; i++) sums->strain[i] = 0;
    JACOBIAN_UNROLLED
    for (int i = 0; i < JACOBIAN_CRYSTAL; i++) sums->crystal[i] = 0;
    JACOBIAN_UNROLLED
    for (int d = 0; d < spec.turns; d++) sums->rotation[d] = 0;
}

/* Returns the square of the lattice factor and its derivatives by h, k, l. Adds `weight`
 * times its derivatives by the crystal's numbers to the sums. */
PHYS_FN struct phys_sample lattice_slopes(struct jacobian_spec spec,
                                          const struct phys_crystal *crystal,
                                          struct phys_vec3 d, real weight,
                                          struct jacobian_sums *sums)
{
    if (spec.spec.shape == PHYS_SQUARE) {
        const struct phys_grating g = phys_grating(crystal, d);

        if (spec.crystal) {
            sums->crystal[0] += weight * g.dn.x;
            sums->crystal[1] += weight * g.dn.y;
            sums->crystal[2] += weight * g.dn.z;
        }
        return g.sample;
    } else {
        const struct phys_bump g = phys_bump(spec.spec.shape, crystal, d);

        if (spec.crystal) {
            const real fall = weight * g.fall;

            sums->crystal[0] += fall * d.x * d.x;
            sums->crystal[1] += fall * d.y * d.y;
            sums->crystal[2] += fall * d.z * d.z;
            sums->crystal[3] += fall * d.x * d.y;
            sums->crystal[4] += fall * d.x * d.z;
            sums->crystal[5] += fall * d.y * d.z;
        }
        return g.sample;
    }
}

/* Returns F^2 of a pair, and its derivatives by h, k, l times `weight`. */
PHYS_FN struct phys_sample pair_slopes(struct jacobian_spec spec,
                                       const struct jacobian_aim *aim, real weight,
                                       struct phys_site site, struct jacobian_sums *sums)
{
    const real cell = site.cell.f, weighted = weight * (cell * cell);
    struct phys_sample s = lattice_slopes(spec, &aim->sample.shared->view.crystal, site.d,
                                          aim->share * weighted, sums);

    if (spec.spec.lookup == PHYS_TRICUBIC) {
        const real bend = weight * (2 * cell * s.f2);

        s.dh = weighted * s.dh + bend * site.cell.dh;
        s.dk = weighted * s.dk + bend * site.cell.dk;
        s.dl = weighted * s.dl + bend * site.cell.dl;
    } else {
        s.dh *= weighted;
        s.dk *= weighted;
        s.dl *= weighted;
    }
    s.f2 *= cell * cell;
    return s;
}

/* Adds the derivatives of F^2 by the strain. */
PHYS_FN void add_strain(const struct jacobian_aim *aim, const struct slot *slot,
                        struct phys_sample s, struct jacobian_sums *sums)
{
    const struct phys_anchor anchor = slot_anchor(slot);
    const struct phys_vec3 x =
        phys_axpy(1, slot->whole, phys_anchor_indices(&anchor, aim->sample.step));

    phys_strain_vjp(x, phys_scale(aim->share, phys_vec3(s.dh, s.dk, s.dl)), sums->strain);
}

/* Adds F^2 and the derivatives of the pair in slot t, at a site. */
PHYS_FN void add_pair(struct jacobian_spec spec, const struct jacobian_aim *aim, int t,
                      const struct slot *slot, struct phys_site site,
                      struct jacobian_sums *sums)
{
    const struct phys_sample s = pair_slopes(spec, aim, slot->weight, site, sums);
    const struct phys_axes axes = {slot->a, slot->b, slot->c};
    const struct phys_vec3 slope = phys_indices_vjp(axes, phys_vec3(s.dh, s.dk, s.dl));

    sums->f2 += slot->weight * s.f2;
    sums->slope = phys_axpy(1, slope, sums->slope);
    if (spec.strain) add_strain(aim, slot, s, sums);
    if (spec.turns > 0) {
        /* the derivative by a rotation of the orientation is dF^2/d(direction) x the
         * scattering vector */
        const struct phys_vec3 rotation_bar =
            phys_scale(aim->share, phys_cross(slope, aim->way));
        const real f2 = aim->share * s.f2;

        JACOBIAN_UNROLLED
        for (int d = 0; d < spec.turns; d++) {
            const struct jacobian_turn rotation = aim->rotation[t * spec.turns + d];

            sums->rotation[d] += phys_dot(rotation.by, rotation_bar) + rotation.weight * f2;
        }
    }
}

/* Adds the samples of one source, from entry *i of the part's list on, and moves *i behind
 * the last of them. Samples whose nearest reflection float cannot decide come last, as in
 * image_block.h. */
PHYS_FN void add_source_samples(struct jacobian_spec spec, const struct jacobian_aim *aim,
                                const struct tile_at *tile, int part, int first, int *i,
                                struct jacobian_sums *sums)
{
    const struct tile_shared *shared = aim->sample.shared;
    const short *order = shared->order + part * tile->pairs;
    const int count = shared->count[part], source = shared->source[order[*i]];
    int left = 0, waiting = count;

    BLOCK_ROLLED
    for (; *i < count && shared->source[order[*i]] == source; ++*i) {
        const int t = order[*i];
        const struct slot slot = shared->slot[t];
        const struct phys_site site = site_of(spec.spec, &aim->sample, t);

        if (is_halfway(spec.spec, &aim->sample, site.d)) {
            waiting = left == 0 ? *i : waiting;
            left++;
        } else
            add_pair(spec, aim, t, &slot, site, sums);
    }
    BLOCK_ROLLED
    for (; left > 0; waiting++) {
        const int t = order[waiting];
        const struct slot slot = shared->slot[t];
        struct phys_site site = site_of(spec.spec, &aim->sample, t);

        if (!is_halfway(spec.spec, &aim->sample, site.d)) continue;
        left--;
        BLOCK_READ_AGAIN;
        site = site_again(spec.spec, &aim->sample, first + t - part * tile->pairs, site);
        add_pair(spec, aim, t, &slot, site, sums);
    }
}

/* Computes the data of a chunk besides its slots: the middles of its pairs and their
 * rotations. chunk_take(), which is called next, ends the step for all threads. */
PHYS_FN void jacobian_chunk_take(struct jacobian_spec spec,
                                 const struct gpu_derivatives_parameters *p,
                                 const struct tile_at *at, int first, int end,
                                 struct jacobian_memory memory)
{
    const struct phys_frame *frame = &p->image.frame;
    struct jacobian_shared *shared = memory.shared;

    EACH_ALONE(t)
    {
        const int part = t / at->pairs, number = first + t - part * at->pairs;
        const int index = number / frame->norientation;

        if (number < end) {
            const struct phys_source *source = frame->source + index;
            const double *d = shared->tile.part[part].patch.direction;
            const int k = number - index * frame->norientation;
            struct jacobian_middle *middle = shared->middle + t;

            middle->way = phys_vec3((real)(d[0] - source->direction[0]),
                                    (real)(d[1] - source->direction[1]),
                                    (real)(d[2] - source->direction[2]));
            middle->unit = (real)source->inverse_wavelength;
            for (int i = 0; i < spec.turns; i++) {
                struct jacobian_turn *rotation = memory.rotation + t * spec.turns + i;
                const struct phys_rotation *of =
                    i < p->turning ? p->dot[i].rotation + k : 0;

                rotation->by = of ? phys_load(of->by) : phys_vec3(0, 0, 0);
                rotation->weight = of ? (real)of->weight : 0;
            }
        }
    }
}

#endif
