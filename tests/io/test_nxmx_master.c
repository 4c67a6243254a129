/*
 * test_nxmx_master.c - masters of NXmx: what HDF5 reads through them, and what is refused.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nanobrag/nanobrag.h>

#include "io/nxmx_files.h"
#include "io/plate.h"
#include "support/files.h"
#include "support/tap.h"

static nb_simulator *make(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = NULL;

    check_ok(nb_simulator_create(ctx, &scene, "phi0 wavelength distance", NULL, &sim),
             "simulator");
    return sim;
}

#ifdef NANOBRAG_HDF5

#define BEAM "/entry/instrument/beam/"

enum { N = 3, FRAMES = 4 };

static const double x[FRAMES][N] = {{12.25, 1.1, 70},
                                    {12.75, 1.2, 70},
                                    {13.25, 1.3, 70},
                                    {13.75, 1.4, 70}};
static const nb_nxmx_options whole = {.master = 1};

/* Writes frames first .. first + n - 1 of the pixels of nxmx_fill(). */
static void write_part(nb_simulator *sim, const char *name, int first, int n)
{
    int32_t counts[NPIX];
    const nb_array image = nb_array_i32(counts, NSLOW, NFAST);
    nb_nxmx *nxmx = NULL;

    check_ok(nb_nxmx_create(sim, in_folder(name), NULL, &nxmx), "create");
    for (int i = first; i < first + n; i++) {
        nxmx_fill(counts, i);
        check_ok(nb_nxmx_append(nxmx, x[i], &image), "append");
    }
    check_ok(nb_nxmx_close(nxmx), "close");
}

static void write_parts(nb_simulator *sim)
{
    empty_folder();
    write_part(sim, "m_1.nxs", 0, 1);
    write_part(sim, "m_2.nxs", 1, 3);
}

/* Writes the files and a master over both. */
static void write_whole(nb_simulator *sim)
{
    nb_nxmx *nxmx = NULL;

    write_parts(sim);
    check_ok(nb_nxmx_create(sim, in_folder("m.nxs"), &whole, &nxmx), "a master");
    check_ok(nb_nxmx_append_file(nxmx, "m_1.nxs", 1, x[0]), "one frame");
    check_ok(nb_nxmx_append_file(nxmx, "m_2.nxs", 3, x[1]), "three frames");
    check_ok(nb_nxmx_close(nxmx), "close");
}

/* the master shows the pixels of its files in order, and has the beam of every frame */
static int shows_its_files(void)
{
    nb_simulator *sim = make();
    double found[FRAMES] = {0};
    hsize_t shape[3] = {0};
    int64_t n = 0;
    int master = 7;
    hid_t file;

    write_whole(sim);
    tap_check(count_files(in_folder("")) == 3, "three files");
    file = nxmx_open("m.nxs");
    tap_check(nxmx_size(file, "/entry/data/data", shape) == 3 && shape[0] == FRAMES
                  && shape[1] == NSLOW && shape[2] == NFAST,
              "frame x slow x fast");
    nxmx_same_counts(file, FRAMES);
    tap_check(nxmx_has(file, "/entry/instrument/detector/data"), "the detector's link");
    tap_check(nxmx_reals(file, BEAM "incident_wavelength", FRAMES, found) == FRAMES
                  && found[0] == 1.1 && found[3] == 1.4,
              "wavelengths %g to %g", found[0], found[3]);
    tap_check(nxmx_reals(file, "/entry/sample/transformations/omega", FRAMES, found)
                      == FRAMES
                  && found[0] == 12.25 && found[3] == 13.75,
              "omega %g to %g", found[0], found[3]);
    nxmx_same_text(file, "/entry/definition", NULL, "NXmx");
    H5Fclose(file);
    check_ok(nb_nxmx_count(ctx, in_folder("m.nxs"), &n, &master), "count");
    tap_check(n == FRAMES && master == 1, "%d frames of a master", (int)n);
    check_ok(nb_nxmx_count(ctx, in_folder("m_2.nxs"), &n, &master), "count");
    tap_check(n == 3 && master == 0, "%d frames of a part", (int)n);
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* names are relative to the master, wherever it lies; a file that is lost shows as -1 */
static int moves_with_its_files(void)
{
    nb_simulator *sim = make();
    static double found[FRAMES * NPIX];
    char folder[256], moved[300], there[320];
    int32_t expected[NPIX];
    int wrong = 0;
    hid_t file;

    write_whole(sim);
    (void)snprintf(folder, sizeof folder, "%s", in_folder(""));
    (void)snprintf(moved, sizeof moved, "%.*s_moved", (int)strcspn(folder, "\n") - 1,
                   folder);
    if (rename(folder, moved) != 0) abort();
    (void)snprintf(there, sizeof there, "%s/m.nxs", moved);
    file = H5Fopen(there, H5F_ACC_RDONLY, H5P_DEFAULT);
    tap_check(file >= 0, "it opens elsewhere");
    nxmx_same_counts(file, FRAMES);
    H5Fclose(file);
    if (rename(moved, folder) != 0) abort();

    if (unlink(in_folder("m_1.nxs")) != 0) abort();
    file = nxmx_open("m.nxs");
    (void)nxmx_reals(file, "/entry/data/data", FRAMES * NPIX, found);
    H5Fclose(file);
    nxmx_fill(expected, 1);
    for (int i = 0; i < NPIX; i++)
        wrong += found[i] != -1 || found[NPIX + i] != expected[i];
    tap_check(wrong == 0, "%d pixels differ without the first file", wrong);
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* ---- refusals ---- */

/* Appends a file to a new master, which is refused and cannot be completed. */
static void refused_file(nb_simulator *sim, const nb_nxmx_options *how, const char *name,
                         int n, nb_status expected, const char *part)
{
    nb_nxmx *nxmx = NULL;

    check_ok(nb_nxmx_create(sim, in_folder("m.nxs"), how, &nxmx), "a master");
    check_ok(nb_nxmx_append_file(nxmx, "m_1.nxs", 1, x[0]), "one frame");
    check_refused(nb_nxmx_append_file(nxmx, name, n, x[1]), expected, name, part);
    tap_check(nb_nxmx_close(nxmx) == expected, "and it cannot be completed");
    tap_check(access(in_folder("m.nxs"), F_OK) != 0, "nothing is there");
}

static int files_refused(void)
{
    nb_simulator *sim = make();
    const nb_nxmx_options floats = {.master = 1, .type = NB_TYPE_FLOAT, .bits = 32};
    const double moved[N] = {12.75, 1.2, 71};
    nb_nxmx *nxmx = NULL;

    write_parts(sim);
    refused_file(sim, &whole, "m_2.nxs", 2, NB_ERR_SHAPE,
                 "3 x 11 x 7 numbers (frames x fast x slow), expected 2 x 11 x 7");
    refused_file(sim, &whole, "none.nxs", 3, NB_ERR_FILE, "cannot read the frames");
    put(in_folder("text.nxs"), "no HDF5", 7);
    refused_file(sim, &whole, "text.nxs", 3, NB_ERR_FILE, "cannot read the frames");

    check_ok(nb_nxmx_create(sim, in_folder("m.nxs"), &floats, &nxmx), "of floats");
    check_refused(nb_nxmx_append_file(nxmx, "m_1.nxs", 1, x[0]), NB_ERR_SHAPE, "m_1.nxs",
                  "another type");
    tap_check(nb_nxmx_close(nxmx) == NB_ERR_SHAPE, "and it cannot be completed");
    check_ok(nb_nxmx_create(sim, in_folder("m.nxs"), &whole, &nxmx), "a master");
    check_ok(nb_nxmx_append_file(nxmx, "m_1.nxs", 1, x[0]), "one frame");
    check_refused(nb_nxmx_append_file(nxmx, "m_1.nxs", 1, moved), NB_ERR_UNSUPPORTED,
                  "frame 2", "has moved");
    tap_check(nb_nxmx_close(nxmx) == NB_ERR_UNSUPPORTED, "and it cannot be completed");
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int arguments_refused(void)
{
    nb_simulator *sim = make();
    int32_t counts[NPIX] = {0};
    const nb_array image = nb_array_i32(counts, NSLOW, NFAST);
    nb_nxmx *nxmx = NULL;
    int64_t n = 7;

    write_parts(sim);
    check_ok(nb_nxmx_create(sim, in_folder("m.nxs"), NULL, &nxmx), "no master");
    check_refused(nb_nxmx_append_file(nxmx, "m_1.nxs", 1, x[0]), NB_ERR_ARGUMENT, "m_1.nxs",
                  "only a master");
    nb_nxmx_free(nxmx);
    check_ok(nb_nxmx_create(sim, in_folder("m.nxs"), &whole, &nxmx), "a master");
    check_refused(nb_nxmx_append(nxmx, x[0], &image), NB_ERR_ARGUMENT,
                  "a master takes files", "");
    check_refused(nb_nxmx_append_file(nxmx, NULL, 1, x[0]), NB_ERR_ARGUMENT, "path", "");
    check_refused(nb_nxmx_append_file(nxmx, "m_1.nxs", 0, x[0]), NB_ERR_ARGUMENT,
                  "0 frames", "m_1.nxs");
    /* none of these was the end of it */
    check_ok(nb_nxmx_append_file(nxmx, "m_1.nxs", 1, x[0]), "one frame");
    check_ok(nb_nxmx_close(nxmx), "close");
    tap_check(nb_nxmx_append_file(NULL, "m_1.nxs", 1, x[0]) == NB_ERR_ARGUMENT
                  && nb_nxmx_count(NULL, "m", &n, NULL) == NB_ERR_ARGUMENT
                  && nb_nxmx_count(ctx, "m", NULL, NULL) == NB_ERR_ARGUMENT,
              "a NULL");
    check_refused(nb_nxmx_count(ctx, NULL, &n, NULL), NB_ERR_ARGUMENT, "path", "");
    check_refused(nb_nxmx_count(ctx, in_folder("none.nxs"), &n, NULL), NB_ERR_FILE,
                  "/none.nxs", "");
    {
        const hid_t file =
            H5Fcreate(in_folder("e.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        const hid_t space = H5Screate(H5S_SCALAR),
                    group =
                        H5Gcreate2(file, "/entry", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        const hid_t data =
            H5Gcreate2(file, "/entry/data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        const hid_t one = H5Dcreate2(file, "/entry/data/data", H5T_STD_I32LE, space,
                                     H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Dclose(one);
        H5Gclose(data);
        H5Gclose(group);
        H5Sclose(space);
        H5Fclose(file);
    }
    check_refused(nb_nxmx_count(ctx, in_folder("e.h5"), &n, NULL), NB_ERR_FORMAT, "/e.h5",
                  "no array frame x slow x fast");
    tap_check(n == 0, "no frames");
    nb_simulator_free(sim);
    return TAP_PASS;
}

#else

static int says_so(void)
{
    nb_simulator *sim = make();
    int64_t n;

    empty_folder();
    check_refused(nb_nxmx_count(ctx, in_folder("x.nxs"), &n, NULL), NB_ERR_UNSUPPORTED,
                  "/x.nxs: this build has no HDF5", "");
    nb_simulator_free(sim);
    return TAP_PASS;
}

#endif

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
#ifdef NANOBRAG_HDF5
        {"shows_its_files", shows_its_files},
        {"moves_with_its_files", moves_with_its_files},
        {"files_refused", files_refused},
        {"arguments_refused", arguments_refused},
#else
        {"says_so", says_so},
#endif
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
