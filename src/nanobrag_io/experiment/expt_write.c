/*
 * expt_write.c - writes a scene as experiments of DIALS. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "nanobrag_io/experiment/models.h"
#include "nanobrag_io/gemmi/gemmi.h"
#include "nanobrag_io/json/document.h"
#include "nanobrag_io/laboratory.h"
#include "scene/detector/attenuation.h"
#include "scene/linear.h"

/* an .expt while it is written */
struct experiment {
    struct document d;
    const nb_expt_options *options;
    struct exposure *exposure; /* the shot that is being written */
    char hall[GEMMI_NAME]; /* Hall symbol of the space group */
    int nimage, first; /* number of images; number of the first */
    int is_sweep;
    int has_scans; /* 1: each still gets a scan of its own, which tells readers that several
                      crystals share an image */
    int lattices; /* crystals of each image */
    const struct expt_shot *points; /* the scan points of a crystal that changes in the
                                       scan */
    int npoint;
    cJSON *beams, *detectors, *crystals; /* the lists of models */
};

/* the numbers, in their lists, of the models that an experiment names */
struct numbers {
    int beam, detector, crystal, image;
};

/* ---- models ---- */

static void put_beam(struct experiment *e)
{
    const struct laboratory *l = &e->exposure->laboratory;
    struct document *d = &e->d;
    cJSON *beam = document_object(d, e->beams, NULL);

    document_text(d, beam, "__id__", "monochromatic");
    document_reals(d, beam, "direction", l->source, 3);
    document_real(d, beam, "wavelength", e->exposure->wavelength);
    document_real(d, beam, "divergence", 0);
    document_real(d, beam, "sigma_divergence", 0);
    document_reals(d, beam, "polarization_normal", l->polarization_normal, 3);
    document_real(d, beam, "polarization_fraction", l->polarization_fraction);
    document_real(d, beam, "flux", 0);
    document_real(d, beam, "transmission", 1);
}

static void put_pose(struct experiment *e, cJSON *to, struct panel_pose pose)
{
    document_reals(&e->d, to, "fast_axis", pose.axis[0], 3);
    document_reals(&e->d, to, "slow_axis", pose.axis[1], 3);
    document_reals(&e->d, to, "origin", pose.at, 3);
}

static void put_sensor(struct experiment *e, cJSON *to)
{
    const int has_sensor = e->exposure->thickness > 0;
    struct document *d = &e->d;
    cJSON *strategy;

    document_real(d, to, "thickness", e->exposure->thickness);
    document_text(d, to, "material", attenuation_name(e->exposure->material));
    document_real(d, to, "mu", e->exposure->attenuation);
    strategy = document_object(d, to, "px_mm_strategy");
    document_text(d, strategy, "type",
                  has_sensor ? "ParallaxCorrectedPxMmStrategy" : "SimplePxMmStrategy");
}

static void put_panel(struct experiment *e, cJSON *panels, int i,
                      const struct laboratory_panel *p)
{
    static const double everything[2] = {-1e30, 1e30};
    const double *trusted = e->options->trusted;
    const double size[2] = {p->nfast, p->nslow}, pixel[2] = {p->pixel, p->pixel};
    const double place[2] = {p->fast0, p->slow0};
    struct document *d = &e->d;
    cJSON *panel = document_object(d, panels, NULL);
    char number[32];

    (void)snprintf(number, sizeof number, "panel%d", i);
    document_text(d, panel, "name", p->name && *p->name ? p->name : number);
    document_text(d, panel, "type", "SENSOR_PAD");
    put_pose(e, panel, exposure_panel_pose(e->exposure, i));
    document_reals(d, panel, "raw_image_offset", place, 2);
    document_reals(d, panel, "image_size", size, 2);
    document_reals(d, panel, "pixel_size", pixel, 2);
    document_reals(d, panel, "trusted_range",
                   trusted[0] == 0 && trusted[1] == 0 ? everything : trusted, 2);
    document_text(d, panel, "identifier", "");
    (void)document_array(d, panel, "mask");
    document_real(d, panel, "gain", 1);
    document_real(d, panel, "pedestal", e->options->pedestal);
    put_sensor(e, panel);
}

/* Writes a group of panels: its name, and the origin and axes of its coordinate frame. All
 * other keys mean nothing for a group, but dxtbx asks for them. */
static void put_frame(struct experiment *e, cJSON *to, const char *name,
                      struct panel_pose pose)
{
    static const double zero[2] = {0, 0};
    struct document *d = &e->d;

    document_text(d, to, "name", name);
    document_text(d, to, "type", "");
    put_pose(e, to, pose);
    document_reals(d, to, "raw_image_offset", zero, 2);
    document_reals(d, to, "image_size", zero, 2);
    document_reals(d, to, "pixel_size", zero, 2);
    document_reals(d, to, "trusted_range", zero, 2);
    document_real(d, to, "thickness", 0);
    document_text(d, to, "material", "");
    document_real(d, to, "mu", 0);
    document_text(d, to, "identifier", "");
    (void)document_array(d, to, "mask");
    document_real(d, to, "gain", 1);
    document_real(d, to, "pedestal", 0);
    document_text(d, document_object(d, to, "px_mm_strategy"), "type",
                  "SimplePxMmStrategy");
}

/* the "children" of a group: panels and groups directly inside it */
struct children {
    cJSON *list;
};

/* Writes the tree of groups, whose leaves are the panels. Each group stands in the list
 * after its parent, so one pass over the list suffices. */
static void put_hierarchy(struct experiment *e, cJSON *detector)
{
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const struct exposure *exposure = e->exposure;
    const int n = exposure->laboratory.ngroup;
    struct document *d = &e->d;
    struct children *children = calloc((size_t)n + 1, sizeof *children);
    cJSON *root = document_object(d, detector, "hierarchy");

    if (!children) {
        d->lost++;
        return;
    }
    put_frame(e, root, "detector", panels_pose((const double[3]){0}, axes[0], axes[1]));
    children[0].list = document_array(d, root, "children");
    for (int g = 0; g < n; g++) {
        const struct laboratory_group *group = exposure->group + g;
        cJSON *to = document_object(d, children[group->parent].list, NULL);
        char number[32];

        (void)snprintf(number, sizeof number, "group%d", g);
        put_frame(e, to, *group->name ? group->name : number,
                  exposure_group_pose(exposure, g));
        children[g + 1].list = document_array(d, to, "children");
    }
    for (int i = 0; i < exposure->laboratory.npanel; i++)
        document_real(d, document_object(d, children[exposure->panel[i].group].list, NULL),
                      "panel", i);
    free(children);
}

static void put_detector(struct experiment *e)
{
    struct document *d = &e->d;
    cJSON *detector = document_object(d, e->detectors, NULL);
    cJSON *panels = document_array(d, detector, "panels");

    for (int i = 0; i < e->exposure->laboratory.npanel; i++)
        put_panel(e, panels, i, e->exposure->panel + i);
    if (e->exposure->laboratory.ngroup > 0) put_hierarchy(e, detector);
}

static void put_goniometer(struct experiment *e)
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    struct document *d = &e->d;
    cJSON *list = document_array(d, d->root, "goniometer"), *goniometer;

    if (!e->is_sweep) return;
    goniometer = document_object(d, list, NULL);
    document_reals(d, goniometer, "rotation_axis", e->exposure->laboratory.spindle, 3);
    document_reals(d, goniometer, "fixed_rotation", identity, 9);
    document_reals(d, goniometer, "setting_rotation", identity, 9);
}

/* Writes a scan of n images with numbers from `first` on. */
static void put_scan(struct experiment *e, cJSON *list, int first, int n)
{
    const double range[2] = {first, (double)first + n - 1};
    const double oscillation[2] = {e->is_sweep ? e->exposure->phi : 0, e->exposure->width};
    struct document *d = &e->d;
    cJSON *to = document_object(d, list, NULL), *exposures, *epochs;

    document_reals(d, to, "image_range", range, 2);
    document_real(d, to, "batch_offset", first - 1);
    document_reals(d, to, "oscillation", oscillation, 2);
    exposures = document_array(d, to, "exposure_time");
    epochs = document_array(d, to, "epochs");
    for (int i = 0; i < n; i++) {
        document_real(d, exposures, NULL, e->exposure->seconds);
        document_real(d, epochs, NULL, 0);
    }
    (void)document_object(d, to, "valid_image_ranges");
}

static void put_scans(struct experiment *e)
{
    cJSON *list = document_array(&e->d, e->d.root, "scan");

    if (e->is_sweep) put_scan(e, list, e->first, e->nimage);
    for (int i = 0; e->has_scans && i < e->nimage; i++) put_scan(e, list, e->first + i, 1);
}

/* Writes the reciprocal axes of a lattice at each scan point: matrices A with the axes as
 * columns, 1/A. */
static void put_scan_points(struct experiment *e, cJSON *crystal, int lattice)
{
    cJSON *list = document_array(&e->d, crystal, "A_at_scan_points");

    for (int i = 0; i < e->npoint; i++) {
        const struct expt_shot *point = e->points + (size_t)i * e->lattices + lattice;
        const double(*const real)[3] =
            (const double(*)[3])point->exposure.laboratory.real_axes;
        double a[9], star[3];

        for (int k = 0; k < 3; k++) {
            linear_cross(real[(k + 1) % 3], real[(k + 2) % 3], star);
            for (int j = 0; j < 3; j++) a[3 * j + k] = star[j] / linear_dot(real[k], star);
        }
        document_reals(&e->d, list, NULL, a, 9);
    }
}

static void put_crystal(struct experiment *e, double mosaicity, int lattice)
{
    static const char *const keys[] = {"real_space_a", "real_space_b", "real_space_c"};
    const struct laboratory *l = &e->exposure->laboratory;
    struct document *d = &e->d;
    cJSON *to = document_object(d, e->crystals, NULL);

    document_text(d, to, "__id__", "crystal");
    for (int i = 0; i < 3; i++) {
        double axis[3];

        linear_copy(l->real_axes[i], axis);
        if (!e->is_sweep)
            linear_rotate(l->spindle, linear_radian(e->exposure->phi), axis, axis);
        document_reals(d, to, keys[i], axis, 3);
    }
    document_text(d, to, "space_group_hall_symbol", e->hall);
    if (mosaicity > 0) document_real(d, to, "mosaicity", mosaicity);
    if (e->npoint > 0) put_scan_points(e, to, lattice);
}

static int is_same(const double *a, const double *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return 0;
    return 1;
}

static int has_same_beam(const struct exposure *a, const struct exposure *b)
{
    const struct laboratory *p = &a->laboratory, *q = &b->laboratory;

    return a->wavelength == b->wavelength && is_same(p->source, q->source, 3)
           && is_same(p->polarization_normal, q->polarization_normal, 3)
           && p->polarization_fraction == q->polarization_fraction;
}

static int has_same_detector(const struct exposure *a, const struct exposure *b)
{
    if (a->laboratory.npanel != b->laboratory.npanel || a->thickness != b->thickness
        || a->attenuation != b->attenuation)
        return 0;
    for (int i = 0; i < a->laboratory.npanel; i++) {
        const struct laboratory_panel *p = a->panel + i, *q = b->panel + i;

        if (!is_same(p->origin, q->origin, 3) || !is_same(p->fast, q->fast, 3)
            || !is_same(p->slow, q->slow, 3) || p->pixel != q->pixel)
            return 0;
    }
    return 1;
}

/* Writes the models of a shot. Beam and detector are written only if they differ from the
 * shot before, `last`, which is NULL for the first shot. */
static void put_models(struct experiment *e, struct expt_shot *shot,
                       const struct expt_shot *last, struct numbers *numbers)
{
    e->exposure = &shot->exposure;
    if (!last || !has_same_beam(&last->exposure, e->exposure)) {
        put_beam(e);
        numbers->beam++;
    }
    if (!last || !has_same_detector(&last->exposure, e->exposure)) {
        put_detector(e);
        numbers->detector++;
    }
    for (int l = 0; l < e->lattices; l++) {
        e->exposure = &shot[l].exposure;
        put_crystal(e, shot[l].mosaicity, l);
    }
    numbers->crystal += e->lattices;
}

/* ---- images ---- */

/* Returns the name of image `number`: `files` with digits in place of #. The caller frees
 * it; NULL: no memory. */
static char *file_of(const char *files, int number)
{
    const char *hash = strchr(files, '#');
    const size_t before = hash ? (size_t)(hash - files) : strlen(files);
    const size_t width = hash ? strspn(hash, "#") : 0, n = strlen(files) + 32;
    char *name = malloc(n);

    if (!name) return NULL;
    if (hash)
        (void)snprintf(name, n, "%.*s%0*d%s", (int)before, files, (int)width, number,
                       hash + width);
    else
        memcpy(name, files, before + 1);
    return name;
}

/* Writes the last keys of an image set, which are the same for all image sets. */
static void put_rest(struct experiment *e, cJSON *to)
{
    static const char *const keys[] = {"mask", "gain", "pedestal", "dx", "dy"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        document_text(&e->d, to, keys[i], "");
    (void)document_object(&e->d, to, "params");
}

static void put_sequence(struct experiment *e, cJSON *sets)
{
    struct document *d = &e->d;
    cJSON *set = document_object(d, sets, NULL), *indices;

    document_text(d, set, "__id__", "ImageSequence");
    document_text(d, set, "template", e->options->files);
    if (!strchr(e->options->files, '#')) {
        indices = document_array(d, set, "single_file_indices");
        for (int i = 0; i < e->nimage; i++)
            document_real(d, indices, NULL, e->first - 1 + i);
    }
    put_rest(e, set);
}

static void put_still(struct experiment *e, cJSON *sets, int i)
{
    const int one_file = !strchr(e->options->files, '#');
    struct document *d = &e->d;
    cJSON *set = document_object(d, sets, NULL);
    char *name = file_of(e->options->files, e->first + i);

    if (!name) d->lost++;
    document_text(d, set, "__id__", "ImageSet");
    document_text(d, document_array(d, set, "images"), NULL, name);
    document_real(d, document_array(d, set, "single_file_indices"), NULL,
                  one_file ? e->first - 1 + i : 0);
    put_rest(e, set);
    free(name);
}

static void put_imagesets(struct experiment *e)
{
    cJSON *sets = document_array(&e->d, e->d.root, "imageset");

    if (!e->options->files) return;
    if (e->is_sweep)
        put_sequence(e, sets);
    else
        for (int i = 0; i < e->nimage; i++) put_still(e, sets, i);
}

/* Writes an experiment whose crystal is lattice l of the shot written last. */
static void put_experiment(struct experiment *e, cJSON *list, int l,
                           const struct numbers *numbers)
{
    struct document *d = &e->d;
    cJSON *to = document_object(d, list, NULL);

    document_text(d, to, "__id__", "Experiment");
    document_text(d, to, "identifier", "");
    document_real(d, to, "beam", numbers->beam);
    document_real(d, to, "detector", numbers->detector);
    if (e->is_sweep) document_real(d, to, "goniometer", 0);
    if (e->is_sweep || e->has_scans) document_real(d, to, "scan", numbers->image);
    document_real(d, to, "crystal", numbers->crystal - e->lattices + l);
    if (e->options->files) document_real(d, to, "imageset", numbers->image);
}

/* Writes all experiments: an image for each of n shots, or nimage images that share the
 * models of one shot. */
static void put_experiments(struct experiment *e, struct expt_shot *shots, int n)
{
    struct document *d = &e->d;
    struct numbers numbers = {-1, -1, 0, 0};
    cJSON *list = document_array(d, d->root, "experiment");

    e->beams = document_array(d, d->root, "beam");
    e->detectors = document_array(d, d->root, "detector");
    e->crystals = document_array(d, d->root, "crystal");
    for (int i = 0; i < (e->is_sweep ? 1 : e->nimage); i++) {
        struct expt_shot *shot = shots + (size_t)i * e->lattices;

        if (i < n) put_models(e, shot, i > 0 ? shot - e->lattices : NULL, &numbers);
        numbers.image = i;
        for (int l = 0; l < e->lattices; l++) put_experiment(e, list, l, &numbers);
    }
}

/* ---- the file ---- */

/* Rotates all vectors about the beam (z) until the fast axis of the first panel points
 * along +x. */
static void turn_fast_along_x(struct exposure *exposure)
{
    static const double z[3] = {0, 0, 1};
    struct laboratory *l = &exposure->laboratory;
    const double angle = -atan2(exposure->panel[0].fast[1], exposure->panel[0].fast[0]);

    if (angle == 0) return;
    linear_rotate(z, angle, l->polarization_normal, l->polarization_normal);
    linear_rotate(z, angle, l->spindle, l->spindle);
    for (int i = 0; i < 3; i++) linear_rotate(z, angle, l->real_axes[i], l->real_axes[i]);
    for (int i = 0; i < l->npanel; i++) {
        struct laboratory_panel *panel = exposure->panel + i;

        linear_rotate(z, angle, panel->fast, panel->fast);
        linear_rotate(z, angle, panel->slow, panel->slow);
        linear_rotate(z, angle, panel->origin, panel->origin);
    }
    for (int g = 0; g < l->ngroup; g++) {
        struct panel_pose *pose = &exposure->group[g].pose;

        linear_rotate(z, angle, pose->at, pose->at);
        for (int i = 0; i < 3; i++) linear_rotate(z, angle, pose->axis[i], pose->axis[i]);
    }
}

static nb_status check(nb_context *ctx, struct expt_shot *shots, int n, int lattices,
                       const nb_expt_options *options)
{
    enum { MOST = 1000000000 };

    if (options->images < 0 || options->first < 0 || options->first > MOST
        || options->images > MOST)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "%d images from number %d on, expected 0 to %d for both numbers",
                    options->images, options->first, MOST);
    for (int i = 0; i < n; i++) {
        const struct exposure *exposure = &shots[(size_t)i * lattices].exposure;

        NB_TRY(exposure_check_flat(ctx, exposure, "an .expt"));
        if (n > 1 && !options->scan_points && exposure->width != 0)
            return fail(ctx, NB_ERR_ARGUMENT,
                        "shot %d of an .expt rotates by %g degrees, but shots are stills",
                        i + 1, exposure->width);
    }
    if (options->scan_points && shots[0].exposure.width == 0)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "an .expt has scan points, but its images are stills");
    if (shots[0].unpolarised)
        log_line(ctx, NB_LOG_WARNING, "expt",
                 "DIALS always applies a polarization factor, which -nopolar leaves out; "
                 "the .expt says that the beam is unpolarised");
    return NB_OK;
}

static nb_status find_group(nb_context *ctx, const char *name, char hall[GEMMI_NAME])
{
    char symbol[GEMMI_NAME];
    nb_status status;

    memcpy(hall, "P 1", sizeof "P 1");
    if (!name || !name[0]) return NB_OK;
    status = gemmi_symbols(GEMMI_HERMANN_MAUGUIN, name, symbol, hall);
    if (status == NB_ERR_MEMORY) return fail_memory(ctx, "the space group");
    if (status == NB_ERR_ARGUMENT)
        return fail(ctx, status, "the space group '%.30s' is unknown", name);
    if (status == NB_OK) return NB_OK;
    memcpy(hall, "P 1", sizeof "P 1");
    log_line(ctx, NB_LOG_WARNING, "expt",
             "the .expt says P 1, not %s: this build lacks gemmi, which knows space groups",
             name);
    return NB_OK;
}

nb_status expt_write(nb_context *ctx, const char *path, struct expt_shot *shots, int n,
                     int lattices, const nb_expt_options *options)
{
    struct experiment e = {.exposure = &shots->exposure,
                           .options = options,
                           .lattices = lattices};

    NB_TRY(check(ctx, shots, n, lattices, options));
    NB_TRY(find_group(ctx, options->space_group, e.hall));
    e.nimage = options->images > 0 ? options->images : 1;
    e.first = options->first > 0 ? options->first : 1;
    e.is_sweep = (n == 1 || options->scan_points) && shots->exposure.width != 0;
    e.has_scans = !e.is_sweep && lattices > 1 && !options->files;
    e.points = shots + lattices;
    e.npoint = options->scan_points ? n - 1 : 0;
    for (size_t i = 0; i < (size_t)n * lattices; i++) {
        exposure_turn_forwards(&shots[i].exposure);
        if (options->fast_along_x) turn_fast_along_x(&shots[i].exposure);
    }
    e.d = document_begin();
    document_text(&e.d, e.d.root, "__id__", "ExperimentList");
    put_experiments(&e, shots, n);
    e.exposure = &shots->exposure;
    put_imagesets(&e);
    put_goniometer(&e);
    put_scans(&e);
    (void)document_array(&e.d, e.d.root, "profile");
    (void)document_array(&e.d, e.d.root, "scaling_model");
    if (e.d.replaced)
        log_line(ctx, NB_LOG_WARNING, "expt",
                 "%s: the name of the images is not UTF-8, which JSON needs: the other "
                 "bytes become '?' and DIALS will not find the images; rename the images",
                 path);
    return document_write(ctx, &e.d, path, path);
}
