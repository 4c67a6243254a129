/*
 * window.c - makes windows. Rows of tiles are made one after the other: the boxes that
 * cross a row set the bits of its tiles, masked pixels are removed, and the tiles that have
 * pixels left are listed. Rows that no box crosses take no time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/window.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/scene.h>

/* The state while a window is made, panel by panel. The lists of tiles and spans grow by
 * doubling. */
struct making {
    const struct window_pixels *pixels;
    /* the current panel, with its size and place; all members below count pixels of this
     * panel */
    struct window *panel;
    int number; /* number of the current panel */
    int roi[4]; /* the ROI, widened by the margin */
    /* (nbox x 4) boxes, widened by the margin and cut to the ROI, sorted by first row */
    int *box;
    size_t nbox, next; /* next: the first box that begins below the current row of tiles */
    size_t *open; /* (nopen) numbers of the boxes that may cross the current row of tiles */
    size_t nopen;
    uint32_t (*bits)[TILE_SLOW]; /* rendered pixels of each tile in the current row */
    /* columns of tiles in the current row that a box touches, end excluded */
    int low, high;
    size_t tiles, spans; /* allocated lengths of the lists of tiles and spans */
    int nspan;
};

/* Returns the smaller of a + b and `most`, without overflow; `most` is 0 or more. */
static int add_up_to(int a, int b, int most)
{
    return a >= most || b >= most - a ? most : a + b;
}

/* Returns a word with the bits `low` to `high` - 1 set. The limits are first cut to 0 and
 * TILE_FAST. */
static uint32_t bits_between(int low, int high)
{
    const int first = max_int(low, 0), end = min_int(high, TILE_FAST);

    if (first >= end) return 0;
    return UINT32_MAX >> (TILE_FAST - (end - first)) << first;
}

/* Widens a rectangle by the margin and cuts it to the rectangle `limit`. */
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

/* Cuts a rectangle of the image to the current panel; `to` counts pixels of the panel.
 * Returns 0 if nothing is left. */
static int cut_to_panel(const struct making *m, const int *from, int *to)
{
    const struct window *w = m->panel;
    const int first[2] = {w->fast0, w->slow0}, size[2] = {w->nfast, w->nslow};

    for (int i = 0; i < 2; i++) {
        const size_t at = (size_t)2 * (size_t)i;

        to[at] = max_int(from[at] - first[i], 0);
        to[at + 1] = min_int(from[at + 1] - first[i], size[i]);
    }
    return to[1] > to[0] && to[3] > to[2];
}

/* Fills in the boxes of the current panel, without empty ones. If the image has no boxes,
 * the ROI is the only box. */
static void take_boxes(struct making *m)
{
    const struct window_pixels *p = m->pixels;
    const int panel[4] = {0, m->panel->nfast, 0, m->panel->nslow};
    const size_t n = p->nbox > 0 ? p->nbox : 1;
    int inside[4];

    m->nbox = m->next = m->nopen = 0;
    if (cut_to_panel(m, p->roi, inside))
        widen(inside, p->margin, panel, m->roi);
    else if (p->npanel > 0)
        memset(m->roi, 0, sizeof m->roi);
    else
        widen(p->roi, 0, panel, m->roi);
    for (size_t i = 0; i < n; i++) {
        int *box = m->box + 4 * m->nbox;

        if (p->nbox == 0)
            memcpy(box, m->roi, sizeof m->roi);
        else if (cut_to_panel(m, p->box + 4 * i, inside))
            widen(inside, p->margin, m->roi, box);
        else
            continue;
        m->nbox += box[1] > box[0] && box[3] > box[2];
    }
    qsort(m->box, m->nbox, 4 * sizeof *m->box, by_first_row);
}

/* Sets the bits of a box in the row of tiles whose first row of pixels is `slow`. */
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

/* Clears the bits of masked pixels in tile t of the row of tiles whose first row of pixels
 * is `slow`. */
static void apply_mask(const struct making *m, int t, int slow)
{
    const uint8_t *mask = m->pixels->mask;
    const int fast = t * TILE_FAST;

    for (int r = 0; mask && r < TILE_SLOW; r++)
        for (int i = 0; i < TILE_FAST; i++)
            if ((m->bits[t][r] >> i & 1)
                && !mask[window_pixel(m->panel, slow + r, fast + i)])
                m->bits[t][r] &= ~((uint32_t)1 << i);
}

/* Makes room for one more item. The array has `used` of `*room` items; its length is
 * doubled if needed. Returns 0 if there is no memory. */
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

/* Lists tile t of the current row, unless it is empty. The tile continues the last span or
 * begins a new one. */
static int list_tile(struct making *m, int t, int slow, struct window *out)
{
    struct window *panel = m->panel;
    const int count = count_bits(m->bits[t]), begins = m->nspan == panel->row[panel->nrow];
    struct tile *tile;
    void *tiles = out->tile, *spans = out->span;
    int room;

    if (count == 0) return 1;
    room = grow(&tiles, &m->tiles, (size_t)out->ntile, sizeof *out->tile)
           && grow(&spans, &m->spans, (size_t)m->nspan, sizeof *out->span);
    out->tile = tiles, out->span = spans;
    if (!room) return 0;
    if (begins || out->span[m->nspan - 1].end != t * TILE_FAST) {
        const struct tile_span span = {out->ntile, t * TILE_FAST, 0};

        out->span[m->nspan++] = span;
    }
    out->span[m->nspan - 1].end = (t + 1) * TILE_FAST;
    tile = out->tile + out->ntile;
    tile->fast = t * TILE_FAST;
    tile->slow = slow;
    tile->width = TILE_FAST;
    tile->height = TILE_SLOW;
    tile->number = out->ntile++;
    tile->panel = m->number;
    memcpy(tile->shown, m->bits[t], sizeof tile->shown);
    panel->count += count;
    return 1;
}

/* Lists the tiles of the next row of tiles of the current panel. */
static int make_row(struct making *m, struct window *out)
{
    struct window *panel = m->panel;
    const int slow = (panel->first_row + panel->nrow) * TILE_SLOW;
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
    panel->row[++panel->nrow] = m->nspan;
    return 1;
}

/* Lists the tiles of all rows of the current panel. */
static int make_rows(struct making *m, struct window *out)
{
    struct window *panel = m->panel;
    int last = 0;

    take_boxes(m);
    panel->first_tile = out->ntile;
    panel->row[0] = m->nspan;
    if (m->nbox > 0) {
        panel->first_row = m->box[2] / TILE_SLOW;
        for (size_t i = 0; i < m->nbox; i++) last = max_int(last, m->box[4 * i + 3]);
        last = (last - 1) / TILE_SLOW;
        while (panel->first_row + panel->nrow <= last)
            if (!make_row(m, out)) return 0;
    }
    panel->ntile = out->ntile - panel->first_tile;
    memcpy(panel->roi, m->roi, sizeof panel->roi);
    return 1;
}

/* Makes the window of a detector that is one rectangle. */
static int make_rectangle(struct making *m, struct window *out)
{
    const size_t rows = (size_t)((out->nslow - 1) / TILE_SLOW) + 2;

    out->row = calloc(rows, sizeof *out->row);
    if (!out->row) return 0;
    m->panel = out;
    return make_rows(m, out);
}

/* ---- panels ---- */

/* Makes the windows of all panels, one after the other. */
static int make_panels(struct making *m, struct window *out)
{
    const struct window_pixels *p = m->pixels;
    size_t rows = 1;

    out->panel = calloc((size_t)(unsigned)p->npanel, sizeof *out->panel);
    if (!out->panel) return 0;
    out->npanel = p->npanel;
    for (int i = 0; i < p->npanel; i++)
        rows += (size_t)((p->panel[i].nslow - 1) / TILE_SLOW) + 1;
    out->row = calloc(rows, sizeof *out->row);
    if (!out->row) return 0;
    for (int i = 0; i < p->npanel; i++) {
        struct window *w = out->panel + i;

        w->nslow = p->panel[i].nslow, w->nfast = p->panel[i].nfast;
        w->slow0 = p->panel[i].slow0, w->fast0 = p->panel[i].fast0;
        w->stride = out->nfast;
        w->row0 = out->nrow;
        w->row = out->row + out->nrow;
        m->panel = w;
        m->number = i;
        if (!make_rows(m, out)) return 0;
        out->nrow += w->nrow;
        out->count += w->count;
    }
    return 1;
}

static int by_number(const void *a, const void *b)
{
    const int p = *(const int *)a, q = *(const int *)b;

    return (p > q) - (p < q);
}

/* Lists the panels that cross the given rows of the image, from left to right. */
static void list_crossing(struct window *out, struct panel_rows *rows)
{
    int *list = out->order + rows->first;

    for (int i = 0; i < out->npanel; i++) {
        const struct window *w = out->panel + i;
        int at = rows->n;

        if (w->slow0 > rows->slow || w->slow0 + w->nslow < rows->end) continue;
        for (; at > 0 && out->panel[list[at - 1]].fast0 > w->fast0; at--)
            list[at] = list[at - 1];
        list[at] = i;
        rows->n++;
    }
}

/* Returns how many panels cross row s of the image. */
static size_t count_crossing(const struct window *w, int s)
{
    size_t n = 0;

    for (int i = 0; i < w->npanel; i++)
        n += s >= w->panel[i].slow0 && s < w->panel[i].slow0 + w->panel[i].nslow;
    return n;
}

/* Divides the rows of the image into groups that cross the same panels: a new group begins
 * at each row where a panel begins or ends. */
static int make_panel_rows(struct window *out)
{
    const size_t edges = 2 * (size_t)(unsigned)out->npanel;
    int *edge = malloc(edges * sizeof *edge), n = 0;
    size_t listed = 0;

    out->panel_rows = calloc(edges, sizeof *out->panel_rows);
    if (!edge || !out->panel_rows) {
        free(edge);
        return 0;
    }
    for (int i = 0; i < out->npanel; i++) {
        int *ends = edge + (size_t)2 * (size_t)i;

        ends[0] = out->panel[i].slow0;
        ends[1] = out->panel[i].slow0 + out->panel[i].nslow;
    }
    qsort(edge, edges, sizeof *edge, by_number);
    for (int i = 1; i < 2 * out->npanel; i++) {
        const struct panel_rows rows = {edge[i - 1], edge[i], (int)listed, 0};

        if (edge[i] == edge[i - 1]) continue;
        listed += count_crossing(out, rows.slow);
        out->panel_rows[n++] = rows;
    }
    free(edge);
    out->npanel_rows = n;
    out->order = malloc((listed + 1) * sizeof *out->order);
    if (!out->order || listed > INT_MAX) return 0;
    for (int i = 0; i < n; i++) list_crossing(out, out->panel_rows + i);
    return 1;
}

const struct window *window_at(const struct window *image, int s, int f)
{
    int low = 0, high = image->npanel_rows, first, end;

    /* the first group that ends below row s */
    while (low < high) {
        const int mid = (low + high) / 2;

        if (image->panel_rows[mid].end > s)
            high = mid;
        else
            low = mid + 1;
    }
    if (low == image->npanel_rows || image->panel_rows[low].slow > s) return NULL;
    first = image->panel_rows[low].first, end = first + image->panel_rows[low].n;
    for (low = first, high = end; low < high;) {
        const int mid = (low + high) / 2;
        const struct window *panel = image->panel + image->order[mid];

        if (panel->fast0 + panel->nfast > f)
            high = mid;
        else
            low = mid + 1;
    }
    return low < end ? image->panel + image->order[low] : NULL;
}

/* ---- windows ---- */

/* Frees memory that the lists do not use. */
static void trim(const struct making *m, struct window *out)
{
    const size_t rows = (size_t)out->nrow + 1;
    void *tiles =
        out->ntile ? realloc(out->tile, (size_t)out->ntile * sizeof *out->tile) : NULL;
    void *spans =
        m->nspan ? realloc(out->span, (size_t)m->nspan * sizeof *out->span) : NULL;
    void *row = realloc(out->row, rows * sizeof *out->row);

    if (tiles) out->tile = tiles;
    if (spans) out->span = spans;
    if (row) out->row = row;
}

/* Points the windows of the panels to the lists of the image. */
static void share_lists(struct window *out)
{
    for (int i = 0; i < out->npanel; i++) {
        struct window *w = out->panel + i;

        w->tile = out->tile;
        w->span = out->span;
        w->row = out->row + w->row0;
        w->boxed = out->boxed;
    }
}

/* Allocates the workspace of `m` and makes the lists of a window. */
static int make_lists(struct making *m, struct window *out)
{
    const struct window_pixels *p = m->pixels;
    const size_t n = p->nbox > 0 ? p->nbox : 1;
    int widest = p->nfast;

    for (int i = 0; i < p->npanel; i++) widest = max_int(widest, p->panel[i].nfast);
    if (n > SIZE_MAX / 4 / sizeof *m->box) return 0;
    m->box = malloc(4 * n * sizeof *m->box);
    m->open = malloc(n * sizeof *m->open);
    m->bits = calloc((size_t)(widest - 1) / TILE_FAST + 1, sizeof *m->bits);
    if (!m->box || !m->open || !m->bits) return 0;
    if (p->npanel == 0) return make_rectangle(m, out);
    return make_panels(m, out) && make_panel_rows(out);
}

/* Sets the ROI of an image of panels to the given one, cut to the image. */
static void take_roi(const struct window_pixels *pixels, struct window *out)
{
    const int limit[2] = {pixels->nfast, pixels->nslow};

    for (int i = 0; i < 4; i++)
        out->roi[i] = max_int(0, min_int(pixels->roi[i], limit[i / 2]));
}

struct window_pixels window_pixels_of(const struct nb_detector *detector)
{
    struct window_pixels pixels = {.nslow = detector->nslow,
                                   .nfast = detector->nfast,
                                   .mask = detector->mask,
                                   .box = detector->box,
                                   .nbox = detector->nbox,
                                   .panel = detector->panel,
                                   .npanel = detector->npanel};

    memcpy(pixels.roi, detector->roi, sizeof pixels.roi);
    return pixels;
}

int window_make(const struct window_pixels *pixels, struct window *out)
{
    struct making m = {.pixels = pixels};
    int made;

    memset(out, 0, sizeof *out);
    out->nslow = pixels->nslow;
    out->nfast = out->stride = pixels->nfast;
    made = make_lists(&m, out);
    free(m.box);
    free(m.open);
    free(m.bits);
    if (!made) {
        window_free(out);
        return 0;
    }
    trim(&m, out);
    if (out->npanel > 0) take_roi(pixels, out);
    out->boxed = pixels->nbox > 0;
    share_lists(out);
    window_set_mask(out, pixels->mask);
    return 1;
}

void window_set_mask(struct window *window, const uint8_t *mask)
{
    window->mask = mask;
    for (int i = 0; i < window->npanel; i++) {
        struct window *w = window->panel + i;

        w->mask = mask ? mask + window_pixel(w, 0, 0) : NULL;
    }
}

void window_free(struct window *window)
{
    free(window->tile);
    free(window->row);
    free(window->span);
    free(window->panel);
    free(window->panel_rows);
    free(window->order);
    memset(window, 0, sizeof *window);
}

size_t window_bytes(const struct window *w)
{
    size_t bytes = (size_t)w->ntile * sizeof *w->tile
                   + (w->row ? (size_t)w->nrow + 1 : 0) * sizeof *w->row
                   + (w->row ? (size_t)w->row[w->nrow] : 0) * sizeof *w->span;

    for (int i = 0; i < w->npanel_rows; i++)
        bytes += (size_t)w->panel_rows[i].n * sizeof *w->order;
    return bytes + (size_t)w->npanel * (sizeof *w->panel + 2 * sizeof *w->panel_rows);
}

/* Widens the rectangle `extent` until it contains the rendered pixels of `rectangle` in a
 * tile. */
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

/* Sets `extent` to the smallest rectangle around the rendered pixels in `rectangle`. If
 * `any` is 1, stops at the first tile with a rendered pixel. Returns 0 if no pixel is
 * rendered. */
static int find_extent(const struct window *w, const int *rectangle, int any, int extent[4])
{
    const int first = max_int(rectangle[2] / TILE_SLOW, w->first_row);
    const int end = min_int((rectangle[3] - 1) / TILE_SLOW, w->first_row + w->nrow - 1);

    extent[0] = extent[2] = INT_MAX;
    extent[1] = extent[3] = 0;
    if (rectangle[1] <= rectangle[0] || rectangle[3] <= rectangle[2]) return 0;
    for (int row = first; row <= end; row++) {
        const struct tile_span *span = tile_span_of(w, row * TILE_SLOW, rectangle[0]);
        const struct tile_span *last = w->span + w->row[row - w->first_row + 1];

        for (; span && span < last && span->fast < rectangle[1]; span++) {
            const int from = max_int(rectangle[0], span->fast);
            const int to = min_int(rectangle[1], span->end);

            for (int f = from / TILE_FAST; f <= (to - 1) / TILE_FAST; f++) {
                add_extent(w->tile + span->first + f - span->fast / TILE_FAST, rectangle,
                           extent);
                if (any && extent[1] > 0) return 1;
            }
        }
    }
    return extent[1] > 0;
}

int window_shrink(const struct window *panel, int rectangle[4])
{
    int extent[4];

    if (!find_extent(panel, rectangle, 0, extent)) return 0;
    memcpy(rectangle, extent, sizeof extent);
    return 1;
}

int window_overlaps(const struct window *w, const int rectangle[4])
{
    int some[4], inside[4];

    if (w->npanel == 0) return find_extent(w, rectangle, 1, some);
    for (int i = 0; i < w->npanel; i++) {
        const struct making m = {.panel = w->panel + i};

        if (cut_to_panel(&m, rectangle, inside)
            && find_extent(w->panel + i, inside, 1, some))
            return 1;
    }
    return 0;
}
