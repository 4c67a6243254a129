/*
 * explain.c - describes the run that a command line asks for, without rendering.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_program/output/pixel_view.h"
#include "nanobrag_program/run.h"

static void explain_geometry(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const struct view view = {d, run->command.resolved.beam.wavelength};
    double beam[2];
    printf("\ngeometry\n");
    if (d->npanel > 0)
        printf("  panels                      %d; the lines below are for %s (%d), the "
               "nearest to the beam\n",
               d->npanel, run->command.resolved.detector.panel[d->panel].name, d->panel);
    printf("  first pixel's outer corner  %.9g %.9g %.9g mm (lab)\n", d->origin[0],
           d->origin[1], d->origin[2]);
    const int meets = view_beam(&view, beam);
    if (meets)
        printf("  distance along the beam     %.9g mm, along the normal %.9g mm\n",
               d->distance, d->close_distance);
    else
        printf("  distance along the normal   %.9g mm\n", d->close_distance);
    if (meets)
        printf("  direct beam                 %.9g %.9g pixels (fast, slow, from the "
               "corner)\n",
               beam[0], beam[1]);
    else
        printf("  direct beam                 misses the detector's plane\n");
    printf("  nearest point               %.9g %.9g pixels\n", d->close_fast / d->pixel,
           d->close_slow / d->pixel);
    if (meets) {
        printf("  ADXV                        %.9g %.9g mm\n", d->adxv[0], d->adxv[1]);
        printf("  MOSFLM                      %.9g %.9g mm\n", d->mosflm[0], d->mosflm[1]);
        printf("  DENZO                       %.9g %.9g mm\n", d->denzo[0], d->denzo[1]);
    }
    printf("  XDS ORGX, ORGY              %.9g %.9g pixels\n", d->xds_org[0],
           d->xds_org[1]);
    printf("  DIALS origin                %.9g %.9g %.9g mm\n", d->dials_origin[0],
           d->dials_origin[1], d->dials_origin[2]);
    printf("  resolution limit            %.6g A (corner)\n", 1 / d->qmax);
}

static const char *plural(double n)
{
    return n == 1 ? "" : "s";
}

const char *strategy_word(const nb_description *d)
{
    return d->strategy == NB_STRATEGY_REFERENCE ? "reference"
           : d->strategy == NB_STRATEGY_SPOTS   ? "spots"
                                                : "lanes";
}

const char *precision_word(const nb_description *d)
{
    return d->precision == NB_PRECISION_SINGLE ? "float" : "double";
}

int float_is_idle(const struct run *run)
{
    return run->command.s->how.precision == NB_PRECISION_SINGLE
           && run->command.description.precision == NB_PRECISION_DOUBLE;
}

static void explain_loop(const struct run *run)
{
    const nb_description *d = &run->command.description;
    printf("  images on                   %s: %s\n", d->device, d->device_why);
    printf("  derivatives on              %s: %s\n", d->derivatives, d->derivatives_why);
    const int asked_float = run->command.s->how.precision == NB_PRECISION_SINGLE;
    const int threads =
        nb_context_threads(run->command.ctx); /* at most; a plan may choose fewer */
    printf("  pixel loop                  %s in %s%s, kernel %s, at most %d thread%s\n",
           strategy_word(d), precision_word(d),
           float_is_idle(run) ? " (float would exceed -tolerance)" : "", d->kernel, threads,
           plural(threads));
    if (d->strategy_why) printf("  why %-23s %s\n", strategy_word(d), d->strategy_why);
    printf("  tolerance                   %.3g of the peak; rounding error about %.2g\n",
           d->tolerance, d->rounding);
    if (asked_float && d->strategy == NB_STRATEGY_LANES)
        printf("  groups of pixels            %d, of which %d are divided and %d computed "
               "in double\n",
               d->tiles, d->tiles_small, d->tiles_double);
}

/* Print the sensor, and the layers that sample its depth. */
static void explain_sensor(const struct run *run)
{
    const nb_description *d = &run->command.description;
    if (!(d->thickness > 0)) return;
    printf("  sensor                      %.9g um thick; 1/e of the photons are left at "
           "%.6g um\n",
           d->thickness, 1e6 / d->mu);
    printf("  layers                      %d, the first %.4g um deep", d->nlayers,
           d->layer_depth);
    if (d->nlayers > 1) printf(", %.4g um apart", d->layer_step);
    printf(", at %s\n", run->command.resolved.detector.layer_cosine > 0
                            ? "the mean depth of capture"
                        : run->command.s->compat ? "their fronts"
                                                 : "their middles (-detector_thicksteps)");
}

static void explain_work(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const double width = d->pixel_reciprocal / d->sample_max;
    printf("\nsampling\n");
    printf("  spot width                  %.4g pixels (-oversample %d; automatic choice "
           "%d)\n",
           width, d->oversample, d->oversample_wanted);
    explain_sensor(run);
    printf("  evaluations                 %.4g = %lld pixel%s x %d^2 sub-pixels x %d "
           "layer%s x "
           "%d source%s x %d phi step%s x %d domain%s\n",
           d->evaluations, (long long)d->pixels, plural((double)d->pixels), d->oversample,
           d->nlayers, plural(d->nlayers), d->nsource, plural(d->nsource), d->nphi,
           plural(d->nphi), d->ndomains, plural(d->ndomains));
    if (d->strategy == NB_STRATEGY_SPOTS)
        printf("%30sin the whole sum; the strategy spots computes only samples near a "
               "reflection\n",
               "");
    explain_loop(run);
    printf("  images                      %d\n", run->command.s->images);
}

/* Print the library's description of its plan; the first line becomes the title. */
static void explain_compiled(struct run *run)
{
    const char *indent = "\n";
    for (const char *line = nb_simulator_explain(run->command.sim); *line;) {
        const size_t n = strcspn(line, "\n");
        printf("%s%.*s\n", indent, (int)n, line);
        line += n + (line[n] == '\n');
        indent = "  ";
    }
}

static void explain_differences(const struct run *run)
{
    if (run->ndifference > 0)
        printf("\ndifferences from nanoBragg (-compat nanobragg gives the results of "
               "nanoBragg)\n");
    for (int i = 0; i < run->ndifference; i++)
        printf("  %s; nanoBragg %s\n", run->difference[i].ours, run->difference[i].theirs);
}

void explain_run(struct run *run)
{
    explain_geometry(run);
    explain_work(run);
    explain_compiled(run);
    explain_differences(run);
    printf("\nnothing was rendered or written (-explain)\n");
}
