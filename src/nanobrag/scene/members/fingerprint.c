/*
 * fingerprint.c - takes the numbers and checksums of a scene, and names them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/members/fingerprint.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/io.h>

#include "base/context.h"

enum kind { REAL_NUMBER, WHOLE_NUMBER, WIDE_NUMBER };

struct row {
    const char *name; /* NULL: a resolved scene does not have this number */
    const char *parts; /* a word for each element, which ends its name */
    enum kind kind;
    int n;
    size_t at; /* offset in nb_scene, bytes */
};

#define REAL(member, first, count, parts, name, lower, upper, least, option)               \
    {name, parts, REAL_NUMBER, count,                                                      \
     offsetof(nb_scene, member) + (first) * sizeof(double)},
#define WHOLE(member, count, name, lower, upper, option)                                   \
    {name, "", WHOLE_NUMBER, count, offsetof(nb_scene, member)},
#define WIDE(member, name) {name, "", WIDE_NUMBER, 1, offsetof(nb_scene, member)},
static const struct row rows[] = {
#include "scene/members/members.def"
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

static size_t numbers_of(const struct row *row)
{
    return row->name ? (size_t)row->n : 0;
}

size_t fingerprint_numbers(void)
{
    size_t n = 0;

    for (int i = 0; i < NROWS; i++) n += numbers_of(rows + i);
    return n;
}

/* ---- names ---- */

/* Writes the name of an element of a row: the name of the row, then the element's word in
 * `parts`. */
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
        if (i < numbers_of(rows + k)) {
            name_element(rows + k, (int)i, out, size);
            return;
        }
        i -= numbers_of(rows + k);
    }
    (void)snprintf(out, size, "%s", checksums[i - n]);
}

/* ---- checksums ---- */

/* Returns a number between 1 and 2 that depends on the place, by splitmix64 (Steele, Lea &
 * Flood, OOPSLA 2014). */
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

/* Returns the checksum of the position (origin, fast, slow) and the moves (shift, rotation)
 * of a panel or group. Its 15 numbers have the weights fingerprint_weight(n),
 * fingerprint_weight(n + 1) and so on. */
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
    enum { NUMBERS = 32 }; /* places reserved for a panel or group, more than it needs */
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

/* Computes the checksum of the structure factors. Their places follow from h k l, so that
 * their order in the list does not matter. */
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

/* ---- the whole fingerprint ---- */

static double number_of(const nb_scene *scene, const struct row *row, int element)
{
    const char *at = (const char *)scene + row->at;

    if (row->kind == REAL_NUMBER) return ((const double *)(const void *)at)[element];
    if (row->kind == WIDE_NUMBER)
        return (double)((const int64_t *)(const void *)at)[element];
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
        for (size_t k = 0; k < numbers_of(rows + i); k++)
            numbers[n++] = number_of(s, rows + i, k);
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
