/*
 * scene.h - all data on which an image depends: crystal, beam, detector, scan, background.
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
 * Defaults. If a member is 0, it has the default that stands beside it. So a scene of zeros
 * needs only a cell, and default_f or hkl. To use the number 0 instead of a default, set
 * the bit of the member in nb_scene.given. In the example, the seed of the mosaic domains
 * is the number 0.
 *
 * Memory. Only nb_simulator_create() reads the pointers of a scene.
 *
 * docs/conventions.md defines the laboratory frame, the rotations (active, right-handed)
 * and the conventions of other programs. docs/theory.md has the formulas. "By rule" means
 * the rules in section 11 of docs/theory.md.
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

/* How F is computed between the listed reflections (docs/theory.md, 6). NB_LOOKUP_AUTO
 * chooses by rule. */
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
 * How a simulator sums over orientations, rotation, energies and directions
 * (docs/theory.md, 16). NB_MOSAIC_AUTO is NB_MOSAIC_GAUSS if the shape allows it and a
 * width is above 0. If number, seed or weights of domains are given, NB_MOSAIC_AUTO is
 * NB_MOSAIC_DOMAINS.
 */
enum nb_mosaic_model {
    NB_MOSAIC_AUTO,
    NB_MOSAIC_DOMAINS, /* random domains; steps of phi, wavelengths and directions */
    NB_MOSAIC_GAUSS /* normal distributions, integrated in closed form; for NB_SHAPE_GAUSS
                       and NB_SHAPE_GAUSS_STAR */
};

/* Bits of nb_description.integrated: quantities over which NB_MOSAIC_GAUSS integrates,
 * instead of a sum over steps. */
enum {
    NB_INTEGRATED_MOSAIC = 1,
    NB_INTEGRATED_ROTATION = 2,
    NB_INTEGRATED_ENERGIES = 4,
    NB_INTEGRATED_DIRECTIONS = 8
};

/* Crystal system. A system ties numbers of the cell; only the other numbers are parameters
 * (params.h). NB_SYSTEM_MONOCLINIC has the unique axis b. NB_SYSTEM_HEXAGONAL also stands
 * for trigonal crystals on hexagonal axes. */
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
 * fibre-coupled sensor, g/(2 pi (g^2 + r^2)^(3/2)). Here r is the distance from the centre,
 * and g follows from the fwhm. */
enum nb_psf_kind { NB_PSF_NONE, NB_PSF_GAUSS, NB_PSF_FIBER };

/* Materials of sensors, named Si, CdTe and GaAs in files. */
enum nb_material {
    NB_MATERIAL_UNKNOWN,
    NB_MATERIAL_SI,
    NB_MATERIAL_CDTE,
    NB_MATERIAL_GAAS
};

/* Which behaviours of nanoBragg a scene reproduces: none, or all
 * (nb_scene_set_profile()). */
enum nb_profile { NB_PROFILE_NANOBRAG, NB_PROFILE_NANOBRAGG };

/* One source of a beam with a list of sources. */
typedef struct nb_source {
    double direction[3]; /* along which the light travels, any length */
    double wavelength; /*                                                    A      */
    double weight; /* 0 or more; weights are divided by their sum */
} nb_source;

/* A further lattice of a split or twinned crystal. A lattice has its own orientation. It
 * may also have its own axes and its own brightness. It shares mosaic spread, N, shape and
 * structure factors with the crystal. */
typedef struct nb_lattice {
    double cell[6]; /* as nb_crystal.cell; all 0: the crystal's              A, degree */
    double matrix[9]; /* as nb_crystal.matrix; all 0: the crystal's          1/A       */
    double misset[3]; /* rotation about lab x, then y, then z                degree */
    double rotation[3]; /* rotation vector applied after misset              degree */
    double scale; /* brightness, relative to the first lattice of the crystal; 0: 1 */
} nb_lattice;

typedef struct nb_crystal {
    double cell[6]; /* a b c alpha beta gamma; b, c 0: a; angles 0: 90   A, degree */
    /* Reciprocal axes in 1/A: the columns are a*, b*, c*, the rows x, y, z; all 0: from
     * cell. With a matrix and a cell, the cell gives lengths and angles, and the matrix
     * gives the orientation. */
    double matrix[9];
    double misset[3]; /* rotation about lab x, then y, then z                degree */
    double rotation[3]; /* rotation vector applied after misset; its length is the
                           angle                                             degree */
    double ncells[3]; /* N, unit cells along a b c, real numbers; 0: 1 */
    double ncells_off[3]; /* elements ab, ac, bc of the symmetric matrix N, which must be
                             positive definite; 0 for NB_SHAPE_SQUARE              cells  */
    double mosaic[3]; /* mosaic spread. If [1] and [2] are 0: [0] in all directions. Else
                         about a, c* x a and c*, which turn with phi         degree */
    double mosaic_off[3]; /* elements ab, ac, bc of the symmetric matrix of spreads, which
                             has mosaic as its diagonal                      degree */
    int mosaic_model; /* enum nb_mosaic_model */
    /* share of the crystal that has a second, wider spread, 0 to 1. Only NB_MOSAIC_GAUSS
     * has mosaic_tail, mosaic_tail_width, strain and crystal_size. */
    double mosaic_tail;
    double mosaic_tail_width; /* second spread, divided by the first spread; 0: 5 */
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
    int normalise; /* 1: F_latt is multiplied so that a spot has the same photons as a spot
                      of square blocks, for any shape and any fudge except 0
                      (docs/theory.md, 5) */
    double size[3]; /* along a b c; if above 0, N = ceil(size/edge)          mm     */
    int random_misset; /* 1: misset is a random rotation, drawn with misset_seed */
    int64_t misset_seed; /* seed of the random misset */
    int system; /* enum nb_system; a tied number of the cell is 0 or agrees with the
                   system */
    /* Point group that decides which structure factors are one parameter (params.h). The
     * image does not depend on it. Rotations only: 1 2 222 4 422 3 32 6 622 23 432. With
     * Friedel pairs: -1 2/m mmm 4/m 4/mmm -3 -3m 6/m 6/mmm m-3 m-3m. The axis of 2 is b.
     * Trigonal groups are on hexagonal axes, 32 as 321. NULL: each structure factor is its
     * own parameter. */
    const char *point_group;
    int nlattice; /* number of further lattices, at most 1000 */
    /* The further lattices. cell, matrix, misset, rotation and scale above describe the
     * first lattice. The image is the sum over all lattices.               (nlattice) */
    const nb_lattice *lattice;
} nb_crystal;

/*
 * A panel: a flat rectangle of pixels in a detector of several panels. The image stays one
 * array, and each panel is a rectangle in this array.
 *
 * Frame. Origin and axes of a panel are in the frame of its group. A point (x, y, z) in the
 * frame of a group lies at origin + x fast + y slow + z (fast x slow) in the frame of the
 * parent group. Without a group the frame is the laboratory frame. nb_detector.rotation and
 * then nb_detector.origin move this frame, with all panels, about the crystal. The front of
 * a panel faces the crystal.
 *
 * Moves. First `rotation` turns a panel about its middle: about its own fast axis, then
 * slow axis, then normal (fast x slow), as the axes are before the move. Then `shift` moves
 * the panel along these axes. A group moves in the same way, along its own axes. The middle
 * of a group is the mean of the middles of its panels, before the panels and groups in it
 * move.
 */
typedef struct nb_panel {
    char name[32]; /* for messages and files; may be empty */
    int nslow, nfast; /* number of pixels */
    /* Place of the panel's first pixel in the image. If all panels have 0 0, they are
     * stacked along slow. */
    int slow0, fast0;
    double pixel; /* edge of a square pixel; 0: nb_detector.pixel            mm     */
    double origin[3]; /* outer corner of the first pixel                     mm     */
    double fast[3], slow[3]; /* unit vectors at 90 degrees, both within 1e-6; 0 0 0: 1 0 0
                                for fast, 0 1 0 for slow */
    double shift[3]; /* along its fast axis, slow axis, normal               mm     */
    double rotation[3]; /* about its fast axis, slow axis, normal            degree */
    int group; /* 0: none; else 1 + index of its group */
} nb_panel;

/* A group: a set of panels and of other groups that moves as one. */
typedef struct nb_panel_group {
    char name[32]; /* for messages and files; may be empty */
    int parent; /* 0: none; else 1 + index of the parent group, an earlier group */
    double origin[3]; /* origin of the group's frame                         mm     */
    double fast[3], slow[3]; /* the x and the y axis of its frame; as in nb_panel */
    double shift[3]; /* along its fast axis, slow axis, normal               mm     */
    double rotation[3]; /* about its fast axis, slow axis, normal            degree */
} nb_panel_group;

/*
 * A detector is one rectangle, or a list of panels.
 *
 * One rectangle. Distance or origin, vectors, rotation and two theta give its position
 * (docs/conventions.md).
 *
 * Panels. Each panel has its own position. Rotation and origin move the whole detector;
 * origin_kind is NB_ORIGIN_PIX0 or, for an origin 0 0 0, NB_ORIGIN_DEFAULT. A detector of
 * panels has no distance, close_distance, twotheta, first three vectors, size, curved or
 * also_kind. pivot and the two-theta axis are not used. Pixels of the image that belong to
 * no panel are 0, like masked pixels.
 *
 * Panels must not overlap in the image, and must lie inside the image. No panel may be
 * edge-on to the crystal, or lie wholly upstream of the crystal. An image has at most
 * 1000000 rows.
 */
typedef struct nb_detector {
    int npanel; /* number of panels, at most 4096; 0: one rectangle */
    int nslow, nfast; /* number of pixels; 0: from size, or the smallest number that holds
                         all panels */
    int convention; /* enum nb_convention */
    int origin_kind; /* enum nb_origin: meaning of origin */
    double origin[3]; /* position of the detector                      mm or pixel  */
    double distance; /* crystal to detector along the beam; 0: 100           mm     */
    double close_distance; /* crystal to detector along the normal; 0: from distance  mm */
    double pixel; /* edge of a square pixel; 0: 0.1                          mm     */
    double rotation[3]; /* rotation about lab x, then y, then z              degree */
    double twotheta; /* rotation about the two-theta axis, after `rotation`  degree */
    double vectors[4][3]; /* fast, slow, normal, two-theta axis; any length; 0 0 0: by the
                             convention */
    double thickness; /* of the sensor; 0: no sensor model                   um     */
    double attenuation; /* depth at which 1/e is left; infinite: no sensor model  um */
    /* The wavelength of the attenuation; 0: the wavelength of the image, or the mean of the
     * listed sources. At another wavelength the attenuation follows the table of the
     * material (docs/theory.md, 3). For an unknown material it does not change   A   */
    double attenuation_wavelength;
    int material; /* of the sensor, enum nb_material */
    int nlayers; /* number of layers of the sensor; 0: as many as the depth of the sensor
                    needs (docs/theory.md, 11) */
    /* cosine of the angle between a ray and the normal. For such a ray, each layer lies at
     * the mean depth of its captured photons. 0: each layer is sampled in its middle; if
     * nlayers is 0 too, by rule */
    double layer_cosine;
    int curved; /* 1: every pixel has the same distance from the crystal */
    int point_pixel; /* 1: solid angle 1/R^2, without obliquity */
    const uint8_t *mask; /* 0: the pixel is skipped; NULL: no mask  (nslow x nfast) */
    int roi[4]; /* region of interest in pixels: fast0 fast1 slow0 slow1, ends excluded;
                   all 0: the whole image */
    double size[2]; /* fast, slow; 0: pixel x count, else 102.4              mm     */
    int pivot; /* enum nb_pivot */
    int also_kind; /* enum nb_origin: meaning of also; DEFAULT: not used */
    double also[3]; /* the origin, stated a second time; must agree with the first origin
                       within 1e-6 pixel                               mm or pixel  */
    /* Boxes, each with four numbers like roi, inside the image. Only pixels of the roi that
     * lie in a box are rendered. Time and memory then depend on the boxes, not on the size
     * of the detector, except for whole images and with a point spread. Boxes may overlap.
     * A pixel counts once                                                   (nbox x 4) */
    const int *box;
    size_t nbox; /* number of boxes; 0: all pixels of the roi are rendered */
    const nb_panel *panel; /* the panels                                   (npanel) */
    int ngroup; /* number of groups, at most 4096 */
    const nb_panel_group *group; /* the groups                             (ngroup) */
} nb_detector;

typedef struct nb_beam {
    double wavelength; /* 0: 1                                               A      */
    double direction[3]; /* along which the light travels, any length; 0 0 0: by the
                            convention */
    double fluence; /* 0: 1/r_e^2; one electron then scatters one photon/steradian
                                                                      photons/m^2   */
    double polarization; /* Kahn factor, -1 to 1 (docs/theory.md, 10) */
    double polarization_axis[3]; /* axis of the electric field, any length; 0 0 0: by the
                                    convention */
    double dispersion; /* full spectral width, as a fraction of the wavelength */
    double divergence[2]; /* horizontal, vertical full width                 mrad   */
    int ndispersion, ndivergence[2]; /* number of steps; 0: by rule. With NB_MOSAIC_GAUSS, 0
                                        and 1 mean: integrate over the width */
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
    /* phi step; 0: by rule. NB_MOSAIC_GAUSS integrates over phi in two cases: step and nphi
     * are 0, or step is the number 0 (NB_GIVEN_PHI_STEP). It then integrates in nphi
     * parts                                                                 degree */
    double step;
    /* While phi changes, the crystal also turns by the rotation vector drift (phi -
     * drift_phi), before the rotation of the spindle. The vector is in the frame of the
     * goniometer at phi = 0                                        degree per degree */
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
    int radius; /* half edge of the square to which the point spread is cut; 0: ceil(6
                   sigma) for NB_PSF_GAUSS, 600 fwhm for NB_PSF_FIBER        pixel  */
} nb_psf;

/* Bits of nb_scene.given. If a bit is set, a 0 in its member is the number 0, and not the
 * default. */
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
    NB_GIVEN_WIDTH = 4096 /* NB_MOSAIC_AUTO treats mosaic, strain or crystal_size as above
                             0, for example because one of them is a free parameter */
};

/*
 * Bits of nb_scene.quirks. Each bit reproduces one behaviour of nanoBragg that this library
 * corrects. Set them to compare with nanoBragg exactly. docs/from_nanobragg.md has a row
 * for each bit. Derivatives are defined without quirks.
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
    double dmin; /* samples of a smaller spacing do not scatter; 0: no limit A      */
    uint64_t quirks; /* NB_QUIRK_... */
    nb_psf psf;
    /* 1: capture, polarization or solid angle is computed for every sample, and not once
     * for a pixel (docs/theory.md, 1) */
    int oversample_thick, oversample_polar, oversample_omega;
    uint64_t given; /* NB_GIVEN_... */
} nb_scene;

/*
 * Set the quirks of a scene; never fails.
 *
 *   scene    [in,out]  the call sets scene.quirks; NULL: nothing is done
 *   profile  [in]      NB_PROFILE_NANOBRAG: no quirk; NB_PROFILE_NANOBRAGG: all quirks
 */
NB_API void nb_scene_set_profile(nb_scene *scene, int profile);

NB_END_DECLS

#endif
