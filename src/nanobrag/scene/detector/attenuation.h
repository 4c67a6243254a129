/*
 * attenuation.h - the attenuation of X-rays in the materials of sensors, with the numbers
 * that dxtbx uses.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_SCENE_ATTENUATION_H
#define NB_SCENE_ATTENUATION_H

#include <nanobrag/scene.h>

/* the last materials of enum nb_material that dxtbx and miniCBF know */
enum { MATERIALS_LAST = NB_MATERIAL_GAAS, MATERIALS_LAST_CBF = NB_MATERIAL_CDTE };

/* Returns the name of a material (enum nb_material) in NXmx and dxtbx; "" if unknown. */
const char *attenuation_name(int material);

/* Returns the material with this name, or NB_MATERIAL_UNKNOWN. */
int attenuation_named(const char *name);

/* Returns the attenuation of a material, 1/mm, at a wavelength, A: NIST's mass attenuation
 * coefficient (Hubbell & Seltzer, NISTIR 5632) times the density. Between NIST's energies
 * the logarithm of the coefficient is linear in the logarithm of the energy, as in cctbx.
 * Returns 0 below 1 keV, above 100 keV, and for an unknown material. */
double attenuation_at(int material, double wavelength);

/* Returns d ln(attenuation)/d ln(wavelength); 0 where the attenuation is 0. */
double attenuation_slope(int material, double wavelength);

/* Returns the material, up to number `last`, whose attenuation at the wavelength (A) is
 * nearest to `attenuation` (1/mm). */
int attenuation_nearest(int last, double attenuation, double wavelength);

#endif
