/* brute_force.c - see brute_force.h. SPDX-License-Identifier: MIT */
#include "kernels/brute_force.h"

#include <math.h>
#include <stdlib.h>

#include <nanobrag/description.h>

static const double pi = 3.14159265358979323846;

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void unit(double *a)
{
    const double n = sqrt(dot(a, a));

    for (int i = 0; i < 3; i++) a[i] /= n;
}

/* scattered direction d, from incident direction i; the azimuth form */
static double polarization(double kahn, const double *axis, const double *i,
                           const double *d)
{
    double b[3], e[3], psi;
    const double c = dot(i, d);

    cross(axis, i, b);
    unit(b);
    cross(i, b, e);
    unit(e);
    psi = -atan2(dot(d, b), dot(d, e));
    return (1 + c * c - kahn * cos(2 * psi) * (1 - c * c)) / 2;
}

static double slit(double h, double n)
{
    const double below = sin(pi * h);

    return below == 0 ? n : sin(pi * n * h) / below;
}

/* F^2 of one crystal orientation (rows a, b, c in A) at q in 1/A */
static double square_of_f(const nb_scene *scene, const double *axes, const double *q)
{
    double f = 1, cell = scene->crystal.default_f;
    int n[3];

    for (int i = 0; i < 3; i++) {
        const double h = dot(axes + 3 * i, q), cells = scene->crystal.ncells[i];

        n[i] = (int)ceil(h - 0.5);
        if (cells > 1) f *= slit(h, cells);
    }
    if (scene->crystal.hkl) (void)nb_hkl_get(scene->crystal.hkl, n[0], n[1], n[2], &cell);
    return cell * cell * f * f;
}

struct oracle {
    const nb_scene *scene;
    nb_description d;
    double *axes; /* of all phi steps and domains */
    nb_source *source;
    double weights;
};

static void position(const struct oracle *o, const double at[2], int layer, double p[3])
{
    const nb_description *d = &o->d;
    const double depth = d->thickness / 1000 / d->nlayers * (layer + 0.5);

    for (int k = 0; k < 3; k++)
        p[k] =
            d->origin[k] + at[0] * d->fast[k] + at[1] * d->slow[k] + depth * d->normal[k];
}

/* solid angle of a pixel at p (mm) */
static double omega_of(const struct oracle *o, const double p[3])
{
    const double r = sqrt(dot(p, p)), pixel = o->d.pixel;

    return pixel * pixel / (r * r) * (o->d.close_distance / r);
}

static double capture_of(const struct oracle *o, const double p[3], int layer)
{
    const double cosine = dot(p, o->d.normal) / sqrt(dot(p, p));
    const double step = o->d.thickness / o->d.nlayers * 1e-6 * o->d.mu / cosine;

    if (!(o->d.thickness > 0)) return 1;
    return exp(-layer * step) - exp(-(layer + 1) * step);
}

/* what is evaluated once per pixel, and whether the polarization is known yet */
struct once {
    double omega, polar, capture;
    int lit;
};

/* sum over sources and orientations of a place at p, weighted */
static double place_sum(const struct oracle *o, const double p[3], struct once *once)
{
    const nb_scene *s = o->scene;
    double d[3] = {p[0], p[1], p[2]}, sum = 0;

    unit(d);
    for (int i = 0; i < o->d.nsource; i++) {
        const nb_source *source = o->source + i;
        double incident[3], q[3], polar, weight = source->weight / o->weights, stol;

        for (int k = 0; k < 3; k++) incident[k] = source->direction[k];
        unit(incident);
        for (int k = 0; k < 3; k++) q[k] = (d[k] - incident[k]) / source->wavelength;
        stol = sqrt(dot(q, q)) / 2;
        if (s->dmin > 0 && stol > 0 && s->dmin > 0.5 / stol) continue;
        polar = polarization(s->beam.polarization, o->d.polarization_axis, incident, d);
        if (s->beam.unpolarised) polar = 1;
        if (s->oversample_polar)
            weight *= polar;
        else if (!once->lit)
            once->polar = polar;
        once->lit = 1;
        weight *= exp(-2 * s->crystal.b_factor * stol * stol);
        for (int k = 0; k < o->d.nphi * o->d.ndomains; k++)
            sum += weight * square_of_f(s, o->axes + 9 * k, q);
    }
    return sum;
}

static double pixel_of(const struct oracle *o, int slow, int fast)
{
    const nb_scene *s = o->scene;
    const int n = o->d.oversample;
    struct once once = {1, 1, 1, 0};
    double sum = 0;

    for (int layer = 0; layer < o->d.nlayers; layer++)
        for (int sub = 0; sub < n * n; sub++) {
            const double edge = o->d.pixel / n;
            const int row = slow * n + sub / n, column = fast * n + sub % n;
            const double at[2] = {(column + 0.5) * edge, (row + 0.5) * edge};
            double p[3], weight = 1;

            position(o, at, layer, p);
            if (layer == 0 && sub == 0) once.omega = omega_of(o, p);
            if (sub == 0 || s->oversample_thick) once.capture = capture_of(o, p, layer);
            weight *= once.capture * (s->oversample_omega ? omega_of(o, p) : once.omega);
            sum += weight * place_sum(o, p, &once);
        }
    if (!s->oversample_polar) sum *= once.polar;
    return 7.94079248018965e-30 * o->d.fluence * s->crystal.scale * sum
           / ((double)n * n * o->d.nphi * o->d.ndomains);
}

void oracle_image(const nb_scene *scene, nb_simulator *sim, double *image)
{
    struct oracle o = {0};
    nb_scene resolved;

    if (nb_simulator_describe(sim, NULL, &o.d) != NB_OK
        || nb_simulator_resolved(sim, NULL, &resolved) != NB_OK)
        abort();
    resolved.crystal.hkl = scene->crystal.hkl;
    o.scene = &resolved;
    o.axes = calloc((size_t)o.d.nphi * (size_t)o.d.ndomains * 9, sizeof *o.axes);
    o.source = calloc((size_t)o.d.nsource, sizeof *o.source);
    if (!o.axes || !o.source) abort();
    for (int i = 0; i < o.d.nphi * o.d.ndomains; i++)
        if (nb_simulator_orientation(sim, NULL, i / o.d.ndomains, i % o.d.ndomains,
                                     o.axes + 9 * i)
            != NB_OK)
            abort();
    for (int i = 0; i < o.d.nsource; i++) {
        if (nb_simulator_source(sim, NULL, i, o.source + i, NULL) != NB_OK) abort();
        o.weights += o.source[i].weight;
    }
    for (int s = 0; s < o.d.nslow; s++)
        for (int f = 0; f < o.d.nfast; f++)
            image[(size_t)s * (size_t)o.d.nfast + (size_t)f] = pixel_of(&o, s, f);
    free(o.axes);
    free(o.source);
}
