/*
 * rows_pairs.h - derivatives of the samples of one sub-pixel under one source: F^2 of each
 * pair and its slopes, added up in registers. As kernels/lane_slopes.h and lane_rows.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_ROWS_PAIRS_H
#define NB_GPU_ROWS_PAIRS_H

#include "gpu/image_block.h"
#include "gpu/rows_parameters.h"

#if defined(__CUDACC__)
#define ROWS_UNROLLED _Pragma("unroll")
#else
#define ROWS_UNROLLED
#endif

/* what a kernel is specialised on; what it leaves out no tangent may need */
struct rows_spec {
    struct phys_spec spec;
    int strain; /* 1: the cell changes */
    int crystal; /* 1: its number of cells, or fudge and metric */
    int turns; /* so many tangents may turn orientations */
};

enum { ROWS_TURNS = 10, ROWS_CRYSTAL = 7 };

/* a turn in `real`, loaded at once */
struct __attribute__((aligned(16))) rows_turn {
    struct phys_vec3 by;
    real weight;
};

/* scattering vector of a part's middle times the wavelength, and 1/wavelength */
struct __attribute__((aligned(16))) rows_middle {
    struct phys_vec3 way;
    real unit;
};

/* what the threads of a block share besides */
struct rows_shared {
    struct tile_shared tile;
    struct rows_middle middle[BLOCK_THREADS];
};

struct rows_memory {
    struct rows_shared *shared;
    struct rows_turn *turn; /* (BLOCK_THREADS x spec.turns), of the pairs of a chunk */
    double *stage; /* (STAGE x STAGE_ROW), when all samples are done; may be `turn` */
};

/* slopes in the crystal of each shape */
PHYS_FN int crystal_slopes(struct rows_spec spec)
{
    return !spec.crystal ? 0 : spec.spec.shape == PHYS_SQUARE ? 3 : ROWS_CRYSTAL;
}

/* what the samples of a sub-pixel add up to, the weight of the sub-pixel left out: of the
 * source at hand F^2 and its slopes in the direction, its own weight left out too; of all
 * sources slopes in strain, in the crystal (cells, or metric and fudge), along the turns of
 * tangents */
struct row_sums {
    real f2;
    struct phys_vec3 slope;
    real strain[9], crystal[ROWS_CRYSTAL], turn[ROWS_TURNS];
};

/* a sub-pixel seen by a source */
struct row_aim {
    struct aim sample;
    const struct rows_turn *turn;
    struct phys_vec3 way; /* scattering vector times the wavelength */
    real share; /* of the source: its weight and factors */
};

PHYS_FN void clear_sums(struct rows_spec spec, struct row_sums *sums)
{
    sums->f2 = 0;
    sums->slope = phys_vec3(0, 0, 0);
    ROWS_UNROLLED
    for (int i = 0; i < 9; i++) sums->strain[i] = 0;
    ROWS_UNROLLED
    for (int i = 0; i < ROWS_CRYSTAL; i++) sums->crystal[i] = 0;
    ROWS_UNROLLED
    for (int d = 0; d < spec.turns; d++) sums->turn[d] = 0;
}

/* F^2 of the lattice alone and its slopes; those in the crystal are added up */
PHYS_FN struct phys_sample lattice_slopes(struct rows_spec spec,
                                          const struct phys_crystal *crystal,
                                          struct phys_vec3 d, real weight,
                                          struct row_sums *sums)
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
            sums->crystal[0] += weight * g.dhh;
            sums->crystal[1] += weight * g.dkk;
            sums->crystal[2] += weight * g.dll;
            sums->crystal[3] += weight * g.dhk;
            sums->crystal[4] += weight * g.dhl;
            sums->crystal[5] += weight * g.dkl;
            sums->crystal[6] += weight * g.dfudge;
        }
        return g.sample;
    }
}

/* F^2 of a pair and its slopes in h, k, l, weighted */
PHYS_FN struct phys_sample pair_slopes(struct rows_spec spec, const struct row_aim *aim,
                                       real weight, struct phys_site site,
                                       struct row_sums *sums)
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

/* an axis changes by strain times the axes, and its slope is that of its index */
PHYS_FN void add_strain(const struct row_aim *aim, const struct slot *slot,
                        struct phys_sample s, struct row_sums *sums)
{
    const struct phys_anchor anchor = slot_anchor(slot);
    const struct phys_vec3 x =
        phys_axpy(1, slot->whole, phys_anchor_indices(&anchor, aim->sample.step));
    const real h = aim->share * s.dh, k = aim->share * s.dk, l = aim->share * s.dl;

    sums->strain[0] += h * x.x, sums->strain[1] += h * x.y, sums->strain[2] += h * x.z;
    sums->strain[3] += k * x.x, sums->strain[4] += k * x.y, sums->strain[5] += k * x.z;
    sums->strain[6] += l * x.x, sums->strain[7] += l * x.y, sums->strain[8] += l * x.z;
}

/* the pair of slot t at a site */
PHYS_FN void add_pair(struct rows_spec spec, const struct row_aim *aim, int t,
                      const struct slot *slot, struct phys_site site, struct row_sums *sums)
{
    const struct phys_sample s = pair_slopes(spec, aim, slot->weight, site, sums);
    const struct phys_vec3 slope =
        phys_axpy(s.dh, slot->a, phys_axpy(s.dk, slot->b, phys_scale(s.dl, slot->c)));

    sums->f2 += slot->weight * s.f2;
    sums->slope = phys_axpy(1, slope, sums->slope);
    if (spec.strain) add_strain(aim, slot, s, sums);
    if (spec.turns > 0) {
        /* slopes in a turn of the orientation: those in the direction x scattering vector
         */
        const struct phys_vec3 torque = phys_scale(aim->share, phys_cross(slope, aim->way));
        const real f2 = aim->share * s.f2;

        ROWS_UNROLLED
        for (int d = 0; d < spec.turns; d++) {
            const struct rows_turn turn = aim->turn[t * spec.turns + d];

            sums->turn[d] += phys_dot(turn.by, torque) + turn.weight * f2;
        }
    }
}

/* The samples of a source, from number *i of the part's list on; leaves *i behind the last.
 * Those that float can not place wait, as in image_block.h. */
PHYS_FN void source_rows(struct rows_spec spec, const struct row_aim *aim,
                         const struct tile_at *tile, int part, int first, int *i,
                         struct row_sums *sums)
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
        site = site_again(spec.spec, &aim->sample, first + t - part * tile->pairs, site);
        add_pair(spec, aim, t, &slot, site, sums);
    }
}

/* what a chunk needs besides its slots: the middles of its pairs and their turns. A step
 */
PHYS_FN void rows_chunk_take(struct rows_spec spec, const struct gpu_rows_parameters *p,
                             const struct tile_at *at, int first, int end,
                             struct rows_memory memory)
{
    const struct phys_frame *frame = &p->image.frame;
    struct rows_shared *shared = memory.shared;

    EACH_THREAD(t)
    {
        const int part = t / at->pairs, number = first + t - part * at->pairs;
        const int index = number / frame->norientation;

        if (number < end) {
            const struct phys_source *source = frame->source + index;
            const double *d = shared->tile.part[part].patch.direction;
            const int k = number - index * frame->norientation;
            struct rows_middle *middle = shared->middle + t;

            middle->way = phys_vec3((real)(d[0] - source->direction[0]),
                                    (real)(d[1] - source->direction[1]),
                                    (real)(d[2] - source->direction[2]));
            middle->unit = (real)source->inverse_wavelength;
            for (int i = 0; i < spec.turns; i++) {
                struct rows_turn *turn = memory.turn + t * spec.turns + i;
                const struct phys_turn *of = i < p->turning ? p->dot[i].turn + k : 0;

                turn->by = of ? phys_load(of->by) : phys_vec3(0, 0, 0);
                turn->weight = of ? (real)of->weight : 0;
            }
        }
    }
}

#endif
