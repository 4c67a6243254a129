/*
 * expt_missing.c - replaces the reading and writing of .expt in a build without cJSON.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "base/context.h"
#include "nanobrag_io/experiment/models.h"

static nb_status refuse(nb_context *ctx)
{
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "this build has no cJSON, which .expt needs; install libcjson-dev and "
                "build "
                "again");
}

nb_status expt_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                     void *to)
{
    (void)name;
    (void)bytes;
    (void)n;
    (void)to;
    return refuse(ctx);
}

nb_status expt_open_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                          void *to)
{
    return expt_parse(ctx, name, bytes, n, to);
}

nb_status nb_expt_read(nb_context *ctx, const char *path, int i, nb_experiment *out)
{
    (void)path;
    (void)i;
    if (!ctx) return NB_ERR_ARGUMENT;
    if (out) memset(out, 0, sizeof *out);
    return refuse(ctx);
}

nb_status nb_expt_read_lattices(nb_context *ctx, const char *path, int i,
                                nb_experiment *out)
{
    return nb_expt_read(ctx, path, i, out);
}

nb_status nb_expt_open(nb_context *ctx, const char *path, nb_expt **out)
{
    (void)path;
    if (!ctx) return NB_ERR_ARGUMENT;
    if (out) *out = NULL;
    return refuse(ctx);
}

nb_status nb_expt_add(nb_context *ctx, nb_expt *expt, const char *path)
{
    (void)expt;
    (void)path;
    return ctx ? refuse(ctx) : NB_ERR_ARGUMENT;
}

int nb_expt_count(const nb_expt *expt)
{
    (void)expt;
    return 0;
}

void nb_expt_free(nb_expt *expt)
{
    (void)expt; /* there are none */
}

nb_status nb_expt_get(nb_context *ctx, const nb_expt *expt, int i, int lattices,
                      nb_experiment *out)
{
    (void)expt;
    (void)i;
    (void)lattices;
    if (!ctx) return NB_ERR_ARGUMENT;
    if (out) memset(out, 0, sizeof *out);
    return refuse(ctx);
}

const nb_expt_image *nb_expt_images(const nb_expt *expt, size_t *n)
{
    (void)expt;
    if (n) *n = 0;
    return NULL;
}

nb_status expt_write(nb_context *ctx, const char *path, struct expt_shot *shots, int n,
                     int lattices, const nb_expt_options *options)
{
    (void)path;
    (void)shots;
    (void)n;
    (void)lattices;
    (void)options;
    return refuse(ctx);
}

nb_status nb_expt_update_begin(nb_context *ctx, const char *path, nb_expt_update **out)
{
    (void)path;
    if (out) *out = NULL;
    return ctx ? refuse(ctx) : NB_ERR_ARGUMENT;
}

/* No update can have begun. */
nb_status nb_expt_update_add(nb_expt_update *update, int i, nb_simulator *sim,
                             const double *x)
{
    (void)update;
    (void)i;
    (void)sim;
    (void)x;
    return NB_ERR_ARGUMENT;
}

nb_status nb_expt_update_write(nb_expt_update *update, const char *path)
{
    (void)update;
    (void)path;
    return NB_ERR_ARGUMENT;
}

void nb_expt_update_free(nb_expt_update *update)
{
    (void)update;
}

unsigned nb_scan_points_set(const nb_scan_points *points, double phi, unsigned members,
                            nb_scene *scene, int *beyond)
{
    (void)points;
    (void)phi;
    (void)members;
    (void)scene;
    if (beyond) *beyond = 0;
    return 0;
}

void nb_scan_points_set_lattices(const nb_scan_points *points, double phi, int n,
                                 nb_lattice *lattice)
{
    (void)points; /* a build without cJSON never makes scan points */
    (void)phi;
    (void)n;
    (void)lattice;
}

void nb_scan_points_free(nb_scan_points *points)
{
    (void)points; /* always NULL in a build without cJSON */
}
