/*
 * geom_mask.c - the pixels that a geometry file calls bad: panels, their edges, and regions
 * of the data or of the laboratory. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "io/geometry/geom.h"

/* The mask of an image while it is made. */
struct mask {
    uint8_t *pixel;
    int nfast;
    size_t masked;
};

/* Masks pixels of a panel, given by its own rows and columns, ends included. */
static void mask_part(struct mask *m, const struct geom_panel *p, double slow0,
                      double slow1, double fast0, double fast1)
{
    const double nslow = p->range[GEOM_MAX_SS] - p->range[GEOM_MIN_SS] + 1;
    const double nfast = p->range[GEOM_MAX_FS] - p->range[GEOM_MIN_FS] + 1;

    slow0 = fmin(fmax(ceil(slow0), 0), nslow), slow1 = fmin(floor(slow1), nslow - 1);
    fast0 = fmin(fmax(ceil(fast0), 0), nfast), fast1 = fmin(floor(fast1), nfast - 1);
    for (int s = (int)slow0; s <= slow1; s++)
        for (int f = (int)fast0; f <= fast1; f++) {
            uint8_t *const at = m->pixel + (size_t)(p->slow0 + s) * (size_t)m->nfast
                                + (size_t)(p->fast0 + f);

            m->masked += *at;
            *at = 0;
        }
}

/* Narrows the range first .. last of f to a range that holds every f with
 * least <= at + f step <= most. */
static void narrow(double at, double step, double least, double most, double *first,
                   double *last)
{
    double a, b;

    if (fabs(step) < 1e-9) return; /* too few for the digits of `at` */
    a = (least - at) / step, b = (most - at) / step;
    /* one more at each end, because a and b are rounded */
    *first = fmax(*first, floor(fmin(a, b)) - 1);
    *last = fmin(*last, ceil(fmax(a, b)) + 1);
}

/* Masks the pixels whose middle lies within limits of x and y, pixels from the beam. */
static void mask_in_lab(struct mask *m, const struct geom_panel *p,
                        const struct geom_bad *bad)
{
    const int nslow = p->range[GEOM_MAX_SS] - p->range[GEOM_MIN_SS] + 1;
    const int nfast = p->range[GEOM_MAX_FS] - p->range[GEOM_MIN_FS] + 1;
    const double *fs = p->axis[0], *ss = p->axis[1], *r = bad->range;

    for (int s = 0; s < nslow; s++) {
        const double x0 = p->corner[0] + 0.5 * fs[0] + (s + 0.5) * ss[0];
        const double y0 = p->corner[1] + 0.5 * fs[1] + (s + 0.5) * ss[1];
        double first = 0, last = nfast - 1;

        narrow(x0, fs[0], r[0], r[1], &first, &last);
        narrow(y0, fs[1], r[2], r[3], &first, &last);
        for (int f = (int)fmin(first, nfast); f <= last; f++) {
            const double x = p->corner[0] + (f + 0.5) * fs[0] + (s + 0.5) * ss[0];
            const double y = p->corner[1] + (f + 0.5) * fs[1] + (s + 0.5) * ss[1];

            if (x >= r[0] && x <= r[1] && y >= r[2] && y <= r[3])
                mask_part(m, p, s, s, f, f);
        }
    }
}

/* Masks what a panel has of a region. */
static void mask_region(struct mask *m, const struct geom_panel *p,
                        const struct geom_bad *bad)
{
    const double *r = bad->range;

    if (bad->in_lab)
        mask_in_lab(m, p, bad);
    else
        mask_part(m, p, r[GEOM_MIN_SS] - p->range[GEOM_MIN_SS],
                  r[GEOM_MAX_SS] - p->range[GEOM_MIN_SS],
                  r[GEOM_MIN_FS] - p->range[GEOM_MIN_FS],
                  r[GEOM_MAX_FS] - p->range[GEOM_MIN_FS]);
}

/* Checks a region. *panel becomes the only panel that it lies on, -1 for all. */
static nb_status check_region(struct geom *g, const struct geom_bad *bad, int *panel)
{
    const double *r = bad->range;

    *panel = bad->panel.n > 0 ? geom_find(g, bad->panel) : -1;
    if (bad->panel.n > 0 && *panel < 0)
        return fail(g->ctx, NB_ERR_FORMAT,
                    "%s, line %ld: the bad region %s is on panel '%s', which there is not",
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

static void mask_edges(struct mask *m, const struct geom_panel *p)
{
    const double nslow = p->range[GEOM_MAX_SS] - p->range[GEOM_MIN_SS] + 1;
    const double nfast = p->range[GEOM_MAX_FS] - p->range[GEOM_MIN_FS] + 1;
    const double edge = p->is_bad ? fmax(nslow, nfast) : p->edge;

    mask_part(m, p, 0, edge - 1, 0, nfast - 1);
    mask_part(m, p, nslow - edge, nslow - 1, 0, nfast - 1);
    mask_part(m, p, 0, nslow - 1, 0, edge - 1);
    mask_part(m, p, 0, nslow - 1, nfast - edge, nfast - 1);
}

static nb_status mask_all(struct geom *g, struct mask *m)
{
    for (int i = 0; i < g->npanel; i++)
        if (g->panel[i].is_bad || g->panel[i].edge > 0) mask_edges(m, g->panel + i);
    for (int i = 0; i < g->nbad; i++) {
        int only;

        NB_TRY(check_region(g, g->bad + i, &only));
        for (int k = only < 0 ? 0 : only; k < (only < 0 ? g->npanel : only + 1); k++)
            mask_region(m, g->panel + k, g->bad + i);
    }
    return NB_OK;
}

nb_status geom_make_mask(struct geom *g, int nslow, int nfast, uint8_t **out,
                         size_t *masked)
{
    const size_t n = (size_t)nslow * (size_t)nfast;
    struct mask m = {.nfast = nfast};
    int any = g->nbad > 0;
    nb_status status;

    *out = NULL;
    *masked = 0;
    for (int i = 0; i < g->npanel; i++) any |= g->panel[i].is_bad || g->panel[i].edge > 0;
    if (!any) return NB_OK;
    m.pixel = malloc(n);
    if (!m.pixel) return fail_memory(g->ctx, g->text.name);
    memset(m.pixel, 1, n);
    status = mask_all(g, &m);
    *masked = m.masked;
    if (status == NB_OK && m.masked > 0)
        *out = m.pixel;
    else
        free(m.pixel);
    return status;
}
