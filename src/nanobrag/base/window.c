/*
 * window.c - see window.h. Rows of tiles are made one after the other: the boxes that cross
 * a row are drawn into the bits of its tiles, the mask takes its pixels out, and what is
 * left is listed. Rows that no box crosses cost nothing. SPDX-License-Identifier: MIT
 */
#include "base/window.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A window in the making. Lists grow by doubling. */
struct making {
    const struct window_pixels *pixels;
    int roi[4]; /* widened */
    int *box; /* (nbox x 4) widened, cut to the ROI, in the order of their first rows */
    size_t nbox, next; /* the first box that begins below the row at hand */
    size_t *open; /* boxes that may cross the row at hand */
    size_t nopen;
    uint32_t (*bits)[TILE_SLOW]; /* of each tile in the row at hand */
    int low, high; /* its columns of tiles that a box touched, end excluded */
    size_t tiles, runs; /* room in the lists */
    int nrun;
};

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* Returns a + b, at most `most`, which is 0 or more. */
static int add_up_to(int a, int b, int most)
{
    return a >= most || b >= most - a ? most : a + b;
}

/* Returns the bits `low` to `high` - 1, which may lie beyond 0 and TILE_FAST. */
static uint32_t bits_between(int low, int high)
{
    const int first = max_int(low, 0), end = min_int(high, TILE_FAST);

    if (first >= end) return 0;
    return UINT32_MAX >> (TILE_FAST - (end - first)) << first;
}

/* Widens a rectangle by the margin and cuts it to `limit`. */
static void widen(const int *from, int margin, const int *limit, int *to)
{
    for (int i = 0; i < 4; i += 2) {
        to[i] = max_int(from[i] - min_int(margin, max_int(from[i], 0)), limit[i]);
        to[i + 1] = min_int(add_up_to(from[i + 1], margin, limit[i + 1]), limit[i + 1]);
    }
}

static int by_first_row(const void *a, const void *b)
{
    const int *p = a, *q = b;

    return (p[2] > q[2]) - (p[2] < q[2]);
}

/* Fills in the boxes; without any, the ROI is the only one. Empty ones are left out. */
static int take_boxes(struct making *m)
{
    const struct window_pixels *p = m->pixels;
    const int image[4] = {0, p->nfast, 0, p->nslow};
    const size_t n = p->nbox > 0 ? p->nbox : 1;

    if (n > SIZE_MAX / 4 / sizeof *m->box) return 0;
    m->box = malloc(4 * n * sizeof *m->box);
    m->open = malloc(n * sizeof *m->open);
    if (!m->box || !m->open) return 0;
    widen(p->roi, p->roi[1] > p->roi[0] ? p->margin : 0, image, m->roi);
    for (size_t i = 0; i < n; i++) {
        int *box = m->box + 4 * m->nbox;

        widen(p->nbox > 0 ? p->box + 4 * i : m->roi, p->nbox > 0 ? p->margin : 0, m->roi,
              box);
        m->nbox += box[1] > box[0] && box[3] > box[2];
    }
    qsort(m->box, m->nbox, 4 * sizeof *m->box, by_first_row);
    return 1;
}

/* Draws a box into the bits of the row of tiles that begins at row `slow`. */
static void draw_box(struct making *m, const int *box, int slow)
{
    const int first = max_int(box[2] - slow, 0), end = min_int(box[3] - slow, TILE_SLOW);
    const int low = box[0] / TILE_FAST, high = (box[1] - 1) / TILE_FAST + 1;

    for (int t = low; t < high; t++) {
        const uint32_t bits = bits_between(box[0] - t * TILE_FAST, box[1] - t * TILE_FAST);

        for (int r = first; r < end; r++) m->bits[t][r] |= bits;
    }
    m->low = min_int(m->low, low);
    m->high = max_int(m->high, high);
}

/* Removes the masked pixels of tile t in the row of tiles that begins at row `slow`. */
static void apply_mask(const struct making *m, int t, int slow)
{
    const uint8_t *mask = m->pixels->mask;
    const int fast = t * TILE_FAST, nfast = m->pixels->nfast;

    for (int r = 0; mask && r < TILE_SLOW; r++)
        for (int i = 0; i < TILE_FAST; i++)
            if ((m->bits[t][r] >> i & 1)
                && !mask[(size_t)(slow + r) * (size_t)nfast + (size_t)(fast + i)])
                m->bits[t][r] &= ~((uint32_t)1 << i);
}

/* Makes room for one more item, doubling an array of `room` items. */
static int grow(void **array, size_t *room, size_t used, size_t item)
{
    void *larger;

    if (used < *room) return 1;
    if (*room > INT_MAX / 2) return 0;
    larger = realloc(*array, (*room ? 2 * *room : 64) * item);
    if (!larger) return 0;
    *array = larger;
    *room = *room ? 2 * *room : 64;
    return 1;
}

static int count_bits(const uint32_t bits[TILE_SLOW])
{
    int count = 0;

    for (int r = 0; r < TILE_SLOW; r++)
        for (uint32_t left = bits[r]; left; left &= left - 1) count++;
    return count;
}

/* Lists tile t of the row at hand, unless it is empty, and continues the last run or begins
 * a new one. */
static int list_tile(struct making *m, int t, int slow, struct window *out)
{
    const int count = count_bits(m->bits[t]), begins = m->nrun == out->row[out->nrow];
    struct tile *tile;
    void *tiles = out->tile, *runs = out->run;
    int room;

    if (count == 0) return 1;
    room = grow(&tiles, &m->tiles, (size_t)out->ntile, sizeof *out->tile)
           && grow(&runs, &m->runs, (size_t)m->nrun, sizeof *out->run);
    out->tile = tiles, out->run = runs;
    if (!room) return 0;
    if (begins || out->run[m->nrun - 1].end != t * TILE_FAST) {
        const struct window_run run = {out->ntile, t * TILE_FAST, 0};

        out->run[m->nrun++] = run;
    }
    out->run[m->nrun - 1].end = (t + 1) * TILE_FAST;
    tile = out->tile + out->ntile;
    tile->fast = t * TILE_FAST;
    tile->slow = slow;
    tile->width = TILE_FAST;
    tile->height = TILE_SLOW;
    tile->number = out->ntile++;
    memcpy(tile->shown, m->bits[t], sizeof tile->shown);
    out->count += count;
    return 1;
}

/* Makes the next row of tiles. */
static int make_row(struct making *m, struct window *out)
{
    const int slow = (out->first_row + out->nrow) * TILE_SLOW;
    size_t left = 0;

    m->low = INT_MAX, m->high = 0;
    while (m->next < m->nbox && m->box[4 * m->next + 2] < slow + TILE_SLOW)
        m->open[m->nopen++] = m->next++;
    for (size_t i = 0; i < m->nopen; i++) {
        const int *box = m->box + 4 * m->open[i];

        draw_box(m, box, slow);
        if (box[3] > slow + TILE_SLOW) m->open[left++] = m->open[i];
    }
    m->nopen = left;
    for (int t = m->low; t < m->high; t++) {
        apply_mask(m, t, slow);
        if (!list_tile(m, t, slow, out)) return 0;
        memset(m->bits[t], 0, sizeof m->bits[t]);
    }
    out->row[++out->nrow] = m->nrun;
    return 1;
}

static int make_rows(struct making *m, struct window *out)
{
    const int across = (m->pixels->nfast - 1) / TILE_FAST + 1;
    int last = 0, first;

    if (!take_boxes(m)) return 0;
    if (m->nbox == 0) return 1;
    first = m->box[2] / TILE_SLOW;
    for (size_t i = 0; i < m->nbox; i++) last = max_int(last, m->box[4 * i + 3]);
    last = (last - 1) / TILE_SLOW;
    m->bits = calloc((size_t)across, sizeof *m->bits);
    out->row = calloc((size_t)(last - first) + 2, sizeof *out->row);
    if (!m->bits || !out->row) return 0;
    out->first_row = first;
    while (out->first_row + out->nrow <= last)
        if (!make_row(m, out)) return 0;
    return 1;
}

/* Gives back the room that the lists do not need. */
static void trim(const struct making *m, struct window *out)
{
    void *tiles =
        out->ntile ? realloc(out->tile, (size_t)out->ntile * sizeof *out->tile) : NULL;
    void *runs = m->nrun ? realloc(out->run, (size_t)m->nrun * sizeof *out->run) : NULL;

    if (tiles) out->tile = tiles;
    if (runs) out->run = runs;
}

int window_make(const struct window_pixels *pixels, struct window *out)
{
    struct making m = {.pixels = pixels};
    int made;

    memset(out, 0, sizeof *out);
    out->nslow = pixels->nslow;
    out->nfast = pixels->nfast;
    made = make_rows(&m, out);
    free(m.box);
    free(m.open);
    free(m.bits);
    if (!made) {
        window_free(out);
        return 0;
    }
    trim(&m, out);
    memcpy(out->roi, m.roi, sizeof out->roi);
    out->mask = pixels->mask;
    out->boxed = pixels->nbox > 0;
    return 1;
}

void window_free(struct window *window)
{
    free(window->tile);
    free(window->row);
    free(window->run);
    memset(window, 0, sizeof *window);
}

size_t window_bytes(const struct window *w)
{
    return (size_t)w->ntile * sizeof *w->tile
           + (w->row ? (size_t)w->nrow + 1 : 0) * sizeof *w->row
           + (w->row ? (size_t)w->row[w->nrow] : 0) * sizeof *w->run;
}

/* Widens `extent`, a rectangle, by the rendered pixels of a rectangle in a tile. */
static void add_extent(const struct tile *tile, const int *rectangle, int *extent)
{
    const uint32_t bits =
        bits_between(rectangle[0] - tile->fast, rectangle[1] - tile->fast);
    const int first = max_int(rectangle[2] - tile->slow, 0);
    const int end = min_int(rectangle[3] - tile->slow, TILE_SLOW);

    for (int r = first; r < end; r++) {
        const uint32_t shown = tile->shown[r] & bits;

        if (!shown) continue;
        extent[0] = min_int(extent[0], tile->fast + __builtin_ctz(shown));
        extent[1] = max_int(extent[1], tile->fast + TILE_FAST - __builtin_clz(shown));
        extent[2] = min_int(extent[2], tile->slow + r);
        extent[3] = max_int(extent[3], tile->slow + r + 1);
    }
}

/* Sets `extent` to the smallest rectangle around the rendered pixels of another, or, with
 * `any`, around some of them. Returns 0 if there are none. */
static int find_extent(const struct window *w, const int *rectangle, int any, int extent[4])
{
    const int first = max_int(rectangle[2] / TILE_SLOW, w->first_row);
    const int end = min_int((rectangle[3] - 1) / TILE_SLOW, w->first_row + w->nrow - 1);

    extent[0] = extent[2] = INT_MAX;
    extent[1] = extent[3] = 0;
    if (rectangle[1] <= rectangle[0] || rectangle[3] <= rectangle[2]) return 0;
    for (int row = first; row <= end; row++) {
        const struct window_run *run = window_run_of(w, row * TILE_SLOW, rectangle[0]);
        const struct window_run *last = w->run + w->row[row - w->first_row + 1];

        for (; run && run < last && run->fast < rectangle[1]; run++) {
            const int from = max_int(rectangle[0], run->fast);
            const int to = min_int(rectangle[1], run->end);

            for (int f = from / TILE_FAST; f <= (to - 1) / TILE_FAST; f++) {
                add_extent(w->tile + run->first + f - run->fast / TILE_FAST, rectangle,
                           extent);
                if (any && extent[1] > 0) return 1;
            }
        }
    }
    return extent[1] > 0;
}

int window_shrink(const struct window *w, int rectangle[4])
{
    int extent[4];

    if (!find_extent(w, rectangle, 0, extent)) return 0;
    memcpy(rectangle, extent, sizeof extent);
    return 1;
}

int window_overlaps(const struct window *w, const int rectangle[4])
{
    int some[4];

    return find_extent(w, rectangle, 1, some);
}
