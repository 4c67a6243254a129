/*
 * settings.h - the settings that a command line makes: a scene, files, and how to run.
 *
 * Three steps fill them: inherited headers, options, and settings_finish(), which turns the
 * statements into the scene's terms under the profile. Lengths are in mm, angles in degree.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_CLI_OPTIONS_SETTINGS_H
#define NB_CLI_OPTIONS_SETTINGS_H

#include <nanobrag/nanobrag.h>

#include "nanobrag_command/message.h"
#include "nanobrag_command/options/command_line.h"
#include "nanobrag_command/options/options.h"

/* two coordinates; each may be given alone */
struct pair {
    double value[2];
    int given[2];
};

/* vectors that options may set */
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

/* image files */
enum { OUT_FLOAT, OUT_DOUBLE, OUT_INT, OUT_NOISE, OUT_IMAGE, OUT_PGM, OUT_PNG, OUT_COUNT };

enum { ANOMALOUS_MOST = 16 }; /* elements that -anomalous may name */

/* an image of -add */
struct added {
    const char *file;
    double factor;
};
enum { ADDED_MOST = 16, LATTICES_OF_OPTIONS = 16 };

/* numbers that the headers of -mask and -img stated */
struct inherited {
    int any, ours; /* ours: the last header read was written by nanobrag */
    int beam_flipped; /* 1: -mask inverted BEAM_CENTER_Y */
    int has_distance, has_close, has_twotheta;
    double distance, close_distance, twotheta;
    int has_phi; /* of -img */
    double phi;
    struct pair beam, org;
};

/* how -png_scale makes numbers brightness */
enum tone_kind { TONE_AUTO, TONE_LINEAR, TONE_SQRT, TONE_LOG };

/* what fits ask for */
struct fit_settings {
    const char *shared, *own; /* lists of parameters; NULL: none */
    const char *shots, *data_mask, *resume, *fitfile, *fitimage; /* NULL: none */
    const char *fisher_scan; /* NAME=FROM:TO:STEP, or NULL */
    int loss, coarse, scaling, fitimage_kind; /* enums of the library */
    double readout, gain, pedestal, saturation, delta; /* 0: not given */
    int passes, fisher, planes, holdout;
    double seconds;
};

struct settings {
    int compat;
    int crystal_system; /* enum nb_system; NB_SYSTEM_NONE: by the space group */
    int given[OPT_COUNT]; /* how often each option was given */
    nb_scene scene;

    /* statements about the detector, before they are combined */
    struct inherited inherited;
    struct pair beam, close, org; /* mm, mm, pixels */
    double distance, close_distance;
    double pixel, size[2]; /* fast, slow */
    int npixel[2]; /* fast, slow; 0: from size */
    double vector[VECTOR_COUNT][3];
    int vector_given[VECTOR_COUNT];
    double pix0[3]; /* m */
    /* named: the last convention named, or -1; convention: the last one named or implied */
    int named, convention;
    int pivot, reference_pivot; /* of -pivot or 0; the pivot that nanoBragg would use */
    int roi[4]; /* fast0 fast1 slow0 slow1, ends included; -1: default */
    struct pair header_beam; /* BEAM_CENTER of nanoBragg's header where it is not the
                                description's */
    double report_close[2]; /* Xclose, Yclose as nanoBragg prints them */

    int merge; /* enum nb_merge, of -mtz */

    /* structure factors of -pdb */
    nb_fcalc fcalc;
    nb_anomalous anomalous[ANOMALOUS_MOST];
    int nanomalous, anomalous_off;
    const char *wrong_anomalous; /* the first -anomalous that means nothing, or NULL */
    const char *anomalous_twice; /* an element with two of them, or NULL */

    /* images that are added; nadded counts those beyond the most, too */
    struct added added[ADDED_MOST];
    int nadded;

    /* further lattices; nlattice counts those beyond the most, too */
    nb_lattice lattice[LATTICES_OF_OPTIONS];
    int nlattice;

    /* statements about the rest of the scene */
    double thickness, depth; /* um; depth INFINITY: no sensor model, 0: unset */
    double ncells[3];
    double beamsize, exposure;
    int random_misset;

    /* the experiment of -expt or -xparm: the parts that it states (NB_FOUND_...), and the
     * convention whose frame its vectors, or the vectors of -geom, are in; -1: none */
    unsigned stated;
    int frame;

    /* files */
    const char *pdb, *mtz, *fmtz;
    const char *expt, *xparm, *truth, *geom, *geomout;
    const char *hkl, *dump, *matrix, *sources, *spectrum, *spectra, *stol, *img, *mask,
        *boxes;
    const char *shots_range; /* NULL: all rows */
    int spectrum_bins; /* 0: as many energies as the file has */
    int boxes_most, boxes_edge; /* of -boxes auto; 0: boxes from a file, or none */
    double stol_factor; /* converts the first column to sin(theta)/lambda in 1/A */
    const char *out[OUT_COUNT]; /* NULL: not wanted */
    const char *json;
    const char *gradient, *jacobian; /* lists of parameters */
    const char *cotangent, *gradfile, *hklgradfile, *jacobianfile, *atomgradfile;
    const char *gradcheck; /* "all" or names; NULL: no check */
    struct fit_settings fit;
    int noise, pgm; /* 1: switched on */
    int plain; /* 1: -nonoise, so that -imagefile has no noise either */
    int compression; /* enum nb_compression, of -imagefile */

    /* how images are written */
    double adc, scale, pgm_scale;
    int64_t seed, misset_seed;
    int seed_from_clock, misset_seed_from_clock;
    int frames_per_file; /* of NXmx */
    int images, first; /* number of images; of the first shot, from 0 */

    /* the run */
    int png_scale, png_size; /* enum tone_kind; longer edge in points, 0: by rule */
    double png_range[2]; /* photons that are white and black; 0 0: by rule */
    const char *wrong_scale; /* the first -png_scale that means nothing, or NULL */
    int explain, printout, printout_pixel[2], progress, quiet, verbose, threads;
    int full_report; /* 1: in nanoBragg's words, with all numbers */
    int compile; /* NB_COMPILE_... */
    int device, device_id; /* 0: the library decides */
    const char *wrong_device; /* the first -device that names none, or NULL */
    nb_options how; /* how the library computes */
};

/* 1 when a file with noise is written. */
int settings_draw(const struct settings *s);

void settings_start(struct settings *s, int compat);

/* Apply the options in order. */
void settings_apply(struct settings *s, const struct event_list *events);

/* The final pixel counts (fast, slow) that these settings lead to; 0 where there are none.
 */
void settings_pixels(const struct settings *s, int count[2]);

/* Make the scene, and the names of the files. inputs_read() adds hkl, matrix, sources,
 * table and mask. Returns 0 or the exit status. */
int settings_finish(struct settings *s, struct messages *messages);

/* Set the seeds that come from the clock, once settings_finish() has. */
void settings_reseed(struct settings *s, int64_t seed);

/* Return 1 if a fit or its errors are asked for; and if a gradient or derivatives are. */
int fit_asked(const struct settings *s);
int derivatives_asked(const struct settings *s);

/* The direction of the beam before the sources are known. */
void settings_beam_direction(const struct settings *s, double out[3]);

/* ---- parts of settings_finish() ---- */
int geometry_finish(struct settings *s, struct messages *messages);

/* Refuse values that the default profile does not allow, and warn of unlikely ones. Returns
 * 0 or the exit status. */
int settings_check(const struct settings *s, struct messages *messages);

/* 1 for the name "-". */
int names_stdout(const char *path);

/* ---- -imagefile ---- */
enum image_format { IMAGE_SMV, IMAGE_CBF, IMAGE_NXMX, IMAGE_UNKNOWN };

/* The format of -imagefile by the ending of its name; IMAGE_UNKNOWN without one. */
enum image_format image_format(const struct settings *s);

#endif
