/*
 * ewald.c - finds reflections near the Ewald sphere. A reflection q scatters where |q + k|
 * = |k|, that is where T(q) = q^2 + 2 q.k is 0. Within a radius r of the sphere |T| <= r (2
 * |k| + r). All bounds in this file are generous: a candidate too many costs only a
 * comparison.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernels/spots/ewald.h"

#include <math.h>
#include <string.h>

/* Returns row i of a 3 x 3 matrix. */
static const double *row_of(const double *rows, int i)
{
    return rows + (size_t)3 * (size_t)i;
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross_product(const double *a, const double *b, double *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

double ewald_stars(const double *axes, double *stars)
{
    double volume;

    cross_product(axes + 3, axes + 6, stars);
    cross_product(axes + 6, axes, stars + 3);
    cross_product(axes, axes + 3, stars + 6);
    volume = dot(axes, stars);
    for (int i = 0; i < 9; i++) stars[i] /= volume;
    return fabs(volume);
}

/* ---- how far a spot reaches ---- */

/* Returns the length of the longest vector q with |h| <= reach[0], |k| <= reach[1],
 * |l| <= reach[2]. */
static double farthest_corner(const double *stars, const double reach[3])
{
    double most = 0;

    for (int corner = 0; corner < 4; corner++) {
        const double s = corner & 1 ? -1 : 1, t = corner & 2 ? -1 : 1;
        double v[3];

        for (int i = 0; i < 3; i++)
            v[i] = reach[0] * stars[i] + s * reach[1] * stars[3 + i]
                   + t * reach[2] * stars[6 + i];
        most = fmax(most, sqrt(dot(v, v)));
    }
    return most;
}

/* Returns the smallest rho^2 of a unit vector in reciprocal space: the least eigenvalue of
 * the metric, from its characteristic polynomial (Smith, Comm. ACM 4, 1961, 168). */
static double least_rho2(const struct phys_frame *frame, const double *axes)
{
    const double *g = frame->metric; /* hh kk ll hk hl kl; the last three count twice */
    const double form[3][3] = {{g[0], g[3] / 2, g[4] / 2},
                               {g[3] / 2, g[1], g[5] / 2},
                               {g[4] / 2, g[5] / 2, g[2]}};
    double m[3][3] = {{0}}, mean, off, p, det, angle;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++)
                    m[i][j] += axes[3 * a + i] * form[a][b] * axes[3 * b + j];
    mean = (m[0][0] + m[1][1] + m[2][2]) / 3;
    off = m[0][1] * m[0][1] + m[0][2] * m[0][2] + m[1][2] * m[1][2];
    for (int i = 0; i < 3; i++) m[i][i] -= mean;
    p = sqrt((m[0][0] * m[0][0] + m[1][1] * m[1][1] + m[2][2] * m[2][2] + 2 * off) / 6);
    if (p <= 1e-14 * mean) return mean;
    det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
          - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
          + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
    angle = acos(fmax(-1, fmin(1, det / (2 * p * p * p)))) / 3;
    return mean + 2 * p * cos(angle + 2 * M_PI / 3);
}

/* Returns the rho^2 beyond which the square of a profile stays below a share of its
 * peak. */
static double rho2_of(const struct phys_frame *frame, int shape, double share)
{
    if (shape == PHYS_TOPHAT) return 0.3969 / frame->fudge;
    if (shape == PHYS_GAUSS) return -0.63 * log(share) / (2 * frame->fudge);
    /* |3 (sin x - x cos x)/x^3| <= 6/x^2 with x^2 = pi^2 fudge rho^2; 4.35 = 0.7236 times
     * 6 */
    return 4.35 / sqrt(share) / (M_PI * M_PI * frame->fudge);
}

double ewald_radius(const struct phys_frame *frame, struct phys_spec spec, double share)
{
    const double *axes = frame->orientation[0].axes;
    double reach[3] = {0.5, 0.5, 0.5}, stars[9], most, least, radius;

    (void)ewald_stars(axes, stars);
    /* beyond half an index a sample belongs to another reflection */
    most = farthest_corner(stars, reach) * (1 + 1e-9);
    if (spec.shape == PHYS_SQUARE) {
        for (int i = 0; i < 3; i++) {
            const double sine = 1 / (frame->ncells[i] * sqrt(share));

            if (sine < 1) reach[i] = asin(sine) / M_PI;
        }
        return fmin(most, farthest_corner(stars, reach) * (1 + 1e-9));
    }
    least = least_rho2(frame, axes);
    if (!(frame->fudge > 0) || !(least > 0)) return most;
    radius = sqrt(rho2_of(frame, spec.shape, share) / least) * (1 + 1e-9);
    return radius < most ? radius : most;
}

double ewald_widest(const struct phys_frame *frame, double radius)
{
    const double *axes = frame->orientation[0].axes;
    double longest = 0;

    for (int i = 0; i < 3; i++)
        longest = fmax(longest, sqrt(dot(row_of(axes, i), row_of(axes, i))));
    return radius * longest;
}

/* ---- the detector ---- */

enum { CORNERS = 8 };

/* Computes the unit vector to one of the eight corners of the sensor's front and back. */
static void corner_of(const struct phys_frame *frame, int corner, double *d)
{
    const double f = (corner & 1) * frame->nfast * frame->pixel;
    const double s = (corner >> 1 & 1) * frame->nslow * frame->pixel;
    const double depth =
        frame->layer_offset + (corner >> 2) * frame->nlayers * frame->layer_step;
    double length;

    for (int i = 0; i < 3; i++)
        d[i] = frame->pix0[i] + f * frame->fast[i] + s * frame->slow[i]
               + depth * frame->normal[i];
    length = sqrt(dot(d, d));
    for (int i = 0; i < 3; i++) d[i] /= length;
}

/* Computes the cone around the mean direction of the corners that contains all corners. A
 * cone narrower than a half-space is convex, so it also contains the detector. A wider one
 * is replaced by all directions. */
static void set_cone(struct ewald *e, const struct phys_frame *frames, int panels)
{
    double corner[3], least = 1, length;

    for (int i = 0; i < 3; i++) e->towards[i] = 0;
    for (int c = 0; c < CORNERS * panels; c++) {
        corner_of(frames + c / CORNERS, c % CORNERS, corner);
        for (int i = 0; i < 3; i++) e->towards[i] += corner[i];
    }
    length = sqrt(dot(e->towards, e->towards));
    for (int i = 0; i < 3 && length > 0; i++) e->towards[i] /= length;
    for (int c = 0; c < CORNERS * panels; c++) {
        corner_of(frames + c / CORNERS, c % CORNERS, corner);
        least = fmin(least, dot(corner, e->towards));
    }
    e->cone = least > 0.01 ? acos(fmin(1, least)) + 1e-6 : M_PI;
    e->everywhere = e->cone >= M_PI;
    e->cosine = cos(e->cone);
    e->sine = sin(e->cone);
}

/* Returns rho^2 of a profile at the radius of a spot, or 0 if the radius exceeds half an
 * index. */
static double narrow_rho2(const struct phys_frame *frame, struct phys_spec spec,
                          double radius)
{
    if (spec.shape == PHYS_SQUARE || !(ewald_widest(frame, radius) < 0.499)) return 0;
    return radius * radius * least_rho2(frame, frame->orientation[0].axes);
}

/* Fills in the detector of a group from a frame, of one panel or of the whole detector. */
static void set_panel(struct ewald *e, const struct phys_frame *frame)
{
    e->panels = 1;
    e->front = phys_detector_plane(frame, frame->layer_offset);
    e->back = phys_detector_plane(frame, frame->layer_offset
                                             + (frame->nlayers - 1) * frame->layer_step);
    e->rows = (double)frame->nslow * frame->oversample;
    e->columns = (double)frame->nfast * frame->oversample;
    set_cone(e, frame, 1);
}

struct ewald ewald_of(const struct phys_frame *frames, int panels, struct phys_spec spec,
                      double radius)
{
    struct ewald e;

    memset(&e, 0, sizeof e);
    e.radius = radius;
    e.rho2 = narrow_rho2(frames, spec, radius);
    if (panels == 1) {
        set_panel(&e, frames);
        return e;
    }
    e.panels = panels;
    set_cone(&e, frames, panels);
    return e;
}

struct ewald ewald_of_panel(const struct ewald *group, const struct phys_frame *frame)
{
    struct ewald e = *group;

    set_panel(&e, frame);
    return e;
}

/* ---- sources ---- */

/* Returns the chord between two unit vectors in place of their angle. The chord is never
 * shorter than half of the angle. */
static double chord(const double *a, const double *b)
{
    const double off[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};

    return sqrt(dot(off, off));
}

static int count_sources(const struct phys_frame *frame, int first, double rotation)
{
    const struct phys_source *source = frame->source + first;
    int n = 1;

    while (first + n < frame->nsource
           && chord(source->direction, source[n].direction) <= rotation
           && fabs(source[n].inverse_wavelength / source->inverse_wavelength - 1)
                  <= rotation)
        n++;
    return n;
}

/* Returns the largest |q| over all directions in the detector's cone, 1/A. */
static double largest_q(const struct ewald *e, const double *incident)
{
    const double wave = e->wave + e->spread;
    const double away = acos(fmax(-1, fmin(1, dot(e->towards, incident))));
    const double angle = away + e->cone + 2 * e->tilt;

    return angle < M_PI ? 2 * wave * sin(angle / 2) : 2 * wave;
}

int ewald_sources(struct ewald *e, const struct phys_frame *frame, int first,
                  double rotation)
{
    const struct phys_source *source = frame->source + first;
    const int n = count_sources(frame, first, rotation);
    double mean[3] = {0}, length;

    e->wave = e->tilt = e->spread = e->shift = 0;
    for (int s = 0; s < n; s++) {
        for (int i = 0; i < 3; i++) mean[i] += source[s].direction[i];
        e->wave += source[s].inverse_wavelength / n;
    }
    length = sqrt(dot(mean, mean));
    for (int i = 0; i < 3; i++) {
        mean[i] /= length;
        e->k[i] = e->wave * mean[i];
    }
    for (int s = 0; s < n; s++) {
        double off[3];

        for (int i = 0; i < 3; i++)
            off[i] = source[s].inverse_wavelength * source[s].direction[i] - e->k[i];
        e->tilt = fmax(e->tilt, chord(source[s].direction, mean));
        e->shift = fmax(e->shift, sqrt(dot(off, off)));
        e->spread = fmax(e->spread, fabs(source[s].inverse_wavelength - e->wave));
    }
    e->qmax = largest_q(e, mean) * (1 + 1e-9) + e->radius;
    return n;
}

/* ---- orientations ---- */

/* Returns the chord, instead of the angle, of the rotation between two orientations. */
static double rotation_between(const double *stars, const double *axes)
{
    double trace = 0; /* trace of the rotation matrix, the sum of a.a* over the axes */

    for (int i = 0; i < 9; i++) trace += stars[i] * axes[i];
    return sqrt(fmax(0, 3 - trace));
}

/* Computes the range of one Miller index, a.q for an axis a of the cell. Here q = w s - k,
 * where s is any direction in the detector's cone and w any wave number of the group of
 * sources. The radius of a spot and the spread of sources and orientations in their groups
 * widen the range. */
static void index_limits(struct ewald *e, const double *axis, double *low, double *high)
{
    const double edge = sqrt(dot(axis, axis));
    const double angle = acos(fmax(-1, fmin(1, dot(axis, e->towards) / edge)));
    const double most = edge * cos(fmax(0, angle - e->cone));
    const double least = edge * cos(fmin(M_PI, angle + e->cone));
    const double wave = e->wave + e->spread, less = e->wave - e->spread;
    const double off =
        edge * (e->radius + e->qmax * e->rotation + e->shift + 1e-9 * wave) + 1e-9;
    const double all = floor(e->qmax * edge) + 1;

    *low = ceil(fmin(least * wave, least * less) - dot(axis, e->k) - off);
    *high = floor(fmax(most * wave, most * less) - dot(axis, e->k) + off);
    *low = fmax(*low, -all);
    *high = fmin(*high, all);
}

int ewald_orientations(struct ewald *e, const struct phys_frame *frame, int first, int most,
                       double rotation)
{
    const double *axes = frame->orientation[first].axes;
    int n = 1;

    (void)ewald_stars(axes, e->stars);
    e->rotation = 0;
    while (n < most && first + n < frame->norientation) {
        const double by = rotation_between(e->stars, frame->orientation[first + n].axes);

        if (by > rotation) break;
        e->rotation = fmax(e->rotation, by + 1e-7);
        n++;
    }
    e->skew = 0;
    for (int i = 0; i < 3; i++) {
        const double *axis = row_of(axes, i), *star = row_of(e->stars, i);

        index_limits(e, axis, e->low + i, e->high + i);
        e->skew += sqrt(dot(axis, axis) * dot(star, star));
    }
    return n;
}

/* ---- candidates ---- */

/* Returns an upper bound of |T| (see the head of the file) over all reflections of length q
 * that some pair of the group brings within the radius of the Ewald sphere. */
static double largest_offset(const struct ewald *e, double q)
{
    const double wave = e->wave + e->spread;
    const double near = e->radius * (2 * wave + e->radius);
    const double by_rotation = 2 * q * wave * (e->rotation + e->tilt);
    /* A wave vector longer by dk changes T by 2 q.k dk/k; near the sphere 2 q.k is about
     * -q^2. */
    const double stretched =
        (q * q + near + by_rotation) * e->spread / fmax(e->wave - e->spread, 1e-300);

    return near + by_rotation + stretched + 1e-9 * (q * q + q * wave);
}

/* Returns the ray of a reflection q (struct ewald_ray); `length` is |q|. */
static struct ewald_ray ray_of(const struct ewald *e, const double q[3], double length)
{
    struct ewald_ray ray;
    double beyond;

    for (int i = 0; i < 3; i++) ray.v[i] = q[i] + e->k[i];
    ray.off = e->radius + length * e->rotation + e->shift;
    beyond = dot(ray.v, ray.v) - ray.off * ray.off;
    ray.tangent = beyond > 0 ? sqrt(beyond) : -1;
    return ray;
}

int ewald_reaches(const struct ewald *e, const struct ewald_ray *ray, struct candidate *c)
{
    const struct phys_wide3 v = phys_wide3(ray->v[0], ray->v[1], ray->v[2]);
    const double off = ray->off;
    const double n = phys_wide_dot(v, e->front.normal);
    double low = 1e9, high = -1e9, left = 1e9, right = -1e9;

    if (n <= -off) return 0;
    if (n <= off) { /* some directions of the ray miss the plane */
        c->low = -1;
        c->high = (float)(e->rows + 1);
        return 1;
    }
    for (int layer = 0; layer < 2; layer++) {
        const struct phys_detector_plane *plane = layer ? &e->back : &e->front;
        const struct phys_range s =
            phys_detector_plane_range(plane, &plane->slow, v, 1 / n, off);
        const struct phys_range f =
            phys_detector_plane_range(plane, &plane->fast, v, 1 / n, off);

        low = fmin(low, s.low), high = fmax(high, s.high);
        left = fmin(left, f.low), right = fmax(right, f.high);
    }
    /* c->low and c->high are floats of seven digits; half a row covers their rounding */
    c->low = (float)(fmax(low, -1) - 0.5);
    c->high = (float)(fmin(high, e->rows + 1) + 0.5);
    return high >= 0 && low <= e->rows && right >= 0 && left <= e->columns;
}

/* The whole numbers first .. last, stored as doubles: a range of the index l. */
struct l_range {
    double first, last;
};

static size_t length_of(struct l_range run)
{
    return run.last >= run.first ? (size_t)(run.last - run.first) + 1 : 0;
}

/* Sets *low and *high to the range of l with a l^2 + 2 b l + c <= value. Returns 0 if there
 * is no such l. */
static int solve_at_most(double a, double b, double c, double value, double *low,
                         double *high)
{
    const double inside = b * b - a * (c - value);
    const double root = sqrt(inside > 0 ? inside : 0);

    *low = (-b - root) / a;
    *high = (-b + root) / a;
    return inside >= 0;
}

/* Finds the one or two ranges of l in row (h, k) where |T| is at most `most`, and returns
 * their number. T is a parabola in l. If the row passes deep inside the sphere, T falls
 * below -most, which cuts the range in two. */
static int l_ranges_of(const struct ewald *e, double h, double k, double most,
                       struct l_range runs[2])
{
    const double *star = e->stars + 6;
    double p[3], a, b, c, low, high, from, to;

    for (int i = 0; i < 3; i++) p[i] = h * e->stars[i] + k * e->stars[3 + i];
    a = dot(star, star);
    b = dot(star, p) + dot(star, e->k);
    c = dot(p, p) + 2 * dot(p, e->k);
    if (!solve_at_most(a, b, c, most, &low, &high)) return 0;
    runs[0].first = ceil(low) > e->low[2] ? ceil(low) : e->low[2];
    runs[0].last = floor(high) < e->high[2] ? floor(high) : e->high[2];
    if (!solve_at_most(a, b, c, -most, &from, &to)) return 1;
    runs[1] = runs[0];
    if (floor(from) < runs[0].last) runs[0].last = floor(from);
    if (ceil(to) > runs[1].first) runs[1].first = ceil(to);
    if (runs[1].first <= runs[0].last) runs[1].first = runs[0].last + 1;
    return 2;
}

/* Writes the candidates h, k, l of a range of l to `out` and returns their number. */
static size_t list_range(const struct ewald *e, double h, double k, struct l_range run,
                         struct candidate *out)
{
    const size_t count = length_of(run);
    size_t n = 0;

    for (size_t j = 0; j < count; j++) {
        const double l = run.first + (double)j;
        struct candidate c = {(float)h, (float)k, (float)l, 0, 0};
        struct ewald_ray ray;
        double q[3], q2, length;

        for (int i = 0; i < 3; i++)
            q[i] = h * e->stars[i] + k * e->stars[3 + i] + l * e->stars[6 + i];
        q2 = dot(q, q);
        length = sqrt(q2);
        if (length > e->qmax) continue;
        if (fabs(q2 + 2 * dot(q, e->k)) > largest_offset(e, length)) continue;
        ray = ray_of(e, q, length);
        if (e->panels > 1 ? ewald_is_towards(e, &ray) : ewald_reaches(e, &ray, &c))
            out[n++] = c;
    }
    return n;
}

struct ewald_ray ewald_ray_of(const struct ewald *e, const struct candidate *c)
{
    double q[3];

    for (int i = 0; i < 3; i++)
        q[i] = (double)c->h * e->stars[i] + (double)c->k * e->stars[3 + i]
               + (double)c->l * e->stars[6 + i];
    return ray_of(e, q, sqrt(dot(q, q)));
}

double ewald_rows(const struct ewald *e)
{
    return fmax(0, e->high[0] - e->low[0] + 1) * fmax(0, e->high[1] - e->low[1] + 1);
}

double ewald_hits(const struct ewald *e, double radius)
{
    const double *s = e->stars;
    double cross[3], volume;

    cross_product(s + 3, s + 6, cross);
    volume = fabs(dot(s, cross)); /* volume of the reciprocal cell */
    /* a rectangle fills at most 2/pi of the circle around it, so the detector fills at most
     * 2/pi of the cone */
    return 4 * (1 - cos(e->cone)) * e->wave * e->wave * 2 * radius / volume;
}

/* Writes the candidates with index h to `out` and returns their number. If `out` is NULL,
 * it returns an upper bound of their number instead. */
static size_t list_layer(const struct ewald *e, double h, struct candidate *out)
{
    const double most = largest_offset(e, e->qmax);
    size_t n = 0;

    for (int i = 0; e->low[1] + i <= e->high[1]; i++) {
        const double k = e->low[1] + i;
        struct l_range runs[2];
        const int count = l_ranges_of(e, h, k, most, runs);

        for (int j = 0; j < count; j++)
            n += out ? list_range(e, h, k, runs[j], out + n) : length_of(runs[j]);
    }
    return n;
}

size_t ewald_most_in_layer(const struct ewald *e, double h)
{
    return list_layer(e, h, NULL);
}

size_t ewald_list_layer(const struct ewald *e, double h, struct candidate *out)
{
    return list_layer(e, h, out);
}
