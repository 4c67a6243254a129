/*
 * geom.h - a geometry file of CrystFEL (.geom) while it is read: its lines (geom_lines.c),
 * groups (geom_groups.c) and bad pixels (geom_mask.c), from which geom_read.c makes an
 * nb_geometry. A name is a span of the file's text, which stays in memory meanwhile.
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

/* what dimN of a panel says about axis N of the data; a number from 0 on is a fixed
 * index */
enum { GEOM_NONE = -4, GEOM_FRAME = -3, GEOM_SS = -2, GEOM_FS = -1 };

enum { GEOM_DIMS = 10, GEOM_NAME = 32 };

/* limits in fs and ss; in a bad region of the laboratory, x takes the place of fs and y of
 * ss */
enum { GEOM_MIN_FS, GEOM_MAX_FS, GEOM_MIN_SS, GEOM_MAX_SS, GEOM_RANGES };

/* photon energy times wavelength, eV A, as for the option -energy */
#define GEOM_EV_ANGSTROM 12398.42

/* a panel; numbers that are not given are NAN, and ranges -1 */
struct geom_panel {
    struct span name;
    long line, axis_line[2]; /* first line that names the panel; lines of its fs and ss */
    double axis[2][3]; /* fs and ss as x, y, z */
    double corner[2]; /* corner_x and corner_y, pixels */
    double coffset, clen, res; /* m, m, pixels/m */
    struct span clen_from; /* the place of clen in a data file, if it is no number */
    int range[GEOM_RANGES];
    int dim[GEOM_DIMS];
    struct span data;
    int is_bad, edge; /* no_index and mask_edge_pixels of the file */
    int fast0, slow0; /* first pixel in the image; set by geom_read.c */
};

/* a bad region: of one panel, or of all panels that it meets */
struct geom_bad {
    struct span name, panel;
    long line;
    double range[GEOM_RANGES]; /* NAN: not given */
    int dim[GEOM_DIMS]; /* a fixed index restricts the region to panels with that index */
    int in_lab, in_data; /* 1: it has limits of x and y; 1: limits of fs and ss */
};

/* a line that lists names: a group, a rigid group or a collection of rigid groups */
enum geom_list_kind { GEOM_GROUP, GEOM_RIGID, GEOM_COLLECTION };
struct geom_list {
    enum geom_list_kind kind;
    struct span name, members; /* names separated by commas */
    long line;
};

struct geom {
    nb_context *ctx;
    struct text text;
    int npanel, nbad, nlist; /* numbers of elements */
    int panel_room, bad_room, list_room; /* elements that there is memory for */
    struct geom_panel *panel, defaults;
    struct geom_bad *bad;
    struct geom_list *list;
    int *table, last; /* hash table of panel names; panel found last */
    double wavelength, shift[2]; /* A, 0: not stated; x and y, m */
    struct span wavelength_from;
    int strange; /* number of lines that are not understood */
};

/* a group: panels that move together */
struct geom_set {
    struct span name;
    long line;
    int parent; /* number of the parent from 1 on, or 0 */
    int n, *member; /* the panels, each once */
    double middle[3]; /* mean of the panels' middles, mm; set by geom_read.c */
};

/* The tree of groups. group[i] is the number, from 1 on, of the smallest group that has
 * panel i; 0: none. */
struct geom_tree {
    int n;
    struct geom_set *set;
    int *group; /* (npanel) */
};

/* Reads all lines of a .geom. The caller calls geom_free(), also after a failure. */
nb_status geom_read_lines(nb_context *ctx, const char *name, const void *bytes, size_t n,
                          struct geom *g);
void geom_free(struct geom *g);

/* Returns the index of the panel with a name; -1 if there is none. */
int geom_find(struct geom *g, struct span name);

/* Makes a tree of the groups. The caller calls geom_tree_free(), also after a failure. */
nb_status geom_make_tree(struct geom *g, struct geom_tree *t);
void geom_tree_free(struct geom_tree *t);

/* Makes the mask of an image of nslow x nfast pixels, 0 where a pixel is bad. The caller
 * frees *out, which is NULL if no pixel is bad. *masked is the number of bad pixels. */
nb_status geom_make_mask(struct geom *g, int nslow, int nfast, uint8_t **out,
                         size_t *masked);

/* Parses the bytes of a .geom; `to` is an nb_geometry **. */
file_parser geom_parse;

int geom_same(struct span a, struct span b);

/* Writes a .geom of the panels of an exposure, with the groups of the resolved scene. */
struct exposure;
nb_status geom_write(nb_context *ctx, const char *path, const struct exposure *exposure,
                     const nb_scene *scene);

#endif
