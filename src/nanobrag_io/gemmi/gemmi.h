/*
 * gemmi.h - the interface to gemmi, as plain C. gemmi reads models of atoms and reflections
 * with a space group, writes MTZ, and knows form factors and solvent masks.
 *
 * The files in C++ beside it implement it; without gemmi gemmi_missing.c does, and returns
 * NB_ERR_UNSUPPORTED. No exception leaves these functions. A failure is one line in `why`,
 * without the name of the file.
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
    char space_group[GEMMI_NAME]; /* Hermann-Mauguin symbol, with ":R" or the like */
    int noperator;
    struct gemmi_operator operator_of[GEMMI_OPERATORS]; /* centring included */
};

struct gemmi_atom {
    double position[3]; /* A, Cartesian */
    double b, occupancy; /* A^2 */
    double u[6]; /* U11 U22 U33 U12 U13 U23, A^2, Cartesian; all 0: isotropic */
    int element; /* place in the table of gemmi: 1 H ... 98 Cf, and D */
    char name[GEMMI_NAME]; /* chain, residue, atom, as "A LEU 12 CA" */
};

/* Choices and omissions of the reader of a model. gemmi_model.noted counts the atoms of
 * each kind; these atoms */
enum gemmi_note {
    GEMMI_NO_B, /* have no B and no tensor: they have GEMMI_B_UNKNOWN */
    GEMMI_NO_OCCUPANCY, /* have no occupancy: they have 1 */
    GEMMI_NO_ELEMENT, /* have no element in a PDB file: it is taken from their names */
    GEMMI_AFTER_END, /* follow the record END: they are not read */
    GEMMI_NOTES
};

#define GEMMI_B_UNKNOWN 50 /* A^2 */

/* A model of atoms, read from a file. */
struct gemmi_model {
    struct gemmi_crystal crystal;
    double fractional[12]; /* rows of the matrix from Cartesian, then the shift */
    double orthogonal[9]; /* rows of its inverse */
    size_t natom;
    struct gemmi_atom *atom; /* to be released with gemmi_model_free() */
    int nmodel; /* models in the file; the first is used */
    int ncopies; /* copies by non-crystallographic symmetry among the atoms */
    int short_lines; /* 1: an old PDB file, read without columns 73-80 */
    int no_end; /* 1: a PDB file without its last record, END */
    size_t noted[GEMMI_NOTES];
};

/* Coefficients of a form factor, f = sum a exp(-b s^2) + c, s = sin(theta)/lambda
 * (International Tables C, 1992, 6.1.1.4), and the name of the element. */
struct gemmi_form_factor {
    double a[4], b[4], c;
    int number; /* of the element */
    char name[4];
};

/* Reflections of a file, as listed there: not expanded. */
struct gemmi_reflections {
    struct gemmi_crystal crystal;
    size_t n;
    int *hkl; /* (n x 3), to be released with gemmi_reflections_free(), as f */
    double *f; /* F of hkl and of its Friedel mate, NaN where missing (n x 2) */
    int apart; /* 1: mates have columns of their own; 0: both have the same F */
    char column[GEMMI_NAME]; /* the column that was taken */
    int squares; /* 1: the column holds intensities; F is the root, or 0 for negative
                    ones */
    char calculated[GEMMI_NAME]; /* the column of calculated F that was not taken, or "" */
    int mateless; /* 1: a column of one Friedel mate, without the other mate's column */
    size_t negative; /* values below 0 */
    size_t
        unmeasured; /* values whose standard deviation, where there is one, is 0 or less */
    int blocks; /* further blocks of an mmCIF with reflections, which are not read */
};

/* Reads PDB or mmCIF from memory. Returns NB_ERR_FORMAT, NB_ERR_MEMORY. */
nb_status gemmi_model_read(const char *bytes, size_t n, struct gemmi_model *out,
                           char why[GEMMI_WHY]);
void gemmi_model_free(struct gemmi_model *model);

/* Returns the form factor of an element of a model. */
nb_status gemmi_form_factor_of(int element, struct gemmi_form_factor *out);

/* Returns f' and f'' of an element by the method of Cromer and Liberman; 0 0 for those
 * lighter than lithium and heavier than uranium. */
nb_status gemmi_anomalous(int element, double wavelength, double out[2]);

/* Returns the number of the element with this symbol; 0: there is none. */
int gemmi_element(const char *symbol);

/* A mask: 1 in the bulk solvent, 0 elsewhere; along a fastest, c slowest. */
struct gemmi_mask {
    int n[3]; /* points along a, b, c */
    float *value; /* to be released with free() */
};

/* Steps of the mask, A: fine enough to shrink the mask by 0.9 A. */
#define GEMMI_MASK_STEP 0.6

/* Makes the mask of the bulk solvent in steps of at most GEMMI_MASK_STEP and dmin/3, with
 * at least the given number of points along each axis. Returns NB_ERR_MEMORY,
 * NB_ERR_FORMAT. */
nb_status gemmi_solvent_mask(const struct gemmi_model *model, double dmin,
                             const int least[3], struct gemmi_mask *out,
                             char why[GEMMI_WHY]);

/* Reads MTZ or an mmCIF of reflections from memory. `label` names the column of F, or is
 * NULL. Returns NB_ERR_FORMAT, NB_ERR_MEMORY. */
nb_status gemmi_reflections_read(const char *bytes, size_t n, const char *label,
                                 struct gemmi_reflections *out, char why[GEMMI_WHY]);
void gemmi_reflections_free(struct gemmi_reflections *reflections);

/* The contents of an MTZ. `value` has ncolumn numbers for each reflection of the list. */
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
 * unknown. */
nb_status gemmi_space_group(const char *name, const double cell[6],
                            struct gemmi_crystal *out, char why[GEMMI_WHY]);

/* The kind of a space group's name: Hermann-Mauguin symbol, Hall symbol, or its number in
 * International Tables as text (CCP4's number above 230). */
enum gemmi_naming { GEMMI_HERMANN_MAUGUIN, GEMMI_HALL, GEMMI_NUMBER };

/* Finds a space group and its symbols. Returns NB_ERR_ARGUMENT if it is unknown,
 * NB_ERR_MEMORY. */
nb_status gemmi_symbols(enum gemmi_naming naming, const char *name,
                        char hermann_mauguin[GEMMI_NAME], char hall[GEMMI_NAME]);

/* Returns the crystal system of a space group (enum nb_system) by its Hermann-Mauguin
 * symbol; NB_SYSTEM_NONE if it is unknown, or monoclinic with another unique axis than b.
 */
int gemmi_system(const char *space_group);

/* Returns 1 if a reflection lies in the asymmetric unit that CCP4 uses for the group. */
int gemmi_in_asymmetric_unit(const struct gemmi_crystal *crystal, const int hkl[3]);

/* Makes the bytes of an MTZ, to be released with free(). */
nb_status gemmi_mtz_make(const struct gemmi_mtz *mtz, char **bytes, size_t *n,
                         char why[GEMMI_WHY]);

#ifdef __cplusplus
}
#endif

#endif
