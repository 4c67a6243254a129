/*
 * picture.c - writes -pngfile: rendered pixels in inverted grey, other pixels hatched,
 * resolution rings, a cross at the direct beam, and a legend below. Of an roi only the roi
 * is shown.
 *
 * A picture that is scaled down shows the maximum of each block after a 3 x 3 maximum
 * filter, so that no spot is lost.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_program/picture/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* points of the longer edge, unless -png_size is given */
enum { LARGEST = 1024, SMALLEST = 512 };

struct picture {
    struct extent extent;
    int nfast, nslow; /* numbers of cells; a cell is up x up points */
    double *photons; /* (nslow x nfast); NaN where no pixel was rendered */
    double *rendered; /* the finite ones of them, with space to sort them */
    size_t nrendered;
    struct canvas canvas;
};

/* ---- photons ---- */

static int is_rendered(const struct run *run, int fast, int slow)
{
    const nb_detector *d = &run->command.resolved.detector;

    if (fast < d->roi[0] || fast >= d->roi[1] || slow < d->roi[2] || slow >= d->roi[3])
        return 0;
    return !d->mask || d->mask[(size_t)slow * (size_t)d->nfast + (size_t)fast] != 0;
}

/* Returns the most photons of rendered pixels in a block of edge x edge pixels and up to
 * `reach` around it; NaN if no pixel of the block was rendered. */
static double most_photons(const struct run *run, const int first[2], int edge, int reach)
{
    double most = NAN;
    int any = 0;

    for (int s = first[1] - reach; s < first[1] + edge + reach; s++)
        for (int f = first[0] - reach; f < first[0] + edge + reach; f++) {
            const int in_block = s >= first[1] && s < first[1] + edge && f >= first[0]
                                 && f < first[0] + edge;

            if (!is_rendered(run, f, s)) continue;
            any |= in_block;
            most = fmax(most, run->image[(size_t)s * (size_t)run->command.description.nfast
                                         + (size_t)f]);
        }
    return any ? most : NAN;
}

static void reduce(const struct run *run, struct picture *p)
{
    const int edge = p->extent.down;

    for (int s = 0; s < p->nslow; s++)
        for (int f = 0; f < p->nfast; f++) {
            const int first[2] = {p->extent.fast + f * edge, p->extent.slow + s * edge};
            const double most = most_photons(run, first, edge, edge > 1);

            p->photons[(size_t)s * (size_t)p->nfast + (size_t)f] = most;
            if (isfinite(most)) p->rendered[p->nrendered++] = most;
        }
}

/* ---- points ---- */

/* Draw every point in its grey, or hatched if nothing was rendered. Mark dark points as
 * taken, so that no label covers a spot. */
static void draw_points(struct picture *p, const struct tone *tone)
{
    static const uint8_t pale[3] = {228, 233, 242}, line[3] = {196, 206, 224};
    enum { DARK = 150, HATCHES = 8 };
    const int up = p->extent.up;

    for (int y = 0; y < p->extent.height; y++)
        for (int x = 0; x < p->extent.width; x++) {
            const double photons =
                p->photons[(size_t)(y / up) * (size_t)p->nfast + (size_t)(x / up)];

            if (isfinite(photons)) {
                const int grey = tone_grey(tone, photons);
                const uint8_t shade[3] = {(uint8_t)grey, (uint8_t)grey, (uint8_t)grey};

                canvas_point(&p->canvas, x, y, shade);
                p->canvas.taken[(size_t)y * (size_t)p->canvas.width + (size_t)x] =
                    grey < DARK;
            } else
                canvas_point(&p->canvas, x, y, (x + y) % HATCHES ? pale : line);
        }
}

static int draw(struct run *run, struct picture *p)
{
    const double *const range = run->command.s->png_range;
    struct tone tone = {TONE_LINEAR, 0, 1};

    reduce(run, p);
    if (tone_is_fixed(range))
        tone = (struct tone){run->command.s->png_scale, range[0], range[1]};
    else if (p->nrendered > 0)
        tone = tone_choose(run->command.s->png_scale, p->rendered, p->nrendered,
                           p->rendered + p->nrendered);
    draw_points(p, &tone);
    /* with panels, pixels are shown as in the file, where no ring would be round */
    if (run->command.description.npanel == 0) {
        if (!marks_rings(&p->canvas, &p->extent)) return 0;
        marks_beam(&p->canvas, &p->extent);
    }
    marks_legend(&p->canvas, p->extent.height, &tone,
                 p->nrendered < (size_t)p->nfast * (size_t)p->nslow);
    return 1;
}

/* ---- the picture ---- */

/* Choose the part of the detector to show and its size in points. `size` is the longest
 * allowed edge; 0: the default. */
static void choose_extent(struct picture *p, const struct run *run, int size)
{
    const int *roi = run->command.resolved.detector.roi;
    const int nfast = roi[1] - roi[0], nslow = roi[3] - roi[2];
    const int most = nfast > nslow ? nfast : nslow;
    const int largest = size > 0 ? size : LARGEST, smallest = size > 0 ? size : SMALLEST;
    struct extent *e = &p->extent;

    e->view =
        (struct view){&run->command.description, run->command.resolved.beam.wavelength};
    e->fast = roi[0], e->slow = roi[2];
    e->down = (most + largest - 1) / largest;
    e->up = most < smallest ? smallest / most : 1;
    p->nfast = (nfast + e->down - 1) / e->down;
    p->nslow = (nslow + e->down - 1) / e->down;
    e->width = p->nfast * e->up;
    e->height = p->nslow * e->up;
    p->canvas.width = e->width > LEGEND_WIDTH ? e->width : LEGEND_WIDTH;
    p->canvas.height = e->height + LEGEND_HEIGHT;
}

static int picture_make(struct picture *p)
{
    const size_t cells = (size_t)p->nfast * (size_t)p->nslow;
    const size_t points = (size_t)p->canvas.width * (size_t)p->canvas.height;

    p->photons = calloc(cells, sizeof *p->photons);
    p->rendered = malloc(2 * cells * sizeof *p->rendered);
    p->canvas.rgb = malloc(3 * points);
    p->canvas.taken = calloc(points, 1);
    if (!p->photons || !p->rendered || !p->canvas.rgb || !p->canvas.taken) return 0;
    memset(p->canvas.rgb, 255, 3 * points);
    return 1;
}

static void picture_free(struct picture *p)
{
    free(p->photons);
    free(p->rendered);
    free(p->canvas.rgb);
    free(p->canvas.taken);
}

int picture_write(struct run *run, const char *path)
{
    struct picture p = {0};
    const struct canvas *c = &p.canvas;
    int code = 0;

    if (run->command.resolved.detector.roi[1] <= run->command.resolved.detector.roi[0]
        || run->command.resolved.detector.roi[3] <= run->command.resolved.detector.roi[2])
        return message_failure(run->command.messages, "-roi holds no pixel for a picture");
    choose_extent(&p, run, run->command.s->png_size);
    if (picture_make(&p) && draw(run, &p)) {
        if (run->command.s->full_report)
            printf("writing %s as a picture of %d x %d points\n", path, c->width,
                   c->height);
        const nb_status status =
            nb_png_write(run->command.ctx, path, c->width, c->height, c->rgb);
        if (status != NB_OK)
            code = message_status(run->command.messages, status,
                                  nb_context_message(run->command.ctx), 1);
    } else {
        code = message_failure(run->command.messages, "out of memory for the picture");
    }
    picture_free(&p);
    return code;
}
