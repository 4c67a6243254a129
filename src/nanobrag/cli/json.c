/*
 * json.c - every resolved number of a run. Reals as %.17g, so that they read back exactly;
 * what is not finite is null.
 *
 * SPDX-License-Identifier: MIT
 */
#include "cli/run.h"

#ifdef NANOBRAG_CJSON

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

static void add_real(cJSON *to, const char *key, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    cJSON_AddRawToObject(to, key, isfinite(value) ? text : "null");
}

static void add_whole(cJSON *to, const char *key, long long value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", value);
    cJSON_AddRawToObject(to, key, text);
}

static void add_reals(cJSON *to, const char *key, const double *values, int n)
{
    enum { MOST = 9, EACH = 32 };
    char text[MOST * EACH + 3] = "[";
    size_t used = 1;
    for (int i = 0; i < n && i < MOST; i++)
        used +=
            (size_t)(isfinite(values[i])
                         ? snprintf(text + used, EACH, "%s%.17g", i ? "," : "", values[i])
                         : snprintf(text + used, EACH, "%snull", i ? "," : ""));
    text[used] = ']';
    text[used + 1] = 0;
    cJSON_AddRawToObject(to, key, text);
}

static void add_pair(cJSON *to, const char *key, double a, double b)
{
    const double values[2] = {a, b};
    add_reals(to, key, values, 2);
}

static void add_flag(cJSON *to, const char *key, int value)
{
    cJSON_AddBoolToObject(to, key, value != 0);
}

/* length of the UTF-8 sequence at p, 0 where there is none */
static size_t sequence(const unsigned char *p)
{
    const size_t n = p[0] < 0x80   ? 1
                     : p[0] < 0xc2 ? 0
                     : p[0] < 0xe0 ? 2
                     : p[0] < 0xf0 ? 3
                     : p[0] < 0xf5 ? 4
                                   : 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    return n;
}

/* a string of valid UTF-8; other bytes (a file name may hold any) become '?' */
static cJSON *make_text(const char *text)
{
    char *copy = strdup(text);
    if (!copy) return NULL;
    for (unsigned char *p = (unsigned char *)copy; *p;) {
        const size_t n = sequence(p);
        if (n == 0) *p = '?';
        p += n ? n : 1;
    }
    cJSON *item = cJSON_CreateString(copy);
    free(copy);
    return item;
}

static void add_text(cJSON *to, const char *key, const char *text)
{
    cJSON_AddItemToObject(to, key, text ? make_text(text) : cJSON_CreateNull());
}

static void add_texts(cJSON *to, const char *key, char *const *texts, size_t n)
{
    cJSON *array = cJSON_AddArrayToObject(to, key);
    for (size_t i = 0; i < n; i++)
        if (texts[i]) cJSON_AddItemToArray(array, make_text(texts[i]));
}

/* ---- sections ---- */

static void add_crystal(cJSON *root, const struct run *run)
{
    static const char *const shapes[] = {"square", "round", "gauss", "tophat",
                                         "gauss_star"};
    const nb_description *d = &run->description;
    const nb_crystal *c = &run->resolved.crystal;
    cJSON *to = cJSON_AddObjectToObject(root, "crystal");
    add_reals(to, "cell", d->cell, 6);
    add_reals(to, "reciprocal_cell", d->cell_star, 6);
    add_real(to, "volume", d->volume);
    add_reals(to, "real_axes", d->real_axes[0], 9);
    add_reals(to, "reciprocal_axes", d->star_axes[0], 9);
    add_reals(to, "misset_degree", d->misset, 3);
    add_reals(to, "ncells", d->ncells, 3);
    cJSON_AddStringToObject(to, "shape", shapes[c->shape]);
    add_real(to, "fudge", c->fudge);
    add_real(to, "mosaic_degree", c->mosaic[0]);
    add_whole(to, "mosaic_domains", d->ndomains);
    cJSON *f = cJSON_AddObjectToObject(root, "structure_factors");
    add_text(f, "file",
             run->s->hkl             ? run->s->hkl
             : run->inputs.from_dump ? run->s->dump
                                     : NULL);
    add_whole(f, "count", (long long)run->inputs.hkl_info.count);
    add_real(f, "default_f", c->default_f);
    add_text(f, "interpolate", d->interpolate == NB_TRICUBIC ? "tricubic" : "nearest");
    add_real(f, "dmin", run->resolved.dmin);
}

static void add_centres(cJSON *to, const nb_description *d)
{
    add_reals(to, "adxv_center_mm", d->adxv, 2);
    add_reals(to, "mosflm_center_mm", d->mosflm, 2);
    add_reals(to, "denzo_beam_mm", d->denzo, 2);
    add_reals(to, "dials_origin_mm", d->dials_origin, 3);
    add_reals(to, "xds_org_pixel", d->xds_org, 2);
    add_pair(to, "beam_center_mm", d->xbeam, d->ybeam);
    add_pair(to, "direct_beam_mm", d->beam_fast, d->beam_slow);
    add_pair(to, "nearest_point_mm", d->close_fast, d->close_slow);
}

static void add_detector(cJSON *root, const struct run *run)
{
    static const char *const conventions[] = {"mosflm", "denzo", "adxv",
                                              "xds",    "dials", "custom"};
    const nb_description *d = &run->description;
    const nb_detector *detector = &run->resolved.detector;
    cJSON *to = cJSON_AddObjectToObject(root, "detector");
    add_whole(to, "fast_pixels", d->nfast);
    add_whole(to, "slow_pixels", d->nslow);
    add_real(to, "pixel_mm", d->pixel);
    add_reals(to, "size_mm", d->size, 2);
    cJSON_AddStringToObject(to, "convention", conventions[d->convention]);
    cJSON_AddStringToObject(to, "pivot", d->pivot == NB_PIVOT_SAMPLE ? "sample" : "beam");
    add_real(to, "distance_mm", d->distance);
    add_real(to, "close_distance_mm", d->close_distance);
    add_reals(to, "fast_axis", d->fast, 3);
    add_reals(to, "slow_axis", d->slow, 3);
    add_reals(to, "normal", d->normal, 3);
    add_reals(to, "origin_mm", d->origin, 3);
    add_reals(to, "rotation_degree", detector->rotation, 3);
    add_real(to, "twotheta_degree", detector->twotheta);
    add_reals(to, "twotheta_axis", d->twotheta_axis, 3);
    add_centres(to, d);
    add_real(to, "thickness_um", d->thickness);
    add_real(to, "absorption_per_m", d->mu);
    add_whole(to, "layers", d->nlayers);
    add_real(to, "layer_step_um", d->layer_step);
    add_flag(to, "curved", detector->curved);
    add_flag(to, "point_pixel", detector->point_pixel);
    const double roi[4] = {detector->roi[0], detector->roi[1], detector->roi[2],
                           detector->roi[3]};
    add_reals(to, "roi_ends_excluded", roi, 4);
    add_text(to, "mask", run->s->mask);
}

static void add_beam(cJSON *root, const struct run *run)
{
    const nb_description *d = &run->description;
    const nb_beam *beam = &run->resolved.beam;
    cJSON *to = cJSON_AddObjectToObject(root, "beam");
    add_real(to, "wavelength_angstrom", beam->wavelength);
    add_reals(to, "direction", d->beam, 3);
    add_reals(to, "polarization_axis", d->polarization_axis, 3);
    add_real(to, "polarization", beam->polarization);
    add_flag(to, "unpolarised", beam->unpolarised);
    add_real(to, "fluence_per_m2", d->fluence);
    add_real(to, "dispersion", d->dispersion);
    add_real(to, "dispersion_step", d->dispersion_step);
    add_whole(to, "wavelengths", d->ndispersion);
    add_reals(to, "divergence_radian", d->divergence, 2);
    add_reals(to, "divergence_step_radian", d->divergence_step, 2);
    add_whole(to, "directions", d->ngrid);
    add_whole(to, "sources", d->nsource);
    add_text(to, "source_file", run->s->sources);
}

static void add_loop(cJSON *to, const struct run *run)
{
    const nb_description *d = &run->description;
    add_text(to, "strategy", strategy_word(d));
    add_text(to, "strategy_why", d->strategy_why);
    add_text(to, "precision", precision_word(d));
    add_text(to, "precision_asked",
             run->s->how.precision == NB_SINGLE ? "float" : "double");
    add_text(to, "kernel", d->kernel);
    add_real(to, "tolerance", d->tolerance);
    add_real(to, "rounding", d->rounding);
    add_whole(to, "tiles", d->tiles);
    add_whole(to, "tiles_divided", d->tiles_small);
    add_whole(to, "tiles_in_double", d->tiles_double);
    add_whole(to, "threads", nb_context_threads(run->ctx));
}

static void add_sampling(cJSON *root, const struct run *run)
{
    const nb_description *d = &run->description;
    const nb_scene *scene = &run->resolved;
    cJSON *scan = cJSON_AddObjectToObject(root, "scan");
    add_real(scan, "phi0_degree", run->results ? run->results[0].phi : scene->scan.phi0);
    add_real(scan, "osc_degree", scene->scan.osc);
    add_real(scan, "step_degree", d->phi_step);
    add_whole(scan, "steps", d->nphi);
    add_reals(scan, "spindle_axis", d->spindle, 3);
    cJSON *to = cJSON_AddObjectToObject(root, "sampling");
    add_whole(to, "oversample", d->oversample);
    add_whole(to, "oversample_wanted", d->oversample_wanted);
    add_flag(to, "oversample_thick", scene->oversample_thick);
    add_flag(to, "oversample_polar", scene->oversample_polar);
    add_flag(to, "oversample_omega", scene->oversample_omega);
    add_real(to, "sample_max_angstrom", d->sample_max);
    add_real(to, "pixel_reciprocal_angstrom", d->pixel_reciprocal);
    add_real(to, "qmax_per_angstrom", d->qmax);
    add_whole(to, "pixels", (long long)d->pixels);
    add_real(to, "evaluations", d->evaluations);
    add_loop(to, run);
    cJSON *background = cJSON_AddObjectToObject(root, "background");
    add_real(background, "water_um", scene->background.water);
    add_real(background, "density_g_per_cm3", scene->background.density);
    add_real(background, "molecular_weight", scene->background.molecular_weight);
    add_text(background, "stol_file", run->s->stol);
    cJSON *psf = cJSON_AddObjectToObject(root, "point_spread");
    static const char *const kinds[] = {"none", "gauss", "fiber"};
    cJSON_AddStringToObject(psf, "kind", kinds[scene->psf.kind]);
    add_real(psf, "fwhm_mm", scene->psf.fwhm);
    add_whole(psf, "radius_pixel", scene->psf.radius);
}

/* what -param set; the rest of the numbers follows from it */
static void add_parameters(cJSON *root, const struct run *run)
{
    cJSON *array = cJSON_AddArrayToObject(root, "parameters");
    for (size_t i = 0; i < run->params.n; i++) {
        if (!run->params.set[i]) continue;
        cJSON *to = cJSON_CreateObject();
        cJSON_AddItemToArray(array, to);
        cJSON_AddStringToObject(to, "name", run->params.at[i].name);
        cJSON_AddStringToObject(to, "unit", run->params.at[i].unit);
        add_real(to, "value", run->params.x[i]);
    }
}

static void add_seeds(cJSON *root, const struct run *run)
{
    const struct settings *s = run->s;
    cJSON *to = cJSON_AddObjectToObject(root, "seeds");
    add_whole(to, "noise", (long long)s->seed);
    add_flag(to, "noise_from_clock", s->seed_from_clock);
    add_whole(to, "misset", (long long)s->misset_seed);
    add_flag(to, "misset_from_clock", s->misset_seed_from_clock);
    add_whole(to, "mosaic", (long long)run->resolved.crystal.mosaic_seed);
}

static void add_statistics(cJSON *image, const nb_statistics *t)
{
    cJSON *to = cJSON_AddObjectToObject(image, "statistics");
    add_whole(to, "pixels", (long long)t->count);
    add_real(to, "max", t->max);
    add_pair(to, "max_at_mm", t->max_fast, t->max_slow);
    add_real(to, "sum", t->sum);
    add_real(to, "mean", t->mean);
    add_real(to, "rms", t->rms);
    add_real(to, "rmsd", t->rmsd);
    add_real(to, "solid_angle_steradian", t->solid_angle);
}

static void add_image(cJSON *images, const struct run *run, int i)
{
    const struct result *result = &run->results[i];
    cJSON *to = cJSON_CreateObject();
    cJSON_AddItemToArray(images, to);
    add_real(to, "phi0_degree", result->phi);
    add_statistics(to, &result->statistics);
    if (result->file[OUT_INT]) {
        add_real(to, "intfile_scale", result->int_scale);
        add_whole(to, "saturated", (long long)result->saturated);
    }
    if (result->file[OUT_PGM]) add_real(to, "pgm_scale", result->pgm_scale);
    if (result->file[OUT_NOISE]) {
        add_real(to, "noise_photons", result->photons);
        add_whole(to, "overloads", (long long)result->overloads);
    }
    add_real(to, "seconds", result->seconds);
    add_texts(to, "files", result->file, OUT_COUNT);
}

static cJSON *make_document(const struct run *run)
{
    const struct settings *s = run->s;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "program", "nanobrag");
    cJSON_AddStringToObject(root, "version", nb_version());
    cJSON_AddStringToObject(root, "features", nb_features());
    cJSON_AddStringToObject(root, "profile", s->compat ? "nanoBragg" : "nanobrag");
    add_texts(root, "command", run->argv, (size_t)run->argc);
    add_parameters(root, run);
    add_crystal(root, run);
    add_detector(root, run);
    add_beam(root, run);
    add_sampling(root, run);
    add_seeds(root, run);
    add_real(root, "adc_offset", s->adc);
    cJSON *images = cJSON_AddArrayToObject(root, "images");
    double seconds = run->seconds_setup;
    for (int i = 0; i < run->done; i++) {
        add_image(images, run, i);
        seconds += run->results[i].seconds;
    }
    cJSON *timings = cJSON_AddObjectToObject(root, "timings");
    add_real(timings, "setup_seconds", run->seconds_setup);
    add_real(timings, "total_seconds", seconds);
    add_texts(root, "warnings", run->say->warnings, run->say->nwarnings);
    add_texts(root, "notes", run->say->notes, run->say->nnotes);
    return root;
}

int json_write(struct run *run, const char *path)
{
    cJSON *root = make_document(run);
    char *text = root ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    if (!text) return say_failure(run->say, "out of memory for %s", path);
    if (outputs_to_stdout(path)) {
        const int failed = puts(text) < 0 || fflush(stdout) != 0;
        cJSON_free(text);
        return failed ? say_failure(run->say, "-json -: stdout cannot be written") : 0;
    }
    const nb_status status = nb_file_write(run->ctx, path, text, strlen(text));
    cJSON_free(text);
    if (status != NB_OK)
        return say_status(run->say, status, nb_context_message(run->ctx), 1);
    if (!run->s->quiet) printf("writing %s\n", path);
    return 0;
}

#else

int json_write(struct run *run, const char *path)
{
    return say_usage(run->say, "-json %s: this build lacks cJSON", path);
}

#endif
