/*
 * formats.c - the public calls that write NXmx, miniCBF, .expt and .geom. The calls
 * describe geometry and beam of a simulator's images for the writers in
 * nanobrag_io/images/, nanobrag_io/experiment/ and nanobrag_io/geometry/.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include <nanobrag/description.h>
#include <nanobrag/experiment.h>
#include <nanobrag/formats.h>
#include <nanobrag/geometry.h>

#include "base/context.h"
#include "base/floats.h"
#include "nanobrag_io/experiment/models.h"
#include "nanobrag_io/experiment/mosaicity.h"
#include "nanobrag_io/geometry/geom.h"
#include "nanobrag_io/images/cbf.h"
#include "nanobrag_io/images/exposure.h"
#include "nanobrag_io/images/nxmx.h"
#include "scene/detector/attenuation.h"
#include "scene/lattices/lattices.h"
#include "scene/members/fingerprint.h"
#include "simulator.h"

struct nb_nxmx {
    nb_simulator *sim;
    struct nxmx *file;
    int master, has_frames;
};

/* Describes the image of a lattice at parameters x. The caller calls exposure_free(), also
 * after a failure. */
static nb_status expose_lattice(nb_simulator *sim, const double *x, int lattice,
                                struct exposure *out)
{
    nb_description d;
    nb_scene all, scene;
    nb_source *source;
    nb_status status;

    *out = (struct exposure){0};
    NB_TRY(nb_simulator_describe(sim, x, &d));
    NB_TRY(nb_simulator_resolved(sim, x, &all));
    lattices_scene(&all, lattice, &scene);
    source = malloc((size_t)d.nsource * sizeof *source);
    if (!source) return fail_memory(sim->ctx, "the sources of the beam");
    status = NB_OK;
    for (int i = 0; i < d.nsource && status == NB_OK; i++)
        status = nb_simulator_source(sim, x, i, source + i, NULL);
    if (status == NB_OK)
        status = exposure_of(sim->ctx, &scene, &d, source, &sim->window, out);
    free(source);
    return status;
}

static nb_status expose(nb_simulator *sim, const double *x, struct exposure *out)
{
    return expose_lattice(sim, x, 0, out);
}

/* Returns a checksum of the parameters x (NULL: the values of the scene), which identifies
 * a frame. Logarithms are summed, because in a plain sum a large fluence would hide an
 * angle. */
static double row_of(const nb_simulator *sim, const double *x)
{
    static const double least = 1e-12; /* smaller numbers count as 0 */
    double sum = 0;

    for (size_t i = 0; i < nb_simulator_nparam(sim); i++) {
        double value = x ? x[i] : 0;

        if (!x) {
            nb_param param;

            if (nb_simulator_param(sim, i, &param) == NB_OK) value = param.value;
        }
        sum += fingerprint_weight(i) * copysign(log1p(fabs(value) / least), value);
    }
    return sum;
}

/* Allocates the numbers and checksums that identify the scene of a simulator. The caller
 * frees *out. */
static nb_status take_fingerprint(nb_simulator *sim, double **out, size_t *n)
{
    const size_t numbers = fingerprint_numbers();
    nb_scene scene;

    *n = numbers + FINGERPRINT_SUMS;
    NB_TRY(nb_simulator_resolved(sim, NULL, &scene));
    *out = malloc(*n * sizeof **out);
    if (!*out) return fail_memory(sim->ctx, "the numbers of a scene");
    return fingerprint_take(sim->ctx, &scene, *out, *out + numbers);
}

/* Returns the largest count that is not an overload: one less than the type can hold,
 * because nb_digitize() clamps to that number. For floats 0, which means no overload. */
static double default_overload(int type, int bits)
{
    if (type == NB_TYPE_FLOAT) return 0;
    return bits == 16 ? 65534 : 2147483646;
}

/* ---- NXmx ---- */

static nb_status complete_options(nb_context *ctx, nb_nxmx_options *o)
{
    if (o->bits == 0) o->type = NB_TYPE_INT, o->bits = 32;
    if (o->level == 0) o->level = 1;
    if (o->compression < 0 || o->compression > NB_COMPRESSION_BSLZ4)
        return fail(ctx, NB_ERR_ARGUMENT, "NXmx: there is no compression %d",
                    o->compression);
    if (o->level < 1 || o->level > 9)
        return fail(ctx, NB_ERR_ARGUMENT, "NXmx: level %d of deflate, expected 1 to 9",
                    o->level);
    if (!((o->type == NB_TYPE_INT && o->bits == 32)
          || (o->type == NB_TYPE_UINT && o->bits == 16)
          || (o->type == NB_TYPE_FLOAT && o->bits == 32)))
        return fail(ctx, NB_ERR_ARGUMENT,
                    "NXmx: element type %d of %d bits, expected int32, uint16 or float32",
                    o->type, o->bits);
    if (!isfinite(o->start) || !isfinite(o->step) || !(fabs(o->underload) < 0x1p53)
        || !(o->overload >= 0 && o->overload < 0x1p53) || o->frames < 0)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "NXmx: start %g, step %g, counts from %g to %g, %lld frames; expected "
                    "finite numbers, and no negative overload or number of frames",
                    o->start, o->step, o->underload, o->overload, (long long)o->frames);
    if (o->overload == 0) o->overload = default_overload(o->type, o->bits);
    return NB_OK;
}

/* Refuses a detector that NXmx cannot state. One check is enough, since no parameter makes
 * a flat detector curved. */
static nb_status check_detector(nb_simulator *sim)
{
    struct exposure exposure;
    nb_status status = expose(sim, NULL, &exposure);

    if (status == NB_OK) status = exposure_check_flat(sim->ctx, &exposure, "NXmx");
    exposure_free(&exposure);
    return status;
}

nb_status nb_nxmx_create(nb_simulator *sim, const char *path,
                         const nb_nxmx_options *options, nb_nxmx **out)
{
    STANDARD_FLOATS;
    nb_nxmx_options complete = {0};
    nb_nxmx *nxmx;
    nb_status status;

    if (out) *out = NULL;
    if (!sim || !out) return NB_ERR_ARGUMENT;
    if (!path) return fail(sim->ctx, NB_ERR_ARGUMENT, "NXmx: path is NULL");
    if (options) complete = *options;
    NB_TRY(complete_options(sim->ctx, &complete));
    NB_TRY(check_detector(sim));
    nxmx = calloc(1, sizeof *nxmx);
    if (!nxmx) return fail_memory(sim->ctx, path);
    nxmx->sim = sim;
    nxmx->master = complete.master;
    status = nxmx_begin(sim->ctx, path, &complete, &nxmx->file);
    if (status != NB_OK) {
        free(nxmx);
        return status;
    }
    *out = nxmx;
    return NB_OK;
}

nb_status nb_nxmx_append(nb_nxmx *nxmx, const double *x, const nb_array *image)
{
    STANDARD_FLOATS;
    struct exposure exposure;
    nb_status status;

    if (!nxmx) return NB_ERR_ARGUMENT;
    if (!image) return fail(nxmx->sim->ctx, NB_ERR_ARGUMENT, "NXmx: image is NULL");
    if (nxmx->master)
        return fail(nxmx->sim->ctx, NB_ERR_ARGUMENT,
                    "NXmx: a master takes files, and no image");
    status = expose(nxmx->sim, x, &exposure);
    exposure.row = row_of(nxmx->sim, x);
    if (status == NB_OK && !nxmx->has_frames)
        status = take_fingerprint(nxmx->sim, &exposure.scene, &exposure.nscene);
    if (status == NB_OK) status = nxmx_append(nxmx->file, &exposure, image);
    nxmx->has_frames |= status == NB_OK;
    exposure_free(&exposure);
    return status;
}

/* Appends to a master frame i of the n frames in a file. */
static nb_status append_from(nb_nxmx *nxmx, const char *path, int64_t n, int64_t i,
                             const double *x)
{
    struct exposure exposure;
    nb_status status = expose(nxmx->sim, x, &exposure);

    if (status == NB_OK && i == 0)
        status = nxmx_append_file(nxmx->file, path, (size_t)n, &exposure);
    if (status == NB_OK) status = nxmx_append(nxmx->file, &exposure, NULL);
    exposure_free(&exposure);
    return status;
}

nb_status nb_nxmx_append_file(nb_nxmx *nxmx, const char *path, int64_t nframe,
                              const double *x)
{
    STANDARD_FLOATS;
    nb_status status = NB_OK;

    if (!nxmx) return NB_ERR_ARGUMENT;
    if (!path) return fail(nxmx->sim->ctx, NB_ERR_ARGUMENT, "NXmx: path is NULL");
    if (!nxmx->master)
        return fail(nxmx->sim->ctx, NB_ERR_ARGUMENT,
                    "%s: NXmx: only a master takes the frames of files", path);
    if (nframe < 1)
        return fail(nxmx->sim->ctx, NB_ERR_ARGUMENT, "%s: %lld frames, expected 1 or more",
                    path, (long long)nframe);
    for (int64_t i = 0; i < nframe && status == NB_OK; i++)
        status = append_from(nxmx, path, nframe, i,
                             x ? x + (size_t)i * nb_simulator_nparam(nxmx->sim) : NULL);
    if (status != NB_OK) nxmx_spoil(nxmx->file, status);
    return status;
}

nb_status nb_nxmx_count(nb_context *ctx, const char *path, int64_t *nframe, int *master)
{
    int asked;

    if (!ctx || !nframe) return NB_ERR_ARGUMENT;
    *nframe = 0;
    if (!path) return fail(ctx, NB_ERR_ARGUMENT, "NXmx: path is NULL");
    return nxmx_frames(ctx, path, nframe, master ? master : &asked);
}

/* Compares the frames of a file with the frames that the simulator would write for n rows
 * of parameters. */
static nb_status compare(nb_simulator *sim, const char *path, size_t n, const double *x,
                         double *rows)
{
    double *scene = NULL;
    size_t numbers;
    nb_status status = take_fingerprint(sim, &scene, &numbers);

    for (size_t i = 0; i < n; i++)
        rows[i] = row_of(sim, x ? x + i * nb_simulator_nparam(sim) : NULL);
    if (status == NB_OK) status = nxmx_compare(sim->ctx, path, scene, numbers, rows, n);
    free(scene);
    return status;
}

nb_status nb_nxmx_check(nb_simulator *sim, const char *path, int64_t nframe,
                        const double *x)
{
    STANDARD_FLOATS;
    double *rows;
    nb_status status;

    if (!sim) return NB_ERR_ARGUMENT;
    if (!path || nframe < 1)
        return fail(sim->ctx, NB_ERR_ARGUMENT, "NXmx: %s",
                    path ? "no frames to compare" : "path is NULL");
    rows = malloc((size_t)nframe * sizeof *rows);
    if (!rows) return fail_memory(sim->ctx, path);
    status = compare(sim, path, (size_t)nframe, x, rows);
    free(rows);
    return status;
}

nb_status nb_nxmx_close(nb_nxmx *nxmx)
{
    STANDARD_FLOATS;
    nb_status status;

    if (!nxmx) return NB_OK;
    status = nxmx_end(nxmx->file);
    free(nxmx);
    return status;
}

void nb_nxmx_free(nb_nxmx *nxmx)
{
    if (!nxmx) return;
    nxmx_drop(nxmx->file);
    free(nxmx);
}

int nb_nxmx_can_compress(int compression)
{
    if (compression < 0 || compression > NB_COMPRESSION_BSLZ4) return 0;
    return nxmx_can_compress(compression);
}

/* ---- miniCBF ---- */

nb_status nb_cbf_check(nb_simulator *sim, const double *x)
{
    STANDARD_FLOATS;
    struct exposure exposure;
    nb_status status;

    if (!sim) return NB_ERR_ARGUMENT;
    status = expose(sim, x, &exposure);
    exposure_turn_forwards(&exposure);
    if (status == NB_OK) status = cbf_check(sim->ctx, &exposure);
    if (status == NB_OK)
        exposure_warn_of_sensor(sim->ctx, "miniCBF", &exposure, MATERIALS_LAST_CBF);
    exposure_free(&exposure);
    return status;
}

nb_status nb_cbf_write(nb_simulator *sim, const double *x, const char *path,
                       double overload, const nb_array *counts)
{
    STANDARD_FLOATS;
    struct exposure exposure;
    nb_status status;

    if (!sim) return NB_ERR_ARGUMENT;
    if (!path || !counts)
        return fail(sim->ctx, NB_ERR_ARGUMENT, "miniCBF: %s is NULL",
                    path ? "counts" : "path");
    if (!(overload >= 0 && overload <= 2147483647))
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "miniCBF: overload %g, expected 0 to 2147483647", overload);
    if (overload == 0) overload = default_overload(counts->type, counts->bits);
    status = expose(sim, x, &exposure);
    exposure_turn_forwards(&exposure);
    if (status == NB_OK) status = cbf_write(sim->ctx, path, &exposure, overload, counts);
    exposure_free(&exposure);
    return status;
}

/* ---- experiments of DIALS ---- */

/* Describes the image of a lattice at parameters x. The caller calls exposure_free() on
 * out->exposure, also after a failure. */
static nb_status expose_shot(nb_simulator *sim, const double *x, int lattice,
                             struct expt_shot *out)
{
    nb_scene scene;

    NB_TRY(expose_lattice(sim, x, lattice, &out->exposure));
    NB_TRY(nb_simulator_resolved(sim, x, &scene));
    out->unpolarised = scene.beam.unpolarised;
    out->mosaicity =
        scene.crystal.ndomains > 1 || scene.crystal.mosaic_model == NB_MOSAIC_GAUSS
            ? mosaicity_of(&scene.crystal)
            : 0;
    return NB_OK;
}

/* Writes options->shots; or the scene at x, followed by its scan points if there are
 * any. */
static nb_status write_shots(nb_simulator *sim, const double *x, const char *path,
                             const nb_expt_options *options)
{
    const int images = options->images > 0 ? options->images : 1;
    const int n = options->shots ? images : options->scan_points ? images + 2 : 1;
    const int lattices = lattices_count(&sim->scene);
    const double *row = options->shots ? options->shots : x;
    const size_t entries = (size_t)n * (size_t)lattices;
    struct expt_shot *shots = calloc(entries, sizeof *shots);
    nb_status status = NB_OK;

    if (!shots) return fail_memory(sim->ctx, path);
    for (int i = 0; i < n && status == NB_OK; i++) {
        for (int l = 0; l < lattices && status == NB_OK; l++)
            status = expose_shot(sim, row, l, shots + (size_t)i * lattices + l);
        if (i == 0 && options->scan_points)
            row = options->scan_points;
        else if (row)
            row += nb_simulator_nparam(sim);
    }
    if (status == NB_OK) status = expt_write(sim->ctx, path, shots, n, lattices, options);
    for (size_t i = 0; i < entries; i++) exposure_free(&shots[i].exposure);
    free(shots);
    return status;
}

nb_status nb_expt_write(nb_simulator *sim, const double *x, const char *path,
                        const nb_expt_options *options)
{
    STANDARD_FLOATS;
    static const nb_expt_options defaults = {0};

    if (!sim) return NB_ERR_ARGUMENT;
    if (!path) return fail(sim->ctx, NB_ERR_ARGUMENT, "an .expt needs a path");
    if (options && options->shots && options->scan_points)
        return fail(sim->ctx, NB_ERR_ARGUMENT,
                    "an .expt has shots or scan points, not both");
    return write_shots(sim, x, path, options ? options : &defaults);
}

/* ---- geometries of CrystFEL ---- */

nb_status nb_geom_write(nb_simulator *sim, const double *x, const char *path)
{
    STANDARD_FLOATS;
    struct exposure exposure;
    nb_scene scene;
    nb_status status;

    if (!sim) return NB_ERR_ARGUMENT;
    if (!path) return fail(sim->ctx, NB_ERR_ARGUMENT, "a .geom needs a path");
    status = expose(sim, x, &exposure);
    if (status == NB_OK) status = nb_simulator_resolved(sim, x, &scene);
    if (status == NB_OK) status = geom_write(sim->ctx, path, &exposure, &scene);
    exposure_free(&exposure);
    return status;
}
