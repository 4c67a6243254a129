/*
 * attacked_nxmx.c - the calls of NXmx files that test_attacked_memory.c refuses memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "attack/attacked_nxmx.h"

#include "support/files.h"

struct attacked_nxmx attacked_nxmx;

/* A build without HDF5, or a scene that the format cannot state, says so. */
static nb_status stated(nb_status status)
{
    return status == NB_ERR_UNSUPPORTED ? NB_OK : status;
}

static nb_status write_one(void)
{
    const nb_nxmx_options how = {.type = NB_TYPE_UINT, .bits = 16};
    nb_nxmx *made = NULL;
    nb_status status = nb_nxmx_create(attacked_nxmx.sim, in_folder("a.nxs"), &how, &made);

    if (status == NB_OK) status = nb_nxmx_append(made, NULL, attacked_nxmx.counts);
    if (status == NB_OK) return nb_nxmx_close(made);
    nb_nxmx_free(made);
    return status;
}

nb_status attacked_nxmx_written(void)
{
    return stated(write_one());
}

/* A master of a file that is written first. */
nb_status attacked_nxmx_master(void)
{
    const nb_nxmx_options how = {.type = NB_TYPE_UINT, .bits = 16, .master = 1};
    nb_nxmx *made = NULL;
    nb_status status = write_one();

    if (status == NB_OK)
        status = nb_nxmx_create(attacked_nxmx.sim, in_folder("m.nxs"), &how, &made);
    if (status == NB_OK) status = nb_nxmx_append_file(made, "a.nxs", 1, NULL);
    if (status == NB_OK) return nb_nxmx_close(made);
    nb_nxmx_free(made);
    return stated(status);
}

nb_status attacked_nxmx_checked(void)
{
    nb_status status = write_one();

    if (status == NB_OK)
        status = nb_nxmx_check(attacked_nxmx.sim, in_folder("a.nxs"), 1, NULL);
    return stated(status);
}

nb_status attacked_nxmx_counted(void)
{
    int64_t n;
    nb_status status = write_one();

    if (status == NB_OK)
        status = nb_nxmx_count(attacked_nxmx.ctx, in_folder("a.nxs"), &n, NULL);
    return stated(status);
}

nb_status attacked_nxmx_read(void)
{
    nb_measured *image = NULL;
    nb_status status = write_one();

    if (status == NB_OK)
        status = nb_image_read(attacked_nxmx.ctx, in_folder("a.nxs"), 0, &image);
    nb_measured_free(image);
    return stated(status);
}
