/*
 * preview.c - a picture for viewing: inverted grey from median - 1 sigma (white) to median
 * + 12 sigma (black), resolution rings and a cross at the direct beam.
 *
 * A picture that is scaled down passes a 3 x 3 maximum filter first and takes the maximum
 * of each block, so that no spot gets lost.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/view.h"
#include "cli/run.h"

enum { LARGEST = 1024, SMALLEST = 512, RINGS = 6, RING_GAP = 45 };

struct picture {
    int width, height;
    int down, up; /* pixels per point, points per pixel; one of them is 1 */
    double *value; /* the reduced image, before it is enlarged by `up` */
    int nfast, nslow; /* of value */
    uint8_t *rgb;
    float *q; /* length of the scattering vector at each point, 1/A */
    struct view view;
};

static const uint8_t ring_colour[3] = {70, 120, 210}, cross_colour[3] = {220, 40, 40};

/* ---- grey ---- */

static double largest_near(const struct run *run, int fast, int slow)
{
    const int nf = run->description.nfast, ns = run->description.nslow;
    double most = -INFINITY;
    for (int s = slow - 1; s <= slow + 1; s++)
        for (int f = fast - 1; f <= fast + 1; f++)
            if (s >= 0 && s < ns && f >= 0 && f < nf)
                most = fmax(most, run->image[(size_t)s * (size_t)nf + (size_t)f]);
    return most;
}

static void reduce(const struct run *run, struct picture *p)
{
    const int nf = run->description.nfast, ns = run->description.nslow;
    for (int s = 0; s < p->nslow; s++)
        for (int f = 0; f < p->nfast; f++) {
            double most = -INFINITY;
            for (int y = s * p->down; y < ns && y < (s + 1) * p->down; y++)
                for (int x = f * p->down; x < nf && x < (f + 1) * p->down; x++)
                    most = fmax(most, p->down > 1
                                          ? largest_near(run, x, y)
                                          : run->image[(size_t)y * (size_t)nf + (size_t)x]);
            p->value[(size_t)s * (size_t)p->nfast + (size_t)f] = most;
        }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Find white and black of the scale. sigma is 1.4826 times the median absolute deviation,
 * or photon noise where that is larger and leaves contrast. Where most pixels are the same,
 * black is the level that one pixel in 300 exceeds. */
static void find_scale(const double *value, size_t n, double *sorted, double *white,
                       double *black)
{
    memcpy(sorted, value, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    const double median = sorted[n / 2], most = sorted[n - 1];
    const double strong = sorted[n - 1 - n / 300];
    for (size_t i = 0; i < n; i++) sorted[i] = fabs(value[i] - median);
    qsort(sorted, n, sizeof *sorted, compare);
    const double deviation = 1.4826 * sorted[n / 2];
    double sigma = fmax(deviation, sqrt(fmax(median, 0)));
    if (median + 12 * sigma > most) sigma = deviation;
    if (!(sigma > 0)) sigma = ((strong > median ? strong : most) - median) / 12;
    *white = median - sigma;
    *black = median + 12 * sigma;
}

static int splat_grey(struct picture *p)
{
    const size_t n = (size_t)p->nfast * (size_t)p->nslow;
    double white, black;
    double *sorted = malloc(n * sizeof *sorted);
    if (!sorted) return 0;
    find_scale(p->value, n, sorted, &white, &black);
    free(sorted);
    const double range = black > white ? black - white : 1;
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            const size_t at = (size_t)(y / p->up) * (size_t)p->nfast + (size_t)(x / p->up);
            const double v = 255 * (1 - (p->value[at] - white) / range);
            memset(p->rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)x),
                   v > 255 ? 255
                   : v > 0 ? (int)v
                           : 0,
                   3);
        }
    return 1;
}

/* ---- marks ---- */

static void put_point(struct picture *p, int x, int y, const uint8_t colour[3])
{
    if (x < 0 || y < 0 || x >= p->width || y >= p->height) return;
    memcpy(p->rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)x), colour, 3);
}

/* Convert a point of the picture to pixels of the detector. */
static double to_pixel(const struct picture *p, double point)
{
    return point * p->down / p->up;
}

static void fill_q(struct picture *p)
{
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++)
            p->q[(size_t)y * (size_t)p->width + (size_t)x] =
                (float)view_q_length(&p->view, to_pixel(p, x), to_pixel(p, y));
}

/* The digits 0 to 9, the point and A: five columns of seven bits, the lowest bit on top. */
static const uint8_t glyphs[12][5] = {
    {0x3e, 0x51, 0x49, 0x45, 0x3e}, {0x00, 0x42, 0x7f, 0x40, 0x00},
    {0x42, 0x61, 0x51, 0x49, 0x46}, {0x21, 0x41, 0x45, 0x4b, 0x31},
    {0x18, 0x14, 0x12, 0x7f, 0x10}, {0x27, 0x45, 0x45, 0x45, 0x39},
    {0x3c, 0x4a, 0x49, 0x49, 0x30}, {0x01, 0x71, 0x09, 0x05, 0x03},
    {0x36, 0x49, 0x49, 0x49, 0x36}, {0x06, 0x49, 0x49, 0x29, 0x1e},
    {0x00, 0x60, 0x60, 0x00, 0x00}, {0x7c, 0x12, 0x11, 0x12, 0x7c},
};

static void put_text(struct picture *p, int x, int y, const char *text)
{
    enum { ADVANCE = 6 };
    static const uint8_t paper[3] = {255, 255, 255};
    for (int row = -1; row < 8; row++)
        for (int column = -1; column < ADVANCE * (int)strlen(text); column++)
            put_point(p, x + column, y + row, paper);
    for (; *text; text++, x += ADVANCE) {
        const int which = *text == '.' ? 10 : *text == 'A' ? 11 : *text - '0';
        if (which < 0 || which > 11) continue;
        for (int column = 0; column < 5; column++)
            for (int row = 0; row < 7; row++)
                if (glyphs[which][column] >> row & 1)
                    put_point(p, x + column, y + row, ring_colour);
    }
}

/* Draw the ring of spacing d, with its label where the ring is nearest to the diagonal from
 * the beam to the upper right. */
static void draw_ring(struct picture *p, double d, const double beam[2])
{
    char label[16];
    int best_x = -1, best_y = -1;
    double best = INFINITY;
    const float limit = (float)(1 / d);
    for (int y = 0; y + 1 < p->height; y++)
        for (int x = 0; x + 1 < p->width; x++) {
            const float *q = p->q + (size_t)y * (size_t)p->width + (size_t)x;
            const int inside = q[0] < limit;
            if (inside == (q[1] < limit) && inside == (q[p->width] < limit)) continue;
            put_point(p, x, y, ring_colour);
            const double right = x - beam[0], above = beam[1] - y;
            const double off = fabs(right - above) + (right > 0 && above > 0 ? 0 : 1e6);
            if (off >= best || x + 40 > p->width || y < 12) continue;
            best = off;
            best_x = x;
            best_y = y;
        }
    if (best_x < 0) return;
    snprintf(label, sizeof label, "%.3g A", d);
    put_text(p, best_x + 4, best_y - 9, label);
}

static void draw_rings(struct picture *p, const double beam[2])
{
    static const double spacings[] = {0.5, 0.6, 0.8, 1,  1.2, 1.5, 2,  2.5, 3,
                                      4,   5,   7,   10, 15,  20,  30, 50,  100};
    double last[RINGS];
    int drawn = 0;
    for (size_t i = 0; i < sizeof spacings / sizeof *spacings && drawn < RINGS; i++) {
        /* the distance of the ring from the beam along a row of the picture */
        double radius = 0;
        const int limit = 2 * (p->width + p->height);
        while (
            radius < limit
            && view_q_length(&p->view, to_pixel(p, beam[0] + radius), to_pixel(p, beam[1]))
                       * spacings[i]
                   < 1)
            radius += 1;
        const double reach =
            hypot(fmax(beam[0], p->width - beam[0]), fmax(beam[1], p->height - beam[1]));
        if (radius >= limit || radius > reach || radius < RING_GAP / 2.0) continue;
        if (drawn > 0 && last[drawn - 1] - radius < RING_GAP) continue;
        draw_ring(p, spacings[i], beam);
        last[drawn++] = radius;
    }
}

static void draw_cross(struct picture *p, const double beam[2])
{
    enum { ARM = 8 };
    const int x = (int)floor(beam[0]), y = (int)floor(beam[1]);
    for (int i = -ARM; i <= ARM; i++) {
        put_point(p, x + i, y, cross_colour);
        put_point(p, x, y + i, cross_colour);
    }
}

static void choose_size(struct picture *p, int nfast, int nslow)
{
    const int most = nfast > nslow ? nfast : nslow;
    p->down = (most + LARGEST - 1) / LARGEST;
    p->up = most < SMALLEST ? SMALLEST / most : 1;
    p->nfast = (nfast + p->down - 1) / p->down;
    p->nslow = (nslow + p->down - 1) / p->down;
    p->width = p->nfast * p->up;
    p->height = p->nslow * p->up;
}

static int draw_picture(struct run *run, struct picture *p)
{
    double beam[2];
    reduce(run, p);
    fill_q(p);
    if (!splat_grey(p)) return 0;
    if (!view_beam(&p->view, beam)) return 1;
    for (int i = 0; i < 2; i++) {
        beam[i] = beam[i] * p->up / p->down;
        if (fabs(beam[i]) > 1e6) return 1;
    }
    draw_rings(p, beam);
    draw_cross(p, beam);
    return 1;
}

int preview_write(struct run *run, const char *path)
{
    struct picture p = {.view = {&run->description, run->resolved.beam.wavelength}};
    choose_size(&p, run->description.nfast, run->description.nslow);
    p.value = calloc((size_t)p.nfast * (size_t)p.nslow, sizeof *p.value);
    p.rgb = malloc((size_t)p.width * (size_t)p.height * 3);
    p.q = malloc((size_t)p.width * (size_t)p.height * sizeof *p.q);
    int code = 0;
    if (p.value && p.rgb && p.q && draw_picture(run, &p)) {
        if (!run->s->quiet)
            printf("writing %s as a picture of %d x %d points\n", path, p.width, p.height);
        const nb_status status = nb_png_write(run->ctx, path, p.width, p.height, p.rgb);
        if (status != NB_OK)
            code = message_status(run->messages, status, nb_context_message(run->ctx), 1);
    } else {
        code = message_failure(run->messages, "out of memory for the picture");
    }
    free(p.value);
    free(p.rgb);
    free(p.q);
    return code;
}
