/*
 * finish_block.h - computes the photons of a tile from its Bragg sums: applies the factors
 * that are evaluated once per pixel, as physics/pixel.h does, and adds the amorphous
 * material.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_FINISH_BLOCK_H
#define NB_GPU_TEXT_FINISH_BLOCK_H

#include "gpu/text/peak_block.h"
#include "gpu/text/weights_block.h"

/* The state of a thread, saved from step to step. */
struct finish_thread {
    struct pixel pixel;
    real omega, polarization, capture;
    int lit; /* 1: a sample within dmin has decided the polarization */
    double amorphous; /* amorphous part, if computed in the samples */
    double centre; /* photons of the amorphous part, if computed at the centre */
    real centre_omega, centre_polar; /* factors of the centre, in the first layer */
};

/* Returns the weighted F^2 of the amorphous material under all sources (docs/theory.md,
 * 7). */
PHYS_FN double amorphous_at(const struct phys_frame *frame, const struct part *part,
                            const struct sample *at)
{
    const struct phys_vec3 d = phys_axpy(1, part->patch.d, at->step);
    double sum = 0;

    for (int i = 0; i < frame->nsource; i++) {
        const struct phys_source *source = frame->source + i;
        const struct phys_vec3 q = phys_scattering(d, phys_load(source->direction),
                                                   (real)source->inverse_wavelength);
        const real f = phys_amorphous(frame, sqrt(phys_dot(q, q)) / 2);
        const real polar = frame->each_polar ? phys_source_polarization(frame, i, d) : 1;

        sum += (double)((real)source->weight * polar * f * f);
    }
    return sum;
}

/* Sets the polarization of a pixel. The first sample and source that dmin lets through
 * decide it. */
PHYS_FN void light(const struct phys_frame *frame, const struct part *part,
                   const struct sample *at, struct finish_thread *own)
{
    for (int i = 0; i < frame->nsource && !own->lit; i++) {
        const struct phys_square square =
            phys_patch_square(&part->patch, frame->source + i, frame->dmin);

        if (square.beyond + phys_square_change(&square, at->step) > 0) continue;
        own->polarization = polarization_at(frame, i, part, at->step);
        own->lit = 1;
    }
}

/* Adds the contribution of one layer to the factors of a pixel. */
PHYS_FN void layer_factors(const struct gpu_parameters *p, const struct tile_shared *shared,
                           const struct part *part, int layer, struct finish_thread *own)
{
    const struct phys_frame *frame = &p->frame;
    const int cut = frame->dmin > 0 && !frame->each_polar;
    const int last = frame->last_capture && frame->layer_mu != 0;
    const int all = frame->amorphous_in_samples || cut || last;
    const int subs = all ? frame->oversample * frame->oversample : 1;

    for (int sub = 0; sub < subs; sub++) {
        const struct sample at =
            sample_at(p, shared, part, place_of(frame->oversample, &own->pixel, sub),
                      layer);
        const struct phys_point point = sample_point(shared, part, at);

        if (layer == 0 && sub == 0) {
            if (!frame->each_polar)
                own->polarization =
                    cut && frame->dark_polar ? 0 : polarization_at(frame, 0, part, at.step);
            if (!frame->each_omega)
                own->omega = phys_solid_angle(&shared->view.detector, point);
        }
        if (cut) light(frame, part, &at, own);
        if (last && (sub == 0 || frame->each_capture))
            own->capture = phys_capture(&shared->view.detector, point, (real)layer);
        if (frame->amorphous_in_samples)
            own->amorphous += (double)weight_at(p, shared, &own->pixel, sub, layer)
                              * amorphous_at(frame, part, &at);
    }
}

/* Adds the amorphous material of one layer, seen from the centre of a pixel. */
PHYS_FN void layer_centre(const struct gpu_parameters *p, const struct tile_shared *shared,
                          const struct part *part, int layer, struct finish_thread *own)
{
    const struct phys_frame *frame = &p->frame;
    const struct sample at =
        sample_at(p, shared, part, place_of(frame->oversample, &own->pixel, -1), layer);
    const struct phys_point point = sample_point(shared, part, at);
    const real here = phys_solid_angle(&shared->view.detector, point);
    real weight = phys_capture(&shared->view.detector, point, (real)layer);

    if (layer == 0) {
        own->centre_omega = frame->each_omega ? 1 : here;
        own->centre_polar =
            frame->each_polar ? 1 : polarization_at(frame, 0, part, at.step);
    }
    if (frame->each_omega) weight *= here;
    own->centre += frame->amorphous_scale * (double)weight * amorphous_at(frame, part, &at)
                   * (double)own->centre_omega * (double)own->centre_polar;
}

PHYS_FN void find_factors(const struct gpu_parameters *p, const struct tile_at *at,
                          struct tile_shared *shared, struct finish_thread *own)
{
    const struct phys_frame *frame = &p->frame;
    const int centre = frame->amorphous_scale != 0 && !frame->amorphous_in_samples;
    const int all = frame->amorphous_in_samples || centre
                    || (frame->dmin > 0 && !frame->each_polar)
                    || (frame->last_capture && frame->layer_mu != 0);
    const int layers = all ? frame->nlayers : 1;

    for (int layer = 0; layer < layers; layer++) {
        layer_take(p, at, layer, shared);
        EACH_THREAD(t)
        {
            struct finish_thread *x = own + OWN(t);
            const struct part *part = shared->part + x->pixel.part;

            if (x->pixel.on) layer_factors(p, shared, part, layer, x);
            if (x->pixel.on && centre) layer_centre(p, shared, part, layer, x);
        }
    }
}

/* Returns the photons of the pixel of thread t in block `number`. */
PHYS_FN double photons_of(const struct gpu_parameters *p, int number, int t,
                          const struct finish_thread *own)
{
    const struct phys_frame *frame = &p->frame;
    const double *partial = p->partial + (long long)number * p->segments * BLOCK_THREADS;
    double bragg = 0;

    if (!own->pixel.on) return 0;
    for (int i = 0; i < p->segments; i++) bragg += partial[i * BLOCK_THREADS + t];
    return (p->factor * frame->bragg_scale * bragg
            + frame->amorphous_scale * own->amorphous)
               * (double)own->omega * (double)own->polarization * (double)own->capture
           + own->centre;
}

/* Writes the photons of a pixel to the image. */
PHYS_FN void deliver(const struct gpu_parameters *p, struct pixel x, double photons)
{
    const long long place = x.s * p->image_stride[0] + x.f * p->image_stride[1];

    if (!p->image) return;
    if (p->image_bits == 32)
        ((float *)p->image)[place] = (float)photons;
    else
        ((double *)p->image)[place] = photons;
}

/* Initialises the state of thread t in a tile. */
PHYS_FN void finish_start(const struct gpu_parameters *p, const struct tile_at *at, int t,
                          struct finish_thread *x)
{
    x->pixel = pixel_of(p, at, t);
    x->amorphous = x->centre = 0;
    x->omega = x->polarization = x->capture = 1;
    x->lit = 0;
}

/* Runs block `number` of a launch, which computes one tile. `photons` is memory that the
 * block shares. */
PHYS_FN void finish_block(const struct gpu_parameters *p, int number,
                          struct tile_shared *shared, double photons[BLOCK_THREADS])
{
    const struct phys_frame *frame = &p->frame;
    const struct tile_at at = tile_at(p, number);
    struct finish_thread own[BLOCK_OWN];

    if (number >= tiles_of(p)) return;
    EACH_ALONE(t) finish_start(p, &at, t, own + OWN(t));
    find_factors(p, &at, shared, own);
    EACH_THREAD(t)
    {
        const struct pixel x = own[OWN(t)].pixel;

        photons[t] = photons_of(p, number, t, own + OWN(t));
        if (x.f < frame->nfast && x.s < frame->nslow) deliver(p, x, photons[t]);
    }
    if (p->peak) raise_peak(photons, p->peak);
}

#endif
