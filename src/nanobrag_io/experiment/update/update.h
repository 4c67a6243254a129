/*
 * update.h - how the models of an .expt change when a scene has moved. A change is taken
 * relative to the scene that the file gives, so that scan points and numbers which the
 * scene lacks follow, and a model that has not moved keeps its bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_UPDATE_H
#define NB_IO_EXPERIMENT_UPDATE_H

#include "nanobrag_io/experiment/expt_read.h"
#include "nanobrag_io/json/edits.h"
#include "scene/linear.h"

/* An experiment as the file states it, and the scene that it becomes. */
struct update_state {
    struct expt e;
    const cJSON *experiment;
    struct scan_source source;
    struct models m;
    int images; /* of the scan; 0: no scan */
    nb_scene before; /* of the file, at the middle of the image; in the file's frame */
    const nb_scene *after; /* resolved, of one lattice; in its own frame */
    double mu; /* of the sensor of `after`, 1/mm; 0: no sensor */
    double mosaicity; /* standard deviation to be stated, degree; below 0: as it is */
};

/* Reads what the file states for s->experiment, at the angle phi in degree, and without
 * warnings. */
nb_status update_read(struct update_state *s, double phi);

/* Each edits the text of one model. */
typedef nb_status update_model(const struct update_state *s, const cJSON *model,
                               struct span text, struct edits *edits);
update_model update_beam, update_detector, update_goniometer, update_crystal;

/* Differences up to this fraction are rounding. */
static const double update_rounding = 1e-12;

/* Returns 1 if n numbers differ by more than rounding of numbers of that size. */
static inline int update_differs(const double *a, const double *b, int n, double size)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= update_rounding * size)) return 1;
    return 0;
}

#endif
