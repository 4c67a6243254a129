/*
 * jacobian_amorphous.h - the derivatives of the photons of the amorphous material, seen
 * from the centres of the pixels, as in phys_pixel_amorphous().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_GPU_TEXT_DERIVATIVES_JACOBIAN_AMORPHOUS_H
#define NB_GPU_TEXT_DERIVATIVES_JACOBIAN_AMORPHOUS_H

#include "gpu/text/derivatives/jacobian_back.h"

/* The state of a thread, saved from layer to layer. */
struct jacobian_centre {
    real omega, polarization; /* in the first layer; 1 if each sample has its own */
    double light; /* F^2 times all factors but omega, polarization and scale */
};

/* A layer seen from the centre of a pixel. */
struct jacobian_centre_of {
    struct jacobian_site site;
    /* factor of F^2: scale, solid angle, capture, and the pixel's polarization */
    real factor;
};

PHYS_FN void amorphous_layer_vjp(struct jacobian_centre_of *at,
                                 struct jacobian_centre *centre,
                                 struct jacobian_thread *own)
{
    const struct gpu_derivatives_parameters *p = at->site.p;
    const struct phys_frame *frame = &p->image.frame;
    const struct jacobian_shared *shared = at->site.shared;
    const struct jacobian_place *place = &at->site.place;
    const int layer = at->site.layer;
    const struct phys_point point = sample_point(&shared->tile, place->part, place->sample);
    const real omega = phys_solid_angle(&shared->tile.view.detector, point);
    const real capture = phys_capture(&shared->tile.view.detector, point, (real)layer);
    const real own_omega = frame->each_omega ? omega : 1;
    struct phys_point_bar bar = {{0, 0, 0}, 0};
    real before, sum = 0;

    if (layer == 0) {
        centre->omega = frame->each_omega ? 1 : omega;
        centre->polarization =
            frame->each_polar ? 1
                              : polarization_at(frame, 0, place->part, place->sample.step);
    }
    before =
        (real)frame->amorphous_scale * centre->omega * centre->polarization * own_omega;
    at->factor = before * capture;
    BLOCK_ROLLED
    for (int i = 0; i < frame->nsource; i++) {
        struct phys_source_bar source_bar = phys_source_bar_zero();

        sum += phys_amorphous_vjp(frame, i, point.d, at->factor, &bar.d,
                                  waiting_numbers(own), &source_bar);
        add_source(p, i, &source_bar, own);
    }
    centre->light += (double)(own_omega * capture * sum);
    if (frame->each_omega)
        solid_angle_vjp(frame, shared, place, at->factor * sum, &bar, own);
    if (frame->layer_mu != 0) capture_vjp(shared, place, layer, before * sum, &bar, own);
    place_vjp(frame, place, bar, own);
}

/* Adds the derivatives by the factors of the first layer, once the sum over all layers is
 * complete. */
PHYS_FN void amorphous_factors_vjp(const struct jacobian_site *site,
                                   const struct jacobian_centre *centre,
                                   struct jacobian_thread *own)
{
    const struct gpu_derivatives_parameters *p = site->p;
    const struct phys_frame *frame = &p->image.frame;
    const double sum = centre->light * (double)centre->omega * (double)centre->polarization;
    struct phys_point_bar bar = {{0, 0, 0}, 0};

    own->photons += frame->amorphous_scale * sum;
    own->total[SUM_NUMBERS + PHYS_AT_amorphous_scale] = sum;
    if (!frame->each_omega)
        solid_angle_vjp(frame, site->shared, &site->place,
                        (real)(frame->amorphous_scale * sum), &bar, own);
    if (!frame->each_polar)
        polarization_vjp(p, 0, direction_of(&site->place),
                         (real)(frame->amorphous_scale * centre->light
                                * (double)centre->omega),
                         &bar, own);
    place_vjp(frame, &site->place, bar, own);
}

/* Adds pending sums and sums of places to the totals. */
PHYS_FN void close_centre(struct jacobian_spec spec, const struct jacobian_site *site,
                          struct jacobian_thread *own)
{
    flush(spec, site->p, own);
    close_places(&site->p->image.frame, site->place.part, site->layer, own);
}

/* Adds the derivatives of the amorphous material. Call it after the Bragg part is
 * complete. */
PHYS_FN void amorphous_vjp(struct jacobian_spec spec,
                           const struct gpu_derivatives_parameters *p,
                           const struct tile_at *at, struct jacobian_memory memory,
                           struct jacobian_thread *own)
{
    const int layers = p->image.frame.nlayers;
    struct jacobian_centre centre[BLOCK_OWN];

    EACH_ALONE(t) centre[OWN(t)].light = 0;
    BLOCK_ROLLED
    for (int i = 0; i <= layers; i++) {
        const int layer = i < layers ? i : 0;

        layer_take(&p->image, at, layer, &memory.shared->tile);
        EACH_THREAD(t)
        if (own[OWN(t)].pixel.on) {
            struct jacobian_centre_of x;

            x.site.p = p;
            x.site.shared = memory.shared;
            x.site.layer = layer;
            x.site.place = jacobian_place(p, memory.shared, &own[OWN(t)].pixel, -1, layer);
            if (i < layers)
                amorphous_layer_vjp(&x, centre + OWN(t), own + OWN(t));
            else
                amorphous_factors_vjp(&x.site, centre + OWN(t), own + OWN(t));
            close_centre(spec, &x.site, own + OWN(t));
        }
    }
}

#endif
