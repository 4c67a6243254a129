/*
 * test_boxes.c - boxes of pixels: whatever the strategy and the precision, their pixels are
 * those of the whole image, and losses, gradients and matrices those of the same image with
 * all other pixels masked.
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
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

enum { NSLOW = 70, NFAST = 150, PIXELS = NSLOW * NFAST, MOST_PARAMS = 40 };

/* pixels in the first and the last tile, across the borders of tiles and of strips of 64
 * rows, one alone, some twice and three times, at each corner of the image */
static const int boxes[][4] = {{0, 5, 0, 3},       {20, 44, 4, 13},   {60, 61, 60, 67},
                               {40, 90, 10, 12},   {60, 61, 62, 63},  {30, 50, 5, 30},
                               {130, 150, 68, 70}, {149, 150, 0, 1},  {0, 1, 69, 70},
                               {96, 128, 16, 24},  {100, 101, 40, 41}};
enum { BOXES = sizeof boxes / sizeof *boxes };

static int in_box(int s, int f)
{
    for (int i = 0; i < BOXES; i++)
        if (f >= boxes[i][0] && f < boxes[i][1] && s >= boxes[i][2] && s < boxes[i][3])
            return 1;
    return 0;
}

/* A way to choose pixels: all, those in the boxes, or the same by a mask; with an ROI and a
 * mask besides. */
enum choice { ALL, BOXED, MASKED };

struct pixels {
    enum choice choice;
    int roi[4];
    int holes; /* 1: every seventh pixel is masked */
    uint8_t mask[PIXELS];
};

static int is_chosen(const struct pixels *p, int s, int f)
{
    const int *r = p->roi;

    if (r[1] > 0 && (f < r[0] || f >= r[1] || s < r[2] || s >= r[3])) return 0;
    if (p->holes && (s * NFAST + f) % 7 == 0) return 0;
    return p->choice == ALL || in_box(s, f);
}

static void choose(struct pixels *p, nb_detector *d)
{
    d->nslow = NSLOW;
    d->nfast = NFAST;
    memcpy(d->roi, p->roi, sizeof d->roi);
    for (int s = 0; s < NSLOW; s++)
        for (int f = 0; f < NFAST; f++)
            p->mask[s * NFAST + f] = (uint8_t)((p->choice != MASKED || in_box(s, f))
                                               && !(p->holes && (s * NFAST + f) % 7 == 0));
    d->mask = p->holes || p->choice == MASKED ? p->mask : NULL;
    d->box = p->choice == BOXED ? boxes[0] : NULL;
    d->nbox = p->choice == BOXED ? BOXES : 0;
}

/* One of some scenes whose gaussian spots are spread over the image, with water. */
static nb_scene scene_of(int number)
{
    nb_scene s = scenes_base();

    s.crystal.shape = NB_SHAPE_GAUSS;
    s.background.water = 5;
    if (number == 1) s.oversample = 2;
    if (number == 2) s.crystal.shape = NB_SHAPE_SQUARE;
    if (number == 3) {
        s.detector.thickness = 100;
        s.detector.attenuation = 200;
        s.detector.nlayers = 2;
        s.oversample_thick = 1;
    }
    if (number == 4) {
        s.psf.kind = NB_PSF_GAUSS;
        s.psf.fwhm = 1.5 * s.detector.pixel;
    }
    return s;
}

/* the number of scenes; the last one needs FFTW */
static int scenes(void)
{
    return strstr(nb_features(), "fftw") ? 5 : 4;
}

static void require(nb_context *ctx, nb_status status)
{
    if (status == NB_OK) return;
    tap_check(0, "%s", nb_context_message(ctx));
    exit(1);
}

static nb_simulator *make(nb_context *ctx, nb_scene s, struct pixels *p,
                          const nb_options *options, const char *names)
{
    nb_simulator *sim;

    choose(p, &s.detector);
    require(ctx, nb_simulator_create(ctx, &s, names, options, &sim));
    return sim;
}

static void render(nb_context *ctx, const nb_scene *s, struct pixels *p,
                   const nb_options *options, double *out)
{
    nb_simulator *sim = make(ctx, *s, p, options, "");
    nb_array image = nb_array_f64(out, NSLOW, NFAST);

    for (int i = 0; i < PIXELS; i++) out[i] = NAN;
    require(ctx, nb_forward(sim, NULL, &image));
    nb_simulator_free(sim);
}

static double peak_of(const double *image)
{
    double peak = 0;

    for (int i = 0; i < PIXELS; i++) peak = fmax(peak, image[i]);
    return peak;
}

/* ---- images ---- */

static const struct {
    const char *name;
    nb_options options;
    int bits; /* 1: to the bit; else within the tolerance */
} ways[] = {{"reference", {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0}, 1},
            {"lanes", {NB_PRECISION_DOUBLE, NB_STRATEGY_LANES, 0}, 1},
            {"lanes in float", {NB_PRECISION_SINGLE, NB_STRATEGY_LANES, 0}, 1},
            {"spots", {NB_PRECISION_DOUBLE, NB_STRATEGY_SPOTS, 0}, 0},
            {"spots in float", {NB_PRECISION_SINGLE, NB_STRATEGY_SPOTS, 0}, 0}};
enum { WAYS = sizeof ways / sizeof *ways };

static void compare_images(const char *name, const struct pixels *p, int bits,
                           double tolerance, const double *whole, const double *part)
{
    const double allowed = bits ? 0 : tolerance * peak_of(whole);
    struct worst off = {0};
    int lit = 0, dark = 0;

    for (int s = 0; s < NSLOW; s++)
        for (int f = 0; f < NFAST; f++) {
            const int at = s * NFAST + f;

            if (is_chosen(p, s, f)) {
                worst_add(&off, part[at], whole[at], 1);
                lit += part[at] > 0;
            } else
                dark += part[at] != 0;
        }
    worst_check(&off, allowed, "%s", name);
    tap_check(lit > 0 && dark == 0, "%d lit, %d outside are not 0", lit, dark);
}

static int is_possible(const nb_scene *s, const nb_options *options)
{
    return options->strategy != NB_STRATEGY_SPOTS || s->crystal.shape == NB_SHAPE_GAUSS;
}

static int images(void)
{
    static double whole[PIXELS], part[PIXELS];
    static const int rois[][4] = {{0, 0, 0, 0}, {33, 140, 3, 66}};
    nb_context *ctx = renders_context(2);

    for (int number = 0; number < scenes(); number++)
        for (int w = 0; w < WAYS; w++) {
            const nb_scene s = scene_of(number);
            const nb_options *o = &ways[w].options;
            static struct pixels all, some;
            const double tolerance = o->precision == NB_PRECISION_SINGLE ? 1e-5 : 1e-10;

            if (!is_possible(&s, o)) continue;
            all.choice = ALL;
            render(ctx, &s, &all, o, whole);
            for (int k = 0; k < 4; k++) {
                char name[80];

                some.choice = BOXED;
                some.holes = k % 2;
                memcpy(some.roi, rois[k / 2], sizeof some.roi);
                render(ctx, &s, &some, o, part);
                (void)snprintf(name, sizeof name, "%s, scene %d%s%s", ways[w].name, number,
                               k / 2 ? ", ROI" : "", k % 2 ? ", mask" : "");
                /* a point spread rounds like its transforms */
                compare_images(name, &some, ways[w].bits && s.psf.kind == NB_PSF_NONE,
                               2 * tolerance, whole, part);
            }
        }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* other types of images, and images of a batch */
static int other_arrays(void)
{
    static double dense[PIXELS], twice[2][PIXELS];
    static float single[3 * PIXELS];
    static struct pixels some = {.choice = BOXED};
    nb_context *ctx = renders_context(2);

    for (int w = 0; w < WAYS; w++) {
        nb_simulator *sim = make(ctx, scene_of(0), &some, &ways[w].options, "");
        nb_array image = nb_array_f64(dense, NSLOW, NFAST);
        nb_array view = nb_array_f32(single, NSLOW, NFAST);
        nb_array batch[2] = {nb_array_f64(twice[0], NSLOW, NFAST),
                             nb_array_f64(twice[1], NSLOW, NFAST)};
        int wrong = 0;

        view.stride[0] = (int64_t)3 * NFAST;
        view.stride[1] = 3;
        for (int i = 0; i < 3 * PIXELS; i++) single[i] = -1;
        require(ctx, nb_forward(sim, NULL, &image));
        require(ctx, nb_forward(sim, NULL, &view));
        require(ctx, nb_forward_batch(sim, 2, NULL, batch));
        for (int i = 0; i < PIXELS; i++)
            wrong += single[3 * i] != (float)dense[i] || single[3 * i + 1] != -1;
        tap_check(wrong == 0, "%s: %d pixels of a view differ", ways[w].name, wrong);
        tap_check(memcmp(twice[0], dense, sizeof dense) == 0
                      && memcmp(twice[1], dense, sizeof dense) == 0,
                  "%s: the bits of a batch", ways[w].name);
        nb_simulator_free(sim);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* ---- derivatives ---- */

static const char names[] = "cell misset ncells scale origin water default_f";

/* The results of all calls that differentiate, for one choice of pixels. */
struct results {
    size_t n;
    double value, alone; /* of a loss: with its matrix, and by itself */
    double gradient[MOST_PARAMS], by_matrix[MOST_PARAMS], linear[MOST_PARAMS];
    double matrix[MOST_PARAMS * MOST_PARAMS];
    double tangent[PIXELS];
};

static double observed[PIXELS], cotangent[PIXELS];

static void fill_data(void)
{
    for (int i = 0; i < PIXELS; i++) {
        observed[i] = (i * 37 % 101) / 10.0;
        cotangent[i] = (i * 53 % 97) / 97.0 - 0.4;
    }
}

static void find_results(nb_context *ctx, const nb_scene *s, struct pixels *p,
                         const nb_options *options, struct results *r)
{
    nb_simulator *sim = make(ctx, *s, p, options, names);
    const nb_array data = nb_array_f64(observed, NSLOW, NFAST);
    const nb_array bar = nb_array_f64(cotangent, NSLOW, NFAST);
    nb_array change = nb_array_f64(r->tangent, NSLOW, NFAST);
    const nb_target target = {.kind = NB_LOSS_GAUSS, .observed = &data, .sigma_readout = 3};
    nb_normal gradient = {.gradient = r->gradient};
    nb_normal normal = {.gradient = r->by_matrix, .matrix = r->matrix};
    double dx[MOST_PARAMS];

    memset(r, 0, sizeof *r);
    r->n = nb_simulator_nparam(sim);
    for (size_t i = 0; i < r->n; i++) {
        nb_param param;

        require(ctx, nb_simulator_param(sim, i, &param));
        dx[i] = param.scale;
    }
    require(ctx, nb_loss(sim, NULL, &target, &r->alone, NULL));
    require(ctx, nb_loss(sim, NULL, &target, &r->value, &gradient));
    require(ctx, nb_loss(sim, NULL, &target, &r->value, &normal));
    require(ctx, nb_vjp(sim, NULL, 1, &bar, r->linear));
    require(ctx, nb_jvp(sim, NULL, 1, dx, &change));
    nb_simulator_free(sim);
}

/* Returns the largest difference of two lists, over the size of each element in `scale`. */
static double difference(size_t n, const double *a, const double *b, const double *scale)
{
    struct worst off = {0};

    for (size_t i = 0; i < n; i++) worst_add(&off, a[i], b[i], fabs(scale[i]) + 1e-300);
    return off.error;
}

/* Compares gradients over the root of the diagonal of the matrix, and matrices over those
 * of their rows and columns. */
static void compare_results(const char *name, const struct results *a,
                            const struct results *b, double allowed)
{
    static double rows[MOST_PARAMS], products[MOST_PARAMS * MOST_PARAMS];
    const size_t n = a->n;
    const double largest = worst_largest(b->tangent, PIXELS);
    struct worst tangent = {0};

    for (size_t i = 0; i < n; i++)
        rows[i] = sqrt(b->matrix[i * n + i]) * sqrt(fabs(b->value));
    for (size_t i = 0; i < n * n; i++)
        products[i] = rows[i / n] * rows[i % n] / fabs(b->value);
    worst_add_all(&tangent, a->tangent, b->tangent, PIXELS, largest);
    tap_promised(name, fabs(a->value / b->value - 1), 0, allowed);
    tap_promised("  the value alone", fabs(a->alone / b->value - 1), 0, allowed);
    tap_promised("  gradient", difference(n, a->gradient, b->gradient, rows), 0, allowed);
    tap_promised("  with the matrix", difference(n, a->by_matrix, b->by_matrix, rows), 0,
                 allowed);
    tap_promised("  matrix", difference(n * n, a->matrix, b->matrix, products), 0, allowed);
    tap_promised("  of a cotangent", difference(n, a->linear, b->linear, rows), 0, allowed);
    worst_promised(&tangent, allowed, "  tangent");
    tap_check(largest > 0 && b->value > 0, "  the loss is %.3g", b->value);
}

/* A rounding of float where float samples are other ones: those of a spot outside the
 * boxes are painted when a mask hides them, so that a mask does not move a bit, and behind
 * a point spread pixels under a mask are rendered too. Elsewhere sums are in double. */
static double allowed_of(const nb_scene *s, const nb_options *o)
{
    const int others = o->strategy == NB_STRATEGY_SPOTS || s->psf.kind != NB_PSF_NONE;

    return o->precision == NB_PRECISION_SINGLE && others ? FLT_EPSILON / 2 : 1e-12;
}

static int derivatives(void)
{
    static struct results boxed, masked;
    static struct pixels by_box = {.choice = BOXED}, by_mask = {.choice = MASKED};
    nb_context *ctx = renders_context(2);

    fill_data();
    for (int number = 0; number < scenes(); number++)
        for (int w = 0; w < WAYS; w++) {
            const nb_scene s = scene_of(number);
            const nb_options *o = &ways[w].options;
            char name[80];

            if (!is_possible(&s, o)) continue;
            find_results(ctx, &s, &by_box, o, &boxed);
            find_results(ctx, &s, &by_mask, o, &masked);
            (void)snprintf(name, sizeof name, "%s, scene %d", ways[w].name, number);
            compare_results(name, &boxed, &masked, allowed_of(&s, o));
        }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* any number of threads, compiled or not */
static int same_bits(void)
{
    static struct results one, many;
    static struct pixels some = {.choice = BOXED};
    const nb_scene s = scene_of(0);

    fill_data();
    for (int w = 0; w < WAYS; w++)
        for (int k = 0; k < 4; k++) {
            const nb_context_options how = {.threads = k < 2 ? 1 : 3,
                                            .compile =
                                                k % 2 ? NB_COMPILE_OFF : NB_COMPILE_ON};
            nb_context *ctx;

            if (nb_context_create(NB_API_VERSION, &how, &ctx) != NB_OK) abort();
            find_results(ctx, &s, &some, &ways[w].options, k ? &many : &one);
            if (k > 0)
                tap_check(memcmp(&one, &many, sizeof one) == 0, "%s, %d threads%s",
                          ways[w].name, k < 2 ? 1 : 3, k % 2 ? ", not compiled" : "");
            nb_context_free(ctx);
        }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"images", images},
                                            {"other_arrays", other_arrays},
                                            {"derivatives", derivatives},
                                            {"same_bits", same_bits}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
