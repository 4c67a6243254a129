/*
 * marks.c - draws rings of equal resolution, the cross of the direct beam, and the legend.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "nanobrag_program/picture/picture.h"

enum { RINGS = 6, RING_GAP = 45, STEPS = 100, ARM = 8 };

static const uint8_t ring_colour[3] = {70, 120, 210}, cross_colour[3] = {220, 40, 40},
                     ink[3] = {40, 40, 40}, frame[3] = {120, 120, 120};

/* length of the scattering vector at each point of a picture */
struct reciprocal {
    float *q; /* (height x width), 1/A */
    double least, most;
};

/* Convert a coordinate in points of the picture to pixels of the detector. */
static double to_pixel(const struct extent *e, int first, double point)
{
    return first + point * e->down / e->up;
}

static int reciprocal_make(struct reciprocal *r, const struct extent *e)
{
    r->q = malloc((size_t)e->width * (size_t)e->height * sizeof *r->q);
    if (!r->q) return 0;
    r->least = INFINITY, r->most = 0;
    for (int y = 0; y < e->height; y++)
        for (int x = 0; x < e->width; x++) {
            const double q =
                view_q_length(&e->view, to_pixel(e, e->fast, x), to_pixel(e, e->slow, y));

            r->q[(size_t)y * (size_t)e->width + (size_t)x] = (float)q;
            r->least = fmin(r->least, q);
            r->most = fmax(r->most, q);
        }
    return 1;
}

/* Finds the point of the direct beam in the picture. Returns 0 if the point is outside the
 * picture; if the beam does not meet the detector, `at` is the middle of the picture. */
static int beam_point(const struct extent *e, double at[2])
{
    double pixel[2];

    at[0] = e->width / 2.0, at[1] = e->height / 2.0;
    if (!view_beam(&e->view, pixel)) return 0;
    if (!(fabs(pixel[0]) < 1e6 && fabs(pixel[1]) < 1e6)) return 0;
    at[0] = (pixel[0] - e->fast) * e->up / e->down;
    at[1] = (pixel[1] - e->slow) * e->up / e->down;
    return at[0] >= 0 && at[1] >= 0 && at[0] < e->width && at[1] < e->height;
}

/* Draw the ring of spacing d, A, and its label at a free place beside it: the nearest to
 * the diagonal from the beam to the upper right. Without a free place there is no label. */
static void draw_ring(struct canvas *c, const struct extent *e, const struct reciprocal *r,
                      double d)
{
    char label[24];
    int best_x = 0, best_y = 0;
    double best = INFINITY, beam[2];
    const float limit = (float)(1 / d);

    (void)snprintf(label, sizeof label, "%.4g A", d);
    (void)beam_point(e, beam);
    for (int y = 0; y + 1 < e->height; y++)
        for (int x = 0; x + 1 < e->width; x++) {
            const float *q = r->q + (size_t)y * (size_t)e->width + (size_t)x;
            const int inside = q[0] < limit;
            const double right = x - beam[0], above = beam[1] - y;
            const double off = fabs(right - above) + (right > 0 && above > 0 ? 0 : 1e6);

            if (inside == (q[1] < limit) && inside == (q[e->width] < limit)) continue;
            canvas_point(c, x, y, ring_colour);
            if (off >= best || y + 2 > e->height
                || !canvas_is_free(c, x + 3, y - TEXT_HEIGHT - 3,
                                   canvas_text_width(label) + 2, TEXT_HEIGHT + 2))
                continue;
            best = off, best_x = x, best_y = y;
        }
    if (best < INFINITY)
        canvas_text(c, best_x + 4, best_y - TEXT_HEIGHT - 2, label, ring_colour);
}

/* Returns the largest number up to `most` that is 1, 2 or 5 times a power of ten. */
static double round_step(double most)
{
    const double power = pow(10, floor(log10(most)));

    return most >= 5 * power ? 5 * power : most >= 2 * power ? 2 * power : power;
}

/* Choose spacings of rings, A, the smallest first: from a list of usual ones if two or more
 * of them are in the picture, else in equal steps. Returns how many. */
static int choose_spacings(const struct extent *e, const struct reciprocal *r,
                           double d[RINGS])
{
    static const double usual[] = {0.5, 0.6, 0.8, 1,  1.2, 1.5, 2,  2.5, 3,  3.5,
                                   4,   5,   7,   10, 15,  20,  30, 50,  100};
    const double diagonal = hypot(e->width, e->height);
    const double points = diagonal / (r->most - r->least);
    const double gap = fmax(RING_GAP, diagonal / (2 * RINGS));
    const double step = round_step((1 / fmax(r->least, r->most / 20) - 1 / r->most) / 4);
    int n = 0;

    for (size_t i = 0; i < sizeof usual / sizeof *usual && n < RINGS; i++) {
        if (1 / usual[i] >= r->most || (1 / usual[i] - r->least) * points < RING_GAP / 2.0)
            continue;
        if (n == 0 || (1 / d[n - 1] - 1 / usual[i]) * points >= gap) d[n++] = usual[i];
    }
    if (n > 1) return n;
    n = 0;
    for (int k = (int)ceil(1 / r->most / step), last = k + STEPS; n < RINGS && k < last;
         k++) {
        const double spacing = k * step;

        if (spacing * r->least >= 1 || (1 / spacing - r->least) * points < gap / 2) break;
        if (n == 0 || (1 / d[n - 1] - 1 / spacing) * points >= gap) d[n++] = spacing;
    }
    return n;
}

int marks_rings(struct canvas *c, const struct extent *e)
{
    struct reciprocal r;
    double d[RINGS];
    int n = 0;

    if (!reciprocal_make(&r, e)) return 0;
    if (r.most - r.least > 1e-6 * r.most) n = choose_spacings(e, &r, d);
    for (int i = 0; i < n; i++) draw_ring(c, e, &r, d[i]);
    free(r.q);
    return 1;
}

void marks_beam(struct canvas *c, const struct extent *e)
{
    double beam[2];

    if (!beam_point(e, beam)) return;
    for (int i = -ARM; i <= ARM; i++) {
        const int x = (int)floor(beam[0]), y = (int)floor(beam[1]);

        if (x + i < e->width) canvas_point(c, x + i, y, cross_colour);
        if (y + i < e->height) canvas_point(c, x, y + i, cross_colour);
    }
}

/* Draw a bar from white to black, with a frame. */
static void draw_bar(struct canvas *c, int x, int y, int width)
{
    for (int i = -1; i <= width; i++)
        for (int row = -1; row <= TEXT_HEIGHT; row++) {
            const uint8_t grey = (uint8_t)(255 - 255 * i / (width - 1));
            const uint8_t shade[3] = {grey, grey, grey};
            const int edge = i < 0 || i == width || row < 0 || row == TEXT_HEIGHT;

            canvas_point(c, x + i, y + row, edge ? frame : shade);
        }
}

void marks_legend(struct canvas *c, int top, const struct tone *tone, int has_hidden)
{
    enum { MARGIN = 4, BAR = 96 };
    const int y = top + (LEGEND_HEIGHT - TEXT_HEIGHT) / 2;
    char text[64];
    int x = MARGIN;

    (void)snprintf(text, sizeof text, "%.3g", tone->white);
    canvas_text(c, x, y, text, ink);
    x += canvas_text_width(text) + MARGIN;
    draw_bar(c, x, y, BAR);
    x += BAR + MARGIN;
    (void)snprintf(text, sizeof text, "%.3g photons or more, %s%s", tone->black,
                   tone_word(tone), has_hidden ? ", hatched: not rendered" : "");
    canvas_text(c, x, y, text, ink);
}
