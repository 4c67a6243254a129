/*
 * psf.c - point spread as one product of Fourier transforms. The kernel is integrated over
 * each pixel, so that a spread narrower than a pixel is right, and symmetric, so that its
 * transform is real and the convolution is its own adjoint. SPDX-License-Identifier: MIT
 */
#include "image/psf.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"

/*
 * Gauss: 6 sigma and what is left of the last pixel; at most 4e-9 of the light lies beyond.
 * Fibre: of its light 0.59 fwhm/radius lies beyond, 1e-3 at 600 fwhm. What is cut is given
 * back by the normalisation. Reaching beyond the image costs nothing, and a smaller radius
 * would return to the image light that has left it.
 */
int psf_default_radius(int kind, double fwhm_pixels)
{
    static const double sigma = 0.42466090014400953; /* 1/(2 sqrt(2 ln 2)) */
    static const double most = 1 << 24;
    const double radius = ceil(fwhm_pixels * (kind == NB_PSF_GAUSS ? 6 * sigma : 600));

    return (int)fmin(fmax(radius, 1), most);
}

#ifdef NANOBRAG_FFTW

#include <fftw3.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

struct psf {
    int kind, radius;
    int nslow, nfast; /* of the image */
    int reach[2]; /* kernel pixels from the centre that can matter, slow and fast */
    int pslow, pfast; /* of the transform */
    size_t half; /* complex numbers per row of the transform: pfast/2 + 1 */
    double *work; /* pslow rows of 2 half; image or kernel, and its transform in place */
    double *transfer; /* pslow x half: transform of the kernel/(pslow pfast) */
    double *line; /* two lines of the kernel's factors */
    fftw_plan forward, backward;
};

/*
 * The planner of FFTW is one per process and not thread safe, so its calls need a lock that
 * is one per process too. A spin lock, because C11 can initialise it without a library;
 * plans made by estimate take milliseconds, measured ones as long as they may, and make
 * others wait. A program that calls FFTW's planner in another thread meanwhile has to call
 * fftw_make_planner_thread_safe().
 */
static atomic_flag planner = ATOMIC_FLAG_INIT;

static void lock_planner(void)
{
    while (atomic_flag_test_and_set_explicit(&planner, memory_order_acquire))
        (void)sched_yield();
}

static void unlock_planner(void)
{
    atomic_flag_clear_explicit(&planner, memory_order_release);
}

/* the next number without prime factors above 7, for which FFTW is fast */
static int fast_size(int n)
{
    static const int prime[] = {2, 3, 5, 7};

    for (;; n++) {
        int rest = n;

        for (int i = 0; i < 4; i++)
            while (rest % prime[i] == 0) rest /= prime[i];
        if (rest == 1) return n;
    }
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int allocate(struct psf *psf)
{
    const size_t n = (size_t)psf->pslow * psf->half;
    const int reach = psf->reach[0] > psf->reach[1] ? psf->reach[0] : psf->reach[1];

    psf->work = fftw_malloc(n * 2 * sizeof *psf->work);
    psf->transfer = malloc(n * sizeof *psf->transfer);
    psf->line = malloc(2 * ((size_t)reach + 1) * sizeof *psf->line);
    return psf->work && psf->transfer && psf->line;
}

/* What measuring found in this process so far, and whether its time was ever too short:
 * then no new size is measured, so that those of a size stay alike. Under the same lock. */
static char *measured;
static int gave_up;

static double seconds_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void plan_forward(struct psf *p, unsigned how)
{
    p->forward =
        fftw_plan_dft_r2c_2d(p->pslow, p->pfast, p->work, (fftw_complex *)p->work, how);
}

static void plan_backward(struct psf *p, unsigned how)
{
    p->backward =
        fftw_plan_dft_c2r_2d(p->pslow, p->pfast, (fftw_complex *)p->work, p->work, how);
}

static void drop_plans(struct psf *p)
{
    if (p->forward) fftw_destroy_plan(p->forward);
    if (p->backward) fftw_destroy_plan(p->backward);
    p->forward = p->backward = NULL;
}

/* both, or neither */
static void measure_plans(struct psf *p, struct psf_tuning *tuning)
{
    const char *known = measured ? measured : tuning->known;
    const unsigned how = FFTW_MEASURE | (gave_up ? FFTW_WISDOM_ONLY : 0);
    const double each = tuning->seconds / 2;
    double start = seconds_now(), middle;

    if (known) (void)fftw_import_wisdom_from_string(known);
    fftw_set_timelimit(each);
    plan_forward(p, how);
    middle = seconds_now();
    plan_backward(p, how);
    fftw_set_timelimit(FFTW_NO_TIMELIMIT);
    tuning->cut_short = middle - start >= each || seconds_now() - middle >= each;
    tuning->measured = !tuning->cut_short && p->forward && p->backward;
    gave_up |= tuning->cut_short;
    if (!tuning->measured) {
        drop_plans(p);
        return;
    }
    tuning->found = fftw_export_wisdom_to_string();
    free(measured);
    measured = tuning->found ? strdup(tuning->found) : NULL;
}

/* The planner's wisdom is one per process, and changes what it chooses: it is ours while we
 * plan, and the program's again afterwards. */
static void plan_transforms(struct psf *p, struct psf_tuning *tuning)
{
    char *programs;

    lock_planner();
    programs = fftw_export_wisdom_to_string();
    fftw_forget_wisdom();
    if (tuning) measure_plans(p, tuning);
    if (!p->forward || !p->backward) {
        fftw_forget_wisdom();
        plan_forward(p, FFTW_ESTIMATE);
        plan_backward(p, FFTW_ESTIMATE);
    }
    fftw_forget_wisdom();
    if (programs) (void)fftw_import_wisdom_from_string(programs);
    free(programs);
    unlock_planner();
}

nb_status psf_create(nb_context *ctx, const nb_psf *psf, int nslow, int nfast,
                     struct psf_tuning *tuning, struct psf **out)
{
    struct psf *p = calloc(1, sizeof *p);

    assert(psf->kind == NB_PSF_GAUSS || psf->kind == NB_PSF_FIBER);
    assert(psf->radius > 0 && nslow > 0 && nfast > 0);
    *out = NULL;
    if (!p) return fail_memory(ctx, "the point spread");
    p->kind = psf->kind;
    p->radius = psf->radius;
    p->nslow = nslow;
    p->nfast = nfast;
    p->reach[0] = smaller(psf->radius, nslow - 1);
    p->reach[1] = smaller(psf->radius, nfast - 1);
    p->pslow = fast_size(nslow + p->reach[0]);
    p->pfast = fast_size(nfast + p->reach[1]);
    p->half = (size_t)p->pfast / 2 + 1;
    if (!allocate(p)) {
        psf_free(p);
        return fail_memory(ctx, "the transforms of the point spread");
    }
    plan_transforms(p, tuning);
    if (!p->forward || !p->backward) {
        psf_free(p);
        return fail(ctx, NB_ERR_UNSUPPORTED,
                    "point spread: FFTW has no plan for a transform of %d x %d, use a "
                    "smaller image or radius",
                    nslow, nfast);
    }
    *out = p;
    return NB_OK;
}

size_t psf_bytes(const struct psf *psf)
{
    const size_t n = psf ? (size_t)psf->pslow * psf->half : 0;

    return n * (2 * sizeof *psf->work + sizeof *psf->transfer);
}

void psf_free(struct psf *psf)
{
    if (!psf) return;
    lock_planner();
    drop_plans(psf);
    unlock_planner();
    fftw_free(psf->work);
    free(psf->transfer);
    free(psf->line);
    free(psf);
}

/* kernel pixels (+-i, +-j), negative ones wrapped round the end */
static void put(struct psf *psf, int i, int j, double value)
{
    const size_t row = psf->half * 2;
    const size_t below = (size_t)i * row, right = (size_t)j;
    const size_t above = i ? (size_t)(psf->pslow - i) * row : 0;
    const size_t left = j ? (size_t)(psf->pfast - j) : 0;

    psf->work[below + right] = psf->work[below + left] = value;
    psf->work[above + right] = psf->work[above + left] = value;
}

/* what a kernel is filled with: itself, or what it changes by per unit of its fwhm */
enum content { VALUE, SLOPE };

/* x exp(-x^2), also where x overflows */
static double wing(double x)
{
    return fabs(x) < 30 ? x * exp(-x * x) : 0;
}

/*
 * exp(-4 ln 2 r^2/fwhm^2): the integral over a pixel is a product of two differences of
 * error functions of (distance) c, with c in inverse proportion to fwhm, so that
 * d erf(u c)/d fwhm = -2/sqrt(pi) wing(u c)/fwhm.
 */
static void gauss_kernel(struct psf *psf, double fwhm, enum content content)
{
    const double c = 2 * sqrt(log(2)) / fwhm;
    const double edge = (psf->radius + 0.5) * c, total = erf(edge);
    const double unit = fwhm > 0 ? -2 / (sqrt(acos(-1)) * fwhm * total) : 0;
    const int reach = psf->reach[0] > psf->reach[1] ? psf->reach[0] : psf->reach[1];
    double *weight = psf->line, *slope = weight + reach + 1;

    weight[0] = erf(0.5 * c) / total;
    for (int i = 1; i <= reach; i++)
        weight[i] = 0.5 * (erfc((i - 0.5) * c) - erfc((i + 0.5) * c)) / total;
    for (int i = 0; i <= reach && content == SLOPE; i++) {
        const double outer = wing((i + 0.5) * c), inner = wing((i - 0.5) * c);

        slope[i] = unit * (0.5 * (outer - inner) - weight[i] * wing(edge));
    }
    for (int i = 0; i <= psf->reach[0]; i++)
        for (int j = 0; j <= psf->reach[1]; j++)
            put(psf, i, j,
                content == VALUE ? weight[i] * weight[j]
                                 : slope[i] * weight[j] + weight[i] * slope[j]);
}

/* 2 pi times the integral of g/(2 pi (g^2 + r^2)^(3/2)) over 0..x, 0..y: the solid angle
 * of that rectangle seen from the height g above its corner */
static double solid_angle(double g, double x, double y)
{
    return atan2(x * y, g * sqrt(g * g + x * x + y * y));
}

/* d solid_angle/dg */
static double solid_angle_slope(double g, double x, double y)
{
    const double x2 = g * g + x * x, y2 = g * g + y * y, r2 = x2 + y * y;

    return -x * y * (g * g + r2) / (x2 * y2 * sqrt(r2));
}

/* value (solid angle) + slope (its slope) */
struct corner {
    double g, value, slope;
};

static double corner_at(struct corner corner, double x, double y)
{
    double sum = corner.value * solid_angle(corner.g, x, y);

    if (corner.slope != 0) sum += corner.slope * solid_angle_slope(corner.g, x, y);
    return sum;
}

/*
 * The profile is half its maximum where (1 + r^2/g^2)^(3/2) = 2. With r = fwhm/2:
 * g = fwhm/(2 sqrt(2^(2/3) - 1)).
 * A pixel is the second difference of the solid angle over its corners, which is odd in x
 * and in y; the whole square is four times its quadrant.
 */
static void fiber_kernel(struct psf *psf, double fwhm, enum content content)
{
    const double per_fwhm = 1 / (2 * sqrt(cbrt(4) - 1)), g = fwhm * per_fwhm;
    const double edge = psf->radius + 0.5, quadrant = solid_angle(g, edge, edge);
    const double scale = 1 / (4 * quadrant);
    const double scale_slope = -scale * solid_angle_slope(g, edge, edge) / quadrant;
    const struct corner corner = {g, content == VALUE ? scale : scale_slope * per_fwhm,
                                  content == VALUE ? 0 : scale * per_fwhm};
    double *before = psf->line, *here = before + psf->reach[1] + 1;

    for (int j = 0; j <= psf->reach[1]; j++) before[j] = -corner_at(corner, 0.5, j + 0.5);
    for (int i = 0; i <= psf->reach[0]; i++) {
        double *swap = before;

        for (int j = 0; j <= psf->reach[1]; j++)
            here[j] = corner_at(corner, i + 0.5, j + 0.5);
        put(psf, i, 0, 2 * (here[0] - before[0]));
        for (int j = 1; j <= psf->reach[1]; j++)
            put(psf, i, j, (here[j] - here[j - 1]) - (before[j] - before[j - 1]));
        before = here;
        here = swap;
    }
}

static void make_transfer(struct psf *psf, double fwhm, enum content content)
{
    const size_t n = (size_t)psf->pslow * psf->half;
    const double norm = 1 / ((double)psf->pslow * psf->pfast);

    memset(psf->work, 0, n * 2 * sizeof *psf->work);
    if (psf->kind == NB_PSF_GAUSS)
        gauss_kernel(psf, fwhm, content);
    else
        fiber_kernel(psf, fwhm, content);
    fftw_execute(psf->forward);
    for (size_t i = 0; i < n; i++) psf->transfer[i] = psf->work[2 * i] * norm;
}

/* the convolution of an image with the kernel, or with its slope, into psf->work */
static void convolve(struct psf *psf, double fwhm, enum content content,
                     const double *image)
{
    const size_t row = psf->half * 2, nfast = (size_t)psf->nfast;
    const size_t n = (size_t)psf->pslow * psf->half;

    make_transfer(psf, fwhm, content);
    memset(psf->work, 0, n * 2 * sizeof *psf->work);
    for (size_t s = 0; s < (size_t)psf->nslow; s++)
        memcpy(psf->work + s * row, image + s * nfast, nfast * sizeof *image);
    fftw_execute(psf->forward);
    for (size_t i = 0; i < n; i++) {
        psf->work[2 * i] *= psf->transfer[i];
        psf->work[2 * i + 1] *= psf->transfer[i];
    }
    fftw_execute(psf->backward);
}

/*
 * Linear, so that it serves tangents and cotangents of either sign too. For the same
 * reason the round-off of the transforms, about 1e-16 of the image's maximum and of either
 * sign in dark pixels, is left: cutting it at 0 would break the derivative, and counts and
 * noise read what is below 0 as 0.
 */
void psf_apply(struct psf *psf, double fwhm_pixels, double *image)
{
    const size_t row = psf->half * 2, nfast = (size_t)psf->nfast;

    convolve(psf, fwhm_pixels, VALUE, image);
    for (size_t s = 0; s < (size_t)psf->nslow; s++)
        memcpy(image + s * nfast, psf->work + s * row, nfast * sizeof *image);
}

void psf_add_slope(struct psf *psf, double fwhm_pixels, double factor,
                   const double *photons, double *image)
{
    const size_t row = psf->half * 2, nfast = (size_t)psf->nfast;

    convolve(psf, fwhm_pixels, SLOPE, photons);
    for (size_t s = 0; s < (size_t)psf->nslow; s++)
        for (size_t f = 0; f < nfast; f++)
            image[s * nfast + f] += factor * psf->work[s * row + f];
}

double psf_slope_dot(struct psf *psf, double fwhm_pixels, const double *photons,
                     const double *weight)
{
    const size_t row = psf->half * 2, nfast = (size_t)psf->nfast;
    double sum = 0;

    convolve(psf, fwhm_pixels, SLOPE, photons);
    for (size_t s = 0; s < (size_t)psf->nslow; s++) {
        double line = 0;

        for (size_t f = 0; f < nfast; f++)
            line += weight[s * nfast + f] * psf->work[s * row + f];
        sum += line;
    }
    return sum;
}

#else

nb_status psf_create(nb_context *ctx, const nb_psf *psf, int nslow, int nfast,
                     struct psf_tuning *tuning, struct psf **out)
{
    (void)psf;
    (void)nslow;
    (void)nfast;
    (void)tuning;
    *out = NULL;
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "point spread: this build has no FFTW; install it (libfftw3-dev) and build "
                "again, or leave the point spread out");
}

/* no struct psf exists in this build: those below are there to link */
void psf_apply(struct psf *psf, double fwhm_pixels, double *image)
{
    (void)psf;
    (void)fwhm_pixels;
    (void)image;
}

void psf_add_slope(struct psf *psf, double fwhm_pixels, double factor,
                   const double *photons, double *image)
{
    (void)psf;
    (void)fwhm_pixels;
    (void)factor;
    (void)photons;
    (void)image;
}

double psf_slope_dot(struct psf *psf, double fwhm_pixels, const double *photons,
                     const double *weight)
{
    (void)psf;
    (void)fwhm_pixels;
    (void)photons;
    (void)weight;
    return 0;
}

size_t psf_bytes(const struct psf *psf)
{
    (void)psf;
    return 0;
}

void psf_free(struct psf *psf)
{
    (void)psf;
}

#endif
