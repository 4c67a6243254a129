/*
 * structure.h - structure factors of a model of atoms, their derivatives, and reflections
 * with a space group: from PDB, mmCIF and MTZ files to an nb_hkl, and back to the atoms.
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
 * Here r_j is the fractional position of atom j, R and t are the operators of the space
 * group, and s = 1/d. f is the form factor of International Tables C (1992), 6.1.1.4, as
 * four Gaussians and a constant, of the neutral atom; f' and f'' are by the method of
 * Cromer and Liberman; T is exp(-B s^2/4), or with ANISOU the tensor of the displacement; M
 * is the transform of a mask that is 1 in the bulk solvent. docs/structure_factors.md says
 * how to use this, and docs/theory.md, 14, how A is found by a Fourier transform of the
 * atoms' density.
 *
 * These functions need gemmi, except nb_structure_free() and the look-ups (a build without
 * it returns NB_ERR_UNSUPPORTED). An nb_structure never changes and may be shared between
 * threads. Results have the same bits for any number of threads.
 *
 * Errors of every call that reads or writes a file: NB_ERR_ARGUMENT (a NULL), NB_ERR_FILE,
 * NB_ERR_MEMORY, NB_ERR_CANCELLED, and for reading NB_ERR_FORMAT (io.h).
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
 * Find which numbers of a cell a space group ties: its crystal system, for
 * nb_crystal.system.
 *
 *   space_group  [in]  Hermann-Mauguin symbol
 *   cell         [in]  a b c alpha beta gamma, A and degree                     (6)
 *
 * Returns enum nb_system; NB_SYSTEM_NONE if the group is unknown or monoclinic with another
 * unique axis than b, if the cell contradicts the system by more than 1e-6, and in a build
 * without gemmi.
 */
NB_API int nb_crystal_system(const char *space_group, const double cell[6]);

typedef struct nb_atom {
    char name[40]; /* chain, residue, atom, conformer, as "A LEU 12 CA" */
    char element[4]; /* symbol in capitals */
    double position[3]; /* Cartesian, in the frame of the file             A      */
    double b; /* isotropic displacement; with ANISOU its equivalent        A^2    */
    double occupancy;
    int anisotropic; /* 1: the file has ANISOU for it */
} nb_atom;

enum { NB_ATOM_NUMBERS = 5 }; /* free numbers of an atom: x y z B occupancy */

/*
 * Read a model from a PDB or mmCIF file, which may be compressed (gzip). If the file has
 * several models the first is taken, with a warning. Alternate conformers count by their
 * occupancy. Atoms that MTRIX or _struct_ncs_oper asks for are added at the end, with a
 * note.
 *
 * A missing B is taken as 50 A^2, a missing occupancy as 1. A missing element symbol of a
 * PDB file is taken from the name of the atom. Atoms after the record END are not read. A
 * warning counts each of these cases.
 *
 *   out  [out]  free with nb_structure_free()
 *
 * Errors: a reader's (above); NB_ERR_FORMAT also without a unit cell, atoms, a known space
 * group and known elements, for an occupancy that is not from 0 to 1, or where the cell
 * contradicts the group.
 */
NB_API nb_status nb_structure_read(nb_context *ctx, const char *path, nb_structure **out);

/* Free a model; NULL is allowed. */
NB_API void nb_structure_free(nb_structure *structure);

/* Read cell and space group; nothing is written if an argument is NULL. */
NB_API void nb_structure_crystal(const nb_structure *structure, nb_crystal_info *out);

/* The number of atoms; 0 for NULL. */
NB_API size_t nb_structure_natom(const nb_structure *structure);

/* Look up atom i. Returns 1, or 0 if there is none or an argument is NULL. */
NB_API int nb_structure_atom(const nb_structure *structure, size_t i, nb_atom *out);

/* Copy the free numbers of all atoms to x: rows x y z B occupancy  (natom x 5); A, A^2. */
NB_API void nb_structure_numbers(const nb_structure *structure, double *x);

/* ---- structure factors ---- */

/* f' and f'' of an element, in place of the values by Cromer and Liberman's method. */
typedef struct nb_anomalous {
    char element[4]; /* symbol, as "SE" or "Se" */
    double f_prime, f_double_prime; /*                                       electron */
} nb_anomalous;

/* How A is found. NB_FCALC_AUTO: by direct summation below 100 atoms and in a build without
 * FFTW, else by a Fourier transform. */
enum { NB_FCALC_AUTO, NB_FCALC_DIRECT, NB_FCALC_FFT };

/* A calculation of structure factors. A zero-initialised member means its default. */
typedef struct nb_fcalc {
    double dmin; /* every reflection of this spacing or larger is listed     A      */
    double wavelength; /* for f' and f''; 0: without them, and Friedel mates are equal A */
    double k_sol, b_sol; /* of the bulk solvent: density, displacement; usual 0.35, 46;
                            k_sol 0: none                           electron/A^3, A^2 */
    double tolerance; /* of NB_FCALC_FFT: sum of the errors of |F|, as a fraction of
                         the sum of |F|; 1e-10 to 0.01; 0: 1e-5 */
    int method; /* enum NB_FCALC_... */
    const nb_anomalous *anomalous; /* (nanomalous); needs a wavelength */
    size_t nanomalous;
} nb_fcalc;

/*
 * List |F| of every reflection up to a resolution, except 0 0 0: the whole sphere, with all
 * equivalents. Systematic absences are listed as 0.
 *
 *   structure  [in]   a model
 *   how        [in]   what to calculate
 *   x          [in]   x y z B occupancy of each atom; NULL: as in the file     (natom x 5)
 *   out        [out]  free with nb_hkl_free(); it remembers the phases
 *
 * With ANISOU, B - B of the file is added to the diagonal of the tensor. The solvent's mask
 * always follows the positions in the file.
 *
 * Errors:
 *   NB_ERR_ARGUMENT     a NULL; a member of `how` or of x out of range (B from -10 to
 *                       2000 A^2); no reflection up to dmin, or more than nb_hkl_create()
 *                       allows; a grid of more than 8192 points along an axis.
 *   NB_ERR_UNSUPPORTED  NB_FCALC_FFT and the solvent in a build without FFTW; a build
 *                       without gemmi.
 *   NB_ERR_MEMORY, NB_ERR_CANCELLED.
 */
NB_API nb_status nb_structure_fcalc(nb_context *ctx, const nb_structure *structure,
                                    const nb_fcalc *how, const double *x, nb_hkl **out);

/*
 * bar_x += (d|F|/dx)^T bar_f: the gradient of a function of |F| with respect to the atoms.
 *
 *   structure, how, x  [in]      as nb_structure_fcalc() was called with
 *   hkl                [in]      the list that it made
 *   bar_f              [in]      dL/d|F|, in the order of nb_hkl_reflections()  (n)
 *   bar_x              [in,out]  dL/dx, dL/dy, dL/dz, dL/dB, dL/d occupancy    (natom x 5)
 *
 * This is the derivative of the computed |F|: the reach of an atom's density does
 * not depend on x within 0.25 A and 1 A^2 of the file's numbers. Where F = 0, and the
 * modulus has no derivative, it is taken as 0. The solvent's mask is constant.
 *
 * Errors: as nb_structure_fcalc(); NB_ERR_ARGUMENT also for another list.
 */
NB_API nb_status nb_structure_vjp(nb_context *ctx, const nb_structure *structure,
                                  const nb_fcalc *how, const double *x, const nb_hkl *hkl,
                                  const double *bar_f, double *bar_x);

/*
 * dot_f = (d|F|/dx) dot_x: the change of |F| with the atoms.
 *
 *   structure, how, x, hkl  [in]   as in nb_structure_vjp()
 *   dot_x                   [in]   change of the atoms' numbers             (natom x 5)
 *   dot_f                   [out]  change of |F|, in the order of nb_hkl_reflections()
 *                                                                           (n)
 *
 * Errors: as nb_structure_fcalc(); NB_ERR_ARGUMENT also for another list.
 */
NB_API nb_status nb_structure_jvp(nb_context *ctx, const nb_structure *structure,
                                  const nb_fcalc *how, const double *x, const nb_hkl *hkl,
                                  const double *dot_x, double *dot_f);

/* ---- reflections with a space group ---- */

/* How to treat rows of a file that disagree about F of one reflection. Such rows name the
 * same reflection or an equivalent by the space group or, where mates have no columns of
 * their own, the Friedel mate. Rows that agree to 1e-6 count as one row. */
enum nb_merge {
    NB_MERGE_NONE, /* the file is refused, and the message names two of them */
    NB_MERGE_MEAN, /* take the mean of F */
    NB_MERGE_FIRST, /* take the first row */
    NB_MERGE_LAST, /* take the last row */
    NB_MERGE_MATES /* keep Friedel mates in rows of their own apart, refuse every other
                      disagreement */
};

/*
 * Read amplitudes from an MTZ, or from an mmCIF of reflections, which may be compressed,
 * and expand them by the space group of the file. Friedel mates are equal, except in pairs
 * of columns such as F(+) and F(-), Fplus and Fminus or pdbx_F_plus and pdbx_F_minus;
 * either name selects the pair. Missing values are left out. From intensities F is the
 * square root, and 0 where they are negative. Warnings say so, and count negative values.
 *
 *   label    [in]   the column; NULL: the only one of amplitudes. Intensities are taken
 *                   where the file has no amplitudes but calculated ones
 *   merge    [in]   enum nb_merge
 *   crystal  [out]  cell and space group of the file; may be NULL
 *   out      [out]  free with nb_hkl_free()
 *
 * Errors: a reader's (above); NB_ERR_ARGUMENT also for an unknown merge; and
 *   NB_ERR_FORMAT  no column of the label, or several where none is named; a column that
 *                  holds no amplitudes and no intensities, or no value; rows that disagree;
 *                  an unmerged MTZ; no unit cell, no known space group, or a cell that
 *                  contradicts the group.
 */
NB_API nb_status nb_mtz_read(nb_context *ctx, const char *path, const char *label,
                             int merge, nb_crystal_info *crystal, nb_hkl **out);

/* Header of a written MTZ. */
typedef struct nb_mtz {
    double cell[6]; /*                                                   A, degree */
    double wavelength; /* 0: it is not said                              A         */
    const char *space_group; /* NULL: "P 1" */
    const char *label; /* name of the column, up to 24 letters; NULL: "FC" */
    const char *title; /* up to 70 letters; NULL: none */
    int friedel; /* 1: mates apart, as LABEL(+) and LABEL(-) */
} nb_mtz;

/*
 * Write the asymmetric unit of a list as an MTZ: one column of type F, or two of type G
 * with mates apart. If the list came from nb_structure_fcalc(), phases in degree follow, of
 * type P, named PHI and the label. Numbers are float32, as the format has it. 0 0 0 and
 * systematic absences are left out; a warning counts absences that have an F, unless a
 * model gave it. A reflection that is listed by its Friedel mate alone has a row: with
 * mates apart LABEL(+) is missing there, else F is the mate's.
 *
 * Errors: a writer's (above); NB_ERR_ARGUMENT also for an impossible cell, group or label;
 * NB_ERR_FORMAT if the list does not reach into the asymmetric unit.
 */
NB_API nb_status nb_mtz_write(nb_context *ctx, const char *path, const nb_mtz *mtz,
                              const nb_hkl *hkl);

NB_END_DECLS

#endif
