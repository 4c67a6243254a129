/* pixel.c - the sum over the samples of a pixel: docs/theory.md, 1 to 7 and 10.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "oracle/lattice.h"
#include "oracle/truth.h"

/* r_e^2, m^2; molecules per mole */
#define R_E_SQUARED ((quad)7.94079248018965e-30)
#define AVOGADRO    ((quad)6.02214179e23)

/* the depth at which 1/e is left, um: of silicon, between 10 and 15 keV, it follows NIST's
 * 33.89 and 10.34 cm^2/g by a straight line of the logarithms */
static struct dual attenuation(const struct truth *t)
{
    const nb_detector *d = &t->scene.detector;
    const quad slope = log(10.34 / 33.89) / log(1.5);
    struct dual mean = t->x.wavelength;

    if (d->material == NB_MATERIAL_UNKNOWN) return t->x.attenuation;
    if (t->scene.beam.nsource > 0) {
        mean = dual_of(0);
        for (int j = 0; j < t->nsource; j++)
            mean = dual_add(mean, dual_mul(t->source[j].weight, t->source[j].wavelength));
    }
    if (d->material != NB_MATERIAL_SI || !(mean.v > 0.8266 && mean.v < 1.2398)
        || fabsq(mean.v / d->attenuation_wavelength - 1) > 1e-15)
        abort(); /* more than this truth knows */
    return dual_mul(dual_chain(1, slope / mean.v, mean), t->x.attenuation);
}

/* how deep in the first layer a place is, um: in its middle, or at the mean depth of what
 * the layer captures at layer_cosine */
static struct dual depth_in_layer(const struct truth *t)
{
    const quad cosine = t->scene.detector.layer_cosine;
    const struct dual step = dual_times((quad)1 / t->counts.nlayers, t->x.thickness);
    const struct dual depth = dual_times(cosine, attenuation(t));
    struct dual rest;

    if (!(cosine > 0)) return dual_times((quad)0.5, step);
    rest = dual_sub(dual_exp(dual_div(step, depth)), dual_of(1));
    return dual_sub(depth, dual_div(step, rest));
}

/* a place on the detector: along fast and slow in mm, and that of a layer */
static struct dual_vec position(const struct truth *t, struct dual fast, struct dual slow,
                                int layer)
{
    const struct truth_detector *d = &t->detector;
    struct dual_vec p = vec_add(d->corner, vec_times(fast, d->fast));

    p = vec_add(p, vec_times(slow, d->slow));
    if (t->scene.detector.thickness > 0) {
        const struct dual front =
            dual_times((quad)layer / t->counts.nlayers, t->x.thickness);
        const struct dual depth = dual_add(front, depth_in_layer(t));

        p = vec_add(p, vec_times(dual_times((quad)1 / 1000, depth), d->normal));
    }
    return p;
}

static struct dual solid_angle(const struct truth *t, struct dual_vec p)
{
    const nb_detector *d = &t->scene.detector;
    const struct dual square =
        d->curved ? dual_square(t->detector.distance) : vec_dot(p, p);
    struct dual out;

    if (d->point_pixel) /* per square metre */
        return dual_div(dual_of(1000000), square);
    out = dual_div(dual_square(t->x.pixel), square);
    if (d->curved) return out;
    return dual_mul(out, dual_div(t->detector.close, dual_sqrt(square)));
}

static struct dual capture(const struct truth *t, struct dual_vec direction, int layer)
{
    struct dual a, front, back;

    if (!(t->scene.detector.thickness > 0) || !(t->counts.mu > 0)) return dual_of(1);
    a = dual_times((quad)1 / t->counts.nlayers, dual_div(t->x.thickness, attenuation(t)));
    if (!t->scene.detector.curved) a = dual_div(a, vec_dot(direction, t->detector.normal));
    front = dual_exp(dual_times(-layer, a));
    back = dual_exp(dual_times(-(layer + 1), a));
    return dual_sub(front, back);
}

static struct dual polarization(const struct truth *t, const struct truth_source *source,
                                struct dual_vec d)
{
    const struct dual along = vec_dot(source->direction, d);
    const struct dual e = vec_dot(source->electric, d), b = vec_dot(source->magnetic, d);
    struct dual sum;

    if (t->scene.beam.unpolarised) return dual_of(1);
    sum = dual_mul(t->x.polarization, dual_sub(dual_square(e), dual_square(b)));
    sum = dual_sub(dual_add(dual_of(1), dual_square(along)), sum);
    return dual_times((quad)0.5, sum);
}

/* factors that a pixel takes once, and whether its polarization is known */
struct once {
    struct dual omega, polarization, capture;
    int lit;
};

/* what light in direction d sums up to over sources and orientations */
static struct dual over_sources(const struct truth *t, struct dual_vec d, struct once *once)
{
    struct dual sum = dual_of(0);

    for (int j = 0; j < t->nsource; j++) {
        const struct truth_source *source = t->source + j;
        const struct dual_vec q = vec_times(dual_div(dual_of(1), source->wavelength),
                                            vec_sub(d, source->direction));
        const struct dual square = vec_dot(q, q);
        struct dual polar, weight, here = dual_of(0);

        if (t->scene.dmin > 0 && square.v * t->scene.dmin * t->scene.dmin > 1) continue;
        polar = polarization(t, source, d);
        weight = dual_exp(dual_times(-(quad)0.5, dual_mul(t->x.b_factor, square)));
        weight = dual_mul(weight, source->weight);
        if (t->scene.oversample_polar)
            weight = dual_mul(weight, polar);
        else if (!once->lit)
            once->polarization = polar;
        once->lit = 1;
        for (int m = 0; m < t->norientation; m++)
            here = dual_add(here, dual_mul(t->share[m],
                                           lattice_square(t, t->axes + (size_t)m * 3, q)));
        sum = dual_add(sum, dual_mul(weight, here));
    }
    return sum;
}

/* along fast or slow: sub-pixel i of the detector */
static struct dual middle_of(const struct truth *t, int i, int n)
{
    return dual_times(((quad)i + (quad)0.5) / n, t->x.pixel);
}

static struct dual bragg(const struct truth *t, int slow, int fast)
{
    const nb_scene *s = &t->scene;
    const int n = t->counts.oversample;
    struct once once = {dual_of(1), dual_of(1), dual_of(1), 0};
    struct dual sum = dual_of(0);

    for (int layer = 0; layer < t->counts.nlayers; layer++)
        for (int i = 0; i < n * n; i++) {
            const struct dual_vec p = position(t, middle_of(t, fast * n + i % n, n),
                                               middle_of(t, slow * n + i / n, n), layer);
            const struct dual_vec d = vec_unit(p);
            struct dual weight;

            if (layer == 0 && i == 0) once.omega = solid_angle(t, p);
            if (i == 0 || s->oversample_thick) once.capture = capture(t, d, layer);
            weight = dual_mul(once.capture,
                              s->oversample_omega ? solid_angle(t, p) : once.omega);
            sum = dual_add(sum, dual_mul(weight, over_sources(t, d, &once)));
        }
    if (!s->oversample_polar) sum = dual_mul(sum, once.polarization);
    sum = dual_times((quad)1 / ((quad)n * n * t->norientation), sum);
    return dual_mul(sum, t->x.scale);
}

/* of the first source, or the mean over all */
static struct dual mean_polarization(const struct truth *t, struct dual_vec d)
{
    struct dual sum = dual_of(0);

    if (!t->scene.oversample_polar) return polarization(t, t->source, d);
    for (int j = 0; j < t->nsource; j++)
        sum =
            dual_add(sum, dual_mul(t->source[j].weight, polarization(t, t->source + j, d)));
    return sum;
}

/* scattered by amorphous material, per fluence and r_e^2, at the middle of the pixel */
static struct dual amorphous(const struct truth *t, int slow, int fast)
{
    const struct dual width = dual_times((quad)1 / 1000000, t->x.water);
    const quad each = (quad)2.57 * (quad)2.57 * 1000000 * AVOGADRO;
    const struct dual density = dual_div(t->x.density, t->x.molecular_weight);
    struct dual sum = dual_of(0), omega = sum, polar = sum;

    for (int layer = 0; layer < t->counts.nlayers; layer++) {
        const struct dual_vec p =
            position(t, middle_of(t, fast, 1), middle_of(t, slow, 1), layer);
        const struct dual_vec d = vec_unit(p);

        if (layer == 0 || t->scene.oversample_omega) omega = solid_angle(t, p);
        if (layer == 0 || t->scene.oversample_polar) polar = mean_polarization(t, d);
        sum = dual_add(sum, dual_mul(dual_mul(omega, polar), capture(t, d, layer)));
    }
    sum = dual_mul(dual_mul(width, dual_square(width)), sum);
    return dual_times(each, dual_mul(density, sum));
}

/* a pixel of an image of panels; of no panel it is 0 */
static struct dual pixel_of_panels(const struct truth *t, int slow, int fast)
{
    const nb_detector *d = &t->scene.detector;

    for (int i = 0; i < d->npanel; i++) {
        const nb_panel *p = d->panel + i;

        if (slow < p->slow0 || slow >= p->slow0 + p->nslow || fast < p->fast0
            || fast >= p->fast0 + p->nfast)
            continue;
        *t->at_panel = *t;
        t->at_panel->detector = t->panel[i];
        t->at_panel->x.pixel = truth_panel_pixel(t, i);
        t->at_panel->panel = NULL;
        return truth_pixel(t->at_panel, slow - p->slow0, fast - p->fast0);
    }
    return dual_of(0);
}

struct dual truth_pixel(const struct truth *t, int slow, int fast)
{
    const struct dual per_area = dual_times(R_E_SQUARED, t->x.fluence);
    struct dual photons;

    if (t->panel) return pixel_of_panels(t, slow, fast);
    photons = bragg(t, slow, fast);
    if (t->scene.background.water > 0)
        photons = dual_add(photons, amorphous(t, slow, fast));
    return dual_mul(per_area, photons);
}
