/* planes.c - planes of background in boxes: their arrays, and which box holds a pixel.
 * SPDX-License-Identifier: MIT */
#include "kernels/planes/planes.h"

#include <string.h>

void planes_take(struct arena *arena, struct planes *planes)
{
    const size_t n = window_packed(planes->window);

    planes->box = arena_take(arena, planes->nbox, sizeof *planes->box);
    planes->owner = arena_take(arena, n, sizeof *planes->owner);
    planes->bar = arena_take(arena, n, sizeof *planes->bar);
    planes->weight = arena_take(arena, n, sizeof *planes->weight);
    planes->plane = arena_take(arena, planes->nbox, sizeof *planes->plane);
    planes->pixels = arena_take(arena, planes->threads, sizeof *planes->pixels);
    for (size_t i = 0; i < planes->threads; i++) {
        struct plane_pixels none, *p = planes->pixels ? planes->pixels + i : &none;

        p->photons = arena_take(arena, PLANE_BLOCK, sizeof(double));
        p->observed = arena_take(arena, PLANE_BLOCK, sizeof(double));
        p->share = arena_take(arena, PLANE_BLOCK, sizeof(double));
        p->u = arena_take(arena, PLANE_BLOCK, sizeof(double));
        p->v = arena_take(arena, PLANE_BLOCK, sizeof(double));
    }
}

/* Makes a box the owner of its rendered pixels. */
static void draw(const struct planes *planes, int number)
{
    const struct window *w = planes->window;
    const int *box = planes->box[number];
    struct pixel_span t;

    for (int s = box[2]; s < box[3]; s++)
        for (int f = box[0]; window_next_span(w, s, f, box[1], &t); f = t.end)
            for (int i = t.fast; i < t.end; i++)
                if (window_shows(w, s, i))
                    planes->owner[t.place + (size_t)(i - t.fast)] = number;
}

void planes_draw(struct planes *planes, const int *box)
{
    const size_t n = window_packed(planes->window);

    memcpy(planes->box, box, planes->nbox * sizeof *planes->box);
    for (size_t i = 0; i < n; i++) planes->owner[i] = -1;
    for (int i = (int)planes->nbox - 1; i >= 0; i--) draw(planes, i);
}

void planes_report(const struct planes *planes, size_t box, double out[PLANE_TERMS])
{
    const int *edge = planes->box[box];
    const double *at = planes->plane[box].at;
    const int width = edge[1] - edge[0], height = edge[3] - edge[2];

    out[0] = at[0];
    out[1] = width > 1 ? 2 * at[1] / (width - 1) : 0;
    out[2] = height > 1 ? 2 * at[2] / (height - 1) : 0;
}

void planes_row(const struct planes *planes, int s, int f, int n, double *bar,
                double *weight)
{
    struct pixel_span t;
    size_t place;

    if (!window_next_span(planes->window, s, f, f + n, &t)) return;
    place = t.place;
    memcpy(bar, planes->bar + place, (size_t)n * sizeof *bar);
    if (weight) memcpy(weight, planes->weight + place, (size_t)n * sizeof *weight);
}
