/*
 * scan_points.h - models of an .expt that change during the scan, in the frame of the
 * scene. SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_SCAN_POINTS_H
#define NB_IO_EXPERIMENT_SCAN_POINTS_H

#include "nanobrag_io/experiment/expt_json.h"
#include "nanobrag_io/experiment/models.h"

/* Rotations of a goniometer: F (`fixed`) inside the scan axis and S (`setting`) outside it.
 * At phi, the crystal's vector v becomes S R(phi) F v. */
struct goniometer {
    double axis[3], fixed[3][3], setting[3][3];
};

enum { SCAN_CRYSTAL, SCAN_BEAM, SCAN_SETTING, SCAN_LISTS };

/* lists of scan points in the file, and the static models that belong to them */
struct scan_source {
    const cJSON *list[SCAN_LISTS]; /* one row for each scan point; NULL: the model does not
                                      change */
    struct goniometer g;
    double real_axes[3][3]; /* a, b, c of the static crystal as rows, A */
    int quiet; /* 1: no messages about the models that change */
};

/* Reads the scan points and rotates them by the matrix `turn` (rows) to the frame of the
 * scene. *out stays unchanged if no model changes. `m` has the static models and the scan
 * of `images` images. Returns NB_ERR_FORMAT, NB_ERR_MEMORY. */
nb_status scan_points_read(const struct expt *e, const struct scan_source *source,
                           const struct models *m, int images, const double turn[3][3],
                           nb_scan_points **out);

/* Adds scan points of n lattices (each may be NULL) to the scan points of a crystal, which
 * from then on own the array `lattice` and free it. */
void scan_points_adopt(nb_scan_points *points, nb_scan_points **lattice, int n);

/* Returns 1 if the cell changes during the scan as well; `points` may be NULL. */
int scan_points_have_cells(const nb_scan_points *points);

/* Sets the axes of a lattice as they are at phi, degree, and its cell if the cell changes.
 * `points` may be NULL. */
void scan_points_set_lattice(const nb_scan_points *points, double phi, nb_lattice *lattice);

/* Returns where an angle, degree, lies in the scan: 0 at its start, 1 after the first
 * image. Whole turns are taken off. An angle outside is moved to the nearest end, and
 * *beyond becomes 1 (NULL: not wanted). */
double scan_points_place(const nb_scan_points *points, double phi, int *beyond);

/* Rotates axes (rows) by the goniometer at phi = 0. */
void goniometer_turn(const struct goniometer *g, double axes[3][3]);

#endif
