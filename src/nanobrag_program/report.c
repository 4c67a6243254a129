/*
 * report.c - prints the report: a line each for crystal, beam, detector, scan, sampling,
 * processor or device, each image, and the files. full_report.c prints nanoBragg's report,
 * which scripts read.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_program/derivatives/run_derivatives.h"
#include "nanobrag_program/output/pixel_view.h"
#include "nanobrag_program/run.h"

#define RADIAN        (3.14159265358979323846 / 180)
#define KEV_ANGSTROEM 12.398419843320026 /* h c, keV A */

static const char *plural(double n)
{
    return n == 1 ? "" : "s";
}

static void report_crystal(const struct run *run)
{
    static const char *const shapes[] = {
        [NB_SHAPE_SQUARE] = "square",         [NB_SHAPE_ROUND] = "round",
        [NB_SHAPE_GAUSS] = "gauss",           [NB_SHAPE_TOPHAT] = "tophat",
        [NB_SHAPE_GAUSS_STAR] = "gauss_star",
    };
    const nb_description *d = &run->command.description;
    const nb_crystal *crystal = &run->command.resolved.crystal;
    const double *c = d->cell, *n = d->ncells;
    const double um = 1e-4; /* an Angstrom in um */

    printf("crystal    %g %g %g A, %g %g %g degree; %g x %g x %g cells of shape %s, %.3g x "
           "%.3g x %.3g um\n",
           c[0], c[1], c[2], c[3], c[4], c[5], n[0], n[1], n[2], shapes[crystal->shape],
           n[0] * c[0] * um, n[1] * c[1] * um, n[2] * c[2] * um);
    for (int i = 0; i < crystal->nlattice; i++) {
        const nb_lattice *const l = crystal->lattice + i;
        printf("           further lattice, turned by %.3g degree, misset %g %g %g degree, "
               "%g times as bright",
               lattices_angle(crystal, i), l->misset[0], l->misset[1], l->misset[2],
               l->scale);
        if (l->cell[0] != 0)
            printf("; %g %g %g A, %g %g %g degree", l->cell[0], l->cell[1], l->cell[2],
                   l->cell[3], l->cell[4], l->cell[5]);
        printf("\n");
    }
    if (crystal->normalise && crystal->shape != NB_SHAPE_SQUARE)
        printf("           spots have the sum of square blocks (-normalise on)\n");
    else if (fabs(d->spot_sum - 1) > 1e-9)
        printf("           spots have %.4g times the sum of square blocks (-normalise on: "
               "the same sum)\n",
               d->spot_sum);
    char atoms[48] = "";
    if (run->command.inputs.structure)
        snprintf(atoms, sizeof atoms, " (%zu atom%s)",
                 nb_structure_natom(run->command.inputs.structure),
                 plural((double)nb_structure_natom(run->command.inputs.structure)));
    if (run->command.inputs.hkl)
        printf("           F of %zu reflection%s from %s%s, else %g electrons\n",
               run->command.inputs.hkl_info.count,
               plural((double)run->command.inputs.hkl_info.count),
               factors_source(&run->command), atoms, crystal->default_f);
    else
        printf("           F = %g electrons for every reflection\n", crystal->default_f);
}

static void report_beam(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const double lambda = run->command.resolved.beam.wavelength;

    printf("beam       %g A (%.6g keV), %g photons/m^2", lambda, KEV_ANGSTROEM / lambda,
           d->fluence);
    if (d->dispersion > 0) printf(", bandwidth %g %%", 100 * d->dispersion);
    if (d->divergence[0] > 0 || d->divergence[1] > 0)
        printf(", divergence %g x %g degree", d->divergence[0] / RADIAN,
               d->divergence[1] / RADIAN);
    printf("\n");
}

/* Returns the name of the panel that the direct beam meets or passes nearest. */
static const char *panel_name(const struct run *run, char text[48])
{
    const int i = run->command.description.panel;
    const char *const name = run->command.resolved.detector.panel[i].name;

    if (*name)
        snprintf(text, 48, "%s", name);
    else
        snprintf(text, 48, "panel %d", i);
    return text;
}

static void report_detector(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const nb_detector *detector = &run->command.resolved.detector;
    const struct view view = {d, run->command.resolved.beam.wavelength};
    const int *roi = detector->roi;
    double beam[2];
    char text[48];
    const int meets = view_beam(&view, beam);
    const double distance = meets ? d->distance : d->close_distance;
    const char *const along = meets ? "" : " along its normal";

    if (d->npanel > 0)
        printf("detector   %d panel%s in an image of %d x %d pixels; %s has pixels of %g "
               "mm, at %g mm%s, ",
               d->npanel, plural(d->npanel), d->nfast, d->nslow, panel_name(run, text),
               d->pixel, distance, along);
    else
        printf("detector   %d x %d pixels of %g mm at %g mm%s, ", d->nfast, d->nslow,
               d->pixel, distance, along);
    if (meets)
        printf("beam at fast %.6g slow %.6g (pixel 0 is 0 to 1), ", beam[0], beam[1]);
    else
        printf("beam beside the detector, ");
    printf("resolution %.3g A in the corner\n", 1 / d->qmax);
    if (d->pixels == (int64_t)d->nfast * d->nslow) return;
    printf("           %lld pixel%s %s rendered: %d to %d x %d to %d", (long long)d->pixels,
           plural((double)d->pixels), d->pixels == 1 ? "is" : "are", roi[0], roi[1] - 1,
           roi[2], roi[3] - 1);
    if (detector->nbox > 0)
        printf(", in %zu box%s", detector->nbox, detector->nbox == 1 ? "" : "es");
    printf("%s\n", detector->mask ? ", without masked pixels" : "");
}

/* Prints that the continuous model is used, and over which quantities it integrates. */
static void report_model(const nb_description *d)
{
    static const char *const what[] = {"mosaic", "rotation", "energies", "directions"};
    const char *between = ", with";
    if (d->mosaic_model != NB_MOSAIC_GAUSS) return;
    printf("model      continuous (-mosaic_model gauss)");
    for (int i = 0; i < 4; i++) {
        if (!(d->integrated >> i & 1)) continue;
        printf("%s %s", between, what[i]);
        between = ",";
    }
    printf("%s\n", d->integrated ? " in closed form" : "");
}

static void report_sampling(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const nb_scan *scan = &run->command.resolved.scan;
    const double *const mosaic = run->command.resolved.crystal.mosaic;

    if (scan->osc != 0)
        printf("scan       %d image%s of %g degree from %g degree\n",
               run->command.s->images, plural(run->command.s->images), scan->osc,
               scan->phi0);
    report_model(d);
    printf("sampling   %d x %d sub-pixels, %d phi %s%s, %d source%s, %d domain%s",
           d->oversample, d->oversample, d->nphi,
           d->integrated & NB_INTEGRATED_ROTATION ? "part" : "step", plural(d->nphi),
           d->nsource, plural(d->nsource), d->ndomains, plural(d->ndomains));
    if (run->command.resolved.given & NB_GIVEN_MOSAIC_AXES)
        printf(" over %g, %g, %g degree about a, c* x a, c*", mosaic[0], mosaic[1],
               mosaic[2]);
    else if (mosaic[0] > 0)
        printf(" over %g degree", mosaic[0]);
    if (d->nlayers > 1) printf(", %d sensor layers", d->nlayers);
    printf(": %.3g samples\n", d->evaluations);
}

static void report_engine(const struct run *run)
{
    const nb_description *d = &run->command.description;
    const int threads = nb_context_threads(run->command.ctx);

    printf("run        %s in %s, ", strategy_word(d), precision_word(d));
    if (d->device[0] == 'c' && d->device[1] == 'p')
        printf("at most %d thread%s of the CPU\n", threads, plural(threads));
    else
        printf("%s\n", d->device);
}

void report_start(struct run *run)
{
    if (run->command.s->quiet && !run->command.s->explain) return;
    if (run->command.s->full_report) {
        full_report_start(run);
        return;
    }
    printf("nanobrag %s\n", nb_version());
    report_crystal(run);
    report_beam(run);
    report_detector(run);
    report_sampling(run);
    report_engine(run);
    fflush(stdout);
}

void report_image(const struct run *run, int i)
{
    const struct result *result = &run->results[i];
    const nb_statistics *t = &result->statistics;
    const nb_description *d = &run->command.description;
    const nb_detector *detector = &run->command.resolved.detector;
    const nb_panel *on = detector->npanel > 0 ? detector->panel + t->max_panel : NULL;
    const double pixel = on && on->pixel > 0 ? on->pixel : detector->pixel;

    const int64_t overloads =
        run->command.s->out[OUT_NOISE] ? result->overloads : result->image_overloads;

    if (run->command.s->quiet || run->command.s->full_report) return;
    printf(run->command.shots ? "shot  " : "image ");
    if (run->command.shots)
        printf("%-4d ", run->command.s->first + i + 1);
    else if (run->command.s->images > 1)
        printf("%-4d phi %g degree, ", i + 1, result->phi);
    else
        printf("     ");
    printf("%.3g s (%.3g samples/s); brightest pixel fast %d slow %d: %.4g photons; mean "
           "%.4g",
           result->seconds, d->evaluations / result->seconds,
           (on ? on->fast0 : 0) + (int)floor(t->max_fast / pixel),
           (on ? on->slow0 : 0) + (int)floor(t->max_slow / pixel), t->max, t->mean);
    if (settings_draw(run->command.s))
        printf("; sum with noise %.0f photons, %lld overload%s", result->photons,
               (long long)overloads, plural((double)overloads));
    printf("\n");
    fflush(stdout);
}

static void report_file(const char *name, const char *last, int *listed)
{
    if (!name || names_stdout(name)) return;
    printf("%s%s", *listed ? ", " : "files      ", name);
    if (last && strcmp(name, last) != 0) printf(" to %s", last);
    *listed = 1;
}

void report_end(const struct run *run)
{
    const struct settings *s = run->command.s;
    const char *others[] = {s->truth,        s->fmtz,         s->gradfile, s->hklgradfile,
                            s->atomgradfile, s->jacobianfile, s->json,     s->geomout};
    const char *last = NULL;
    int listed = 0;

    if (s->quiet || s->full_report || run->done < 1) return;
    for (int kind = 0; kind < OUT_COUNT; kind++) {
        const char *const first = results_names(run, kind, &last);
        report_file(first, last, &listed);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        report_file(others[i], NULL, &listed);
    if (listed) printf("\n");
    if (s->jacobianfile) {
        printf("           %s holds derivatives by", s->jacobianfile);
        derivatives_print_names(run);
    }
}
