/*
 * test_psf.c - the point spread compared with its profile integrated by quadrature and
 * convolved by a direct sum.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/context.h>

#include "image/psf.h"
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

static const double pi = 3.14159265358979323846;

static const char *name_of(int kind)
{
    return kind == NB_PSF_GAUSS ? "gauss" : "fiber";
}

/* the profiles as scene.h defines them; g by bisection of its definition */
static double fiber_height(double fwhm)
{
    double low = fwhm / 10, high = 10 * fwhm;

    for (int i = 0; i < 200; i++) {
        const double g = (low + high) / 2, r = fwhm / 2;

        /* the half width grows with g */
        if (g * g * g / pow(g * g + r * r, 1.5) > 0.5)
            high = g;
        else
            low = g;
    }
    return low;
}

static double profile(int kind, double fwhm, double g, double x, double y)
{
    const double r2 = x * x + y * y;

    if (kind == NB_PSF_GAUSS) return exp(-4 * log(2) * r2 / (fwhm * fwhm));
    return g / (2 * pi * pow(g * g + r2, 1.5));
}

/* one pixel by 8 x 8 cells of 5 x 5 Gauss-Legendre points */
static double pixel_integral(int kind, double fwhm, double g, int i, int j)
{
    static const double node[5] = {-0.906179845938664, -0.538469310105683, 0,
                                   0.538469310105683, 0.906179845938664};
    static const double weight[5] = {0.236926885056189, 0.478628670499366,
                                     0.568888888888889, 0.478628670499366,
                                     0.236926885056189};
    const int cells = 8;
    double sum = 0;

    for (int a = 0; a < cells * 5; a++)
        for (int b = 0; b < cells * 5; b++) {
            const int cell_a = a / 5, cell_b = b / 5;
            const double x = i - 0.5 + (cell_a + 0.5 + node[a % 5] / 2) / cells;
            const double y = j - 0.5 + (cell_b + 0.5 + node[b % 5] / 2) / cells;

            sum += weight[a % 5] * weight[b % 5] * profile(kind, fwhm, g, x, y);
        }
    return sum / (4.0 * cells * cells);
}

/* quadrant of the normalised kernel, (radius + 1)^2; free() it */
static double *direct_kernel(int kind, double fwhm, int radius)
{
    const size_t n = (size_t)radius + 1;
    double *kernel = malloc(n * n * sizeof *kernel), total = 0;
    const double g = fiber_height(fwhm);

    if (!kernel) abort();
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            kernel[i * n + j] = pixel_integral(kind, fwhm, g, (int)i, (int)j);
            total += kernel[i * n + j] * (i ? 2 : 1) * (j ? 2 : 1);
        }
    for (size_t i = 0; i < n * n; i++) kernel[i] /= total;
    return kernel;
}

static void convolve(const double *kernel, int radius, int nslow, int nfast,
                     const double *in, double *out)
{
    for (int s = 0; s < nslow; s++)
        for (int f = 0; f < nfast; f++) {
            double sum = 0;

            for (int t = 0; t < nslow; t++)
                for (int u = 0; u < nfast; u++)
                    if (abs(s - t) <= radius && abs(f - u) <= radius)
                        sum += kernel[abs(s - t) * (radius + 1) + abs(f - u)]
                               * in[t * nfast + u];
            out[s * nfast + f] = sum;
        }
}

/* image := point spread of image */
static void spread(int kind, double fwhm, int radius, int nslow, int nfast, double *image)
{
    const nb_psf psf = {kind, 0, radius};
    nb_context *ctx = NULL;
    struct psf *p = NULL;
    nb_status status = nb_context_create(NB_API_VERSION, NULL, &ctx);

    if (status == NB_OK) status = psf_create(ctx, &psf, nslow, nfast, &p);
    if (!tap_check(status == NB_OK, "%s, radius %d, for %d x %d", name_of(kind), radius,
                   nslow, nfast))
        exit(1);
    psf_apply(p, NULL, fwhm, image);
    psf_free(p);
    nb_context_free(ctx);
}

static double sum_of(const double *image, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++) sum += image[i];
    return sum;
}

static int no_fftw(void)
{
    return tap_skip("this build has no FFTW");
}

static const int kinds[] = {NB_PSF_GAUSS, NB_PSF_FIBER};

/* photons of any sign, repeatable */
static double noise(unsigned *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state / 4294967296.0 - 0.3;
}

static int psf_equals_direct_sum(void)
{
    static const struct {
        int kind, radius, nslow, nfast;
        double fwhm;
    } row[] = {
        {NB_PSF_GAUSS, 9, 31, 44, 2.3}, {NB_PSF_FIBER, 12, 31, 44, 1.7},
        {NB_PSF_GAUSS, 40, 9, 14, 20},  {NB_PSF_FIBER, 40, 14, 9, 3.5},
        {NB_PSF_GAUSS, 3, 1, 25, 0.9},  {NB_PSF_FIBER, 5, 25, 1, 1.1},
        {NB_PSF_FIBER, 5, 1, 1, 1.1},
    };

    if (!HAVE_FFTW) return no_fftw();
    for (size_t i = 0; i < COUNT(row); i++) {
        struct worst off = {0};
        double image[31 * 44], expected[31 * 44];
        double *kernel = direct_kernel(row[i].kind, row[i].fwhm, row[i].radius);
        const int n = row[i].nslow * row[i].nfast;
        unsigned state = 5;

        for (int p = 0; p < n; p++) image[p] = noise(&state);
        convolve(kernel, row[i].radius, row[i].nslow, row[i].nfast, image, expected);
        spread(row[i].kind, row[i].fwhm, row[i].radius, row[i].nslow, row[i].nfast, image);
        worst_add_all(&off, image, expected, (size_t)n, worst_largest(expected, (size_t)n));
        worst_check(&off, 6e-14, "largest difference/peak");
        free(kernel);
    }
    return TAP_PASS;
}

/* a spot in the middle: the kernel itself, its sum and its symmetry */
static int psf_of_a_spot(void)
{
    enum { N = 41, MID = 20, RADIUS = 20 };

    if (!HAVE_FFTW) return no_fftw();
    for (size_t k = 0; k < COUNT(kinds); k++) {
        struct worst off = {0}, skew = {0};
        double image[N * N] = {0};
        double *kernel = direct_kernel(kinds[k], 2.5, RADIUS);

        image[MID * N + MID] = 1;
        spread(kinds[k], 2.5, RADIUS, N, N, image);
        for (int s = 0; s < N; s++)
            for (int f = 0; f < N; f++) {
                const double p = image[s * N + f];

                worst_add(&off, p, kernel[abs(s - MID) * (RADIUS + 1) + abs(f - MID)],
                          kernel[0]);
                worst_add(&skew, p, image[f * N + s], kernel[0]);
                worst_add(&skew, p, image[(N - 1 - s) * N + f], kernel[0]);
                worst_add(&skew, p, image[s * N + N - 1 - f], kernel[0]);
            }
        worst_check(&off, 5e-14, "kernel");
        worst_check(&skew, 5e-15, "symmetry");
        (void)tap_close("sum", sum_of(image, N * N), 1, 4e-14);
        free(kernel);
    }
    return TAP_PASS;
}

/* 1000 photons in a corner: the quadrant of the kernel stays; nothing comes round */
static int psf_edges_lose_light(void)
{
    enum { N = 30, RADIUS = 7 };

    if (!HAVE_FFTW) return no_fftw();
    for (size_t k = 0; k < COUNT(kinds); k++) {
        struct worst far = {0};
        double image[N * N] = {0}, stays = 0;
        double *kernel = direct_kernel(kinds[k], 3, RADIUS);

        for (int i = 0; i < (RADIUS + 1) * (RADIUS + 1); i++) stays += 1000 * kernel[i];
        image[N * N - 1] = 1000;
        spread(kinds[k], 3, RADIUS, N, N, image);
        (void)tap_close("sum", sum_of(image, N * N), stays, 4e-12);
        tap_check(stays < 500, "%g of 1000 photons stay", stays);
        for (int s = 0; s < N; s++)
            for (int f = 0; f < N; f++)
                if (s < N - 1 - RADIUS || f < N - 1 - RADIUS)
                    worst_add(&far, image[s * N + f], 0, 1000);
        worst_check(&far, 2e-16, "beyond the radius");
        free(kernel);
    }
    return TAP_PASS;
}

/* the row through a spot falls to half its maximum at fwhm/2; the average over a pixel
 * moves that by up to (pixel/fwhm)^2/2 of itself */
static int psf_width(void)
{
    enum { N = 241, MID = 120 };
    const double fwhm = 50;

    if (!HAVE_FFTW) return no_fftw();
    for (size_t k = 0; k < COUNT(kinds); k++) {
        double *image = calloc((size_t)N * N, sizeof *image), width = 0;
        int at = MID;

        if (!image) abort();
        image[MID * N + MID] = 1;
        spread(kinds[k], fwhm, MID, N, N, image);
        while (image[MID * N + at] > image[MID * N + MID] / 2) at++;
        width = image[MID * N + at - 1] - image[MID * N + MID] / 2;
        width /= image[MID * N + at - 1] - image[MID * N + at];
        width = 2 * (at - 1 - MID + width);
        (void)tap_close(name_of(kinds[k]), width / fwhm, 1, 3e-4);
        free(image);
    }
    return TAP_PASS;
}

/* much narrower than a pixel: a gauss stays in its pixel, of a fibre's light 0.9 g/r leaves
 * a square of half edge r */
static int psf_narrower_than_a_pixel(void)
{
    enum { N = 25, MID = 12 };
    static const double fwhm[] = {0.05, 1e-6, 0};

    if (!HAVE_FFTW) return no_fftw();
    for (size_t i = 0; i < COUNT(fwhm); i++)
        for (size_t k = 0; k < COUNT(kinds); k++) {
            double image[N * N] = {0}, out = 0;
            const double g = fiber_height(fwhm[i]);

            image[MID * N + MID] = 1;
            spread(kinds[k], fwhm[i], MID, N, N, image);
            tap_note("%s, fwhm %g pixel", name_of(kinds[k]), fwhm[i]);
            if (kinds[k] == NB_PSF_FIBER)
                out = 1
                      - atan2(0.25, g * sqrt(g * g + 0.5))
                            / atan2(12.5 * 12.5, g * sqrt(g * g + 2 * 12.5 * 12.5));
            (void)tap_close("in its pixel", image[MID * N + MID], 1 - out, 2e-15);
            (void)tap_close("sum", sum_of(image, N * N), 1, 4e-15);
        }
    return TAP_PASS;
}

/* linear, its own adjoint, and dark pixels dark but for round-off */
static int psf_is_linear(void)
{
    enum { NSLOW = 33, NFAST = 57, N = NSLOW * NFAST };

    if (!HAVE_FFTW) return no_fftw();
    for (size_t k = 0; k < COUNT(kinds); k++) {
        struct worst off = {0};
        double x[N], y[N], both[N], px[N], py[N], left = 0, right = 0, dark = 0;
        unsigned state = 11;

        for (int i = 0; i < N; i++) {
            px[i] = x[i] = noise(&state);
            py[i] = y[i] = noise(&state);
            both[i] = 3 * x[i] - y[i];
        }
        spread(kinds[k], 1.9, 8, NSLOW, NFAST, px);
        spread(kinds[k], 1.9, 8, NSLOW, NFAST, py);
        spread(kinds[k], 1.9, 8, NSLOW, NFAST, both);
        for (int i = 0; i < N; i++) {
            left += px[i] * y[i];
            right += x[i] * py[i];
            worst_add(&off, both[i], 3 * px[i] - py[i], 1);
        }
        (void)tap_close("adjoint", left, right, 1e-14 * fabs(left));
        worst_check(&off, 1e-14, "linear");
        memset(x, 0, sizeof x);
        x[5 * NFAST + 5] = 1e6;
        spread(kinds[k], 1.9, 8, NSLOW, NFAST, x);
        for (int i = 0; i < N; i++) dark = fmin(dark, x[i]);
        (void)tap_close("below 0, fraction of the spot", dark / 1e6, 0, 2e-16);
    }
    return TAP_PASS;
}

/* the fraction of light that each rule cuts: closed forms over the square */
static int psf_default_radii(void)
{
    static const double fwhm[] = {0.01, 0.4, 1, 3.3, 25};

    for (size_t i = 0; i < COUNT(fwhm); i++) {
        const int gauss = psf_default_radius(NB_PSF_GAUSS, fwhm[i]);
        const int fiber = psf_default_radius(NB_PSF_FIBER, fwhm[i]);
        const double g = fiber_height(fwhm[i]), w = fiber + 0.5;
        const double cut = 1 - pow(erf((gauss + 0.5) * 2 * sqrt(log(2)) / fwhm[i]), 2);

        tap_note("fwhm %g: radius %d, %d", fwhm[i], gauss, fiber);
        (void)tap_close("gauss", cut, 0, 4.1e-9);
        (void)tap_close("fiber", 1 - 2 / pi * atan(w * w / (g * sqrt(g * g + 2 * w * w))),
                        0, 1e-3);
    }
    tap_check(psf_default_radius(NB_PSF_FIBER, 1e30) > 0, "an absurd width has a radius");
    return TAP_PASS;
}

/* plans are made by several threads at once; the same bits from each, and from a second
 * application */
static int psf_threads(void)
{
    enum { N = 64, THREADS = 4, TIMES = 24 };
    static double image[TIMES][N * N];
    const nb_psf psf = {NB_PSF_FIBER, 0, 20};
    double *first = image[0];
    int failures = 0, different = 0;

    if (!HAVE_FFTW) return no_fftw();
#pragma omp parallel for num_threads(THREADS) schedule(static, 1) reduction(+ : failures)
    for (int i = 0; i < TIMES; i++) {
        nb_context *ctx = NULL;
        struct psf *p = NULL;
        unsigned state = 3;

        if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK
            || psf_create(ctx, &psf, N, N, &p) != NB_OK)
            failures++;
        else {
            for (int j = 0; j < N * N; j++) image[i][j] = noise(&state);
            /* another width before leaves no trace */
            psf_apply(p, NULL, i % 2 ? 9 : 1.5, image[i]);
            state = 3;
            for (int j = 0; j < N * N; j++) image[i][j] = noise(&state);
            psf_apply(p, NULL, 1.5, image[i]);
        }
        psf_free(p);
        nb_context_free(ctx);
    }
    for (int i = 1; i < TIMES; i++)
        for (int j = 0; j < N * N; j++) different += first[j] != image[i][j];
    tap_check(failures == 0, "%d failures", failures);
    tap_check(different == 0, "%d pixels differ", different);
    return TAP_PASS;
}

static int psf_without_fftw(void)
{
    const nb_psf psf = {NB_PSF_GAUSS, 0.1, 5};
    nb_context *ctx = NULL;
    struct psf *p = NULL;

    if (HAVE_FFTW) return tap_skip("for builds without FFTW, and this one has it");
    if (!tap_check(nb_context_create(NB_API_VERSION, NULL, &ctx) == NB_OK, "context"))
        return 1;
    tap_check(psf_create(ctx, &psf, 10, 10, &p) == NB_ERR_UNSUPPORTED && !p, "refused: %s",
              nb_context_message(ctx));
    tap_check(strstr(nb_context_message(ctx), "FFTW") != NULL, "the message names FFTW");
    psf_free(p);
    nb_context_free(ctx);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"psf_equals_direct_sum", psf_equals_direct_sum},
        {"psf_of_a_spot", psf_of_a_spot},
        {"psf_edges_lose_light", psf_edges_lose_light},
        {"psf_width", psf_width},
        {"psf_narrower_than_a_pixel", psf_narrower_than_a_pixel},
        {"psf_is_linear", psf_is_linear},
        {"psf_default_radii", psf_default_radii},
        {"psf_threads", psf_threads},
        {"psf_without_fftw", psf_without_fftw},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
