/*
 * update.h - changes the models of an .expt so that they describe a scene that has moved.
 * Each change is relative to the scene that the file describes. So scan points, and numbers
 * that a scene does not have, follow; and a model that has not moved keeps its bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_IO_EXPERIMENT_UPDATE_H
#define NB_IO_EXPERIMENT_UPDATE_H

#include "nanobrag_io/experiment/expt_read.h"
#include "nanobrag_io/json/edits.h"
#include "scene/linear.h"

/* an experiment as the file states it, and the scene that it is to describe */
struct update_state {
    struct expt e;
    const cJSON *experiment;
    struct scan_source source;
    struct models m;
    int images; /* number of images of the scan; 0: no scan */
    nb_scene before; /* as the file states it, at the middle of the image, in the frame of
                        the file */
    const nb_scene *after; /* as it is to be, resolved, with one lattice, in the scene's own
                              frame */
    double mu; /* attenuation of the sensor of `after`, 1/mm; 0: no sensor */
    double mosaicity; /* standard deviation to state, degree; below 0: the stated one
                         stays */
};

/* Reads s->experiment from the file, as it is at the angle phi, degree, without
 * warnings. */
nb_status update_read(struct update_state *s, double phi);

/* Each edits `text`, the text of one model, so that it describes s->after. */
typedef nb_status update_model(const struct update_state *s, const cJSON *model,
                               struct span text, struct edits *edits);
update_model update_beam, update_detector, update_goniometer, update_crystal;

/* Gives relative names of images in `root`, the text of a file in the folder of `from`, the
 * folder where they begin, if `to` is in another one. Returns 0 if there is no memory. */
int update_places(struct edits *edits, struct span root, const char *from, const char *to);

/* Relative differences up to this are rounding. */
static const double update_rounding = 1e-12;

/* Returns 1 if n numbers of the given size differ by more than rounding. */
static inline int update_differs(const double *a, const double *b, int n, double size)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= update_rounding * size)) return 1;
    return 0;
}

#endif
