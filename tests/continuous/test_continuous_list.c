/*
 * test_continuous_list.c - the list of spots of continuous crystals against a dense scan:
 * log I of every reflection at every sample, along phi and the energies. A sample above the
 * cut lies in a spot of its reflection; the parts of a spot hold each of its samples once;
 * the tiles that spots reach are marked.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/continuous/forms/view_parts.h"
#include "kernels/continuous/place.h"
#include "scene/probe.h"
#include "state/state.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* Spots are followed to this exponent below their peak, by the default tolerance. */
static const double cut = 14.3155;

enum { MOST_SAMPLES = 80 * 80, KEYS = 512 };

/* ---- what the list says ---- */

/* The samples of one panel that spots hold, and how often. */
struct map {
    int wide, high; /* samples */
    unsigned char count[MOST_SAMPLES];
};

static struct map map_of(const struct job *panel)
{
    const int over = panel->frame->oversample;
    struct map m = {panel->window->nfast * over, panel->window->nslow * over, {0}};

    if (m.wide * m.high > MOST_SAMPLES) abort();
    return m;
}

static void add_samples(const struct listed_spot *spot, const struct job *panel,
                        struct map *m)
{
    const int over = panel->frame->oversample;
    int row, end;

    list_rows_of(spot, m->high, &row, &end);
    for (int y = row; y < end; y++) {
        struct sample_row rows[64];
        int at = y;
        const int n = list_samples(spot, panel, &at, y + 1, 64, rows);

        for (int r = 0; r < n; r++) {
            const size_t first = rows[r].pixel - window_pixel(panel->window, y / over, 0);

            for (int i = 0; i < rows[r].n; i++)
                m->count[y * m->wide + (int)first * over + i]++;
        }
    }
}

static int same_reflection(const struct spot_name *a, const struct spot_name *b)
{
    return a->h == b->h && a->k == b->k && a->l == b->l && a->crystal == b->crystal
           && a->mosaic == b->mosaic && a->group == b->group && a->panel == b->panel
           && a->layer == b->layer;
}

static int same_spot(const struct spot_name *a, const struct spot_name *b)
{
    return same_reflection(a, b) && a->line == b->line && a->rule == b->rule
           && a->gauss == b->gauss;
}

/* What was found wrong. */
struct faults {
    int twice, torn, dark; /* samples of parts and tiles */
    int spots, parts, scanned; /* to show that there was something to see */
    int stills; /* of Gauss's rule */
    double lost; /* the largest log I over the cut that no spot holds */
    struct spot_name where;
    struct worst rule; /* of sums by Gauss's rule */
};

/* Returns 1 where a sample lies in an ellipse. */
static int is_inside(const struct spot_ellipse *e, int x, int y)
{
    const double b = (y + 0.5 - e->y) / e->yb, a = (x + 0.5 - e->x - e->xb * b) / e->xa;

    return a * a + b * b < 1;
}

/* Checks that the parts of each spot hold its samples once, and that they are lit. */
static void check_parts(const nb_simulator *sim, const struct job *job, struct faults *f)
{
    const struct spot_table *t = &sim->continuous->table;

    for (size_t s = 0, n; s < t->n; s += n) {
        struct listed_spot whole = t->spot[s];
        const struct job panel = job_of_panel(job, whole.name.panel);
        struct map parts = map_of(&panel), all = map_of(&panel);

        for (n = 0; s + n < t->n && same_spot(&t->spot[s + n].name, &whole.name); n++)
            add_samples(t->spot + s + n, &panel, &parts);
        whole.cell[0] = whole.cell[2] = -1;
        whole.cell[1] = whole.cell[3] = 1;
        add_samples(&whole, &panel, &all);
        f->spots++;
        f->parts += (int)n;
        for (int i = 0; i < parts.wide * parts.high; i++) {
            f->twice += parts.count[i] > 1;
            if (parts.count[i] != 0)
                f->torn += all.count[i] == 0;
            else if (all.count[i] != 0
                     && is_inside(&whole.spot, i % parts.wide, i / parts.wide))
                f->torn++;
        }
        for (int k = 0; k < job->window->ntile; k++) {
            const struct tile *tile = job->window->tile + k;
            const int over = panel.frame->oversample;

            if (tile->panel != whole.name.panel || sim->continuous->lit[tile->number])
                continue;
            for (int y = tile->slow * over;
                 y < min_int((tile->slow + tile->height) * over, parts.high); y++)
                for (int x = tile->fast * over;
                     x < min_int((tile->fast + tile->width) * over, parts.wide); x++)
                    f->dark += parts.count[y * parts.wide + x];
        }
    }
}

/* ---- the scan ---- */

/* A reflection on a layer of a panel, as the scan sees it. */
struct scan {
    const nb_simulator *sim;
    const struct view *view;
    struct job panel;
    struct spot_name name;
    struct form_of of;
    struct spot_nodes n;
    double half, low, high, peak; /* ranges of phi and energy; log I of the peak */
    double wide; /* standard deviation of the widest direction, 1/A */
};

/* Returns log I at phi z and relative energy e, with the line's own weight of e. */
static double log_at(const struct scan *s, struct form_vector lab, double z, double e)
{
    const struct beam_group *g = s->view->group + s->name.group;
    struct form_vector p;
    double turn[9], best = -INFINITY;

    view_turn(s->n.w, z, turn);
    p.x = form_dot(form_load(turn), lab);
    p.y = form_dot(form_load(turn + 3), lab);
    p.z = form_dot(form_load(turn + 6), lab);
    p = form_scale(1 + e, p);
    for (int i = 0; i < g->n; i++) {
        const double k = s->view->frame->source[g->first + i].inverse_wavelength;
        const double off = g->n > 1 ? e - (k / g->k - 1) : e;

        best = fmax(best, s->n.line > 0 ? -0.5 * off * off / (s->n.line * s->n.line)
                          : off == 0    ? 0
                                        : -INFINITY);
    }
    return best + form_at(&s->n.form, form_axpy(-1, form_load(s->n.q0), p)).log - s->peak;
}

/* Returns the largest log I over the energies at phi z. */
static double over_energies(const struct scan *s, struct form_vector lab, double z)
{
    enum { STEPS = 9 };
    const struct beam_group *g = s->view->group + s->name.group;
    double best = -INFINITY;

    if (s->n.line == 0 && g->n == 1) return log_at(s, lab, z, 0);
    for (int i = 0; i < g->n; i++) {
        const double k = s->view->frame->source[g->first + i].inverse_wavelength;
        const double at = g->n > 1 ? k / g->k - 1 : 0;

        if (s->n.line == 0)
            best = fmax(best, log_at(s, lab, z, at));
        else
            for (int j = 0; j < STEPS; j++)
                best =
                    fmax(best, log_at(s, lab, z, at + s->n.line * (j - STEPS / 2) * 1.2));
    }
    return best;
}

/* Returns the largest log I of a sample, over phi and the energies. */
static double over_all(const struct scan *s, struct form_vector lab)
{
    const struct form_vector w = form_load(s->n.w);
    double best, z = 0, step;

    if (s->half == 0) return over_energies(s, lab, 0);
    {
        const struct form_vector b = form_cross(w, lab);
        const double h = form_dot(b, form_times(s->n.form.ci, b));

        step = fmin(0.25 / sqrt(h + 1e-30), s->half / 8);
    }
    best = over_energies(s, lab, 0);
    for (double at = -s->half; at <= s->half * (1 + 1e-12); at += step) {
        const double here = over_energies(s, lab, at);

        if (here > best) best = here, z = at;
    }
    for (int i = -4; i <= 4; i++)
        if (fabs(z + i * step / 4) <= s->half)
            best = fmax(best, over_energies(s, lab, z + i * step / 4));
    return best;
}

/* The scattering vector of a sample, in the laboratory at the energy of the group. */
static struct form_vector vector_of(const struct scan *s, int x, int y)
{
    const struct form_vector at =
        form_axpy(x + 0.5, form_load(s->n.fast),
                  form_axpy(y + 0.5, form_load(s->n.slow), form_load(s->n.origin)));

    return form_scale(s->n.k, form_axpy(-1, form_load(s->n.s),
                                        form_scale(1 / sqrt(form_dot(at, at)), at)));
}

/* Returns 1 where a pixel is rendered. */
static int is_shown(const struct window *w, int x, int y)
{
    for (int i = 0; i < w->ntile; i++) {
        const struct tile *t = w->tile + w->first_tile + i;

        if (y >= t->slow && y < t->slow + t->height && x >= t->fast
            && x < t->fast + t->width)
            return (int)(t->shown[y - t->slow] >> (x - t->fast) & 1);
    }
    return 0;
}

/* Adds the samples of all spots of this reflection; between them there may be those of
 * other panels. Returns 1 where some are stills of Gauss's rule. */
static int cover(const struct scan *s, struct map *m)
{
    const struct spot_table *t = &s->sim->continuous->table;
    int stills = 0;

    for (size_t i = 0; i < t->n; i++)
        if (same_reflection(&t->spot[i].name, &s->name)) {
            add_samples(t->spot + i, &s->panel, m);
            stills |= t->spot[i].name.gauss != 0 || t->spot[i].name.rule != 0;
        }
    return stills;
}

/* Compares the mean of I over phi with the sum by Gauss's rule, at samples that spots
 * hold. */
static void check_rule(const struct scan *s, const struct map *m, struct faults *f)
{
    enum { STEPS = 200 };
    const struct spot_table *t = &s->sim->continuous->table;
    const size_t n = (size_t)m->wide * (size_t)m->high;
    double sum[MOST_SAMPLES] = {0}, truth[MOST_SAMPLES] = {0};

    for (size_t i = 0; i < t->n; i++) {
        struct map own = map_of(&s->panel);

        if (!same_reflection(&t->spot[i].name, &s->name)) continue;
        add_samples(t->spot + i, &s->panel, &own);
        for (int k = 0; k < m->wide * m->high; k++)
            if (own.count[k])
                sum[k] += t->spot[i].weight
                          * exp(log_at(s, vector_of(s, k % m->wide, k / m->wide),
                                       t->spot[i].name.gauss * s->half, 0));
    }
    for (int k = 0; k < m->wide * m->high; k++)
        for (int i = 0; i < STEPS && m->count[k]; i++)
            truth[k] += exp(log_at(s, vector_of(s, k % m->wide, k / m->wide),
                                   ((2 * i + 1.) / STEPS - 1) * s->half, 0))
                        / STEPS;
    worst_add_all(&f->rule, sum, truth, n, fmax(0.01, worst_largest(truth, n)));
    f->stills++;
}

/* Returns how far a reflection lies outside of the sphere. */
static double off_sphere(const struct beam_group *g, struct form_vector q0)
{
    const struct form_vector out = form_axpy(g->k, form_load(g->s), q0);

    return sqrt(form_dot(out, out)) - g->k;
}

/* Returns what no reach exceeds. */
static double reach_most(double q)
{
    return 0.1 + 0.2 * q;
}

/* Scans all samples of the panel for one reflection. */
static void scan_panel(const struct scan *s, struct faults *f)
{
    const int over = s->panel.frame->oversample;
    const struct form_vector q0 = form_load(s->n.q0), w = form_load(s->n.w);
    const double q = sqrt(form_dot(q0, q0));
    const double reach = 6.5 * s->wide + 1.1 * s->half * q * sqrt(form_dot(w, w))
                         + fmax(fabs(s->low), fabs(s->high)) * q;
    struct map held = map_of(&s->panel);
    int covered = 0, stills = 0;

    if (reach > reach_most(q)) abort();
    if (fabs(off_sphere(s->view->group + s->name.group, q0)) > reach) return;
    for (int y = 0; y < held.high; y++)
        for (int x = 0; x < held.wide; x++) {
            const struct form_vector lab = vector_of(s, x, y);
            const struct form_vector off = form_axpy(-1, q0, lab);
            double l;

            if (form_dot(off, off) > reach * reach) continue;
            if (!is_shown(s->panel.window, x / over, y / over)) continue;
            l = over_all(s, lab);
            f->scanned++;
            if (l < -cut) continue;
            if (!covered) stills = cover(s, &held);
            covered = 1;
            /* between two of its points a rule may see less */
            if (stills) l -= 4;
            if (held.count[y * held.wide + x] == 0 && l + cut > f->lost) {
                f->lost = l + cut;
                f->where = s->name;
                f->where.x = x, f->where.y = y;
            }
        }
    if (stills && s->view->group[s->name.group].n == 1 && s->n.line == 0)
        check_rule(s, &held, f);
}

static double trace(const double m[6])
{
    return m[0] + m[1] + m[2];
}

/* Scans a reflection on all panels and layers. */
static void scan_reflection(const nb_simulator *sim, const struct job *job,
                            struct spot_name name, struct faults *f)
{
    const struct view *view = &sim->continuous->view;
    const struct phys_broad *b = &view->frame->broad;
    const struct beam_group *g = view->group + name.group;
    const double *stars = view->crystal[name.crystal].stars;
    const struct form_vector q0 =
        form_axpy(name.h, form_load(stars),
                  form_axpy(name.k, form_load(stars + 3),
                            form_scale(name.l, form_load(stars + 6))));

    if (fabs(off_sphere(g, q0)) > reach_most(sqrt(form_dot(q0, q0)))) return;
    for (name.panel = 0; name.panel < window_panels(job->window); name.panel++)
        for (name.layer = 0; name.layer < job->frame[name.panel].nlayers; name.layer++) {
            struct scan s = {.sim = sim, .view = view, .name = name, .half = b->half_range};
            const double dark = 5.5 * b->line;
            double q2 = 0;

            s.panel = job_of_panel(job, name.panel);
            s.name.line = g->n > 1 ? -1 : g->first;
            view_nodes(view, job->frame + name.panel, &s.name, &s.of, &s.n);
            for (int i = 0; i < 3; i++) q2 += s.of.q0[i] * s.of.q0[i];
            s.low = g->low - dark, s.high = g->high + dark;
            s.wide = sqrt(trace(s.of.block) + q2 * trace(s.of.spread));
            s.peak = form_at(&s.n.form, (struct form_vector){0, 0, 0}).log;
            scan_panel(&s, f);
        }
}

/* Scans all reflections that the detector might see. */
static void scan_all(const nb_simulator *sim, const struct job *job, struct faults *f)
{
    const struct view *view = &sim->continuous->view;
    const int mosaics = view->frame->broad.tail > 0 ? MOSAICS : 1, most = 24;
    struct spot_name name = {0};

    for (name.crystal = 0; name.crystal < view->ncrystal; name.crystal++)
        for (name.mosaic = 0; name.mosaic < mosaics; name.mosaic++)
            for (name.group = 0; name.group < view->ngroup; name.group++)
                for (name.h = -most; name.h <= most; name.h++)
                    for (name.k = -most; name.k <= most; name.k++)
                        for (name.l = -most; name.l <= most; name.l++)
                            scan_reflection(sim, job, name, f);
}

/* ---- random scenes ---- */

static double uniform(uint64_t *state)
{
    return probe_uniform(state);
}

static void randomise(nb_scene *s, uint64_t *state)
{
    for (int i = 0; i < 3; i++) {
        s->crystal.cell[i] = 18 + 14 * uniform(state);
        s->crystal.cell[3 + i] = 75 + 30 * uniform(state);
        s->crystal.misset[i] = 360 * uniform(state);
        s->crystal.ncells[i] = 5 + 8 * uniform(state);
        s->crystal.mosaic[i] = 0.1 + 0.9 * uniform(state);
    }
    if (uniform(state) < 0.5) s->crystal.mosaic[1] = s->crystal.mosaic[2] = 0;
    s->crystal.mosaic_model = NB_MOSAIC_GAUSS;
    s->crystal.shape = NB_SHAPE_GAUSS;
    s->crystal.ndomains = s->crystal.mosaic_seed = 0;
    s->scan.nphi = 0;
    s->scan.osc = 0;
    s->detector.pixel = 0.9;
    s->detector.nfast = 30, s->detector.nslow = 24;
    s->detector.distance = 50;
    s->detector.twotheta = 40 * uniform(state);
}

enum { KINDS = 10 };

static const char *const kinds[KINDS] = {"stills",
                                         "rotation of 0.4 degree",
                                         "rotation of 3 degrees",
                                         "rotation of 9 degrees",
                                         "a spectrum",
                                         "two directions and a dispersion",
                                         "a spectrum with rotation",
                                         "panels",
                                         "boxes and a mask",
                                         "layers, a tail, a strain and a divergence"};

/* Adds what a kind of scenes is about. */
static void specialise(int kind, nb_scene *s)
{
    static nb_source lines[12];
    static uint8_t mask[24 * 30];
    static const int box[12] = {2, 9, 3, 8, 12, 21, 5, 11, 7, 28, 14, 23};
    const double osc[KINDS] = {0, 0.4, 3, -9, 0, 0, 0.5, 1, 0.7, 0.6};

    s->scan.osc = osc[kind];
    if (kind >= 4 && kind <= 6) {
        s->beam.nsource = kind == 5 ? 2 : 12;
        s->beam.source = lines;
        for (int i = 0; i < s->beam.nsource; i++) {
            lines[i] = (nb_source){{1, 0, 0}, 1.1 * (1 + 2e-3 * (i - 5.3)), 1 + i % 3};
            if (kind == 5) lines[i].direction[1] = 4e-3 * i;
        }
        s->beam.dispersion = kind == 5 ? 0.01 : 0;
    }
    if (kind == 7) {
        s->detector.nfast = 40, s->detector.nslow = 37;
        s->detector.twotheta = 0;
        scenes_panels(s);
    }
    if (kind == 8) {
        s->oversample = 2;
        for (int i = 0; i < 24 * 30; i++) mask[i] = i % 7 != 3;
        s->detector.mask = mask;
        s->detector.box = box;
        s->detector.nbox = 3;
    }
    if (kind == 9) {
        s->detector.thickness = 400, s->detector.attenuation = 300;
        s->detector.nlayers = 2;
        s->crystal.mosaic_tail = 0.1, s->crystal.mosaic_tail_width = 3;
        s->crystal.strain = 2e-3;
        s->beam.divergence[0] = 0.8;
    }
}

static int scan(void)
{
    static double pixels[MOST_SAMPLES];
    uint64_t state = 11;

    for (int kind = 0; kind < KINDS; kind++) {
        struct faults f = {0};

        for (int i = 0; i < 2; i++) {
            nb_scene scene = scenes_base();
            nb_simulator *sim;
            struct job job;
            nb_array image;

            randomise(&scene, &state);
            specialise(kind, &scene);
            sim = probe_make(&scene, NULL);
            image = nb_array_f64(pixels, (size_t)sim->scene.detector.nslow,
                                 (size_t)sim->scene.detector.nfast);
            if (nb_forward(sim, NULL, &image) != NB_OK) abort();
            job = simulator_job(sim, &sim->scene, sim->frames, NULL);
            check_parts(sim, &job, &f);
            scan_all(sim, &job, &f);
            nb_simulator_free(sim);
        }
        tap_note("%s: %d spots in %d parts, %d by Gauss's rule, %d samples scanned",
                 kinds[kind], f.spots, f.parts, f.stills, f.scanned);
        tap_check(f.spots > 10 && f.scanned > 1000, "%s: something is seen", kinds[kind]);
        tap_check(f.twice == 0 && f.torn == 0,
                  "parts hold samples twice: %d, not as their spot: %d", f.twice, f.torn);
        tap_check(f.dark == 0, "samples in tiles that are not lit: %d", f.dark);
        tap_check(f.lost <= 0,
                  "log I over the cut where no spot is: %.3g, at %d %d %d, panel %d, "
                  "layer %d, sample %g %g",
                  f.lost, f.where.h, f.where.k, f.where.l, f.where.panel, f.where.layer,
                  f.where.x, f.where.y);
        if (f.stills > 0)
            worst_check(&f.rule, 1e-4, "sums by Gauss's rule, over the largest");
    }
    return TAP_PASS;
}

/* ---- bounds ---- */

/* Lists the spots of all reflections one by one, without the bounds for rows of them.
 * Returns their number. */
static size_t count_placed(const nb_simulator *sim, const struct job *job)
{
    const struct view *view = &sim->continuous->view;
    const struct list_settings settings = {cut, 1, job, &sim->continuous->pattern};
    const int most = 50;
    struct spot_table all = {0};
    struct spot_name name = {0};
    size_t n;

    for (name.crystal = 0; name.crystal < view->ncrystal; name.crystal++)
        for (name.group = 0; name.group < view->ngroup; name.group++)
            for (name.h = -most; name.h <= most; name.h++)
                for (name.k = -most; name.k <= most; name.k++)
                    for (name.l = -most; name.l <= most; name.l++)
                        if (!place_reflection(view, &settings, &name, &all)) abort();
    n = all.n;
    list_free(&all);
    return n;
}

/* Sharp spots, which a rotation, a wide spectrum or a wide line brings to the sphere: the
 * list has all of them. */
static int bounds(void)
{
    static const char *const name[] = {"rotation of 9 degrees", "lines over 12 %",
                                       "a line of 2 %"};
    static const double corner[3] = {50, 60, -12};
    static double pixels[MOST_SAMPLES];
    static nb_source lines[12];
    uint64_t state = 5;

    for (int i = 0; i < 12; i++)
        lines[i] = (nb_source){{1, 0, 0}, 1.1 * (1 + 0.01 * (i - 5.5)), 1};
    for (int kind = 0; kind < 3; kind++) {
        nb_scene s = scenes_base();
        nb_simulator *sim;
        nb_array image;
        struct job job;
        size_t placed;

        randomise(&s, &state);
        for (int i = 0; i < 3; i++) {
            s.crystal.cell[i] *= 2;
            s.crystal.ncells[i] = 80;
            s.crystal.mosaic[i] = 0.01;
        }
        /* where a rotation moves reflections fastest: along y */
        s.detector.origin_kind = NB_ORIGIN_PIX0;
        memcpy(s.detector.origin, corner, sizeof corner);
        s.crystal.hkl = NULL;
        s.crystal.default_f = 10;
        s.scan.osc = kind == 0 ? 9 : 0;
        if (kind == 1) s.beam.nsource = 12, s.beam.source = lines;
        if (kind == 2) s.beam.dispersion = 0.05;
        sim = probe_make(&s, NULL);
        image = nb_array_f64(pixels, (size_t)s.detector.nslow, (size_t)s.detector.nfast);
        if (nb_forward(sim, NULL, &image) != NB_OK) abort();
        job = simulator_job(sim, &sim->scene, sim->frames, NULL);
        placed = count_placed(sim, &job);
        tap_check(placed > 20 && sim->continuous->table.n == placed,
                  "%s: %zu parts are listed, %zu placed one by one", name[kind],
                  sim->continuous->table.n, placed);
        nb_simulator_free(sim);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"scan", scan}, {"bounds", bounds}};

    return tap_main(argc, argv, cases, 2);
}
