/*
 * geom_mask.c - masks the pixels that a geometry file calls bad: whole panels, edges of
 * panels, and regions of the data or of the laboratory. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>

#include "base/context.h"
#include "base/log.h"
#include "nanobrag_io/geometry/geom.h"
#include "nanobrag_io/geometry/pixel_mask.h"

/* Masks pixels of a panel in a rectangle of its rows and columns, last ones included.
 * Returns 1 if there are any. */
static int mask_part(struct pixel_mask *m, const struct geom_panel *p, double slow0,
                     double slow1, double fast0, double fast1)
{
    const struct pixel_rectangle area = {p->slow0, p->fast0,
                                         p->range[GEOM_MAX_SS] - p->range[GEOM_MIN_SS] + 1,
                                         p->range[GEOM_MAX_FS] - p->range[GEOM_MIN_FS] + 1};

    return pixel_mask_part(m, &area, slow0, slow1, fast0, fast1);
}

/* Narrows the range first .. last of f to the part where least <= at + f step <= most may
 * hold. The result may be one too wide at each end. */
static void narrow(double at, double step, double least, double most, double *first,
                   double *last)
{
    double a, b;

    if (fabs(step) < 1e-9) return; /* step is lost in the rounding of `at` */
    a = (least - at) / step, b = (most - at) / step;
    /* one pixel more at each end, because a and b are rounded */
    *first = fmax(*first, floor(fmin(a, b)) - 1);
    *last = fmin(*last, ceil(fmax(a, b)) + 1);
}

/* Masks the pixels whose first corner lies between limits of x and y, in pixels from the
 * beam. This is CrystFEL's rule; a corner exactly on a limit does not count. */
static void mask_in_lab(const struct geom *g, struct pixel_mask *m,
                        const struct geom_panel *p, const struct geom_bad *bad)
{
    const int nslow = p->range[GEOM_MAX_SS] - p->range[GEOM_MIN_SS] + 1;
    const int nfast = p->range[GEOM_MAX_FS] - p->range[GEOM_MIN_FS] + 1;
    const double *fs = p->axis[0], *ss = p->axis[1], *r = bad->range;
    const double pitch = 1 / p->res; /* rounded as CrystFEL rounds it */
    const double corner[2] = {p->corner[0] + g->shift[0] / pitch,
                              p->corner[1] + g->shift[1] / pitch};

    for (int s = 0; s < nslow; s++) {
        double first = 0, last = nfast - 1;

        narrow(corner[0] + s * ss[0], fs[0], r[0], r[1], &first, &last);
        narrow(corner[1] + s * ss[1], fs[1], r[2], r[3], &first, &last);
        for (int f = (int)fmin(first, nfast); f <= last; f++) {
            const double x = f * fs[0] + s * ss[0] + corner[0];
            const double y = f * fs[1] + s * ss[1] + corner[1];

            if (x > r[0] && x < r[1] && y > r[2] && y < r[3])
                (void)mask_part(m, p, s, s, f, f);
        }
    }
}

/* Masks the pixels of a panel in a region that is given by fs and ss. Returns 1 if there
 * are any. */
static int mask_in_data(struct pixel_mask *m, const struct geom_panel *p,
                        const struct geom_bad *bad)
{
    const double *r = bad->range;

    /* CrystFEL reads limits as whole numbers and drops the decimals */
    return mask_part(m, p, trunc(r[GEOM_MIN_SS]) - p->range[GEOM_MIN_SS],
                     trunc(r[GEOM_MAX_SS]) - p->range[GEOM_MIN_SS],
                     trunc(r[GEOM_MIN_FS]) - p->range[GEOM_MIN_FS],
                     trunc(r[GEOM_MAX_FS]) - p->range[GEOM_MIN_FS]);
}

/* Returns 1 if a region may cover a panel: it names this panel or none, and the fixed axes
 * of the data that it states are the panel's. */
static int may_lie_on(const struct geom_panel *p, const struct geom_bad *bad)
{
    if (bad->panel.n > 0 && !geom_same(bad->panel, p->name)) return 0;
    for (int i = 0; i < GEOM_DIMS; i++)
        if (bad->dim[i] >= 0 && bad->dim[i] != p->dim[i]) return 0;
    return 1;
}

/* Masks a bad region on all panels that it may cover. */
static void mask_region(struct geom *g, struct pixel_mask *m, const struct geom_bad *bad)
{
    int arrays = 0, last = 0;

    for (int i = 0; i < g->npanel; i++) {
        const struct geom_panel *p = g->panel + i;
        const int begin = p->slow0 - p->range[GEOM_MIN_SS]; /* first row of the panel's data
                                                               array */

        if (!may_lie_on(p, bad)) continue;
        if (bad->in_lab) {
            mask_in_lab(g, m, p, bad);
        } else if (mask_in_data(m, p, bad)) {
            if (arrays == 0 || begin != last) arrays++;
            last = begin;
        }
    }
    if (arrays > 1)
        log_line(g->ctx, NB_LOG_WARNING, "geom",
                 "%s, line %ld: the bad region %s covers several frames of the data, which "
                 "have the same fs and ss; give the region a panel",
                 g->text.name, bad->line, text_show(bad->name).s);
}

static nb_status check_region(struct geom *g, const struct geom_bad *bad)
{
    const double *r = bad->range;

    if (bad->panel.n > 0 && geom_find(g, bad->panel) < 0)
        return fail(g->ctx, NB_ERR_FORMAT,
                    "%s, line %ld: the bad region %s names panel '%s', which does not "
                    "exist",
                    g->text.name, bad->line, text_show(bad->name).s,
                    text_show(bad->panel).s);
    for (int i = 0; i < GEOM_RANGES; i++)
        if (isnan(r[i]))
            return fail(g->ctx, NB_ERR_FORMAT,
                        "%s, line %ld: the bad region %s lacks a limit, expected min_x, "
                        "max_x, min_y and max_y, or min_fs, max_fs, min_ss and max_ss",
                        g->text.name, bad->line, text_show(bad->name).s);
    return NB_OK;
}

static void mask_edges(struct pixel_mask *m, const struct geom_panel *p)
{
    const double nslow = p->range[GEOM_MAX_SS] - p->range[GEOM_MIN_SS] + 1;
    const double nfast = p->range[GEOM_MAX_FS] - p->range[GEOM_MIN_FS] + 1;
    const double edge = p->is_bad ? fmax(nslow, nfast) : p->edge;

    (void)mask_part(m, p, 0, edge - 1, 0, nfast - 1);
    (void)mask_part(m, p, nslow - edge, nslow - 1, 0, nfast - 1);
    (void)mask_part(m, p, 0, nslow - 1, 0, edge - 1);
    (void)mask_part(m, p, 0, nslow - 1, nfast - edge, nfast - 1);
}

static nb_status mask_all(struct geom *g, struct pixel_mask *m)
{
    for (int i = 0; i < g->npanel; i++)
        if (g->panel[i].is_bad || g->panel[i].edge > 0) mask_edges(m, g->panel + i);
    for (int i = 0; i < g->nbad; i++) {
        NB_TRY(check_region(g, g->bad + i));
        mask_region(g, m, g->bad + i);
    }
    return NB_OK;
}

nb_status geom_make_mask(struct geom *g, int nslow, int nfast, uint8_t **out,
                         size_t *masked)
{
    struct pixel_mask m;
    int any = g->nbad > 0;
    nb_status status;

    *out = NULL;
    *masked = 0;
    for (int i = 0; i < g->npanel; i++) any |= g->panel[i].is_bad || g->panel[i].edge > 0;
    if (!any) return NB_OK;
    NB_TRY(pixel_mask_begin(g->ctx, g->text.name, nslow, nfast, &m));
    status = mask_all(g, &m);
    if (status != NB_OK) {
        free(m.pixel);
        return status;
    }
    *masked = m.masked;
    *out = pixel_mask_end(&m);
    return NB_OK;
}
