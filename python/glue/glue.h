/*
 * glue.h - what the Python package needs in C beside the library: it asks Python now and
 * then whether a call shall stop, and reads command lines by the program's own parser.
 * tools/cdef.py reads this file too, so that it holds nothing but declarations.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NB_PYTHON_GLUE_H
#define NB_PYTHON_GLUE_H

#include <nanobrag/nanobrag.h>

/* What a context of Python watches; `handle` belongs to Python. */
typedef struct nbpy_watch {
    int stop; /* 1: the next question is answered by "stop", without Python */
    double next; /* when Python is asked again, seconds of the monotonic clock */
    void *handle;
} nbpy_watch;

/* The handler of progress of every context (context.h): asks nbpy_ask() every 20 ms. user
 * is an nbpy_watch. */
int nbpy_progress(void *user, double fraction);

/* ---- command lines of the program ---- */
typedef struct nbpy_command nbpy_command;

/*
 * Read a command line, and the files that it names.
 *
 *   argv  [in]  stays as it is until nbpy_command_free()       (argc)
 *
 * Returns NULL when there was no memory.
 */
nbpy_command *nbpy_command_read(int argc, char **argv);

/* The exit status that the program would have had; 0: the others hold something. */
int nbpy_command_code(const nbpy_command *command);

/* The program's errors, warnings and notes, each line with its newline. */
const char *nbpy_command_lines(const nbpy_command *command);

/* The scene at the first image, and how it is to be computed; owned by the command. */
const nb_scene *nbpy_command_scene(const nbpy_command *command);
const nb_options *nbpy_command_options(const nbpy_command *command);

/* Free the simulator of a command, and with it the scene where -param has set something.
 * Returns 1 when its structure factors are those of atoms, so that it can make others. */
int nbpy_command_keep_atoms(nbpy_command *command);

/* Calculate the structure factors of the atoms for a scene: up to its corner and at its
 * wavelength, as the program does. Free with nb_hkl_free(); NULL: the last of the command's
 * lines says why not. */
nb_hkl *nbpy_command_factors(nbpy_command *command, const nb_scene *scene);

/* Free a command; NULL is allowed. */
void nbpy_command_free(nbpy_command *command);

#endif
