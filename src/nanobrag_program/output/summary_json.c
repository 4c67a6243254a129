/*
 * summary_json.c - writes -json: all numbers of a run with its defaults filled in.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <nanobrag/description.h>

#include "nanobrag_program/fit/fit_run.h"
#include "nanobrag_program/output/json_writer.h"
#include "nanobrag_program/run.h"

/* Add the lattices, if there are any. */
static void add_lattices(cJSON *to, const nb_crystal *c, const double *cell)
{
    cJSON *list = c->nlattice > 0 ? json_array(to, "lattices") : NULL;
    for (int i = 0; i < c->nlattice; i++) {
        cJSON *one = json_entry(list);
        json_reals(one, "cell", c->lattice[i].cell[0] != 0 ? c->lattice[i].cell : cell, 6);
        /* a matrix of zeros: the lattice has the matrix of the crystal */
        json_reals(one, "matrix", c->lattice[i].matrix, 9);
        json_reals(one, "misset_degree", c->lattice[i].misset, 3);
        json_real(one, "angle_degree", lattices_angle(c, i));
        json_real(one, "scale", c->lattice[i].scale);
    }
}

static void add_crystal(cJSON *root, const struct run *run)
{
    static const char *const shapes[] = {"square", "round", "gauss", "tophat",
                                         "gauss_star"};
    const nb_description *d = &run->command.description;
    const nb_crystal *c = &run->command.resolved.crystal;
    cJSON *to = json_object(root, "crystal");
    json_reals(to, "cell", d->cell, 6);
    json_reals(to, "reciprocal_cell", d->cell_star, 6);
    json_real(to, "volume", d->volume);
    json_reals(to, "real_axes", d->real_axes[0], 9);
    json_reals(to, "reciprocal_axes", d->star_axes[0], 9);
    json_reals(to, "misset_degree", d->misset, 3);
    add_lattices(to, c, d->cell);
    json_reals(to, "ncells", d->ncells, 3);
    json_text(to, "shape", shapes[c->shape]);
    json_real(to, "fudge", c->fudge);
    json_flag(to, "normalise", c->normalise);
    json_real(to, "spot_sum", d->spot_sum); /* null: spots of this shape have no end */
    json_real(to, "mosaic_degree", c->mosaic[0]);
    json_text(to, "mosaic_model", d->mosaic_model == NB_MOSAIC_GAUSS ? "gauss" : "domains");
    json_whole(to, "mosaic_domains", d->ndomains);
    cJSON *f = json_object(root, "structure_factors");
    json_text(f, "file", factors_source(&run->command));
    if (run->command.inputs.crystal.noperator > 0)
        json_text(f, "space_group", run->command.inputs.crystal.space_group);
    json_whole(f, "count", (long long)run->command.inputs.hkl_info.count);
    json_real(f, "default_f", c->default_f);
    json_text(f, "interpolate",
              d->interpolate == NB_LOOKUP_TRICUBIC ? "tricubic" : "nearest");
    json_real(f, "dmin", run->command.resolved.dmin);
}

static void add_centres(cJSON *to, const nb_description *d)
{
    json_reals(to, "adxv_center_mm", d->adxv, 2);
    json_reals(to, "mosflm_center_mm", d->mosflm, 2);
    json_reals(to, "denzo_beam_mm", d->denzo, 2);
    json_reals(to, "dials_origin_mm", d->dials_origin, 3);
    json_reals(to, "xds_org_pixel", d->xds_org, 2);
    json_pair(to, "beam_center_mm", d->xbeam, d->ybeam);
    json_pair(to, "direct_beam_mm", d->beam_fast, d->beam_slow);
    json_pair(to, "nearest_point_mm", d->close_fast, d->close_slow);
}

/* Add the panels in the laboratory frame. Other numbers of the detector are then of the
 * panel that the direct beam meets or passes nearest. */
static void add_panels(cJSON *to, const struct run *run)
{
    const int n = run->command.description.npanel;
    cJSON *list = n > 0 ? json_array(to, "panels") : NULL;
    for (int i = 0; i < n; i++) {
        nb_panel panel;
        if (nb_simulator_panel(run->command.sim, run->command.params.x, i, &panel) != NB_OK)
            return;
        cJSON *entry = json_entry(list);
        json_text(entry, "name", panel.name);
        json_whole(entry, "fast_pixels", panel.nfast);
        json_whole(entry, "slow_pixels", panel.nslow);
        json_whole(entry, "first_fast", panel.fast0);
        json_whole(entry, "first_slow", panel.slow0);
        json_real(entry, "pixel_mm", panel.pixel);
        json_reals(entry, "origin_mm", panel.origin, 3);
        json_reals(entry, "fast_axis", panel.fast, 3);
        json_reals(entry, "slow_axis", panel.slow, 3);
    }
}

static void add_detector(cJSON *root, const struct run *run)
{
    static const char *const conventions[] = {"mosflm", "denzo", "adxv",
                                              "xds",    "dials", "custom"};
    const nb_description *d = &run->command.description;
    const nb_detector *detector = &run->command.resolved.detector;
    cJSON *to = json_object(root, "detector");
    json_whole(to, "fast_pixels", d->nfast);
    json_whole(to, "slow_pixels", d->nslow);
    json_real(to, "pixel_mm", d->pixel);
    json_reals(to, "size_mm", d->size, 2);
    json_text(to, "convention", conventions[d->convention]);
    json_text(to, "pivot", d->pivot == NB_PIVOT_SAMPLE ? "sample" : "beam");
    json_real(to, "distance_mm", d->distance);
    json_real(to, "close_distance_mm", d->close_distance);
    json_reals(to, "fast_axis", d->fast, 3);
    json_reals(to, "slow_axis", d->slow, 3);
    json_reals(to, "normal", d->normal, 3);
    json_reals(to, "origin_mm", d->origin, 3);
    json_reals(to, "rotation_degree", detector->rotation, 3);
    json_real(to, "twotheta_degree", detector->twotheta);
    json_reals(to, "twotheta_axis", d->twotheta_axis, 3);
    add_centres(to, d);
    json_real(to, "thickness_um", d->thickness);
    json_real(to, "absorption_per_m", d->mu < 0 ? NAN : d->mu); /* null: no sensor model */
    json_whole(to, "layers", d->nlayers);
    json_real(to, "layer_step_um", d->layer_step);
    json_real(to, "layer_depth_um", d->layer_depth);
    json_flag(to, "curved", detector->curved);
    json_flag(to, "point_pixel", detector->point_pixel);
    const double roi[4] = {detector->roi[0], detector->roi[1], detector->roi[2],
                           detector->roi[3]};
    json_reals(to, "roi_ends_excluded", roi, 4);
    json_whole(to, "boxes", (long long)detector->nbox); /* 0: no boxes */
    json_text(to, "mask", run->command.s->mask);
    json_text(to, "geometry_file", run->command.s->geom);
    add_panels(to, run);
}

static void add_beam(cJSON *root, const struct run *run)
{
    const nb_description *d = &run->command.description;
    const nb_beam *beam = &run->command.resolved.beam;
    cJSON *to = json_object(root, "beam");
    json_real(to, "wavelength_angstrom", beam->wavelength);
    json_reals(to, "direction", d->beam, 3);
    json_reals(to, "polarization_axis", d->polarization_axis, 3);
    json_real(to, "polarization", beam->polarization);
    json_flag(to, "unpolarised", beam->unpolarised);
    json_real(to, "fluence_per_m2", d->fluence);
    json_real(to, "dispersion", d->dispersion);
    json_real(to, "dispersion_step", d->dispersion_step);
    json_whole(to, "wavelengths", d->ndispersion);
    json_reals(to, "divergence_radian", d->divergence, 2);
    json_reals(to, "divergence_step_radian", d->divergence_step, 2);
    json_whole(to, "directions", d->ngrid);
    json_whole(to, "sources", d->nsource);
    json_text(to, "source_file", run->command.s->sources);
    json_text(to, "spectrum_file", run->command.s->spectrum);
}

static void add_loop(cJSON *to, const struct run *run)
{
    const nb_description *d = &run->command.description;
    json_text(to, "strategy", strategy_word(d));
    json_text(to, "strategy_why", d->strategy_why);
    json_text(to, "precision", precision_word(d));
    json_text(to, "precision_asked",
              run->command.s->how.precision == NB_PRECISION_SINGLE ? "float" : "double");
    json_text(to, "device", d->device);
    json_text(to, "device_why", d->device_why);
    json_text(to, "derivatives", d->derivatives);
    json_text(to, "derivatives_why", d->derivatives_why);
    json_text(to, "kernel", d->kernel);
    json_real(to, "tolerance", d->tolerance);
    json_real(to, "rounding", d->rounding);
    json_whole(to, "tiles", d->tiles);
    json_whole(to, "tiles_divided", d->tiles_small);
    json_whole(to, "tiles_in_double", d->tiles_double);
    json_whole(to, "threads", nb_context_threads(run->command.ctx));
}

static void add_sampling(cJSON *root, const struct run *run)
{
    const nb_description *d = &run->command.description;
    const nb_scene *scene = &run->command.resolved;
    cJSON *scan = json_object(root, "scan");
    json_real(scan, "phi0_degree", run->results ? run->results[0].phi : scene->scan.phi0);
    json_real(scan, "osc_degree", scene->scan.osc);
    json_real(scan, "step_degree", d->phi_step);
    json_whole(scan, "steps", d->nphi);
    json_reals(scan, "spindle_axis", d->spindle, 3);
    cJSON *to = json_object(root, "sampling");
    json_whole(to, "oversample", d->oversample);
    json_whole(to, "oversample_wanted", d->oversample_wanted);
    json_flag(to, "oversample_thick", scene->oversample_thick);
    json_flag(to, "oversample_polar", scene->oversample_polar);
    json_flag(to, "oversample_omega", scene->oversample_omega);
    json_real(to, "sample_max_angstrom", d->sample_max);
    json_real(to, "pixel_reciprocal_angstrom", d->pixel_reciprocal);
    json_real(to, "qmax_per_angstrom", d->qmax);
    json_whole(to, "pixels", (long long)d->pixels);
    json_real(to, "evaluations", d->evaluations);
    add_loop(to, run);
    cJSON *background = json_object(root, "background");
    json_real(background, "water_um", scene->background.water);
    json_real(background, "density_g_per_cm3", scene->background.density);
    json_real(background, "molecular_weight", scene->background.molecular_weight);
    json_text(background, "stol_file", run->command.s->stol);
    cJSON *psf = json_object(root, "point_spread");
    static const char *const kinds[] = {"none", "gauss", "fiber"};
    json_text(psf, "kind", kinds[scene->psf.kind]);
    json_real(psf, "fwhm_mm", scene->psf.fwhm);
    json_whole(psf, "radius_pixel", scene->psf.radius);
}

/* Add the parameters that -param set. Other numbers of the document follow from them. */
static void add_parameters(cJSON *root, const struct run *run)
{
    cJSON *array = json_array(root, "parameters");
    for (size_t i = 0; i < run->command.params.n; i++) {
        if (!run->command.params.set[i]) continue;
        cJSON *to = json_entry(array);
        json_text(to, "name", run->command.params.at[i].name);
        json_text(to, "unit", run->command.params.at[i].unit);
        json_real(to, "value", run->command.params.x[i]);
    }
}

static void add_seeds(cJSON *root, const struct run *run)
{
    const struct settings *s = run->command.s;
    cJSON *to = json_object(root, "seeds");
    json_whole(to, "noise", (long long)s->seed);
    json_flag(to, "noise_from_clock", s->seed_from_clock);
    json_whole(to, "misset", (long long)s->misset_seed);
    json_flag(to, "misset_from_clock", s->misset_seed_from_clock);
    json_whole(to, "mosaic", (long long)run->command.resolved.crystal.mosaic_seed);
}

static void add_statistics(cJSON *image, const struct run *run, const nb_statistics *t)
{
    cJSON *to = json_object(image, "statistics");
    json_whole(to, "pixels", (long long)t->count);
    json_real(to, "max", t->max);
    json_pair(to, "max_at_mm", t->max_fast, t->max_slow);
    if (run->command.resolved.detector.npanel > 0)
        json_whole(to, "max_panel", t->max_panel);
    json_real(to, "sum", t->sum);
    json_real(to, "mean", t->mean);
    json_real(to, "rms", t->rms);
    json_real(to, "rmsd", t->rmsd);
    json_real(to, "solid_angle_steradian", t->solid_angle);
}

static void add_image(cJSON *images, const struct run *run, int i)
{
    const struct result *result = &run->results[i];
    if (result->kept) return;
    cJSON *to = json_entry(images);
    if (run->command.shots)
        json_whole(to, "shot", (long long)run->command.s->first + i + 1);
    json_real(to, "phi0_degree", result->phi);
    add_statistics(to, run, &result->statistics);
    if (result->file[OUT_INT]) {
        json_real(to, "intfile_scale", result->int_scale);
        json_whole(to, "saturated", (long long)result->saturated);
    }
    if (result->file[OUT_PGM]) json_real(to, "pgm_scale", result->pgm_scale);
    if (settings_draw(run->command.s)) json_real(to, "noise_photons", result->photons);
    if (result->file[OUT_NOISE]) json_whole(to, "overloads", (long long)result->overloads);
    if (result->file[OUT_IMAGE])
        json_whole(to, "imagefile_overloads", (long long)result->image_overloads);
    json_real(to, "seconds", result->seconds);
    json_texts(to, "files", result->file, OUT_COUNT);
}

static void add_compiled(cJSON *root, const struct run *run)
{
    nb_compile_stats stats;
    nb_simulator_stats(run->command.sim, &stats);
    cJSON *to = json_object(root, "compiled");
    json_text(to, "mode", compiling_word(run->command.s->compile));
    json_text(to, "off_by", compiling_off_by());
    json_stats(to, &stats);
    json_lines(to, "explain", nb_simulator_explain(run->command.sim));
}

static cJSON *make_document(const struct run *run)
{
    const struct settings *s = run->command.s;
    cJSON *root = cJSON_CreateObject();
    json_text(root, "program", "nanobrag");
    json_text(root, "version", nb_version());
    json_text(root, "features", nb_features());
    json_text(root, "profile", s->compat ? "nanoBragg" : "nanobrag");
    json_texts(root, "command", run->command.argv, (size_t)run->command.argc);
    add_parameters(root, run);
    add_crystal(root, run);
    add_detector(root, run);
    add_beam(root, run);
    add_sampling(root, run);
    add_compiled(root, run);
    add_seeds(root, run);
    json_real(root, "adc_offset", s->adc);
    if (run->fit) fit_json(root, run->fit);
    cJSON *images = json_array(root, "images");
    double seconds = run->seconds_setup;
    for (int i = 0; i < run->done; i++) {
        add_image(images, run, i);
        seconds += run->results[i].seconds;
    }
    cJSON *timings = json_object(root, "timings");
    json_real(timings, "setup_seconds", run->seconds_setup);
    json_real(timings, "total_seconds", seconds);
    json_texts(root, "warnings", run->command.messages->warnings,
               run->command.messages->nwarnings);
    json_texts(root, "notes", run->command.messages->notes, run->command.messages->nnotes);
    cJSON *differences = json_array(root, "differences");
    for (int i = 0; i < run->ndifference; i++) {
        cJSON *to = json_entry(differences);
        json_text(to, "here", run->difference[i].ours);
        json_text(to, "nanobragg", run->difference[i].theirs);
    }
    return root;
}

int json_finish(struct run *run, cJSON *root, const char *path)
{
    char *text = root ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    if (!text) return message_failure(run->command.messages, "out of memory for %s", path);
    if (names_stdout(path)) {
        const int failed = puts(text) < 0 || fflush(stdout) != 0;
        cJSON_free(text);
        return failed ? message_failure(run->command.messages,
                                        "-json -: stdout cannot be written")
                      : 0;
    }
    const nb_status status = nb_file_write(run->command.ctx, path, text, strlen(text));
    cJSON_free(text);
    if (status != NB_OK)
        return message_status(run->command.messages, status,
                              nb_context_message(run->command.ctx), 1);
    if (run->command.s->full_report) printf("writing %s\n", path);
    return 0;
}

int json_write(struct run *run, const char *path)
{
    return json_finish(run, make_document(run), path);
}
