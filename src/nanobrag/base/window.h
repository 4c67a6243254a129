/*
 * window.h - the pixels of an image that are rendered: pixels inside the ROI, inside one of
 * the boxes if there are boxes, and not masked. A window lists the tiles that contain such
 * pixels, so that memory and time do not grow with the detector.
 *
 * An image of several panels also has a window for each panel; its tiles are listed panel
 * by panel. Kernels use the window of a panel, which counts pixels from the panel's first
 * one. Stages of whole images use the window of the image. If the detector is one
 * rectangle, there is one window, used for both.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_BASE_WINDOW_H
#define NB_BASE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

/* The size of a tile in pixels. Tiles lie on a fixed grid of the detector, which depends
 * neither on the window nor on the number of threads. */
enum { TILE_FAST = 32, TILE_SLOW = 8, TILE_PIXELS = TILE_FAST * TILE_SLOW };

static inline int min_int(int a, int b)
{
    return a < b ? a : b;
}

static inline int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* A rectangle of pixels, fast .. fast + width - 1 by slow .. slow + height - 1 of a panel:
 * a tile, or a part of a tile. Bit i of shown[r] is 1 if pixel (slow + r, fast + i) is
 * rendered. */
struct tile {
    int fast, slow, width, height;
    int number; /* number of the tile in the list of the image */
    int panel; /* number of its panel; 0 if the detector is one rectangle */
    uint32_t shown[TILE_SLOW];
};

/* Listed tiles that lie side by side in a row of tiles. */
struct tile_span {
    int first; /* number of the first tile in the list */
    int fast, end; /* columns of pixels, end excluded; multiples of TILE_FAST */
};

/* Rows slow .. end - 1 of an image; the same panels cross all of them. */
struct panel_rows {
    int slow, end;
    /* the panels are order[first .. first + n - 1] of the window, from left to right */
    int first, n;
};

struct window {
    int nslow, nfast; /* size of the image, or of the panel in a panel's window */
    int slow0, fast0; /* where the panel begins in the image; 0 in the window of an image */
    int stride; /* pixels from one row of the image to the next, also for a panel */
    int roi[4]; /* fast0 fast1 slow0 slow1, ends excluded, cut to nslow x nfast */
    /* mask at the first pixel of the window, and `stride` bytes from row to row; 0: the
     * pixel is not rendered; NULL: there is no mask */
    const uint8_t *mask;
    int boxed; /* 1: only pixels inside a box are rendered */
    int64_t count; /* number of rendered pixels */
    /* the window's tiles are number first_tile .. first_tile + ntile - 1 of the list */
    int ntile;
    int first_tile;
    /* the list: all tiles of the image that have a rendered pixel, panel by panel and row
     * by row */
    struct tile *tile;
    /* first_row: number of the first row of tiles that has a listed tile; nrow: rows from
     * there to the last such row (for an image of panels the sum over panels) */
    int first_row, nrow;
    int row0; /* index of the panel's first row among all rows of the image */
    int *row; /* (nrow + 1) index of the first span of each row of tiles */
    struct tile_span *span; /* the spans of the image, row after row */
    /* The next members describe an image of panels; they are 0 if the detector is one
     * rectangle. */
    int npanel;
    struct window *panel; /* (npanel) a window for each panel */
    int npanel_rows, *order;
    /* (npanel_rows) rows that cross panels, from top to bottom */
    struct panel_rows *panel_rows;
};

struct nb_panel;
struct nb_detector;

/* The arguments of window_make(). A pixel is rendered if it lies inside the ROI, is not
 * masked, lies inside a panel (if there are panels) and inside one of the boxes (if nbox is
 * not 0; nbox x 4 numbers, in the order of `roi`). ROI and boxes are first widened by
 * `margin` pixels, within each panel. */
struct window_pixels {
    int nslow, nfast;
    int roi[4];
    const uint8_t *mask; /* (nslow x nfast) 0: the pixel is not rendered; NULL: no mask */
    const int *box;
    size_t nbox;
    int margin;
    const struct nb_panel *panel; /* (npanel) sizes and places in the image */
    int npanel;
};

/* Returns the arguments of window_make() for a detector whose sizes are filled in, with a
 * margin of 0. */
struct window_pixels window_pixels_of(const struct nb_detector *detector);

/* Makes a window. The window keeps the pointer to the mask and copies everything else.
 * Returns 0 if there is no memory; the window is then empty, and window_free() may still be
 * called. */
int window_make(const struct window_pixels *pixels, struct window *out);
void window_free(struct window *window);

/* Returns the bytes of memory that a window has allocated. */
size_t window_bytes(const struct window *window);

/* Lets a window read its mask from a copy at another address. */
void window_set_mask(struct window *window, const uint8_t *mask);

/* window_panels() returns the number of panels, 1 if the detector is one rectangle.
 * window_panel() returns the window of panel i. */
static inline int window_panels(const struct window *w)
{
    return w->npanel > 0 ? w->npanel : 1;
}

static inline const struct window *window_panel(const struct window *w, int i)
{
    return w->npanel > 0 ? w->panel + i : w;
}

/* Returns the index of pixel (s, f) of a panel in an image, which is stored with f running
 * fastest. */
static inline size_t window_pixel(const struct window *panel, int s, int f)
{
    return (size_t)(panel->slow0 + s) * (size_t)panel->stride + (size_t)(panel->fast0 + f);
}

/* Returns 1 if all pixels of an image or of a panel are rendered. */
static inline int window_is_whole(const struct window *w)
{
    return w->count == (int64_t)w->nslow * w->nfast;
}

/* Returns 1 if the ROI may hold pixels that are not rendered. */
static inline int window_hides(const struct window *w)
{
    return (w->mask || w->boxed || w->npanel > 0) && !window_is_whole(w);
}

/* ---- pixels of a panel ---- */

/* Returns the span of tiles that holds pixel (s, f) of a panel. If the tile of the pixel is
 * not listed, returns the next span to the right in the same row of tiles, or NULL. */
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

/* Returns 1 if a pixel of a rectangle (four numbers in the order of `roi`) is rendered. */
int window_overlaps(const struct window *window, const int rectangle[4]);

/* Shrinks a rectangle of a panel to the smallest one that has the same rendered pixels.
 * Returns 0 if none of its pixels is rendered. */
int window_shrink(const struct window *panel, int rectangle[4]);

/* ---- pixels of an image ---- */

/* Returns the window of the panel that holds pixel (s, f) of an image of panels. If no
 * panel holds it, returns the next panel to the right in row s, or NULL. */
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

/* Sets shown[i], for i < n, to 1 if pixel (s, f + i) of the image is rendered, else to
 * 0. */
void window_shown(const struct window *image, int s, int f, int n, uint8_t *shown);

/* ---- packed arrays: one number for each pixel of the listed tiles ---- */

/* Returns the length of a packed array. The rows of a span follow each other, so that the
 * pixels of one row of a span lie side by side, as in an image. */
static inline size_t window_packed(const struct window *w)
{
    return (size_t)w->ntile * TILE_PIXELS;
}

/* Returns the index in a packed array of pixel (s, f) of a panel, which lies in `span`. */
static inline size_t window_place(const struct tile_span *span, int s, int f)
{
    return (size_t)span->first * TILE_PIXELS
           + (size_t)(s % TILE_SLOW) * (size_t)(span->end - span->fast)
           + (size_t)(f - span->fast);
}

/* Pixels fast .. end - 1 of a row of the image, which lie side by side in a packed array
 * from index `place` on. */
struct pixel_span {
    int fast, end;
    size_t place;
};

/* Finds the first pixel_span of row s between pixels f and `end` - 1, inside listed tiles.
 * Returns 0 if there is none. */
int window_next_span(const struct window *image, int s, int f, int end,
                     struct pixel_span *out);

#endif
