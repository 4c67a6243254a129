/*
 * modes.h - small scenes for gradcheck, and the modes that each of them stands for.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_MODES_H
#define NB_TESTS_MODES_H

#include <nanobrag/nanobrag.h>

/* one line per mode: name of the column, its values */
#define MODE_LIST(X)                                                                       \
    X(shape, "square round gauss gauss_star tophat")                                       \
    X(lookup, "constant nearest tricubic")                                                 \
    X(factors, "first last each")                                                          \
    X(sources, "single grid list")                                                         \
    X(phi, "still steps")                                                                  \
    X(mosaic, "none one many axes")                                                        \
    X(surface, "flat point curved thick")                                                  \
    X(pivot, "beam sample")                                                                \
    X(background, "none water table")                                                      \
    X(place, "distance close pix0 panels")                                                 \
    X(axes, "cell matrix")                                                                 \
    X(cells, "whole real")                                                                 \
    X(cut, "all dmin")

enum { SQUARE, ROUND, GAUSS, GAUSS_STAR, TOPHAT };
enum { CONSTANT, NEAREST, TRICUBIC };
enum { FIRST, LAST, EACH }; /* factors: of one sample, of the last, of each */
enum { SINGLE, GRID, LIST };
enum { STILL, STEPS };
enum { NONE, ONE, MANY, AXES };
enum { FLAT, POINT, CURVED, THICK };
enum { BEAM, SAMPLE };
enum { WATER = 1, TABLE };
enum { DISTANCE, CLOSE, PIX0, PANELS };
enum { CELL, MATRIX };
enum { WHOLE, REAL };
enum { ALL, DMIN };

struct modes {
    const char *name;
    struct {
#define MEMBER(name, values) int name;
        MODE_LIST(MEMBER)
#undef MEMBER
    } is;
};

extern const struct modes modes_list[];
extern const size_t modes_count;

enum {
#define COUNT(name, values) MODE_##name,
    MODE_LIST(COUNT)
#undef COUNT
        MODE_KINDS
};

/* Returns 1 for two modes that cannot meet: a curved detector has no panels. */
int modes_exclude(int a, int v, int b, int w);

/* Name of a mode, its value in a scene, how many values there are, and their names. */
const char *modes_kind(int kind);
int modes_value(const struct modes *modes, int kind);
int modes_values(int kind);
const char *modes_value_name(int kind, int value, char *name, size_t size);

/* 12 x 12 pixels (8 x 8 with a grid of sources) of a small triclinic crystal in these
 * modes. */
nb_scene modes_scene(const struct modes *modes);

/* 1 when this build can spread points. */
int modes_has_psf(void);

/* The base scene of docs/development/gradients.md, 16 x 16 pixels. */
nb_scene modes_base(void);

/* Why the derivative of an image by a parameter is 0 in such a scene, though the registry
 * does not say so; NULL: it is not. `scene` may be resolved. */
const char *modes_zero(const nb_scene *s, const char *name);

#endif
