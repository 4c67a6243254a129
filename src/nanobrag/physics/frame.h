/*
 * frame.h - all that the pixel code reads: the scene turned into vectors and lists.
 *
 * In explicit double, so that it may cross from one translation unit to another; a kernel
 * converts to `real` at its entry. Lengths of the detector in metres, of the crystal in
 * Angstrom, reciprocal ones in 1/Angstrom. The arrays belong to the simulator.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_FRAME_H
#define NB_PHYSICS_FRAME_H

/* one incident beam */
struct phys_source {
    double direction[3]; /* unit vector in which the light travels */
    double inverse_wavelength; /* 1/A */
    double weight; /* the weights of a frame add up to 1 */
    double e[3], b[3]; /* polarization frame: along the field, and across it */
};

/* the crystal at one phi step in one mosaic domain */
struct phys_orientation {
    double axes[9]; /* rows a, b, c, A */
    double weight; /* of the domain; 1 on average, and 1 where all are alike */
};

/* a node of a table over sin(theta)/lambda */
struct phys_node {
    double stol, f; /* 1/A, electron */
};

struct phys_frame {
    /* detector */
    int nfast, nslow, oversample, nlayers;
    double pix0[3], fast[3], slow[3], normal[3], beam[3];
    double pixel, distance, close_distance;
    double layer_step, layer_offset; /* depth of layer t: offset + t step */
    double layer_mu; /* step x absorption coefficient; 0: no sensor model */
    int surface; /* enum phys_surface */
    int point_pixel;
    /* which factors are evaluated at every sample; the others once per pixel */
    int each_omega, each_polar, each_capture;
    int last_capture; /* nanoBragg: capture of the last layer stands for all */
    int dark_polar; /* nanoBragg: polarization 0 where no sample survives dmin */
    /* beam */
    int nsource;
    const struct phys_source *source;
    int polarised; /* 0: factor 1 */
    double kahn;
    /* crystal */
    int norientation;
    const struct phys_orientation *orientation;
    double ncells[3];
    double peak; /* F_latt at a lattice point, shapes that are not square */
    double metric[6]; /* rho^2 in hh kk ll hk hl kl */
    double fudge;
    double b_factor; /* A^2 */
    double dmin; /* A; 0: none */
    /* structure factors: [h][k][l] from min, in a box of size; behind the last default_f */
    int hkl_min[3], hkl_size[3];
    const double *f;
    const float *f_single; /* the same rounded; NULL unless the kernels are in float */
    double default_f;
    double f_max; /* the largest |F| */
    /* amorphous material: F at nstol values of sin(theta)/lambda; 0: constant */
    int nstol;
    const struct phys_node *stol; /* ascending */
    double amorphous_f;
    /* photons per unit of F^2 weight; the amorphous part is taken at the pixel's centre, or
     * (nanoBragg) in every sample */
    double bragg_scale, amorphous_scale;
    int amorphous_in_samples;
};

enum phys_surface { PHYS_FLAT, PHYS_CURVED, PHYS_CURVED_QUIRK };

#endif
