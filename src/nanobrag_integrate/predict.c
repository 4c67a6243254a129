/*
 * predict.c - nb_predict(): lists the reflections on the detector. nb_simulator_spots()
 * says which there are and about where; their profiles say where exactly, how far they
 * reach and how many photons they have.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>
#include <nanobrag/reflections.h>

#include "base/context.h"
#include "nanobrag_integrate/profiles.h"
#include "simulator.h"

/* The first box holds the places of a spot's terms and MARGIN pixels around them. The
 * margin of a box that cuts its spot is doubled, until the box is the panel. */
enum { MARGIN = 6 };

/* Spots for which there is room at first. */
enum { SPOTS = 16384 };

/* Pixels of boxes that are held at a time, 256 MB. */
static const size_t most_pixels = (size_t)1 << 25;

/* A pixel belongs to a spot if it has more than this share of the spot's brightest. */
static const double least_share = 0.01;

enum { ROW = 24 }; /* bytes of the largest row of a column */

enum { PREDICTED = 1 }; /* a bit of "flags" of DIALS */

struct prediction {
    nb_context *ctx;
    nb_simulator *sim;
    const double *x;
    nb_prediction how;
    nb_scene scene; /* resolved, for its structure factors */
    nb_panel *panel; /* (panels) */
    size_t n;
    nb_spot *spot; /* (n) */
    int *margin; /* (n) of the box that is tried; 0: the box is found */
    struct profiles profiles; /* (n) */
    double (*sum)[3]; /* (n) photons for F = 1, and these times fast and slow */
};

static nb_status no_memory(const struct prediction *p)
{
    (void)fail_memory(p->ctx, "a prediction of reflections");
    return NB_ERR_MEMORY;
}

/* ---- spots ---- */

static nb_status find_spots(struct prediction *p)
{
    nb_description d;

    NB_TRY(nb_simulator_describe(p->sim, p->x, &d));
    for (size_t room = SPOTS; room > 0; room = p->n > room ? p->n : 0) {
        free(p->spot);
        p->spot = malloc(room * sizeof *p->spot);
        if (!p->spot) return no_memory(p);
        NB_TRY(nb_simulator_spots(p->sim, p->x, room, p->spot, &p->n));
    }
    p->panel = calloc((size_t)d.npanel + 1, sizeof *p->panel);
    p->margin = calloc(p->n + 1, sizeof *p->margin);
    p->sum = calloc(p->n + 1, sizeof *p->sum);
    p->profiles.of = calloc(p->n + 1, sizeof *p->profiles.of);
    if (!p->panel || !p->margin || !p->sum || !p->profiles.of) return no_memory(p);
    for (int i = 0; i < (d.npanel ? d.npanel : 1); i++)
        NB_TRY(nb_simulator_panel(p->sim, p->x, i, p->panel + i));
    p->profiles.n = p->n;
    for (size_t i = 0; i < p->n; i++) {
        memcpy(p->profiles.of[i].hkl, p->spot[i].hkl, sizeof p->spot[i].hkl);
        p->profiles.of[i].lattice = p->spot[i].lattice;
        p->margin[i] = MARGIN;
    }
    return NB_OK;
}

/* ---- boxes ---- */

/* Writes an edge of a box, from .. to - 1 on a panel and a margin, cut to the panel. */
static void place_edge(const double extent[2], double margin, int n, int first, int *out)
{
    out[0] = first + (int)fmax(floor(extent[0]) - margin, 0);
    out[1] = first + (int)fmin(floor(extent[1]) + 1 + margin, n);
}

static void place_box(struct prediction *p, size_t i)
{
    const nb_spot *const spot = p->spot + i;
    const nb_panel *const panel = p->panel + spot->panel;
    int *const box = p->profiles.of[i].box;

    place_edge(spot->extent, p->margin[i], panel->nfast, panel->fast0, box);
    place_edge(spot->extent + 2, p->margin[i], panel->nslow, panel->slow0, box + 2);
}

/* Finds the pixels that belong to a spot, with one pixel around them, cut to the box.
 * Returns 1 if they touch an edge of the box that is no edge of the panel. */
static int shrink(const nb_panel *panel, const struct profile_of *profile, int box[4])
{
    const int width = profile_width(profile), *all = profile->box;
    const size_t n = profile_pixels(profile);
    double peak = 0;
    int in[4] = {all[1], all[0] - 1, all[3], all[2] - 1};

    for (size_t i = 0; i < n; i++) peak = fmax(peak, profile->photons[i]);
    for (size_t i = 0; i < n; i++) {
        const int f = all[0] + (int)(i % (size_t)width),
                  s = all[2] + (int)(i / (size_t)width);

        if (!(profile->photons[i] > least_share * peak)) continue;
        in[0] = f < in[0] ? f : in[0];
        in[1] = f > in[1] ? f : in[1];
        in[2] = s < in[2] ? s : in[2];
        in[3] = s > in[3] ? s : in[3];
    }
    const int cut[4] = {in[0] <= all[0] && all[0] > panel->fast0,
                        in[1] >= all[1] - 1 && all[1] < panel->fast0 + panel->nfast,
                        in[2] <= all[2] && all[2] > panel->slow0,
                        in[3] >= all[3] - 1 && all[3] < panel->slow0 + panel->nslow};

    box[0] = in[0] > all[0] ? in[0] - 1 : all[0];
    box[1] = in[1] < all[1] - 1 ? in[1] + 2 : all[1];
    box[2] = in[2] > all[2] ? in[2] - 1 : all[2];
    box[3] = in[3] < all[3] - 1 ? in[3] + 2 : all[3];
    if (peak > 0) return cut[0] || cut[1] || cut[2] || cut[3];
    return profile_pixels(profile) < (size_t)panel->nfast * (size_t)panel->nslow;
}

static void add_up(const struct profile_of *profile, double sum[3])
{
    const int width = profile_width(profile);
    const double *photons = profile->photons;

    memset(sum, 0, 3 * sizeof *sum);
    for (int s = profile->box[2]; s < profile->box[3]; s++)
        for (int f = profile->box[0]; f < profile->box[0] + width; f++, photons++) {
            sum[0] += *photons;
            sum[1] += *photons * (f + 0.5);
            sum[2] += *photons * (s + 0.5);
        }
}

/* Chooses profiles to render at a time. Returns 0 if all are found. */
static int choose_some(struct prediction *p)
{
    size_t pixels = 0;

    for (size_t i = 0; i < p->n; i++) {
        struct profile_of *const profile = p->profiles.of + i;
        const size_t own = profile_pixels(profile);

        profile->is_done = p->margin[i] == 0 || (pixels > 0 && pixels + own > most_pixels);
        if (!profile->is_done) pixels += own;
    }
    return pixels > 0;
}

/* Renders profiles until each lies within its box. */
static nb_status find_boxes(struct prediction *p)
{
    for (size_t i = 0; i < p->n; i++) place_box(p, i);
    while (choose_some(p)) {
        NB_TRY(profiles_render(p->ctx, p->sim, p->x, &p->profiles));
        for (size_t i = 0; i < p->n; i++) {
            struct profile_of *const profile = p->profiles.of + i;
            int box[4];

            if (profile->is_done) continue;
            if (shrink(p->panel + p->spot[i].panel, profile, box)) {
                p->margin[i] *= 2;
                place_box(p, i);
            } else {
                add_up(profile, p->sum[i]);
                memcpy(profile->box, box, sizeof box);
                p->margin[i] = 0;
            }
            free(profile->photons);
            profile->photons = NULL;
        }
    }
    return NB_OK;
}

/* ---- the table ---- */

/* Returns F of a reflection of the scene, electrons. */
static double f_of(const nb_scene *scene, const int hkl[3])
{
    double f;

    if (scene->crystal.hkl && nb_hkl_get(scene->crystal.hkl, hkl[0], hkl[1], hkl[2], &f))
        return f;
    return scene->crystal.default_f;
}

/* Drops reflections with fewer photons than the least. Returns how many are left. */
static size_t drop_faint(struct prediction *p)
{
    const double least = p->how.least > 0 ? p->how.least : 1;
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++) {
        const double f = f_of(&p->scene, p->spot[i].hkl);

        if (!(f * f * p->sum[i][0] >= least)) continue;
        p->spot[n] = p->spot[i];
        memcpy(p->sum[n], p->sum[i], sizeof *p->sum);
        memcpy(p->profiles.of[n++].box, p->profiles.of[i].box, sizeof p->profiles.of->box);
    }
    return n;
}

/* A column of a table, and how to fill in a row of it. */
struct maker {
    const struct prediction *p;
    const nb_ray *ray; /* (n) */
};

static void make_id(const struct maker *m, size_t i, void *out)
{
    *(int32_t *)out = m->p->how.id + m->p->spot[i].lattice;
}

static void make_panel(const struct maker *m, size_t i, void *out)
{
    *(uint64_t *)out = (uint64_t)m->p->spot[i].panel;
}

static void make_hkl(const struct maker *m, size_t i, void *out)
{
    for (int k = 0; k < 3; k++) ((int32_t *)out)[k] = m->p->spot[i].hkl[k];
}

static void make_flags(const struct maker *m, size_t i, void *out)
{
    (void)m, (void)i;
    *(uint64_t *)out = PREDICTED;
}

static void make_bbox(const struct maker *m, size_t i, void *out)
{
    const nb_panel *const panel = m->p->panel + m->p->spot[i].panel;
    const int *const box = m->p->profiles.of[i].box, frame = (int)floor(m->p->how.frame);
    const int32_t all[6] = {box[0] - panel->fast0,
                            box[1] - panel->fast0,
                            box[2] - panel->slow0,
                            box[3] - panel->slow0,
                            frame,
                            frame + 1};

    memcpy(out, all, sizeof all);
}

static void make_px(const struct maker *m, size_t i, void *out)
{
    const double px[3] = {m->ray[i].fast, m->ray[i].slow, m->p->how.frame};

    memcpy(out, px, sizeof px);
}

static void make_mm(const struct maker *m, size_t i, void *out)
{
    const nb_scan *const scan = &m->p->scene.scan;
    const double phi = scan->phi0 + 0.5 * scan->osc;
    const double mm[3] = {m->ray[i].mm[0], m->ray[i].mm[1],
                          phi * 3.14159265358979323846 / 180};

    memcpy(out, mm, sizeof mm);
}

static void make_s1(const struct maker *m, size_t i, void *out)
{
    memcpy(out, m->ray[i].s1, sizeof m->ray[i].s1);
}

static void make_d(const struct maker *m, size_t i, void *out)
{
    *(double *)out = m->ray[i].d;
}

static void make_psi(const struct maker *m, size_t i, void *out)
{
    *(double *)out = m->ray[i].delta_psi;
}

static void make_wavelength(const struct maker *m, size_t i, void *out)
{
    *(double *)out = m->ray[i].wavelength;
}

static void make_photons(const struct maker *m, size_t i, void *out)
{
    *(double *)out = m->p->sum[i][0];
}

static void make_f(const struct maker *m, size_t i, void *out)
{
    *(double *)out = f_of(&m->p->scene, m->p->spot[i].hkl);
}

static const struct {
    const char *name;
    int type;
    size_t size;
    void (*make)(const struct maker *m, size_t i, void *out);
} columns[] = {
    {"id", NB_COLUMN_INT, sizeof(int32_t), make_id},
    {"panel", NB_COLUMN_SIZE, sizeof(uint64_t), make_panel},
    {"miller_index", NB_COLUMN_MILLER, 3 * sizeof(int32_t), make_hkl},
    {"flags", NB_COLUMN_SIZE, sizeof(uint64_t), make_flags},
    {"bbox", NB_COLUMN_INT6, 6 * sizeof(int32_t), make_bbox},
    {"xyzcal.px", NB_COLUMN_VEC3, 3 * sizeof(double), make_px},
    {"xyzcal.mm", NB_COLUMN_VEC3, 3 * sizeof(double), make_mm},
    {"s1", NB_COLUMN_VEC3, 3 * sizeof(double), make_s1},
    {"d", NB_COLUMN_DOUBLE, sizeof(double), make_d},
    {"delpsical.rad", NB_COLUMN_DOUBLE, sizeof(double), make_psi},
    {"wavelength", NB_COLUMN_DOUBLE, sizeof(double), make_wavelength},
    {"nanobrag.photons", NB_COLUMN_DOUBLE, sizeof(double), make_photons},
    {"nanobrag.f", NB_COLUMN_DOUBLE, sizeof(double), make_f},
};

static nb_status fill_table(const struct prediction *p, const nb_ray *ray, char *memory,
                            nb_reflections *table)
{
    const struct maker m = {p, ray};

    for (size_t k = 0; k < sizeof columns / sizeof columns[0]; k++) {
        for (size_t i = 0; i < p->n; i++)
            columns[k].make(&m, i, memory + i * columns[k].size);
        NB_TRY(nb_reflections_set(p->ctx, table, columns[k].name, columns[k].type, memory));
    }
    return NB_OK;
}

static nb_status make_table(struct prediction *p, nb_reflections **out)
{
    nb_ray *const ray = calloc(p->n + 1, sizeof *ray);
    char *const memory = malloc((p->n + 1) * ROW);
    nb_status status = ray && memory ? NB_OK : no_memory(p);

    for (size_t i = 0; status == NB_OK && i < p->n; i++) {
        const nb_panel *const panel = p->panel + p->spot[i].panel;

        memcpy(ray[i].hkl, p->spot[i].hkl, sizeof ray[i].hkl);
        ray[i].lattice = p->spot[i].lattice;
        ray[i].panel = p->spot[i].panel;
        ray[i].fast = p->sum[i][1] / p->sum[i][0] - panel->fast0;
        ray[i].slow = p->sum[i][2] / p->sum[i][0] - panel->slow0;
    }
    if (status == NB_OK) status = nb_rays(p->sim, p->x, p->n, ray);
    if (status == NB_OK) status = nb_simulator_resolved(p->sim, p->x, &p->scene);
    if (status == NB_OK) status = nb_reflections_create(p->ctx, p->n, out);
    if (status == NB_OK) status = fill_table(p, ray, memory, *out);
    free(ray);
    free(memory);
    return status;
}

nb_status nb_predict(nb_simulator *sim, const double *x, const nb_prediction *how,
                     nb_reflections **out)
{
    struct prediction p = {.sim = sim, .x = x};
    nb_status status;

    if (!sim || !out) return NB_ERR_ARGUMENT;
    p.ctx = sim->ctx;
    *out = NULL;
    if (how) p.how = *how;
    if (!(p.how.least >= 0) || !(fabs(p.how.frame) <= 1e9))
        return fail(p.ctx, NB_ERR_ARGUMENT,
                    "a prediction from %g photons on, of frame %g; expected 0 photons or "
                    "more, and a frame up to 1e9",
                    p.how.least, p.how.frame);
    status = find_spots(&p);
    if (status == NB_OK) status = find_boxes(&p);
    if (status == NB_OK) status = nb_simulator_resolved(sim, x, &p.scene);
    if (status == NB_OK) {
        p.n = drop_faint(&p);
        status = make_table(&p, out);
    }
    p.profiles.n = p.spot ? p.profiles.n : 0;
    profiles_free(&p.profiles);
    free(p.panel);
    free(p.spot);
    free(p.margin);
    free(p.sum);
    if (status == NB_OK) return NB_OK;
    nb_reflections_free(*out);
    *out = NULL;
    return status;
}
