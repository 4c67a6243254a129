/*
 * test_psf_gradients.c - derivatives of the point spread: compared with extrapolated
 * differences in its width, the tangent with the adjoint, and within the tangent of an
 * image with ROI and mask.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "grad/psf.h"
#include "support/ladder.h"
#include "support/scenes.h"
#include "support/tap.h"
#include "support/worst.h"

/* Where no other reason is given, a tolerance is 3 to 20 times the rounding that is
 * measured: a few eps (2.2e-16) of the numbers that meet in a sum. */

#define COUNT(list) (sizeof(list) / sizeof *(list))

#ifdef NANOBRAG_FFTW
enum { HAVE_FFTW = 1 };
#else
enum { HAVE_FFTW = 0 };
#endif

enum { MOST = 61 * 48 };

static int no_fftw(void)
{
    return tap_skip("this build has no FFTW");
}

static double noise(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(*state >> 11) / 9007199254740992.0 - 0.3;
}

static void fill(double *image, int n, uint64_t *state)
{
    for (int i = 0; i < n; i++) image[i] = noise(state);
}

static long double dot(const double *a, const double *b, int n)
{
    long double sum = 0;

    for (int i = 0; i < n; i++) sum += (long double)a[i] * b[i];
    return sum;
}

/* odd and even images, kernels beyond and within them, from much narrower than a pixel on
 */
static const struct spread {
    int kind, radius, nslow, nfast;
    double fwhm;
} spreads[] = {
    {NB_PSF_GAUSS, 9, 31, 44, 2.3},  {NB_PSF_FIBER, 12, 31, 44, 1.7},
    {NB_PSF_GAUSS, 6, 24, 18, 1.1},  {NB_PSF_FIBER, 6, 24, 18, 1.1},
    {NB_PSF_GAUSS, 40, 9, 14, 20},   {NB_PSF_FIBER, 40, 14, 9, 3.5},
    {NB_PSF_GAUSS, 3, 1, 25, 0.9},   {NB_PSF_FIBER, 5, 25, 1, 1.1},
    {NB_PSF_GAUSS, 2, 17, 16, 0.35}, {NB_PSF_FIBER, 30, 17, 16, 0.05},
    {NB_PSF_GAUSS, 25, 61, 48, 7},   {NB_PSF_FIBER, 300, 61, 48, 0.5},
};

static struct psf *make(const struct spread *spread)
{
    const nb_psf psf = {spread->kind, 0, spread->radius};
    nb_context *ctx = NULL;
    struct psf *p = NULL;

    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK
        || psf_create(ctx, &psf, spread->nslow, spread->nfast, &p) != NB_OK)
        abort();
    nb_context_free(ctx);
    tap_note("%s of %g pixels, radius %d, for %d x %d",
             spread->kind == NB_PSF_GAUSS ? "gauss" : "fiber", spread->fwhm, spread->radius,
             spread->nslow, spread->nfast);
    return p;
}

struct weighted {
    struct psf *psf;
    int n;
    double photons[MOST], weight[MOST];
};

static long double spread_sum(const void *context, double fwhm)
{
    static double image[MOST];
    const struct weighted *w = context;

    memcpy(image, w->photons, (size_t)w->n * sizeof *image);
    psf_apply(w->psf, NULL, fwhm, image);
    return dot(image, w->weight, w->n);
}

static void check_slope(const struct ladder *ladder, double slope)
{
    const struct ladder_slope found = ladder_run(ladder);
    double off;
    const int agrees = ladder_agrees(&found, slope, &off);

    tap_check(agrees && slope != 0,
              "slope %.15e, differences %.15e +- %.1e (%s): %.2g x allowed", slope,
              found.slope, found.bar, ladder_verdict_name(found.verdict), off);
}

/* weights of one sign where the photons are: no cancellation hides an error */
static int width(void)
{
    static struct weighted w;
    uint64_t state = 4;

    if (!HAVE_FFTW) return no_fftw();
    for (size_t i = 0; i < COUNT(spreads); i++) {
        const double fwhm = spreads[i].fwhm;
        struct ladder ladder = {spread_sum, &w, fwhm, fwhm, fwhm, 0};
        static double change[MOST];

        w.psf = make(&spreads[i]);
        w.n = spreads[i].nslow * spreads[i].nfast;
        fill(w.photons, w.n, &state);
        fill(w.weight, w.n, &state);
        for (int p = 0; p < w.n; p++) {
            w.weight[p] += w.photons[p];
            ladder.size += fabs(w.weight[p] * w.photons[p]);
        }
        memset(change, 0, sizeof change);
        psf_add_slope(w.psf, NULL, fwhm, 1, w.photons, change);
        check_slope(&ladder, (double)dot(w.weight, change, w.n));
        psf_free(w.psf);
    }
    return TAP_PASS;
}

/* the sum of the kernel is 1 at any width: where nothing reaches the edge nothing is lost
 */
static int light_is_kept(void)
{
    enum { N = 41, MID = 20 };
    static const int kinds[] = {NB_PSF_GAUSS, NB_PSF_FIBER};

    if (!HAVE_FFTW) return no_fftw();
    for (size_t k = 0; k < COUNT(kinds); k++) {
        const struct spread spread = {kinds[k], MID, N, N, 2.5};
        double photons[N * N] = {0}, change[N * N] = {0}, sum = 0, size = 0;
        struct psf *psf = make(&spread);

        photons[MID * N + MID] = 1;
        psf_add_slope(psf, NULL, spread.fwhm, 1, photons, change);
        for (int i = 0; i < N * N; i++) {
            sum += change[i];
            size += fabs(change[i]);
        }
        (void)tap_close("sum/size of the slope", sum / size, 0, 5e-15);
        tap_check(size > 0.01 && change[MID * N + MID] < 0, "the middle gets darker");
        psf_free(psf);
    }
    return TAP_PASS;
}

/* widths much below a pixel, down to 0: numbers, and the straight line of a fibre */
static int narrow(void)
{
    static const double fwhm[] = {1e-3, 1e-6, 1e-100, 0};
    static double photons[MOST], change[MOST];
    uint64_t state = 6;

    if (!HAVE_FFTW) return no_fftw();
    for (size_t i = 0; i < 4 * COUNT(fwhm); i++) {
        struct spread spread = spreads[i % 4];
        const int n = spread.nslow * spread.nfast;
        double largest, sum = 0;
        struct psf *psf;

        spread.fwhm = fwhm[i / 4];
        psf = make(&spread);
        fill(photons, n, &state);
        memset(change, 0, sizeof change);
        psf_add_slope(psf, NULL, spread.fwhm, 1, photons, change);
        for (int p = 0; p < n; p++) {
            sum += change[p];
        }
        largest = worst_largest(change, (size_t)n);
        tap_check(isfinite(sum), "finite");
        if (spread.kind == NB_PSF_GAUSS)
            (void)tap_close("gauss", largest, 0, 0);
        else
            tap_check(largest > 0.1, "fiber: %g", largest);
        psf_free(psf);
    }
    return TAP_PASS;
}

/* <bar, J dot> = <J^T bar, dot> over photons, width and pixel */
static int adjoint(void)
{
    static double photons[MOST], change[MOST], image[MOST], bar[MOST], back[MOST];
    uint64_t state = 9;

    if (!HAVE_FFTW) return no_fftw();
    for (size_t i = 0; i < COUNT(spreads); i++) {
        const int n = spreads[i].nslow * spreads[i].nfast;
        struct psf *psf = make(&spreads[i]);
        nb_scene scene = {0}, dots = {0}, bars = {0};
        double left, right, size = 0;

        scene.detector.pixel = 0.17;
        scene.psf.fwhm = 0.17 * spreads[i].fwhm;
        dots.detector.pixel = 0.03;
        dots.psf.fwhm = -0.05 * spreads[i].fwhm;
        fill(photons, n, &state);
        fill(change, n, &state);
        fill(bar, n, &state);
        memcpy(image, change, sizeof image);
        memcpy(back, bar, sizeof back);
        psf_tangent(psf, &scene, &dots, photons, image);
        psf_adjoint(psf, &scene, photons, back, &bars);
        left = (double)dot(bar, image, n);
        right = (double)dot(back, change, n) + bars.psf.fwhm * dots.psf.fwhm
                + bars.detector.pixel * dots.detector.pixel;
        for (int p = 0; p < n; p++) size += fabs(bar[p] * image[p]);
        (void)tap_close("difference/size", (left - right) / size, 0, 3e-15);
        psf_free(psf);
    }
    return TAP_PASS;
}

/* ---- in an image ---- */

enum { FAST = 40, SLOW = 37 };

struct imaged {
    nb_simulator *sim;
    double weight[FAST * SLOW];
};

static long double image_sum(const void *context, double x)
{
    static double image[FAST * SLOW];
    const struct imaged *w = context;
    nb_array array = nb_array_f64(image, SLOW, FAST);

    if (nb_forward(w->sim, &x, &array) != NB_OK) abort();
    return dot(w->weight, image, FAST * SLOW);
}

/* a window with a hole: what lies outside still gives it light */
static nb_scene windowed(int kind, uint8_t *mask)
{
    nb_scene scene = scenes_base();

    for (int i = 0; i < FAST * SLOW; i++) mask[i] = i % 23 != 5;
    scene.detector.mask = mask;
    scene.detector.roi[0] = 16, scene.detector.roi[1] = 26;
    scene.detector.roi[2] = 12, scene.detector.roi[3] = 21;
    scene.psf.kind = kind;
    scene.psf.fwhm = 0.9;
    scene.psf.radius = 6;
    scene.crystal.ndomains = 1;
    scene.crystal.mosaic[0] = 0;
    scene.scan.nphi = 1;
    return scene;
}

static void check_image(nb_context *ctx, const nb_scene *scene, const char *name)
{
    static struct imaged w;
    static double change[FAST * SLOW], image[FAST * SLOW];
    const nb_options options = {NB_PRECISION_DOUBLE, NB_STRATEGY_REFERENCE, 0};
    nb_array dimage = nb_array_f64(change, SLOW, FAST);
    nb_array array = nb_array_f64(image, SLOW, FAST);
    struct ladder ladder = {image_sum, &w, 0, 0, 0, 0};
    const double one = 1;
    uint64_t state = 12;
    int outside = 0;
    nb_param param;

    if (nb_simulator_create(ctx, scene, name, &options, &w.sim) != NB_OK
        || nb_simulator_param(w.sim, 0, &param) != NB_OK
        || nb_forward(w.sim, NULL, &array) != NB_OK) {
        tap_check(0, "%s: %s", name, nb_context_message(ctx));
        return;
    }
    fill(w.weight, FAST * SLOW, &state);
    for (int i = 0; i < FAST * SLOW; i++) ladder.size += fabs(w.weight[i] * image[i]);
    ladder.x = param.value;
    ladder.length =
        param.value != 0 ? fmin(fabs(param.value), 10 * param.scale) : param.scale;
    ladder.limit = fmin(param.value - param.lower, param.upper - param.value);
    tap_check(nb_jvp(w.sim, NULL, 1, &one, &dimage) == NB_OK, "%s", name);
    check_slope(&ladder, (double)dot(w.weight, change, FAST * SLOW));
    for (int i = 0; i < FAST * SLOW; i++) outside += image[i] == 0 && change[i] != 0;
    tap_check(outside == 0, "%d pixels that are not rendered change", outside);
    nb_simulator_free(w.sim);
}

static int image(void)
{
    static const char *const names[] = {"psf_fwhm", "pixel", "distance", "default_f",
                                        "cell_b"};
    static uint8_t mask[FAST * SLOW];
    nb_context *ctx;

    if (!HAVE_FFTW) return no_fftw();
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
    for (int kind = NB_PSF_GAUSS; kind <= NB_PSF_FIBER; kind++) {
        const nb_scene scene = windowed(kind, mask);

        for (size_t i = 0; i < COUNT(names); i++) check_image(ctx, &scene, names[i]);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

/* several directions at once are those one by one, and J is linear */
static int directions(void)
{
    static double change[3][FAST * SLOW];
    static uint8_t mask[FAST * SLOW];
    static const double dx[] = {1, 0, 0, 1, 0.3, -2};
    const nb_scene scene = windowed(NB_PSF_GAUSS, mask);
    nb_array dimage[3];
    struct worst off = {0};
    double peak;
    nb_simulator *sim;
    nb_context *ctx;

    if (!HAVE_FFTW) return no_fftw();
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK
        || nb_simulator_create(ctx, &scene, "psf_fwhm distance", NULL, &sim) != NB_OK)
        abort();
    for (int i = 0; i < 3; i++) dimage[i] = nb_array_f64(change[i], SLOW, FAST);
    tap_check(nb_jvp(sim, NULL, 3, dx, dimage) == NB_OK, "three directions");
    peak = worst_largest(change[2], FAST * SLOW);
    for (int i = 0; i < FAST * SLOW; i++)
        worst_add(&off, change[2][i], 0.3 * change[0][i] - 2 * change[1][i], peak);
    worst_check(&off, 6e-16, "linear"); /* 3.9e-17 measured */
    nb_simulator_free(sim);
    nb_context_free(ctx);
    return TAP_PASS;
}

/* two cotangents at once, against the same directions: <bar, J dx> = <J^T bar, dx> */
static int image_adjoint(void)
{
    enum { NPARAM = 5, NCOT = 2 };
    static double bar[NCOT][FAST * SLOW], change[FAST * SLOW];
    static uint8_t mask[FAST * SLOW];
    nb_array cotangent[NCOT], dimage = nb_array_f64(change, SLOW, FAST);
    nb_context *ctx;
    uint64_t state = 21;

    if (!HAVE_FFTW) return no_fftw();
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK) abort();
    for (int i = 0; i < NCOT; i++) {
        fill(bar[i], FAST * SLOW, &state);
        cotangent[i] = nb_array_f64(bar[i], SLOW, FAST);
    }
    for (int kind = NB_PSF_GAUSS; kind <= NB_PSF_FIBER; kind++) {
        const nb_scene scene = windowed(kind, mask);
        double gradient[NCOT][NPARAM] = {{0}};
        nb_simulator *sim;

        if (nb_simulator_create(ctx, &scene, "pixel psf_fwhm distance default_f cell_b",
                                NULL, &sim)
            != NB_OK)
            abort();
        tap_check(nb_vjp(sim, NULL, NCOT, cotangent, gradient[0]) == NB_OK, "%s",
                  kind == NB_PSF_GAUSS ? "gauss" : "fiber");
        for (int p = 0; p < NPARAM; p++) {
            double dx[NPARAM] = {0};

            dx[p] = 1;
            if (nb_jvp(sim, NULL, 1, dx, &dimage) != NB_OK) abort();
            for (int c = 0; c < NCOT; c++) {
                const double slope = (double)dot(bar[c], change, FAST * SLOW);
                double size = 0;

                for (int i = 0; i < FAST * SLOW; i++) size += fabs(bar[c][i] * change[i]);
                (void)tap_close("difference/S", (gradient[c][p] - slope) / size, 0, 7e-14);
            }
        }
        nb_simulator_free(sim);
    }
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"gradcheck.psf.width", width},
        {"gradcheck.psf.light_is_kept", light_is_kept},
        {"gradcheck.psf.narrow", narrow},
        {"gradcheck.psf.adjoint", adjoint},
        {"gradcheck.psf.image", image},
        {"gradcheck.psf.image_adjoint", image_adjoint},
        {"gradcheck.psf.directions", directions},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
