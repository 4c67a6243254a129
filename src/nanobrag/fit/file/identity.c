/*
 * fit/file/identity.c - numbers by which a shot is told from another: every member of its
 * resolved scene, its loss, its accuracy, and a checksum of each list and image. A file of
 * a fit holds them, so that a fit of something else is refused, with the name of what
 * differs.
 *
 * Numbers are compared to ten digits, since those that were computed, such as a cell from
 * vectors, may be rounded otherwise on another machine. So are checksums: a checksum is a
 * sum with a weight between 1 and 2 for each place, which changes little where numbers are
 * rounded otherwise, and by more where one is another number or two change places.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/io.h>

#include "base/array.h"
#include "base/context.h"
#include "fit/fit.h"

enum kind { REAL, WHOLE, WIDE };

struct row {
    const char *name;
    const char *parts; /* what the elements of a short list add to the name */
    enum kind kind;
    int n;
    size_t at; /* in nb_scene */
};

#define AT(member) offsetof(nb_scene, member)

static const struct row rows[] = {
    {"the width of the image", NULL, WHOLE, 1, AT(detector.nfast)},
    {"the height of the image", NULL, WHOLE, 1, AT(detector.nslow)},
    {"the pixel size", NULL, REAL, 1, AT(detector.pixel)},
    {"the distance", NULL, REAL, 1, AT(detector.distance)},
    {"the distance along the normal", NULL, REAL, 1, AT(detector.close_distance)},
    {"the kind of origin", NULL, WHOLE, 1, AT(detector.origin_kind)},
    {"the origin's ", "x y z", REAL, 3, AT(detector.origin)},
    {"the convention", NULL, WHOLE, 1, AT(detector.convention)},
    {"the pivot", NULL, WHOLE, 1, AT(detector.pivot)},
    {"the detector's rotation about ", "x y z", REAL, 3, AT(detector.rotation)},
    {"two theta", NULL, REAL, 1, AT(detector.twotheta)},
    {"the detector's vectors", NULL, REAL, 12, AT(detector.vectors)},
    {"the sensor's thickness", NULL, REAL, 1, AT(detector.thickness)},
    {"the sensor's attenuation", NULL, REAL, 1, AT(detector.attenuation)},
    {"the number of layers", NULL, WHOLE, 1, AT(detector.nlayers)},
    {"whether the detector is curved", NULL, WHOLE, 1, AT(detector.curved)},
    {"whether pixels are points", NULL, WHOLE, 1, AT(detector.point_pixel)},
    {"the region of interest", NULL, WHOLE, 4, AT(detector.roi)},
    {"cell_", "a b c alpha beta gamma", REAL, 6, AT(crystal.cell)},
    {"the crystal's matrix", NULL, REAL, 9, AT(crystal.matrix)},
    {"misset_", "x y z", REAL, 3, AT(crystal.misset)},
    {"the crystal's rotation about ", "x y z", REAL, 3, AT(crystal.rotation)},
    {"ncells_", "a b c", REAL, 3, AT(crystal.ncells)},
    {"ncells_", "ab ac bc", REAL, 3, AT(crystal.ncells_off)},
    {"the mosaic spread", NULL, REAL, 3, AT(crystal.mosaic)},
    {"the number of mosaic domains", NULL, WHOLE, 1, AT(crystal.ndomains)},
    {"the seed of the mosaic domains", NULL, WIDE, 1, AT(crystal.mosaic_seed)},
    {"the shape of the crystal", NULL, WHOLE, 1, AT(crystal.shape)},
    {"the crystal's fudge", NULL, REAL, 1, AT(crystal.fudge)},
    {"b_factor", NULL, REAL, 1, AT(crystal.b_factor)},
    {"scale", NULL, REAL, 1, AT(crystal.scale)},
    {"default_f", NULL, REAL, 1, AT(crystal.default_f)},
    {"the interpolation", NULL, WHOLE, 1, AT(crystal.interpolate)},
    {"the size of the crystal along ", "a b c", REAL, 3, AT(crystal.size)},
    {"the crystal system", NULL, WHOLE, 1, AT(crystal.system)},
    {"the wavelength", NULL, REAL, 1, AT(beam.wavelength)},
    {"the beam's ", "x y z", REAL, 3, AT(beam.direction)},
    {"the fluence", NULL, REAL, 1, AT(beam.fluence)},
    {"the flux", NULL, REAL, 1, AT(beam.flux)},
    {"the exposure", NULL, REAL, 1, AT(beam.exposure)},
    {"the size of the beam", NULL, REAL, 1, AT(beam.size)},
    {"the polarization", NULL, REAL, 1, AT(beam.polarization)},
    {"whether the beam is unpolarised", NULL, WHOLE, 1, AT(beam.unpolarised)},
    {"the polarization axis's ", "x y z", REAL, 3, AT(beam.polarization_axis)},
    {"the dispersion", NULL, REAL, 1, AT(beam.dispersion)},
    {"the number of wavelengths", NULL, WHOLE, 1, AT(beam.ndispersion)},
    {"the divergence, ", "horizontal vertical", REAL, 2, AT(beam.divergence)},
    {"the number of directions, ", "horizontal vertical", WHOLE, 2, AT(beam.ndivergence)},
    {"the divergence step, ", "horizontal vertical", REAL, 2, AT(beam.divergence_step)},
    {"whether the divergence is square", NULL, WHOLE, 1, AT(beam.square_divergence)},
    {"the number of sources", NULL, WHOLE, 1, AT(beam.nsource)},
    {"phi0", NULL, REAL, 1, AT(scan.phi0)},
    {"osc", NULL, REAL, 1, AT(scan.osc)},
    {"the spindle's ", "x y z", REAL, 3, AT(scan.axis)},
    {"the number of phi steps", NULL, WHOLE, 1, AT(scan.nphi)},
    {"the phi step", NULL, REAL, 1, AT(scan.step)},
    {"water", NULL, REAL, 1, AT(background.water)},
    {"the density of the background", NULL, REAL, 1, AT(background.density)},
    {"the molecular weight of the background", NULL, REAL, 1,
     AT(background.molecular_weight)},
    {"the oversampling", NULL, WHOLE, 1, AT(oversample)},
    {"the oversampling of ", "layers", WHOLE, 1, AT(oversample_thick)},
    {"the oversampling of ", "polarization", WHOLE, 1, AT(oversample_polar)},
    {"the oversampling of ", "solid angle", WHOLE, 1, AT(oversample_omega)},
    {"dmin", NULL, REAL, 1, AT(dmin)},
    {"the set of quirks", NULL, WIDE, 1, AT(quirks)},
    {"the kind of point spread", NULL, WHOLE, 1, AT(psf.kind)},
    {"the width of the point spread", NULL, REAL, 1, AT(psf.fwhm)},
    {"the radius of the point spread", NULL, WHOLE, 1, AT(psf.radius)},
};

/* And what is no number of a scene. */
static const char *const others[] = {
    "the seed of the misset",
    "the precision",
    "the tolerance",
    "the loss",
    "the read-out noise",
    "the gain",
    "the delta of the loss",
    "the saturation",
    "the background of the loss",
};
static const char *const checksums[] = {
    "the observed image",  "the weight of pixels",          "the mask",
    "the list of boxes",   "the list of structure factors", "the point group",
    "the list of sources", "the list of domain weights",    "the table of the background",
    "the panels",
};

enum {
    NROWS = sizeof rows / sizeof *rows,
    NOTHERS = sizeof others / sizeof *others,
    NCHECKSUMS = sizeof checksums / sizeof *checksums
};

static size_t nscene(void)
{
    size_t n = 0;

    for (int i = 0; i < NROWS; i++) n += (size_t)rows[i].n;
    return n;
}

size_t identity_count(void)
{
    return nscene() + NOTHERS + NCHECKSUMS;
}

/* ---- names ---- */

/* Writes the name of a row with that of one of its elements, a word of `parts`. */
static void name_element(const struct row *row, int element, char *out, size_t size)
{
    const char *word = row->parts ? row->parts : "";
    size_t length = strlen(word);

    if (row->n > 1)
        for (int i = 0; *word; i++, word += length + (word[length] == ' ')) {
            length = strcspn(word, " ");
            if (i == element) break;
        }
    (void)snprintf(out, size, "%s%.*s", row->name, (int)length, word);
}

static void name_number(size_t i, char *out, size_t size)
{
    const size_t rest = i - nscene();

    for (int k = 0; k < NROWS && i < nscene(); k++) {
        if (i < (size_t)rows[k].n) {
            name_element(rows + k, (int)i, out, size);
            return;
        }
        i -= (size_t)rows[k].n;
    }
    (void)snprintf(out, size, "%s",
                   rest < NOTHERS ? others[rest] : checksums[rest - NOTHERS]);
}

/* ---- checksums ---- */

/* A number between 1 and 2 for each place: splitmix64 by Steele, Lea & Flood (OOPSLA 2014).
 */
static double weight_of(uint64_t place)
{
    uint64_t z = (place + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return 1 + (double)(z >> 11) * 0x1p-53;
}

static double sum_of_image(const nb_array *image)
{
    double sum = 0;

    if (!errors_can_read(image)) return 0;
    for (int64_t s = 0; s < array_extent(image, 0); s++)
        for (int64_t f = 0; f < array_extent(image, 1); f++) {
            const double v = array_get(image, s, f);

            if (isfinite(v))
                sum += weight_of((uint64_t)(s * array_extent(image, 1) + f)) * v;
        }
    return sum;
}

static double sum_of_reals(const double *list, size_t n)
{
    double sum = 0;

    for (size_t i = 0; list && i < n; i++) sum += weight_of(i) * list[i];
    return sum;
}

static double sum_of_bytes(const void *list, size_t n)
{
    const unsigned char *bytes = list;
    double sum = 0;

    for (size_t i = 0; bytes && i < n; i++) sum += weight_of(i) * (bytes[i] + 1);
    return sum;
}

static double sum_of_boxes(const nb_detector *d)
{
    double sum = (double)d->nbox;

    for (size_t i = 0; i < 4 * d->nbox; i++) sum += weight_of(i) * d->box[i];
    return sum;
}

/* Returns a sum over the place and the moves of a panel or group, from number `n` on. */
static double sum_of_frame(uint64_t n, const double *origin, const double *fast,
                           const double *slow, const double *shift, const double *rotation)
{
    const double *const vectors[] = {origin, fast, slow, shift, rotation};
    double sum = 0;

    for (size_t i = 0; i < 15; i++) sum += weight_of(n + i) * vectors[i / 3][i % 3];
    return sum;
}

static double sum_of_panels(const nb_detector *d)
{
    enum { NUMBERS = 32 }; /* of each, room for more */
    double sum = d->npanel + 0.5 * d->ngroup;

    for (int i = 0; i < d->npanel; i++) {
        const nb_panel *p = d->panel + i;
        const uint64_t n = NUMBERS * (uint64_t)i;
        const double size[] = {p->nslow, p->nfast, p->slow0, p->fast0, p->group, p->pixel};

        sum += sum_of_frame(n, p->origin, p->fast, p->slow, p->shift, p->rotation);
        for (size_t k = 0; k < 6; k++) sum += weight_of(n + 15 + k) * size[k];
    }
    for (int i = 0; i < d->ngroup; i++) {
        const nb_panel_group *g = d->group + i;
        const uint64_t n = NUMBERS * ((uint64_t)d->npanel + (uint64_t)i);

        sum += sum_of_frame(n, g->origin, g->fast, g->slow, g->shift, g->rotation)
               + weight_of(n + 15) * g->parent;
    }
    return sum;
}

static double sum_of_sources(const nb_beam *beam)
{
    double sum = 0;

    for (int i = 0; beam->source && i < beam->nsource; i++) {
        const nb_source *s = beam->source + i;
        const double numbers[] = {s->direction[0], s->direction[1], s->direction[2],
                                  s->wavelength, s->weight};

        for (size_t k = 0; k < 5; k++) sum += weight_of(5 * (uint64_t)i + k) * numbers[k];
    }
    return sum;
}

/* Of structure factors the place is h k l, so that their order does not matter. */
static nb_status sum_of_factors(nb_fit *fit, const nb_hkl *list, double *out)
{
    const size_t n = list ? nb_hkl_reflections(list, NULL, NULL) : 0;
    int *hkl = malloc((3 * n + 1) * sizeof *hkl);
    double *f = malloc((n + 1) * sizeof *f);

    *out = 0;
    if (hkl && f && n > 0) {
        (void)nb_hkl_reflections(list, hkl, f);
        for (size_t i = 0; i < n; i++) {
            const int *h = hkl + 3 * i;
            const uint64_t place = (uint64_t)((int64_t)h[0] * 4000037 + h[1]);

            *out += weight_of(place * 4000037 + (uint64_t)(int64_t)h[2]) * (f[i] + 1);
        }
    }
    free(hkl);
    free(f);
    return hkl && f ? NB_OK : fail_memory(fit->ctx, "the structure factors of a shot");
}

/* ---- numbers ---- */

static double number_of(const nb_scene *scene, const struct row *row, int element)
{
    const char *at = (const char *)scene + row->at;

    if (row->kind == REAL) return ((const double *)(const void *)at)[element];
    if (row->kind == WIDE) return (double)((const int64_t *)(const void *)at)[element];
    return ((const int *)(const void *)at)[element];
}

static void take_others(const nb_shot *shot, const nb_crystal *crystal, double *out)
{
    const nb_options how = shot->options ? *shot->options : (nb_options){0};
    const nb_target *t = &shot->target;
    const double numbers[NOTHERS] = {
        /* without a random misset, its seed may be anything */
        crystal->random_misset ? (double)crystal->misset_seed : 0,
        how.precision,
        how.tolerance,
        t->kind,
        t->sigma_readout,
        t->gain,
        t->delta,
        t->saturation,
        t->background,
    };

    memcpy(out, numbers, sizeof numbers);
}

nb_status identity_take(nb_fit *fit, nb_simulator *sim, const nb_shot *shot, double *out)
{
    const nb_target *t = &shot->target;
    const char *group;
    double factors;
    nb_scene s;
    size_t n = 0;

    NB_TRY(nb_resolved(sim, NULL, &s));
    NB_TRY(sum_of_factors(fit, s.crystal.hkl, &factors));
    group = s.crystal.point_group;
    for (int i = 0; i < NROWS; i++)
        for (int k = 0; k < rows[i].n; k++) out[n++] = number_of(&s, rows + i, k);
    take_others(shot, &s.crystal, out + n);
    n += NOTHERS;
    out[n++] = fit->is_expected ? 0 : sum_of_image(t->observed);
    out[n++] = sum_of_image(t->weight);
    out[n++] =
        sum_of_bytes(s.detector.mask, (size_t)s.detector.nslow * (size_t)s.detector.nfast);
    out[n++] = sum_of_boxes(&s.detector);
    out[n++] = factors;
    out[n++] = group ? sum_of_bytes(group, strlen(group)) : 0;
    out[n++] = sum_of_sources(&s.beam);
    out[n++] = sum_of_reals(s.crystal.domain_weight, (size_t)s.crystal.ndomains);
    out[n++] = sum_of_reals(s.background.stol, 2 * s.background.nstol);
    out[n++] = sum_of_panels(&s.detector);
    return NB_OK;
}

/* ---- comparison ---- */

int identity_same(double a, double b)
{
    if (!isfinite(a) || !isfinite(b)) return isfinite(a) == isfinite(b);
    return fabs(a - b) <= 1e-10 * fmax(fabs(a), fabs(b)) + 1e-12;
}

int identity_differs(const double *there, const double *here, char *what, size_t size)
{
    const size_t n = identity_count();
    char name[80];
    size_t i = 0;

    while (i < n && identity_same(there[i], here[i])) i++;
    if (i == n) return 0;
    name_number(i, name, sizeof name);
    if (i >= nscene() + NOTHERS)
        (void)snprintf(what, size, "%s is another one", name);
    else
        (void)snprintf(what, size, "%s is %.10g there and %.10g here", name, there[i],
                       here[i]);
    return 1;
}
