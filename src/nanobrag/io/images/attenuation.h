/*
 * attenuation.h - how much the materials of sensors absorb, with the numbers that dxtbx
 * uses for them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_IMAGES_ATTENUATION_H
#define NB_IO_IMAGES_ATTENUATION_H

/* the materials that dxtbx knows; the first two are those of miniCBF */
enum { MATERIAL_SI, MATERIAL_CDTE, MATERIAL_GAAS, MATERIALS, MATERIALS_CBF = 2 };

/* Returns the name of a material in NXmx and dxtbx. */
const char *attenuation_name(int material);

/* Returns the attenuation of a material, 1/mm: NIST's mass attenuation coefficients
 * (Hubbell & Seltzer, NISTIR 5632) times the density, between their energies a straight
 * line of the logarithms, as cctbx does; 0 for a photon below 1 keV or above 100 keV. */
double attenuation_at(int material, double wavelength);

/* Returns that of the first n materials whose attenuation is nearest to `attenuation`,
 * 1/mm. */
int attenuation_nearest(int n, double attenuation, double wavelength);

#endif
