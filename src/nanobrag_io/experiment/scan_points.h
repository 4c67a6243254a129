/*
 * scan_points.h - models of an .expt that change during the scan, in the frame of the
 * scene. SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_SCAN_POINTS_H
#define NB_IO_EXPERIMENT_SCAN_POINTS_H

#include "nanobrag_io/experiment/expt_json.h"
#include "nanobrag_io/experiment/models.h"

/* The rotations inside and outside the scan axis: phi turns a vector v to S R(phi) F v. */
struct goniometer {
    double axis[3], fixed[3][3], setting[3][3];
};

enum { SCAN_CRYSTAL, SCAN_BEAM, SCAN_SETTING, SCAN_LISTS };

/* The scan points of an experiment as the file states them. */
struct scan_source {
    const cJSON *list[SCAN_LISTS]; /* with a row for each scan point; NULL: there is none */
    struct goniometer g;
    double real_axes[3][3]; /* rows a, b, c of the static crystal; A */
    int quiet; /* 1: no messages about the models that change */
};

/* Reads the rows, and turns them by the rows of `turn` to the frame of the scene. *out
 * stays unchanged if no model changes. `m` has the static models and the scan. */
nb_status scan_points_read(const struct expt *e, const struct scan_source *source,
                           const struct models *m, int images, const double turn[3][3],
                           nb_scan_points **out);

/* Adds the points of n further lattices (each may be NULL) to the points of a crystal. The
 * list is an allocation of its own, and is released with them. */
void scan_points_adopt(nb_scan_points *points, nb_scan_points **lattice, int n);

/* Returns 1 if the crystal changes also in its cell; points may be NULL. */
int scan_points_have_cells(const nb_scan_points *points);

/* Sets the axes of a lattice for an angle, and its cell if the cell changes. `points` may
 * be NULL. */
void scan_points_set_lattice(const nb_scan_points *points, double phi, nb_lattice *lattice);

/* Turns axes by the rotations of a goniometer at phi = 0. */
void goniometer_turn(const struct goniometer *g, double axes[3][3]);

#endif
