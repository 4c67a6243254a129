/*
 * settings.c - applies options to the settings, in the order given.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_command/options/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

void settings_start(struct settings *s, int compat)
{
    *s = (struct settings){.compat = compat};
    nb_scene_set_profile(&s->scene, compat ? NB_PROFILE_NANOBRAGG : NB_PROFILE_NANOBRAG);
    s->named = s->frame = -1;
    s->convention = NB_CONVENTION_MOSFLM;
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
    s->fit.loss = NB_LOSS_POISSON;
    s->progress = 1;
    s->compile = NB_COMPILE_ON;
    s->printout_pixel[0] = s->printout_pixel[1] = -1;
    s->noise = s->pgm = compat;
    if (compat) {
        s->dump = "Fdump.bin";
        s->out[OUT_FLOAT] = "floatimage.bin";
        s->out[OUT_INT] = "intimage.img";
    }
}

int settings_draw(const struct settings *s)
{
    return s->noise || (s->out[OUT_IMAGE] && !s->plain);
}

/* ---- functions that the column `sets` of options.def calls ---- */

static void set_all(int n, double *to, double value)
{
    for (int i = 0; i < n; i++) to[i] = value;
}

static void set_counts(int n, int *to, const struct event *e)
{
    for (int i = 0; i < n; i++) to[i] = (int)e->integer[i];
}

static void set_cell(struct settings *s, const struct event *e)
{
    double *const cell = s->scene.crystal.cell;
    memset(cell, 0, sizeof s->scene.crystal.cell);
    for (int i = 0; i < e->n; i++) cell[i] = e->real[i];
}

static void set_misset(struct settings *s, const struct event *e)
{
    s->random_misset = e->n == 1;
    for (int i = 0; i < 3; i++) s->scene.crystal.misset[i] = e->n == 3 ? e->real[i] : 0;
}

static void add_lattice(struct settings *s, const struct event *e)
{
    nb_lattice l = {.scale = e->n > 3 ? e->real[3] : 1};
    for (int i = 0; i < 3; i++) l.misset[i] = e->real[i];
    if (s->nlattice < LATTICES_OF_OPTIONS) s->lattice[s->nlattice] = l;
    s->nlattice++;
}

/* Set the mosaic spread from -mosaic (n = 1) or from the six numbers of -mosaic_tensor. */
static void set_mosaic(struct settings *s, int n, const double *value)
{
    nb_crystal *const crystal = &s->scene.crystal;
    for (int i = 0; i < 3; i++) {
        crystal->mosaic[i] = i < n ? value[i] : 0;
        crystal->mosaic_off[i] = n > 3 ? value[3 + i] : 0;
    }
    s->scene.given &= ~(uint64_t)NB_GIVEN_MOSAIC_AXES;
    if (n > 1) s->scene.given |= NB_GIVEN_MOSAIC_AXES;
}

static void set_anomalous(struct settings *s, const struct event *e)
{
    nb_anomalous *to = &s->anomalous[s->nanomalous];
    if (e->n == 1) {
        s->anomalous_off = strcmp(e->text, "off") == 0;
        return;
    }
    for (int i = 0; i < s->nanomalous; i++)
        if (strcasecmp(e->text, s->anomalous[i].element) == 0) s->anomalous_twice = e->text;
    if (strlen(e->text) < sizeof to->element && s->nanomalous < ANOMALOUS_MOST) {
        *to = (nb_anomalous){.f_prime = e->real[1], .f_double_prime = e->real[2]};
        memcpy(to->element, e->text, strlen(e->text));
        s->nanomalous++;
    } else if (!s->wrong_anomalous) {
        s->wrong_anomalous = e->text;
    }
}

static void add_image(struct settings *s, const struct event *e)
{
    if (s->nadded < ADDED_MOST) s->added[s->nadded] = (struct added){e->text, e->real[1]};
    s->nadded++;
}

static void set_stol(struct settings *s, const char *file, double factor)
{
    s->stol = file;
    s->stol_factor = factor;
}

static void set_pair(struct pair *pair, int i, double value)
{
    pair->value[i] = value;
    pair->given[i] = 1;
}

static void set_pivot(struct settings *s, const char *word)
{
    if (strstr(word, "sample")) s->pivot = NB_PIVOT_SAMPLE;
    if (strstr(word, "beam")) s->pivot = NB_PIVOT_BEAM;
    if (s->pivot) s->reference_pivot = s->pivot;
}

static void set_vector(struct settings *s, int vector, const double *value)
{
    memcpy(s->vector[vector], value, sizeof s->vector[vector]);
    s->vector_given[vector] = 1;
    s->convention = NB_CONVENTION_CUSTOM;
}

static void set_convention(struct settings *s, int convention, int pivot)
{
    s->named = s->convention = convention;
    s->reference_pivot = pivot;
}

static void set_device(struct settings *s, const char *text)
{
    if (nb_device_named(text, &s->device, &s->device_id) != NB_OK && !s->wrong_device)
        s->wrong_device = text;
}

/* Read KIND or KIND:WHITE:BLACK. Returns 0 if the text is neither, if a logarithm has a
 * white of 0 or less, or if auto has a range; else 1. */
static int read_png_scale(struct settings *s, const char *text)
{
    char kind[8], white[32], black[32], rest;
    double *const range = s->png_range;
    const int n = sscanf(text, "%7[^:]:%31[^:]:%31[^:]%c", kind, white, black, &rest);
    range[0] = range[1] = 0;
    if (n < 1
        || (s->png_scale = option_choice("auto|linear|sqrt|log", kind, strlen(kind))) < 0)
        return 0;
    if (n == 1) return !text[strlen(kind)];
    return n == 3 && s->png_scale != TONE_AUTO && parse_real(white, &range[0])
           && parse_real(black, &range[1]) && range[0] < range[1]
           && (s->png_scale != TONE_LOG || range[0] > 0);
}

static void set_png_scale(struct settings *s, const char *text)
{
    if (!read_png_scale(s, text) && !s->wrong_scale) s->wrong_scale = text;
}

/* ---- the options of a command line ---- */

/* Evaluate the expression that the option has in the column `sets` of options.def. */
static void apply(struct settings *s, const struct event *e)
{
    const double real = e->real[0];
    const int64_t whole = e->integer[0];
    const int count = (int)whole;
    const char *const text = e->text;
    const int choice = event_choice(e);
#define NO_SETTING (void)0
#define OPTION(id, name, aliases, patterns, min, max, kind, range, values, unit, preset,   \
               group, flags, sets, help)                                                   \
    if (e->option == OPT_##id) (sets);
#include "nanobrag_command/options/options.def"
#undef OPTION
}

void settings_apply(struct settings *s, const struct event_list *events)
{
    for (size_t i = 0; i < events->n; i++) {
        s->given[events->at[i].option]++;
        apply(s, &events->at[i]);
    }
}

int fit_asked(const struct settings *s)
{
    return s->fit.shared || s->fit.own || s->fit.fisher || s->fit.fisher_scan
           || s->integrate;
}

int derivatives_asked(const struct settings *s)
{
    return s->gradient || s->hklgradfile || s->atomgradfile || s->jacobian;
}

void settings_beam_direction(const struct settings *s, double out[3])
{
    const double *given = s->scene.beam.direction;
    const double length =
        sqrt(given[0] * given[0] + given[1] * given[1] + given[2] * given[2]);
    const int convention = s->scene.detector.convention;
    const int along_z = convention == NB_CONVENTION_ADXV || convention == NB_CONVENTION_XDS
                        || convention == NB_CONVENTION_DIALS;
    out[0] = along_z ? 0 : 1;
    out[1] = 0;
    out[2] = along_z ? 1 : 0;
    if (length > 0)
        for (int i = 0; i < 3; i++) out[i] = given[i] / length;
}

enum image_format image_format(const struct settings *s)
{
    static const struct {
        const char *ending;
        enum image_format format;
    } endings[] = {{".img", IMAGE_SMV},
                   {".cbf", IMAGE_CBF},
                   {".nxs", IMAGE_NXMX},
                   {".h5", IMAGE_NXMX}};
    const char *const name = s->out[OUT_IMAGE];
    const char *const dot = name ? strrchr(name, '.') : NULL;
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i].ending) == 0) return endings[i].format;
    return IMAGE_UNKNOWN;
}

int names_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

int uses_reflections(const struct settings *s)
{
    return s->refl
           && (!s->boxes || strcmp(s->boxes, "refl") == 0
               || strncmp(s->boxes, "refl:", 5) == 0);
}
