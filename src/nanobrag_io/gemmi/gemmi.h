/*
 * gemmi.h - the functions of the library gemmi that are used, as plain C: it reads models
 * of atoms and reflections with a space group, writes MTZ, and knows form factors and
 * solvent masks.
 *
 * The .cpp files of this folder implement it. In a build without gemmi, gemmi_missing.c
 * does, and returns NB_ERR_UNSUPPORTED. No exception leaves these functions. After a
 * failure `why` is one line of text without the name of the file.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_GEMMI_GEMMI_H
#define NB_IO_GEMMI_GEMMI_H

#include <stddef.h>

#include <nanobrag/scene.h>
#include <nanobrag/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    GEMMI_WHY = 512, /* bytes of a message */
    GEMMI_NAME = 40, /* bytes of the name of an atom, a column or a space group */
    GEMMI_OPERATORS = 192, /* most operators of a space group */
    GEMMI_SHIFT = 24 /* shifts are in 24ths of the cell edges */
};

/* A symmetry operator: x' = rotation x + shift/24, of fractional coordinates. */
struct gemmi_operator {
    int rotation[3][3], shift[3];
};

/* A cell and its space group. */
struct gemmi_crystal {
    double cell[6]; /* A, degree */
    char space_group[GEMMI_NAME]; /* Hermann-Mauguin symbol, with an extension such as
                                     ":R" */
    int noperator;
    struct gemmi_operator operator_of[GEMMI_OPERATORS]; /* with operators by centring */
};

struct gemmi_atom {
    double position[3]; /* A, Cartesian */
    double b, occupancy; /* isotropic B, A^2; 0 to 1 */
    double u[6]; /* U11 U22 U33 U12 U13 U23, A^2, Cartesian; all 0: b counts */
    int element; /* number in gemmi's table: 1 H ... 98 Cf, and D */
    char name[GEMMI_NAME]; /* chain, residue, atom, as "A LEU 12 CA" */
};

/* What the reader of a model chose or left out. gemmi_model.noted counts the atoms in each
 * case. */
enum gemmi_note {
    GEMMI_NO_B, /* without B and tensor: B is GEMMI_B_UNKNOWN */
    GEMMI_NO_OCCUPANCY, /* without occupancy: it is 1 */
    GEMMI_NO_ELEMENT, /* without element in a PDB file: the atom's name gives it */
    GEMMI_AFTER_END, /* behind the record END: not read */
    GEMMI_NOTES
};

#define GEMMI_B_UNKNOWN 50 /* the B of atoms without one, A^2 */

/* A model of atoms, read from a file. */
struct gemmi_model {
    struct gemmi_crystal crystal;
    double fractional[12]; /* matrix (rows) from Cartesian to fractional, then a shift */
    double orthogonal[9]; /* the inverse of that matrix (rows) */
    size_t natom;
    struct gemmi_atom *atom; /* freed by gemmi_model_free() */
    int nmodel; /* number of models in the file; only the first is read */
    int ncopies; /* number of copies by non-crystallographic symmetry, whose atoms are in
                    `atom` */
    int short_lines; /* 1: an old PDB file, whose columns 73-80 were not read */
    int no_end; /* 1: a PDB file without the record END */
    size_t noted[GEMMI_NOTES];
};

/* Coefficients of an element's form factor, f = sum of a exp(-b s^2) + c with s =
 * sin(theta)/lambda (International Tables C, 1992, 6.1.1.4). */
struct gemmi_form_factor {
    double a[4], b[4], c;
    int number; /* atomic number */
    char name[4];
};

/* the reflections of a file as they are listed, not expanded by symmetry */
struct gemmi_reflections {
    struct gemmi_crystal crystal;
    size_t n;
    int *hkl; /* (n x 3); both freed by gemmi_reflections_free() */
    double *f; /* (n x 2) F of hkl and of its Friedel mate; NaN if missing */
    int apart; /* 1: Friedel mates have columns of their own; 0: one F for both */
    char column[GEMMI_NAME]; /* the column that F comes from */
    int squares; /* 1: the column has intensities; F is their square root, or 0 if
                    negative */
    char calculated[GEMMI_NAME]; /* a column of calculated F that was passed over, or "" */
    int mateless; /* 1: the column is of one Friedel mate, and the other's is missing */
    size_t negative; /* number of values below 0 */
    size_t unmeasured; /* number of values with a sigma of 0 or less */
    int blocks; /* number of further mmCIF blocks with reflections, not read */
};

/* Reads a model of atoms, PDB or mmCIF, from memory. The caller calls gemmi_model_free().
 * Returns NB_ERR_FORMAT, NB_ERR_MEMORY. */
nb_status gemmi_model_read(const char *bytes, size_t n, struct gemmi_model *out,
                           char why[GEMMI_WHY]);
void gemmi_model_free(struct gemmi_model *model);

/* Finds the form factor of an element (gemmi_atom.element). Returns NB_ERR_ARGUMENT without
 * one. */
nb_status gemmi_form_factor_of(int element, struct gemmi_form_factor *out);

/* Finds f' and f'' of an element (gemmi_atom.element) at a wavelength, A, by the method of
 * Cromer and Liberman. Both are 0 for elements lighter than Li or heavier than U. */
nb_status gemmi_anomalous(int element, double wavelength, double out[2]);

/* Returns the gemmi_atom.element of an element's symbol; 0 if there is none. */
int gemmi_element(const char *symbol);

/* A mask of the cell: 1 in the bulk solvent and 0 elsewhere. Points along a are next to
 * each other; c is the slowest axis. */
struct gemmi_mask {
    int n[3]; /* points along a, b, c */
    float *value; /* freed by the caller */
};

/* largest step of the mask, A: fine enough to shrink the mask by 0.9 A */
#define GEMMI_MASK_STEP 0.6

/* Makes the mask of the bulk solvent. Steps are at most GEMMI_MASK_STEP and dmin/3, and
 * there are at least least[i] points along axis i. Returns NB_ERR_MEMORY, NB_ERR_FORMAT. */
nb_status gemmi_solvent_mask(const struct gemmi_model *model, double dmin,
                             const int least[3], struct gemmi_mask *out,
                             char why[GEMMI_WHY]);

/* Reads reflections, MTZ or mmCIF, from memory. `label` names the column of F; NULL: the
 * reader chooses. Returns NB_ERR_FORMAT, NB_ERR_MEMORY. */
nb_status gemmi_reflections_read(const char *bytes, size_t n, const char *label,
                                 struct gemmi_reflections *out, char why[GEMMI_WHY]);
void gemmi_reflections_free(struct gemmi_reflections *reflections);

/* the contents of an MTZ to write, with ncolumn values for each of n reflections */
struct gemmi_mtz {
    const char *title, *space_group;
    double cell[6], wavelength;
    int ncolumn;
    char label[4][GEMMI_NAME], type[4];
    size_t n;
    const int *hkl; /* (n x 3) */
    const float *value; /* (n x ncolumn) */
};

/* Finds the operators of a space group by its name. Returns NB_ERR_ARGUMENT if the name is
 * unknown or the cell lacks the group's symmetry. */
nb_status gemmi_space_group(const char *name, const double cell[6],
                            struct gemmi_crystal *out, char why[GEMMI_WHY]);

/* How a space group is named: by Hermann-Mauguin symbol, by Hall symbol, or by its number
 * in International Tables as text (above 230, CCP4's number). */
enum gemmi_naming { GEMMI_HERMANN_MAUGUIN, GEMMI_HALL, GEMMI_NUMBER };

/* Finds the Hermann-Mauguin and the Hall symbol of a space group. Returns NB_ERR_ARGUMENT
 * if the name is unknown, NB_ERR_MEMORY. */
nb_status gemmi_symbols(enum gemmi_naming naming, const char *name,
                        char hermann_mauguin[GEMMI_NAME], char hall[GEMMI_NAME]);

/* Returns the crystal system, enum nb_system, of a space group given by its Hermann-Mauguin
 * symbol. Returns NB_SYSTEM_NONE for an unknown symbol, and for monoclinic groups whose
 * unique axis is not b. */
int gemmi_system(const char *space_group);

/* Returns 1 if a reflection lies in the asymmetric unit that CCP4 uses for the space
 * group. */
int gemmi_in_asymmetric_unit(const struct gemmi_crystal *crystal, const int hkl[3]);

/* Makes the bytes of an MTZ; the caller frees *bytes. Returns NB_ERR_FORMAT,
 * NB_ERR_MEMORY. */
nb_status gemmi_mtz_make(const struct gemmi_mtz *mtz, char **bytes, size_t *n,
                         char why[GEMMI_WHY]);

#ifdef __cplusplus
}
#endif

#endif
