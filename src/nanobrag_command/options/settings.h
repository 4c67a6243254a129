/*
 * settings.h - the settings that a command line makes: a scene, names of files, and choices
 * for the run.
 *
 * They are filled in three steps: by the files that state a geometry, by options, and by
 * settings_finish(), which combines their statements into the scene. Lengths are in mm and
 * angles in degree.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_SETTINGS_H
#define NB_CLI_OPTIONS_SETTINGS_H

#include <nanobrag/nanobrag.h>

#include "nanobrag_command/message.h"
#include "nanobrag_command/options/command_line.h"
#include "nanobrag_command/options/options.h"

/* two coordinates, each given or not */
struct pair {
    double value[2];
    int given[2];
};

/* vectors that options can set */
enum {
    VECTOR_FAST,
    VECTOR_SLOW,
    VECTOR_NORMAL,
    VECTOR_TWOTHETA,
    VECTOR_BEAM,
    VECTOR_POLAR,
    VECTOR_SPINDLE,
    VECTOR_COUNT
};

/* kinds of image file */
enum { OUT_FLOAT, OUT_DOUBLE, OUT_INT, OUT_NOISE, OUT_IMAGE, OUT_PGM, OUT_PNG, OUT_COUNT };

enum { ANOMALOUS_MOST = 16 }; /* elements that -anomalous may name */

/* an image of -add */
struct added {
    const char *file;
    double factor;
};
enum { ADDED_MOST = 16, LATTICES_OF_OPTIONS = 16 };

/* numbers that the files of -mask, -img, -expt and -xparm state; later files override */
struct inherited {
    /* any: a file was read; ours: the point nearest to the crystal places its detector, as
     * in headers that nanobrag wrote */
    int any, ours;
    int beam_flipped; /* 1: -mask inverted BEAM_CENTER_Y */
    int has_distance, has_close, has_twotheta;
    double distance, close_distance, twotheta;
    int has_phi; /* the image of -img states phi */
    double phi;
    struct pair beam, org;
};

/* how -png_scale turns photons into brightness */
enum tone_kind { TONE_AUTO, TONE_LINEAR, TONE_SQRT, TONE_LOG };

/* options of fits */
struct fit_settings {
    const char *shared, *own; /* names of -fit and -fit_each, or NULL */
    const char *shots, *data_mask, *resume, *fitfile, *fitimage, *fittable; /* NULL: none */
    const char *fisher_scan; /* NAME=FROM:TO:STEP, or NULL */
    int loss, coarse, scaling, fitimage_kind; /* NB_LOSS_..., NB_COARSE_...,
                                                 NB_FIT_SCALING_..., NB_FIT_... */
    double readout, gain, pedestal, saturation, delta; /* 0: not given */
    double found_gain; /* of images that state none; 0: 1 */
    double boxes_q; /* largest |q| for which a fit needs F, 1/A; 0: of the detector */
    int passes, fisher, planes, holdout, outliers;
    double seconds;
};

struct settings {
    int compat;
    int crystal_system; /* NB_SYSTEM_...; NONE: the space group decides */
    int given[OPT_COUNT]; /* how often each option was given */
    nb_scene scene;

    /* statements about the detector, before geometry_finish() combines them */
    struct inherited inherited;
    struct pair beam, close, org; /* -Xbeam, mm; -Xclose, mm; -ORGX, pixels; so for y */
    double distance, close_distance;
    double pixel, size[2]; /* edge of a pixel; of the detector, fast and slow */
    int npixel[2]; /* number of pixels, fast and slow; 0: by size */
    double vector[VECTOR_COUNT][3];
    int vector_given[VECTOR_COUNT];
    double pix0[3]; /* m */
    /* the last of -mosflm, -adxv etc., or -1; the last convention that any option named or
     * implied */
    int named, convention;
    int pivot, reference_pivot; /* by -pivot, or 0; the pivot in nanoBragg */
    int roi[4]; /* first and last pixel fast, then slow; -1: edge of the detector */
    struct pair header_beam; /* BEAM_CENTER for nanoBragg's header, where given */
    double report_close[2]; /* Xclose, Yclose as nanoBragg prints them */

    int merge; /* of -mtz, NB_MERGE_... */

    /* structure factors of -pdb */
    nb_fcalc fcalc;
    nb_anomalous anomalous[ANOMALOUS_MOST];
    int nanomalous, anomalous_off;
    const char *wrong_anomalous; /* the first value that -anomalous does not know, or
                                    NULL */
    const char *anomalous_twice; /* an element that was given twice, or NULL */

    /* images of -add; nadded also counts those beyond ADDED_MOST */
    struct added added[ADDED_MOST];
    int nadded;

    /* lattices of -lattice; nlattice also counts those beyond LATTICES_OF_OPTIONS */
    nb_lattice lattice[LATTICES_OF_OPTIONS];
    int nlattice;

    /* statements about the rest of the scene */
    double thickness, depth; /* um; a depth of INFINITY: no sensor model; 0: not given */
    double ncells[3];
    double beamsize, exposure;
    int random_misset;

    /* Parts that -expt or -xparm states (NB_FOUND_...). The convention in whose frame the
     * vectors of -expt, -xparm or -geom are; -1 without such a file. */
    unsigned stated;
    int frame;

    /* files */
    const char *pdb, *mtz, *fmtz;
    const char *expt, *exptout, *reflout, *xparm, *truth, *geom, *geomout;
    const char *hkl, *dump, *matrix, *sources, *spectrum, *spectra, *stol, *img, *mask,
        *boxes, *refl;
    const char *shots_range; /* NULL: all rows */
    int spectrum_bins; /* 0: all energies of the file */
    int boxes_most; /* N of -boxes auto; 0: no auto */
    int boxes_edge; /* EDGE of -boxes auto and refl */
    const char *predict, *integrate;
    double predict_least; /* photons; 0: the library's default */
    int nolattices;
    double stol_factor; /* the first column of -stol times this is sin(theta)/lambda, 1/A */
    const char *out[OUT_COUNT]; /* by OUT_...; NULL: not written */
    const char *json;
    const char *gradient, *jacobian; /* lists of parameters */
    const char *cotangent, *gradfile, *hklgradfile, *jacobianfile, *atomgradfile;
    const char *gradcheck; /* "all" or names; NULL: no check */
    struct fit_settings fit;
    int noise, pgm; /* 1: write the image with noise; the grey picture */
    int plain; /* 1: -nonoise was given, so -imagefile has no noise either */
    int compression; /* of -imagefile, NB_COMPRESSION_... */

    /* how images are written */
    double adc, scale, pgm_scale;
    int64_t seed, misset_seed;
    int seed_from_clock, misset_seed_from_clock;
    int frames_per_file; /* 0: all frames in one NXmx file */
    int images, first; /* number of images; row of the first shot, from 0 */

    /* the run */
    int png_scale, png_size; /* TONE_...; longest edge in points, 0: automatic */
    double png_range[2]; /* photons that are white, and black; both 0: automatic */
    const char *wrong_scale; /* the first -png_scale that is not valid, or NULL */
    int explain, printout, printout_pixel[2], progress, quiet, verbose, threads;
    int full_report; /* 1: print all numbers in nanoBragg's words */
    int compile; /* NB_COMPILE_... */
    int device, device_id; /* 0: the library decides */
    const char *wrong_device; /* the first -device that is not valid, or NULL */
    nb_options how; /* how the library computes */
};

/* Returns 1 if an image with photon noise is drawn and written. */
int settings_draw(const struct settings *s);

void settings_start(struct settings *s, int compat);

/* Apply the options in the order given. */
void settings_apply(struct settings *s, const struct event_list *events);

/* Returns 1 if boxes come from the table of -refl: by -boxes refl, or without -boxes. */
int uses_reflections(const struct settings *s);

/* Finds the number of pixels, fast and slow, that the settings give; 0 for an edge without
 * any. */
void settings_pixels(const struct settings *s, int count[2]);

/* Complete the scene and the names of the output files. inputs_read() adds structure
 * factors, matrix, sources, background table and mask later. Returns 0 or the exit
 * status. */
int settings_finish(struct settings *s, struct messages *messages);

/* Replace the seeds that settings_finish() took from the clock, so that several processes
 * draw the same random numbers. */
void settings_reseed(struct settings *s, int64_t seed);

/* The first returns 1 if a fit or the errors of one are asked for; the second, if a
 * gradient or a Jacobian is. */
int fit_asked(const struct settings *s);
int derivatives_asked(const struct settings *s);

/* Finds the direction of travel of the beam, a unit vector, before sources are read. */
void settings_beam_direction(const struct settings *s, double out[3]);

/* ---- parts of settings_finish() ---- */
int geometry_finish(struct settings *s, struct messages *messages);

/* Refuse values that only -compat nanobragg allows, and warn of unlikely values. Returns 0
 * or the exit status. */
int settings_check(const struct settings *s, struct messages *messages);

/* Returns 1 for the name "-", which stands for stdout. */
int names_stdout(const char *path);

/* ---- -imagefile ---- */
enum image_format { IMAGE_SMV, IMAGE_CBF, IMAGE_NXMX, IMAGE_UNKNOWN };

/* Returns the format that the ending of -imagefile means; IMAGE_UNKNOWN for another ending
 * and without the option. */
enum image_format image_format(const struct settings *s);

#endif
