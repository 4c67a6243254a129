/*
 * compare.c - compares the image of a shot with its observation.
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "base/array.h"
#include "base/context.h"
#include "base/floats.h"
#include "base/window.h"
#include "image/target.h"
#include "nanobrag_fit/fit.h"
#include "nanobrag_fit/outliers/outliers.h"
#include "nanobrag_fit/residuals/correlation.h"

/* one shot, simulated at the values found so far or at the x of a worker */
struct compared {
    nb_context *ctx;
    nb_fit *fit; /* NULL: simulator and shot belong to a worker */
    size_t shot;
    nb_shot loaded;
    nb_simulator *sim;
    double *x, *photons;
    nb_array image;
    nb_description d;
    nb_scene scene; /* resolved */
    struct window window;
    struct phys_loss_model model;
    int by_variance; /* 1: z = residual/sqrt(variance); 0: z = residual sqrt(curvature) */
    int has_variances; /* 1: weights are 1/variance (variances.h) */
};

static void take_model(struct compared *c)
{
    const nb_target *t = &c->loaded.target;

    c->model = target_model(t);
    c->by_variance =
        t->kind == NB_LOSS_HUBER || t->kind == NB_LOSS_CAUCHY || t->kind == NB_LOSS_GAUSS;
    c->has_variances = errors_has_variances(t);
}

static void end(struct compared *c)
{
    window_free(&c->window);
    free(c->photons);
    if (!c->fit) return;
    nb_simulator_free(c->sim);
    fit_unload(c->fit, c->shot, &c->loaded);
}

static nb_status make_window(struct compared *c)
{
    const struct window_pixels pixels = window_pixels_of(&c->scene.detector);

    if (window_make(&pixels, &c->window)) return NB_OK;
    return fail_memory(c->ctx, "the pixels of a shot");
}

/* Adds the planes of the boxes to the photons. A pixel belongs to the first box that
 * contains it, so boxes are written from the last to the first. */
static void add_planes(struct compared *c, const double *planes, double *plane)
{
    const nb_detector *d = &c->scene.detector;
    const size_t pixels = (size_t)c->d.nslow * (size_t)c->d.nfast;

    for (size_t b = d->nbox; b-- > 0;) {
        const int *r = d->box + 4 * b;
        const double *t = planes + 3 * b;

        for (int s = r[2]; s < r[3]; s++)
            for (int f = r[0]; f < r[1]; f++)
                plane[(size_t)s * (size_t)c->d.nfast + (size_t)f] =
                    t[0] + t[1] * (f - (r[0] + r[1] - 1) / 2.)
                    + t[2] * (s - (r[2] + r[3] - 1) / 2.);
    }
    for (size_t i = 0; i < pixels; i++)
        if (window_shows(&c->window, (int)(i / (size_t)c->d.nfast),
                         (int)(i % (size_t)c->d.nfast)))
            c->photons[i] += plane[i];
}

static nb_status render_planes(struct compared *c)
{
    const size_t n = 3 * c->scene.detector.nbox;
    const size_t pixels = (size_t)c->d.nslow * (size_t)c->d.nfast;
    double *planes;
    nb_status status;

    if (c->loaded.target.background != NB_BACKGROUND_PLANES) return NB_OK;
    planes = calloc(n + pixels, sizeof *planes);
    if (!planes) return fail_memory(c->ctx, "the planes of a shot");
    status = nb_planes(c->sim, c->x, &c->loaded.target, planes);
    if (status == NB_OK) add_planes(c, planes, planes + n);
    free(planes);
    return status;
}

/* Renders the image at c->x. */
static nb_status render_at(struct compared *c)
{
    size_t pixels;

    NB_TRY(nb_simulator_describe(c->sim, c->x, &c->d));
    NB_TRY(nb_simulator_resolved(c->sim, c->x, &c->scene));
    NB_TRY(make_window(c));
    pixels = (size_t)c->d.nslow * (size_t)c->d.nfast;
    c->photons = malloc(pixels * sizeof *c->photons);
    if (!c->photons) return fail_memory(c->ctx, "the image of a shot");
    c->image = nb_array_f64(c->photons, c->d.nslow, c->d.nfast);
    NB_TRY(nb_forward(c->sim, c->x, &c->image));
    return render_planes(c);
}

static nb_status render(struct compared *c)
{
    nb_fit *fit = c->fit;
    const struct fit_layout *l = &fit->layout;

    NB_TRY(nb_simulator_create(fit->ctx, c->loaded.scene, fit->names, c->loaded.options,
                               &c->sim));
    c->x = fit->worker->x;
    for (size_t i = 0; i < l->m; i++)
        c->x[i] = fit_value_now(fit, fit_index(l, c->shot, i));
    return render_at(c);
}

static nb_status check_observed(const struct compared *c)
{
    const nb_target *target = &c->loaded.target;
    nb_context *ctx = c->ctx;

    NB_TRY(target_check(ctx, target));
    NB_TRY(array_check(ctx, target->observed, "observed", c->d.nslow, c->d.nfast,
                       NB_TYPE_FLOAT, 32, 64));
    if (!target->weight) return NB_OK;
    return array_check(ctx, target->weight, "weight", c->d.nslow, c->d.nfast, NB_TYPE_FLOAT,
                       32, 64);
}

static nb_status check_shot(const nb_fit *fit, int64_t shot)
{
    if (shot >= 0 && shot < (int64_t)fit->layout.nshot) return NB_OK;
    return fail(fit->ctx, NB_ERR_ARGUMENT, "there is no shot %lld", (long long)shot);
}

/* Returns 1 if pixel (s, f) is rendered, has a weight above 0 and is not saturated. */
static int counts(const struct compared *c, int s, int f)
{
    const nb_target *target = &c->loaded.target;
    const double weight = target->weight ? array_get(target->weight, s, f) : 1;

    return window_shows(&c->window, s, f) && weight > 0
           && !(array_get(target->observed, s, f) >= c->model.saturation);
}

/* the difference of image and observation in one pixel */
struct pixel {
    double observed, photons, weight, variance;
    double to_z; /* factor from the residual to z */
    double loss;
};

static double residual_of(const struct pixel *p)
{
    return p->observed - p->photons;
}

/* Compares pixel (s, f). Returns 0 if it has no z. */
static int compare(const struct compared *c, int s, int f, struct pixel *out)
{
    const nb_target *target = &c->loaded.target;
    struct phys_loss l;

    if (!counts(c, s, f)) return 0;
    out->photons = c->photons[(size_t)s * (size_t)c->d.nfast + (size_t)f];
    out->observed = array_get(target->observed, s, f);
    out->weight = target->weight ? array_get(target->weight, s, f) : 1;
    l = phys_loss(c->model, out->photons, out->observed, out->weight);
    out->variance = errors_variance(target, c->has_variances, out->photons, out->weight);
    out->to_z = c->by_variance ? 1 / sqrt(out->variance) : sqrt(l.curvature);
    out->loss = l.value;
    return !c->by_variance || out->variance > 0;
}

static void write_compared(const struct compared *c, int what, const nb_array *out)
{
    for (int s = 0; s < c->d.nslow; s++)
        for (int f = 0; f < c->d.nfast; f++) {
            struct pixel p;
            double value = 0;

            if (compare(c, s, f, &p))
                value = what == NB_FIT_Z ? residual_of(&p) * p.to_z : residual_of(&p);
            array_set(out, s, f, value);
        }
}

static nb_status image(struct compared *c, int what, const nb_array *out)
{
    NB_TRY(array_check(c->ctx, out, "out", c->d.nslow, c->d.nfast, NB_TYPE_FLOAT, 32, 64));
    if (what == NB_FIT_MODEL) {
        array_write(out, c->photons);
        return NB_OK;
    }
    NB_TRY(check_observed(c));
    take_model(c);
    write_compared(c, what, out);
    return NB_OK;
}

nb_status nb_fit_image(nb_fit *fit, int64_t shot, int what, nb_array *out)
{
    STANDARD_FLOATS;
    struct compared c = {.fit = fit, .ctx = nb_fit_context(fit), .shot = (size_t)shot};
    nb_status status;

    if (!fit) return NB_ERR_ARGUMENT;
    if (!out) return fail(fit->ctx, NB_ERR_ARGUMENT, "an image needs a place to go");
    if (what < NB_FIT_MODEL || what > NB_FIT_Z)
        return fail(fit->ctx, NB_ERR_ARGUMENT,
                    "image %d of a fit is none of enum nb_fit_image_kind", what);
    NB_TRY(check_shot(fit, shot));
    NB_TRY(fit_load(fit, fit->ctx, c.shot, &c.loaded));
    status = render(&c);
    if (status == NB_OK) status = image(&c, what, out);
    end(&c);
    return status;
}

/* ---- sums over all pixels ---- */

static struct fit_compared compared_by(const struct compared *c)
{
    struct fit_compared how = {&c->loaded.target, &c->model, c->has_variances, {0}};

    errors_density(how.density);
    return how;
}

/* Calls each() for every rendered pixel. */
static void visit(const struct compared *c,
                  void (*each)(const struct compared *c, int s, int f, void *to), void *to)
{
    for (int k = 0; k < c->window.ntile; k++) {
        const struct tile *tile = c->window.tile + k;
        const struct window *panel = window_panel(&c->window, tile->panel);

        for (int r = 0; r < tile->height; r++)
            for (int i = 0; i < tile->width; i++)
                if (tile->shown[r] >> i & 1)
                    each(c, panel->slow0 + tile->slow + r, panel->fast0 + tile->fast + i,
                         to);
    }
}

/* where weigh() adds up */
struct weighing {
    struct fit_compared how;
    struct fit_weighed *out;
};

static void weigh(const struct compared *c, int s, int f, void *user)
{
    const struct weighing *to = user;
    struct pixel p = {.to_z = 0};

    if (!counts(c, s, f)) return;
    if (compare(c, s, f, &p)) {
        const double z = residual_of(&p) * p.to_z;

        to->out->pixels++;
        to->out->square += z * z;
    }
    misfit_add(&to->how, p.photons, p.observed, p.weight, to->out);
}

static void note_variance(const struct compared *c, int s, int f, void *user)
{
    double *variance = user;
    struct pixel p;

    if (compare(c, s, f, &p))
        variance[(size_t)s * (size_t)c->d.nfast + (size_t)f] = fmax(p.variance, DBL_MIN);
}

/* Adds the normal matrix with each pixel times its photons. Planes of background are held,
 * since they add next to nothing to a bright pixel. */
static nb_status add_bright(const struct compared *c, const nb_normal *matrices)
{
    nb_normal to = *matrices;

    to.gradient = NULL;
    errors_weigh(&c->loaded.target, FIT_WEIGH, &c->image);
    return nb_jtj(c->sim, c->x, &c->image, NULL, &to);
}

nb_status compare_weigh(struct fit_worker *w, nb_simulator *sim, const nb_shot *shot,
                        const nb_normal *matrices, struct fit_weighed *out)
{
    struct compared c = {.ctx = w->ctx, .loaded = *shot, .sim = sim, .x = w->x};
    nb_status status = render_at(&c);

    if (status == NB_OK) status = check_observed(&c);
    if (status == NB_OK) {
        struct weighing to = {.out = out};

        take_model(&c);
        to.how = compared_by(&c);
        visit(&c, weigh, &to);
    }
    if (status == NB_OK && matrices) status = add_bright(&c, matrices);
    end(&c);
    return status;
}

nb_status compare_outliers(struct fit_worker *w, nb_simulator *sim, const nb_shot *shot,
                           struct outliers_shot *out)
{
    struct compared c = {.ctx = w->ctx, .loaded = *shot, .sim = sim, .x = w->x};
    struct outliers_image image = {.observed = shot->target.observed};
    double *variance = NULL;
    nb_status status = render_at(&c);

    if (status == NB_OK) status = check_observed(&c);
    if (status == NB_OK) {
        variance = calloc((size_t)c.d.nslow * (size_t)c.d.nfast + 1, sizeof *variance);
        if (!variance) status = fail_memory(c.ctx, "the outliers of a shot");
    }
    if (variance) {
        take_model(&c);
        visit(&c, note_variance, variance);
        image.detector = &c.scene.detector;
        image.nfast = c.d.nfast;
        image.nslow = c.d.nslow;
        image.photons = c.photons;
        image.variance = variance;
        status = outliers_find(c.ctx, &image, out);
    }
    free(variance);
    end(&c);
    return status;
}

/* ---- misfit ---- */

/* Returns |q| = 1/d at the middle of pixel (s, f) of a panel, 1/A. */
static double resolution(const struct compared *c, const nb_panel *panel, int s, int f)
{
    double p[3], length = 0, square = 0;

    for (int i = 0; i < 3; i++) {
        p[i] = panel->origin[i]
               + panel->pixel * ((f + 0.5) * panel->fast[i] + (s + 0.5) * panel->slow[i]);
        length += p[i] * p[i];
    }
    length = sqrt(length);
    for (int i = 0; i < 3; i++) {
        const double q = p[i] / length - c->d.beam[i];

        square += q * q;
    }
    return sqrt(square) / c->scene.beam.wavelength;
}

/* a compared pixel: |q| in 1/A, z, the difference, and the difference expected by noise */
struct visited {
    double q, z;
    struct pixel is;
    struct fit_pixel misfit;
};

static void add(nb_misfit *m, const struct visited *v)
{
    m->dmin = m->pixels == 0 ? 1 / v->q : fmin(m->dmin, 1 / v->q);
    m->dmax = m->pixels == 0 ? 1 / v->q : fmax(m->dmax, 1 / v->q);
    m->pixels++;
    m->mean += v->z;
    m->rms += v->z * v->z;
    m->loss += v->is.loss;
    m->deviance += v->misfit.observed;
    m->expected += v->misfit.expected;
    m->observed += v->is.observed;
    m->photons += v->is.photons;
    m->variance += v->is.variance;
    if (!(v->is.photons > NB_FIT_BRIGHT)) return;
    m->bright++;
    m->bright_deviance += v->misfit.observed;
    m->bright_expected += v->misfit.expected;
}

static void finish(nb_misfit *m)
{
    const double n = (double)(m->pixels > 0 ? m->pixels : 1);

    m->mean /= n;
    m->rms = sqrt(m->rms / n);
}

/* the sums over pixels of a shot, of a fit and of boxes */
struct found {
    struct fit_compared how;
    double qmax; /* largest |q| of the shot, 1/A */
    nb_fit_misfit *all;
    nb_misfit *shot, *box;
    struct pair_sums *pair; /* of the boxes of the shot */
};

/* Adds pixel (s, f) of the image to all sums; q is its |q|, 1/A. */
static void add_pixel(const struct compared *c, int s, int f, double q,
                      const struct found *to)
{
    const nb_detector *d = &c->scene.detector;
    const double share = pow(q / to->qmax, 3);
    const int shell = (int)fmin(share * NB_FIT_SHELLS, NB_FIT_SHELLS - 1);
    struct visited v = {.q = q};

    if (!compare(c, s, f, &v.is)) return;
    v.z = residual_of(&v.is) * v.is.to_z;
    v.misfit = misfit_pixel(&to->how, v.is.photons, v.is.observed, v.is.weight);
    add(&to->all->all, &v);
    add(to->shot, &v);
    add(&to->all->shell[shell], &v);
    for (size_t b = 0; b < d->nbox; b++) {
        const int *r = d->box + 4 * b;

        if (f < r[0] || f >= r[1] || s < r[2] || s >= r[3]) continue;
        if (to->box) add(to->box + b, &v);
        pair_add(to->pair + b, (const double[]){f, s}, v.is.observed, v.is.photons);
        return; /* a pixel belongs to the first box that contains it */
    }
}

/* Visits the pixels of all tiles. Without `to` it finds the largest |q|, 1/A; with `to` it
 * adds the pixels to these sums. */
static nb_status visit_pixels(struct compared *c, double *qmax, const struct found *to)
{
    nb_panel panel = {.nslow = 0};
    int at = -1; /* panel of the previous tile */

    for (int t = 0; t < c->window.ntile; t++) {
        const struct tile *tile = c->window.tile + t;

        if (tile->panel != at)
            NB_TRY(nb_simulator_panel(c->sim, c->x, tile->panel, &panel));
        at = tile->panel;
        for (int r = 0; r < tile->height; r++)
            for (int i = 0; i < tile->width; i++) {
                const int s = tile->slow + r, f = tile->fast + i;
                const double q = resolution(c, &panel, s, f);

                if (!(tile->shown[r] >> i & 1)) continue;
                if (to)
                    add_pixel(c, panel.slow0 + s, panel.fast0 + f, q, to);
                else
                    *qmax = fmax(*qmax, q);
            }
    }
    return NB_OK;
}

/* Makes room for the sums of shots and boxes, when the first shot shows how many boxes
 * there are. If a later shot has another number of boxes, no box is summed (nbox = 0). */
static nb_status make_room(const struct compared *c, nb_fit_misfit *out)
{
    const size_t nshot = c->fit->layout.nshot, nbox = c->scene.detector.nbox;
    nb_misfit *room;

    if (out->shot && out->nbox != nbox) out->nbox = 0;
    if (out->shot) return NB_OK;
    room = calloc(nshot + nbox, sizeof *room);
    if (!room) return fail_memory(c->ctx, "the misfit of boxes");
    free(c->fit->misfit);
    c->fit->misfit = room;
    out->nshot = (int64_t)nshot;
    out->shot = room;
    out->nbox = nbox;
    return NB_OK;
}

/* Adds up the correlations of the boxes of a shot. */
static void correlate(const struct found *to, size_t nbox, double *value)
{
    pair_median(to->pair, nbox, value, to->shot);
    to->all->all.boxes += to->shot->boxes;
    to->all->all.alike += to->shot->alike;
    for (size_t b = 0; to->box && b < nbox; b++)
        to->box[b].correlation = pair_correlation(to->pair + b);
}

static nb_status add_rendered(struct compared *c, nb_fit_misfit *out)
{
    const size_t nbox = c->scene.detector.nbox;
    struct found to = {.all = out};
    double *value;
    nb_status status;

    NB_TRY(check_observed(c));
    take_model(c);
    NB_TRY(make_room(c, out));
    to.how = compared_by(c);
    to.shot = c->fit->misfit + c->shot;
    to.box = out->nbox > 0 ? c->fit->misfit + out->nshot : NULL;
    NB_TRY(visit_pixels(c, &to.qmax, NULL));
    to.pair = calloc(nbox + 1, sizeof *to.pair);
    value = calloc(nbox + 1, sizeof *value);
    status = to.pair && value ? visit_pixels(c, &to.qmax, &to)
                              : fail_memory(c->ctx, "the boxes of a shot");
    if (status == NB_OK) correlate(&to, nbox, value);
    free(to.pair);
    free(value);
    return status;
}

static nb_status add_shot(nb_fit *fit, size_t shot, nb_fit_misfit *out)
{
    struct compared c = {.fit = fit, .ctx = fit->ctx, .shot = shot};
    nb_status status;

    NB_TRY(fit_load(fit, fit->ctx, shot, &c.loaded));
    status = render(&c);
    if (status == NB_OK) status = add_rendered(&c, out);
    end(&c);
    return status;
}

/* Adds all shots that are fitted, or with held_out all shots that are held out. A shot that
 * cannot be compared now is skipped. */
static nb_status add_shots(nb_fit *fit, int held_out, nb_fit_misfit *out)
{
    for (size_t shot = 0; shot < fit->layout.nshot; shot++) {
        nb_status status;

        if (held_out ? !fit->is_held_out[shot] : fit->left_out[shot] != NULL) continue;
        status = add_shot(fit, shot, out);
        if (status == NB_ERR_MEMORY || status == NB_ERR_CANCELLED) return status;
    }
    return NB_OK;
}

/* Returns the expected |y - photons| of a sum y over pixels that differs from the expected
 * photons by noise alone. The noise is Poisson's if photons are counted, else normal. */
static double deviation_of(const nb_misfit *m)
{
    const double whole = floor(m->photons);

    if (!(m->variance > 0)) return 0;
    if (!(fabs(m->variance - m->photons) <= 1e-9 * m->photons) || m->photons > 1e6)
        return sqrt(2 * m->variance / PHYS_PI);
    return 2 * exp((whole + 1) * log(m->photons) - m->photons - lgamma(whole + 1));
}

/* Turns sums into means, and finds R of the boxes. */
static void finish_all(nb_fit_misfit *m, nb_misfit *room)
{
    double off = 0, observed = 0, expected = 0;

    finish(&m->all);
    for (int i = 0; i < NB_FIT_SHELLS; i++) finish(m->shell + i);
    for (int64_t i = 0; i < m->nshot + (int64_t)m->nbox; i++) finish(room + i);
    m->all.correlation = NAN;
    for (int i = 0; i < NB_FIT_SHELLS; i++) m->shell[i].correlation = NAN;
    for (int64_t i = 0; i < m->nshot; i++)
        if (room[i].boxes == 0) room[i].correlation = NAN;
    m->box = m->nbox > 0 ? room + m->nshot : NULL;
    for (size_t b = 0; b < m->nbox; b++) {
        off += fabs(m->box[b].observed - m->box[b].photons);
        observed += m->box[b].observed;
        expected += deviation_of(m->box + b);
    }
    m->r = m->nbox > 0 ? off / observed : NAN;
    m->r_expected = m->nbox > 0 ? expected / observed : NAN;
}

nb_status nb_fit_misfit_get(nb_fit *fit, int64_t shot, nb_fit_misfit *out)
{
    STANDARD_FLOATS;

    if (!fit) return NB_ERR_ARGUMENT;
    if (!out) return fail(fit->ctx, NB_ERR_ARGUMENT, "a misfit needs a place to go");
    memset(out, 0, sizeof *out);
    if (shot == NB_FIT_FITTED || shot == NB_FIT_HELD_OUT)
        NB_TRY(add_shots(fit, shot == NB_FIT_HELD_OUT, out));
    else {
        NB_TRY(check_shot(fit, shot));
        NB_TRY(add_shot(fit, (size_t)shot, out));
    }
    finish_all(out, fit->misfit);
    return NB_OK;
}
