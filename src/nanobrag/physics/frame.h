/*
 * frame.h - the frame: the scene as vectors and lists. The code of a pixel reads nothing
 * else.
 *
 * Its numbers are in explicit double, so that translation units of either precision share
 * them; a kernel converts them to `real` at its start. Lengths of the detector are in
 * metres, lengths of the crystal in Angstrom, reciprocal lengths in 1/Angstrom. The
 * simulator owns the arrays.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PHYSICS_FRAME_H
#define NB_PHYSICS_FRAME_H

/* One source: a parallel beam of one wavelength. */
struct phys_source {
    double direction[3]; /* unit vector along which the light travels */
    double inverse_wavelength; /* 1/A */
    double weight; /* the weights of a frame add up to 1 */
    double e[3], b[3]; /* polarization frame: e along the field, b across it */
};

/* The crystal at one phi step in one mosaic domain. */
struct phys_orientation {
    double axes[9]; /* real-space axes a, b, c, one after another; A */
    double weight; /* weight of the domain; 1 on average, exactly 1 if all are equal */
};

/* The widths of the spots of a crystal whose mosaic spread, rotation and spectrum are
 * continuous distributions (docs/theory.md, 16). Every member is a double that can change.
 * The six numbers m of a symmetric matrix are in the order of phys_frame.metric: its
 * product g m g is m0 gx^2 + m1 gy^2 + m2 gz^2 + m3 gx gy + m4 gx gz + m5 gy gz. */
struct phys_broad {
    double half_range; /* an orientation stands for the range of phi up to half_range to
                          either side, radian */
    double spindle[3]; /* rotation vector of the crystal for a phi of one radian */
    /* covariance of the rotation vector of a mosaic domain, radian^2/A^2: as a matrix it is
     * spread[0] a a^T + ... + spread[5] b c^T with the real axes a, b, c of an
     * orientation */
    double spread[6];
    /* share of a second mosaic; its width over the width of the first */
    double tail, tail_width;
    double spacing; /* relative standard deviation of the lattice spacings d */
    double size; /* standard deviation of the crystal's extent across a diffracted ray, m */
    double line; /* relative standard deviation of the energies of each source */
    double divergence[6]; /* covariance of the directions of the light: xx yy zz, and twice
                             xy xz yz; radian^2 */
};

/* A node of a table of F over sin(theta)/lambda. */
struct phys_node {
    double stol, f; /* 1/A, electron */
};

struct phys_frame {
    /* detector */
    int nfast, nslow, oversample, nlayers;
    double pix0[3], fast[3], slow[3], normal[3], beam[3];
    double pixel, distance, close_distance;
    double layer_step, layer_offset; /* depth of layer t: offset + t step */
    double layer_mu; /* layer_step x absorption coefficient; 0: no sensor model */
    int surface; /* enum phys_surface */
    int point_pixel;
    /* 1: the factor is evaluated at every sample; 0: once per pixel (pixel.h) */
    int each_omega, each_polar, each_capture;
    int last_capture; /* nanoBragg's option: all layers have the capture of the last one */
    int dark_polar; /* nanoBragg's option: polarization 0 if dmin removes all samples */
    /* beam */
    int nsource;
    const struct phys_source *source;
    int polarised; /* 0: the polarization factor is 1 */
    double kahn;
    /* crystal */
    int norientation;
    const struct phys_orientation *orientation;
    double ncells[3];
    double peak; /* F_latt at a lattice point; the square shape does not use it */
    double metric[6]; /* coefficients of rho^2: hh kk ll hk hl kl (docs/theory.md, 5) */
    double fudge;
    int continuous; /* 1: `broad` is used; orientations are not domains, but parts of phi */
    struct phys_broad broad;
    double b_factor; /* A^2 */
    double dmin; /* A, samples of smaller d count as 0; 0: no limit */
    double least_d; /* A, reflections of smaller d have no continuous spot; 0: no limit */
    /* structure factors f[h][k][l] in a box that begins at hkl_min and has hkl_size
     * indices; the element after the last reflection is default_f */
    int hkl_min[3], hkl_size[3];
    const double *f;
    const float *f_single; /* f rounded to float; NULL unless the kernels are in float */
    double default_f;
    double f_max; /* the largest |F| */
    /* amorphous material: nstol nodes over sin(theta)/lambda; a constant if nstol is 0 */
    int nstol;
    const struct phys_node *stol; /* ascending */
    double amorphous_f;
    /* photons per unit of the sum of weighted F^2; amorphous_in_samples is nanoBragg's
     * option to compute amorphous scattering at every sample, not at the pixel's centre */
    double bragg_scale, amorphous_scale;
    int amorphous_in_samples;
};

enum phys_surface { PHYS_FLAT, PHYS_CURVED, PHYS_CURVED_QUIRK };

#endif
