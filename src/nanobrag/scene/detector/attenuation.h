/*
 * attenuation.h - how much the materials of sensors absorb, with the numbers that dxtbx
 * uses for them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_ATTENUATION_H
#define NB_SCENE_ATTENUATION_H

#include <nanobrag/scene.h>

/* the last material that dxtbx knows, and the last that miniCBF knows */
enum { MATERIALS_LAST = NB_MATERIAL_GAAS, MATERIALS_LAST_CBF = NB_MATERIAL_CDTE };

/* Returns the name of a material (enum nb_material) in NXmx and dxtbx; "" if unknown. */
const char *attenuation_name(int material);

/* Returns the material of a name; NB_MATERIAL_UNKNOWN for an unknown name. */
int attenuation_named(const char *name);

/* Returns the attenuation of a material, 1/mm: NIST's mass attenuation coefficients
 * (Hubbell & Seltzer, NISTIR 5632) times the density, between their energies a straight
 * line of the logarithms, as cctbx does; 0 for a photon below 1 keV or above 100 keV, and
 * for an unknown material. */
double attenuation_at(int material, double wavelength);

/* Returns d ln(attenuation)/d ln(wavelength); 0 where the attenuation is 0. */
double attenuation_slope(int material, double wavelength);

/* Returns the material, up to `last`, with the attenuation nearest to `attenuation`,
 * 1/mm. */
int attenuation_nearest(int last, double attenuation, double wavelength);

#endif
