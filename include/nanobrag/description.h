/*
 * description.h - numbers that a simulator derives from its scene: geometry, counts,
 * sources, orientations, panels, spots, boxes, the sums of one pixel.
 *
 *   nb_description d;
 *   nb_pixel_trace t;
 *   nb_spot spot[50];
 *   int box[50][4];
 *   size_t n;
 *
 *   if (nb_simulator_describe(sim, NULL, &d) == NB_OK)
 *       printf("beam at %g %g mm, on %s: %s\n", d.beam_fast, d.beam_slow, d.device,
 *              d.device_why);
 *   if (nb_simulator_trace(sim, NULL, 0, 100, 200, &t) == NB_OK)
 *       printf("h k l %g %g %g, %g photons\n", t.h[0], t.h[1], t.h[2], t.intensity);
 *   if (nb_simulator_spots(sim, NULL, 50, spot, &n) == NB_OK && n > 0)
 *       printf("%d %d %d is brightest\n", spot->hkl[0], spot->hkl[1], spot->hkl[2]);
 *   if (nb_simulator_boxes(sim, NULL, 15, 50, box[0], &n) == NB_OK)
 *       printf("%d boxes\n", (int)n);
 *
 * A call returns numbers at the nparam parameters x (simulator.h). x = NULL stands for the
 * values of the scene.
 *
 * Common errors of all calls:
 *
 *   NB_ERR_ARGUMENT   sim or a result is NULL; or a parameter is outside its bounds.
 *   NB_ERR_SCENE      x gives an impossible geometry.
 *   NB_ERR_UNIT_CELL  x gives a flat cell. nb_simulator_source() and nb_simulator_panel()
 *                     do not use the cell and do not return this error.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NANOBRAG_DESCRIPTION_H
#define NANOBRAG_DESCRIPTION_H

#include <stdint.h>

#include <nanobrag/context.h>
#include <nanobrag/scene.h>
#include <nanobrag/simulator.h>
#include <nanobrag/status.h>

NB_BEGIN_DECLS

/* Derived numbers of a scene: its geometry in every convention, its counts, and the device
 * that computes it. */
typedef struct nb_description {
    /* ---- crystal, after misset, at phi = 0, without mosaic domains ---- */
    double cell[6], cell_star[6]; /* direct and reciprocal cell         A, 1/A, degree */
    double volume; /*                                                           A^3    */
    double real_axes[3][3]; /* a, b, c                                          A      */
    double star_axes[3][3]; /* a*, b*, c*                                       1/A    */
    double misset[3]; /* about lab x, y, z                                      degree */
    /* unit cells along a, b, c; photons of a spot, divided by the photons for square
     * blocks */
    double ncells[3], spot_sum;
    double star_sines[3], star_cosines[3]; /* of the reciprocal angles, not clipped to 1 */
    /* ---- detector, after its rotations ---- */
    /* npanel: number of panels; 0: one rectangle. panel: index of the panel that the direct
     * beam meets, or comes nearest to. All members below describe this panel. Only nslow
     * and nfast describe the whole image */
    int npanel, panel;
    int nslow, nfast, convention, pivot; /* pivot: NB_PIVOT_BEAM or NB_PIVOT_SAMPLE */
    double pixel, size[2]; /* size: fast, slow                                  mm     */
    double fast[3], slow[3], normal[3], twotheta_axis[3]; /* unit vectors */
    double origin[3]; /* outer corner of the first pixel (pix0)                 mm     */
    double distance, close_distance; /* along the beam, along the normal        mm     */
    double beam_fast, beam_slow; /* direct beam, from the outer corner          mm     */
    double close_fast, close_slow; /* nearest point, from the outer corner      mm     */
    double xbeam, ybeam; /* beam centre of the convention, as given or default  mm     */
    /* beam centre x, y of these programs; origin of DIALS, of SMV and miniCBF  mm     */
    double adxv[2], mosflm[2], denzo[2], dials_origin[3];
    double xds_org[2]; /* ORGX, ORGY of XDS                                     pixel  */
    /* sensor: thickness, um, and attenuation, 1/m; mu below 0: not given, 0: no sensor */
    double thickness, mu;
    double layer_step, layer_depth; /* thickness of a layer, depth of the first um     */
    /* ---- beam ---- */
    double beam[3], polarization_axis[3], vertical[3], spindle[3]; /* unit vectors */
    double fluence; /*                                                   photons/m^2   */
    double dispersion, dispersion_step; /* fractions of the wavelength */
    double divergence[2], divergence_step[2]; /* horizontal, vertical           radian */
    /* ---- counts; ngrid: directions of generated sources; 0 for listed sources ---- */
    int nsource, ngrid, ndispersion, nphi, ndomains, nlayers;
    int mosaic_model, integrated; /* enum nb_mosaic_model, not AUTO; NB_INTEGRATED_... */
    int oversample, oversample_wanted; /* used number, and number by rule */
    int interpolate; /* enum nb_interpolation; no effect without listed reflections */
    int interpolate_auto; /* 1: interpolate was chosen by rule */
    /* ---- strategy and device; the simulator owns the strings until its next call ---- */
    int strategy; /* enum nb_strategy on the host, never NB_STRATEGY_AUTO */
    const char *strategy_why; /* the reason, one clause */
    const char *kernel; /* on the host: "scalar" "v2" "v3" "v4" "base" or "reference" */
    const char *device; /* where images are computed: "cpu", or "cuda:0" and its name */
    const char *device_why; /* the reason, one clause */
    const char *derivatives; /* where derivatives are computed, as far as is known yet */
    const char *derivatives_why; /* the reason, one clause */
    int precision; /* NB_PRECISION_SINGLE if any part of an image is in float */
    double tolerance; /* nb_options.tolerance, as a fraction of the peak */
    /* Estimated rounding error of the image, as a fraction of its brightest pixel before a
     * point spread. The estimate is for an image with a spot. It grows with N
     * |a|/wavelength: 3e-12 for 30 cells of 50 A at 1 A, 2e-9 for 1000 cells of 1000 A. In
     * an image without a spot the fraction may be larger. */
    double rounding;
    /* tiles of NB_STRATEGY_LANES; tiles that are divided, and tiles that are computed in
     * double, because of the tolerance */
    int tiles, tiles_small, tiles_double;
    double phi_step; /*                                                         degree */
    double sample_max, pixel_reciprocal; /* largest edge N |a| of the crystal; lambda x
                                            distance/pixel                      A      */
    double qmax; /* largest |q| on the detector                                 1/A    */
    int64_t pixels; /* rendered pixels: inside the ROI and a box, and not masked */
    double evaluations; /* pixels x sub-pixels x layers x sources x phi x domains */
    double background_intensity; /* nanoBragg's I_bg with NB_QUIRK_WATER, else 0
                                                                 photons/steradian     */
} nb_description;

/*
 * Describe the scene at x.
 *
 *   x    [in]   parameters; NULL: the values of the scene          (nparam)
 *   out  [out]  the description
 *
 * Errors: the common ones.
 */
NB_API nb_status nb_simulator_describe(nb_simulator *sim, const double *x,
                                       nb_description *out);

/*
 * Read one source of the beam at x (docs/theory.md, 10).
 *
 *   x          [in]   parameters; NULL: the values of the scene    (nparam)
 *   i          [in]   index of the source, from 0
 *   out        [out]  unit direction, wavelength in A, and weight: the given weight, or
 *                     1/n for each of n generated sources
 *   deviation  [out]  horizontal and vertical angle to the beam, radian; 0 for a listed
 *                     source; may be NULL                          (2)
 *
 * Further errors: NB_ERR_ARGUMENT if there is no source i; NB_ERR_SCENE if the source has
 * no direction or wavelength at x.
 */
NB_API nb_status nb_simulator_source(nb_simulator *sim, const double *x, int i,
                                     nb_source *out, double *deviation);

/*
 * Read the crystal axes of one orientation at x (docs/theory.md, 8 and 9).
 *
 *   x    [in]   parameters; NULL: the values of the scene          (nparam)
 *   i    [in]   index of the phi step, from 0
 *   j    [in]   index of the mosaic domain, from 0
 *   out  [out]  rows a, b, c in the laboratory frame, A            (3 x 3)
 *
 * Further errors: NB_ERR_ARGUMENT if an index is out of range.
 */
NB_API nb_status nb_simulator_orientation(nb_simulator *sim, const double *x, int i, int j,
                                          double out[9]);

/*
 * Read one panel of the detector at x: its position in the laboratory after all moves, its
 * place in the image, and its pixel.
 *
 *   x    [in]   parameters; NULL: the values of the scene          (nparam)
 *   i    [in]   index of the panel, from 0; 0 if the detector is one rectangle
 *   out  [out]  the panel. origin, fast and slow contain the moves, so shift, rotation and
 *               group are 0
 *
 * Further errors: NB_ERR_ARGUMENT if there is no panel i.
 */
NB_API nb_status nb_simulator_panel(nb_simulator *sim, const double *x, int i,
                                    nb_panel *out);

/* A reflection that scatters onto the detector. */
typedef struct nb_spot {
    int hkl[3]; /* h k l */
    int lattice; /* 0: the first lattice of the crystal */
    int panel; /* 0 if the detector is one rectangle */
    /* the middle of the spot, from the corner of the panel: mean over the terms of the
     * brightness                                                            pixel      */
    double fast, slow;
    double extent[4]; /* where the terms lie: fast from, to, slow from, to      pixel */
    double brightness; /* in a unit that all spots of one call share */
} nb_spot;

/*
 * Find the reflections that scatter onto the detector, the brightest first.
 *
 *   x     [in]   parameters; NULL: the values of the scene         (nparam)
 *   most  [in]   number of spots for which `spot` has room
 *   spot  [out]  the brightest reflections; may be NULL if most is 0          (most)
 *   n     [out]  number of reflections; may be larger than `most`
 *
 * Brightness. If the simulator integrates over the mosaic spread (NB_MOSAIC_GAUSS), the
 * brightness of a reflection is its photons, without the factors of polarization and solid
 * angle. Otherwise it is a sum over sources, phi steps and mosaic domains. A term is weight
 * x F^2 x F_latt^2 x the factors of polarization and B. F_latt is taken at the point of the
 * Ewald sphere that is nearest to the reflection. A term does not count if it is below 1e-6
 * of the profile's peak, or if its ray misses the detector. The direct beam (0 0 0) is left
 * out. Equally bright reflections are sorted by h, then k, then l, the lower index first.
 * The call computes no image. So it ignores neighbours, tails and the solid angle of
 * pixels.
 *
 * Place. The pixel in the middle of a spot lies in the ROI and is not masked. A reflection
 * on two panels is listed for each. The call ignores the boxes of the simulator. The result
 * is the same for any number of threads.
 *
 * Further errors: NB_ERR_UNSUPPORTED (the scene has NB_QUIRK_CURVED and a curved detector),
 * NB_ERR_MEMORY (also if there are too many reflections to list), NB_ERR_CANCELLED.
 */
NB_API nb_status nb_simulator_spots(nb_simulator *sim, const double *x, size_t most,
                                    nb_spot *spot, size_t *n);

/*
 * Find boxes of pixels around the brightest reflections (nb_simulator_spots()), for
 * nb_detector.box. For a fit of a still these boxes are usually enough.
 *
 *   x     [in]   parameters; NULL: the values of the scene         (nparam)
 *   edge  [in]   edge of a box in pixels, 1 or more
 *   most  [in]   number of boxes for which `box` has room
 *   box   [out]  boxes as in nb_detector, the brightest reflection first   (most x 4)
 *   n     [out]  number of boxes; smaller than `most` if fewer reflections scatter.
 *
 * The middle of a box is the middle of its spot, to half a pixel. A box ends at the edge of
 * its panel. A reflection on two panels has two boxes. Boxes may overlap.
 *
 * Further errors: the errors of nb_simulator_spots(), and NB_ERR_ARGUMENT if edge is below
 * 1.
 */
NB_API nb_status nb_simulator_boxes(nb_simulator *sim, const double *x, int edge,
                                    size_t most, int *box, size_t *n);

/* The last sample of one pixel, and the sums over all its samples (docs/theory.md). */
typedef struct nb_pixel_trace {
    double stol; /* sin(theta)/lambda                                           1/A    */
    double position[3]; /* position of the sample                               m      */
    double h[3]; /* fractional Miller indices of the sample */
    int hkl[3]; /* indices of the nearest reflection */
    double f_cell; /* structure factor of the unit cell                       electron */
    double f_latt; /* lattice factor, in unit cells */
    double sum; /* of (F_cell F_latt)^2 over all samples                    electron^2 */
    double steps; /* sources x domains x phi steps x sub-pixels */
    double polarization, omega, capture; /* factors; omega in steradian */
    double intensity; /* of the pixel, before the point spread               photons   */
    double axes[3][3]; /* real-space axes a, b, c of the sample                 A      */
} nb_pixel_trace;

/*
 * Compute one pixel with NB_STRATEGY_REFERENCE, and report its factors.
 *
 *   x      [in]   parameters; NULL: the values of the scene        (nparam)
 *   panel  [in]   index of the panel, from 0; 0 if the detector is one rectangle
 *   slow   [in]   pixel index along the slow axis of the panel, from 0
 *   fast   [in]   pixel index along its fast axis, from 0
 *   out    [out]  the trace
 *
 * Further errors: NB_ERR_ARGUMENT if there is no such pixel.
 */
NB_API nb_status nb_simulator_trace(nb_simulator *sim, const double *x, int panel, int slow,
                                    int fast, nb_pixel_trace *out);

NB_END_DECLS

#endif
