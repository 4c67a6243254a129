/*
 * settings.c - applies options to settings, in their order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/options/settings.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

void settings_start(struct settings *s, int compat)
{
    *s = (struct settings){.compat = compat};
    nb_scene_set_profile(&s->scene, compat ? NB_PROFILE_NANOBRAGG : NB_PROFILE_NANOBRAG);
    s->named = -1;
    s->convention = NB_MOSFLM;
    s->reference_pivot = NB_PIVOT_BEAM;
    s->pixel = 0.1;
    s->size[0] = s->size[1] = 102.4;
    for (int i = 0; i < 4; i++) s->roi[i] = -1;
    for (int i = 0; i < 3; i++) s->ncells[i] = 1;
    s->beamsize = 0.1;
    s->exposure = 1;
    s->stol_factor = 1;
    s->adc = 40;
    s->images = 1;
    s->progress = 1;
    s->printout_pixel[0] = s->printout_pixel[1] = -1;
    s->noise = s->pgm = compat;
    if (compat) {
        s->dump = "Fdump.bin";
        s->out[OUT_FLOAT] = "floatimage.bin";
        s->out[OUT_INT] = "intimage.img";
    }
}

/* the type of an option's value */
enum target_kind { REAL, COUNT, CELLS, SEED, TEXT, FLAG };

/* An option that sets one member and nothing else; a FLAG sets it to `flag`. */
struct target {
    int option;
    enum target_kind kind;
    size_t offset;
    int flag;
};

#define AT(member) offsetof(struct settings, member)
// clang-format off
static const struct target targets[] = {
    {OPT_MAT, TEXT, AT(matrix), 0},
    {OPT_MISSET_SEED, SEED, AT(misset_seed), 0},
    {OPT_NA, CELLS, AT(ncells[0]), 0},
    {OPT_NB, CELLS, AT(ncells[1]), 0},
    {OPT_NC, CELLS, AT(ncells[2]), 0},
    {OPT_XTAL_X, REAL, AT(scene.crystal.size[0]), 0},
    {OPT_XTAL_Y, REAL, AT(scene.crystal.size[1]), 0},
    {OPT_XTAL_Z, REAL, AT(scene.crystal.size[2]), 0},
    {OPT_MOSAIC, REAL, AT(scene.crystal.mosaic[0]), 0},
    {OPT_MOSAIC_DOM, COUNT, AT(scene.crystal.ndomains), 0},
    {OPT_MOSAIC_SEED, SEED, AT(scene.crystal.mosaic_seed), 0},
    {OPT_SQUARE_XTAL, FLAG, AT(scene.crystal.shape), NB_SQUARE},
    {OPT_ROUND_XTAL, FLAG, AT(scene.crystal.shape), NB_ROUND},
    {OPT_GAUSS_XTAL, FLAG, AT(scene.crystal.shape), NB_GAUSS},
    {OPT_TOPHAT, FLAG, AT(scene.crystal.shape), NB_TOPHAT},
    {OPT_GAUSS_STAR, FLAG, AT(scene.crystal.shape), NB_GAUSS_STAR},
    {OPT_FUDGE, REAL, AT(scene.crystal.fudge), 0},
    {OPT_HKL, TEXT, AT(hkl), 0},
    {OPT_DEFAULT_F, REAL, AT(scene.crystal.default_f), 0},
    {OPT_DUMP, TEXT, AT(dump), 0},
    {OPT_INTERPOLATE, FLAG, AT(scene.crystal.interpolate), 2},
    {OPT_NOINTERPOLATE, FLAG, AT(scene.crystal.interpolate), 1},
    {OPT_DMIN, REAL, AT(scene.dmin), 0},
    {OPT_LAMBDA, REAL, AT(scene.beam.wavelength), 0},
    {OPT_FLUENCE, REAL, AT(scene.beam.fluence), 0},
    {OPT_FLUX, REAL, AT(scene.beam.flux), 0},
    {OPT_EXPOSURE, REAL, AT(exposure), 0},
    {OPT_BEAMSIZE, REAL, AT(beamsize), 0},
    {OPT_NOPOLAR, FLAG, AT(scene.beam.unpolarised), 1},
    {OPT_DISPSTEPS, COUNT, AT(scene.beam.ndispersion), 0},
    {OPT_HDIVRANGE, REAL, AT(scene.beam.divergence[0]), 0},
    {OPT_VDIVRANGE, REAL, AT(scene.beam.divergence[1]), 0},
    {OPT_HDIVSTEP, REAL, AT(scene.beam.divergence_step[0]), 0},
    {OPT_VDIVSTEP, REAL, AT(scene.beam.divergence_step[1]), 0},
    {OPT_HDIVSTEPS, COUNT, AT(scene.beam.ndivergence[0]), 0},
    {OPT_VDIVSTEPS, COUNT, AT(scene.beam.ndivergence[1]), 0},
    {OPT_ROUND_DIV, FLAG, AT(scene.beam.square_divergence), 0},
    {OPT_SQUARE_DIV, FLAG, AT(scene.beam.square_divergence), 1},
    {OPT_SOURCEFILE, TEXT, AT(sources), 0},
    {OPT_IMG, TEXT, AT(img), 0},
    {OPT_MASK, TEXT, AT(mask), 0},
    {OPT_PIXEL, REAL, AT(pixel), 0},
    {OPT_DETPIXELS_F, COUNT, AT(npixel[0]), 0},
    {OPT_DETPIXELS_S, COUNT, AT(npixel[1]), 0},
    {OPT_DETSIZE_F, REAL, AT(size[0]), 0},
    {OPT_DETSIZE_S, REAL, AT(size[1]), 0},
    {OPT_ROTX, REAL, AT(scene.detector.rotation[0]), 0},
    {OPT_ROTY, REAL, AT(scene.detector.rotation[1]), 0},
    {OPT_ROTZ, REAL, AT(scene.detector.rotation[2]), 0},
    {OPT_DETECTOR_THICK, REAL, AT(thickness), 0},
    {OPT_THICKSTEPS, COUNT, AT(scene.detector.nlayers), 0},
    {OPT_CURVED_DET, FLAG, AT(scene.detector.curved), 1},
    {OPT_POINT_PIXEL, FLAG, AT(scene.detector.point_pixel), 1},
    {OPT_PSF_FWHM, REAL, AT(scene.psf.fwhm), 0},
    {OPT_PSF_RADIUS, COUNT, AT(scene.psf.radius), 0},
    {OPT_PHI, REAL, AT(scene.scan.phi0), 0},
    {OPT_OSC, REAL, AT(scene.scan.osc), 0},
    {OPT_PHISTEP, REAL, AT(scene.scan.step), 0},
    {OPT_PHISTEPS, COUNT, AT(scene.scan.nphi), 0},
    {OPT_IMAGES, COUNT, AT(images), 0},
    {OPT_OVERSAMPLE_THICK, FLAG, AT(scene.oversample_thick), 1},
    {OPT_OVERSAMPLE_POLAR, FLAG, AT(scene.oversample_polar), 1},
    {OPT_OVERSAMPLE_OMEGA, FLAG, AT(scene.oversample_omega), 1},
    {OPT_OVERSAMPLE, COUNT, AT(scene.oversample), 0},
    {OPT_WATER, REAL, AT(scene.background.water), 0},
    {OPT_DENSITY, REAL, AT(scene.background.density), 0},
    {OPT_MW, REAL, AT(scene.background.molecular_weight), 0},
    {OPT_FLOATFILE, TEXT, AT(out[OUT_FLOAT]), 0},
    {OPT_DOUBLEFILE, TEXT, AT(out[OUT_DOUBLE]), 0},
    {OPT_INTFILE, TEXT, AT(out[OUT_INT]), 0},
    {OPT_NOISEFILE, TEXT, AT(out[OUT_NOISE]), 0},
    {OPT_NOISEFILE, FLAG, AT(noise), 1},
    {OPT_NOISE, FLAG, AT(noise), 1},
    {OPT_NONOISE, FLAG, AT(noise), 0},
    {OPT_PGMFILE, TEXT, AT(out[OUT_PGM]), 0},
    {OPT_PGMFILE, FLAG, AT(pgm), 1},
    {OPT_PGMSCALE, REAL, AT(pgm_scale), 0},
    {OPT_PGMSCALE, FLAG, AT(pgm), 1},
    {OPT_NOPGM, FLAG, AT(pgm), 0},
    {OPT_PNGFILE, TEXT, AT(out[OUT_PNG]), 0},
    {OPT_GRADCHECK, TEXT, AT(gradcheck), 0},
    {OPT_BENCH_COMPILE, TEXT, AT(bench_compile), 0},
    {OPT_JSON, TEXT, AT(json), 0},
    {OPT_GRADIENT, TEXT, AT(gradient), 0},
    {OPT_COTANGENT, TEXT, AT(cotangent), 0},
    {OPT_GRADFILE, TEXT, AT(gradfile), 0},
    {OPT_HKLGRADFILE, TEXT, AT(hklgradfile), 0},
    {OPT_JACOBIAN, TEXT, AT(jacobian), 0},
    {OPT_JACOBIANFILE, TEXT, AT(jacobianfile), 0},
    {OPT_ADC, REAL, AT(adc), 0},
    {OPT_SCALE, REAL, AT(scale), 0},
    {OPT_SEED, SEED, AT(seed), 0},
    {OPT_EXPLAIN, FLAG, AT(explain), 1},
    {OPT_PRINTOUT, FLAG, AT(printout), 1},
    {OPT_PRINTOUT_PIXEL, FLAG, AT(printout), 1},
    {OPT_PROGRESS, FLAG, AT(progress), 1},
    {OPT_NOPROGRESS, FLAG, AT(progress), 0},
    {OPT_QUIET, FLAG, AT(quiet), 1},
    {OPT_THREADS, COUNT, AT(threads), 0},
    {OPT_TOLERANCE, REAL, AT(how.tolerance), 0},
};
// clang-format on

/* Apply an option that sets single members; it may have several targets. */
static void apply_target(struct settings *s, const struct event *e)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (targets[i].option != e->option) continue;
        void *const at = (char *)s + targets[i].offset;
        switch (targets[i].kind) {
        case REAL:
            *(double *)at = e->real[0];
            break;
        case COUNT:
            *(int *)at = (int)e->integer[0];
            break;
        case CELLS:
            *(double *)at = (double)e->integer[0];
            break;
        case SEED:
            *(int64_t *)at = e->integer[0];
            break;
        case TEXT:
            *(const char **)at = e->text;
            break;
        case FLAG:
            *(int *)at = targets[i].flag;
            break;
        }
    }
}

static void set_stol(struct settings *s, const struct event *e, double factor)
{
    s->stol = e->text;
    s->stol_factor = factor;
}

/* Apply an option that sets several members, or one in other units. */
static void apply_compound(struct settings *s, const struct event *e)
{
    nb_scene *scene = &s->scene;
    const double real = e->real[0];
    const int count = (int)e->integer[0];
    switch (e->option) {
    case OPT_CELL:
        memset(scene->crystal.cell, 0, sizeof scene->crystal.cell);
        for (int i = 0; i < e->n; i++) scene->crystal.cell[i] = e->real[i];
        break;
    case OPT_MISSET:
        s->random_misset = e->n == 1;
        for (int i = 0; i < 3; i++) scene->crystal.misset[i] = e->n == 3 ? e->real[i] : 0;
        break;
    case OPT_N:
        for (int i = 0; i < 3; i++) s->ncells[i] = count;
        break;
    case OPT_XTAL_SIZE:
        for (int i = 0; i < 3; i++) scene->crystal.size[i] = real;
        break;
    case OPT_ENERGY:
        scene->beam.wavelength = 12398.42 / real;
        break;
    case OPT_POLAR:
        scene->beam.polarization = real;
        scene->beam.unpolarised = 0;
        break;
    case OPT_DISPERSION:
        scene->beam.dispersion = real / 100;
        break;
    case OPT_DIVERGENCE:
        scene->beam.divergence[0] = scene->beam.divergence[1] = real;
        break;
    case OPT_DIVSTEPS:
        scene->beam.ndivergence[0] = scene->beam.ndivergence[1] = count;
        break;
    case OPT_STOL:
        set_stol(s, e, 1);
        break;
    case OPT_STOL4:
        set_stol(s, e, 0.25);
        break;
    case OPT_STOLQ:
        set_stol(s, e, 1 / (4 * 3.14159265358979323846));
        break;
    default:
        break;
    }
}

static void apply_loop(nb_options *how, const struct event *e)
{
    switch (e->option) {
    case OPT_PRECISION:
        how->precision = strcmp(e->text, "float") == 0 ? NB_SINGLE : NB_DOUBLE;
        break;
    case OPT_STRATEGY:
        how->strategy = strcmp(e->text, "auto") == 0    ? NB_STRATEGY_AUTO
                        : strcmp(e->text, "spots") == 0 ? NB_SPOTS
                        : strcmp(e->text, "lanes") == 0 ? NB_LANES
                                                        : NB_REFERENCE;
        break;
    default:
        break;
    }
}

static void apply_detector(struct settings *s, const struct event *e)
{
    const int count = (int)e->integer[0];
    switch (e->option) {
    case OPT_DETPIXELS:
        s->npixel[0] = s->npixel[1] = count;
        break;
    case OPT_DETSIZE:
        s->size[0] = s->size[1] = e->real[0];
        break;
    case OPT_DETECTOR_ABS:
        s->depth = e->real[0] == 0 ? INFINITY : e->real[0];
        break;
    case OPT_PSF:
        s->scene.psf.kind = strcmp(e->text, "fiber") == 0 ? NB_PSF_FIBER : NB_PSF_GAUSS;
        break;
    case OPT_ROI:
        for (int i = 0; i < 4; i++) s->roi[i] = (int)e->integer[i];
        break;
    case OPT_PRINTOUT_PIXEL:
        for (int i = 0; i < 2; i++) s->printout_pixel[i] = (int)e->integer[i];
        break;
    default:
        break;
    }
}

static void set_pair(struct pair *pair, int i, double value)
{
    pair->value[i] = value;
    pair->given[i] = 1;
}

/* Apply an option that places the detector; each of these changes nanoBragg's pivot too. */
static void apply_place(struct settings *s, const struct event *e)
{
    const double real = e->real[0];
    int pivot = NB_PIVOT_SAMPLE;
    switch (e->option) {
    case OPT_XBEAM:
        set_pair(&s->beam, 0, real);
        break;
    case OPT_YBEAM:
        set_pair(&s->beam, 1, real);
        break;
    case OPT_XCLOSE:
        set_pair(&s->close, 0, real);
        break;
    case OPT_YCLOSE:
        set_pair(&s->close, 1, real);
        break;
    case OPT_ORGX:
        set_pair(&s->org, 0, real);
        break;
    case OPT_ORGY:
        set_pair(&s->org, 1, real);
        break;
    case OPT_DISTANCE:
        s->distance = real;
        break;
    case OPT_CLOSE_DISTANCE:
        s->close_distance = real;
        break;
    case OPT_TWOTHETA:
        s->scene.detector.twotheta = real;
        break;
    case OPT_PIVOT:
        if (strstr(e->text, "sample")) s->pivot = NB_PIVOT_SAMPLE;
        if (strstr(e->text, "beam")) s->pivot = NB_PIVOT_BEAM;
        pivot = s->pivot ? s->pivot : s->reference_pivot;
        break;
    default:
        return;
    }
    if (e->option == OPT_XBEAM || e->option == OPT_YBEAM || e->option == OPT_DISTANCE)
        pivot = NB_PIVOT_BEAM;
    s->reference_pivot = pivot;
}

static void set_vector(struct settings *s, int vector, const struct event *e)
{
    memcpy(s->vector[vector], e->real, sizeof s->vector[vector]);
    s->vector_given[vector] = 1;
    s->convention = NB_CUSTOM;
}

static void set_convention(struct settings *s, int convention, int pivot)
{
    s->named = s->convention = convention;
    s->reference_pivot = pivot;
}

static void apply_frame(struct settings *s, const struct event *e)
{
    switch (e->option) {
    case OPT_MOSFLM:
        set_convention(s, NB_MOSFLM, NB_PIVOT_BEAM);
        break;
    case OPT_ADXV:
        set_convention(s, NB_ADXV, NB_PIVOT_BEAM);
        break;
    case OPT_DENZO:
        set_convention(s, NB_DENZO, NB_PIVOT_BEAM);
        break;
    case OPT_XDS:
        set_convention(s, NB_XDS, NB_PIVOT_SAMPLE);
        break;
    case OPT_DIALS:
        set_convention(s, NB_DIALS, NB_PIVOT_BEAM);
        break;
    case OPT_FDET:
        set_vector(s, VECTOR_FAST, e);
        break;
    case OPT_SDET:
        set_vector(s, VECTOR_SLOW, e);
        break;
    case OPT_ODET:
        set_vector(s, VECTOR_NORMAL, e);
        break;
    case OPT_TWOTHETA_AXIS:
        set_vector(s, VECTOR_TWOTHETA, e);
        break;
    case OPT_BEAM_VECTOR:
        set_vector(s, VECTOR_BEAM, e);
        break;
    case OPT_POLAR_VECTOR:
        set_vector(s, VECTOR_POLAR, e);
        break;
    case OPT_SPINDLE:
        set_vector(s, VECTOR_SPINDLE, e);
        break;
    case OPT_PIX0:
        memcpy(s->pix0, e->real, sizeof s->pix0);
        s->convention = NB_CUSTOM;
        break;
    default:
        break;
    }
}

int settings_apply(struct settings *s, struct messages *messages,
                   const struct event_list *events)
{
    for (size_t i = 0; i < events->n; i++) {
        const struct event *e = &events->at[i];
        s->given[e->option]++;
        apply_target(s, e);
        apply_compound(s, e);
        apply_loop(&s->how, e);
        apply_detector(s, e);
        apply_place(s, e);
        apply_frame(s, e);
    }
    messages->quiet = s->quiet;
    /* stdout has only the numbers of -json; notes go to stderr */
    if (s->json && strcmp(s->json, "-") == 0) s->quiet = 1;
    if (s->gradfile && strcmp(s->gradfile, "-") == 0) s->quiet = 1;
    return s->compat ? 0 : settings_check(s, messages);
}
