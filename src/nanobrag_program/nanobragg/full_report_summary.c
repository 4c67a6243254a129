/*
 * full_report_summary.c - prints the indented part of nanoBragg's report, which sums up
 * what will be rendered.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_program/run.h"

static const char *shape_word(int shape)
{
    switch (shape) {
    case NB_SHAPE_ROUND:
        return "ellipsoidal";
    case NB_SHAPE_GAUSS:
        return "gaussian";
    case NB_SHAPE_TOPHAT:
        return "tophat-spot";
    case NB_SHAPE_GAUSS_STAR:
        return "gaussian-star";
    default:
        return "parallelpiped";
    }
}

static void summary_crystal(const struct run *run)
{
    const nb_description *d = &run->command.description;
    printf("  %zu initialized hkls (all others =%g)\n", run->command.inputs.hkl_info.count,
           run->command.resolved.crystal.default_f);
    printf("  %s xtal: %.0fx%.0fx%.0f cells\n",
           shape_word(run->command.resolved.crystal.shape), d->ncells[0], d->ncells[1],
           d->ncells[2]);
}

static void summary_beam(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const nb_scene *scene = &run->command.resolved;
    printf("  wave=%g meters +/- %g%% in %d steps\n", scene->beam.wavelength * 1e-10,
           d->dispersion * 100, d->ndispersion);
    if (scene->beam.unpolarised)
        printf("  polarization effect disabled\n");
    else
        printf("  Kahn polarization factor: %f\n", scene->beam.polarization);
    if (scene->detector.curved)
        printf("  curved detector: all pixels same distance from origin\n");
    if (scene->detector.point_pixel) printf("  pixel obliquity effect disabled\n");
    printf("  incident fluence: %g photons/m^2\n", d->fluence);
}

static void print_vector(const char *label, const double v[3])
{
    printf("  %s= %g %g %g\n", label, v[0], v[1], v[2]);
}

void report_dials_origin(const struct run *run, double out[3])
{
    const nb_description *const d = &run->command.description;
    const double theirs[3] = {d->origin[2], d->origin[1], -d->origin[0]};
    memcpy(out, run->command.s->compat ? theirs : d->dials_origin, sizeof theirs);
}

static void summary_detector(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const struct settings *s = run->command.s;
    const double mm = 1e-3;
    double close[2] = {d->close_fast, d->close_slow}, beam[2] = {d->xbeam, d->ybeam};
    for (int i = 0; i < 2 && s->compat; i++) {
        close[i] = s->report_close[i];
        if (s->header_beam.given[i]) beam[i] = s->header_beam.value[i];
    }
    printf("  distance=%g detsize=%gx%g  pixel=%g meters (%dx%d pixels)\n",
           d->distance * mm, d->size[0] * mm, d->size[1] * mm, d->pixel * mm, d->nfast,
           d->nslow);
    printf("  sensor is %g m thick in %d layers with mu= %g\n", d->thickness * 1e-6,
           d->nlayers, d->mu);
    printf("  Xbeam=%g Ybeam=%g\n", beam[0] * mm, beam[1] * mm);
    printf("  Fbeam=%g Sbeam=%g\n", d->beam_fast * mm, d->beam_slow * mm);
    printf("  Xclose=%g Yclose=%g\n", close[0] * mm, close[1] * mm);
    printf("  Fclose=%g Sclose=%g\n", d->close_fast * mm, d->close_slow * mm);
    print_vector("DIRECTION_OF_DETECTOR_X-AXIS", d->fast);
    print_vector("DIRECTION_OF_DETECTOR_Y-AXIS", d->slow);
    print_vector("DIRECTION_OF_DETECTOR_Z-AXIS", d->normal);
    print_vector("INCIDENT_BEAM_DIRECTION", d->beam);
    print_vector("spindle ROTATION_AXIS", d->spindle);
    print_vector("POLARIZATION_PLANE_NORMAL", d->vertical);
    double origin[3];
    report_dials_origin(run, origin);
    print_vector("dials origin", origin);
    printf("  roi: %d < x < %d && %d < y < %d\n", s->roi[0], s->roi[1], s->roi[2],
           s->roi[3]);
}

static void summary_sampling(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const nb_scene *scene = &run->command.resolved;
    printf("  hdivrange=%g hdivstep=%g  radians\n", d->divergence[0],
           d->divergence_step[0]);
    printf("  vdivrange=%g vdivstep=%g  radians\n", d->divergence[1],
           d->divergence_step[1]);
    printf("  %d divergence steps\n", run->command.inputs.nsource ? -1 : d->ngrid);
    printf("  %d sources\n", d->nsource);
    printf("  %d mosaic domains over mosaic spread of %g degrees\n", d->ndomains,
           scene->crystal.mosaic[0]);
    printf("  %d phi steps from %g to %g degrees\n", d->nphi, scene->scan.phi0,
           scene->scan.phi0 + scene->scan.osc);
    printf("  %dx%d pixel oversample steps%s%s%s\n", d->oversample, d->oversample,
           scene->oversample_thick ? " +thick" : "",
           scene->oversample_polar ? " +polar" : "",
           scene->oversample_omega ? " +omega" : "");
    if (run->command.s->mask)
        printf("  skipping zero-flagged pixels in %s\n", run->command.s->mask);
}

static void summary_noise(const struct run *run)
{
    const struct settings *s = run->command.s;
    if (!s->noise) return;
    printf("\n  noise image %s:\n", s->compat ? "paramters" : "parameters");
    printf("  seed: %lld\n", (long long)(s->compat ? -s->seed : s->seed));
    printf("  water droplet size: %g m\n", run->command.resolved.background.water * 1e-6);
}

void full_report_summary(const struct run *run)
{
    summary_crystal(run);
    summary_beam(run);
    summary_detector(run);
    summary_sampling(run);
    summary_noise(run);
}
