/*
 * crystal_system.c - -crystal_system: which numbers of the cell are tied, by the option or
 * by the space group of -pdb or -mtz.
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fit/fit_run.h"
#include "cli/run.h"

static const char *const names[] =
    {"",           "triclinic", "monoclinic",   "orthorhombic",
     "tetragonal", "hexagonal", "rhombohedral", "cubic"};

/* The order of an axis at the start of a word: 2 of "21", 3 of "-3m"; 0 of a mirror. */
static int order_of(const char *word)
{
    if (*word == '-') word++;
    return isdigit((unsigned char)*word) ? *word - '0' : 0;
}

/* Of a full symbol, as "C 1 2 1" or "R 3 2:H". Those with another axis than b that is
 * unique have none here. */
static int system_of(const char *symbol)
{
    const char *word[3] = {0};
    int n = 0, ones = 0;
    for (const char *c = symbol; n < 3 && (c = strchr(c, ' ')) != NULL; n++) word[n] = ++c;
    if (n == 0) return NB_SYSTEM_NONE;
    for (int i = 0; i < n; i++) ones += order_of(word[i]) == 1;
    if (n > 1 && order_of(word[1]) == 3 && order_of(word[0]) != 3) return NB_CUBIC;
    if (order_of(word[0]) == 3)
        return strstr(symbol, ":R") ? NB_RHOMBOHEDRAL : NB_HEXAGONAL;
    if (order_of(word[0]) == 6) return NB_HEXAGONAL;
    if (order_of(word[0]) == 4) return NB_TETRAGONAL;
    if (ones == n) return NB_TRICLINIC;
    if (n == 1) return NB_MONOCLINIC;
    if (ones == 0) return NB_ORTHORHOMBIC;
    return n == 3 && order_of(word[0]) == 1 && order_of(word[2]) == 1 ? NB_MONOCLINIC
                                                                      : NB_SYSTEM_NONE;
}

/* 1 when a cell has what the system ties. */
static int agrees(int system, const double *cell)
{
    const int square = system == NB_TETRAGONAL || system == NB_HEXAGONAL;
    const int all = system == NB_RHOMBOHEDRAL || system == NB_CUBIC;
    double wanted[6];
    memcpy(wanted, cell, sizeof wanted);
    if (square || all) wanted[1] = cell[0];
    if (all) wanted[2] = cell[0];
    for (int i = 3; i < 6 && system != NB_TRICLINIC; i++) {
        if (system == NB_MONOCLINIC && i == 4) continue;
        wanted[i] = system == NB_RHOMBOHEDRAL          ? cell[3]
                    : system == NB_HEXAGONAL && i == 5 ? 120
                                                       : 90;
    }
    for (int i = 0; i < 6; i++)
        if (!(fabs(cell[i] - wanted[i]) <= 1e-6 * wanted[i])) return 0;
    return 1;
}

void crystal_system_set(const struct inputs *in, struct settings *s,
                        struct messages *messages)
{
    if (s->crystal_system) {
        s->scene.crystal.system = s->crystal_system;
        return;
    }
    if (!fit_asked(s) || in->crystal.noperator == 0) return;
    const int system = system_of(in->crystal.space_group);
    if (system <= NB_TRICLINIC || !agrees(system, s->scene.crystal.cell)) return;
    s->scene.crystal.system = system;
    message_note(messages,
                 "the unit cell of the fit is %s, by the space group %s; -crystal_system "
                 "triclinic frees all of it",
                 names[system], in->crystal.space_group);
}
