/* trace.c - the intermediate results of the last sample of one pixel.
 * SPDX-License-Identifier: MIT */
#include "kernels/trace.h"

#include "physics/pixel.h"

/* Returns F_latt with its sign. The kernels omit the sign, because they square F_latt. */
static double signed_lattice(struct phys_spec spec, const struct phys_crystal *c,
                             struct phys_vec3 d, struct phys_vec3 n)
{
    const double fraction[3] = {d.x, d.y, d.z}, whole[3] = {n.x, n.y, n.z};
    const double cells[3] = {c->n.x, c->n.y, c->n.z};
    double f = phys_lattice(spec, c, d).f;

    if (spec.shape != PHYS_SQUARE) return f;
    for (int i = 0; i < 3; i++) {
        const double m = phys_nearest(cells[i] * fraction[i]);

        f *= phys_parity(m) * phys_parity(whole[i] * (cells[i] - 1));
    }
    return f;
}

/* Writes the quantities of the last sample of a pixel to `out`. */
static void last_sample(const struct phys_frame *frame, struct phys_spec spec,
                        const struct phys_view *view, struct phys_point point,
                        struct trace *out)
{
    const struct phys_source *source = frame->source + frame->nsource - 1;
    const double *rows = frame->orientation[frame->norientation - 1].axes;
    const struct phys_vec3 q =
        phys_scattering(point.d, phys_load(source->direction), source->inverse_wavelength);
    const struct phys_vec3 x = phys_miller(phys_axes(rows), q);
    const struct phys_vec3 n =
        phys_vec3(phys_nearest(x.x), phys_nearest(x.y), phys_nearest(x.z));

    out->stol = sqrt(phys_dot(q, q)) / 2;
    out->position[0] = point.d.x * point.r;
    out->position[1] = point.d.y * point.r;
    out->position[2] = point.d.z * point.r;
    out->h[0] = x.x, out->h[1] = x.y, out->h[2] = x.z;
    out->hkl[0] = (int)n.x, out->hkl[1] = (int)n.y, out->hkl[2] = (int)n.z;
    out->f_cell = phys_structure_factor(spec, &view->box, x, n).f;
    out->f_latt = signed_lattice(spec, &view->crystal, phys_axpy(-1, n, x), n);
    for (int i = 0; i < 9; i++) out->axes[i] = rows[i];
}

/* Returns the sum of F^2 over the samples of a pixel without the factors of solid angle,
 * capture or polarization. */
static double bare_sum(const struct phys_frame *frame, struct phys_spec spec,
                       const struct phys_view *view, int s, int f)
{
    const int n = frame->oversample;
    const struct phys_detector *det = &view->detector;
    double sum = 0;

    for (int layer = 0; layer < frame->nlayers; layer++)
        for (int sub = 0; sub < n * n; sub++) {
            const struct phys_point point =
                phys_sub_pixel(det, n, s, f, sub,
                               det->layer_offset + layer * det->layer_step);

            for (int i = 0; i < frame->nsource; i++) {
                const struct phys_source *source = frame->source + i;
                const struct phys_vec3 q =
                    phys_scattering(point.d, phys_load(source->direction),
                                    source->inverse_wavelength);

                if (!phys_passes_dmin(frame->dmin, phys_dot(q, q))) continue;
                for (int k = 0; k < frame->norientation; k++) {
                    const struct phys_anchor anchor =
                        phys_anchor_none(frame->orientation[k].axes);

                    sum += frame->orientation[k].weight
                           * phys_step(spec, &view->crystal, &view->box, &anchor, q).f2;
                }
            }
        }
    return sum;
}

void trace_pixel(const struct phys_frame *frame, struct phys_spec spec, int s, int f,
                 struct trace *out)
{
    const int n = frame->oversample, layer = frame->nlayers - 1;
    const struct phys_view view = phys_view(frame);
    const struct phys_detector *det = &view.detector;
    const struct phys_sums sums = phys_pixel(spec, frame, &view, s, f);
    const double depth = det->layer_offset + layer * det->layer_step;
    const struct phys_point last = phys_sub_pixel(det, n, s, f, n * n - 1, depth);
    const struct phys_point first = phys_sub_pixel(det, n, s, f, 0, depth);
    const struct phys_source *source = frame->source + frame->nsource - 1;

    last_sample(frame, spec, &view, last, out);
    out->sum = bare_sum(frame, spec, &view, s, f);
    out->photons = phys_finish(frame, sums);
    out->omega = frame->each_omega ? phys_solid_angle(det, last) : sums.omega;
    out->capture = phys_capture(det, frame->each_capture ? last : first, layer);
    out->polarization = sums.polarization;
    if (frame->each_polar && frame->polarised)
        out->polarization =
            phys_polarization(frame->kahn, phys_load(source->direction),
                              phys_load(source->e), phys_load(source->b), last.d);
}
