/*
 * test_panel_calls.c - what is asked of a detector of panels besides images, and what of it
 * is refused.
 *
 * SPDX-License-Identifier: MIT
 */
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

static double peak_of(const double *image)
{
    double peak = 0;

    for (int i = 0; i < TILED_PIXELS; i++) peak = fmax(peak, image[i]);
    return peak;
}

/* ---- queries ---- */

static int traces(void)
{
    static double image[TILED_PIXELS];
    const nb_options options = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0};
    nb_scene scene = tiled_scene();
    struct tiled t;
    nb_simulator *sim;
    nb_pixel_trace trace;
    struct worst off = {0};
    double peak;

    tiled_detector(&t, 1, &scene);
    sim = renders_simulator(ctx, &scene, NULL, &options);
    renders_forward(ctx, sim, TILED_NSLOW, TILED_NFAST, image);
    peak = peak_of(image);
    for (int i = 0; i < TILED_PANELS; i++)
        for (int k = 0; k < 7; k++) {
            const nb_panel *p = t.panel + i;
            const int s = k * p->nslow / 7, f = k * k * p->nfast / 49;

            renders_require(ctx, nb_simulator_trace(sim, NULL, i, s, f, &trace));
            worst_add(&off, trace.intensity,
                      image[(p->slow0 + s) * TILED_NFAST + p->fast0 + f], peak);
        }
    worst_check(&off, 1e-14, "traced pixels of all panels, of the peak");
    tap_check(nb_simulator_trace(sim, NULL, TILED_PANELS, 0, 0, &trace) == NB_ERR_ARGUMENT
                  && strstr(nb_context_message(ctx), "panel 5 of 5"),
              "there is no panel 5: %s", nb_context_message(ctx));
    tap_check(nb_simulator_trace(sim, NULL, 1, 45, 0, &trace) == NB_ERR_ARGUMENT
                  && strstr(nb_context_message(ctx), "the panel of 64 x 45"),
              "panel 1 has no row 45: %s", nb_context_message(ctx));
    nb_simulator_free(sim);
    return 0;
}

static int statistics(void)
{
    static double image[TILED_PIXELS];
    nb_scene scene = tiled_scene();
    nb_array array = nb_array_f64(image, TILED_NSLOW, TILED_NFAST);
    struct tiled t;
    nb_simulator *sim;
    nb_statistics all;
    double angle = 0;
    int64_t count = 0;

    tiled_detector(&t, 1, &scene);
    sim = renders_simulator(ctx, &scene, NULL, NULL);
    memset(image, 0, sizeof image);
    image[(t.panel[3].slow0 + 5) * TILED_NFAST + t.panel[3].fast0 + 7] = 12;
    image[0 * TILED_NFAST + 75] = 99; /* in a gap */
    renders_require(ctx, nb_statistics_get(sim, NULL, &array, &all));
    for (int i = 0; i < TILED_PANELS; i++) {
        nb_panel one;
        const nb_scene s = tiled_alone(sim, NULL, &scene, i, &one);
        nb_simulator *other = renders_simulator(ctx, &s, NULL, NULL);
        nb_array part = nb_array_f64(image, one.nslow, one.nfast);
        nb_statistics of;

        renders_require(ctx, nb_statistics_get(other, NULL, &part, &of));
        angle += of.solid_angle;
        count += of.count;
        nb_simulator_free(other);
    }
    tap_check(all.max == 12 && all.max_panel == 3, "the maximum lies on panel 3: %g on %d",
              all.max, all.max_panel);
    tap_close("its place along fast, mm", all.max_fast, 0.2 * 7.5, 1e-12);
    tap_close("its place along slow, mm", all.max_slow, 0.2 * 5.5, 1e-12);
    tap_check(all.count == count, "%lld pixels: %lld", (long long)count,
              (long long)all.count);
    tap_close("solid angle of all panels, relative", all.solid_angle / angle, 1, 1e-12);
    nb_simulator_free(sim);
    return 0;
}

/* The boxes of a detector are those of its panels alone. */
static int boxes(void)
{
    enum { MOST = 800 };
    static int box[MOST][4], one[MOST][4];
    nb_scene scene = tiled_scene();
    struct tiled t;
    nb_simulator *sim;
    size_t n, total = 0, missing = 0;

    tiled_detector(&t, 1, &scene);
    sim = renders_simulator(ctx, &scene, NULL, NULL);
    renders_require(ctx, nb_simulator_boxes(sim, NULL, 9, MOST, box[0], &n));
    for (int i = 0; i < TILED_PANELS; i++) {
        nb_panel p;
        const nb_scene s = tiled_alone(sim, NULL, &scene, i, &p);
        nb_simulator *other = renders_simulator(ctx, &s, NULL, NULL);
        size_t m;

        renders_require(ctx, nb_simulator_boxes(other, NULL, 9, MOST, one[0], &m));
        total += m;
        for (size_t k = 0; k < m; k++) {
            const int at[4] = {one[k][0] + t.panel[i].fast0, one[k][1] + t.panel[i].fast0,
                               one[k][2] + t.panel[i].slow0, one[k][3] + t.panel[i].slow0};
            int found = 0;

            for (size_t j = 0; j < n; j++) found |= !memcmp(box[j], at, sizeof at);
            missing += !found;
        }
        nb_simulator_free(other);
    }
    tap_check(n == total && n > 20 && n < MOST, "%zu boxes: %zu", total, n);
    tap_check(missing == 0, "%zu of them are missing", missing);
    nb_simulator_free(sim);
    return 0;
}

/* ---- what is refused ---- */

#define CHANGE(name, what)                                                                 \
    static void name(struct tiled *t, nb_detector *d)                                      \
    {                                                                                      \
        (void)t, (void)d;                                                                  \
        what;                                                                              \
    }
CHANGE(skew, t->panel[1].slow[0] += 1e-5)
CHANGE(long_axis, t->panel[1].fast[0] *= 1.1)
CHANGE(group_skew, t->group[1].slow[2] += 0.1)
CHANGE(leaves, t->panel[4].fast0 = 121)
CHANGE(before, t->panel[4].slow0 = -1)
CHANGE(overlaps, t->panel[1].fast0 = 69)
CHANGE(no_pixels, t->panel[2].nfast = 0)
CHANGE(small_pixel, t->panel[2].pixel = 1e-9)
CHANGE(no_group, t->panel[2].group = 4)
CHANGE(parent, t->group[0].parent = 2)
CHANGE(own_parent, t->group[1].parent = 2)
CHANGE(behind, t->panel[0].origin[2] = -68)
CHANGE(edge_on, (memset(t->panel[0].origin, 0, 24), t->panel[0].origin[2] = 50,
                 memset(t->panel[0].slow, 0, 24), t->panel[0].slow[2] = 1,
                 memset(t->panel[0].fast, 0, 24), t->panel[0].fast[0] = 1))
CHANGE(far_off, t->panel[0].shift[0] = INFINITY)
CHANGE(distance, d->distance = 100)
CHANGE(close_distance, d->close_distance = 100)
CHANGE(two_theta, d->twotheta = 5)
CHANGE(centre, (d->origin_kind = NB_ORIGIN_BEAM, d->origin[0] = 10))
CHANGE(origin, d->origin[0] = 10)
CHANGE(also, d->also_kind = NB_ORIGIN_BEAM)
CHANGE(curved, d->curved = 1)
CHANGE(vectors, d->vectors[0][0] = 1)
CHANGE(size, d->size[0] = 100)
CHANGE(many, d->npanel = 4097)
CHANGE(many_groups, d->ngroup = 4097)
CHANGE(negative_groups, d->ngroup = -1)
CHANGE(null_groups, d->group = NULL)
CHANGE(rows, (t->panel[0].nslow = 1000000, d->nslow = d->nfast = 0, t->panel[1].slow0 = 0,
              t->panel[2].slow0 = 0, t->panel[3].slow0 = 0, t->panel[4].slow0 = 0,
              t->panel[1].fast0 = 0, t->panel[2].fast0 = 0, t->panel[3].fast0 = 0,
              t->panel[4].fast0 = 0))

static int refused(void)
{
    static const struct {
        void (*change)(struct tiled *, nb_detector *);
        nb_status status;
        const char *words[2];
    } wrong[] = {
        {skew, NB_ERR_SCENE, {"panel 1 (p1)", "right angles"}},
        {long_axis, NB_ERR_SCENE, {"panel 1 (p1)", "lengths 1.0999"}},
        {group_skew, NB_ERR_SCENE, {"group 1", "right angles"}},
        {leaves, NB_ERR_SCENE, {"panel 4 (p4)", "leaves the image"}},
        {before, NB_ERR_SCENE, {"panel 4 (p4)", "leaves the image"}},
        {overlaps, NB_ERR_SCENE, {"panel 0 (p0) and panel 1 (p1)", "overlap"}},
        {no_pixels, NB_ERR_ARGUMENT, {"panel 2 has 0 x 60", "1 or more"}},
        {small_pixel, NB_ERR_ARGUMENT, {"panel 2", "1e-09 mm"}},
        {no_group, NB_ERR_ARGUMENT, {"panel 2 is in group 4", "0 to 3"}},
        {parent, NB_ERR_ARGUMENT, {"group 0 (q0)", "parent 2"}},
        {own_parent, NB_ERR_ARGUMENT, {"group 1", "before it"}},
        {behind, NB_ERR_SCENE, {"panel 0 (p0)", "behind the crystal"}},
        {edge_on, NB_ERR_SCENE, {"panel 0 (p0)", "edge-on"}},
        {far_off, NB_ERR_ARGUMENT, {"panel 0 (p0)", "shift"}},
        {distance, NB_ERR_SCENE, {"no distance", "places of their own"}},
        {close_distance, NB_ERR_SCENE, {"no close_distance", ""}},
        {two_theta, NB_ERR_SCENE, {"no twotheta", ""}},
        {centre, NB_ERR_SCENE, {"no origin_kind", ""}},
        {origin, NB_ERR_SCENE, {"NB_ORIGIN_PIX0", "moves"}},
        {also, NB_ERR_SCENE, {"no also_kind", ""}},
        {curved, NB_ERR_SCENE, {"no curved", ""}},
        {vectors, NB_ERR_SCENE, {"no vectors", ""}},
        {size, NB_ERR_SCENE, {"no size", ""}},
        {many, NB_ERR_ARGUMENT, {"npanel is 4097", "0 to 4096"}},
        {many_groups, NB_ERR_ARGUMENT, {"ngroup is 4097", "0 to 4096"}},
        {negative_groups, NB_ERR_ARGUMENT, {"ngroup is -1", "0 to 4096"}},
        {null_groups, NB_ERR_ARGUMENT, {"group is NULL", ""}},
        {rows, NB_ERR_SCENE, {"more than 1000000 rows", ""}},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        nb_scene scene = tiled_scene();
        nb_simulator *sim = NULL;
        struct tiled t;
        nb_status status;
        const char *message;

        tiled_detector(&t, 0, &scene);
        wrong[i].change(&t, &scene.detector);
        status = nb_simulator_create(ctx, &scene, NULL, NULL, &sim);
        message = nb_context_message(ctx);
        tap_check(status == wrong[i].status && strstr(message, wrong[i].words[0])
                      && strstr(message, wrong[i].words[1]),
                  "refused (%s, %s): %s", wrong[i].words[0], wrong[i].words[1], message);
        nb_simulator_free(sim);
    }
    return 0;
}

static int parameters(void)
{
    static const struct {
        const char *names, *words;
    } wrong[] = {{"distance", "a distance along the beam"},
                 {"twotheta", "one rectangle"},
                 {"panel_shift_fast[5]", "end at 4"},
                 {"group_rot_slow[3]", "end at 2"}};
    nb_scene scene = tiled_scene();
    struct tiled t;
    nb_simulator *sim = NULL;
    nb_param p;

    tiled_detector(&t, 1, &scene);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        tap_check(nb_simulator_create(ctx, &scene, wrong[i].names, NULL, &sim)
                          == NB_ERR_ARGUMENT
                      && strstr(nb_context_message(ctx), wrong[i].words),
                  "refused: %s", nb_context_message(ctx));
    sim =
        renders_simulator(ctx, &scene, "panel_shift panel_rot group_shift group_rot", NULL);
    tap_check(nb_simulator_nparam(sim) == 6 * (TILED_PANELS + TILED_GROUPS),
              "six for each panel and group: %zu", nb_simulator_nparam(sim));
    renders_require(ctx, nb_simulator_param(sim, 2, &p));
    tap_check(!strcmp(p.name, "panel_shift_fast[2]") && !strcmp(p.unit, "mm"),
              "the third is panel_shift_fast[2], mm: %s, %s", p.name, p.unit);
    nb_simulator_free(sim);
    scene.detector.npanel = scene.detector.ngroup = 0;
    scene.detector.origin_kind = NB_ORIGIN_DEFAULT;
    memset(scene.detector.origin, 0, sizeof scene.detector.origin);
    tap_check(nb_simulator_create(ctx, &scene, "panel_shift", NULL, &sim) == NB_ERR_ARGUMENT
                  && strstr(nb_context_message(ctx), "panels"),
              "refused: %s", nb_context_message(ctx));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"traces", traces},   {"statistics", statistics}, {"boxes", boxes},
        {"refused", refused}, {"parameters", parameters},
    };
    int status;

    ctx = renders_context(2);
    status = tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
    nb_context_free(ctx);
    return status;
}
