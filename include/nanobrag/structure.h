/*
 * structure.h - structure factors of a model of atoms, and their derivatives with respect
 * to the atoms; reads PDB, mmCIF and MTZ files, writes MTZ files.
 *
 *   nb_structure *model = NULL;
 *   nb_crystal_info crystal = {0};
 *   nb_hkl *hkl = NULL;
 *   nb_fcalc how = {.dmin = 2, .wavelength = 1, .k_sol = 0.35, .b_sol = 46};
 *   nb_mtz mtz = {.space_group = "P 1"};
 *
 *   if (nb_structure_read(ctx, "2erl.pdb", &model) != NB_OK) puts(nb_context_message(ctx));
 *   nb_structure_crystal(model, &crystal);
 *   for (int i = 0; i < 6; i++) scene.crystal.cell[i] = mtz.cell[i] = crystal.cell[i];
 *   if (nb_structure_fcalc(ctx, model, &how, NULL, &hkl) == NB_OK)
 *       nb_mtz_write(ctx, "fc.mtz", &mtz, hkl);
 *   scene.crystal.hkl = hkl;
 *   nb_structure_free(model);
 *
 * The structure factor F of the whole cell is
 *
 *   A(h) = sum_j occ_j (f_j(s) + f'_j + i f''_j) T_j(h) exp(2 pi i h.r_j)
 *   F(h) = sum_(R,t) A(h R) exp(2 pi i h.t) + k_sol exp(-b_sol s^2/4) M(h).
 *
 *   - r_j is the fractional position of atom j. R and t are the operators of the space
 *     group, and s = 1/d.
 *   - f_j is the form factor of the neutral atom, as four Gaussians and a constant
 *     (International Tables C (1992), 6.1.1.4).
 *   - f' and f'' come from the method of Cromer and Liberman.
 *   - T_j is exp(-B s^2/4). With ANISOU, it is the factor of the displacement tensor.
 *   - M is the transform of a mask that is 1 in the bulk solvent and 0 elsewhere.
 *
 * docs/structure_factors.md says how to use these functions. docs/theory.md, 14, says how A
 * is found by a Fourier transform of the density of the atoms.
 *
 * These functions need gemmi; a build without gemmi returns NB_ERR_UNSUPPORTED. Only
 * nb_structure_free() and the look-ups do not need gemmi. An nb_structure never changes,
 * and threads may share it. Results have the same bits for any number of threads.
 *
 * Errors of a reader: NB_ERR_ARGUMENT (a NULL), NB_ERR_FILE, NB_ERR_FORMAT, NB_ERR_MEMORY,
 * NB_ERR_CANCELLED (io.h). A writer has the same errors without NB_ERR_FORMAT.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_STRUCTURE_H
#define NANOBRAG_STRUCTURE_H

#include <stddef.h>

#include <nanobrag/context.h>
#include <nanobrag/export.h>
#include <nanobrag/io.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

/* ---- models ---- */
typedef struct nb_structure nb_structure;

/* Cell and space group of a file. */
typedef struct nb_crystal_info {
    double cell[6]; /* a b c alpha beta gamma                          A, degree */
    char space_group[40]; /* Hermann-Mauguin symbol, as "C 1 2 1" or "R 3:H" */
    int noperator; /* operators of the space group, centring included */
} nb_crystal_info;

/*
 * Find the crystal system of a space group, for nb_crystal.system. The system ties numbers
 * of the cell.
 *
 *   space_group  [in]  Hermann-Mauguin symbol
 *   cell         [in]  a b c alpha beta gamma, A and degree                     (6)
 *
 * Returns enum nb_system. It is NB_SYSTEM_NONE if the group is unknown, if the group is
 * monoclinic with a unique axis other than b, if the cell contradicts the system by more
 * than 1e-6, or if the build has no gemmi.
 */
NB_API int nb_crystal_system(const char *space_group, const double cell[6]);

typedef struct nb_atom {
    char name[40]; /* chain, residue, atom, conformer, as "A LEU 12 CA" */
    char element[4]; /* symbol in capitals */
    double position[3]; /* Cartesian, in the frame of the file             A      */
    double b; /* isotropic B; with ANISOU the equivalent B                 A^2    */
    double occupancy;
    int anisotropic; /* 1: the file has ANISOU for this atom */
} nb_atom;

enum { NB_ATOM_NUMBERS = 5 }; /* free numbers of an atom: x y z B occupancy */

/*
 * Read a model from a PDB or mmCIF file, which may be compressed (gzip). If the file has
 * several models, the reader takes the first model, with a warning. Alternate conformers
 * count by their occupancy. If MTRIX or _struct_ncs_oper asks for further atoms, the reader
 * adds them at the end, with a note.
 *
 * A missing B becomes 50 A^2, and a missing occupancy becomes 1. If a PDB file has no
 * element symbol for an atom, the element comes from the name of the atom. Atoms after the
 * record END are not read. A warning states the number of each of these cases.
 *
 *   out  [out]  free with nb_structure_free()
 *
 * Errors: a reader's (above). Further reasons for NB_ERR_FORMAT: the unit cell or the atoms
 * are missing; the space group or an element is not known; an occupancy is not from 0 to 1;
 * the cell contradicts the group.
 */
NB_API nb_status nb_structure_read(nb_context *ctx, const char *path, nb_structure **out);

/* Free a model; NULL is allowed. */
NB_API void nb_structure_free(nb_structure *structure);

/* Read cell and space group; nothing is written if an argument is NULL. */
NB_API void nb_structure_crystal(const nb_structure *structure, nb_crystal_info *out);

/* The number of atoms; 0 for NULL. */
NB_API size_t nb_structure_natom(const nb_structure *structure);

/* Look up atom i. Returns 1, or 0 if there is no atom i or an argument is NULL. */
NB_API int nb_structure_atom(const nb_structure *structure, size_t i, nb_atom *out);

/* Copy the free numbers of all atoms to x: rows x y z B occupancy  (natom x 5); A, A^2. */
NB_API void nb_structure_numbers(const nb_structure *structure, double *x);

/* ---- structure factors ---- */

/* f' and f'' of an element. They replace the values of Cromer and Liberman's method. */
typedef struct nb_anomalous {
    char element[4]; /* symbol, as "SE" or "Se" */
    double f_prime, f_double_prime; /*                                       electron */
} nb_anomalous;

/* How A is computed. NB_FCALC_AUTO: by direct summation for fewer than 100 atoms and in a
 * build without FFTW, otherwise by a Fourier transform. */
enum { NB_FCALC_AUTO, NB_FCALC_DIRECT, NB_FCALC_FFT };

/* A calculation of structure factors. A zero-initialised member means its default. */
typedef struct nb_fcalc {
    double dmin; /* all reflections of this spacing or larger are listed     A      */
    double wavelength; /* for f' and f''; 0: no f' and f'', and Friedel mates are equal A */
    double k_sol, b_sol; /* density and B of the bulk solvent, usually 0.35 and 46; k_sol
                            0: no bulk solvent                      electron/A^3, A^2 */
    double tolerance; /* of NB_FCALC_FFT: sum of the errors of |F|, as a fraction of
                         the sum of |F|; 1e-10 to 0.01; 0: 1e-5 */
    int method; /* enum NB_FCALC_... */
    const nb_anomalous *anomalous; /* (nanomalous); needs a wavelength */
    size_t nanomalous;
} nb_fcalc;

/*
 * Compute |F| of all reflections up to a resolution, except 0 0 0. The list holds the whole
 * sphere, with all equivalents. Systematic absences are in the list, with |F| = 0.
 *
 *   structure  [in]   a model
 *   how        [in]   what to calculate
 *   x          [in]   x y z B occupancy of each atom; NULL: as in the file     (natom x 5)
 *   out        [out]  the list, which also holds the phases; free with nb_hkl_free()
 *
 * For an atom with ANISOU, the difference between B in x and B in the file is added to the
 * diagonal of the tensor. The mask of the solvent always comes from the positions in the
 * file.
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL; a member of `how` or a number in x is out of range (B from
 *                       -10 to 2000 A^2); there is no reflection up to dmin, or more than
 *                       nb_hkl_create() allows; or the grid needs more than 8192 points
 *                       along an axis.
 *   NB_ERR_UNSUPPORTED  NB_FCALC_FFT or the solvent, in a build without FFTW; or the build
 *                       has no gemmi.
 *   NB_ERR_MEMORY, NB_ERR_CANCELLED.
 */
NB_API nb_status nb_structure_fcalc(nb_context *ctx, const nb_structure *structure,
                                    const nb_fcalc *how, const double *x, nb_hkl **out);

/*
 * bar_x += (d|F|/dx)^T bar_f: compute the gradient of a function L of |F| with respect to
 * the atoms.
 *
 *   structure, how, x  [in]      the arguments of nb_structure_fcalc()
 *   hkl                [in]      the list that nb_structure_fcalc() made
 *   bar_f              [in]      dL/d|F|, in the order of nb_hkl_reflections()  (n)
 *   bar_x              [in,out]  dL/dx, dL/dy, dL/dz, dL/dB, dL/d occupancy    (natom x 5)
 *
 * The result is the derivative of the computed |F|. It is exact while x is within 0.25 A
 * and 1 A^2 of the numbers of the file: the density of an atom then always covers the same
 * part of the grid. Where F = 0, |F| has no derivative, and the call takes 0. The mask of
 * the solvent is constant.
 *
 * Errors: the errors of nb_structure_fcalc(); also NB_ERR_ARGUMENT for another list.
 */
NB_API nb_status nb_structure_vjp(nb_context *ctx, const nb_structure *structure,
                                  const nb_fcalc *how, const double *x, const nb_hkl *hkl,
                                  const double *bar_f, double *bar_x);

/*
 * dot_f = (d|F|/dx) dot_x: compute the change of |F| for a change of the atoms.
 *
 *   structure, how, x, hkl  [in]   as in nb_structure_vjp()
 *   dot_x                   [in]   change of the atoms' numbers             (natom x 5)
 *   dot_f                   [out]  change of |F|, in the order of nb_hkl_reflections()
 *                                                                           (n)
 *
 * Errors: the errors of nb_structure_fcalc(); also NB_ERR_ARGUMENT for another list.
 */
NB_API nb_status nb_structure_jvp(nb_context *ctx, const nb_structure *structure,
                                  const nb_fcalc *how, const double *x, const nb_hkl *hkl,
                                  const double *dot_x, double *dot_f);

/* ---- reflections with a space group ---- */

/* What to do with rows of a file that disagree about the F of one reflection. Such rows
 * name the same reflection, or an equivalent by the space group. If Friedel mates have no
 * columns of their own, the rows may also name the Friedel mate. Rows that agree to 1e-6
 * count as one row. */
enum nb_merge {
    NB_MERGE_NONE, /* refuse the file; the message names two of the rows */
    NB_MERGE_MEAN, /* take the mean of F */
    NB_MERGE_FIRST, /* take the first row */
    NB_MERGE_LAST, /* take the last row */
    NB_MERGE_MATES /* if Friedel mates are in different rows, keep both; refuse every other
                      disagreement */
};

/*
 * Read amplitudes from an MTZ, or from an mmCIF of reflections. The file may be compressed.
 * The reader expands the amplitudes by the space group of the file.
 *
 *   - Friedel mates are equal, except in pairs of columns such as F(+) and F(-), Fplus and
 *     Fminus, or pdbx_F_plus and pdbx_F_minus. Either name selects the pair.
 *   - Missing values are left out.
 *   - The F of an intensity is its square root, or 0 if the intensity is negative. Warnings
 *     say so, and state the number of negative intensities.
 *
 *   label    [in]   name of the column. NULL: the only column of amplitudes, or of
 *                   intensities if the file has no amplitudes except calculated amplitudes
 *   merge    [in]   enum nb_merge
 *   crystal  [out]  cell and space group of the file; may be NULL
 *   out      [out]  free with nb_hkl_free()
 *
 * Errors: a reader's (above); also NB_ERR_ARGUMENT for an unknown merge; and
 *   NB_ERR_FORMAT  there is no column with this label, or several columns if label is NULL;
 *                  the column has no amplitudes or intensities, or no value; rows disagree;
 *                  the MTZ is unmerged; the unit cell or a known space group is missing; or
 *                  the cell contradicts the group.
 */
NB_API nb_status nb_mtz_read(nb_context *ctx, const char *path, const char *label,
                             int merge, nb_crystal_info *crystal, nb_hkl **out);

/* Header of a written MTZ. */
typedef struct nb_mtz {
    double cell[6]; /*                                                   A, degree */
    double wavelength; /* 0: not stated                                  A         */
    const char *space_group; /* NULL: "P 1" */
    const char *label; /* name of the column, up to 24 letters; NULL: "FC" */
    const char *title; /* up to 70 letters; NULL: none */
    int friedel; /* 1: Friedel mates in two columns, LABEL(+) and LABEL(-) */
} nb_mtz;

/*
 * Write the asymmetric unit of a list as an MTZ.
 *
 *   - Amplitudes are one column of type F, or two columns of type G for Friedel mates
 *     apart.
 *   - If the list came from nb_structure_fcalc(), phases in degree follow, in a column of
 *     type P. Its name is PHI and the label.
 *   - Numbers are float32, as the format demands.
 *   - 0 0 0 and systematic absences are left out. A warning states the number of absences
 *     that have an F. There is no warning if the F came from a model.
 *   - If only the Friedel mate of a reflection is listed, the reflection still has a row.
 *     With mates apart, LABEL(+) is missing in this row. Otherwise F is the F of the mate.
 *
 * Errors: a writer's (above); also NB_ERR_ARGUMENT for an impossible cell, group or label,
 * and NB_ERR_FORMAT if the list has no reflection in the asymmetric unit.
 */
NB_API nb_status nb_mtz_write(nb_context *ctx, const char *path, const nb_mtz *mtz,
                              const nb_hkl *hkl);

NB_END_DECLS

#endif
