/*
 * attenuation.c - tables of mass attenuation coefficients, and their interpolation.
 *
 * SPDX-License-Identifier: MIT
 */
#include "scene/detector/attenuation.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const double kev_angstrom = 12.398419843320026; /* energy x wavelength of a photon */

/* energy, keV, and mass attenuation coefficient, cm^2/g; an absorption edge is two rows of
 * the same energy */
struct row {
    double energy, coefficient;
};

static const struct row si[] = {{1, 1570},    {1.5, 535.5}, {1.8389, 309.2}, {1.8389, 3192},
                                {2, 2777},    {3, 978.4},   {4, 452.9},      {5, 245},
                                {6, 147},     {8, 64.68},   {10, 33.89},     {15, 10.34},
                                {20, 4.464},  {30, 1.436},  {40, 0.7012},    {50, 0.4385},
                                {60, 0.3207}, {80, 0.2228}, {100, 0.1835}};

static const struct row cdte[] =
    {{1, 7927},       {1.003, 7875},   {1.006, 7824},  {1.006, 8014},   {1.5, 3291},
     {2, 1664},       {3, 614.6},      {3.537, 406.4}, {3.537, 778.7},  {3.631, 730},
     {3.727, 684},    {3.727, 860.1},  {4, 723},       {4.018, 715.1},  {4.018, 793.4},
     {4.177, 722.1},  {4.341, 656.2},  {4.341, 932.8}, {4.475, 873.9},  {4.612, 813.5},
     {4.612, 943.8},  {4.773, 870.2},  {4.939, 799.9}, {4.939, 865.3},  {5, 839.2},
     {6, 528.6},      {8, 249.2},      {10, 138.1},    {15, 46.57},     {20, 21.44},
     {26.711, 9.834}, {26.711, 29.43}, {30, 21.82},    {31.814, 18.73}, {31.814, 34.92},
     {40, 19.3},      {50, 10.67},     {60, 6.542},    {80, 3.019},     {100, 1.671}};

static const struct row gaas[] = {{1, 1917},        {1.05613, 1685},  {1.1154, 1481},
                                  {1.1154, 2772},   {1.12877, 3180},  {1.1423, 3532},
                                  {1.1423, 4372},   {1.21752, 4130},  {1.2977, 3657},
                                  {1.2977, 4066},   {1.31034, 3971},  {1.3231, 3879},
                                  {1.3231, 5652},   {1.34073, 5525},  {1.3586, 5415},
                                  {1.3586, 6266},   {1.5, 5159},      {1.5265, 4939},
                                  {1.5265, 5278},   {2, 2731},        {3, 970.2},
                                  {4, 453.9},       {5, 249.5},       {6, 152.4},
                                  {8, 69.6},        {10, 37.8},       {10.3671, 34.25},
                                  {10.3671, 126},   {11.0916, 105.9}, {11.8667, 88.99},
                                  {11.8667, 168.5}, {15, 92.2},       {20, 42.58},
                                  {30, 13.97},      {40, 6.262},      {50, 3.365},
                                  {60, 2.042},      {80, 0.9587},     {100, 0.5598}};

static const struct {
    const char *name;
    double density; /* g/cm^3 */
    const struct row *row;
    size_t n;
} materials[] = {
    {"", 0, NULL, 0}, /* unknown */
    {"Si", 2.33, si, sizeof si / sizeof *si},
    {"CdTe", 6.2, cdte, sizeof cdte / sizeof *cdte},
    {"GaAs", 5.32, gaas, sizeof gaas / sizeof *gaas},
};

const char *attenuation_name(int material)
{
    return materials[material].name;
}

int attenuation_named(const char *name)
{
    for (int i = NB_MATERIAL_SI; i <= MATERIALS_LAST; i++)
        if (strcmp(name, materials[i].name) == 0) return i;
    return NB_MATERIAL_UNKNOWN;
}

/* Returns i so that an energy, keV, lies between rows i - 1 and i; 0 if the table does not
 * reach that energy. */
static size_t row_behind(int material, double energy)
{
    const struct row *const row = materials[material].row;
    const size_t n = materials[material].n;
    size_t i = 1;

    if (n == 0 || !(energy >= row[0].energy && energy <= row[n - 1].energy)) return 0;
    while (i + 1 < n && row[i].energy <= energy) i++;
    return i;
}

/* Returns d ln(coefficient)/d ln(energy) between row i - 1 and row i. */
static double slope_before(int material, size_t i)
{
    const struct row *const to = materials[material].row + i, *const from = to - 1;

    return log(to->coefficient / from->coefficient) / log(to->energy / from->energy);
}

double attenuation_at(int material, double wavelength)
{
    const double energy = kev_angstrom / wavelength;
    const size_t i = row_behind(material, energy);
    const struct row *const row = materials[material].row;

    if (i == 0) return 0;
    return 0.1 * materials[material].density * row[i - 1].coefficient
           * pow(energy / row[i - 1].energy, slope_before(material, i));
}

double attenuation_slope(int material, double wavelength)
{
    const size_t i = row_behind(material, kev_angstrom / wavelength);

    return i == 0 ? 0 : -slope_before(material, i);
}

int attenuation_nearest(int last, double attenuation, double wavelength)
{
    double least = INFINITY;
    int nearest = NB_MATERIAL_SI;

    for (int i = NB_MATERIAL_SI; i <= last; i++) {
        const double at = attenuation_at(i, wavelength);
        const double off = at > 0 ? fabs(log(attenuation / at)) : INFINITY;

        if (off < least) least = off, nearest = i;
    }
    return nearest;
}
