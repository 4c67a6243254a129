/*
 * gemmi_missing.c - replaces the functions of gemmi.h in a build without gemmi.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "nanobrag_io/gemmi/gemmi.h"

static nb_status refuse(char why[GEMMI_WHY])
{
    (void)
        snprintf(why, GEMMI_WHY,
                 "this build has no gemmi, which reads and writes models and MTZ; install "
                 "it (Debian: gemmi-dev, tao-pegtl-dev) and build again");
    return NB_ERR_UNSUPPORTED;
}

nb_status gemmi_model_read(const char *bytes, size_t n, struct gemmi_model *out,
                           char why[GEMMI_WHY])
{
    (void)bytes;
    (void)n;
    memset(out, 0, sizeof *out);
    return refuse(why);
}

void gemmi_model_free(struct gemmi_model *model)
{
    (void)model;
}

nb_status gemmi_form_factor_of(int element, struct gemmi_form_factor *out)
{
    (void)element;
    (void)out;
    return NB_ERR_UNSUPPORTED;
}

nb_status gemmi_anomalous(int element, double wavelength, double out[2])
{
    (void)element;
    (void)wavelength;
    out[0] = out[1] = 0;
    return NB_ERR_UNSUPPORTED;
}

int gemmi_element(const char *symbol)
{
    (void)symbol;
    return 0;
}

nb_status gemmi_solvent_mask(const struct gemmi_model *model, double dmin,
                             const int least[3], struct gemmi_mask *out,
                             char why[GEMMI_WHY])
{
    (void)model;
    (void)dmin;
    (void)least;
    memset(out, 0, sizeof *out);
    return refuse(why);
}

nb_status gemmi_reflections_read(const char *bytes, size_t n, const char *label,
                                 struct gemmi_reflections *out, char why[GEMMI_WHY])
{
    (void)bytes;
    (void)n;
    (void)label;
    memset(out, 0, sizeof *out);
    return refuse(why);
}

void gemmi_reflections_free(struct gemmi_reflections *reflections)
{
    (void)reflections;
}

nb_status gemmi_space_group(const char *name, const double cell[6],
                            struct gemmi_crystal *out, char why[GEMMI_WHY])
{
    (void)name;
    (void)cell;
    memset(out, 0, sizeof *out);
    return refuse(why);
}

nb_status gemmi_symbols(enum gemmi_naming naming, const char *name,
                        char hermann_mauguin[GEMMI_NAME], char hall[GEMMI_NAME])
{
    (void)naming;
    (void)name;
    hermann_mauguin[0] = hall[0] = '\0';
    return NB_ERR_UNSUPPORTED;
}

int gemmi_system(const char *space_group)
{
    (void)space_group;
    return NB_SYSTEM_NONE;
}

int gemmi_in_asymmetric_unit(const struct gemmi_crystal *crystal, const int hkl[3])
{
    (void)crystal;
    (void)hkl;
    return 0;
}

nb_status gemmi_mtz_make(const struct gemmi_mtz *mtz, char **bytes, size_t *n,
                         char why[GEMMI_WHY])
{
    (void)mtz;
    *bytes = NULL;
    *n = 0;
    return refuse(why);
}
