/*
 * factors.c - the factor of a sample at the nodes of a spot: the capture of a layer of the
 * sensor, whose logarithm is added to log I. As in physics/pixel.h it is evaluated at the
 * first sub-pixel of a pixel. A node may stand for any sub-pixel, so it is moved by the
 * mean distance from a sub-pixel to the first one.
 * SPDX-License-Identifier: MIT
 */
#include "kernels/continuous/spots_at.h"

static struct seen_node see(const struct phys_frame *frame, const struct listed_spot *spot,
                            const struct spot_nodes *nodes, int i)
{
    const struct phys_detector det = phys_detector(frame);
    const double before = 0.5 * (frame->oversample - 1), layer = spot->name.layer;
    struct seen_node s;

    s.x = nodes->x[i] - before;
    s.y = nodes->y[i] - before;
    s.point = phys_point(&det, s.x, s.y, frame->layer_offset + layer * frame->layer_step);
    s.capture = phys_capture(&det, s.point, layer);
    s.slopes = phys_capture_slopes(&det, s.point, layer);
    s.r = s.point.r;
    return s;
}

void spot_factors(const struct phys_frame *frame, const struct listed_spot *spot,
                  const struct spot_nodes *nodes, double *log_i)
{
    for (int i = 0; i < NODES && frame->layer_mu != 0; i++)
        log_i[i] += log(see(frame, spot, nodes, i).capture);
}

void spot_seen(const struct phys_frame *frame, const struct listed_spot *spot,
               const struct spot_nodes *nodes, struct seen_node *seen)
{
    for (int i = 0; i < NODES && frame->layer_mu != 0; i++)
        seen[i] = see(frame, spot, nodes, i);
}

/* Returns the slope of the cosine d . normal by the place of a node, 1/m. */
static struct phys_vec3 by_place(const struct phys_frame *frame, const struct seen_node *s)
{
    const struct phys_vec3 normal = phys_load(frame->normal), d = s->point.d;

    return phys_scale(1 / s->r, phys_axpy(-phys_dot(normal, d), d, normal));
}

void spot_factors_adjoint(const struct phys_frame *frame, const struct listed_spot *spot,
                          const struct spot_nodes *nodes, const double *bar,
                          struct phys_frame_tangent *to)
{
    const double layer = spot->name.layer;
    const double depth = frame->layer_offset + layer * frame->layer_step;
    struct phys_place_sums sums = {{0}, {0}, {0}};

    for (int i = 0; i < NODES && frame->layer_mu != 0; i++) {
        const struct seen_node s = see(frame, spot, nodes, i);
        const double cosine_bar = bar[i] * s.slopes.dcosine / s.capture;
        const struct phys_vec3 x_bar = phys_scale(cosine_bar, by_place(frame, &s));
        const double place[3] = {x_bar.x, x_bar.y, x_bar.z};
        const double d[3] = {s.point.d.x, s.point.d.y, s.point.d.z};

        to->layer_mu += bar[i] * s.slopes.dmu / s.capture;
        for (int k = 0; k < 3; k++) {
            to->normal[k] += cosine_bar * d[k];
            sums.place[k] += place[k];
            sums.fast[k] += s.x * place[k];
            sums.slow[k] += s.y * place[k];
        }
    }
    if (frame->layer_mu != 0)
        phys_places_vjp(frame, spot->name.layer, depth, &sums, phys_numbers(to), 1);
}

void spot_factors_tangent(const struct phys_frame *frame, const struct listed_spot *spot,
                          const struct seen_node *seen, int n,
                          const struct phys_frame_tangent *const *dot, on_directions *log_i)
{
    const double layer = spot->name.layer, over = frame->oversample;
    const double depth = frame->layer_offset + layer * frame->layer_step;
    const double sub = frame->pixel / over;

    for (int i = 0; i < NODES && frame->layer_mu != 0; i++) {
        const struct seen_node s = seen[i];
        const struct phys_vec3 slope = by_place(frame, &s);
        const double by[3] = {slope.x, slope.y, slope.z};
        const double d[3] = {s.point.d.x, s.point.d.y, s.point.d.z};

        for (int l = 0; l < n; l++) {
            const struct phys_frame_tangent *along = dot[l];
            const double depth_dot = along->layer_offset + layer * along->layer_step;
            const double sub_dot = along->pixel / over;
            double cosine = 0;

            for (int k = 0; k < 3; k++)
                cosine +=
                    d[k] * along->normal[k]
                    + by[k]
                          * (along->pix0[k] + depth_dot * frame->normal[k]
                             + depth * along->normal[k]
                             + s.x * (sub_dot * frame->fast[k] + sub * along->fast[k])
                             + s.y * (sub_dot * frame->slow[k] + sub * along->slow[k]));
            log_i[i][l] +=
                (s.slopes.dcosine * cosine + s.slopes.dmu * along->layer_mu) / s.capture;
        }
    }
}
