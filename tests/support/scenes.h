/*
 * scenes.h - the catalogue of scenes that tests share. A program chooses its scenes by tag,
 * or one of them by its set and name; scenes.def lists them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_SCENES_H
#define NB_TESTS_SCENES_H

#include <nanobrag/nanobrag.h>

/* Each scene belongs to one of the first four, its set. */
enum scenes_tag {
    SCENES_FEATURES = 1, /* every feature of the simulator */
    SCENES_ORACLE = 2, /* every formula, small enough for 128 bits */
    SCENES_MUTATION = 4, /* as small, for wrong derivatives that the oracle's leave alone */
    SCENES_SPOTS = 8, /* spots that are hard to find */
    SCENES_CRYSTAL = 16, /* because of the crystal, */
    SCENES_BEAM = 32, /* the beam, */
    SCENES_DETECTOR = 64, /* the detector */
    SCENES_FACTOR = 128, /* or what multiplies a sample */
    SCENES_BRUTE_FORCE = 256, /* tests/kernels/brute_force.c can compute it */
    SCENES_SUMS = 512, /* sums of derivatives over the image take different paths */
    SCENES_FACTORS = 1024, /* structure factors of a list, nearest and tricubic */
    SCENES_ROUNDING_MODES = 2048 /* each shape, and what comes after the sum */
};

enum { SPOTS_NFAST = 64, SPOTS_NSLOW = 40, SPOTS_PIXELS = SPOTS_NFAST * SPOTS_NSLOW };

struct named_scene {
    const char *name;
    nb_scene scene;
};

/* Write scene number i of those that have all these tags; return 0 if there are not so
 * many. */
int scenes_at(unsigned tags, size_t i, struct named_scene *out);

/* Return how many scenes have all these tags. */
size_t scenes_count(unsigned tags);

/* Return the scene of that name; end the program if there is none. */
nb_scene scenes_named(unsigned tags, const char *name);

/* Return what the scenes of a set change.
 * SCENES_FEATURES: a small triclinic crystal, a tilted detector of 40 x 37 pixels, two phi
 * steps, six mosaic domains, no quirks. SCENES_ORACLE, SCENES_MUTATION: the same with three
 * domains on 8 x 8 pixels. SCENES_SPOTS: a gaussian crystal of 10 x 10 x 10 triclinic cells
 * in 20 domains on 64 x 40 pixels. */
nb_scene scenes_base_of(unsigned tags);

/* Return the base of SCENES_FEATURES. */
nb_scene scenes_base(void);

/* Return one orientation, seen on a detector so small that it holds a part of one spot,
 * which lies off/N beside its reflection along each axis. */
nb_scene scenes_beside_spot(int shape, double count, double off);

/* Cut the detector of a scene, whose beam is along x, into two panels along slow, one in
 * two groups, all of them moved. */
void scenes_panels(nb_scene *s);

/* The same with the second panel swung about the crystal by so many degrees, as a row of a
 * barrel is. */
void scenes_barrel(nb_scene *s, double degree);

/* Add water and the table of amorphous scattering that goes with it. */
void scenes_amorphous(nb_scene *s, double water);

/* Return 1 for a parameter that continuous crystals alone have; no scene here is one. */
int scenes_is_width(const char *name);

/* Add two lattices to the crystal of a scene, the second with a cell of its own, and water.
 */
void scenes_lattices(nb_scene *s);

/* Return 1 for a parameter of further lattices, which no scene of the catalogue has: a
 * device leaves them to the host. */
int scenes_is_lattice(const char *name);

/* Write the parameters that a row of the registry stands for in a scene; of a list at most
 * `most`, spread over it. Return how many, or 0 if the row does not apply. */
size_t scenes_parameters(nb_context *ctx, const nb_scene *scene, int row, nb_param *out,
                         size_t most);

/* Return reflections with -8 <= h, k, l <= 8, some of them missing; they are made once per
 * process and never freed. */
const nb_hkl *scenes_reflections(void);

/* Return the same without those next to the direct beam, so that the image listens to
 * default_f. */
const nb_hkl *scenes_reflections_outside(void);

#endif
