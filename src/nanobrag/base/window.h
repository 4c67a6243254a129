/*
 * window.h - the pixels of an image that are rendered: those inside the ROI, inside one of
 * the boxes where there are boxes, and not masked. They are kept as a list of the tiles
 * that hold any of them, so that neither memory nor time follow the size of the detector.
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

/* A rectangle of pixels, fast .. fast + width - 1 by slow .. slow + height - 1: a tile, or
 * a part of one. Bit i of shown[r] tells whether pixel (slow + r, fast + i) is rendered. */
struct tile {
    int fast, slow, width, height;
    int number; /* of the tile in the list of its window */
    uint32_t shown[TILE_SLOW];
};

/* Tiles of the list that lie side by side. */
struct window_run {
    int first; /* number of its first tile */
    int fast, end; /* its columns of pixels, end excluded; multiples of TILE_FAST */
};

struct window {
    int nslow, nfast;
    int roi[4]; /* fast0 fast1 slow0 slow1, ends excluded, clipped to the image */
    const uint8_t *mask; /* nslow x nfast, 0 = skipped; NULL: none */
    int boxed; /* 1: only pixels inside a box are rendered */
    int64_t count; /* rendered pixels */
    int ntile;
    struct tile *tile; /* (ntile) row after row; none is without a rendered pixel */
    int first_row, nrow; /* rows of tiles, from the first that holds one to the last */
    int *row; /* (nrow + 1) number of the first run in each row of tiles */
    struct window_run *run; /* row after row */
};

/* The pixels to render: inside the ROI, not masked and, if nbox is not 0, inside one of
 * the boxes (rows of four numbers as `roi`), all widened by `margin` pixels. */
struct window_pixels {
    int nslow, nfast;
    int roi[4];
    const uint8_t *mask;
    const int *box;
    size_t nbox;
    int margin;
};

/* Makes a window; it keeps the pointer to the mask, and copies all else. Returns 0 if there
 * is no memory; the window then is empty. window_free() takes that too. */
int window_make(const struct window_pixels *pixels, struct window *out);
void window_free(struct window *window);

/* Returns the bytes of memory that a window holds. */
size_t window_bytes(const struct window *window);

/* Returns the run of tiles that holds pixel (s, f) of the image or, where its tile is not
 * listed, the next run to the right in the same row of tiles; NULL if there is none. */
static inline const struct window_run *window_run_of(const struct window *w, int s, int f)
{
    const int row = s / TILE_SLOW - w->first_row;
    int low, high;

    if (!w->run || s < 0 || row < 0 || row >= w->nrow) return NULL;
    low = w->row[row], high = w->row[row + 1];
    while (low < high) {
        const int mid = (low + high) / 2;

        if (w->run[mid].end > f)
            high = mid;
        else
            low = mid + 1;
    }
    return low < w->row[row + 1] ? w->run + low : NULL;
}

/* Returns the listed tile that holds pixel (s, f), or NULL. */
static inline const struct tile *window_tile_at(const struct window *w, int s, int f)
{
    const struct window_run *run = window_run_of(w, s, f);

    if (!run || run->fast > f) return NULL;
    return w->tile + run->first + (f - run->fast) / TILE_FAST;
}

/* Returns 1 if pixel (s, f) is rendered. */
static inline int window_shows(const struct window *w, int s, int f)
{
    const struct tile *tile = window_tile_at(w, s, f);

    return tile && tile->shown[s - tile->slow] >> (f - tile->fast) & 1;
}

/* Returns 1 if all pixels of the image are rendered. */
static inline int window_is_whole(const struct window *w)
{
    return w->count == (int64_t)w->nslow * w->nfast;
}

/* Returns 1 if a pixel of the ROI may be one that is not rendered. */
static inline int window_hides(const struct window *w)
{
    return w->mask || w->boxed;
}

/* Returns 1 if a pixel of a rectangle (as `roi`) is rendered. */
int window_overlaps(const struct window *window, const int rectangle[4]);

/* Shrinks a rectangle to the rendered pixels in it. Returns 0 if there are none. */
int window_shrink(const struct window *window, int rectangle[4]);

/* ---- numbers of the pixels of the listed tiles, packed ---- */

/* Returns how many numbers a packed array holds. Rows of a run follow each other, so that
 * the pixels of a row of a run lie side by side, as they do in an image. */
static inline size_t window_packed(const struct window *w)
{
    return (size_t)w->ntile * TILE_PIXELS;
}

/* Returns the place of pixel (s, f), which lies in the run, in a packed array. */
static inline size_t window_place(const struct window_run *run, int s, int f)
{
    return (size_t)run->first * TILE_PIXELS
           + (size_t)(s % TILE_SLOW) * (size_t)(run->end - run->fast)
           + (size_t)(f - run->fast);
}

#endif
