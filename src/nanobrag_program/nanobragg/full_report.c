/*
 * full_report.c - prints the report up to its summary as nanoBragg does, whose words
 * scripts read: with -compat nanobragg and with -verbose.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>

#include <nanobrag/description.h>

#include "nanobrag_program/run.h"

static const char *const convention_names[] = {
    [NB_CONVENTION_MOSFLM] = "mosflm", [NB_CONVENTION_DENZO] = "denzo",
    [NB_CONVENTION_ADXV] = "adxv",     [NB_CONVENTION_XDS] = "xds",
    [NB_CONVENTION_DIALS] = "dials",   [NB_CONVENTION_CUSTOM] = "custom",
};

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double norm(const double a[3])
{
    return sqrt(dot(a, a));
}

static void report_banner(const struct run *run)
{
    const struct settings *s = run->command.s;
    if (s->mask) printf("reading %s\n", s->mask);
    if (s->img) printf("reading %s\n", s->img);
    if (!s->compat) {
        printf("nanobrag %s\n", nb_version());
        return;
    }
    const double *normal = s->scene.detector.vectors[2];
    if (s->scene.detector.convention == NB_CONVENTION_CUSTOM
        && s->vector_given[VECTOR_NORMAL] && norm(normal) != 1)
        printf("WARNING: auto-generating odet_vector\n");
    printf("nanoBragg nanocrystal diffraction simulator - James Holton and Ken Frankel "
           "5-17-17\n");
    if (s->thickness > 0 && s->depth == 0)
        printf("WARNING: setting detector attenuation depth to %g m\n", 1e6 / s->thickness);
    if (s->scene.crystal.ndomains <= 0 && s->scene.crystal.mosaic[0] > 0)
        printf("WARNING: finite mosaicity with only one domain! upping to 10 mosaic "
               "domains\n");
}

static void report_convention(const struct run *run)
{
    const nb_description *d = &run->command.description;
    printf("%s convention selected.\n", convention_names[d->convention]);
    printf("pivoting detector around %s\n",
           d->pivot == NB_PIVOT_SAMPLE ? "sample" : "direct beam spot");
    printf("XDS incident beam: %g %g %g\n", dot(d->beam, d->fast), dot(d->beam, d->slow),
           dot(d->beam, d->normal));
    const double *n = run->command.s->ncells;
    const int few = run->command.s->compat
                        ? n[0] <= 2 || n[1] <= 2 || n[2] <= 2
                        : run->command.resolved.crystal.interpolate == NB_LOOKUP_TRICUBIC;
    if (run->command.s->scene.crystal.interpolate == 0)
        printf("auto-selected %s\n",
               few ? "tricubic interpolation of structure factors" : "no interpolation");
}

static void report_odd_angles(const struct run *run)
{
    static const char *const names[] = {"(alpha_star) =", "(beta_star)  =",
                                        "(gamma_star) ="};
    const nb_description *d = &run->command.description;
    const double limit = 1 + 1e-12; /* beyond rounding */
    if (!(d->star_sines[0] > limit || d->star_sines[1] > limit || d->star_sines[2] > limit))
        return;
    printf("WARNING: oddball reciprocal cell angles:\n");
    for (int i = 0; i < 3; i++) {
        printf("sin%s %.25g\n", names[i], d->star_sines[i]);
        printf("cos%s %.25g\n", names[i], d->star_cosines[i]);
    }
}

static void report_axes(const char *title, const char *columns, const double *axes)
{
    static const char label[] = "XYZ";
    printf("%s\n%s\n", title, columns);
    for (int i = 0; i < 3; i++)
        printf("%c: %11.8f %11.8f %11.8f\n", label[i], axes[i], axes[3 + i], axes[6 + i]);
}

static void report_real_axes(const double *axes)
{
    report_axes("real-space cell vectors (Angstrom):",
                "     a           b           c         ", axes);
}

static void report_cell(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const double *c = d->cell, *r = d->cell_star;
    if (run->command.s->matrix) printf("reading %s\n", run->command.s->matrix);
    if (run->command.s->random_misset)
        printf("random orientation misset angles: %f %f %f deg\n", d->misset[0],
               d->misset[1], d->misset[2]);
    report_odd_angles(run);
    printf("Unit Cell: %g %g %g %g %g %g\n", c[0], c[1], c[2], c[3], c[4], c[5]);
    printf("Recp Cell: %g %g %g %g %g %g\n", r[0], r[1], r[2], r[3], r[4], r[5]);
    printf("volume = %g A^3\n", d->volume);
    report_real_axes(d->real_axes[0]);
    report_axes("reciprocal-space cell vectors (Angstrom^-1):",
                "     a_star      b_star      c_star    ", d->star_axes[0]);
}

static void report_size(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const double *n = d->ncells, *c = d->cell;
    const double micron = 1e-4; /* an Angstrom in um */
    printf("crystal is %g x %g x %g microns\n", n[0] * c[0] * micron, n[1] * c[1] * micron,
           n[2] * c[2] * micron);
    if (run->command.s->scene.oversample <= 0) {
        printf("auto-selected %d-fold oversampling\n", d->oversample);
    } else if (d->oversample < d->oversample_wanted) {
        printf("WARNING: maximum dimension of sample is %g A\n", d->sample_max);
        printf("         but reciprocal pixel size is %g A\n", d->pixel_reciprocal);
        printf("         intensity may vary significantly across a pixel!\n");
        printf("         recommend -oversample %d to work around this\n",
               d->oversample_wanted);
    }
    printf("approximate MW = %g\n", c[0] * c[1] * c[2] * 1e-30 * 1.2e6 * 6.02214179e23);
}

static void report_files(const struct run *run)
{
    const struct settings *s = run->command.s;
    if (run->command.inputs.from_dump) printf("reading Fs from %s\n", s->dump);
    if (s->hkl) {
        printf("counting entries in %s\n", s->hkl);
        if (run->command.resolved.crystal.default_f != 0) {
            printf("initializing to default_F = %g:\n",
                   run->command.resolved.crystal.default_f);
            printf("done initializing:\n");
        }
        printf("re-reading %s\n", s->hkl);
        if (s->dump && !s->explain)
            printf("writing dump file for next time: %s\n", s->dump);
    }
    if (s->stol) printf("reading %s\n", s->stol);
}

/* Rotate v about a unit axis k: v cos + (k x v) sin + k (k.v) (1 - cos). */
static void rotate(const double k[3], double angle, double v[3])
{
    const double c = cos(angle), s = sin(angle), along = dot(k, v) * (1 - c);
    const double across[3] = {k[1] * v[2] - k[2] * v[1], k[2] * v[0] - k[0] * v[2],
                              k[0] * v[1] - k[1] * v[0]};
    for (int i = 0; i < 3; i++) v[i] = v[i] * c + across[i] * s + k[i] * along;
}

/* Print source i, placed 10 m before the crystal. Its direction is computed again by
 * rotations as in nanoBragg, so that zeros have the same signs. */
static void report_source(const struct run *run, int i)
{
    const nb_description *d = &run->command.description;
    nb_source source;
    double deviation[2], place[3];
    if (nb_simulator_source(run->command.sim, run->command.params.x, i, &source, deviation)
        != NB_OK)
        return;
    for (int k = 0; k < 3; k++)
        place[k] = !run->command.inputs.nsource ? -10 * d->beam[k]
                   : run->command.params.nset   ? -10 * source.direction[k]
                                                : run->command.inputs.positions[i][k];
    if (!run->command.inputs.nsource) {
        rotate(d->polarization_axis, deviation[1], place);
        rotate(d->vertical, deviation[0], place);
    }
    printf("%g %g %g   %g %g\n", place[0], place[1], place[2], source.weight,
           source.wavelength * 1e-10);
}

static void report_steps(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const double centre = run->command.s->compat ? 0 : 0.5;
    for (int i = 0; i < d->nlayers; i++)
        printf("thick%d = %g um\n", i, d->layer_depth + i * d->layer_step);
    for (int i = 0; i < d->nphi; i++)
        printf("phi%d = %g\n", i,
               run->command.resolved.scan.phi0 + (i + centre) * d->phi_step);
    const int step = d->ndispersion > 0 ? d->ndispersion : 1;
    nb_source source;
    double deviation[2];
    for (int i = 0; i < d->ngrid; i++)
        if (nb_simulator_source(run->command.sim, run->command.params.x, i * step, &source,
                                deviation)
            == NB_OK)
            printf("divergence deviation: %g %g\n", deviation[0], deviation[1]);
    for (int i = 0; i < step && d->ngrid > 0; i++)
        if (nb_simulator_source(run->command.sim, run->command.params.x, i, &source, NULL)
            == NB_OK)
            printf("lambda%d = %g\n", i, source.wavelength * 1e-10);
    printf("  created a total of %d sources:\n", d->nsource);
    for (int i = 0; i < d->nsource; i++) report_source(run, i);
    printf("  created a total of %d mosaic domains\n", d->ndomains);
}

void full_report_start(struct run *run)
{
    report_banner(run);
    report_convention(run);
    report_cell(run);
    report_size(run);
    report_files(run);
    report_steps(run);
    full_report_summary(run);
    fflush(stdout);
}

/* ---- -printout ---- */

/* Returns the scattering angle, radian. nanoBragg measures it from lab x, whatever the beam
 * is. */
static double scattering_angle(const struct run *run, const double at[3])
{
    static const double x[3] = {1, 0, 0};
    const double *beam = run->command.s->compat ? x : run->command.description.beam;
    const double along = dot(at, beam);
    const double r2 = dot(at, at) - along * along;
    return atan2(sqrt(r2 > 0 ? r2 : 0), along);
}

/* Returns the panel of a pixel of the image; 0 for a detector of one rectangle, -1 between
 * panels. *fast and *slow become the pixel's coordinates on the panel. */
static int panel_of(const struct run *run, int *fast, int *slow)
{
    const nb_detector *const d = &run->command.resolved.detector;
    for (int i = 0; i < d->npanel; i++) {
        const nb_panel *const p = d->panel + i;
        const int f = *fast - p->fast0, s = *slow - p->slow0;
        if (f < 0 || s < 0 || f >= p->nfast || s >= p->nslow) continue;
        *fast = f, *slow = s;
        return i;
    }
    return d->npanel > 0 ? -1 : 0;
}

static int print_pixel(struct run *run, int fast, int slow)
{
    nb_pixel_trace t;
    int on[2] = {fast, slow};
    const int panel = panel_of(run, on, on + 1);
    if (panel < 0) return 0;
    const nb_status status = nb_simulator_trace(run->command.sim, run->command.params.x,
                                                panel, on[1], on[0], &t);
    if (status != NB_OK)
        return message_status(run->command.messages, status,
                              nb_context_message(run->command.ctx), 0);
    printf("%4d %4d : stol = %g or %g\n", fast, slow, t.stol * 1e10,
           sin(scattering_angle(run, t.position) / 2)
               / run->command.resolved.beam.wavelength);
    printf("at %g %g %g\n", t.position[0], t.position[1], t.position[2]);
    printf("hkl= %f %f %f  hkl0= %d %d %d\n", t.h[0], t.h[1], t.h[2], t.hkl[0], t.hkl[1],
           t.hkl[2]);
    printf(" F_cell=%g  F_latt=%g   I = %g\n", t.f_cell, t.f_latt, t.sum);
    printf("I/steps %15.10g\n", t.sum / t.steps);
    printf("polar   %15.10g\n", t.polarization);
    printf("omega   %15.10g\n", t.omega);
    printf("capfrac %15.10g\n", t.capture);
    printf("pixel   %15.10g\n", run->command.s->compat ? (float)t.intensity : t.intensity);
    report_real_axes(t.axes[0]);
    return 0;
}

int report_printout(struct run *run)
{
    const nb_description *d = &run->command.description;
    const int *only = run->command.s->printout_pixel,
              *roi = run->command.resolved.detector.roi;
    const uint8_t *mask = run->command.inputs.mask.pixels
                              ? run->command.inputs.mask.pixels
                              : run->command.resolved.detector.mask;
    for (int slow = roi[2]; slow < roi[3]; slow++)
        for (int fast = roi[0]; fast < roi[1]; fast++) {
            if (only[0] >= 0 && (fast != only[0] || slow != only[1])) continue;
            if (mask && !mask[(size_t)slow * (size_t)d->nfast + (size_t)fast]) continue;
            if (progress_line_interrupted()) return 0;
            const int code = print_pixel(run, fast, slow);
            if (code) return code;
        }
    return 0;
}
