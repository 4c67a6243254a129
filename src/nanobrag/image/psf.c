/*
 * psf.c - the point spread as a product of Fourier transforms (docs/theory.md, 12). The
 * kernel is integrated over each pixel, so that a point spread narrower than a pixel is
 * right too. The kernel is symmetric, so that its transform is real and the convolution is
 * its own adjoint.
 *
 * SPDX-License-Identifier: MIT
 */
#include "image/psf.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/fftw/planner.h"

/* The default radius. Gauss: 6 sigma, rounded up; at most 4e-9 of the light lies beyond
 * this. Fibre: 600 fwhm; the fraction 0.59 fwhm/radius = 1e-3 of the light lies beyond
 * this. The normalisation spreads that light over the kernel. A radius larger than the
 * image costs nothing, while a smaller one would put back light that has left the image. */
int psf_default_radius(int kind, double fwhm_pixels)
{
    /* sigma over fwhm, 1/(2 sqrt(2 ln 2)) */
    static const double sigma = 0.42466090014400953;
    static const double most = 1 << 24;
    const double radius = ceil(fwhm_pixels * (kind == NB_PSF_GAUSS ? 6 * sigma : 600));

    return (int)fmin(fmax(radius, 1), most);
}

struct psf_panel psf_panel_of(const nb_detector *d, int i)
{
    const size_t stride = (size_t)d->nfast;
    struct psf_panel panel = {d->nslow, d->nfast, 0, stride, d->pixel, 1};

    if (d->npanel > 0) {
        const nb_panel *p = d->panel + i;

        panel.nslow = p->nslow, panel.nfast = p->nfast;
        panel.first = (size_t)p->slow0 * stride + (size_t)p->fast0;
        panel.common = p->pixel == 0;
        if (!panel.common) panel.pixel = p->pixel;
    }
    return panel;
}

#ifdef NANOBRAG_FFTW

#include <fftw3.h>

struct psf {
    int kind, radius;
    int nslow, nfast; /* size of the image or of the largest panel */
    int reach[2]; /* radius of the kernel, less than nslow and nfast */
    int pslow, pfast; /* size of the transforms, with the padding */
    size_t half; /* complex numbers in a row of the transform: pfast/2 + 1 */
    /* pslow rows of 2 half numbers: an image or a kernel, then its transform in place */
    double *work;
    double *transfer; /* (pslow x half) transform of the kernel, divided by pslow pfast */
    double made_for; /* fwhm of the kernel in `transfer`, pixels; NaN: none yet */
    int made_of; /* enum content of the kernel in `transfer` */
    double *line; /* two lines of numbers from which the kernel is made */
    fftw_plan forward, backward;
};

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

/* Makes the plans of both transforms. */
static void plan_transforms(struct psf *p)
{
    char *const wisdom = planner_begin();

    p->forward = fftw_plan_dft_r2c_2d(p->pslow, p->pfast, p->work, (fftw_complex *)p->work,
                                      FFTW_ESTIMATE);
    p->backward = fftw_plan_dft_c2r_2d(p->pslow, p->pfast, (fftw_complex *)p->work, p->work,
                                       FFTW_ESTIMATE);
    planner_end(wisdom);
}

nb_status psf_create(nb_context *ctx, const nb_psf *psf, int nslow, int nfast,
                     struct psf **out)
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
    p->made_for = NAN;
    p->reach[0] = smaller(psf->radius, nslow - 1);
    p->reach[1] = smaller(psf->radius, nfast - 1);
    p->pslow = planner_fast_size(nslow + p->reach[0]);
    p->pfast = planner_fast_size(nfast + p->reach[1]);
    p->half = (size_t)p->pfast / 2 + 1;
    if (!allocate(p)) {
        psf_free(p);
        return fail_memory(ctx, "the transforms of the point spread");
    }
    plan_transforms(p);
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
    planner_lock();
    if (psf->forward) fftw_destroy_plan(psf->forward);
    if (psf->backward) fftw_destroy_plan(psf->backward);
    planner_unlock();
    fftw_free(psf->work);
    free(psf->transfer);
    free(psf->line);
    free(psf);
}

/* Sets the kernel at the four pixels (+-i, +-j); negative indices wrap round. */
static void set_symmetric(struct psf *psf, int i, int j, double value)
{
    const size_t row = psf->half * 2;
    const size_t below = (size_t)i * row, right = (size_t)j;
    const size_t above = i ? (size_t)(psf->pslow - i) * row : 0;
    const size_t left = j ? (size_t)(psf->pfast - j) : 0;

    psf->work[below + right] = psf->work[below + left] = value;
    psf->work[above + right] = psf->work[above + left] = value;
}

/* Which kernel to compute: the kernel itself, or its derivative with respect to fwhm. */
enum content { VALUE, SLOPE };

/* Returns x exp(-x^2), which is 0 for large x. */
static double wing(double x)
{
    return fabs(x) < 30 ? x * exp(-x * x) : 0;
}

/*
 * Computes the kernel exp(-4 ln 2 r^2/fwhm^2). Its integral over a pixel is a product of
 * two differences erf(u c) - erf(v c), where u and v are the edges of the pixel and c is
 * proportional to 1/fwhm, so that d erf(u c)/d fwhm = -2/sqrt(pi) wing(u c)/fwhm.
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
            set_symmetric(psf, i, j,
                          content == VALUE ? weight[i] * weight[j]
                                           : slope[i] * weight[j] + weight[i] * slope[j]);
}

/* Returns 2 pi times the integral of g/(2 pi (g^2 + r^2)^(3/2)) over 0..x, 0..y. The result
 * is the solid angle of the rectangle, seen from the height g above its corner (0, 0). */
static double solid_angle(double g, double x, double y)
{
    return atan2(x * y, g * sqrt(g * g + x * x + y * y));
}

/* Returns the derivative of solid_angle() by g. */
static double solid_angle_slope(double g, double x, double y)
{
    const double x2 = g * g + x * x, y2 = g * g + y * y, r2 = x2 + y * y;

    return -x * y * (g * g + r2) / (x2 * y2 * sqrt(r2));
}

/* The height g and two weights: corner_at() returns value x solid_angle() + slope x
 * solid_angle_slope(). */
struct corner {
    double g, value, slope;
};

static double corner_at(struct corner corner, double x, double y)
{
    double sum = corner.value * solid_angle(corner.g, x, y);

    if (corner.slope != 0) sum += corner.slope * solid_angle_slope(corner.g, x, y);
    return sum;
}

/* Computes the kernel of the fibre. The profile falls to half where (1 + r^2/g^2)^(3/2) =
 * 2, so that g = fwhm/(2 sqrt(2^(2/3) - 1)). The integral over a pixel is the second
 * difference of solid_angle() over its corners. The solid angle is odd in x and in y, so
 * the integral over the whole square is four times the integral over a quadrant. */
static void fiber_kernel(struct psf *psf, double fwhm, enum content content)
{
    const double per_fwhm = 1 / (2 * sqrt(cbrt(4) - 1)), g = fwhm * per_fwhm;
    const double edge = psf->radius + 0.5, quadrant = solid_angle(g, edge, edge);
    const double scale = 1 / (4 * quadrant);
    const double scale_slope = -scale * solid_angle_slope(g, edge, edge) / quadrant;
    const struct corner corner = {g, content == VALUE ? scale : scale_slope * per_fwhm,
                                  content == VALUE ? 0 : scale * per_fwhm};
    double *previous = psf->line, *current = previous + psf->reach[1] + 1;

    for (int j = 0; j <= psf->reach[1]; j++) previous[j] = -corner_at(corner, 0.5, j + 0.5);
    for (int i = 0; i <= psf->reach[0]; i++) {
        double *swap = previous;

        for (int j = 0; j <= psf->reach[1]; j++)
            current[j] = corner_at(corner, i + 0.5, j + 0.5);
        set_symmetric(psf, i, 0, 2 * (current[0] - previous[0]));
        for (int j = 1; j <= psf->reach[1]; j++)
            set_symmetric(psf, i, j,
                          (current[j] - current[j - 1]) - (previous[j] - previous[j - 1]));
        previous = current;
        current = swap;
    }
}

/* Makes the transform of a kernel, unless `transfer` has it already. */
static void make_transfer(struct psf *psf, double fwhm, enum content content)
{
    const size_t n = (size_t)psf->pslow * psf->half;
    const double norm = 1 / ((double)psf->pslow * psf->pfast);

    if (psf->made_for == fwhm && psf->made_of == (int)content) return;
    memset(psf->work, 0, n * 2 * sizeof *psf->work);
    if (psf->kind == NB_PSF_GAUSS)
        gauss_kernel(psf, fwhm, content);
    else
        fiber_kernel(psf, fwhm, content);
    fftw_execute(psf->forward);
    for (size_t i = 0; i < n; i++) psf->transfer[i] = psf->work[2 * i] * norm;
    psf->made_for = fwhm;
    psf->made_of = (int)content;
}

/* Returns `panel` or, for NULL, an image of the size given to psf_create(). */
static struct psf_panel panel_or_image(const struct psf *psf, const struct psf_panel *panel)
{
    const struct psf_panel all = {psf->nslow, psf->nfast, 0, (size_t)psf->nfast, 0, 1};

    return panel ? *panel : all;
}

/* Convolves a panel with the kernel, or with its derivative by fwhm. The result is in
 * psf->work, in rows of 2 half numbers. */
static void convolve(struct psf *psf, const struct psf_panel *a, double fwhm,
                     enum content content, const double *image)
{
    const size_t row = psf->half * 2, n = (size_t)psf->pslow * psf->half;

    make_transfer(psf, fwhm, content);
    memset(psf->work, 0, n * 2 * sizeof *psf->work);
    for (size_t s = 0; s < (size_t)a->nslow; s++)
        memcpy(psf->work + s * row, image + a->first + s * a->stride,
               (size_t)a->nfast * sizeof *image);
    fftw_execute(psf->forward);
    for (size_t i = 0; i < n; i++) {
        psf->work[2 * i] *= psf->transfer[i];
        psf->work[2 * i + 1] *= psf->transfer[i];
    }
    fftw_execute(psf->backward);
}

/* The operation is linear, so that it also serves tangents and cotangents. The transforms
 * leave rounding errors of about 1e-16 of the maximum, of either sign, in dark pixels.
 * Negative pixels are not clipped at 0, because that would break the derivative. Counts and
 * noise read negative photons as 0. */
void psf_apply(struct psf *psf, const struct psf_panel *panel, double fwhm_pixels,
               double *image)
{
    const struct psf_panel a = panel_or_image(psf, panel);
    const size_t row = psf->half * 2;

    convolve(psf, &a, fwhm_pixels, VALUE, image);
    for (size_t s = 0; s < (size_t)a.nslow; s++)
        memcpy(image + a.first + s * a.stride, psf->work + s * row,
               (size_t)a.nfast * sizeof *image);
}

void psf_add_slope(struct psf *psf, const struct psf_panel *panel, double fwhm_pixels,
                   double factor, const double *photons, double *image)
{
    const struct psf_panel a = panel_or_image(psf, panel);
    const size_t row = psf->half * 2;

    convolve(psf, &a, fwhm_pixels, SLOPE, photons);
    for (size_t s = 0; s < (size_t)a.nslow; s++)
        for (size_t f = 0; f < (size_t)a.nfast; f++)
            image[a.first + s * a.stride + f] += factor * psf->work[s * row + f];
}

double psf_slope_dot(struct psf *psf, const struct psf_panel *panel, double fwhm_pixels,
                     const double *photons, const double *weight)
{
    const struct psf_panel a = panel_or_image(psf, panel);
    const size_t row = psf->half * 2;
    double sum = 0;

    convolve(psf, &a, fwhm_pixels, SLOPE, photons);
    for (size_t s = 0; s < (size_t)a.nslow; s++) {
        double line = 0;

        for (size_t f = 0; f < (size_t)a.nfast; f++)
            line += weight[a.first + s * a.stride + f] * psf->work[s * row + f];
        sum += line;
    }
    return sum;
}

#else

nb_status psf_create(nb_context *ctx, const nb_psf *psf, int nslow, int nfast,
                     struct psf **out)
{
    (void)psf;
    (void)nslow;
    (void)nfast;
    *out = NULL;
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "point spread: this build has no FFTW; install it (libfftw3-dev) and build "
                "again, or leave the point spread out");
}

/* Without FFTW no struct psf is made; the functions below only satisfy the linker. */
void psf_apply(struct psf *psf, const struct psf_panel *panel, double fwhm_pixels,
               double *image)
{
    (void)panel;
    (void)psf;
    (void)fwhm_pixels;
    (void)image;
}

void psf_add_slope(struct psf *psf, const struct psf_panel *panel, double fwhm_pixels,
                   double factor, const double *photons, double *image)
{
    (void)panel;
    (void)psf;
    (void)fwhm_pixels;
    (void)factor;
    (void)photons;
    (void)image;
}

double psf_slope_dot(struct psf *psf, const struct psf_panel *panel, double fwhm_pixels,
                     const double *photons, const double *weight)
{
    (void)panel;
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
