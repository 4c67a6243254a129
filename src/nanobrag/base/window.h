/*
 * window.h - the pixels of an image that are rendered: pixels inside the ROI, inside one of
 * the boxes if there are boxes, and not masked. They are kept as a list of the tiles that
 * contain them, so that memory and time do not grow with the detector.
 *
 * An image of several panels has a window for each, whose tiles are listed panel by panel.
 * Kernels work on the window of a panel, in pixels counted from the panel's first; stages
 * of whole images use the window of the image, in pixels of the image. Where the detector
 * is one rectangle, both are the same.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_WINDOW_H
#define NB_BASE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

/* Tiles lie on a fixed grid of the detector, which depends neither on the window nor on the
 * number of threads. */
enum { TILE_FAST = 32, TILE_SLOW = 8, TILE_PIXELS = TILE_FAST * TILE_SLOW };

/* Return the smaller and the larger of two whole numbers. */
static inline int min_int(int a, int b)
{
    return a < b ? a : b;
}

static inline int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* A rectangle of pixels, fast .. fast + width - 1 by slow .. slow + height - 1 of a panel:
 * a tile, or a part of one. Bit i of shown[r] tells whether pixel (slow + r, fast + i) is
 * rendered. */
struct tile {
    int fast, slow, width, height;
    int number; /* of the tile in the list of the image */
    int panel; /* index of its panel; 0 where the detector is one rectangle */
    uint32_t shown[TILE_SLOW];
};

/* Tiles of the list that lie side by side. */
struct tile_span {
    int first; /* number of its first tile */
    int fast, end; /* its columns of pixels, end excluded; multiples of TILE_FAST */
};

/* Rows slow .. end - 1 of an image, which the same panels cross. */
struct panel_rows {
    int slow, end;
    int first, n; /* these panels are order[first .. first + n - 1], from left to right */
};

struct window {
    int nslow, nfast; /* of the image; in the window of a panel, of the panel */
    int slow0, fast0; /* its first pixel in the image */
    int stride; /* pixels from a row of the image to the next */
    int roi[4]; /* fast0 fast1 slow0 slow1, ends excluded, clipped to the pixels */
    const uint8_t *mask; /* from its first pixel on, 0 = skipped, rows as in the image;
                            NULL: none */
    int boxed; /* 1: only pixels inside a box are rendered */
    int64_t count; /* rendered pixels */
    int ntile; /* number of listed tiles, from `first_tile` on */
    int first_tile;
    struct tile *tile; /* all tiles of the image that have a rendered pixel, row after row
                          of each panel */
    int first_row, nrow; /* rows of tiles, from the first that holds a tile to the last; an
                            image of panels counts the rows of all panels */
    int row0; /* number of the first row, counted in the image */
    int *row; /* (nrow + 1) number of the first span in each row of tiles */
    struct tile_span *span; /* all spans of the image, row after row */
    /* of an image of panels; else there are none */
    int npanel;
    struct window *panel; /* (npanel) */
    int npanel_rows, *order;
    struct panel_rows *panel_rows; /* (npanel_rows) from top to bottom */
};

struct nb_panel;
struct nb_detector;

/* The pixels to render: inside the ROI, not masked, inside a panel where there are panels
 * and, if nbox is not 0, inside one of the boxes (rows of four numbers as `roi`), all
 * widened by `margin` pixels within their panel. */
struct window_pixels {
    int nslow, nfast;
    int roi[4];
    const uint8_t *mask; /* nslow x nfast */
    const int *box;
    size_t nbox;
    int margin;
    const struct nb_panel *panel; /* (npanel) their sizes and places in the image */
    int npanel;
};

/* Returns the pixels that a detector with all sizes filled in renders, without a margin. */
struct window_pixels window_pixels_of(const struct nb_detector *detector);

/* Makes a window; it keeps the pointer to the mask, and copies all else. Returns 0 if there
 * is no memory; the window then is empty. window_free() takes that too. */
int window_make(const struct window_pixels *pixels, struct window *out);
void window_free(struct window *window);

/* Returns the bytes of memory that a window holds. */
size_t window_bytes(const struct window *window);

/* Points a window to a copy of its mask. */
void window_set_mask(struct window *window, const uint8_t *mask);

/* window_panels() returns how many windows of panels an image has; window_panel() returns
 * the window of panel i. */
static inline int window_panels(const struct window *w)
{
    return w->npanel > 0 ? w->npanel : 1;
}

static inline const struct window *window_panel(const struct window *w, int i)
{
    return w->npanel > 0 ? w->panel + i : w;
}

/* Returns the index, in the image, of pixel (s, f) of a panel. */
static inline size_t window_pixel(const struct window *panel, int s, int f)
{
    return (size_t)(panel->slow0 + s) * (size_t)panel->stride + (size_t)(panel->fast0 + f);
}

/* Returns 1 if all pixels of an image or of a panel are rendered. */
static inline int window_is_whole(const struct window *w)
{
    return w->count == (int64_t)w->nslow * w->nfast;
}

/* Returns 1 if some pixel of the ROI may not be rendered. */
static inline int window_hides(const struct window *w)
{
    return (w->mask || w->boxed || w->npanel > 0) && !window_is_whole(w);
}

/* ---- pixels of a panel ---- */

/* Returns the span of tiles that holds pixel (s, f) of a panel or, where its tile is not
 * listed, the next span to the right in the same row of tiles; NULL if there is none. */
static inline const struct tile_span *tile_span_of(const struct window *w, int s, int f)
{
    const int row = s / TILE_SLOW - w->first_row;
    int low, high;

    if (!w->span || s < 0 || row < 0 || row >= w->nrow) return NULL;
    low = w->row[row], high = w->row[row + 1];
    while (low < high) {
        const int mid = (low + high) / 2;

        if (w->span[mid].end > f)
            high = mid;
        else
            low = mid + 1;
    }
    return low < w->row[row + 1] ? w->span + low : NULL;
}

/* Returns the listed tile that holds pixel (s, f) of a panel, or NULL. */
static inline const struct tile *window_tile_at(const struct window *w, int s, int f)
{
    const struct tile_span *span = tile_span_of(w, s, f);

    if (!span || span->fast > f) return NULL;
    return w->tile + span->first + (f - span->fast) / TILE_FAST;
}

/* Returns 1 if a pixel of a rectangle (as `roi`) is rendered. */
int window_overlaps(const struct window *window, const int rectangle[4]);

/* Shrinks a rectangle of a panel to the rendered pixels in it. Returns 0 if there are
 * none. */
int window_shrink(const struct window *panel, int rectangle[4]);

/* ---- pixels of an image ---- */

/* Returns the window of the panel that holds pixel (s, f) of an image of panels or, if none
 * does, of the next one to the right in row s; NULL if there is none. */
const struct window *window_at(const struct window *image, int s, int f);

/* Returns 1 if pixel (s, f) of the image is rendered. */
static inline int window_shows(const struct window *w, int s, int f)
{
    const struct tile *tile;

    if (w->npanel > 0) {
        w = window_at(w, s, f);
        if (!w || w->fast0 > f) return 0;
        s -= w->slow0, f -= w->fast0;
    }
    tile = window_tile_at(w, s, f);
    return tile && tile->shown[s - tile->slow] >> (f - tile->fast) & 1;
}

/* Sets shown[i] to 1 where pixel (s, f + i) of the image is rendered, else 0, for n pixels.
 */
void window_shown(const struct window *image, int s, int f, int n, uint8_t *shown);

/* ---- numbers of the pixels of the listed tiles, packed ---- */

/* Returns how many numbers a packed array holds. Rows of a span follow each other, so that
 * the pixels of a row of a span lie side by side, as they do in an image. */
static inline size_t window_packed(const struct window *w)
{
    return (size_t)w->ntile * TILE_PIXELS;
}

/* Returns the place of pixel (s, f) of a panel, which lies in the span, in a packed array.
 */
static inline size_t window_place(const struct tile_span *span, int s, int f)
{
    return (size_t)span->first * TILE_PIXELS
           + (size_t)(s % TILE_SLOW) * (size_t)(span->end - span->fast)
           + (size_t)(f - span->fast);
}

/* Pixels of a row of the image that lie side by side in a packed array: fast .. end - 1,
 * from `place`. */
struct pixel_span {
    int fast, end;
    size_t place;
};

/* Finds the next span of row s from pixel f on, in tiles that are listed. Returns 0
 * where there is none before `end`. */
int window_next_span(const struct window *image, int s, int f, int end,
                     struct pixel_span *out);

#endif
