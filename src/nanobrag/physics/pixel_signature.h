/*
 * pixel_signature.h - a hash of the branches that the samples of a pixel take: of every
 * choice in the loops of pixel.h at which the photons or their derivatives jump. If two
 * values of a parameter give different hashes, the pixel is not a smooth function of the
 * parameter between them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_PIXEL_SIGNATURE_H
#define NB_PHYSICS_PIXEL_SIGNATURE_H

#include "pixel.h"

typedef unsigned long long phys_hash;

/* Adds a word to an FNV hash. The shift lets high bits affect low ones. */
PHYS_FN phys_hash phys_hash_word(phys_hash hash, long long word)
{
    hash = (hash ^ (phys_hash)word) * 0x100000001b3ull;
    return hash ^ (hash >> 29);
}

/* Hashes an integer held in a real. NaN and integers from 1e9 on share one word. */
PHYS_FN phys_hash phys_hash_whole(phys_hash hash, real x)
{
    return phys_hash_word(hash, fabs(x) < (real)1e9 ? (long long)x : 0x7fffffffffffll);
}

PHYS_FN phys_hash phys_hash_place(phys_hash hash, struct phys_vec3 n)
{
    return phys_hash_whole(phys_hash_whole(phys_hash_whole(hash, n.x), n.y), n.z);
}

/* Hashes the choices of one sample in one orientation. `repeats` is 1 for the square shape
 * with whole numbers of cells and one constant F. Then all lattice points are equivalent,
 * and the nearest one is not hashed. */
PHYS_FN phys_hash phys_step_signature(struct phys_spec spec, int repeats,
                                      const struct phys_view *view,
                                      const struct phys_anchor *anchor, struct phys_vec3 q,
                                      phys_hash hash)
{
    const struct phys_box *box = &view->box;
    const struct phys_vec3 x = phys_anchor_indices(anchor, q);
    const struct phys_vec3 n = phys_lattice_point(spec, x);

    if (!repeats) hash = phys_hash_place(hash, n);
    if (spec.lookup == PHYS_TRICUBIC) {
        const int fits = phys_interpolable(x.x, box->first.x, box->last.x)
                         & phys_interpolable(x.y, box->first.y, box->last.y)
                         & phys_interpolable(x.z, box->first.z, box->last.z);

        hash = phys_hash_word(hash, fits);
        hash = phys_hash_place(hash, phys_nodes_below(x));
    }
    if (spec.shape == PHYS_TOPHAT)
        hash =
            phys_hash_word(hash,
                           phys_lattice(spec, &view->crystal, phys_axpy(-1, n, x)).f != 0);
    return hash;
}

/* Hashes which cubic of the amorphous table applies at a scattering vector of squared
 * length q2. Beyond either end of the table F is constant. */
PHYS_FN phys_hash phys_amorphous_signature(const struct phys_frame *frame, real q2,
                                           phys_hash hash)
{
    const double stol = sqrt(q2) / 2;
    const int n = frame->nstol;

    if (n == 0) return hash;
    if (stol <= frame->stol[0].stol) return phys_hash_word(hash, -1);
    if (stol >= frame->stol[n - 1].stol) return phys_hash_word(hash, n);
    return phys_hash_word(hash, phys_table_first(frame->stol, n, stol));
}

/* Returns the squared length of the scattering vector of source `index` in direction d. */
PHYS_FN real phys_source_q2(const struct phys_frame *frame, int index, struct phys_vec3 d,
                            struct phys_vec3 *q)
{
    const struct phys_source *source = frame->source + index;

    *q = phys_scattering(d, phys_load(source->direction), (real)source->inverse_wavelength);
    return phys_dot(*q, *q);
}

/* Hashes the choices of one sub-pixel, in direction d, under source `index`. */
PHYS_FN phys_hash phys_source_signature(struct phys_spec spec, int repeats,
                                        const struct phys_frame *frame,
                                        const struct phys_view *view, struct phys_vec3 d,
                                        int index, phys_hash hash)
{
    struct phys_vec3 q;
    const real q2 = phys_source_q2(frame, index, d, &q);
    const int passes = phys_passes_dmin((real)frame->dmin, q2);

    hash = phys_hash_word(hash, passes);
    if (frame->amorphous_in_samples) hash = phys_amorphous_signature(frame, q2, hash);
    for (int k = 0; passes && k < frame->norientation; k++) {
        const struct phys_anchor anchor = phys_anchor_none(frame->orientation[k].axes);

        hash = phys_step_signature(spec, repeats, view, &anchor, q, hash);
    }
    return hash;
}

PHYS_FN phys_hash phys_pixel_signature(struct phys_spec spec, int repeats,
                                       const struct phys_frame *frame,
                                       const struct phys_view *view, int s, int f)
{
    const int n = frame->oversample;
    const struct phys_detector *det = &view->detector;
    phys_hash hash = 0xcbf29ce484222325ull;
    struct phys_vec3 q;

    for (int layer = 0; layer < frame->nlayers; layer++) {
        const real depth = det->layer_offset + (real)layer * det->layer_step;
        const struct phys_point centre = phys_sub_pixel(det, n, s, f, -1, depth);

        for (int i = 0; i < frame->nsource; i++)
            hash = phys_amorphous_signature(frame, phys_source_q2(frame, i, centre.d, &q),
                                            hash);
        for (int sub = 0; sub < n * n; sub++) {
            const struct phys_point point = phys_sub_pixel(det, n, s, f, sub, depth);

            for (int i = 0; i < frame->nsource; i++)
                hash = phys_source_signature(spec, repeats, frame, view, point.d, i, hash);
        }
    }
    return hash;
}

#endif
