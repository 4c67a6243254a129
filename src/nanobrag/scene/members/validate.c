/*
 * validate.c - checks the range of every number of a scene (members.def). Contradictions
 * between numbers are found later, when the scene is resolved. A message begins with the
 * option and ends with the member in parentheses; the program does not print the member.
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "scene/lattices/lattices.h"
#include "scene/scene.h"

/* The range of a member's numbers: each lies from `lower` to `upper`, and is 0 or at least
 * `least` in size. */
struct rule {
    const char *member; /* name of the member of nb_scene */
    const char *numbers; /* a word for each of several numbers, or "" */
    const char *option; /* option of the program; "" if there is none */
    size_t offset; /* where the numbers begin in nb_scene, bytes */
    /* index of the first number in its member; how many numbers follow this rule */
    int first, count;
    double lower, upper, least;
};

#define ANY HUGE_VAL
#define REAL(member, first, count, parts, name, lower, upper, least, option)               \
    {#member, parts, option, offsetof(nb_scene, member) + (first) * sizeof(double),        \
     first,   count, lower,  upper,                                                        \
     least},
#define WHOLE(...)
#define WIDE(...)
static const struct rule number_rules[] = {
#include "scene/members/members.def"
};

/* The rule for a mosaic spread that is stated about three axes. */
static const struct rule spread_rule = {.member = "crystal.mosaic",
                                        .numbers = "aa bb cc",
                                        .option = "-mosaic_tensor",
                                        .offset = offsetof(nb_scene, crystal.mosaic),
                                        .count = 3,
                                        .upper = 360};

struct count_rule {
    const char *name, *option;
    size_t offset; /* where the int lies in nb_scene, bytes */
    int lower, upper;
};

#define REAL(...)
#define WHOLE(member, count, name, lower, upper, option)                                   \
    {#member, option, offsetof(nb_scene, member), lower, upper},
#define WIDE(...)
static const struct count_rule count_rules[] = {
#include "scene/members/members.def"
};

/* Writes the name of number k of a rule: option and word if there are any, else the
 * member. */
static void name_number(const struct rule *rule, int k, const char *member, char *name,
                        size_t size)
{
    const char *word = rule->numbers;
    int length;

    for (int i = 0; i < k && *word; i++) word += strcspn(word, " ") + 1;
    length = (int)strcspn(word, " ");
    if (!*rule->option)
        (void)snprintf(name, size, "%s", member);
    else if (length > 0)
        (void)snprintf(name, size, "%s: %.*s", rule->option, length, word);
    else if (rule->count > 1)
        (void)snprintf(name, size, "%s: number %d", rule->option, k + 1);
    else
        (void)snprintf(name, size, "%s", rule->option);
}

static nb_status refuse_number(nb_context *ctx, const struct rule *rule, int k,
                               double value)
{
    const int is_small = value != 0 && fabs(value) < rule->least;
    char member[64], name[128], range[64], in[72] = "";

    if (rule->count > 1 || rule->first > 0)
        (void)snprintf(member, sizeof member, "%s[%d]", rule->member, rule->first + k);
    else
        (void)snprintf(member, sizeof member, "%s", rule->member);
    name_number(rule, k, member, name, sizeof name);
    if (is_small && value > 0)
        (void)snprintf(range, sizeof range, "at least %g", rule->least);
    else if (rule->upper < ANY)
        (void)snprintf(range, sizeof range, "between %g and %g", rule->lower, rule->upper);
    else
        (void)snprintf(range, sizeof range, "%g or more", rule->lower);
    if (*rule->option && strchr(member, '.'))
        (void)snprintf(in, sizeof in, " (%s)", member);
    return fail(ctx, NB_ERR_ARGUMENT, "%s is %g, expected %s%s", name, value, range, in);
}

static nb_status check_numbers(nb_context *ctx, const nb_scene *scene)
{
    for (size_t i = 0; i < sizeof number_rules / sizeof *number_rules; i++) {
        const int axes = (scene->given & NB_GIVEN_MOSAIC_AXES) != 0;
        const struct rule *r = number_rules + i;
        const double *v = (const double *)(const void *)((const char *)scene + r->offset);

        if (axes && r->offset == spread_rule.offset) r = &spread_rule;
        for (int k = 0; k < r->count; k++)
            if (!(v[k] >= r->lower && v[k] <= r->upper)
                || (v[k] != 0 && fabs(v[k]) < r->least))
                return refuse_number(ctx, r, k, v[k]);
    }
    return NB_OK;
}

static nb_status check_counts(nb_context *ctx, const nb_scene *scene)
{
    for (size_t i = 0; i < sizeof count_rules / sizeof *count_rules; i++) {
        const struct count_rule *r = count_rules + i;
        const int v = *(const int *)(const void *)((const char *)scene + r->offset);

        const int both = *r->option && strchr(r->name, '.');

        if (v < r->lower || v > r->upper)
            return fail(ctx, NB_ERR_ARGUMENT, "%s is %d, expected between %d and %d%s%s%s",
                        *r->option ? r->option : r->name, v, r->lower, r->upper,
                        both ? " (" : "", both ? r->name : "", both ? ")" : "");
    }
    return NB_OK;
}

static nb_status check_lists(nb_context *ctx, const nb_scene *scene)
{
    if (scene->beam.nsource > 0 && !scene->beam.source)
        return fail(ctx, NB_ERR_ARGUMENT, "beam.source is NULL but beam.nsource is %d",
                    scene->beam.nsource);
    for (int i = 0; i < scene->beam.nsource; i++) {
        const nb_source *s = scene->beam.source + i;

        if (!isfinite(s->direction[0]) || !isfinite(s->direction[1])
            || !isfinite(s->direction[2]) || !isfinite(s->wavelength)
            || !isfinite(s->weight))
            return fail(ctx, NB_ERR_ARGUMENT, "source %d holds a number that is not finite",
                        i + 1);
    }
    if (scene->crystal.domain_weight && scene->crystal.ndomains < 1)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "crystal.domain_weight needs their number, crystal.ndomains");
    for (int i = 0; scene->crystal.domain_weight && i < scene->crystal.ndomains; i++) {
        const double weight = scene->crystal.domain_weight[i];

        if (!(weight >= 0) || !isfinite(weight))
            return fail(ctx, NB_ERR_ARGUMENT,
                        "crystal.domain_weight[%d] is %g, expected 0 or more", i, weight);
    }
    if (scene->detector.nbox > 0 && !scene->detector.box)
        return fail(ctx, NB_ERR_ARGUMENT, "detector.box is NULL but nbox is %zu",
                    scene->detector.nbox);
    if (scene->detector.nbox > 100000000)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "there are %zu boxes, expected up to 100000000 (detector.nbox)",
                    scene->detector.nbox);
    if (scene->background.nstol > 0 && !scene->background.stol)
        return fail(ctx, NB_ERR_ARGUMENT, "background.stol is NULL but nstol is %zu",
                    scene->background.nstol);
    if (scene->background.nstol > 1000000)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "the structure factor of the amorphous material has %zu rows, expected "
                    "up to 1000000 (background.nstol)",
                    scene->background.nstol);
    for (size_t i = 0; i < 2 * scene->background.nstol; i++)
        if (!isfinite(scene->background.stol[i]))
            return fail(ctx, NB_ERR_ARGUMENT,
                        "row %zu of the structure factor of the amorphous material holds a "
                        "number that is not finite (background.stol)",
                        i / 2 + 1);
    return NB_OK;
}

/* A cell with a = 0 is not given, so b and c must be 0, too. */
static nb_status check_cell(nb_context *ctx, const double cell[6])
{
    if (cell[0] == 0 && (cell[1] != 0 || cell[2] != 0))
        return fail(ctx, NB_ERR_UNIT_CELL,
                    "-cell: a is 0, expected more than 0 (crystal.cell[0])");
    return NB_OK;
}

/* Checks how many panels and groups there are; scene/detector/panels.c checks the lists. */
static nb_status check_panels(nb_context *ctx, const nb_detector *d)
{
    if (d->npanel < 0 || d->npanel > PANELS_MOST)
        return fail(ctx, NB_ERR_ARGUMENT, "detector.npanel is %d, expected 0 to %d",
                    d->npanel, PANELS_MOST);
    if (d->npanel == 0) return NB_OK;
    if (!d->panel)
        return fail(ctx, NB_ERR_ARGUMENT, "detector.panel is NULL but npanel is %d",
                    d->npanel);
    if (d->ngroup < 0 || d->ngroup > PANELS_MOST)
        return fail(ctx, NB_ERR_ARGUMENT, "detector.ngroup is %d, expected 0 to %d",
                    d->ngroup, PANELS_MOST);
    if (d->ngroup > 0 && !d->group)
        return fail(ctx, NB_ERR_ARGUMENT, "detector.group is NULL but ngroup is %d",
                    d->ngroup);
    return NB_OK;
}

nb_status scene_validate(nb_context *ctx, const nb_scene *scene)
{
    NB_TRY(check_numbers(ctx, scene));
    NB_TRY(check_counts(ctx, scene));
    NB_TRY(check_lists(ctx, scene));
    NB_TRY(check_cell(ctx, scene->crystal.cell));
    NB_TRY(lattices_validate(ctx, &scene->crystal));
    NB_TRY(check_panels(ctx, &scene->detector));
    if (scene->quirks & ~(uint64_t)NB_QUIRK_ALL)
        return fail(ctx, NB_ERR_ARGUMENT, "quirks holds bits that are no NB_QUIRK");
    if (scene->crystal.normalise && (scene->quirks & NB_QUIRK_GAUSS_METRIC))
        return fail(ctx, NB_ERR_SCENE,
                    "-normalise on cannot be used with -compat nanobragg");
    if (scene->psf.kind != NB_PSF_NONE && !(scene->psf.fwhm > 0))
        return fail(ctx, NB_ERR_SCENE, "a point spread needs a width; give -psf_fwhm");
    if (scene->psf.kind == NB_PSF_NONE && (scene->psf.fwhm > 0 || scene->psf.radius > 0))
        return fail(ctx, NB_ERR_SCENE,
                    "a point-spread width or radius needs a kind; give -psf gauss or -psf "
                    "fiber");
    return NB_OK;
}
