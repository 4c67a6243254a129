/*
 * gemmi_oracle.h - structure factors as gemmi calculates them: it reads the file itself and
 * sums over atoms and operators.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_STRUCTURE_GEMMI_ORACLE_H
#define NB_TESTS_STRUCTURE_GEMMI_ORACLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* F of n reflections of a PDB or mmCIF file, of which at most `columns` of a line are read
 * (0: all). With a wavelength f' and f'' are added. Returns 0 after a failure. */
int oracle_factors(const char *path, int columns, double wavelength, int n,
                   const int (*hkl)[3], double (*f)[2]);

/* The part of the bulk solvent, from gemmi's mask for reflections to dmin. */
int oracle_solvent(const char *path, double dmin, const double k_and_b[2], int n,
                   const int (*hkl)[3], double (*f)[2]);

#ifdef __cplusplus
}
#endif

#endif
