/*
 * scene.h - everything an image depends on, as plain data.
 *
 *   nb_scene scene = {.crystal = {.cell = {70, 80, 90}, .default_f = 100}};
 *
 *   scene.crystal.misset[0] = 10;
 *   scene.crystal.mosaic[0] = 0.3;
 *   for (int i = 0; i < 3; i++) scene.crystal.ncells[i] = 10;
 *   scene.beam.fluence = 1e28;
 *   scene.detector = (nb_detector){.nslow = 512, .nfast = 512, .distance = 150};
 *   scene.scan.osc = 0.2;
 *   scene.crystal.mosaic_seed = 0;
 *   scene.given = NB_GIVEN_MOSAIC_SEED;
 *   if (nb_simulator_create(ctx, &scene, NULL, NULL, &sim) != NB_OK)
 *       puts(nb_context_message(ctx));
 *
 * A member that is 0 has the default named beside it, so a scene of zeros is complete once
 * it has a cell and default_f or hkl. To use the number 0 instead of a default, set the bit
 * of the member in nb_scene.given; here the seed of the mosaic domains is the number 0.
 * Pointers are read during nb_simulator_create() only.
 *
 * docs/conventions.md defines the laboratory frame, the rotations (active, right-handed)
 * and the conventions of other programs; docs/theory.md has the formulas. "By rule" refers
 * to its section 11.
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

/* How F is found between the listed reflections (docs/theory.md, 6). AUTO chooses by rule.
 */
enum nb_interpolation { NB_LOOKUP_AUTO, NB_LOOKUP_NEAREST, NB_LOOKUP_TRICUBIC };

/* Lattice factor of the crystal (docs/theory.md, 5). */
enum nb_shape {
    NB_SHAPE_SQUARE,
    NB_SHAPE_ROUND,
    NB_SHAPE_GAUSS,
    NB_SHAPE_TOPHAT,
    NB_SHAPE_GAUSS_STAR
};

/*
 * How orientations, rotation, energies and directions are summed (docs/theory.md, 16).
 * AUTO chooses by rule: NB_MOSAIC_GAUSS where the shape allows it and there is something to
 * integrate, unless number, seed or weights of domains are given.
 */
enum nb_mosaic_model {
    NB_MOSAIC_AUTO,
    NB_MOSAIC_DOMAINS, /* random domains; steps of phi, wavelengths and directions */
    NB_MOSAIC_GAUSS /* normal distributions, in closed form; for NB_SHAPE_GAUSS,
                       NB_SHAPE_GAUSS_STAR */
};

/* Bits of nb_description.integrated: quantities that NB_MOSAIC_GAUSS integrates and does
 * not list. */
enum {
    NB_INTEGRATED_MOSAIC = 1,
    NB_INTEGRATED_ROTATION = 2,
    NB_INTEGRATED_ENERGIES = 4,
    NB_INTEGRATED_DIRECTIONS = 8
};

/* Crystal system: it ties numbers of the cell, and only untied numbers are parameters
 * (params.h). NB_SYSTEM_MONOCLINIC has unique axis b; NB_SYSTEM_HEXAGONAL also stands for
 * trigonal crystals on hexagonal axes. */
enum nb_system {
    NB_SYSTEM_NONE, /* no number is tied */
    NB_SYSTEM_TRICLINIC,
    NB_SYSTEM_MONOCLINIC, /* alpha = gamma = 90 */
    NB_SYSTEM_ORTHORHOMBIC, /* all angles 90 */
    NB_SYSTEM_TETRAGONAL, /* b = a, all angles 90 */
    NB_SYSTEM_HEXAGONAL, /* b = a, alpha = beta = 90, gamma = 120 */
    NB_SYSTEM_RHOMBOHEDRAL, /* c = b = a, gamma = beta = alpha */
    NB_SYSTEM_CUBIC /* c = b = a, all angles 90 */
};

/* Convention of the beam centre and of the default vectors (docs/conventions.md). */
enum nb_convention {
    NB_CONVENTION_MOSFLM,
    NB_CONVENTION_DENZO,
    NB_CONVENTION_ADXV,
    NB_CONVENTION_XDS,
    NB_CONVENTION_DIALS,
    NB_CONVENTION_CUSTOM
};

/* Meaning of nb_detector.origin. */
enum nb_origin {
    NB_ORIGIN_DEFAULT, /* the default of the convention */
    NB_ORIGIN_BEAM, /* Xbeam, Ybeam of the convention                       mm    */
    NB_ORIGIN_NEAR, /* ORGX, ORGY of XDS: point nearest to the crystal      pixel */
    NB_ORIGIN_PIX0, /* outer corner of the first pixel, after rotation      mm    */
    NB_ORIGIN_CLOSE /* point nearest to the crystal: fast, slow             mm    */
};

/* Point that stays in place when the detector is rotated. */
enum nb_pivot { NB_PIVOT_DEFAULT, NB_PIVOT_BEAM, NB_PIVOT_SAMPLE };

/* Point spread of the detector (docs/theory.md, 12): a Gaussian, or the profile of a
 * fibre-coupled sensor g/(2 pi (g^2 + r^2)^(3/2)), with g chosen to give the fwhm. */
enum nb_psf_kind { NB_PSF_NONE, NB_PSF_GAUSS, NB_PSF_FIBER };

/* Materials of sensors, named Si, CdTe and GaAs in files. */
enum nb_material {
    NB_MATERIAL_UNKNOWN,
    NB_MATERIAL_SI,
    NB_MATERIAL_CDTE,
    NB_MATERIAL_GAAS
};

/* Behaviours of nanoBragg that are reproduced: none, or all (nb_scene_set_profile()). */
enum nb_profile { NB_PROFILE_NANOBRAG, NB_PROFILE_NANOBRAGG };

/* One source of a beam with a list of sources. */
typedef struct nb_source {
    double direction[3]; /* along which the light travels, any length */
    double wavelength; /*                                                    A      */
    double weight; /* 0 or more; weights are divided by their sum */
} nb_source;

/* A further lattice of a split or twinned crystal. It has an orientation and, where they
 * are given, axes and a brightness of its own. It shares mosaic spread, N, shape and
 * structure factors with the crystal. */
typedef struct nb_lattice {
    double cell[6]; /* as nb_crystal.cell; all 0: the crystal's              A, degree */
    double matrix[9]; /* as nb_crystal.matrix; all 0: the crystal's          1/A       */
    double misset[3]; /* rotation about lab x, then y, then z                degree */
    double rotation[3]; /* rotation vector applied after misset              degree */
    double scale; /* its brightness relative to the crystal's own lattice; 0: 1 */
} nb_lattice;

typedef struct nb_crystal {
    double cell[6]; /* a b c alpha beta gamma; b, c 0: a; angles 0: 90   A, degree */
    /* Reciprocal axes in 1/A: rows x, y, z of the columns a*, b*, c*; all 0: from cell.
     * With a cell too, the cell gives lengths and angles and the matrix the orientation. */
    double matrix[9];
    double misset[3]; /* rotation about lab x, then y, then z                degree */
    double rotation[3]; /* rotation vector applied after misset; its length is the
                           angle                                             degree */
    double ncells[3]; /* N, unit cells along a b c, real numbers; 0: 1 */
    double ncells_off[3]; /* elements ab, ac, bc of the symmetric matrix N, which must be
                             positive definite; 0 for NB_SHAPE_SQUARE              cells  */
    double mosaic[3]; /* mosaic spread: [0] in all directions if [1] and [2] are 0, else
                         about a, c* x a and c*, which turn with phi         degree */
    double mosaic_off[3]; /* elements ab, ac, bc of the symmetric matrix of spreads, which
                             has mosaic as its diagonal                      degree */
    int mosaic_model; /* enum nb_mosaic_model */
    /* share of the crystal that has a second, wider spread, 0 to 1. This and the next three
     * belong to NB_MOSAIC_GAUSS alone. */
    double mosaic_tail;
    double mosaic_tail_width; /* second spread over the first one; 0: 5 */
    double strain; /* relative standard deviation of the spacings d */
    double crystal_size; /* standard deviation of the illuminated crystal across a
                            diffracted ray                                   mm     */
    int ndomains; /* mosaic domains; 0: 10 with a spread, else 1; 1 in NB_MOSAIC_GAUSS */
    const double *domain_weight; /* weights, 0 or more, divided by their mean; NULL: all 1
                                    (ndomains) */
    int shape; /* enum nb_shape */
    int64_t mosaic_seed; /* seed of the mosaic domains; 0: 12345678 */
    double fudge; /* factor on the squared radius of a spot; 0: 1 */
    double b_factor; /* B of isotropic displacement, exp(-B |q|^2/2) in F^2  A^2    */
    double scale; /* factor on the Bragg intensity; 0: 1 */
    double default_f; /* structure factor of unlisted reflections           electron */
    const nb_hkl *hkl; /* listed reflections; NULL: none */
    int interpolate; /* enum nb_interpolation; AUTO: tricubic if any N <= 2 */
    int normalise; /* 1: F_latt is multiplied so that a spot has the sum of a spot of square
                      blocks, whatever the shape and a fudge not 0 (docs/theory.md, 5) */
    double size[3]; /* along a b c; a number above 0 sets N = ceil(size/edge)  mm   */
    int random_misset; /* 1: misset is drawn at random from misset_seed */
    int64_t misset_seed; /* seed of the random misset */
    int system; /* enum nb_system; tied numbers of the cell may be 0, and must not
                   contradict the system otherwise */
    /* Point group that decides which structure factors are one parameter (params.h); the
     * image does not depend on it. Rotations only: 1 2 222 4 422 3 32 6 622 23 432. With
     * Friedel pairs: -1 2/m mmm 4/m 4/mmm -3 -3m 6/m 6/mmm m-3 m-3m. The axis of 2 is b;
     * trigonal groups are on hexagonal axes, 32 as 321. NULL: each is its own parameter. */
    const char *point_group;
    int nlattice; /* number of further lattices, at most 1000 */
    /* The further lattices. cell, matrix, misset, rotation and scale above describe the
     * first lattice; the image is the sum over all of them.                (nlattice) */
    const nb_lattice *lattice;
} nb_crystal;

/*
 * A flat rectangle of pixels, a part of a detector of several panels. An image stays one
 * array, and each panel is a rectangle in it.
 *
 * The origin and axes of a panel are in the frame of its group. A point (x, y, z) of a
 * group's frame lies at origin + x fast + y slow + z fast x slow in the frame of the parent
 * group. Without a group the frame is the laboratory, moved as a whole about the crystal by
 * nb_detector.rotation and then by nb_detector.origin. The front of a panel faces the
 * crystal.
 *
 * A panel moves about its middle: `rotation` turns it about its own fast axis, then slow
 * axis, then normal fast x slow, as they are before the move, and `shift` moves it along
 * these. A group moves likewise, with its own axes, about the mean of the middles that its
 * panels have without any moves below it.
 */
typedef struct nb_panel {
    char name[32]; /* for messages and files; may be empty */
    int nslow, nfast; /* number of pixels */
    /* Its first pixel in the image. If all panels have 0 0, they are stacked along slow. */
    int slow0, fast0;
    double pixel; /* edge of a square pixel; 0: nb_detector.pixel            mm     */
    double origin[3]; /* outer corner of the first pixel                     mm     */
    double fast[3], slow[3]; /* unit vectors at 90 degrees, both within 1e-6; 0 0 0: 1 0 0
                                for fast, 0 1 0 for slow */
    double shift[3]; /* along its fast axis, slow axis, normal               mm     */
    double rotation[3]; /* about its fast axis, slow axis, normal            degree */
    int group; /* 0: none; else 1 + index of its group */
} nb_panel;

/* A set of panels, and of groups of panels, that moves as one. */
typedef struct nb_panel_group {
    char name[32]; /* as in nb_panel, like origin to rotation */
    int parent; /* 0: none; else 1 + index of its group, which comes before it */
    double origin[3]; /* where its frame begins                              mm     */
    double fast[3], slow[3]; /* the x and the y axis of its frame; as in nb_panel */
    double shift[3]; /* along its fast axis, slow axis, normal               mm     */
    double rotation[3]; /* about them                                        degree */
} nb_panel_group;

/*
 * Panels may not overlap in the image or leave it, no panel may be edge-on to the crystal
 * or lie wholly upstream of it, and an image has at most 1000000 rows.
 *
 * A detector is one rectangle, or a list of panels with places of their own. Distance or
 * origin, vectors, rotation and two theta place a rectangle (docs/conventions.md).
 *
 * Rotation and origin move a detector of panels as a whole; origin_kind is NB_ORIGIN_PIX0
 * or, for 0 0 0, NB_ORIGIN_DEFAULT. Such a detector has no distance, close_distance,
 * twotheta, first three vectors, size, curved or also_kind; pivot and the two-theta axis
 * are not used. Pixels of the image that belong to no panel are 0, like masked ones.
 */
typedef struct nb_detector {
    int npanel; /* number of panels, at most 4096; 0: one rectangle */
    int nslow, nfast; /* number of pixels; 0: from size, or the least that holds all panels
                       */
    int convention; /* enum nb_convention */
    int origin_kind; /* enum nb_origin: meaning of origin */
    double origin[3]; /* position of the detector                      mm or pixel  */
    double distance; /* crystal to detector along the beam; 0: 100           mm     */
    double close_distance; /* ... along the detector's normal; 0: from distance  mm */
    double pixel; /* edge of a square pixel; 0: 0.1                          mm     */
    double rotation[3]; /* rotation about lab x, then y, then z              degree */
    double twotheta; /* rotation about the two-theta axis, after `rotation`  degree */
    double vectors[4][3]; /* fast, slow, normal, two-theta axis; any length; 0 0 0: by the
                             convention */
    double thickness; /* of the sensor; 0: no sensor model                   um     */
    double attenuation; /* depth at which 1/e is left; infinite: no sensor model  um */
    /* The wavelength for which the attenuation is stated; 0: the wavelength of the image, a
     * mean for listed sources. At another wavelength the attenuation follows the table of
     * the material (docs/theory.md, 3); for an unknown material it stays       A      */
    double attenuation_wavelength;
    int material; /* of the sensor, enum nb_material */
    int nlayers; /* layers that sample the thickness of the sensor; 0: as many as its depth
                    needs (docs/theory.md, 11) */
    /* cosine of the angle between a ray and the normal. For such a ray each layer is placed
     * at the mean depth of its captured photons. 0: layers lie in their middles; by rule
     * where nlayers is 0 */
    double layer_cosine;
    int curved; /* 1: every pixel has the same distance from the crystal */
    int point_pixel; /* 1: solid angle 1/R^2, without obliquity */
    const uint8_t *mask; /* 0: the pixel is skipped; NULL: no mask  (nslow x nfast) */
    int roi[4]; /* region of interest in pixels: fast0 fast1 slow0 slow1, ends excluded;
                   all 0: the whole image */
    double size[2]; /* fast, slow; 0: pixel x count, else 102.4              mm     */
    int pivot; /* enum nb_pivot */
    int also_kind; /* enum nb_origin: meaning of also; DEFAULT: not used */
    double also[3]; /* a second statement of the origin, which must agree with the first
                       within 1e-6 pixel                               mm or pixel  */
    const int *box; /* boxes, each with the four numbers of a roi inside the image. Only
                       pixels of the roi in a box are rendered. Time and memory follow the
                       boxes, not the detector, except for whole images and with a point
                       spread. Boxes may overlap; a pixel counts once        (nbox x 4) */
    size_t nbox; /* number of boxes; 0: pixels need not lie in one */
    const nb_panel *panel; /* the panels                                   (npanel) */
    int ngroup; /* number of groups, at most 4096 */
    const nb_panel_group *group; /* the groups                             (ngroup) */
} nb_detector;

typedef struct nb_beam {
    double wavelength; /* 0: 1                                               A      */
    double direction[3]; /* along which the light travels, any length; 0 0 0: by the
                            convention */
    double fluence; /* 0: 1/r_e^2, so that one electron scatters one photon/steradian
                                                                      photons/m^2   */
    double polarization; /* Kahn factor, -1 to 1 (docs/theory.md, 10) */
    double polarization_axis[3]; /* axis of the electric field, any length; 0 0 0: by the
                                    convention */
    double dispersion; /* full spectral width, as a fraction of the wavelength */
    double divergence[2]; /* horizontal, vertical full width                 mrad   */
    int ndispersion, ndivergence[2]; /* number of steps; 0: by rule. In NB_MOSAIC_GAUSS, 0
                                        and 1: the width is integrated */
    int nsource; /* number of listed sources; 0: sources are made from the members above */
    int unpolarised; /* 1: polarization factor 1 (nanoBragg's -nopolar) */
    const nb_source *source; /* the listed sources                        (nsource) */
    double divergence_step[2]; /* horizontal, vertical; 0: by rule           mrad   */
    int square_divergence; /* 1: the grid of directions is not cut to an ellipse */
    double flux; /* above 0: fluence = flux exposure/size^2              photons/s  */
    double exposure; /* 0: 1                                                 s      */
    double size; /* edge of the square beam; it clips crystal size along b and c. 0: 0.1;
                    below 0: no clipping                                     mm     */
} nb_beam;

typedef struct nb_scan {
    double phi0; /* start of the rotation                                    degree */
    double osc; /* range of the rotation; negative rotates backwards         degree */
    double axis[3]; /* spindle, any length; 0 0 0: by the convention */
    int nphi; /* number of phi steps; 0: by rule */
    double step; /* phi step; 0: by rule. In NB_MOSAIC_GAUSS, 0 without nphi, or as a number
                    (NB_GIVEN_PHI_STEP): phi is integrated, in nphi parts    degree */
    /* The crystal turns by drift (phi - drift_phi) in the goniometer: a rotation vector in
     * its frame at phi = 0, before the spindle's rotation          degree per degree */
    double drift[3];
    double drift_phi; /* 0: the middle of the rotation                       degree */
} nb_scan;

typedef struct nb_background {
    double water; /* thickness of amorphous material in the beam             um     */
    const double *stol; /* table of pairs sin(theta)/lambda (1/A), F (electron), rising;
                           NULL: F = 2.57 electrons                     (nstol x 2) */
    size_t nstol; /* number of pairs, 0 or at least 4 */
    double density; /* of the material; 0: 1                                 g/cm^3 */
    double molecular_weight; /* of the material; 0: 18                       g/mol  */
} nb_background;

typedef struct nb_psf {
    int kind; /* enum nb_psf_kind */
    double fwhm; /* full width at half maximum                               mm     */
    int radius; /* the kernel is cut to a square with this half edge; 0: ceil(6 sigma) for
                   NB_PSF_GAUSS, 600 fwhm for NB_PSF_FIBER                   pixel  */
} nb_psf;

/* Bits of nb_scene.given: members whose 0 is a number and does not mean the default. */
enum {
    NB_GIVEN_MOSAIC_SEED = 1,
    NB_GIVEN_FUDGE = 2,
    NB_GIVEN_SCALE = 4, /* also the scales of lattices */
    NB_GIVEN_OSC = 8,
    NB_GIVEN_PHI_STEP = 16,
    NB_GIVEN_DIVERGENCE_H = 32,
    NB_GIVEN_DIVERGENCE_V = 64,
    NB_GIVEN_FLUENCE = 128,
    NB_GIVEN_MOSAIC = 256,
    NB_GIVEN_DISPERSION = 512,
    NB_GIVEN_MOSAIC_AXES = 1024, /* mosaic[1] and [2] */
    NB_GIVEN_DRIFT_PHI = 2048,
    NB_GIVEN_WIDTH = 4096 /* NB_MOSAIC_AUTO takes mosaic, strain or crystal_size for more
                             than 0, as where one is a free parameter */
};

/*
 * Bits of nb_scene.quirks. Each reproduces one behaviour of nanoBragg that this library
 * corrects, for exact comparison with that program; docs/from_nanobragg.md has a row for
 * each. Derivatives are defined without quirks.
 */
enum {
    NB_QUIRK_NORMAL_SIGN = 1, /* a normal of length not 1 becomes fast x slow      */
    NB_QUIRK_STEP_RULES = 2, /* phi at the start of a step; its rules of counts    */
    NB_QUIRK_LAYER_STEP = 4, /* n layers spaced by T/(n-1), from the front         */
    NB_QUIRK_LAST_CAPTURE = 8, /* every layer weighted like the last one           */
    NB_QUIRK_TWOTHETA_DISTANCE = 16, /* distance ignores two theta                 */
    NB_QUIRK_INTERPOLATE = 32, /* automatic interpolation looks at N before size   */
    NB_QUIRK_RANDOM_MISSET = 64, /* random misset within a cap of 90 radian        */
    NB_QUIRK_UNIT_WEIGHTS = 128, /* source weights are ignored                     */
    NB_QUIRK_CURVED = 256, /* curved detector made by two rotations                */
    NB_QUIRK_WATER = 512, /* water divided by the steps, fluence squared           */
    NB_QUIRK_DMIN_POLAR = 1024, /* pixel 0 if dmin excludes all its samples        */
    NB_QUIRK_GAUSS_METRIC = 2048, /* G = |dh a* + dk b* + dl c*| Na Nb Nc          */
    NB_QUIRK_MOSAIC_F32 = 4096, /* mosaic domains at random, angles in float       */
    NB_QUIRK_STATISTICS = 8192, /* rmsd includes masked pixels; solid angle by step */
    NB_QUIRK_NOISE = 16384, /* its random generator and Poisson draws in float     */
    NB_QUIRK_CELL_VECTORS = 32768, /* c*_z from the direct volume; cell rescales matrix */
    NB_QUIRK_ALL = 65535
};

typedef struct nb_scene {
    nb_crystal crystal;
    nb_detector detector;
    nb_beam beam;
    nb_scan scan;
    nb_background background;
    int oversample; /* sub-pixels along the edge of a pixel; 0: by rule */
    double dmin; /* samples of finer spacing do not scatter; 0: no limit     A      */
    uint64_t quirks; /* NB_QUIRK_... */
    nb_psf psf;
    /* 1: capture, polarization or solid angle is evaluated for every sample, not once for a
     * pixel (docs/theory.md, 1) */
    int oversample_thick, oversample_polar, oversample_omega;
    uint64_t given; /* NB_GIVEN_... */
} nb_scene;

/*
 * Set the quirks of a scene; never fails.
 *
 *   scene    [in,out]  quirks is set; NULL: nothing is done
 *   profile  [in]      NB_PROFILE_NANOBRAG: no quirk; NB_PROFILE_NANOBRAGG: all of them
 */
NB_API void nb_scene_set_profile(nb_scene *scene, int profile);

NB_END_DECLS

#endif
