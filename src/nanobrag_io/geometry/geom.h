/*
 * geom.h - a geometry file of CrystFEL while it is read: its lines (geom_lines.c), its
 * groups (geom_groups.c) and its bad pixels (geom_mask.c). geom_read.c makes an nb_geometry
 * from them. Names are parts of the text, which is still in memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_GEOMETRY_GEOM_H
#define NB_IO_GEOMETRY_GEOM_H

#include <stdint.h>

#include <nanobrag/geometry.h>

#include "nanobrag_io/file.h"
#include "nanobrag_io/text.h"
#include "scene/detector/panels.h"

/* The meaning of an axis of the data; a number of 0 or more: the axis is fixed at it. */
enum { GEOM_NONE = -4, GEOM_FRAME = -3, GEOM_SS = -2, GEOM_FS = -1 };

enum { GEOM_DIMS = 10, GEOM_NAME = 32 };

/* min_fs, max_fs, min_ss, max_ss; of a bad region in the laboratory min_x and so on. */
enum { GEOM_MIN_FS, GEOM_MAX_FS, GEOM_MIN_SS, GEOM_MAX_SS, GEOM_RANGES };

/* Photon energy times wavelength, eV A, as on the command line. */
#define GEOM_EV_ANGSTROM 12398.42

/* A panel. Numbers that are not given are NAN, ranges -1. */
struct geom_panel {
    struct span name;
    long line, axis_line[2]; /* line: first line with its name; axis_line: lines of fs and
                                ss */
    double axis[2][3]; /* fs, ss: x, y, z */
    double corner[2]; /* pixels */
    double coffset, clen, res; /* m, m, pixels/m */
    struct span clen_from; /* the place of clen in a data file */
    int range[GEOM_RANGES];
    int dim[GEOM_DIMS];
    struct span data;
    int is_bad, edge; /* no_index, mask_edge_pixels */
    int fast0, slow0; /* its place in the image (geom_read.c) */
};

/* A bad region of one panel, or of all that meet it. */
struct geom_bad {
    struct span name, panel;
    long line;
    double range[GEOM_RANGES]; /* NAN: not given */
    int dim[GEOM_DIMS]; /* if fixed, only panels with the same number */
    int in_lab, in_data; /* it has limits x, y; limits fs, ss */
};

/* A line that lists names: a group, a rigid group or a collection of them. */
enum geom_list_kind { GEOM_GROUP, GEOM_RIGID, GEOM_COLLECTION };
struct geom_list {
    enum geom_list_kind kind;
    struct span name, members; /* separated by commas */
    long line;
};

struct geom {
    nb_context *ctx;
    struct text text;
    int npanel, nbad, nlist; /* used, of */
    int panel_room, bad_room, list_room;
    struct geom_panel *panel, defaults;
    struct geom_bad *bad;
    struct geom_list *list;
    int *table, last; /* indices of panels by their names, last one found */
    double wavelength, shift[2]; /* A, m; 0 0: not stated */
    struct span wavelength_from;
    int strange; /* lines that are not understood */
};

/* A set of panels that move as one. */
struct geom_set {
    struct span name;
    long line;
    int parent; /* as in nb_panel_group */
    int n, *member; /* panels, each once */
    double middle[3]; /* of its panels, mm (geom_read.c) */
};

/* The tree of groups: `group` of each panel as in nb_panel. */
struct geom_tree {
    int n;
    struct geom_set *set;
    int *group; /* (npanel) */
};

/* Reads all lines. geom_free() is right in any case. */
nb_status geom_read_lines(nb_context *ctx, const char *name, const void *bytes, size_t n,
                          struct geom *g);
void geom_free(struct geom *g);

/* Returns the index of a panel; -1: there is none. */
int geom_find(struct geom *g, struct span name);

/* Orders the groups. geom_tree_free() is right in any case. */
nb_status geom_make_tree(struct geom *g, struct geom_tree *t);
void geom_tree_free(struct geom_tree *t);

/* Makes the mask of an image of this size, to be freed; NULL where no pixel is bad.
 * *masked becomes the number of bad pixels. */
nb_status geom_make_mask(struct geom *g, int nslow, int nfast, uint8_t **out,
                         size_t *masked);

/* Parses a .geom; `to` is an nb_geometry **. */
file_parser geom_parse;

int geom_same(struct span a, struct span b);

/* Writes a geometry at an exposure, with the groups of its resolved scene. */
struct exposure;
nb_status geom_write(nb_context *ctx, const char *path, const struct exposure *exposure,
                     const nb_scene *scene);

#endif
