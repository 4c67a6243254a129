/*
 * spot_scenes.h - crystals, beams and detectors that make it hard for the spot strategy to
 * find every sample that matters.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_TESTS_SPOTS_SCENES_H
#define NB_TESTS_SPOTS_SCENES_H

#include <nanobrag/nanobrag.h>

enum { SPOTS_NFAST = 64, SPOTS_NSLOW = 40, SPOTS_PIXELS = SPOTS_NFAST * SPOTS_NSLOW };

/* what a scene tries */
enum spots_group { SPOTS_CRYSTAL, SPOTS_BEAM, SPOTS_DETECTOR, SPOTS_FACTOR };

struct spots_scene {
    const char *name;
    int group;
    void (*change)(nb_scene *scene); /* applied to spots_base() */
};

extern const struct spots_scene spots_list[];
extern const size_t spots_count;

/* A gaussian crystal of 10 x 10 x 10 triclinic cells in 20 domains on 64 x 40 pixels. */
nb_scene spots_base(void);

nb_scene spots_make(const struct spots_scene *named);

/* One orientation, seen on a detector so small that it holds a part of one spot, which lies
 * off/N beside its reflection along each axis. */
nb_scene spots_beside(int shape, double count, double off);

#endif
