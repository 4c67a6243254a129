/*
 * test_nxmx_panels.c - detectors of several panels as NXmx: a stack that is given to the
 * writer itself, and a scene whose panels lie beside each other with gaps.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "io/nxmx_files.h"
#include "nanobrag_io/images/cbf.h"
#include "nanobrag_io/images/exposure.h"
#include "nanobrag_io/images/nxmx.h"
#include "simulator.h"
#include "support/files.h"
#include "support/tap.h"
#include "support/tiled.h"

enum { PANELS = 3, ROWS = 2, REST = NSLOW - 2 * ROWS }; /* the last one is higher */

/* Three panels around the beam, each turned about it by another 30 degrees. */
static void expose(nb_simulator *sim, struct exposure *out)
{
    nb_description d;
    nb_scene scene;
    nb_source source;

    check_ok(nb_simulator_describe(sim, NULL, &d), "describe");
    check_ok(nb_simulator_resolved(sim, NULL, &scene), "resolve");
    check_ok(nb_simulator_source(sim, NULL, 0, &source, NULL), "source");
    check_ok(exposure_of(ctx, &scene, &d, &source, &sim->window, out), "exposure");
    free(out->panel);
    out->panel = calloc(PANELS, sizeof *out->panel);
    if (!out->panel) abort();
    out->laboratory.npanel = PANELS;
    for (int i = 0; i < PANELS; i++) {
        const double turn = i * 0.5235987755982988, c = cos(turn), s = sin(turn);

        out->panel[i] = (struct laboratory_panel){.fast = {c, s, 0},
                                                  .slow = {s, -c, 0},
                                                  .origin = {i - 1, 2, -70 - i},
                                                  .pixel = 0.2,
                                                  .nfast = NFAST,
                                                  .nslow = i < 2 ? ROWS : REST,
                                                  .slow0 = i * ROWS};
    }
}

static int panels_are_stacked(void)
{
    const nb_scene scene =
        {.crystal = {.cell = {40}, .default_f = 1},
         .detector = {.nslow = NSLOW, .nfast = NFAST, .pixel = 0.2, .distance = 70},
         .oversample = 1};
    nb_simulator *sim = NULL;
    int32_t counts[NPIX] = {0};
    const nb_array image = nb_array_i32(counts, NSLOW, NFAST);
    struct exposure exposure;

    check_ok(nb_simulator_create(ctx, &scene, "", NULL, &sim), "simulator");
    expose(sim, &exposure);
    check_refused(cbf_write(ctx, in_folder("p_1.cbf"), &exposure, 9, &image),
                  NB_ERR_UNSUPPORTED, "several panels", ".nxs");
#ifdef NANOBRAG_HDF5
    const nb_nxmx_options how = {.level = 1,
                                 .type = NB_TYPE_INT,
                                 .bits = 32,
                                 .overload = 9};
    struct nxmx *nxmx = NULL;
    struct exposure again;
    hid_t file;

    check_ok(nxmx_begin(ctx, in_folder("p.nxs"), &how, &nxmx), "begin");
    nxmx_fill(counts, 0);
    check_ok(nxmx_append(nxmx, &exposure, &image), "append");
    expose(sim, &again);
    nxmx_fill(counts, 1);
    check_ok(nxmx_append(nxmx, &again, &image), "append");
    again.panel[1].origin[0] += 1e-3;
    check_refused(nxmx_append(nxmx, &again, &image), NB_ERR_UNSUPPORTED, "has moved", "");
    exposure_free(&again);
    check_ok(nxmx_end(nxmx), "end");
    file = nxmx_open("p.nxs");
    nxmx_same_counts(file, 2);
    for (int i = 0; i < PANELS; i++) {
        const double turn = i * 0.5235987755982988, c = cos(turn), s = sin(turn);
        /* NeXus is (-x, y, -z) of dxtbx, and the chain ends 70 mm along the beam */
        const double fast[3] = {-c, s, 0}, slow[3] = {-s, -c, 0}, at[3] = {1 - i, 2, i};
        const double length = sqrt(at[0] * at[0] + 4 + at[2] * at[2]);
        const double unit[3] = {at[0] / length, at[1] / length, at[2] / length};
        double found[2] = {0};
        char path[96];

#define IN(field)                                                                          \
    ((void)snprintf(path, sizeof path, "/entry/instrument/detector/module%d/" field, i),   \
     path)
        tap_check(nxmx_reals(file, IN("data_origin"), 2, found) == 2 && found[0] == i * ROWS
                      && found[1] == 0,
                  "panel %d begins at row %g", i, found[0]);
        tap_check(nxmx_reals(file, IN("data_size"), 2, found) == 2
                      && found[0] == (i < 2 ? (int)ROWS : (int)REST) && found[1] == NFAST,
                  "panel %d has %g rows", i, found[0]);
        nxmx_same_vector(file, IN("fast_pixel_direction"), "vector", fast);
        nxmx_same_vector(file, IN("slow_pixel_direction"), "vector", slow);
        nxmx_same_vector(file, IN("module_offset"), "vector", unit);
        (void)tap_close("offset, mm", nxmx_real(file, IN("module_offset")), length, 1e-13);
    }
    H5Fclose(file);
#endif
    exposure_free(&exposure);
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* Panels of different sizes with gaps between them: all pixels of the image come back, and
 * each module says where it is. */
static int panels_with_gaps(void)
{
#ifdef NANOBRAG_HDF5
    static int32_t counts[2][TILED_PIXELS], found[2][TILED_PIXELS];
    const nb_nxmx_options how = {.type = NB_TYPE_INT, .bits = 32};
    nb_scene scene = tiled_scene();
    struct tiled t;
    nb_simulator *sim = NULL;
    nb_nxmx *nxmx = NULL;
    hid_t file, data;
    double at[2] = {0};
    char path[96];

    tiled_detector(&t, 1, &scene);
    check_ok(nb_simulator_create(ctx, &scene, "", NULL, &sim), "simulator");
    check_ok(nb_nxmx_create(sim, in_folder("gaps.nxs"), &how, &nxmx), "create");
    for (int n = 0; n < 2; n++) {
        const nb_array image = nb_array_i32(counts[n], TILED_NSLOW, TILED_NFAST);

        for (int i = 0; i < TILED_PIXELS; i++) counts[n][i] = 1 + i + n * TILED_PIXELS;
        check_ok(nb_nxmx_append(nxmx, NULL, &image), "append");
    }
    check_ok(nb_nxmx_close(nxmx), "close");
    file = nxmx_open("gaps.nxs");
    data = H5Dopen2(file, "/entry/data/data", H5P_DEFAULT);
    (void)H5Dread(data, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, found);
    tap_check(memcmp(counts, found, sizeof counts) == 0, "all counts of two frames");
    (void)H5Dclose(data);
    for (int i = 0; i < TILED_PANELS; i++) {
        (void)snprintf(path, sizeof path, "/entry/instrument/detector/module%d/data_origin",
                       i);
        tap_check(nxmx_reals(file, path, 2, at) == 2 && at[0] == t.panel[i].slow0
                      && at[1] == t.panel[i].fast0,
                  "panel %d begins at %g %g", i, at[0], at[1]);
    }
    H5Fclose(file);
    nb_simulator_free(sim);
    return TAP_PASS;
#else
    return tap_skip("this build has no HDF5");
#endif
}

/* Modules are listed by their names, and in HDF5's order of names 10 comes before 2. */
static int names_in_order(void)
{
#ifdef NANOBRAG_HDF5
    static const struct {
        int panels;
        const char *last;
    } cases[] = {{10, "module9"},
                 {11, "module10"},
                 {101, "module100"},
                 {128, "module127"},
                 {1001, "module1000"}};

    for (size_t k = 0; k < COUNT(cases); k++) {
        static nb_panel panel[1001];
        static int32_t counts[1001];
        const int n = cases[k].panels;
        const nb_array image = nb_array_i32(counts, n, 1);
        const nb_nxmx_options how = {.type = NB_TYPE_INT, .bits = 32};
        nb_scene scene = tiled_scene();
        nb_simulator *sim = NULL;
        nb_nxmx *nxmx = NULL;
        H5G_info_t info;
        char last[32] = "", before[32] = "";
        hid_t file, group;
        int modules = 0, ordered = 1;

        for (int i = 0; i < n; i++)
            panel[i] = (nb_panel){.fast = {1},
                                  .slow = {0, 1},
                                  .origin = {i % 40, i / 40, 70},
                                  .nslow = 1,
                                  .nfast = 1,
                                  .slow0 = i};
        scene.detector.convention = NB_CONVENTION_DIALS;
        scene.detector.panel = panel;
        scene.detector.npanel = n;
        scene.detector.pixel = 0.1;
        check_ok(nb_simulator_create(ctx, &scene, "", NULL, &sim), "simulator");
        check_ok(nb_nxmx_create(sim, in_folder("many.nxs"), &how, &nxmx), "create");
        check_ok(nb_nxmx_append(nxmx, NULL, &image), "append");
        check_ok(nb_nxmx_close(nxmx), "close");
        file = nxmx_open("many.nxs");
        group = H5Gopen2(file, "/entry/instrument/detector", H5P_DEFAULT);
        (void)H5Gget_info(group, &info);
        for (hsize_t i = 0; i < info.nlinks; i++) {
            char path[64];
            double at[2] = {-1};

            (void)H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, last,
                                     sizeof last, H5P_DEFAULT);
            if (strncmp(last, "module", 6) != 0) continue;
            (void)snprintf(path, sizeof path, "/entry/instrument/detector/%s/data_origin",
                           last);
            ordered &= nxmx_reals(file, path, 2, at) == 2 && at[0] == modules;
            memcpy(before, last, sizeof before);
            modules++;
        }
        tap_check(ordered && modules == n && strcmp(before, cases[k].last) == 0,
                  "%d modules up to %s, in order: %d", modules, before, ordered);
        (void)H5Gclose(group);
        H5Fclose(file);
        nb_simulator_free(sim);
    }
    return TAP_PASS;
#else
    return tap_skip("this build has no HDF5");
#endif
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"panels_are_stacked", panels_are_stacked},
                                            {"panels_with_gaps", panels_with_gaps},
                                            {"names_in_order", names_in_order}};

    return files_main(argc, argv, cases, COUNT(cases));
}
