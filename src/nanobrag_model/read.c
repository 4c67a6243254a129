/*
 * read.c - reads a model of atoms into an nb_structure, and returns its crystal and atoms.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_model/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/floats.h"
#include "base/log.h"
#include "nanobrag_io/expand.h"
#include "nanobrag_model/structure.h"
#include "scene/reflections/symmetry.h"

void symmetric_range(const double m[SYMMETRIC], double *least, double *most)
{
    const double mean = (m[0] + m[1] + m[2]) / 3;
    const double off = m[3] * m[3] + m[4] * m[4] + m[5] * m[5];
    const double d[3] = {m[0] - mean, m[1] - mean, m[2] - mean};
    const double p = sqrt((d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 2 * off) / 6);
    double determinant, angle;

    *least = *most = mean;
    if (!(p > 0)) return;
    determinant = d[0] * (d[1] * d[2] - m[5] * m[5]) - m[3] * (m[3] * d[2] - m[5] * m[4])
                  + m[4] * (m[3] * m[5] - d[1] * m[4]);
    /* the eigenvalues are mean + 2 p times the cosines of three angles 2 pi/3 apart */
    angle = acos(fmin(fmax(determinant / (2 * p * p * p), -1), 1)) / 3;
    *most = mean + 2 * p * cos(angle);
    *least = mean + 2 * p * cos(angle + 2 * acos(-1) / 3);
}

void symmetric_in_basis(const double m[SYMMETRIC], const double axis[3][3],
                        double out[SYMMETRIC])
{
    static const int pair[SYMMETRIC][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};

    for (int n = 0; n < SYMMETRIC; n++) {
        const double *a = axis[pair[n][0]], *b = axis[pair[n][1]];

        out[n] = a[0] * (m[0] * b[0] + m[3] * b[1] + m[4] * b[2])
                 + a[1] * (m[3] * b[0] + m[1] * b[1] + m[5] * b[2])
                 + a[2] * (m[4] * b[0] + m[5] * b[1] + m[2] * b[2]);
    }
}

void structure_tensor(const nb_structure *structure, size_t i,
                      const double x[NB_ATOM_NUMBERS], double out[SYMMETRIC])
{
    memcpy(out, structure->tensor[i], sizeof structure->tensor[i]);
    for (int k = 0; k < 3; k++) out[k] += x[3] - structure->numbers[i][3];
}

static int is_anisotropic(const struct gemmi_atom *atom)
{
    for (int k = 0; k < SYMMETRIC; k++)
        if (atom->u[k] != 0) return 1;
    return 0;
}

/* Sets the tensors, numbers and ranges of B of all atoms; refuses a B out of range. */
static nb_status set_numbers(nb_context *ctx, const char *name, nb_structure *structure)
{
    const double b_per_u = 8 * acos(-1) * acos(-1);

    for (size_t i = 0; i < structure->model.natom; i++) {
        const struct gemmi_atom *atom = structure->model.atom + i;
        double *tensor = structure->tensor[i], *numbers = structure->numbers[i];

        memcpy(numbers, atom->position, sizeof atom->position);
        numbers[3] = atom->b;
        numbers[4] = atom->occupancy;
        for (int k = 0; k < SYMMETRIC; k++)
            tensor[k] = is_anisotropic(atom) ? b_per_u * atom->u[k] : k < 3 ? atom->b : 0;
        if (is_anisotropic(atom)) numbers[3] = (tensor[0] + tensor[1] + tensor[2]) / 3;
        symmetric_range(tensor, &structure->least_b[i], &structure->most_b[i]);
        if (!(structure->least_b[i] >= B_LEAST && structure->most_b[i] <= B_MOST))
            return fail(ctx, NB_ERR_FORMAT,
                        "%s: atom %s: B, or B of a direction of ANISOU, is %.4g A^2; "
                        "expected %d to %d",
                        name, atom->name,
                        structure->least_b[i] >= B_LEAST ? structure->most_b[i]
                                                         : structure->least_b[i],
                        (int)B_LEAST, (int)B_MOST);
    }
    return NB_OK;
}

/* Sorts the atoms by element into kinds. Returns NB_ERR_MEMORY if there is no memory. */
static nb_status set_kinds(nb_structure *structure)
{
    enum { ELEMENTS = 128 };
    int kind_of[ELEMENTS] = {0};

    structure->kind = calloc(ELEMENTS, sizeof *structure->kind);
    if (!structure->kind) return NB_ERR_MEMORY;
    for (size_t i = 0; i < structure->model.natom; i++) {
        const int element = structure->model.atom[i].element;

        if (kind_of[element] == 0) {
            struct kind *kind = structure->kind + structure->nkind++;

            kind->element = element;
            NB_TRY(gemmi_form_factor_of(element, &kind->factor));
            kind_of[element] = (int)structure->nkind;
        }
        structure->kind_of[i] = kind_of[element] - 1;
    }
    return NB_OK;
}

static nb_status allocate(nb_structure *structure)
{
    const size_t n = structure->model.natom;

    structure->kind_of = calloc(n, sizeof *structure->kind_of);
    structure->tensor = calloc(n, sizeof *structure->tensor);
    structure->numbers = calloc(n, sizeof *structure->numbers);
    structure->least_b = calloc(n, sizeof *structure->least_b);
    structure->most_b = calloc(n, sizeof *structure->most_b);
    return structure->kind_of && structure->tensor && structure->numbers
                   && structure->least_b && structure->most_b
               ? NB_OK
               : NB_ERR_MEMORY;
}

/* Reports the items that the file lacks, and the values used instead. */
static void tell_lacks(nb_context *ctx, const char *name, const struct gemmi_model *model)
{
    static const struct {
        const char *what, *remedy;
    } lacks[GEMMI_NOTES] = {
        [GEMMI_NO_B] = {"atoms without B get 50 A^2", "; add B to the file"},
        [GEMMI_NO_OCCUPANCY] = {"atoms without an occupancy get one of 1", ""},
        [GEMMI_NO_ELEMENT] = {"atoms without an element symbol (columns 77-78) get the "
                              "element of their names",
                              ""},
        [GEMMI_AFTER_END] = {"atoms after the record END are not read",
                             "; remove END to read them"},
    };

    for (int i = 0; i < GEMMI_NOTES; i++)
        if (model->noted[i] > 0)
            log_line(ctx, NB_LOG_WARNING, "structure", "%s: %s: %zu of them%s", name,
                     lacks[i].what, model->noted[i], lacks[i].remedy);
}

static void tell(nb_context *ctx, const char *name, const struct gemmi_model *model)
{
    size_t empty = 0;

    for (size_t i = 0; i < model->natom; i++) empty += model->atom[i].occupancy == 0;
    if (empty > 0)
        log_line(ctx, NB_LOG_WARNING, "structure",
                 "%s: atoms with an occupancy of 0, which scatter nothing: %zu of %zu",
                 name, empty, model->natom);
    if (model->nmodel > 1)
        log_line(ctx, NB_LOG_WARNING, "structure",
                 "%s: only the first of %d models is used", name, model->nmodel);
    if (model->ncopies > 0)
        log_line(ctx, NB_LOG_NOTE, "structure",
                 "%s: the non-crystallographic symmetry makes %d copies of each atom, %zu "
                 "atoms in all",
                 name, model->ncopies, model->natom);
    if (model->no_end)
        log_line(ctx, NB_LOG_WARNING, "structure",
                 "%s: the record END is missing, so the file may be cut off; atoms that "
                 "were read: %zu",
                 name, model->natom);
    if (model->short_lines)
        log_line(ctx, NB_LOG_NOTE, "structure",
                 "%s: an old file with text in columns 73-80, which are not read: elements "
                 "are taken from the names of atoms",
                 name);
    tell_lacks(ctx, name, model);
}

nb_status structure_parse(nb_context *ctx, const char *name, const void *bytes, size_t n,
                          void *to)
{
    nb_structure **out = to, *structure;
    char why[GEMMI_WHY];
    nb_status status;

    *out = NULL;
    structure = calloc(1, sizeof *structure);
    if (!structure) return fail_memory(ctx, name);
    status = gemmi_model_read(bytes, n, &structure->model, why);
    if (status != NB_OK) {
        nb_structure_free(structure);
        return fail(ctx, status, "%s: %s", name, why);
    }
    status = allocate(structure);
    if (status == NB_OK) status = set_kinds(structure);
    if (status != NB_OK) {
        nb_structure_free(structure);
        return fail_memory(ctx, name);
    }
    status = set_numbers(ctx, name, structure);
    if (status != NB_OK) {
        nb_structure_free(structure);
        return status;
    }
    tell(ctx, name, &structure->model);
    *out = structure;
    return NB_OK;
}

nb_status nb_structure_read(nb_context *ctx, const char *path, nb_structure **out)
{
    STANDARD_FLOATS;
    enum { BYTES_MOST = 1 << 30 };
    unsigned char *bytes;
    size_t n;
    nb_status status;

    if (out) *out = NULL;
    if (!ctx) return NB_ERR_ARGUMENT;
    if (!path || !out)
        return fail(ctx, NB_ERR_ARGUMENT, "nb_structure_read: %s is NULL",
                    path ? "out" : "path");
    NB_TRY(expand_read(ctx, path, BYTES_MOST, &bytes, &n));
    status = structure_parse(ctx, path, bytes, n, out);
    free(bytes);
    return status;
}

void nb_structure_free(nb_structure *structure)
{
    if (!structure) return;
    gemmi_model_free(&structure->model);
    free(structure->kind);
    free(structure->kind_of);
    free(structure->tensor);
    free(structure->numbers);
    free(structure->least_b);
    free(structure->most_b);
    free(structure);
}

void nb_structure_crystal(const nb_structure *structure, nb_crystal_info *out)
{
    const struct gemmi_crystal *crystal;

    if (!structure || !out) return;
    crystal = &structure->model.crystal;
    memcpy(out->cell, crystal->cell, sizeof out->cell);
    memcpy(out->space_group, crystal->space_group, sizeof out->space_group);
    out->noperator = crystal->noperator;
}

int nb_crystal_system(const char *space_group, const double cell[6])
{
    const int system = space_group && cell ? gemmi_system(space_group) : NB_SYSTEM_NONE;

    return system != NB_SYSTEM_NONE && symmetry_agrees(system, cell) ? system
                                                                     : NB_SYSTEM_NONE;
}

size_t nb_structure_natom(const nb_structure *structure)
{
    return structure ? structure->model.natom : 0;
}

int nb_structure_atom(const nb_structure *structure, size_t i, nb_atom *out)
{
    const struct gemmi_atom *atom;

    if (!structure || !out || i >= structure->model.natom) return 0;
    atom = structure->model.atom + i;
    memcpy(out->name, atom->name, sizeof out->name);
    memcpy(out->element, structure->kind[structure->kind_of[i]].factor.name,
           sizeof out->element);
    memcpy(out->position, structure->numbers[i], sizeof out->position);
    out->b = structure->numbers[i][3];
    out->occupancy = structure->numbers[i][4];
    out->anisotropic = is_anisotropic(atom);
    return 1;
}

void nb_structure_numbers(const nb_structure *structure, double *x)
{
    if (!structure || !x) return;
    memcpy(x, structure->numbers, structure->model.natom * sizeof *structure->numbers);
}
