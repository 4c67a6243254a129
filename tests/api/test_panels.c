/*
 * test_panels.c - detectors of several panels: where they lie, that each part of an image
 * is that of its panel alone, and what is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "support/renders.h"
#include "support/tap.h"
#include "support/tiled.h"
#include "support/worst.h"

static nb_context *ctx;

/* ---- places ---- */

/* A frame in long double: at + x[0] axis[0] + x[1] axis[1] + x[2] axis[2]. */
struct frame {
    long double at[3], axis[3][3];
};

static struct frame frame_of(const double *origin, const double *fast, const double *slow)
{
    struct frame f;

    for (int i = 0; i < 3; i++) {
        f.at[i] = origin[i];
        f.axis[0][i] = fast[0] == 0 && fast[1] == 0 && fast[2] == 0 ? i == 0 : fast[i];
        f.axis[1][i] = slow[0] == 0 && slow[1] == 0 && slow[2] == 0 ? i == 1 : slow[i];
    }
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;

        f.axis[2][i] = f.axis[0][j] * f.axis[1][k] - f.axis[0][k] * f.axis[1][j];
    }
    return f;
}

static void through(const struct frame *f, const long double *x, int is_point,
                    long double *out)
{
    long double v[3];

    for (int i = 0; i < 3; i++) {
        v[i] = is_point ? f->at[i] : 0;
        for (int j = 0; j < 3; j++) v[i] += x[j] * f->axis[j][i];
    }
    memcpy(out, v, sizeof v);
}

/* Turn v about x, y and z by angles in degree, as matrices. */
static void turn(const double *degree, long double *v)
{
    for (int axis = 0; axis < 3; axis++) {
        const long double a = degree[axis] * 3.14159265358979323846264338327950288L / 180;
        const int j = (axis + 1) % 3, k = (axis + 2) % 3;
        const long double vj = v[j] * cosl(a) - v[k] * sinl(a);

        v[k] = v[j] * sinl(a) + v[k] * cosl(a);
        v[j] = vj;
    }
}

/* Move a point or a direction of a frame's own about a middle. */
static void moved(const long double *middle, const double *shift, const double *rotation,
                  int is_point, long double *v)
{
    for (int i = 0; i < 3 && is_point; i++) v[i] -= middle[i];
    turn(rotation, v);
    for (int i = 0; i < 3 && is_point; i++) v[i] += middle[i] + shift[i];
}

/* The middle that the panels of a group have without moves, in the frame of the group. */
static void middle_of_group(const struct tiled *t, const nb_detector *d, int group,
                            long double *out)
{
    int n = 0;

    memset(out, 0, 3 * sizeof *out);
    for (int i = 0; i < TILED_PANELS; i++) {
        const nb_panel *p = t->panel + i;
        const double pixel = p->pixel > 0 ? p->pixel : d->pixel;
        long double x[3] = {0.5L * p->nfast * pixel, 0.5L * p->nslow * pixel, 0};
        struct frame f = frame_of(p->origin, p->fast, p->slow);
        int g = p->group;

        while (g > 0) {
            through(&f, x, 1, x);
            if (g - 1 == group) break;
            f = frame_of(t->group[g - 1].origin, t->group[g - 1].fast,
                         t->group[g - 1].slow);
            g = t->group[g - 1].parent;
        }
        if (g == 0) continue;
        for (int k = 0; k < 3; k++) out[k] += x[k];
        n++;
    }
    for (int k = 0; k < 3; k++) out[k] /= n;
}

/* Where a point, or a direction, of a panel's own frame lies in the laboratory. */
static void in_lab(const struct tiled *t, const nb_detector *d, int i, int is_point,
                   long double *v)
{
    const nb_panel *p = t->panel + i;
    const double pixel = p->pixel > 0 ? p->pixel : d->pixel;
    const long double middle[3] = {0.5L * p->nfast * pixel, 0.5L * p->nslow * pixel, 0};
    const struct frame own = frame_of(p->origin, p->fast, p->slow);

    moved(middle, p->shift, p->rotation, is_point, v);
    through(&own, v, is_point, v);
    for (int g = p->group; g > 0; g = t->group[g - 1].parent) {
        const nb_panel_group *group = t->group + g - 1;
        const struct frame f = frame_of(group->origin, group->fast, group->slow);
        long double about[3];

        middle_of_group(t, d, g - 1, about);
        moved(about, group->shift, group->rotation, is_point, v);
        through(&f, v, is_point, v);
    }
    turn(d->rotation, v);
    for (int k = 0; k < 3 && is_point; k++) v[k] += d->origin[k];
}

static int places(void)
{
    nb_scene scene = tiled_scene();
    struct tiled t;
    nb_simulator *sim;
    double off = 0, turned_off = 0;

    tiled_detector(&t, 1, &scene);
    sim = renders_simulator(ctx, &scene, NULL, NULL);
    for (int i = 0; i < TILED_PANELS; i++) {
        long double at[3] = {0, 0, 0}, fast[3] = {1, 0, 0}, slow[3] = {0, 1, 0};
        nb_panel p;

        renders_require(ctx, nb_simulator_panel(sim, NULL, i, &p));
        in_lab(&t, &scene.detector, i, 1, at);
        in_lab(&t, &scene.detector, i, 0, fast);
        in_lab(&t, &scene.detector, i, 0, slow);
        for (int k = 0; k < 3; k++) {
            off = fmax(off, (double)fabsl(p.origin[k] - at[k]));
            turned_off = fmax(turned_off, (double)fabsl(p.fast[k] - fast[k]));
            turned_off = fmax(turned_off, (double)fabsl(p.slow[k] - slow[k]));
        }
        tap_check(p.group == 0 && p.slow0 == t.panel[i].slow0 && p.fast0 == t.panel[i].fast0
                      && p.pixel == (i == 3 ? 0.2 : 0.3)
                      && !strcmp(p.name, t.panel[i].name),
                  "panel %d has its place in the image, its pixel and its name", i);
    }
    tap_close("corners of moved panels, mm", off, 0, 1e-12);
    tap_close("their axes", turned_off, 0, 1e-14);
    nb_simulator_free(sim);
    return 0;
}

static int stacked(void)
{
    nb_scene scene = tiled_scene();
    struct tiled t;
    nb_simulator *sim;
    nb_description about;
    int row = 0;

    tiled_detector(&t, 0, &scene);
    scene.detector.nslow = scene.detector.nfast = 0;
    for (int i = 0; i < TILED_PANELS; i++) t.panel[i].slow0 = t.panel[i].fast0 = 0;
    sim = renders_simulator(ctx, &scene, NULL, NULL);
    for (int i = 0; i < TILED_PANELS; i++) {
        nb_panel p;

        renders_require(ctx, nb_simulator_panel(sim, NULL, i, &p));
        tap_check(p.slow0 == row && p.fast0 == 0, "panel %d begins with row %d: %d", i, row,
                  p.slow0);
        row += p.nslow;
    }
    renders_require(ctx, nb_simulator_describe(sim, NULL, &about));
    tap_check(about.nslow == row && about.nfast == 70 && about.npanel == TILED_PANELS,
              "the image has %d rows of 70: %d of %d", row, about.nslow, about.nfast);
    nb_simulator_free(sim);
    return 0;
}

/* ---- images ---- */

static const struct way {
    const char *name;
    nb_options options;
    double allowed; /* of the peak of the image, from a panel alone */
} ways[] = {
    {"reference", {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0}, 0},
    {"lanes", {NB_PRECISION_DOUBLE, NB_STRATEGY_LANES, 0}, 0},
    {"lanes in float", {NB_PRECISION_SINGLE, NB_STRATEGY_LANES, 0}, 1e-5},
    {"spots", {NB_PRECISION_DOUBLE, NB_STRATEGY_SPOTS, 0}, 1e-10},
    {"spots in float", {NB_PRECISION_SINGLE, NB_STRATEGY_SPOTS, 0}, 1e-5},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* Compare the panels of an image with those alone. Returns the largest difference. */
static double differ(const nb_scene *scene, const struct tiled *t,
                     const nb_options *options, const double *image)
{
    static double alone[TILED_PIXELS];
    struct worst off = {0};

    for (int i = 0; i < TILED_PANELS; i++) {
        const nb_panel *p = t->panel + i;
        nb_panel one = *p;
        nb_scene s = *scene;
        nb_simulator *other;

        one.slow0 = one.fast0 = 0;
        s.detector.npanel = 1;
        s.detector.panel = &one;
        s.detector.nslow = s.detector.nfast = 0;
        other = renders_simulator(ctx, &s, NULL, options);

        renders_forward(ctx, other, p->nslow, p->nfast, alone);
        for (int r = 0; r < p->nslow; r++)
            for (int f = 0; f < p->nfast; f++) {
                const double is = image[(p->slow0 + r) * TILED_NFAST + p->fast0 + f];

                worst_add(&off, is, alone[r * p->nfast + f], 1);
            }
        nb_simulator_free(other);
    }
    return off.error;
}

/* the largest modulus of pixels that belong to no panel */
static double in_gaps(const struct tiled *t, const double *image)
{
    double most = 0;

    for (int s = 0; s < TILED_NSLOW; s++)
        for (int f = 0; f < TILED_NFAST; f++)
            if (tiled_panel_of(t, s, f) < 0) {
                const double v = fabs(image[s * TILED_NFAST + f]);

                most = v >= 0 ? fmax(most, v) : INFINITY;
            }
    return most;
}

static double peak_of(const double *image)
{
    double peak = 0;

    for (int i = 0; i < TILED_PIXELS; i++) peak = fmax(peak, image[i]);
    return peak;
}

/* Every kind of scene, without moves, so that a panel alone has the same numbers. */
static nb_scene variant(int number)
{
    nb_scene s = tiled_scene();

    if (number == 1) s.oversample = 2;
    if (number == 2) {
        s.detector.thickness = 300;
        s.detector.attenuation = 200;
        s.detector.nlayers = 3;
        s.oversample_thick = 1;
    }
    if (number == 3) {
        s.psf.kind = NB_PSF_GAUSS;
        s.psf.fwhm = 0.6;
        s.psf.radius = 12;
    }
    if (number == 4) s.background.water = 0;
    if (number == 5) {
        s.crystal.shape = NB_SHAPE_SQUARE;
        s.oversample_omega = s.oversample_polar = 1;
        s.oversample = 2;
    }
    return s;
}

/* Put the panels where those of a simulator lie, without groups. */
static void place_in_lab(nb_simulator *sim, struct tiled *t, nb_scene *scene)
{
    nb_panel panel[TILED_PANELS];
    const nb_detector none = {.npanel = TILED_PANELS,
                              .panel = t->panel,
                              .nslow = TILED_NSLOW,
                              .nfast = TILED_NFAST,
                              .convention = NB_CONVENTION_DIALS,
                              .pixel = 0.3,
                              .thickness = scene->detector.thickness,
                              .attenuation = scene->detector.attenuation,
                              .nlayers = scene->detector.nlayers};

    for (int i = 0; i < TILED_PANELS; i++)
        renders_require(ctx, nb_simulator_panel(sim, NULL, i, panel + i));
    memcpy(t->panel, panel, sizeof panel);
    scene->detector = none;
}

static int alone(void)
{
    static double image[TILED_PIXELS], again[TILED_PIXELS];
    const int variants = strstr(nb_features(), "fftw") ? 6 : 3;

    for (int number = 0; number < variants; number++)
        for (int w = 0; w < WAYS; w++) {
            nb_scene scene = variant(number);
            const int square = scene.crystal.shape == NB_SHAPE_SQUARE;
            /* transforms of another size */
            const double spread = scene.psf.kind ? 1e-14 : 0;
            struct tiled t;
            nb_simulator *sim;
            char name[100];
            double peak;

            if (square && ways[w].options.strategy == NB_STRATEGY_SPOTS) continue;
            tiled_detector(&t, 1, &scene);
            sim = renders_simulator(ctx, &scene, NULL, &ways[w].options);
            place_in_lab(sim, &t, &scene);
            nb_simulator_free(sim);
            sim = renders_simulator(ctx, &scene, NULL, &ways[w].options);
            renders_forward(ctx, sim, TILED_NSLOW, TILED_NFAST, image);
            renders_forward(ctx, sim, TILED_NSLOW, TILED_NFAST, again);
            peak = peak_of(image);
            (void)snprintf(name, sizeof name, "variant %d, %s: panels alone, of the peak",
                           number, ways[w].name);
            tap_check(peak > 0, "variant %d, %s: there is light", number, ways[w].name);
            tap_close(name, differ(&scene, &t, &ways[w].options, image) / peak, 0,
                      fmax(ways[w].allowed, spread));
            tap_check(in_gaps(&t, image) == 0, "between panels it is dark");
            tap_check(!memcmp(image, again, sizeof image), "again: the same bits");
            nb_simulator_free(sim);
        }
    return 0;
}

/* A plane that is cut into four has the image of the plane. */
static int plane(void)
{
    static double whole[90 * 110], cut[90 * 110];

    for (int w = 0; w < WAYS; w++) {
        nb_panel quarter[4] = {{.nslow = 40, .nfast = 50},
                               {.nslow = 40, .nfast = 60, .fast0 = 50},
                               {.nslow = 50, .nfast = 50, .slow0 = 40},
                               {.nslow = 50, .nfast = 60, .slow0 = 40, .fast0 = 50}};
        nb_scene scene = tiled_scene();
        nb_simulator *sim;
        struct worst off = {0};

        scene.detector.convention = NB_CONVENTION_DIALS;
        scene.detector.nslow = 90, scene.detector.nfast = 110;
        scene.detector.pixel = 0.3;
        scene.detector.distance = 80;
        sim = renders_simulator(ctx, &scene, NULL, &ways[w].options);
        renders_forward(ctx, sim, 90, 110, whole);
        nb_simulator_free(sim);
        for (int i = 0; i < 4; i++) {
            quarter[i].origin[0] = -16.5 + 0.3 * quarter[i].fast0;
            quarter[i].origin[1] = -13.5 + 0.3 * quarter[i].slow0;
            quarter[i].origin[2] = 80;
        }
        scene.detector.npanel = 4;
        scene.detector.panel = quarter;
        scene.detector.distance = 0;
        sim = renders_simulator(ctx, &scene, NULL, &ways[w].options);
        renders_forward(ctx, sim, 90, 110, cut);
        nb_simulator_free(sim);
        worst_add_all(&off, whole, cut, 90 * 110, worst_largest(whole, 90 * 110));
        worst_check(&off, fmax(ways[w].allowed, 1e-12), "%s", ways[w].name);
    }
    return 0;
}

/* ROI, mask and boxes cross the panels. */
static int windows(void)
{
    static const int box[][4] = {{60, 90, 30, 60},
                                 {0, 150, 56, 58},
                                 {30, 45, 66, 80},
                                 {119, 121, 47, 49},
                                 {72, 76, 10, 20}};
    static double all[TILED_PIXELS], image[TILED_PIXELS];
    static uint8_t mask[TILED_PIXELS];

    for (int i = 0; i < TILED_PIXELS; i++) mask[i] = i % 5 != 0;
    for (int w = 0; w < WAYS; w++)
        for (int kind = 0; kind < 4; kind++) {
            nb_scene scene = tiled_scene();
            nb_detector *d = &scene.detector;
            struct worst off = {0};
            double others = 0, peak;
            struct tiled t;
            nb_simulator *sim;
            nb_description about;
            int64_t n = 0;

            tiled_detector(&t, 0, &scene);
            sim = renders_simulator(ctx, &scene, NULL, &ways[w].options);
            renders_forward(ctx, sim, TILED_NSLOW, TILED_NFAST, all);
            nb_simulator_free(sim);
            peak = peak_of(all);
            if (kind & 1) d->mask = mask;
            if (kind & 2) d->box = box[0], d->nbox = 5;
            if (kind == 0) {
                const int roi[4] = {20, 140, 30, 100};

                memcpy(d->roi, roi, sizeof roi);
            }
            sim = renders_simulator(ctx, &scene, NULL, &ways[w].options);
            renders_forward(ctx, sim, TILED_NSLOW, TILED_NFAST, image);
            renders_require(ctx, nb_simulator_describe(sim, NULL, &about));
            nb_simulator_free(sim);
            for (int i = 0; i < TILED_PIXELS; i++) {
                const int s = i / TILED_NFAST, f = i % TILED_NFAST;
                int shown = tiled_panel_of(&t, s, f) >= 0, boxed = !(kind & 2);

                for (int b = 0; b < 5; b++)
                    boxed |=
                        f >= box[b][0] && f < box[b][1] && s >= box[b][2] && s < box[b][3];
                shown &= boxed && (!(kind & 1) || mask[i]);
                if (kind == 0) shown &= f >= 20 && f < 140 && s >= 30 && s < 100;
                n += shown;
                if (shown)
                    worst_add(&off, image[i], all[i], peak);
                else
                    others = fmax(others, image[i] == 0 ? 0 : INFINITY);
            }
            tap_check(others == 0, "%s, window %d: the other pixels are 0", ways[w].name,
                      kind);
            tap_check(about.pixels == n, "%lld pixels are counted: %lld", (long long)n,
                      (long long)about.pixels);
            worst_check(&off, ways[w].allowed, "pixels of the window, of the peak");
        }
    return 0;
}

/* Rendering into a float image with strides takes packed photons. */
/* Equal panels, stacked: an array of three axes is the image. */
static int stacks(void)
{
    enum { PANELS = 3, SLOW = 20, FAST = 40, PIXELS = PANELS * SLOW * FAST };
    static double image[PIXELS], stack[PIXELS], spread[2 * PIXELS];
    nb_panel panel[PANELS] = {{.nslow = 0}};
    nb_scene scene = tiled_scene();
    nb_array plain = nb_array_f64(image, PANELS * SLOW, FAST), three, wide;
    nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &plain};
    double value[2], g[2][9] = {{0}};
    nb_normal normal = {0};
    nb_simulator *sim;

    for (int i = 0; i < PANELS; i++) {
        panel[i].nslow = SLOW, panel[i].nfast = FAST;
        panel[i].origin[0] = -6, panel[i].origin[1] = 7.0 * i - 10;
        panel[i].origin[2] = 60;
    }
    scene.detector.npanel = PANELS;
    scene.detector.panel = panel;
    scene.detector.convention = NB_CONVENTION_DIALS;
    scene.detector.pixel = 0.3;
    renders_require(ctx, nb_simulator_create(ctx, &scene, "panel_shift", NULL, &sim));
    three = nb_array_f64(stack, PANELS, SLOW);
    three.ndim = 3, three.shape[2] = FAST;
    renders_require(ctx, nb_forward(sim, NULL, &plain));
    renders_require(ctx, nb_forward(sim, NULL, &three));
    tap_check(!memcmp(image, stack, sizeof image), "an array of three axes is the image");

    wide = nb_array_f64(spread, PANELS, SLOW);
    wide.ndim = 3, wide.shape[2] = FAST;
    wide.stride[0] = (int64_t)SLOW * 2 * FAST, wide.stride[1] = (int64_t)2 * FAST;
    wide.stride[2] = 2;
    renders_require(ctx, nb_forward(sim, NULL, &wide));
    for (int i = 0; i < PIXELS; i++) stack[i] = spread[2 * i];
    tap_check(!memcmp(image, stack, sizeof image), "and so it is with strides");

    for (int i = 0; i < PIXELS; i++) image[i] = stack[i] = image[i] + i % 5;
    for (int k = 0; k < 2; k++) {
        normal.gradient = g[k];
        target.observed = k ? &three : &plain;
        renders_require(ctx, nb_loss(sim, NULL, &target, value + k, &normal));
    }
    tap_check(value[0] == value[1] && !memcmp(g[0], g[1], sizeof g[0]) && g[0][0] != 0,
              "a loss of it is the same, %g", value[0]);

    three.shape[0] = 4, three.shape[1] = 15;
    tap_check(nb_forward(sim, NULL, &three) == NB_OK, "or of other parts of the stack");
    three.shape[1] = 20;
    tap_check(nb_forward(sim, NULL, &three) == NB_ERR_SHAPE, "too many rows: %s",
              nb_context_message(ctx));
    wide.stride[0] += FAST;
    tap_check(nb_forward(sim, NULL, &wide) == NB_ERR_SHAPE, "gaps: %s",
              nb_context_message(ctx));
    wide.stride[0] = 0;
    tap_check(nb_forward(sim, NULL, &wide) == NB_ERR_SHAPE, "one panel thrice: %s",
              nb_context_message(ctx));
    wide.stride[0] = (int64_t)SLOW * 2 * FAST, wide.stride[1] = 0;
    tap_check(nb_forward(sim, NULL, &wide) == NB_ERR_SHAPE, "one row repeated: %s",
              nb_context_message(ctx));
    nb_simulator_free(sim);
    return 0;
}

static int arrays(void)
{
    static double image[TILED_PIXELS];
    static float other[TILED_NSLOW * (TILED_NFAST + 9)];
    nb_scene scene = tiled_scene();
    nb_array narrow = nb_array_f32(other, TILED_NSLOW, TILED_NFAST);
    struct tiled t;
    nb_simulator *sim;
    struct worst off = {0};

    tiled_detector(&t, 1, &scene);
    sim = renders_simulator(ctx, &scene, NULL, NULL);
    renders_forward(ctx, sim, TILED_NSLOW, TILED_NFAST, image);
    narrow.stride[0] = TILED_NFAST + 9;
    narrow.stride[1] = 1;
    renders_require(ctx, nb_forward(sim, NULL, &narrow));
    for (int i = 0; i < TILED_PIXELS; i++) {
        const int s = i / TILED_NFAST, f = i % TILED_NFAST;

        worst_add(&off, other[s * (TILED_NFAST + 9) + f], (float)image[i], 1);
    }
    worst_check(&off, 0, "an image in float with strides");
    nb_simulator_free(sim);
    return 0;
}

static int threads(void)
{
    static double image[2][TILED_PIXELS];

    for (int w = 0; w < WAYS; w++) {
        for (int n = 0; n < 2; n++) {
            nb_scene scene = tiled_scene();
            nb_context *own = renders_context(n == 0 ? 1 : 5);
            nb_array to = nb_array_f64(image[n], TILED_NSLOW, TILED_NFAST);
            struct tiled t;
            nb_simulator *sim;

            tiled_detector(&t, 1, &scene);
            if (nb_simulator_create(own, &scene, NULL, &ways[w].options, &sim) != NB_OK
                || nb_forward(sim, NULL, &to) != NB_OK)
                tap_check(0, "%s", nb_context_message(own));
            nb_simulator_free(sim);
            nb_context_free(own);
        }
        tap_check(!memcmp(image[0], image[1], sizeof image[0]),
                  "%s: 1 and 5 threads give the same bits", ways[w].name);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"places", places}, {"stacked", stacked}, {"alone", alone},
        {"plane", plane},   {"windows", windows}, {"arrays", arrays},
        {"stacks", stacks}, {"threads", threads},
    };
    int status;

    ctx = renders_context(2);
    status = tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
    nb_context_free(ctx);
    return status;
}
