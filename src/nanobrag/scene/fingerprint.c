/*
 * fingerprint.c - see fingerprint.h. SPDX-License-Identifier: MIT
 */
#include "scene/fingerprint.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/io.h>

#include "base/context.h"

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
    {"the wavelength of the attenuation", NULL, REAL, 1,
     AT(detector.attenuation_wavelength)},
    {"the sensor's material", NULL, WHOLE, 1, AT(detector.material)},
    {"the number of layers", NULL, WHOLE, 1, AT(detector.nlayers)},
    {"the cosine of the layers", NULL, REAL, 1, AT(detector.layer_cosine)},
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
    {"the spread's element ", "ab ac bc", REAL, 3, AT(crystal.mosaic_off)},
    {"the mosaic model", NULL, WHOLE, 1, AT(crystal.mosaic_model)},
    {"the share of the mosaic's tail", NULL, REAL, 1, AT(crystal.mosaic_tail)},
    {"the width of the mosaic's tail", NULL, REAL, 1, AT(crystal.mosaic_tail_width)},
    {"the strain", NULL, REAL, 1, AT(crystal.strain)},
    {"the illuminated size of the crystal", NULL, REAL, 1, AT(crystal.crystal_size)},
    {"the number of mosaic domains", NULL, WHOLE, 1, AT(crystal.ndomains)},
    {"the seed of the mosaic domains", NULL, WIDE, 1, AT(crystal.mosaic_seed)},
    {"the shape of the crystal", NULL, WHOLE, 1, AT(crystal.shape)},
    {"the crystal's fudge", NULL, REAL, 1, AT(crystal.fudge)},
    {"whether spots are normalised", NULL, WHOLE, 1, AT(crystal.normalise)},
    {"b_factor", NULL, REAL, 1, AT(crystal.b_factor)},
    {"scale", NULL, REAL, 1, AT(crystal.scale)},
    {"default_f", NULL, REAL, 1, AT(crystal.default_f)},
    {"the interpolation", NULL, WHOLE, 1, AT(crystal.interpolate)},
    {"the size of the crystal along ", "a b c", REAL, 3, AT(crystal.size)},
    {"the number of further lattices", NULL, WHOLE, 1, AT(crystal.nlattice)},
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
    {"the drift about ", "x y z", REAL, 3, AT(scan.drift)},
    {"the phi without drift", NULL, REAL, 1, AT(scan.drift_phi)},
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

static const char *const checksums[] = {
    "the mask",
    "the list of boxes",
    "the list of structure factors",
    "the point group",
    "the list of sources",
    "the list of domain weights",
    "the table of the background",
    "the panels",
    "the further lattices",
};

enum { NROWS = sizeof rows / sizeof *rows };
_Static_assert(sizeof checksums / sizeof *checksums == FINGERPRINT_SUMS, "a name each");

size_t fingerprint_numbers(void)
{
    size_t n = 0;

    for (int i = 0; i < NROWS; i++) n += (size_t)rows[i].n;
    return n;
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

void fingerprint_name(size_t i, char *out, size_t size)
{
    const size_t n = fingerprint_numbers();

    for (int k = 0; k < NROWS && i < n; k++) {
        if (i < (size_t)rows[k].n) {
            name_element(rows + k, (int)i, out, size);
            return;
        }
        i -= (size_t)rows[k].n;
    }
    (void)snprintf(out, size, "%s", checksums[i - n]);
}

/* ---- checksums ---- */

/* A number between 1 and 2 for each place: splitmix64 by Steele, Lea & Flood (OOPSLA 2014).
 */
double fingerprint_weight(uint64_t place)
{
    uint64_t z = (place + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return 1 + (double)(z >> 11) * 0x1p-53;
}

double fingerprint_sum(const double *list, size_t n)
{
    double sum = 0;

    for (size_t i = 0; list && i < n; i++) sum += fingerprint_weight(i) * list[i];
    return sum;
}

static double sum_of_bytes(const void *list, size_t n)
{
    const unsigned char *bytes = list;
    double sum = 0;

    for (size_t i = 0; bytes && i < n; i++) sum += fingerprint_weight(i) * (bytes[i] + 1);
    return sum;
}

static double sum_of_boxes(const nb_detector *d)
{
    double sum = (double)d->nbox;

    for (size_t i = 0; i < 4 * d->nbox; i++) sum += fingerprint_weight(i) * d->box[i];
    return sum;
}

/* Returns a sum over the place and the moves of a panel or group, from number `n` on. */
static double sum_of_frame(uint64_t n, const double *origin, const double *fast,
                           const double *slow, const double *shift, const double *rotation)
{
    const double *const vectors[] = {origin, fast, slow, shift, rotation};
    double sum = 0;

    for (size_t i = 0; i < 15; i++)
        sum += fingerprint_weight(n + i) * vectors[i / 3][i % 3];
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
        for (size_t k = 0; k < 6; k++) sum += fingerprint_weight(n + 15 + k) * size[k];
    }
    for (int i = 0; i < d->ngroup; i++) {
        const nb_panel_group *g = d->group + i;
        const uint64_t n = NUMBERS * ((uint64_t)d->npanel + (uint64_t)i);

        sum += sum_of_frame(n, g->origin, g->fast, g->slow, g->shift, g->rotation)
               + fingerprint_weight(n + 15) * g->parent;
    }
    return sum;
}

static double sum_of_lattices(const nb_crystal *crystal)
{
    enum { NUMBERS = sizeof(nb_lattice) / sizeof(double) };
    double sum = 0;

    for (int i = 0; crystal->lattice && i < crystal->nlattice; i++) {
        const double *numbers = (const double *)(const void *)(crystal->lattice + i);

        for (uint64_t k = 0; k < NUMBERS; k++)
            sum += fingerprint_weight(NUMBERS * (uint64_t)i + k) * numbers[k];
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

        for (size_t k = 0; k < 5; k++)
            sum += fingerprint_weight(5 * (uint64_t)i + k) * numbers[k];
    }
    return sum;
}

/* Of structure factors the place is h k l, so that their order does not matter. */
static nb_status sum_of_factors(nb_context *ctx, const nb_hkl *list, double *out)
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

            *out +=
                fingerprint_weight(place * 4000037 + (uint64_t)(int64_t)h[2]) * (f[i] + 1);
        }
    }
    free(hkl);
    free(f);
    return hkl && f ? NB_OK : fail_memory(ctx, "the structure factors of a scene");
}

/* ---- all of it ---- */

static double number_of(const nb_scene *scene, const struct row *row, int element)
{
    const char *at = (const char *)scene + row->at;

    if (row->kind == REAL) return ((const double *)(const void *)at)[element];
    if (row->kind == WIDE) return (double)((const int64_t *)(const void *)at)[element];
    return ((const int *)(const void *)at)[element];
}

nb_status fingerprint_take(nb_context *ctx, const nb_scene *s, double *numbers,
                           double *sums)
{
    const char *const group = s->crystal.point_group;
    double factors;
    size_t n = 0;

    NB_TRY(sum_of_factors(ctx, s->crystal.hkl, &factors));
    for (int i = 0; i < NROWS; i++)
        for (int k = 0; k < rows[i].n; k++) numbers[n++] = number_of(s, rows + i, k);
    *sums++ = sum_of_bytes(s->detector.mask,
                           (size_t)s->detector.nslow * (size_t)s->detector.nfast);
    *sums++ = sum_of_boxes(&s->detector);
    *sums++ = factors;
    *sums++ = group ? sum_of_bytes(group, strlen(group)) : 0;
    *sums++ = sum_of_sources(&s->beam);
    *sums++ = fingerprint_sum(s->crystal.domain_weight, (size_t)s->crystal.ndomains);
    *sums++ = fingerprint_sum(s->background.stol, 2 * s->background.nstol);
    *sums++ = sum_of_panels(&s->detector);
    *sums++ = sum_of_lattices(&s->crystal);
    return NB_OK;
}

int fingerprint_same(double a, double b)
{
    if (!isfinite(a) || !isfinite(b)) return isfinite(a) == isfinite(b);
    return fabs(a - b) <= 1e-10 * fmax(fabs(a), fabs(b)) + 1e-12;
}
