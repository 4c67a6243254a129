/*
 * expt_read.c - reads one experiment of DIALS. SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/experiment/expt_read.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "base/log.h"
#include "nanobrag_io/experiment/expt_crystals.h"
#include "nanobrag_io/experiment/expt_json.h"
#include "nanobrag_io/experiment/expt_panels.h"
#include "nanobrag_io/experiment/models.h"
#include "nanobrag_io/experiment/scan_points.h"
#include "scene/linear.h"

/* ---- beam and scan ---- */

/* Refuses probes other than X-rays, such as electrons. */
static nb_status check_probe(const struct expt *e, const cJSON *beam)
{
    const cJSON *probe = cJSON_GetObjectItemCaseSensitive(beam, "probe");

    if (!probe || cJSON_IsNull(probe)) return NB_OK;
    if (cJSON_IsString(probe)
        && (!strcmp(probe->valuestring, "x-ray") || !strcmp(probe->valuestring, "xray")))
        return NB_OK;
    return fail(e->ctx, NB_ERR_UNSUPPORTED,
                "%s: the probe of the beam is %.40s; only x-ray is supported", e->name,
                cJSON_IsString(probe) ? probe->valuestring : "not a word");
}

static nb_status read_beam(const struct expt *e, const cJSON *beam, struct models *m)
{
    double source[3], normal[3] = {0, 1, 0}, fraction = 0.999;

    NB_TRY(check_probe(e, beam));
    NB_TRY(expt_reals(e, beam, "beam", "direction", source, 3));
    NB_TRY(expt_reals(e, beam, "beam", "wavelength", &m->wavelength, 1));
    NB_TRY(expt_optional(e, beam, "beam", "polarization_normal", normal, 3));
    NB_TRY(expt_optional(e, beam, "beam", "polarization_fraction", &fraction, 1));
    if (!(m->wavelength > 0))
        return expt_wrong(e, "beam", "wavelength", "a wavelength above 0");
    if (!(fraction >= 0 && fraction <= 1))
        return expt_wrong(e, "beam", "polarization_fraction", "a number from 0 to 1");
    linear_scale(-1, source, m->beam);
    linear_cross(normal, m->beam, m->field);
    m->kahn = 2 * fraction - 1;
    m->found |= NB_FOUND_BEAM | NB_FOUND_POLARIZATION;
    return NB_OK;
}

/* Reads the width of a scan of one image, degree: a number, or a list of one number, which
 * newer versions of DIALS write. */
static nb_status read_width(const struct expt *e, const cJSON *properties, double *out)
{
    const cJSON *width = cJSON_GetObjectItemCaseSensitive(properties, "oscillation_width");

    if (cJSON_IsArray(width))
        return expt_numbers(e, width, "scan", "oscillation_width", out, 1, 1);
    return expt_optional(e, properties, "scan", "oscillation_width", out, 1);
}

/* Reads start and width of the first image, degree. The file states them as a pair in
 * "oscillation" or, since dxtbx 3.15, as the starts of all images in "properties". */
static nb_status read_oscillation(const struct expt *e, const cJSON *scan, double out[2])
{
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(scan, "properties");
    const cJSON *starts = cJSON_GetObjectItemCaseSensitive(properties, "oscillation");
    const int n = cJSON_IsArray(starts) ? cJSON_GetArraySize(starts) : 0;
    double pair[2];

    if (!cJSON_IsObject(properties))
        return expt_reals(e, scan, "scan", "oscillation", out, 2);
    out[0] = out[1] = 0;
    if (n == 0) return NB_OK;
    NB_TRY(expt_numbers(e, starts, "scan", "oscillation", pair, n < 2 ? 1 : 2, n));
    out[0] = pair[0];
    out[1] = n < 2 ? 0 : pair[1] - pair[0];
    return n < 2 ? read_width(e, properties, &out[1]) : NB_OK;
}

/* Warns if the images of a scan are not equally wide, because all get the width of the
 * first. */
static void check_starts(const struct expt *e, const cJSON *scan, double width)
{
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(scan, "properties");
    const cJSON *start, *before = NULL;

    cJSON_ArrayForEach(start, cJSON_GetObjectItemCaseSensitive(properties, "oscillation"))
    {
        const double step = before ? start->valuedouble - before->valuedouble : width;

        before = start;
        if (fabs(step - width) <= 0.01 * fabs(width) + 1e-6) continue;
        log_line(e->ctx, NB_LOG_WARNING, "expt",
                 "%s: the images in the scan of experiment %d have different widths, such "
                 "as %g and %g degrees; each is taken as %g degrees wide",
                 e->name, e->i, width, step, width);
        return;
    }
}

static nb_status read_scan(const struct expt *e, const cJSON *scan, int quiet,
                           struct models *m, int *images)
{
    double range[2], oscillation[2];

    NB_TRY(expt_reals(e, scan, "scan", "image_range", range, 2));
    if (!(fabs(range[0]) < 1e9 && range[1] >= range[0] && range[1] - range[0] < 1e9))
        return expt_wrong(e, "scan", "image_range", "the first and the last image");
    NB_TRY(read_oscillation(e, scan, oscillation));
    if (!quiet) check_starts(e, scan, oscillation[1]);
    m->phi0 = oscillation[0];
    m->osc = oscillation[1];
    *images = (int)(range[1] - range[0]) + 1;
    m->found |= NB_FOUND_SCAN;
    return NB_OK;
}

/* ---- goniometer ---- */

static nb_status read_axis(const struct expt *e, const cJSON *axes, int i, double out[3])
{
    NB_TRY(expt_numbers(e, cJSON_GetArrayItem(axes, i), "goniometer", "axes", out, 3, 3));
    if (!(linear_norm(out) > 0) || !isfinite(linear_norm(out)))
        return expt_wrong(e, "goniometer", "axes", "vectors with a direction");
    linear_unit(out, out);
    return NB_OK;
}

/* Reads a goniometer with several axes, which are listed from the crystal outwards. The
 * axes inside the scan axis give g->fixed, the axes outside it g->setting. */
static nb_status read_axes(const struct expt *e, const cJSON *from, struct goniometer *g)
{
    enum { MOST = 16 };
    const cJSON *axes = cJSON_GetObjectItemCaseSensitive(from, "axes");
    const cJSON *angles = cJSON_GetObjectItemCaseSensitive(from, "angles");
    const int n = cJSON_IsArray(axes) ? cJSON_GetArraySize(axes) : 0;
    double angle[MOST], scan_axis, axis[3];

    if (n < 1 || n > MOST)
        return expt_wrong(e, "goniometer", "axes", "1 to 16 vectors of three numbers");
    NB_TRY(expt_numbers(e, angles, "goniometer", "angles", angle, n, n));
    NB_TRY(expt_reals(e, from, "goniometer", "scan_axis", &scan_axis, 1));
    if (!(scan_axis >= 0 && scan_axis < n) || scan_axis != floor(scan_axis))
        return expt_wrong(e, "goniometer", "scan_axis", "the number of one of its axes");
    for (int i = 0; i < n; i++) {
        NB_TRY(read_axis(e, axes, i, axis));
        if (i < (int)scan_axis)
            linear_rotate_columns(axis, linear_radian(angle[i]), g->fixed);
        else if (i > (int)scan_axis)
            linear_rotate_columns(axis, linear_radian(angle[i]), g->setting);
        else
            linear_copy(axis, g->axis);
    }
    return NB_OK;
}

/* Reads a rotation matrix and checks that it is one. If the key is missing, the matrix
 * stays unchanged. */
static nb_status read_rotation(const struct expt *e, const cJSON *from, const char *key,
                               double a[3][3])
{
    double numbers[9], cross[3];
    int is_rotation = 1;

    memcpy(numbers, a, sizeof numbers);
    NB_TRY(expt_optional(e, from, "goniometer", key, numbers, 9));
    memcpy(a, numbers, sizeof numbers);
    for (int i = 0; i < 3; i++) {
        linear_cross(a[i], a[(i + 1) % 3], cross);
        for (int k = 0; k < 3; k++)
            is_rotation &= fabs(cross[k] - a[(i + 2) % 3][k]) < 1e-6;
    }
    return is_rotation ? NB_OK : expt_wrong(e, "goniometer", key, "a rotation matrix");
}

static nb_status read_goniometer(const struct expt *e, const cJSON *from,
                                 struct goniometer *g)
{
    if (cJSON_GetObjectItemCaseSensitive(from, "axes")) return read_axes(e, from, g);
    NB_TRY(expt_reals(e, from, "goniometer", "rotation_axis", g->axis, 3));
    NB_TRY(read_rotation(e, from, "fixed_rotation", g->fixed));
    return read_rotation(e, from, "setting_rotation", g->setting);
}

/* Applies the goniometer to the crystal and to the scan axis. With F the fixed rotation, S
 * the setting rotation and R the scan, S R(phi, axis) F A = R(phi, S axis) S F A. */
static void use_goniometer(const struct goniometer *g, struct models *m)
{
    linear_apply(g->setting, g->axis, m->axis);
    goniometer_turn(g, m->real_axes);
    m->found |= NB_FOUND_AXIS;
}

/* ---- the experiment ---- */

/* Removes the scan of an experiment without a goniometer, which DIALS takes for a still. */
static void drop_scan(const struct expt *e, int quiet, struct models *m, int *images)
{
    if (!(m->found & NB_FOUND_SCAN)) return;
    if (!quiet && (m->phi0 != 0 || m->osc != 0))
        log_line(e->ctx, NB_LOG_WARNING, "expt",
                 "%s: experiment %d has a scan without a goniometer: the run takes a still "
                 "and ignores the oscillation",
                 e->name, e->i);
    m->found &= ~(unsigned)NB_FOUND_SCAN;
    *images = 0;
}

/* Finds a model of an experiment (*model = NULL if it has none), and the model's list of
 * scan points under the key `list`. */
static nb_status find_model(const struct expt *e, const cJSON *experiment, const char *kind,
                            const char *list, const cJSON **model, const cJSON **points)
{
    NB_TRY(expt_model(e, experiment, kind, model));
    *points = cJSON_GetObjectItemCaseSensitive(*model, list);
    return NB_OK;
}

nb_status expt_read_models(const struct expt *e, const cJSON *experiment, struct models *m,
                           struct scan_source *source, nb_experiment *out)
{
    static const double identity[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const cJSON *model, **list = source->list;

    memcpy(source->g.fixed, identity, sizeof identity);
    memcpy(source->g.setting, identity, sizeof identity);
    NB_TRY(
        find_model(e, experiment, "beam", "s0_at_scan_points", &model, list + SCAN_BEAM));
    if (model) NB_TRY(read_beam(e, model, m));
    NB_TRY(expt_model(e, experiment, "scan", &model));
    if (model) NB_TRY(read_scan(e, model, source->quiet, m, &out->images));
    NB_TRY(find_model(e, experiment, "crystal", "A_at_scan_points", &model,
                      list + SCAN_CRYSTAL));
    if (model) {
        NB_TRY(expt_read_crystal(e, model, m, out->space_group));
        NB_TRY(expt_read_profile(e, experiment, m));
    }
    memcpy(source->real_axes, m->real_axes, sizeof source->real_axes);
    NB_TRY(find_model(e, experiment, "goniometer", "setting_rotation_at_scan_points",
                      &model, list + SCAN_SETTING));
    if (!model) {
        drop_scan(e, source->quiet, m, &out->images);
        return NB_OK;
    }
    NB_TRY(read_goniometer(e, model, &source->g));
    use_goniometer(&source->g, m);
    return NB_OK;
}

nb_status expt_find(const struct expt *e, const cJSON **experiment)
{
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(e->root, "__id__");
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(e->root, "experiment");
    const int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;

    if (!cJSON_IsString(id) || strcmp(id->valuestring, "ExperimentList") != 0)
        return fail(e->ctx, NB_ERR_FORMAT,
                    "%s: the file is not a list of experiments (\"__id__\": "
                    "\"ExperimentList\"); give an .expt of DIALS",
                    e->name);
    if (n < 1)
        return fail(e->ctx, NB_ERR_FORMAT, "%s: the file holds no experiment", e->name);
    if (e->i < 0 || e->i >= n)
        return fail(e->ctx, NB_ERR_ARGUMENT,
                    "%s: there is no experiment %d; the file holds %d, counted from 0",
                    e->name, e->i, n);
    *experiment = cJSON_GetArrayItem(list, e->i);
    return NB_OK;
}

static nb_status read_experiment(nb_context *ctx, const char *name, const cJSON *root,
                                 const struct expt_request *request)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "experiment");
    struct expt e = {.ctx = ctx, .name = name, .root = root, .i = request->i};
    struct models models = {0};
    struct scan_source source = {.quiet = 0};
    nb_experiment *out = request->out;
    const cJSON *experiment = NULL, *detector = NULL;

    NB_TRY(expt_find(&e, &experiment));
    out->count = cJSON_GetArraySize(list);
    NB_TRY(expt_model(&e, experiment, "detector", &detector));
    if (detector) NB_TRY(expt_read_detector(&e, detector, expt_turn, &models, out));
    NB_TRY(expt_read_models(&e, experiment, &models, &source, out));
    NB_TRY(models_to_scene(ctx, name, &models, expt_turn, NB_CONVENTION_DIALS, out));
    out->scene.detector.mask = out->mask;
    NB_TRY(scan_points_read(&e, &source, &models, out->images, expt_turn, &out->points));
    (void)nb_scan_points_set(out->points, models.phi0 + models.osc / 2, ~0U, &out->scene,
                             NULL);
    if (request->lattices && models.found & NB_FOUND_CRYSTAL)
        NB_TRY(expt_read_lattices(&e, list, &models, &source, expt_turn, out));
    return out->geometry ? nb_geometry_apply(out->geometry, &out->scene) : NB_OK;
}

nb_status expt_read_root(nb_context *ctx, const char *name, const cJSON *root,
                         const struct expt_request *request)
{
    nb_experiment *out = request->out;
    nb_status status;

    memset(out, 0, sizeof *out);
    status = read_experiment(ctx, name, root, request);
    if (status == NB_OK) return NB_OK;
    nb_experiment_clear(out);
    memset(out, 0, sizeof *out);
    return status;
}

nb_status expt_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                     void *to)
{
    const struct expt_request *request = to;
    cJSON *root;
    nb_status status;

    memset(request->out, 0, sizeof *request->out);
    NB_TRY(expt_document(ctx, name, bytes, n, &root));
    status = expt_read_root(ctx, name, root, request);
    cJSON_Delete(root);
    return status;
}

static nb_status read_file(nb_context *ctx, const char *path, int i, int lattices,
                           nb_experiment *out)
{
    static const struct file_format format = {".expt", (size_t)1 << 29, NULL, expt_parse};
    struct expt_request request = {i, out, lattices};

    if (ctx && !out) return fail(ctx, NB_ERR_ARGUMENT, ".expt: out is NULL");
    if (out) memset(out, 0, sizeof *out);
    return file_parse(ctx, path, &format, &request);
}

nb_status nb_expt_read(nb_context *ctx, const char *path, int i, nb_experiment *out)
{
    STANDARD_FLOATS;

    return read_file(ctx, path, i, 0, out);
}

nb_status nb_expt_read_lattices(nb_context *ctx, const char *path, int i,
                                nb_experiment *out)
{
    STANDARD_FLOATS;

    return read_file(ctx, path, i, 1, out);
}
