/*
 * attacked_formats.c - the calls of miniCBF, experiments and geometries that
 * test_attacked_memory.c refuses memory. SPDX-License-Identifier: MIT
 */
#include "attack/attacked_formats.h"

#include "support/files.h"

struct attacked_formats attacked_formats;

/* Returns NB_OK for a scene that no format can state, and without HDF5 or cJSON. */
static nb_status if_stated(nb_status status)
{
    return status == NB_ERR_UNSUPPORTED ? NB_OK : status;
}
nb_status attacked_expt_read(void)
{
    nb_experiment e = {.count = 0};
    const nb_status status = nb_expt_read(attacked_formats.ctx, in_folder("a.expt"), 0, &e);

    nb_experiment_clear(&e);
    return if_stated(status);
}
nb_status attacked_panels_read(void)
{
    nb_experiment e = {.count = 0};
    const nb_status status =
        nb_expt_read(attacked_formats.ctx, in_folder("panels.expt"), 0, &e);

    nb_experiment_clear(&e);
    return if_stated(status);
}
nb_status attacked_expt_open(void)
{
    nb_expt *expt;
    nb_experiment e = {.count = 0};
    nb_status status = nb_expt_open(attacked_formats.ctx, in_folder("split.expt"), &expt);

    if (status == NB_OK)
        status = nb_expt_add(attacked_formats.ctx, expt, in_folder("panels.expt"));
    if (status == NB_OK) status = nb_expt_get(attacked_formats.ctx, expt, 0, 1, &e);
    nb_experiment_clear(&e);
    nb_expt_free(expt);
    return if_stated(status);
}
nb_status attacked_lattices_read(void)
{
    nb_experiment e = {.count = 0};
    const nb_status status =
        nb_expt_read_lattices(attacked_formats.ctx, in_folder("split.expt"), 0, &e);

    nb_experiment_clear(&e);
    return if_stated(status);
}

/* ---- experiments that are updated ---- */

nb_status attacked_update_begun(void)
{
    nb_expt_update *update = NULL;
    const nb_status status =
        nb_expt_update_begin(attacked_formats.ctx, in_folder("a.expt"), &update);

    nb_expt_update_free(update);
    return if_stated(status);
}

/* Moves the crystal of an experiment; writes it, if asked to. */
static nb_status moved(int write)
{
    nb_experiment e = {.count = 0};
    nb_expt_update *update = NULL;
    nb_simulator *sim = NULL;
    nb_status status = nb_expt_read(attacked_formats.ctx, in_folder("a.expt"), 0, &e);

    e.scene.crystal.misset[0] = 1;
    e.scene.crystal.default_f = 1;
    for (int i = 0; i < 3; i++) e.scene.crystal.ncells[i] = 2;
    if (status == NB_OK)
        status = nb_simulator_create(attacked_formats.ctx, &e.scene, NULL, NULL, &sim);
    if (status == NB_OK)
        status = nb_expt_update_begin(attacked_formats.ctx, in_folder("a.expt"), &update);
    if (status == NB_OK) status = nb_expt_update_add(update, 0, sim, NULL);
    if (status == NB_OK && write)
        status = nb_expt_update_write(update, in_folder("w.expt"));
    nb_expt_update_free(update);
    nb_simulator_free(sim);
    nb_experiment_clear(&e);
    return if_stated(status);
}

nb_status attacked_update_added(void)
{
    return moved(0);
}

nb_status attacked_update_written(void)
{
    return moved(1);
}

nb_status attacked_xparm_read(void)
{
    nb_experiment e;

    return nb_xparm_read(attacked_formats.ctx, in_folder("XPARM.XDS"), &e);
}
nb_status attacked_expt_written(void)
{
    const nb_expt_options options = {.images = 3,
                                     .files = "a_##.img",
                                     .space_group = "P 1 21 1"};

    return if_stated(
        nb_expt_write(*attacked_formats.sim, NULL, in_folder("w.expt"), &options));
}
nb_status attacked_geom_read(void)
{
    nb_geometry *made = NULL;
    const nb_status status =
        nb_geom_read(attacked_formats.ctx, TEST_DATA_DIR "/geometries/agipd.geom", &made);

    nb_geometry_free(made);
    return status;
}
nb_status attacked_geometry_applied(void)
{
    nb_scene scene = {0};
    nb_geometry *made = NULL;
    nb_status status =
        nb_geom_read(attacked_formats.ctx,
                     TEST_DATA_DIR "/../../examples/data/jungfrau.geom", &made);

    if (status == NB_OK) status = nb_geometry_apply(made, &scene);
    nb_geometry_free(made);
    return status;
}
nb_status attacked_geom_written(void)
{
    return if_stated(nb_geom_write(*attacked_formats.sim, NULL, in_folder("w.geom")));
}
nb_status attacked_cbf_checked(void)
{
    return if_stated(nb_cbf_check(*attacked_formats.sim, NULL));
}
nb_status attacked_cbf_written(void)
{
    return if_stated(nb_cbf_write(*attacked_formats.sim, NULL, in_folder("a_1.cbf"), 0,
                                  attacked_formats.counts));
}

/* ---- measured images ---- */

static nb_status read_image(const char *path)
{
    nb_measured *image = NULL;
    const nb_status status = nb_image_read(attacked_formats.ctx, path, 0, &image);

    nb_measured_free(image);
    return status == NB_ERR_UNSUPPORTED ? NB_OK : status;
}

nb_status attacked_image_read(void)
{
    const nb_status status = read_image(TEST_DATA_DIR "/cbf/packed_v2.cbf");

    return status == NB_OK ? read_image(TEST_DATA_DIR "/cbf/offsets.cbf.gz") : status;
}

/* ---- tables of reflections ---- */

nb_status attacked_refl_read(void)
{
    nb_reflections *table = NULL;
    const nb_status status =
        nb_reflections_read(attacked_formats.ctx, TEST_DATA_DIR "/refl/columns.refl",
                            &table);

    nb_reflections_free(table);
    return status;
}

nb_status attacked_refl_created(void)
{
    nb_reflections *table = NULL;
    const nb_status status = nb_reflections_create(attacked_formats.ctx, 2, &table);

    nb_reflections_free(table);
    return status;
}

/* Makes a table of two rows, then calls one function with it. */
static nb_status with_table(nb_status (*call)(nb_context *, nb_reflections *))
{
    nb_reflections *table = NULL;
    nb_status status = nb_reflections_create(attacked_formats.ctx, 2, &table);

    if (status == NB_OK) status = call(attacked_formats.ctx, table);
    nb_reflections_free(table);
    return status;
}

static nb_status set_column(nb_context *context, nb_reflections *table)
{
    return nb_reflections_set(context, table, "d", NB_COLUMN_DOUBLE,
                              (const double[]){1, 2});
}

static nb_status set_identifier(nb_context *context, nb_reflections *table)
{
    return nb_reflections_set_identifier(context, table, 3, "three");
}

static nb_status write_table(nb_context *context, nb_reflections *table)
{
    return nb_reflections_write(context, in_folder("w.refl"), table);
}

static nb_status join_tables(nb_context *context, nb_reflections *table)
{
    nb_reflections *const tables[2] = {table, table};
    nb_reflections *out = NULL;
    nb_status status = set_column(context, table);

    if (status == NB_OK) status = nb_reflections_join(context, 2, tables, &out);
    nb_reflections_free(out);
    return status;
}

nb_status attacked_refl_joined(void)
{
    return with_table(join_tables);
}

nb_status attacked_refl_set(void)
{
    return with_table(set_column);
}

nb_status attacked_refl_identifier(void)
{
    return with_table(set_identifier);
}

nb_status attacked_refl_written(void)
{
    return with_table(write_table);
}
