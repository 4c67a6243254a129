/*
 * scene.h - everything an image depends on, as plain data.
 *
 * A scene that is all zero, but for a cell and default_f or hkl, is complete: 0 means the
 * default named beside a member. Where 0 is itself meant, set the bit of the member in
 * nb_scene.given. Pointers are read during nb_simulator_create() only.
 *
 * Laboratory frame, rotations and conventions: docs/conventions.md. Rotations are active
 * and right-handed. Formulas: docs/theory.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_SCENE_H
#define NANOBRAG_SCENE_H

#include <stddef.h>
#include <stdint.h>

#include <nanobrag/export.h>
#include <nanobrag/io.h>

NB_BEGIN_DECLS

/* how F of the unit cell is found between the listed reflections */
enum nb_interpolation { NB_INTERPOLATE_AUTO, NB_NEAREST, NB_TRICUBIC };

/* lattice factor of the crystal (docs/theory.md, 5) */
enum nb_shape { NB_SQUARE, NB_ROUND, NB_GAUSS, NB_TOPHAT, NB_GAUSS_STAR };

/* What equals what in a cell: its parameters are then only those that are free (params.h).
 * Monoclinic with unique axis b; hexagonal is for trigonal crystals on hexagonal axes, too
 */
enum nb_system {
    NB_SYSTEM_NONE, /* nothing is tied */
    NB_TRICLINIC,
    NB_MONOCLINIC, /* alpha = gamma = 90 */
    NB_ORTHORHOMBIC, /* all angles 90 */
    NB_TETRAGONAL, /* b = a, all angles 90 */
    NB_HEXAGONAL, /* b = a, alpha = beta = 90, gamma = 120 */
    NB_RHOMBOHEDRAL, /* c = b = a, gamma = beta = alpha */
    NB_CUBIC /* c = b = a, all angles 90 */
};

/* beam-centre conventions and the vectors that go with them */
enum nb_convention { NB_MOSFLM, NB_DENZO, NB_ADXV, NB_XDS, NB_DIALS, NB_CUSTOM };

/* what nb_detector.origin holds */
enum nb_origin {
    NB_ORIGIN_DEFAULT, /* the convention's own default */
    NB_ORIGIN_BEAM, /* Xbeam, Ybeam of the convention                       mm    */
    NB_ORIGIN_NEAR, /* ORGX, ORGY: point nearest to the crystal, XDS style  pixel */
    NB_ORIGIN_PIX0, /* outer corner of the first pixel, after rotation      mm    */
    NB_ORIGIN_CLOSE /* point nearest to the crystal: fast, slow             mm    */
};

/* what stays in place when the detector is rotated */
enum nb_pivot { NB_PIVOT_DEFAULT, NB_PIVOT_BEAM, NB_PIVOT_SAMPLE };

/* point spread of the detector: a Gaussian, or the tail of a fibre-coupled sensor,
 * g / (2 pi (g^2 + r^2)^(3/2)) with g chosen to give the fwhm */
enum nb_psf_kind { NB_PSF_NONE, NB_PSF_GAUSS, NB_PSF_FIBER };

enum nb_profile { NB_PROFILE_NANOBRAG, NB_PROFILE_NANOBRAGG };

typedef struct nb_source {
    double direction[3]; /* in which the light travels, any length */
    double wavelength; /* A */
    double weight; /* >= 0; weights are divided by their sum */
} nb_source;

typedef struct nb_crystal {
    double cell[6]; /* a b c alpha beta gamma; b, c 0: a; angles 0: 90   A, degree */
    double matrix[9]; /* rows x y z of (a* b* c*); all 0: from cell. With a cell too, the
                         cell gives lengths and angles, the matrix the orientation  1/A */
    double misset[3]; /* rotation about lab x, then y, then z                degree */
    double rotation[3]; /* after it: about this vector, by its length        degree */
    double ncells[3]; /* along a b c, real so that it has a derivative; 0: 1 */
    double ncells_off[3]; /* off-diagonal ab, ac, bc of the symmetric matrix N, which must
                             be positive definite; not for square crystals */
    double mosaic[3]; /* spread; [1] and [2] 0: the same in all directions, else about a,
                         c* x a and c*                                       degree */
    int ndomains; /* mosaic domains; 0: 10 with a spread, else 1 */
    const double *domain_weight; /* ndomains of them, >= 0, divided by their mean; NULL:
                                    all alike */
    int shape; /* enum nb_shape */
    int64_t mosaic_seed; /* 0: 12345678 */
    double fudge; /* multiplies the squared radius of a spot; 0: 1 */
    double b_factor; /* isotropic displacement                               A^2    */
    double scale; /* multiplies the Bragg intensity; 0: 1 */
    double default_f; /* structure factor of an hkl that is not listed     electron */
    const nb_hkl *hkl; /* NULL: default_f everywhere */
    int interpolate; /* enum nb_interpolation; AUTO: tricubic where any N <= 2 */
    double size[3]; /* along a b c; > 0 sets N = ceil(size/edge)             mm     */
    int random_misset; /* 1: misset is drawn at random from misset_seed */
    int64_t misset_seed;
    int system; /* enum nb_system; a cell that contradicts it is refused, one that leaves
                   tied numbers 0 is filled */
    const char *point_group; /* Which structure factors are one parameter: a group of
                                rotations, 1 2 222 4 422 3 32 6 622 23 432, or with Friedel
                                pairs -1 2/m mmm 4/m 4/mmm -3 -3m 6/m 6/mmm m-3 m-3m.
                                2: about b; trigonal: hexagonal axes, 32 is 321. NULL: each
                                is one of its own. The image does not depend on it. */
} nb_crystal;

typedef struct nb_detector {
    int npanel; /* 0 or 1 in this version */
    int nslow, nfast; /* pixels; 0: from size */
    int convention; /* enum nb_convention */
    int origin_kind; /* enum nb_origin: what origin holds */
    double origin[3];
    double distance; /* crystal to detector along the beam; 0: 100           mm     */
    double close_distance; /* ... along the normal; 0: from distance         mm     */
    double pixel; /* edge of a square pixel; 0: 0.1                          mm     */
    double rotation[3]; /* about lab x, then y, then z                       degree */
    double twotheta; /* about the convention's axis                          degree */
    double vectors[4][3]; /* fast slow normal twotheta-axis; 0 0 0: the convention's */
    double thickness; /* of the sensor; 0: no sensor model                   um     */
    double attenuation; /* depth at which 1/e is left; infinite: no model    um     */
    int nlayers; /* 0: 1 */
    int curved; /* 1: every pixel at the same distance from the crystal */
    int point_pixel; /* 1: solid angle 1/R^2, without obliquity */
    const uint8_t *mask; /* nslow x nfast, 0 = skip the pixel; NULL: none */
    int roi[4]; /* fast0 fast1 slow0 slow1, ends excluded; all 0: everything */
    double size[2]; /* fast, slow; 0: pixel x count, else 102.4              mm     */
    int pivot; /* enum nb_pivot */
    int also_kind; /* a second statement of the origin, enum nb_origin, which must */
    double also[3]; /* agree with the first within 1e-6 pixel; DEFAULT: none */
} nb_detector;

typedef struct nb_beam {
    double wavelength; /* 0: 1                                               A      */
    double direction[3]; /* in which the light travels; 0 0 0: the convention's */
    double fluence; /* 0: 1/r_e^2, one electron scatters one photon/sr  photons/m^2 */
    double polarization; /* Kahn factor, -1 to 1 */
    double polarization_axis[3]; /* of the electric field; 0 0 0: the convention's */
    double dispersion; /* full width, fraction of the wavelength */
    double divergence[2]; /* horizontal, vertical full width                 mrad   */
    int ndispersion, ndivergence[2]; /* steps; 0: by rule */
    int nsource; /* 0: sources are made from the members above */
    int unpolarised; /* 1: no polarization factor at all (nanoBragg's -nopolar) */
    const nb_source *source; /* nsource of them */
    double divergence_step[2]; /* horizontal, vertical; 0: by rule           mrad   */
    int square_divergence; /* 1: keep the corners of the divergence grid */
    double flux; /* with exposure and size: fluence = flux exposure/size^2 photons/s */
    double exposure; /* 0: 1                                                 s      */
    double size; /* of the beam, clips crystal size b, c; 0: 0.1; < 0: no clip  mm  */
} nb_beam;

typedef struct nb_scan {
    double phi0; /* start                                                    degree */
    double osc; /* full range; negative rotates backwards                    degree */
    double axis[3]; /* of the spindle; 0 0 0: the convention's */
    int nphi; /* 0: by rule */
    double step; /* 0: by rule                                               degree */
} nb_scan;

typedef struct nb_background {
    double water; /* thickness of amorphous material in the beam             um     */
    const double *stol; /* pairs (sin(theta)/lambda, F); NULL: F = 2.57     1/A, e  */
    size_t nstol; /* pairs */
    double density; /* 0: 1                                                  g/cm^3 */
    double molecular_weight; /* 0: 18                                        g/mol  */
} nb_background;

typedef struct nb_psf {
    int kind; /* enum nb_psf_kind */
    double fwhm; /* full width at half maximum                               mm     */
    int radius; /* where the kernel ends; 0: by rule                         pixels */
} nb_psf;

/* Members whose 0 is meant, not the default. */
enum {
    NB_GIVEN_MOSAIC_SEED = 1,
    NB_GIVEN_FUDGE = 2,
    NB_GIVEN_SCALE = 4,
    NB_GIVEN_OSC = 8,
    NB_GIVEN_PHI_STEP = 16,
    NB_GIVEN_DIVERGENCE_H = 32,
    NB_GIVEN_DIVERGENCE_V = 64,
    NB_GIVEN_FLUENCE = 128,
    NB_GIVEN_MOSAIC = 256,
    NB_GIVEN_DISPERSION = 512,
    NB_GIVEN_MOSAIC_AXES = 1024 /* mosaic[1] and [2] */
};

/*
 * What nanoBragg does otherwise, row by row of docs/from_nanobragg.md; 0 is right.
 * Kept for exact comparison only: gradients are defined without quirks.
 */
enum {
    NB_QUIRK_NORMAL_SIGN = 1, /* a normal of length not 1 becomes fast x slow      */
    NB_QUIRK_STEP_RULES = 2, /* start-aligned phi, its step-count rules            */
    NB_QUIRK_LAYER_STEP = 4, /* n layers spaced by T/(n-1), from the front         */
    NB_QUIRK_LAST_CAPTURE = 8, /* every layer weighted like the last one           */
    NB_QUIRK_TWOTHETA_DISTANCE = 16, /* distance ignores two theta                 */
    NB_QUIRK_INTERPOLATE = 32, /* automatic interpolation looks at N before size   */
    NB_QUIRK_RANDOM_MISSET = 64, /* random misset: a cap of 90 radian              */
    NB_QUIRK_UNIT_WEIGHTS = 128, /* source weights are ignored                     */
    NB_QUIRK_CURVED = 256, /* curved detector built by two rotations               */
    NB_QUIRK_WATER = 512, /* water divided by the steps, fluence squared           */
    NB_QUIRK_DMIN_POLAR = 1024, /* all samples beyond dmin: pixel 0                */
    NB_QUIRK_GAUSS_METRIC = 2048, /* G = |dh a* + dk b* + dl c*| Na Nb Nc          */
    NB_QUIRK_MOSAIC_F32 = 4096, /* mosaic angles rounded to float                  */
    NB_QUIRK_STATISTICS = 8192, /* rmsd over masked pixels, solid angle per step   */
    NB_QUIRK_NOISE = 16384, /* its generator and Poisson draws in float            */
    NB_QUIRK_CELL_VECTORS = 32768, /* c*_z from the direct volume; cell rescales matrix */
    NB_QUIRK_ALL = 65535
};

typedef struct nb_scene {
    nb_crystal crystal;
    nb_detector detector;
    nb_beam beam;
    nb_scan scan;
    nb_background background;
    int oversample; /* sub-pixels per edge; 0: by rule */
    double dmin; /* samples of finer spacing are left out; 0: none            A     */
    uint64_t quirks; /* NB_QUIRK_... */
    nb_psf psf;
    /* evaluate per sample, not once per pixel: */
    int oversample_thick, oversample_polar, oversample_omega;
    uint64_t given; /* NB_GIVEN_... */
} nb_scene;

/*
 * Set scene->quirks for a profile: none (NB_PROFILE_NANOBRAG) or all
 * (NB_PROFILE_NANOBRAGG).
 */
NB_API void nb_scene_set_profile(nb_scene *scene, int profile);

NB_END_DECLS

#endif
