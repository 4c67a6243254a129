/*
 * window_rows.c - finds the rendered pixels in a row of an image (window_next_span(),
 * window_shown()).
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "base/window.h"

int window_next_span(const struct window *image, int s, int f, int end,
                     struct pixel_span *out)
{
    while (f < end) {
        const struct window *w = image->npanel > 0 ? window_at(image, s, f) : image;
        const struct tile_span *span;
        int from;

        if (!w || w->fast0 >= end) return 0;
        from = max_int(f, w->fast0) - w->fast0;
        span = tile_span_of(w, s - w->slow0, from);
        f = w->fast0 + w->nfast; /* the next panel may begin here */
        if (!span || w->fast0 + span->fast >= end) continue;
        from = max_int(from, span->fast);
        out->fast = w->fast0 + from;
        out->end = min_int(w->fast0 + span->end, end);
        /* the last tile may extend beyond its panel */
        if (image->npanel > 0) out->end = min_int(out->end, f);
        out->place = window_place(span, s - w->slow0, from);
        if (out->fast < out->end) return 1;
    }
    return 0;
}

void window_shown(const struct window *image, int s, int f, int n, uint8_t *shown)
{
    struct pixel_span part;

    memset(shown, 0, (size_t)n);
    for (int at = f; window_next_span(image, s, at, f + n, &part); at = part.end) {
        const struct window *w = image->npanel > 0 ? window_at(image, s, part.fast) : image;
        const int row = s - w->slow0, first = part.fast - w->fast0;
        const struct tile_span *span = tile_span_of(w, row, first);

        for (int i = first; i < part.end - w->fast0; i++) {
            const struct tile *tile = w->tile + span->first + (i - span->fast) / TILE_FAST;

            shown[w->fast0 + i - f] =
                (uint8_t)(tile->shown[row - tile->slow] >> (i - tile->fast) & 1);
        }
    }
}
