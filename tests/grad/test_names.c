/*
 * test_names.c - names select free parameters of a simulator, and a misspelt name has a
 * nearest one.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "scene/probe.h"
#include "support/scenes.h"
#include "support/tap.h"

/* Names select free parameters, each once and in their order. */
static int selected(void)
{
    enum { ROOM = 3, NONE = 99 };
    const int hkl[3][3] = {{1, 0, 0}, {-1, 2, -3}, {0, 0, 5}};
    const double f[3] = {1, 0, -3};
    nb_scene s = scenes_base();
    nb_hkl *list = NULL;

    if (nb_hkl_create(probe_context(), 3, hkl[0], f, &list) != NB_OK) abort();
    s.crystal.hkl = list;
    nb_simulator *sim = probe_make(&s, "scale misset cell F[1,0,0],F[0,0,5]");
    size_t at[ROOM + 1] = {NONE, NONE, NONE, NONE}, n = 0;
    const char *names = "F[1,0,0] cell_b F[1,0,0]";
    nb_status status = nb_simulator_select(sim, names, ROOM, at, &n);

    tap_check(status == NB_OK && n == 2 && at[0] == 10 && at[1] == 5 && at[2] == NONE,
              "%s: %zu, at %zu and %zu", names, n, at[0], at[1]);
    status = nb_simulator_select(sim, "cell,misset", ROOM, at, &n);
    tap_check(status == NB_OK && n == 9 && at[0] == 4 && at[2] == 6 && at[3] == NONE,
              "cell,misset: %zu, the first at %zu, of which %d are told", n, at[0], ROOM);
    status = nb_simulator_select(sim, "all", 0, NULL, &n);
    const char *message = nb_context_message(probe_context());
    tap_check(status == NB_ERR_ARGUMENT && n == 0 && strstr(message, "is not free"),
              "all: %s", message);
    status = nb_simulator_select(sim, "cel", ROOM, at, &n);
    message = nb_context_message(probe_context());
    tap_check(status == NB_ERR_ARGUMENT && n == 0 && strstr(message, "the nearest is cell"),
              "cel: %s", message);
    tap_check(nb_simulator_select(NULL, "cell", ROOM, at, &n) == NB_ERR_ARGUMENT
                  && nb_simulator_select(sim, NULL, ROOM, at, &n) == NB_ERR_ARGUMENT
                  && nb_simulator_select(sim, "cell", ROOM, NULL, &n) == NB_ERR_ARGUMENT
                  && nb_simulator_select(sim, "cell", ROOM, at, NULL) == NB_ERR_ARGUMENT,
              "no simulator, names or place for the answer");
    nb_simulator_free(sim);
    nb_hkl_free(list);
    return TAP_PASS;
}

static int nearest(void)
{
    static const struct {
        const char *word, *names, *expected; /* "": none is near */
    } cases[] = {
        {"wavlength", NULL, "wavelength"},
        {"CEL", NULL, "cell"},
        {"nothing", NULL, ""},
        {"", NULL, ""},
        {"-hdiv", "-vdivrange  -hdivrange", "-hdivrange"},
        {"-water_um", "-wat -water", "-water"},
        {"-na", "-nb -Na", "-Na"},
        {"-x", "-y", ""},
        {"cell", "", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char found[NB_NAME_BYTES] = "";
        const int is_near = nb_nearest_name(cases[i].word, cases[i].names, found);

        tap_check(strcmp(found, cases[i].expected) == 0 && is_near == (*found != 0),
                  "\"%s\": \"%s\"", cases[i].word, found);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"selected", selected}, {"nearest", nearest}};

    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
