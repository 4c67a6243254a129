/*
 * structure.h - the members of nb_structure, and the data that direct.c and density.c
 * share: the sphere of reflections and the request of a call.
 *
 * Both compute A(h) of <nanobrag/structure.h> for the whole sphere. A(h) contains only the
 * listed atoms; sphere.c sums it over the space group. A complex number is a pair of
 * double, its real part first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_STRUCTURE_STRUCTURE_H
#define NB_STRUCTURE_STRUCTURE_H

#include <nanobrag/structure.h>

#include "base/progress.h"
#include "nanobrag_io/gemmi/gemmi.h"

/* Elements of a symmetric matrix: 00 11 22 01 02 12, as in kernels/density. */
enum { SYMMETRIC = 6 };

typedef double complex_pair[2];

/* a kind of atom: an element with its form factor */
struct kind {
    int element; /* as in gemmi.h */
    struct gemmi_form_factor factor;
};

struct nb_structure {
    struct gemmi_model model;
    size_t nkind;
    struct kind *kind;
    int *kind_of; /* index of each atom's kind (natom) */
    double (*tensor)[SYMMETRIC]; /* 8 pi^2 U of each atom, Cartesian, A^2; B on the diagonal
                                    if the atom is isotropic (natom) */
    double (*numbers)[NB_ATOM_NUMBERS]; /* x y z (A), B (A^2), occupancy in the file
                                           (natom) */
    double *least_b, *most_b; /* eigenvalues of `tensor`, smallest and largest (natom) */
};

/* Range of B, and of the eigenvalues of its tensor, A^2. If the least B of an atom is
 * negative, the density gets a larger blur. */
enum { B_LEAST = -10, B_MOST = 2000 };

/* ---- the sphere of reflections ---- */
struct sphere {
    int max[3]; /* largest h, k, l */
    size_t n;
    int (*hkl)[3]; /* in increasing order of h, k, l (n) */
    double *s2; /* 1/d^2, 1/A^2 (n) */
    int *place; /* number of reflection [h + max][k + max][l + max]; -1: not listed */
};

/* Lists the reflections up to dmin, A; release the list with sphere_free(). */
nb_status sphere_create(nb_context *ctx, const nb_structure *structure, double dmin,
                        struct sphere *out);
void sphere_free(struct sphere *sphere);

/* Returns the number of a reflection; -1 if it is not listed. */
int sphere_find(const struct sphere *sphere, const int hkl[3]);

/* F(h) = sum over operators of A(h R) exp(2 pi i h.t), with rotation R and shift t; 0 for
 * systematic absences. */
void sphere_symmetrise(const struct sphere *sphere, const struct gemmi_crystal *crystal,
                       int threads, const complex_pair *a, complex_pair *f);

/* The adjoint: bar_a(h) = sum over the operators of bar_f(h R^-1) exp(-2 pi i (h R^-1).t).
 * A cotangent `bar` of a stands for dL = Re sum conj(bar) da. */
void sphere_symmetrise_vjp(const struct sphere *sphere, const struct gemmi_crystal *crystal,
                           int threads, const complex_pair *bar_f, complex_pair *bar_a);

/* ---- a call ---- */
struct request {
    nb_context *ctx;
    const nb_structure *structure;
    const nb_fcalc *how; /* with its defaults filled in */
    const double (*x)[NB_ATOM_NUMBERS];
    complex_pair *dispersion; /* f' and f'' of each kind (nkind) */
    int anomalous; /* 1: some f'' is not 0 */
    int direct; /* 1: by direct summation */
    struct sphere sphere;
    struct progress progress;
};

/* Checks the arguments of a call, fills in the defaults of `how`, a copy that belongs to
 * the caller, and lists the sphere. Release the result with request_free(). */
nb_status request_start(nb_context *ctx, const nb_structure *structure, nb_fcalc *how,
                        const double *x, struct request *out);
void request_free(struct request *request);

/* ---- direct.c and density.c: A(h), its tangent and its adjoint ---- */

/* direct_sum() and density_sum() add A to `a`; or, if `dot` are changes of the atoms'
 * numbers, the change of A. The functions _vjp add the gradient by the atoms' numbers to
 * bar_x. */
nb_status direct_sum(struct request *request, const double (*dot)[NB_ATOM_NUMBERS],
                     complex_pair *a);
nb_status direct_sum_vjp(struct request *request, const complex_pair *bar_a,
                         double (*bar_x)[NB_ATOM_NUMBERS]);

nb_status density_sum(struct request *request, const double (*dot)[NB_ATOM_NUMBERS],
                      complex_pair *a);
nb_status density_sum_vjp(struct request *request, const complex_pair *bar_a,
                          double (*bar_x)[NB_ATOM_NUMBERS]);

/* Adds the bulk solvent to F. */
nb_status solvent_add(struct request *request, complex_pair *f);

/* ---- small matrices ---- */

/* Returns the tensor of the displacement of atom i at its numbers x, A^2. */
void structure_tensor(const nb_structure *structure, size_t i,
                      const double x[NB_ATOM_NUMBERS], double out[SYMMETRIC]);

/* Sets out to j^T m j, where column k of j is axis[k]. */
void symmetric_in_basis(const double m[SYMMETRIC], const double axis[3][3],
                        double out[SYMMETRIC]);

/* Computes the smallest and the largest eigenvalue of a symmetric matrix. */
void symmetric_range(const double m[SYMMETRIC], double *least, double *most);

#endif
