/*
 * brightest.c - finds the brightest reflections. Candidates are listed for groups of
 * sources and orientations as in row_strips.c, but for one index h at a time, so that
 * little memory is needed. Threads share the candidates of one h; one thread computes each
 * sum.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/spots/brightest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/floats.h"
#include "kernels/spots/row_strips.h"
#include "physics/displacement.h"
#include "physics/lattice.h"
#include "physics/pixel.h"
#include "physics/polarization.h"
#include "physics/structure_factor.h"
#include "physics/tile/patch.h"

/* The largest number of orientations in a group, and its largest angle, radian. */
enum { GROUP = 256 };
static const double most_rotation = 0.02;

/* A pair of source and orientation counts if its profile is above this share of its
 * peak. */
static const double least_share = 1e-6;

struct search {
    struct progress *progress;
    const struct job *job; /* the job of the current panel */
    int panel, panels;
    struct phys_crystal crystal; /* of the frame, but with `peak` set to 1 */
    struct phys_box box;
    struct phys_detector_plane plane;
    struct ewald ewald;
    int first, n, first_source, nsource; /* the orientations and sources of the group */
    double stars[GROUP][9]; /* a*, b*, c* of each orientation of the group, 1/A */
    double share; /* share of all pairs that earlier groups had */
    /* memory for the candidates of one index h */
    size_t room;
    struct candidate *candidates;
    struct bright *layer;
    /* memory for the reflections of all groups */
    size_t capacity, found;
    struct bright *list;
};

/* Returns the place where direction v meets the detector, along one edge, in pixels. */
static double place_along(const struct search *s, const struct phys_edge *edge,
                          struct phys_wide3 v)
{
    const double t = phys_wide_dot(v, edge->along) / phys_wide_dot(v, s->plane.normal);

    return (s->plane.distance * t - edge->start) * edge->per_metre
           / s->job->frame->oversample;
}

/* Returns weight F^2 of a pair at the point of the Ewald sphere nearest to q, without F of
 * the unit cell. *v becomes q + k. Returns 0 if that point is too far from q or nearer to
 * another reflection. */
static double excitation(const struct search *s, const struct phys_orientation *at,
                         const struct phys_source *source, const double q[3],
                         struct phys_wide3 *v)
{
    const struct phys_frame *frame = s->job->frame;
    const double k = source->inverse_wavelength, *a = at->axes, *in = source->direction;
    const double q2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2];
    struct phys_vec3 d, way;
    double length, off, f, polar;

    *v = phys_wide3(q[0] + k * in[0], q[1] + k * in[1], q[2] + k * in[2]);
    length = sqrt(phys_wide_dot(*v, *v));
    off = (k - length) / length;
    if (!(fabs(off) * length <= s->ewald.radius)) return 0;
    if (!(phys_wide_dot(*v, s->plane.normal) > 0)) return 0;
    d = phys_vec3(off * (a[0] * v->x + a[1] * v->y + a[2] * v->z),
                  off * (a[3] * v->x + a[4] * v->y + a[5] * v->z),
                  off * (a[6] * v->x + a[7] * v->y + a[8] * v->z));
    if (fabs(d.x) > 0.5 || fabs(d.y) > 0.5 || fabs(d.z) > 0.5) return 0;
    f = phys_lattice(s->job->spec, &s->crystal, d).f;
    way = phys_vec3(v->x / length, v->y / length, v->z / length);
    polar = !frame->polarised
                ? 1
                : phys_polarization(frame->kahn, phys_load(in), phys_load(source->e),
                                    phys_load(source->b), way);
    return source->weight * at->weight * f * f * polar
           * phys_displacement(phys_displacement_b(frame), q2);
}

/* Adds the contribution of one pair to a reflection, if the pair scatters onto the
 * panel. */
static void add_pair(const struct search *s, const struct phys_orientation *at,
                     const struct phys_source *source, const double q[3], double f2,
                     struct bright *to)
{
    const struct phys_frame *frame = s->job->frame;
    struct phys_wide3 v;
    const double some = f2 * excitation(s, at, source, q, &v);
    double fast, slow;

    if (!(some > 0)) return;
    fast = place_along(s, &s->plane.fast, v);
    slow = place_along(s, &s->plane.slow, v);
    if (!(fast >= 0 && fast < frame->nfast && slow >= 0 && slow < frame->nslow)) return;
    brightest_add(to, some, fast, slow, 1);
}

/* Returns F^2 of a reflection, or 1 if all reflections have the same F. */
static double square_of_f(const struct search *s, const struct candidate *c)
{
    const struct phys_vec3 whole = phys_vec3((double)c->h, (double)c->k, (double)c->l);
    double f;

    if (s->job->spec.lookup == PHYS_CONSTANT) return 1;
    f = s->box.f[phys_f_place(0, &s->box, whole)];
    return f * f;
}

/* Sums over the pairs of the group for one candidate. */
static void visit_candidate(const struct search *s, const struct candidate *c,
                            struct bright *out)
{
    const struct phys_frame *frame = s->job->frame;
    const double dmin = frame->continuous ? frame->least_d : frame->dmin;
    const double f2 = square_of_f(s, c);
    *out = brightest_none((int)c->h, (int)c->k, (int)c->l, s->panel);
    if (f2 == 0 || (c->h == 0 && c->k == 0 && c->l == 0)) return;
    for (int i = 0; i < s->n; i++) {
        const double *star = s->stars[i];
        double q[3];

        for (int j = 0; j < 3; j++)
            q[j] = (double)c->h * star[j] + (double)c->k * star[3 + j]
                   + (double)c->l * star[6 + j];
        if (!phys_passes_dmin(dmin, q[0] * q[0] + q[1] * q[1] + q[2] * q[2])) continue;
        for (int j = 0; j < s->nsource; j++)
            add_pair(s, frame->orientation + s->first + i,
                     frame->source + s->first_source + j, q, f2, out);
    }
}

/* ---- lists ---- */

static nb_status grow_layer(struct search *s, size_t n)
{
    if (n <= s->room) return NB_OK;
    free(s->candidates);
    free(s->layer);
    s->room = 0;
    s->candidates = malloc(n * sizeof *s->candidates);
    s->layer = malloc(n * sizeof *s->layer);
    if (!s->candidates || !s->layer)
        return fail_memory(s->progress->ctx, "a list of reflections");
    s->room = n;
    return NB_OK;
}

/* Appends each of n candidates to the list if it scatters. */
static nb_status append(struct search *s, size_t n)
{
    if (s->found + n > s->capacity) {
        const size_t capacity = 2 * s->capacity + n + 256;
        struct bright *larger = realloc(s->list, capacity * sizeof *larger);

        if (!larger) return fail_memory(s->progress->ctx, "a list of reflections");
        s->list = larger;
        s->capacity = capacity;
    }
    for (size_t i = 0; i < n; i++) {
        if (!(s->layer[i].brightness > 0)) continue;
        s->list[s->found] = s->layer[i];
        s->list[s->found].found = s->found;
        s->found++;
    }
    return NB_OK;
}

static nb_status visit_layer(struct search *s, double h)
{
    const size_t most = ewald_most_in_layer(&s->ewald, h);
    const int threads = s->job->schedule.threads;
    size_t n;

    if (most > STRIPS_CANDIDATES)
        return fail(s->progress->ctx, NB_ERR_MEMORY,
                    "%.2g reflections lie near the Ewald sphere, too many to list",
                    (double)most);
    NB_TRY(grow_layer(s, most));
    n = ewald_list_layer(&s->ewald, h, s->candidates);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads) if (n > 64)
    for (size_t i = 0; i < n; i++) {
        STANDARD_FLOATS;
        visit_candidate(s, s->candidates + i, s->layer + i);
    }
    (void)threads; /* unused without OpenMP */
    return append(s, n);
}

static nb_status visit_group(struct search *s)
{
    const struct phys_frame *frame = s->job->frame;
    const int layers = s->ewald.high[0] >= s->ewald.low[0]
                           ? (int)(s->ewald.high[0] - s->ewald.low[0]) + 1
                           : 0;
    const double share = (double)s->n / frame->norientation
                         * ((double)s->nsource / frame->nsource) / s->panels;

    if (ewald_rows(&s->ewald) > strips_rows)
        return fail(s->progress->ctx, NB_ERR_MEMORY,
                    "%.2g rows of reflections cross the Ewald sphere, too many to look "
                    "through",
                    ewald_rows(&s->ewald));
    for (int i = 0; i < s->n; i++)
        (void)ewald_stars(frame->orientation[s->first + i].axes, s->stars[i]);
    progress_part(s->progress, s->share, share, layers);
    for (int i = 0; i < layers; i++) {
        NB_TRY(visit_layer(s, s->ewald.low[0] + i));
        progress_step(s->progress);
        NB_TRY(progress_check(s->progress));
    }
    s->share += share;
    return NB_OK;
}

static nb_status visit_groups(struct search *s)
{
    const struct phys_frame *frame = s->job->frame;

    for (; s->first_source < frame->nsource; s->first_source += s->nsource) {
        s->nsource = ewald_sources(&s->ewald, frame, s->first_source, most_rotation);
        for (s->first = 0; s->first < frame->norientation; s->first += s->n) {
            s->n = ewald_orientations(&s->ewald, frame, s->first, GROUP, most_rotation);
            NB_TRY(visit_group(s));
        }
    }
    return NB_OK;
}

/* ---- order ---- */

static int by_index(const void *a, const void *b)
{
    const struct bright *p = a, *q = b;
    const int order[] = {(p->h > q->h) - (p->h < q->h), (p->k > q->k) - (p->k < q->k),
                         (p->l > q->l) - (p->l < q->l),
                         (p->panel > q->panel) - (p->panel < q->panel),
                         (p->found > q->found) - (p->found < q->found)};

    for (int i = 0; i < 4; i++)
        if (order[i]) return order[i];
    return order[4];
}

static int by_brightness(const void *a, const void *b)
{
    const struct bright *p = a, *q = b;

    if (p->brightness != q->brightness) return p->brightness < q->brightness ? 1 : -1;
    return by_index(a, b);
}

struct bright brightest_none(int h, int k, int l, int panel)
{
    return (struct bright){.h = h,
                           .k = k,
                           .l = l,
                           .low = {INFINITY, INFINITY},
                           .high = {-INFINITY, -INFINITY},
                           .panel = panel};
}

void brightest_add(struct bright *to, double some, double fast, double slow, int is_in)
{
    const double at[2] = {fast, slow};

    to->brightness += some;
    to->fast += some * fast;
    to->slow += some * slow;
    for (int k = 0; k < 2 && is_in; k++) {
        to->low[k] = fmin(to->low[k], at[k]);
        to->high[k] = fmax(to->high[k], at[k]);
    }
}

size_t brightest_sort(struct bright *list, size_t n)
{
    size_t left = 0, all = n;

    for (size_t i = n = 0; i < all; i++)
        if (list[i].brightness > 0) list[n++] = list[i];
    if (n == 0) return 0;
    qsort(list, n, sizeof *list, by_index);
    for (size_t i = 1; i < n; i++) {
        struct bright *to = list + left;
        const struct bright *from = list + i;

        if (from->h != to->h || from->k != to->k || from->l != to->l
            || from->panel != to->panel) {
            list[++left] = *from;
            continue;
        }
        to->brightness += from->brightness;
        to->fast += from->fast;
        to->slow += from->slow;
        for (int k = 0; k < 2; k++) {
            to->low[k] = fmin(to->low[k], from->low[k]);
            to->high[k] = fmax(to->high[k], from->high[k]);
        }
    }
    for (size_t i = 0; i <= left; i++) {
        list[i].fast /= list[i].brightness;
        list[i].slow /= list[i].brightness;
        if (list[i].low[0] <= list[i].high[0]) continue;
        list[i].low[0] = list[i].high[0] =
            list[i].fast; /* the brightest lie off the panel */
        list[i].low[1] = list[i].high[1] = list[i].slow;
    }
    qsort(list, left + 1, sizeof *list, by_brightness);
    return left + 1;
}

/* Finds the reflections of one panel and appends them to the list of the earlier panels. */
static nb_status visit_panel(struct search *s, const struct job *job)
{
    const struct phys_frame *frame = job->frame;
    nb_status status;

    s->job = job;
    s->first = s->n = s->first_source = s->nsource = 0;
    s->share = (double)s->panel / s->panels;
    s->plane = phys_detector_plane(frame, phys_layer_depth(frame, 0));
    s->ewald = ewald_of(frame, 1, job->spec, ewald_radius(frame, job->spec, least_share));
    s->candidates = NULL;
    s->layer = NULL;
    s->room = 0;
    status = visit_groups(s);
    free(s->candidates);
    free(s->layer);
    return status;
}

nb_status brightest_find(struct progress *progress, const struct job *job,
                         struct bright **out, size_t *n)
{
    struct search s = {.progress = progress, .panels = window_panels(job->window)};
    nb_status status = NB_OK;

    s.crystal = phys_crystal(job->frame);
    s.crystal.peak = 1;
    s.box = phys_box(job->frame);
    progress_start(progress, 0);
    for (; s.panel < s.panels && status == NB_OK; s.panel++) {
        const struct job panel = job_of_panel(job, s.panel);

        status = visit_panel(&s, &panel);
    }
    if (status != NB_OK) {
        free(s.list);
        return status;
    }
    *n = brightest_sort(s.list, s.found);
    *out = s.list;
    return progress_end(progress);
}
