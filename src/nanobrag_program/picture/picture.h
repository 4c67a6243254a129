/*
 * picture.h - a picture of an image: the tone, which turns photons into grey, the canvas,
 * and the marks drawn on it. picture.c uses them in this order.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_PICTURE_H
#define NB_CLI_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include "nanobrag_program/output/pixel_view.h"
#include "nanobrag_program/run.h"

/* ---- tone.c: from photons to grey ---- */

struct tone {
    enum tone_kind kind; /* not TONE_AUTO */
    double white, black; /* photons that are white, and black */
};

/* Choose the tone for n > 0 finite numbers of photons. `sorted` has space for n. With
 * TONE_AUTO an image with a background gets a linear tone around it; an image without a
 * background gets a logarithmic tone, which tells strong from weak spots. */
struct tone tone_choose(enum tone_kind asked, const double *photons, size_t n,
                        double *sorted);

/* Returns 1 if -png_scale states the photons that are white and black, so that all pictures
 * have the same. */
int tone_is_fixed(const double range[2]);

/* Returns the grey of photons, from 255 (white) to 0 (black). */
int tone_grey(const struct tone *tone, double photons);

/* Returns "linear", "sqrt" or "log". */
const char *tone_word(const struct tone *tone);

/* ---- canvas.c: points, and text on them ---- */

struct canvas {
    int width, height;
    uint8_t *rgb; /* height x width x 3, rows from the top */
    uint8_t *taken; /* height x width; 1: no label may stand here */
};

enum { TEXT_HEIGHT = 7, TEXT_ADVANCE = 6 };

/* Set a point. Points outside the canvas are ignored. */
void canvas_point(struct canvas *c, int x, int y, const uint8_t colour[3]);

/* Returns 1 if a rectangle lies inside the canvas and none of its points is taken. */
int canvas_is_free(const struct canvas *c, int x, int y, int width, int height);

/* Write text on white, with its upper left corner at (x, y), and mark its points as
 * taken. */
void canvas_text(struct canvas *c, int x, int y, const char *text, const uint8_t colour[3]);

/* Returns the width of a text in points. */
int canvas_text_width(const char *text);

/* ---- marks.c: marks over the image, and the legend below it ---- */

/* the part of the detector that is shown, and its size in points */
struct extent {
    int fast, slow; /* first pixel that is shown */
    int down, up; /* pixels per point, points per pixel; one of the two is 1 */
    int width, height; /* points */
    struct view view;
};

/* Draw rings of equal resolution with labels. Returns 0 if there is no memory. */
int marks_rings(struct canvas *c, const struct extent *extent);

/* Draw a cross where the direct beam meets the detector, if that is in the picture. */
void marks_beam(struct canvas *c, const struct extent *extent);

/* Write the legend below the picture, from row `top` on: which photons are white and
 * black. */
void marks_legend(struct canvas *c, int top, const struct tone *tone, int has_hidden);

enum { LEGEND_WIDTH = 372, LEGEND_HEIGHT = 15 };

#endif
