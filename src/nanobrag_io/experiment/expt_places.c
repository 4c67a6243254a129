/*
 * expt_places.c - finds where the panels of an .expt lie in its images. If the images are
 * NXmx, dxtbx does not write these places, but names each panel after the group of the NXmx
 * file that states its place. If other names have replaced these, the order of the panels
 * is the order of the groups by name. SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/experiment/expt_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "nanobrag_io/file.h"
#include "nanobrag_io/images/nxmx_places.h"

/* Returns 1 if all panels are named after paths inside an NXmx file, and stores the
 * paths. */
static int are_modules(const cJSON *panels, struct nxmx_place *place)
{
    const cJSON *panel;
    int i = 0;

    cJSON_ArrayForEach(panel, panels)
    {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(panel, "name");

        if (!cJSON_IsString(name) || name->valuestring[0] != '/') return 0;
        place[i++].path = name->valuestring;
    }
    return 1;
}

/* Returns the name of the first image file of an experiment, as the .expt states it; NULL
 * if it states none. */
static const char *images_of(const struct expt *e)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(e->root, "experiment");
    const cJSON *set, *name;

    if (expt_model(e, cJSON_GetArrayItem(list, e->i), "imageset", &set) != NB_OK)
        return NULL;
    name = cJSON_GetObjectItemCaseSensitive(set, "template");
    if (!cJSON_IsString(name))
        name = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(set, "images"), 0);
    return cJSON_IsString(name) ? name->valuestring : NULL;
}

static void warn_of_stack(const struct expt *e, const char *why)
{
    log_line(e->ctx, NB_LOG_WARNING, "expt",
             "%s: the panels are stacked in the order of the file, because only the images "
             "state their places: %s",
             e->name, why);
}

/* Checks that panel i of the .expt has as many pixels as in the NXmx file, and that its
 * place there is in range. */
static nb_status check_place(const struct expt *e, const char *file, int i,
                             const struct nxmx_place *place, const nb_panel *panel)
{
    const int64_t most = 1 << 30;

    if (place->size[0] != panel->nslow || place->size[1] != panel->nfast)
        return fail(e->ctx, NB_ERR_FORMAT,
                    "%s: panel %d has %d x %d pixels (fast x slow), but %s in %s has %lld "
                    "x %lld; give the .expt of these images",
                    e->name, i, panel->nfast, panel->nslow, place->path, file,
                    (long long)place->size[1], (long long)place->size[0]);
    if (place->origin[0] >= 0 && place->origin[0] < most && place->origin[1] >= 0
        && place->origin[1] < most)
        return NB_OK;
    return fail(e->ctx, NB_ERR_FORMAT,
                "%s: data_origin of %s is %lld %lld, expected the numbers of a pixel", file,
                place->path, (long long)place->origin[0], (long long)place->origin[1]);
}

static nb_status set_places(const struct expt *e, const char *file,
                            const struct nxmx_place *place, const int64_t whole[2],
                            nb_geometry *geometry)
{
    nb_geometry_info *info = &geometry->info;
    int64_t end[2] = {whole[0], whole[1]};

    for (int i = 0; i < info->npanel; i++) {
        nb_panel *panel = geometry->panel[ALONG_Z] + i;

        NB_TRY(check_place(e, file, i, place + i, panel));
        panel->slow0 = (int)place[i].origin[0];
        panel->fast0 = (int)place[i].origin[1];
        for (int k = 0; k < 2; k++)
            if (end[k] < place[i].origin[k] + place[i].size[k])
                end[k] = place[i].origin[k] + place[i].size[k];
    }
    if (!((double)end[0] * (double)end[1] < 2147483648.0))
        return fail(e->ctx, NB_ERR_UNSUPPORTED,
                    "%s: the panels need an image of %lld x %lld pixels, which is too "
                    "large",
                    file, (long long)end[1], (long long)end[0]);
    info->nslow = (int)end[0];
    info->nfast = (int)end[1];
    return NB_OK;
}

static nb_status place_by_file(const struct expt *e, const char *name,
                               struct nxmx_place *place, nb_geometry *geometry)
{
    char *const file = file_sibling(e->name, name);
    int64_t whole[2];
    nb_status status;

    if (!file) return fail_memory(e->ctx, e->name);
    status = nxmx_read_places(e->ctx, file, place, geometry->info.npanel, whole);
    if (status == NB_OK)
        status = set_places(e, file, place, whole, geometry);
    else
        warn_of_stack(e, nb_context_message(e->ctx)), status = NB_OK;
    free(file);
    return status;
}

/* Returns 1 if all panels have the sizes of the modules. */
static int same_sizes(const struct nxmx_place *place, const nb_geometry *geometry)
{
    for (int i = 0; i < geometry->info.npanel; i++) {
        const nb_panel *panel = geometry->panel[ALONG_Z] + i;

        if (place[i].size[0] != panel->nslow || place[i].size[1] != panel->nfast) return 0;
    }
    return 1;
}

/* Places panels with other names by the modules of an NXmx in the order of their names, if
 * the numbers and sizes agree. Otherwise the panels stay stacked, as other files have
 * them. */
static nb_status place_by_order(const struct expt *e, const char *name,
                                struct nxmx_place *place, nb_geometry *geometry)
{
    const int n = geometry->info.npanel;
    char *const file = file_sibling(e->name, name);
    char(*path)[NXMX_PATH] = calloc((size_t)n, sizeof *path);
    const char *const kind = file ? nb_image_kind(file) : NULL;
    int64_t whole[2];
    nb_status status = file && path ? NB_OK : fail_memory(e->ctx, e->name);

    if (status == NB_OK && kind && strcmp(kind, "HDF5") == 0
        && nxmx_read_modules(e->ctx, file, n, path) == NB_OK) {
        for (int i = 0; i < n; i++) place[i].path = path[i];
        if (nxmx_read_places(e->ctx, file, place, n, whole) == NB_OK
            && same_sizes(place, geometry))
            status = set_places(e, file, place, whole, geometry);
    }
    free(path);
    free(file);
    return status;
}

nb_status expt_place_panels(const struct expt *e, const cJSON *panels,
                            nb_geometry *geometry)
{
    struct nxmx_place *place = calloc((size_t)geometry->info.npanel, sizeof *place);
    const char *const name = images_of(e);
    nb_status status = NB_OK;

    if (!place) return fail_memory(e->ctx, e->name);
    if (!are_modules(panels, place))
        status = name ? place_by_order(e, name, place, geometry) : NB_OK;
    else if (name)
        status = place_by_file(e, name, place, geometry);
    else
        warn_of_stack(e, "the file names no image");
    free(place);
    return status;
}
