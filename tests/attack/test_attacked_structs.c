/*
 * test_attacked_structs.c - scenes one number of whose struct is replaced: what
 * nb_simulator_create() accepts gives a finite image without negative pixels, or an error.
 *
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "attack/attack.h"
#include "attack/drawn_scene.h"
#include "support/compiled.h"
#include "support/files.h"
#include "support/worst.h"

/* Samples beyond which a scene is accepted, but not rendered here. */
static const double most_samples = 3e6;

static const struct place {
    const char *name;
    size_t offset;
    int is_int, count;
} places[] = {
#define NUMBER(member, first, count, lower, upper)                                         \
    {#member, offsetof(nb_scene, member) + (first) * sizeof(double), 0, count},
#define INTEGER(member, lower, upper) {#member, offsetof(nb_scene, member), 1, 1},
#include "scene/scene_numbers.def"
#undef NUMBER
#undef INTEGER
};

static const double numbers[] = {-1,    0,    1e-308,   5e-324,   -1e-308,
                                 1e-30, 1e30, 1e308,    -1e308,   1e-6,
                                 1e6,   NAN,  HUGE_VAL, -HUGE_VAL};
static const int whole_numbers[] = {-1, 0, 1, 7, 1000, 1000001, INT_MAX, INT_MIN};

struct mutation {
    const char *name;
    int at;
    double value;
};

static struct mutation mutate(struct attack *attack, nb_scene *scene)
{
    const struct place *p = places + attack_below(attack, (int)COUNT(places));
    struct mutation m = {p->name, attack_below(attack, p->count), 0};
    char *where = (char *)scene + p->offset;

    if (p->is_int) {
        const int value = whole_numbers[attack_below(attack, (int)COUNT(whole_numbers))];

        memcpy(where, &value, sizeof value);
        m.value = value;
    } else {
        m.value = numbers[attack_below(attack, (int)COUNT(numbers))];
        memcpy(where + (size_t)m.at * sizeof m.value, &m.value, sizeof m.value);
    }
    return m;
}

/* Returns the brightest pixel of the whole detector: a point spread rounds in units of it,
 * even where a mask or a region hides it. */
static double whole_peak(nb_scene scene, double *image, size_t n)
{
    nb_array array;
    nb_description about;
    nb_simulator *sim = NULL;
    double peak = 0;

    scene.detector.mask = NULL;
    memset(scene.detector.roi, 0, sizeof scene.detector.roi);
    if (nb_simulator_create(ctx, &scene, NULL, NULL, &sim) == NB_OK
        && nb_simulator_describe(sim, NULL, &about) == NB_OK) {
        array = nb_array_f64(image, about.nslow, about.nfast);
        if (nb_forward(sim, NULL, &array) == NB_OK) peak = worst_largest(image, n);
    }
    nb_simulator_free(sim);
    return peak;
}

/* Render an image of an accepted scene; returns 1 if that was possible. */
static int check_image(struct attack *attack, nb_simulator *sim, const struct mutation *m,
                       const struct drawn_scene *drawn)
{
    static double image[4 * DRAWN_PIXELS];
    nb_description about;
    double least = 0, peak, bright;
    nb_array array;
    size_t n;

    if (nb_simulator_describe(sim, NULL, &about) != NB_OK) return 0;
    n = (size_t)about.nslow * (size_t)about.nfast;
    if (n > COUNT(image) || about.evaluations > most_samples) return 0;
    memset(image, 0, sizeof image);
    array = nb_array_f64(image, about.nslow, about.nfast);
    if (nb_forward(sim, NULL, &array) != NB_OK) return 0;
    peak = worst_largest(image, n);
    for (size_t i = 0; i < n; i++) least = fmin(least, image[i]);
    bright = least < 0 ? whole_peak(drawn->scene, image, n) : peak;
    attack_expect(attack, isfinite(peak) && least >= -1e-12 * bright,
                  "%s[%d] = %g: accepted, pixels from %g to %g (%s)", m->name, m->at,
                  m->value, least, peak, drawn->text);
    return 1;
}

static int mutated(void)
{
    static struct drawn_scene drawn;
    struct attack attack = attack_begin(20);
    long accepted = 0, rendered = 0;

    while (attack_next(&attack)) {
        nb_simulator *sim = NULL;
        struct mutation m;
        nb_status status;

        drawn_scene(&attack, &drawn);
        m = mutate(&attack, &drawn.scene);
        if (drawn.scene.beam.nsource > (int)COUNT(drawn.source))
            drawn.scene.beam.nsource = 1; /* the list has no more */
        if (drawn.scene.crystal.ndomains > (int)COUNT(drawn.domain_weight))
            drawn.scene.crystal.domain_weight = NULL;
        if (drawn.scene.detector.nfast <= 0 || drawn.scene.detector.nslow <= 0
            || drawn.scene.detector.nfast * (double)drawn.scene.detector.nslow
                   > DRAWN_PIXELS)
            drawn.scene.detector.mask = NULL; /* it is smaller than the detector now */
        status = nb_simulator_create(ctx, &drawn.scene, NULL, NULL, &sim);
        accepted += status == NB_OK;
        if (status == NB_OK) rendered += check_image(&attack, sim, &m, &drawn);
        attack_expect(&attack, status == NB_OK || *nb_context_message(ctx),
                      "%s[%d] = %g: refused without a word", m.name, m.at, m.value);
        nb_simulator_free(sim);
        drawn_scene_free(&drawn);
    }
    tap_note("%ld accepted, %ld of them rendered", accepted, rendered);
    attack_end(&attack, "scenes with a number replaced");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"mutated", mutated}};

    compiled_environment();
    return attack_main(argc, argv, cases, COUNT(cases));
}
