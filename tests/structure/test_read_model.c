/*
 * test_read_model.c - models of atoms from PDB and mmCIF: what is read, and what is
 * refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "structure/models.h"
#include "support/files.h"

#define CRYST1 "CRYST1   40.000   50.000   60.000  90.00  90.00  90.00 P 21 21 21\n"
#define ATOM(xyz, occupancy_b, rest)                                                       \
    "ATOM      1  CA  GLY A   7    " xyz occupancy_b "          " rest "\n"
#define CARBON ATOM("   1.000   2.000   3.000", "  1.00 20.00", " C")

static void check_number(const char *what, double found, double expected)
{
    /* PDB has 3 decimals, and gemmi keeps B and occupancy as float */
    tap_close(what, found, expected, 1e-6 * fmax(fabs(expected), 1));
}

static int model_2erl(void)
{
    static const double cell[6] = {53.91, 23.1, 23.1, 90, 110.4, 90};
    nb_structure *structure = model_read(ctx, model_named("2erl"));
    nb_crystal_info crystal;
    nb_atom atom;
    double *x = malloc(nb_structure_natom(structure) * NB_ATOM_NUMBERS * sizeof *x);

    nb_structure_crystal(structure, &crystal);
    for (int i = 0; i < 6; i++)
        check_number("number of the cell", crystal.cell[i], cell[i]);
    tap_check(strcmp(crystal.space_group, "C 1 2 1") == 0 && crystal.noperator == 4,
              "space group '%s' of %d operators", crystal.space_group, crystal.noperator);
    tap_check(nb_structure_natom(structure) == 638, "%zu atoms",
              nb_structure_natom(structure));
    tap_check(nb_structure_atom(structure, 0, &atom), "the first atom");
    tap_check(strcmp(atom.element, "N") == 0 && atom.anisotropic
                  && strstr(atom.name, "ASP 1 N"),
              "'%s' of element %s, anisotropic %d", atom.name, atom.element,
              atom.anisotropic);
    nb_structure_numbers(structure, x);
    for (int k = 0; k < 3; k++) check_number("coordinate in both", x[k], atom.position[k]);
    check_number("B in both", x[3], atom.b);
    check_number("occupancy in both", x[4], atom.occupancy);
    /* ANISOU of atom 1: U11, U22, U33 of the file */
    check_number("B that is equivalent to ANISOU", atom.b,
                 8 * 9.869604401089358 * (4511 + 1973 + 3226) * 1e-4 / 3);
    tap_check(!nb_structure_atom(structure, 638, &atom)
                  && !nb_structure_atom(structure, 0, NULL)
                  && !nb_structure_atom(NULL, 0, &atom) && nb_structure_natom(NULL) == 0,
              "no atom 638, no atom of NULL");
    free(x);
    nb_structure_free(structure);
    nb_structure_free(NULL);
    return TAP_PASS;
}

/* A compressed mmCIF. */
static int model_1cbs(void)
{
    nb_structure *structure = model_read(ctx, model_named("1cbs"));
    nb_crystal_info crystal;

    nb_structure_crystal(structure, &crystal);
    check_number("a of the cell", crystal.cell[0], 45.65);
    tap_check(strcmp(crystal.space_group, "P 21 21 21") == 0 && crystal.noperator == 4,
              "space group '%s' of %d operators", crystal.space_group, crystal.noperator);
    tap_check(nb_structure_natom(structure) == 1213, "%zu atoms",
              nb_structure_natom(structure));
    nb_structure_free(structure);
    return TAP_PASS;
}

/* ---- what is read ---- */

static size_t atoms_of(const char *text, nb_atom *last)
{
    nb_status status;
    nb_structure *structure = model_of_text(ctx, text, &status);
    const size_t n = nb_structure_natom(structure);

    check_ok(status, "a text");
    if (n > 0) (void)nb_structure_atom(structure, n - 1, last);
    nb_structure_free(structure);
    return n;
}

/* Columns 73-80 of files older than 1996. */
static int old_columns(void)
{
    static const char text[] =
        "CRYST1   40.000   50.000   60.000  90.00  90.00  90.00 P 21 21 21  4  9HPV 179\n"
        "ATOM      1  CA  GLY A   7       1.000   2.000   3.000  1.00 20.00      9HPV "
        "181\n";
    nb_atom atom;

    tap_check(atoms_of(text, &atom) == 1 && strcmp(atom.element, "C") == 0,
              "one atom, of element %s", atom.element);
    check_number("B", atom.b, 20);
    return TAP_PASS;
}

static int first_model(void)
{
    static const char text[] = CRYST1
        "MODEL        1\n" CARBON "ENDMDL\nMODEL        2\n" CARBON
        "ATOM      2  CB  ALA A   7       1.000   2.000   3.000  1.00 20.00           C\n"
        "ENDMDL\n";
    nb_atom atom;

    tap_check(atoms_of(text, &atom) == 1, "the atom of the first model");
    return TAP_PASS;
}

/* Two conformers of half the atom give F of the whole one. */
static int conformers(void)
{
    static const char two[] = CRYST1
        "ATOM      1  CA AGLY A   7       1.000   2.000   3.000  0.30 20.00           C\n"
        "ATOM      2  CA BGLY A   7       1.000   2.000   3.000  0.70 20.00           C\n";
    const nb_fcalc how = {.dmin = 3};
    nb_status status[2];
    nb_structure *structure[2] = {model_of_text(ctx, two, &status[0]),
                                  model_of_text(ctx, CRYST1 CARBON, &status[1])};
    double f[2] = {NAN, NAN};

    for (int i = 0; i < 2; i++) {
        nb_hkl *list = model_list(ctx, structure[i], &how, NULL);

        (void)nb_hkl_get(list, 2, 3, 4, &f[i]);
        nb_hkl_free(list);
        nb_structure_free(structure[i]);
    }
    /* 0.3 and 0.7 are floats */
    tap_close("F of two conformers", f[0], f[1], 1e-6 * f[1]);
    return TAP_PASS;
}

/* MTRIX that is not given moves the atom: x' = -x, y' = -y, z' = z + 10. */
static int copies(void)
{
    static const char text[] =
        CRYST1 "MTRIX1   1 -1.000000  0.000000  0.000000        0.00000\n"
               "MTRIX2   1  0.000000 -1.000000  0.000000        0.00000\n"
               "MTRIX3   1  0.000000  0.000000  1.000000       10.00000\n" CARBON;
    nb_atom atom = {.b = 0};

    tap_check(atoms_of(text, &atom) == 2, "two atoms");
    check_number("x of the copy", atom.position[0], -1);
    check_number("y of the copy", atom.position[1], -2);
    check_number("z of the copy", atom.position[2], 13);
    return TAP_PASS;
}

/* ---- what is missing ---- */

#define CIF_HEAD                                                                           \
    "data_x\n_cell.length_a 40\n_cell.length_b 50\n_cell.length_c 60\n"                    \
    "_cell.angle_alpha 90\n_cell.angle_beta 90\n_cell.angle_gamma 90\n"
#define CIF_OF(group, items, row)                                                          \
    CIF_HEAD group                                                                         \
        " 'P 21 21 21'\nloop_\n_atom_site.id\n_atom_site.type_symbol\n"                    \
        "_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n" items row
#define SYMMETRY  "_symmetry.space_group_name_H-M"
#define OCCUPANCY "_atom_site.occupancy\n"
#define B_ISO     "_atom_site.B_iso_or_equiv\n"
#define TENSOR(of, prefix)                                                                 \
    prefix of "[1][1]\n" prefix of "[2][2]\n" prefix of "[3][3]\n" prefix of               \
              "[1][2]\n" prefix of "[1][3]\n" prefix of "[2][3]\n"
#define OF_ATOM(of) "loop_\n_atom_site_anisotrop.id\n" TENSOR(of, "_atom_site_anisotrop.")
#define MARK        "\xEF\xBB\xBF"

/* B and occupancy of the last atom, and what is said of the file. */
static int missing(void)
{
    static const struct {
        const char *text;
        double b, occupancy;
        const char *said; /* NULL: nothing */
    } cases[] = {
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO, "1 C 1 2 3 0.5 20\n"), 20, 0.5, NULL},
        {MARK CIF_OF(SYMMETRY, OCCUPANCY B_ISO, "1 C 1 2 3 0.5 20\n"), 20, 0.5, NULL},
        {CIF_OF("_space_group.name_H-M_alt", OCCUPANCY B_ISO, "1 C 1 2 3 0.5 20\n"), 20,
         0.5, NULL},
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO, "1 C 1 2 3 0.5 ?\n2 C 1 2 3 0.5 .\n"), 50, 0.5,
         "without B get 50 A^2: 2 of them"},
        {CIF_OF(SYMMETRY, OCCUPANCY, "1 C 1 2 3 0.5\n"), 50, 0.5, "50 A^2: 1 of"},
        {CIF_OF(SYMMETRY, B_ISO, "1 C 1 2 3 20\n"), 20, 1,
         "without an occupancy get one of 1: 1 of them"},
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO, "1 C 1 2 3 ? 20\n"), 20, 1, "one of 1: 1 of"},
        {CIF_OF(SYMMETRY, OCCUPANCY "_atom_site.U_iso_or_equiv\n", "1 C 1 2 3 1 0.25\n"),
         8 * 9.869604401089358 * 0.25, 1, NULL},
        /* U of 0.1, 0.2, 0.3 A^2 four ways: B is that of their mean */
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO, "1 C 1 2 3 1 ?\n")
             OF_ATOM("U") "1 .1 .2 .3 0 0 0\n",
         8 * 9.869604401089358 * 0.2, 1, NULL},
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO, "1 C 1 2 3 1 ?\n") OF_ATOM(
             "B") "1 7.895683520871486 15.791367041742973 23.687050562614460 0 0 0\n",
         8 * 9.869604401089358 * 0.2, 1, NULL},
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO TENSOR("aniso_U", "_atom_site."),
                "1 C 1 2 3 1 ? .1 .2 .3 0 0 0\n"),
         8 * 9.869604401089358 * 0.2, 1, NULL},
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO TENSOR("aniso_B", "_atom_site."),
                "1 C 1 2 3 1 ? 7.895683520871486 15.791367041742973 23.687050562614460 0 "
                "0 0\n"),
         8 * 9.869604401089358 * 0.2, 1, NULL},
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO, "1 C 1 2 3 1 30\n")
             OF_ATOM("U") "1 ? ? ? ? ? ?\n",
         30, 1, NULL},
        {CRYST1 CARBON "END\n", 20, 1, NULL},
        {MARK CRYST1 CARBON "END\n", 20, 1, NULL},
        {CRYST1 ATOM("   1.000   2.000   3.000", "  0.50      ", " C") "END\n", 50, 0.5,
         "50 A^2: 1 of"},
        {CRYST1 "ATOM      1  CA  GLY A   7       1.000   2.000   3.000  0.50\nEND\n", 50,
         0.5, "50 A^2: 1 of"},
        {CRYST1 ATOM("   1.000   2.000   3.000", "       20.00", " C") "END\n", 20, 1,
         "one of 1: 1 of"},
        {CRYST1 ATOM("   1.000   2.000   3.000", "  0.50 20.00", "  ") "END\n", 20, 0.5,
         "columns 77-78) get the element of their names: 1 of"},
        {CRYST1 CARBON "END\n" CARBON CARBON "END\n", 20, 1,
         "after the record END are not read: 2 of them; remove END"},
        {CRYST1 ATOM("   1.000   2.000   3.000", "  0.50      ",
                     " C") "ANISOU    1  CA  GLY A   7     1000   2000   "
                           "3000      0      0      0       C\nEND\n",
         8 * 9.869604401089358 * 0.2, 0.5, NULL},
    };
    nb_context *const plain = ctx;
    nb_atom atom = {.b = 0};

    ctx = model_listener();
    for (size_t i = 0; i < COUNT(cases); i++) {
        const size_t n = atoms_of(cases[i].text, &atom);
        const char *heard = model_heard();

        tap_check(n > 0, "case %zu: %zu atoms", i, n);
        check_number("B", atom.b, cases[i].b);
        check_number("occupancy", atom.occupancy, cases[i].occupancy);
        tap_check(cases[i].said ? strstr(heard, cases[i].said) != NULL : !*heard,
                  "says '%s'", heard);
    }
    nb_context_free(ctx);
    ctx = plain;
    return TAP_PASS;
}

/* ---- what is refused ---- */

struct bad {
    const char *text, *part, *other;
};

static int refuse_all(const struct bad *bad, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        nb_status status;
        nb_structure *structure = model_of_text(ctx, bad[i].text, &status);

        check_refused(status, NB_ERR_FORMAT, bad[i].part, bad[i].other);
        tap_check(!structure, "and gives no model");
    }
    return TAP_PASS;
}

static int bad_pdb(void)
{
    static const struct bad bad[] = {
        {"", "no atoms", "input"},
        {"no words of PDB\n", "no atoms", "ATOM"},
        {CARBON, "no unit cell", "CRYST1"},
        {"CRYST1    1.000    1.000    1.000  90.00  90.00  90.00 P 1\n" CARBON,
         "no unit cell", ""},
        {"CRYST1   40.000   50.000   60.000  90.00  90.00   0.10 P 1\n" CARBON,
         "no unit cell", ""},
        {CRYST1, "no atoms", "whole"},
        {"CRYST1   40.000   50.000   60.000  90.00  90.00  90.00\n" CARBON,
         "no space group", ""},
        {"CRYST1   40.000   50.000   60.000  90.00  90.00  90.00 P 21 21 2 X\n" CARBON,
         "space group 'P 21 21 2 X'", "unknown"},
        {"CRYST1   40.000   50.000   60.000  90.00  90.00  90.00 P 43 21 2\n" CARBON,
         "symmetry", "P 43 21 2"},
        {"CRYST1   40.000   50.000   60.000  90.00 100.00  90.00 P 21 21 21\n" CARBON,
         "symmetry", "P 21 21 21"},
        {CRYST1 "ATOM      1  Q   GLY A   7       1.000   2.000   3.000  1.00 20.00"
                "           X\n",
         "unknown element", "GLY 7 Q"},
        {CRYST1 "ATOM      1 ES    ES A   7       1.000   2.000   3.000  1.00 20.00"
                "          ES\n",
         "unknown element", "ES"},
        {CRYST1 ATOM("   1.000   2.000   3.000", "  1.00-60.00", " C"), "-60 A^2", "CA"},
        {CRYST1 CARBON "ANISOU    1  CA  GLY A   7   300000 300000 300000      0      0"
                       "      0       C\n",
         "ANISOU", "CA"},
        {CRYST1 CARBON "ANISOU    1  CA  GLY A   7     1000   1000   1000   9000      0"
                       "      0       C\n",
         "ANISOU", "CA"},
        {CRYST1 "SCALE1      0.050000  0.000000  0.000000        0.00000\n"
                "SCALE2      0.000000  0.020000  0.000000        0.00000\n"
                "SCALE3      0.000000  0.000000  0.016667        0.00000\n" CARBON,
         "SCALE", "cell"},
        {CRYST1 "ATOM      1  CA  GLY A   7       1.000   2.000\n", "too short", "line 2"},
        {CRYST1 ATOM("   1.000   2.000   3.000", " -1.00 20.00", " C"), "occupancy of -1",
         "0 to 1"},
        {CRYST1 ATOM("   1.000   2.000   3.000", "  1.01 20.00", " C"), "occupancy of 1.01",
         "0 to 1"},
        {CRYST1 ATOM("   1.000   2.000   3.000", "  x.00 20.00", " C"), "is no occupancy",
         "line 2"},
        {CRYST1 ATOM("   1.000   2.000   3.000", "  1.00******", " C"), "is no B",
         "line 2"},
    };

    return refuse_all(bad, COUNT(bad));
}

#define CIF_CELL                                                                           \
    "data_x\n_cell.length_a 40\n_cell.length_b 50\n_cell.length_c 60\n"                    \
    "_cell.angle_alpha 90\n_cell.angle_beta 90\n_cell.angle_gamma 90\n"
#define CIF_GROUP "_symmetry.space_group_name_H-M 'P 21 21 21'\n"
#define CIF_ATOMS                                                                          \
    "loop_\n_atom_site.group_PDB\n_atom_site.id\n_atom_site.type_symbol\n"                 \
    "_atom_site.label_atom_id\n_atom_site.label_alt_id\n_atom_site.label_comp_id\n"        \
    "_atom_site.label_asym_id\n_atom_site.label_entity_id\n_atom_site.label_seq_id\n"      \
    "_atom_site.pdbx_PDB_ins_code\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n"               \
    "_atom_site.Cartn_z\n_atom_site.occupancy\n_atom_site.B_iso_or_equiv\n"                \
    "_atom_site.auth_seq_id\n_atom_site.auth_asym_id\n"

static int bad_cif(void)
{
    static const struct bad bad[] = {
        {"data_x\n", "no atoms", "_atom_site"},
        {CIF_CELL CIF_GROUP, "no atoms", ""},
        {"data_x\n" CIF_GROUP CIF_ATOMS "ATOM 1 C CA . GLY A 1 7 ? 1 2 3 1 20 7 A\n",
         "no unit cell", ""},
        {CIF_CELL CIF_ATOMS "ATOM 1 C CA . GLY A 1 7 ? 1 2 3 1 20 7 A\n", "no space group",
         ""},
        {CIF_CELL CIF_GROUP CIF_ATOMS "ATOM 1 Qq CA . GLY A 1 7 ? 1 2 3 1 20 7 A\n",
         "unknown element", ""},
        {CIF_CELL CIF_GROUP CIF_ATOMS "ATOM 1 C CA . GLY A 1 7 ? 1 2 3 1 9e9 7 A\n", "B",
         ""},
        {CIF_CELL CIF_GROUP CIF_ATOMS "ATOM 1 C CA . GLY A 1 7 ? ? 2 3 1 20 7 A\n",
         "position", ""},
        {CIF_CELL CIF_GROUP CIF_ATOMS "ATOM 1 C CA .\n", "mmCIF", ""},
        {"data_x\nloop_\n", "mmCIF", ""},
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO, "1 C 1 2 3 -1 20\n"), "occupancy of -1",
         "0 to 1"},
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO, "1 C 1 2 3 one 20\n"), "occupancy", "'one'"},
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO, "1 C 1 2 3 1 big\n"), "B_iso_or_equiv", "'big'"},
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO, "1 C 1 2 3 1 20\n")
             OF_ATOM("U") "1 .1 .2 ? 0 0 0\n",
         "tensor", "'?'"},
        {CIF_OF(SYMMETRY, OCCUPANCY B_ISO, "1 C 1 2 3 1 20\n")
             OF_ATOM("V") "1 .1 .2 .3 0 0 0\n",
         "_atom_site_anisotrop", "U[1][1]"},
        {CIF_CELL CIF_GROUP "loop_\n_atom_site.id\n_atom_site.Cartn_x\n1 2\n", "Cartn_y",
         "needed"},
        {CIF_CELL CIF_GROUP "loop_\n_atom_site_label\n_atom_site_fract_x\nC1 0.1\n",
         "small molecule", "mmCIF"},
    };
    nb_atom atom = {0};

    tap_check(atoms_of(CIF_CELL CIF_GROUP CIF_ATOMS
                       "ATOM 1 C CA . GLY A 1 7 ? 1 2 3 0.5 20 7 A\n",
                       &atom)
                  == 1,
              "an mmCIF of one atom");
    check_number("occupancy", atom.occupancy, 0.5);
    return refuse_all(bad, COUNT(bad));
}

static int bad_files(void)
{
    static const unsigned char gzip[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3, 4};
    nb_structure *structure;

    check_refused(nb_structure_read(ctx, in_folder("missing.pdb"), &structure), NB_ERR_FILE,
                  "missing.pdb", "");
    put(in_folder("cut.pdb.gz"), gzip, sizeof gzip);
    check_refused(nb_structure_read(ctx, in_folder("cut.pdb.gz"), &structure),
                  NB_ERR_FORMAT, "cut.pdb.gz", "gzip");
    check_refused(nb_structure_read(ctx, NULL, &structure), NB_ERR_ARGUMENT, "path", "");
    check_refused(nb_structure_read(ctx, "x", NULL), NB_ERR_ARGUMENT, "out", "");
    tap_check(nb_structure_read(NULL, "x", &structure) == NB_ERR_ARGUMENT, "no context");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"model_2erl", model_2erl},   {"model_1cbs", model_1cbs},
        {"old_columns", old_columns}, {"first_model", first_model},
        {"conformers", conformers},   {"copies", copies},
        {"missing", missing},         {"bad_pdb", bad_pdb},
        {"bad_cif", bad_cif},         {"bad_files", bad_files},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
