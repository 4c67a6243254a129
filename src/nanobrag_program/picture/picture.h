/*
 * picture.h - a picture of an image for viewing: a canvas of points, the tone that turns
 * photons into grey, and the marks that are drawn over it. picture.c goes through them in
 * this order.
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
    enum tone_kind kind; /* never TONE_AUTO */
    double white, black; /* photons */
};

/* Choose the tone for n > 0 finite numbers; `sorted` has space for n. With TONE_AUTO an
 * image with a background gets a linear tone around the background. An image without one
 * gets a logarithmic tone, so that strong and weak spots look different. */
struct tone tone_choose(enum tone_kind asked, const double *photons, size_t n,
                        double *sorted);

/* Returns 1 if the photons that are white and black are given, and so the same in every
 * picture. */
int tone_is_fixed(const double range[2]);

/* Returns 255 for white down to 0 for black. */
int tone_grey(const struct tone *tone, double photons);

/* "linear", "sqrt" or "log" */
const char *tone_word(const struct tone *tone);

/* ---- canvas.c: points, and text on them ---- */

struct canvas {
    int width, height;
    uint8_t *rgb; /* height x width x 3, rows from the top */
    uint8_t *taken; /* height x width; 1: no label may stand here */
};

enum { TEXT_HEIGHT = 7, TEXT_ADVANCE = 6 };

/* Set a point; outside of the canvas nothing happens. */
void canvas_point(struct canvas *c, int x, int y, const uint8_t colour[3]);

/* Returns 1 if a rectangle lies within the canvas and no point of it is taken. */
int canvas_is_free(const struct canvas *c, int x, int y, int width, int height);

/* Write text on white paper with its upper left corner at (x, y), and take its points. */
void canvas_text(struct canvas *c, int x, int y, const char *text, const uint8_t colour[3]);

/* Returns the width of a text in points. */
int canvas_text_width(const char *text);

/* ---- marks.c: marks over the image, and the legend below it ---- */

/* The part of the detector that is shown, and how it maps to points. */
struct extent {
    int fast, slow; /* first pixel that is shown */
    int down, up; /* pixels per point, points per pixel; one of them is 1 */
    int width, height; /* points */
    struct view view;
};

/* Draw rings of equal resolution with their labels. Returns 0 if memory is missing. */
int marks_rings(struct canvas *c, const struct extent *extent);

/* Draw a cross where the direct beam meets the detector, if that is shown. */
void marks_beam(struct canvas *c, const struct extent *extent);

/* Write the meaning of white and black below the picture, from row `top`. */
void marks_legend(struct canvas *c, int top, const struct tone *tone, int has_hidden);

enum { LEGEND_WIDTH = 372, LEGEND_HEIGHT = 15 };

#endif
