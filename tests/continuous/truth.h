/*
 * truth.h - the intensity of a few pixels when mosaic spread, rotation, wavelengths,
 * directions, spacings and the size of the crystal are continuous distributions, by brute
 * force: the definitions of docs/theory.md (1, 2, 4, 5, 8, 9) are summed over a lattice of
 * points, and nothing else is used. The lattice of each pixel is put where its integrand
 * is, whatever that is; that it is fine enough is shown by a finer one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_TRUTH_H
#define NB_TESTS_TRUTH_H

#include <stddef.h>
#include <stdint.h>

#include <nanobrag/nanobrag.h>

/* What varies as a normal variable: the rotation vector of a domain along three directions,
 * its spacings, the energy of the light, its direction horizontally and vertically, and
 * the place in the crystal along two directions across the diffracted ray. */
enum {
    TRUTH_TURN,
    TRUTH_SPACING = TRUTH_TURN + 3,
    TRUTH_LINE,
    TRUTH_DIVERGENCE,
    TRUTH_PLACE = TRUTH_DIVERGENCE + 2,
    TRUTH_NORMALS = TRUTH_PLACE + 2
};

struct truth_matrix {
    double row[3][3];
};

struct truth {
    /* crystal at phi = 0: rows a, b, c in the laboratory, A; rows along a, c* x a, c* */
    struct truth_matrix axes, frame;
    struct truth_matrix shape; /* |shape x (dh, dk, dl)| = rho sqrt(fudge) */
    double height; /* F_latt^2 at a lattice point */
    double b_factor; /* A^2 */
    double f2; /* F^2 of every reflection, electron^2 */
    /* directions of the first three variables in `frame`, and standard deviations: radian,
     * relative, relative, radian, m */
    struct truth_matrix way;
    double sd[TRUTH_NORMALS];
    double tail,
        tail_width; /* share of a second mosaic spread; its width over the first's */
    double spindle[3], phi0, osc; /* unit vector, radian */
    int nphi; /* sum over so many mid-steps; 0: integral */
    double drift[3]; /* rotation vector a radian of phi, about the middle of the range */
    int nsource; /* 0: the beam is the source */
    const nb_source *source; /* their weights are divided by their sum */
    nb_source beam;
    double vertical[3], polarization_axis[3], kahn;
    int unpolarised, point_pixel, oversample;
    double pix0[3], fast[3], slow[3], pixel, close; /* m */
    double photons; /* r_e^2 x fluence x scale */
};

/* How fine the sum is. */
struct truth_grid {
    double step; /* of the lattice, in standard deviations of what a pixel sees of it */
    double reach; /* radius of the lattice, in the same */
    double
        panel; /* of phi, each with five points of Gauss, in widths of the narrowest spot */
};

/* The grid that is used, and one to compare it with. */
extern const struct truth_grid truth_coarse, truth_fine;

/* Describe a scene: gaussian shapes, one panel, no sensor, default_f alone, the beam by
 * its list of sources or as one wavelength and direction. Ends the program for a scene
 * that is refused. */
void truth_of(const nb_scene *scene, struct truth *out);

/* photons[i] of the pixel with fast = place[2 i] and slow = place[2 i + 1]. */
void truth_pixels(const struct truth *t, struct truth_grid grid, size_t n, const int *place,
                  double *photons);

/* Add to photons[i] what one domain adds at phi (radian) from source j, times `weight`. The
 * numbers z are its normal variables; the nearest reflection counts. */
struct truth_sample {
    double z[TRUTH_NORMALS], phi, weight;
    int source;
};
void truth_add(const struct truth *t, const struct truth_sample *sample, size_t n,
               const int *place, double *photons);

/* The same sum over domains that are drawn at random, each at `steps` places in phi, one of
 * the sources at each. Every one of `parts` images, one after the other in photons, is of
 * other domains. */
void truth_drawn(const struct truth *t, size_t domains, int steps, int parts, size_t n,
                 const int *place, double *photons);

#endif
