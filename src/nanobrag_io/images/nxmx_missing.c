/*
 * nxmx_missing.c - replaces nxmx.c and nxmx_sources.c in a build without HDF5.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/context.h"
#include "nanobrag_io/images/nxmx.h"

int nxmx_can_compress(int compression)
{
    (void)compression;
    return 0;
}

nb_status nxmx_begin(nb_context *ctx, const char *path, const nb_nxmx_options *options,
                     struct nxmx **out)
{
    (void)options, (void)out;
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "%s: this build has no HDF5, which writes NXmx; install it (Debian: "
                "libhdf5-dev) and build again",
                path);
}

nb_status nxmx_append(struct nxmx *nxmx, struct exposure *exposure, const nb_array *image)
{
    (void)nxmx, (void)exposure, (void)image;
    return NB_ERR_UNSUPPORTED;
}

nb_status nxmx_append_file(struct nxmx *nxmx, const char *path, size_t n,
                           const struct exposure *exposure)
{
    (void)nxmx, (void)path, (void)n, (void)exposure;
    return NB_ERR_UNSUPPORTED;
}

void nxmx_spoil(struct nxmx *nxmx, nb_status status)
{
    (void)nxmx, (void)status;
}

nb_status nxmx_compare(nb_context *ctx, const char *path, const double *scene, size_t n,
                       const double *rows, size_t frames)
{
    int64_t unused;

    (void)scene, (void)n, (void)rows, (void)frames;
    return nxmx_frames(ctx, path, &unused, NULL);
}

nb_status nxmx_frames(nb_context *ctx, const char *path, int64_t *n, int *master)
{
    (void)n, (void)master;
    return fail(ctx, NB_ERR_UNSUPPORTED, "%s: this build has no HDF5, which reads NXmx",
                path);
}

nb_status nxmx_end(struct nxmx *nxmx)
{
    (void)nxmx;
    return NB_ERR_UNSUPPORTED;
}

void nxmx_drop(struct nxmx *nxmx)
{
    (void)nxmx;
}
