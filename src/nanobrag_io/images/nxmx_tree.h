/*
 * nxmx_tree.h - writes the groups and fields of an NXmx file, except for its pixels.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_NXMX_TREE_H
#define NB_IO_IMAGES_NXMX_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "nanobrag_io/images/exposure.h"
#include "nanobrag_io/images/hdf5/hdf5_tree.h"

#define NXMX_DATA "/entry/data/data"

/* numbers that may differ from frame to frame */
struct nxmx_frame {
    double phi, width; /* degree */
    double wavelength, fluence, flux; /* A; photons/m^2; photons/s */
    double stokes[4];
    double row; /* checksum of the frame's parameters */
    double *spectrum; /* (2 x m) m wavelengths, then m weights */
};

struct nxmx_times {
    char start[32], end[32]; /* UTC, ISO 8601 */
};

/* Each writes a part of the contents that a file states once, from its first frame. */
void nxmx_tree_begin(struct hdf5_tree *tree, const char *name, const char *start);
void nxmx_tree_detector(struct hdf5_tree *tree, const struct exposure *first);
void nxmx_tree_range(struct hdf5_tree *tree, int bits, double underload, double overload);

/* Writes a mask of the pixels that are not rendered, if any of them lies on a panel.
 * Returns 0 without memory. */
int nxmx_tree_mask(nb_context *ctx, struct hdf5_tree *tree, const struct exposure *first);

/* The path of the group that identifies the scene (scene/members/fingerprint.h). The group
 * has the numbers of the scene, and a checksum of the parameters of each frame. */
#define NXMX_SCENE "/entry/nanobrag"

/* Writes the group NXMX_SCENE, if the first frame has the numbers of the scene. Returns 0
 * without memory. */
int nxmx_tree_scene(struct hdf5_tree *tree, const struct exposure *first,
                    const struct nxmx_frame *frame, size_t n);

/* Writes the contents that are known only at the end. `sweep` is 1 if the crystal turns
 * from frame to frame; `end` is the time. Returns 0 without memory. */
int nxmx_tree_end(struct hdf5_tree *tree, const struct exposure *first,
                  const struct nxmx_frame *frame, size_t n, int sweep, const char *end);

#endif
