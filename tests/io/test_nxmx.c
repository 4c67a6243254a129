/*
 * test_nxmx.c - NXmx files, read back by HDF5 itself; what is refused, and that a file is
 * whole or not there. Without HDF5: that the calls say so.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nanobrag/nanobrag.h>

#include "io/nxmx_files.h"
#include "io/plate.h"
#include "support/files.h"
#include "support/tap.h"

static nb_simulator *make(const nb_scene *scene, const char *names)
{
    nb_simulator *sim = NULL;

    check_ok(nb_simulator_create(ctx, scene, names, NULL, &sim), "simulator");
    return sim;
}

#ifdef NANOBRAG_HDF5

#define DETECTOR "/entry/instrument/detector/"
#define BEAM     "/entry/instrument/beam/"

static int sweep_contents(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene, "phi0");
    const double fast[3] = {-1, 0, 0}, slow[3] = {0, -1, 0};
    double phi[3] = {0}, size[2] = {0};
    hsize_t shape[3] = {0};
    hid_t file;

    empty_folder();
    check_ok(nxmx_write(sim, "a.nxs", NULL, 3), "three frames");
    tap_check(count_files(in_folder("")) == 1, "one file");
    file = nxmx_open("a.nxs");
    nxmx_same_text(file, "/entry/definition", NULL, "NXmx");
    nxmx_same_text(file, "/", "NX_class", "NXroot");
    nxmx_same_text(file, "/", "file_name", "a.nxs");
    nxmx_same_text(file, "/entry", "NX_class", "NXentry");
    nxmx_same_text(file, "/entry/data", "signal", "data");
    nxmx_same_text(file, DETECTOR "module", "NX_class", "NXdetector_module");
    nxmx_same_text(file, "/entry/sample/depends_on", NULL,
                   "/entry/sample/transformations/omega");
    tap_check(strlen(nxmx_text(file, "/entry/start_time", NULL)) == 20
                  && nxmx_has(file, "/entry/end_time_estimated")
                  && nxmx_has(file, "/entry/end_time"),
              "time stamps");
    tap_check(nxmx_size(file, "/entry/data/data", shape) == 3 && shape[0] == 3
                  && shape[1] == NSLOW && shape[2] == NFAST,
              "frame x slow x fast");
    nxmx_same_counts(file, 3);
    tap_check(nxmx_reals(file, "/entry/sample/transformations/omega", 3, phi) == 3
                  && phi[0] == 12.25 && phi[1] == 12.75 && phi[2] == 13.25,
              "omega %g %g %g", phi[0], phi[1], phi[2]);
    tap_check(nxmx_reals(file, "/entry/sample/transformations/omega_end", 3, phi) == 3
                  && phi[2] == 13.75,
              "it ends at %g", phi[2]);
    nxmx_same_vector(file, DETECTOR "module/fast_pixel_direction", "vector", fast);
    nxmx_same_vector(file, DETECTOR "module/slow_pixel_direction", "vector", slow);
    nxmx_same_vector(file, "/entry/sample/transformations/omega", "vector", fast);
    (void)tap_close("pixel", nxmx_real(file, DETECTOR "module/fast_pixel_direction"), 0.172,
                    0);
    (void)tap_close("det_z", nxmx_real(file, DETECTOR "transformations/det_z"), 70, 1e-13);
    (void)tap_close("wavelength", nxmx_real(file, BEAM "incident_wavelength"), 0.9791, 0);
    (void)tap_close("saturation", nxmx_real(file, DETECTOR "saturation_value"), 2147483646,
                    0);
    (void)tap_close("underload", nxmx_real(file, DETECTOR "underload_value"), 0, 0);
    (void)tap_close("thickness, mm", nxmx_real(file, DETECTOR "sensor_thickness"), 1e-6, 0);
    (void)tap_close("total flux", nxmx_real(file, BEAM "total_flux") > 0, 1, 0);
    tap_check(nxmx_reals(file, DETECTOR "module/data_size", 2, size) == 2
                  && size[0] == NSLOW && size[1] == NFAST,
              "data_size is slow, fast");
    tap_check(!nxmx_has(file, DETECTOR "pixel_mask"), "no mask");
    H5Fclose(file);
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* nothing is at the path before the file is closed, and an older file stays */
static int whole_or_not_there(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene, "");
    int32_t counts[NPIX];
    const nb_array image = nb_array_i32(counts, NSLOW, NFAST);
    struct stat st;
    nb_nxmx *nxmx = NULL;

    nxmx_fill(counts, 0);
    for (int close = 0; close < 2; close++) {
        empty_folder();
        check_ok(nb_nxmx_create(sim, in_folder("new.nxs"), NULL, &nxmx), "create");
        check_ok(nb_nxmx_append(nxmx, NULL, &image), "append");
        tap_check(stat(in_folder("new.nxs"), &st) != 0, "nothing is there yet");
        if (close)
            check_ok(nb_nxmx_close(nxmx), "close");
        else
            nb_nxmx_free(nxmx);
        tap_check(count_files(in_folder("")) == close, "%d files, expected %d",
                  count_files(in_folder("")), close);
    }
    put(in_folder("old.nxs"), "old", 3);
    check_ok(nb_nxmx_create(sim, in_folder("old.nxs"), NULL, &nxmx), "over a file");
    check_ok(nb_nxmx_append(nxmx, NULL, &image), "append");
    nb_nxmx_free(nxmx);
    tap_check(holds(in_folder("old.nxs"), "old", 3), "the old file stays");
    check_ok(nb_nxmx_create(sim, in_folder("old.nxs"), NULL, &nxmx), "without a frame");
    check_refused(nb_nxmx_close(nxmx), NB_ERR_ARGUMENT, "/old.nxs", "no frame");
    tap_check(holds(in_folder("old.nxs"), "old", 3) && count_files(in_folder("")) == 2,
              "the old file stays");
    check_ok(nb_nxmx_close(NULL), "closing none");
    nb_nxmx_free(NULL);
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int compressions(void)
{
    static const H5Z_filter_t filters[] = {1, 0, 32004, 32008};
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene, "phi0");

    for (int i = 0; i < 4; i++) {
        const nb_nxmx_options how = {.compression = i, .frames = 3};
        const nb_status status = nxmx_write(sim, "c.nxs", &how, 3);
        int found = 0, nfilter;
        hid_t file, data, properties;

        if (status == NB_ERR_UNSUPPORTED) {
            check_refused(status, NB_ERR_UNSUPPORTED, "finds no filter", "deflate");
            tap_check(i >= 2 && !nb_nxmx_can_compress(i), "known before");
            continue;
        }
        check_ok(status, "write");
        tap_check(nb_nxmx_can_compress(i), "known before");
        file = nxmx_open("c.nxs");
        data = H5Dopen2(file, "/entry/data/data", H5P_DEFAULT);
        properties = H5Dget_create_plist(data);
        nfilter = H5Pget_nfilters(properties);
        for (int k = 0; k < nfilter; k++) {
            size_t n = 0;
            unsigned flags, config;

            found |=
                H5Pget_filter2(properties, (unsigned)k, &flags, &n, NULL, 0, NULL, &config)
                == filters[i];
        }
        tap_check(i == 1 ? nfilter == 0 : found, "compression %d: its filter", i);
        H5Pclose(properties);
        H5Dclose(data);
        nxmx_same_counts(file, 3);
        H5Fclose(file);
    }
    tap_check(!nb_nxmx_can_compress(4) && !nb_nxmx_can_compress(-1), "no others");
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int other_types(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene, "");
    const nb_nxmx_options narrow = {.type = NB_TYPE_UINT, .bits = 16, .underload = 3};
    const nb_nxmx_options photons = {.type = NB_TYPE_FLOAT, .bits = 32, .level = 9};
    uint16_t counts[NPIX];
    float floats[NPIX];
    const nb_array as_counts = nb_array_u16(counts, NSLOW, NFAST);
    const nb_array as_floats = nb_array_f32(floats, NSLOW, NFAST);
    double found[NPIX];
    int wrong = 0;
    nb_nxmx *nxmx = NULL;
    hid_t file;

    for (int i = 0; i < NPIX; i++) counts[i] = (uint16_t)(65535 - i);
    for (int i = 0; i < NPIX; i++) floats[i] = 0.1f * (float)i;
    check_ok(nb_nxmx_create(sim, in_folder("n.nxs"), &narrow, &nxmx), "16 bits");
    check_ok(nb_nxmx_append(nxmx, NULL, &as_counts), "append");
    check_refused(nb_nxmx_append(nxmx, NULL, &as_floats), NB_ERR_SHAPE, "uint16", "");
    check_ok(nb_nxmx_close(nxmx), "close");
    file = nxmx_open("n.nxs");
    (void)nxmx_reals(file, "/entry/data/data", NPIX, found);
    for (int i = 0; i < NPIX; i++) wrong += found[i] != 65535 - i;
    (void)tap_close("saturation", nxmx_real(file, DETECTOR "saturation_value"), 65534, 0);
    (void)tap_close("underload", nxmx_real(file, DETECTOR "underload_value"), 3, 0);
    tap_check(!nxmx_has(file, DETECTOR "bit_depth_readout"), "no number marks a bad pixel");
    H5Fclose(file);
    check_ok(nb_nxmx_create(sim, in_folder("f.nxs"), &photons, &nxmx), "floats");
    check_ok(nb_nxmx_append(nxmx, NULL, &as_floats), "append");
    check_ok(nb_nxmx_close(nxmx), "close");
    file = nxmx_open("f.nxs");
    (void)nxmx_reals(file, "/entry/data/data", NPIX, found);
    for (int i = 0; i < NPIX; i++) wrong += found[i] != (double)floats[i];
    tap_check(!nxmx_has(file, DETECTOR "saturation_value"), "floats do not saturate");
    H5Fclose(file);
    tap_check(wrong == 0, "%d pixels differ", wrong);
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int stills_and_wavelengths(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene, "phi0 wavelength");
    const nb_nxmx_options stills = {.stills = 1}, steps = {.start = 5, .step = -2};
    const double x[2][2] = {{3, 1.1}, {-40, 1.2}};
    int32_t counts[NPIX];
    const nb_array image = nb_array_i32(counts, NSLOW, NFAST);
    const double reverse[3] = {1, 0, 0};
    double found[2] = {0};
    nb_nxmx *nxmx = NULL;
    hid_t file;

    nxmx_fill(counts, 0);
    check_ok(nb_nxmx_create(sim, in_folder("s.nxs"), &stills, &nxmx), "stills");
    for (int i = 0; i < 2; i++) check_ok(nb_nxmx_append(nxmx, x[i], &image), "append");
    check_ok(nb_nxmx_close(nxmx), "close");
    file = nxmx_open("s.nxs");
    nxmx_same_text(file, "/entry/sample/depends_on", NULL, ".");
    tap_check(!nxmx_has(file, "/entry/sample/transformations"), "no axis");
    tap_check(nxmx_reals(file, BEAM "incident_wavelength", 2, found) == 2 && found[0] == 1.1
                  && found[1] == 1.2,
              "wavelengths %g %g", found[0], found[1]);
    H5Fclose(file);
    check_ok(nb_nxmx_create(sim, in_folder("t.nxs"), &steps, &nxmx), "own steps");
    for (int i = 0; i < 2; i++) check_ok(nb_nxmx_append(nxmx, x[i], &image), "append");
    check_ok(nb_nxmx_close(nxmx), "close");
    file = nxmx_open("t.nxs");
    /* backwards about an axis is forwards about its reverse */
    nxmx_same_vector(file, "/entry/sample/transformations/omega", "vector", reverse);
    tap_check(nxmx_reals(file, "/entry/sample/transformations/omega", 2, found) == 2
                  && found[0] == -5 && found[1] == -3,
              "omega %g %g", found[0], found[1]);
    H5Fclose(file);
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int spectra(void)
{
    nb_source source[3] = {{{1, 0, 0}, 1.0, 1},
                           {{1, 0, 0}, 1.1, 2},
                           {{1, 1e-3, 0}, 1.0, 1}};
    nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim;
    int32_t counts[NPIX];
    const nb_array image = nb_array_i32(counts, NSLOW, NFAST);
    const char *const name = BEAM "incident_wavelength_1Dspectrum";
    const double x[2] = {1.1, 1.2};

    scene.beam.source = source;
    scene.beam.nsource = 3;
    scene.scan.osc = 0;
    scene.given |= NB_GIVEN_OSC;
    sim = make(&scene, "source_wavelength[1]");
    nxmx_fill(counts, 0);
    for (int n = 1; n <= 2; n++) {
        double found[4] = {0}, weight[4] = {0};
        hsize_t size[3] = {0};
        nb_nxmx *nxmx = NULL;
        hid_t file;

        check_ok(nb_nxmx_create(sim, in_folder("w.nxs"), NULL, &nxmx), "create");
        for (int i = 0; i < n; i++) check_ok(nb_nxmx_append(nxmx, x + i, &image), "append");
        check_ok(nb_nxmx_close(nxmx), "close");
        file = nxmx_open("w.nxs");
        nxmx_same_text(file, BEAM "incident_wavelength", "variant",
                       "incident_wavelength_1Dspectrum");
        tap_check(nxmx_size(file, name, size) == n && size[n - 1] == 2, "%d axes", n);
        (void)nxmx_reals(file, name, 4, found);
        (void)nxmx_reals(file, BEAM "incident_wavelength_1Dspectrum_weights", 4, weight);
        tap_check(found[0] == 1 && found[1] == 1.1 && weight[0] == 0.5 && weight[1] == 0.5,
                  "%g x %g A and %g x %g A", weight[0], found[0], weight[1], found[1]);
        if (n == 2) tap_check(found[2] == 1 && found[3] == 1.2, "the second frame's");
        (void)nxmx_reals(file, BEAM "incident_wavelength", 4, found);
        (void)tap_close("mean wavelength", found[0], 1.05, 1e-15);
        H5Fclose(file);
    }
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int masked_pixels(void)
{
    nb_scene scene = plate(NFAST, NSLOW);
    uint8_t mask[NPIX];
    nb_simulator *sim;
    double found[NPIX] = {0};
    int wrong = 0;
    hid_t file;

    for (int i = 0; i < NPIX; i++) mask[i] = i % 5 != 0;
    scene.detector.mask = mask;
    scene.detector.roi[0] = 2;
    scene.detector.roi[1] = NFAST;
    scene.detector.roi[3] = NSLOW;
    sim = make(&scene, "phi0");
    check_ok(nxmx_write(sim, "m.nxs", NULL, 1), "write");
    file = nxmx_open("m.nxs");
    (void)nxmx_reals(file, DETECTOR "pixel_mask", NPIX, found);
    for (int i = 0; i < NPIX; i++) wrong += (found[i] == 0) != (mask[i] && i % NFAST >= 2);
    tap_check(wrong == 0, "%d pixels are masked otherwise", wrong);
    H5Fclose(file);
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* ---- refusals ---- */

static int options_refused(void)
{
    static const struct {
        nb_nxmx_options options;
        const char *part;
    } row[] = {
        {{.compression = 4}, "compression 4"},
        {{.compression = -1}, "compression -1"},
        {{.level = 10}, "level 10"},
        {{.type = NB_TYPE_FLOAT, .bits = 64}, "64 bits"},
        {{.type = NB_TYPE_UINT, .bits = 32}, "32 bits"},
        {{.frames = -1}, "-1 frames"},
        {{.step = INFINITY}, "step inf"},
        {{.overload = -2}, "to -2"},
        {{.underload = NAN}, "from nan"},
    };
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene, "");
    nb_nxmx *nxmx = NULL;

    empty_folder();
    for (size_t i = 0; i < COUNT(row); i++) {
        check_refused(nb_nxmx_create(sim, in_folder("x.nxs"), &row[i].options, &nxmx),
                      NB_ERR_ARGUMENT, row[i].part, "NXmx");
        tap_check(nxmx == NULL, "nothing was made");
    }
    tap_check(nb_nxmx_create(NULL, "x", NULL, &nxmx) == NB_ERR_ARGUMENT
                  && nb_nxmx_create(sim, "x", NULL, NULL) == NB_ERR_ARGUMENT
                  && nb_nxmx_append(NULL, NULL, NULL) == NB_ERR_ARGUMENT,
              "a NULL");
    check_refused(nb_nxmx_create(sim, NULL, NULL, &nxmx), NB_ERR_ARGUMENT, "path", "");
    check_refused(nb_nxmx_create(sim, in_folder("none/x"), NULL, &nxmx), NB_ERR_FILE,
                  "/none/x", "No such file");
    check_refused(nb_nxmx_create(sim, in_folder(""), NULL, &nxmx), NB_ERR_FILE, "", "");
    if (mkfifo(in_folder("pipe"), 0600) != 0) abort();
    check_refused(nb_nxmx_create(sim, in_folder("pipe"), NULL, &nxmx), NB_ERR_FILE, "/pipe",
                  "a pipe or a device");
    (void)unlink(in_folder("pipe"));
    check_refused(nb_nxmx_create(sim, "/dev/full", NULL, &nxmx), NB_ERR_FILE, "/dev/full",
                  "a pipe or a device");
    tap_check(count_files(in_folder("")) == 0, "no file");
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int scenes_refused(void)
{
    nb_scene scene = plate(NFAST, NSLOW);
    nb_nxmx *nxmx = NULL;
    nb_simulator *sim;

    empty_folder();
    scene.detector.curved = 1;
    sim = make(&scene, "");
    check_refused(nb_nxmx_create(sim, in_folder("x.nxs"), NULL, &nxmx), NB_ERR_UNSUPPORTED,
                  "a curved detector", "NXmx");
    nb_simulator_free(sim);
    scene = plate(NFAST, NSLOW);
    scene.detector.vectors[0][1] = 0.01;
    scene.detector.vectors[0][2] = 1;
    sim = make(&scene, "");
    check_refused(nb_nxmx_create(sim, in_folder("x.nxs"), NULL, &nxmx), NB_ERR_UNSUPPORTED,
                  "right angles", "0.57");
    nb_simulator_free(sim);
    tap_check(count_files(in_folder("")) == 0, "no file");
    return TAP_PASS;
}

/* a refused frame leaves the file as it was */
static int frames_refused(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    const nb_nxmx_options two = {.frames = 2};
    nb_simulator *sim = make(&scene, "phi0 distance osc");
    int32_t counts[NPIX];
    nb_array image = nb_array_i32(counts, NSLOW, NFAST), bad = image;
    const double first[3] = {12.25, 70, 0.5}, second[3] = {12.75, 70, 0.5};
    const double moved[3] = {12.75, 71, 0.5}, gap[3] = {13, 70, 0.5};
    const double wide[3] = {12.75, 70, 0.6}, third[3] = {13.25, 70, 0.5};
    const double outside[3] = {12.75, -70, 0.5};
    nb_nxmx *nxmx = NULL;
    hid_t file;

    empty_folder();
    check_ok(nb_nxmx_create(sim, in_folder("r.nxs"), &two, &nxmx), "create");
    nxmx_fill(counts, 0);
    check_ok(nb_nxmx_append(nxmx, first, &image), "first");
    nxmx_fill(counts, 1);
    check_refused(nb_nxmx_append(nxmx, second, NULL), NB_ERR_ARGUMENT, "image is NULL", "");
    bad.shape[0] = NSLOW + 1;
    check_refused(nb_nxmx_append(nxmx, second, &bad), NB_ERR_SHAPE, "8 x 11", "7 x 11");
    bad = image;
    bad.type = NB_TYPE_UINT;
    check_refused(nb_nxmx_append(nxmx, second, &bad), NB_ERR_SHAPE, "int32", "");
    bad = image;
    bad.stride[0] = 1, bad.stride[1] = NSLOW;
    check_refused(nb_nxmx_append(nxmx, second, &bad), NB_ERR_SHAPE, "dense", "");
    bad = image;
    bad.flags = NB_DONATED;
    check_refused(nb_nxmx_append(nxmx, second, &bad), NB_ERR_DONATED, "", "");
    check_refused(nb_nxmx_append(nxmx, moved, &image), NB_ERR_UNSUPPORTED, "frame 2",
                  "has moved");
    check_refused(nb_nxmx_append(nxmx, gap, &image), NB_ERR_ARGUMENT, "starts at 13",
                  "expected 12.75");
    check_refused(nb_nxmx_append(nxmx, wide, &image), NB_ERR_ARGUMENT, "0.6 wide", "");
    check_refused(nb_nxmx_append(nxmx, outside, &image), NB_ERR_ARGUMENT, "distance", "");
    check_ok(nb_nxmx_append(nxmx, second, &image), "second");
    check_refused(nb_nxmx_append(nxmx, third, &image), NB_ERR_ARGUMENT,
                  "frame 3 is one more than the 2", "");
    check_ok(nb_nxmx_close(nxmx), "close");
    file = nxmx_open("r.nxs");
    nxmx_same_counts(file, 2);
    H5Fclose(file);
    tap_check(count_files(in_folder("")) == 1, "one file");
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* The disk gives out: while a frame is written, or only at the end. Every later call says
 * so, the old file stays, and the next file is written as if nothing had been. */
static int cut_off(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    const nb_nxmx_options raw = {.compression = NB_COMPRESSION_NONE};
    nb_simulator *sim = make(&scene, "phi0");
    struct rlimit old, low;
    hid_t file;

    (void)signal(SIGXFSZ, SIG_IGN);
    (void)getrlimit(RLIMIT_FSIZE, &old);
    for (int room = 100; room < 30000; room += 1700) {
        nb_status status;

        empty_folder();
        put(in_folder("old.nxs"), "old", 3);
        low = old;
        low.rlim_cur = (rlim_t)room;
        (void)setrlimit(RLIMIT_FSIZE, &low);
        status = nxmx_write(sim, "old.nxs", &raw, 4);
        (void)setrlimit(RLIMIT_FSIZE, &old);
        if (status == NB_OK) {
            tap_check(room > 10000, "%d bytes are enough", room);
            break;
        }
        check_refused(status, NB_ERR_FILE, "/old.nxs", "raise the limit on file sizes");
        tap_check(holds(in_folder("old.nxs"), "old", 3) && count_files(in_folder("")) == 1,
                  "at %d bytes: the old file stays, and no other", room);
    }
    check_ok(nxmx_write(sim, "old.nxs", &raw, 4), "with room again");
    file = nxmx_open("old.nxs");
    nxmx_same_counts(file, 4);
    H5Fclose(file);
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* ---- threads ---- */

static void *write_many(void *name)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_context *own = NULL;
    nb_simulator *sim = NULL;
    int32_t counts[NPIX];
    const nb_array image = nb_array_i32(counts, NSLOW, NFAST);
    nb_status status = nb_context_create(NB_API_VERSION, NULL, &own);

    if (status == NB_OK) status = nb_simulator_create(own, &scene, "phi0", NULL, &sim);
    for (int turn = 0; turn < 20 && status == NB_OK; turn++) {
        nb_nxmx *nxmx = NULL;

        status = nb_nxmx_create(sim, name, NULL, &nxmx);
        for (int i = 0; i < 4 && status == NB_OK; i++) {
            const double phi = 12.25 + 0.5 * i;

            nxmx_fill(counts, i);
            status = nb_nxmx_append(nxmx, &phi, &image);
        }
        if (status == NB_OK) status = nb_nxmx_close(nxmx);
    }
    nb_simulator_free(sim);
    nb_context_free(own);
    return status == NB_OK ? name : NULL;
}

static int several_threads(void)
{
    enum { THREADS = 3 };
    static char path[THREADS][256];
    pthread_t thread[THREADS];

    empty_folder();
    for (int i = 0; i < THREADS; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "%d.nxs", i);
        (void)snprintf(path[i], sizeof path[i], "%s", in_folder(name));
        if (pthread_create(&thread[i], NULL, write_many, path[i]) != 0) abort();
    }
    for (int i = 0; i < THREADS; i++) {
        void *done = NULL;
        char name[16];
        hid_t file;

        (void)pthread_join(thread[i], &done);
        tap_check(done != NULL, "thread %d wrote its files", i);
        (void)snprintf(name, sizeof name, "%d.nxs", i);
        file = nxmx_open(name);
        nxmx_same_counts(file, 4);
        H5Fclose(file);
    }
    tap_check(count_files(in_folder("")) == THREADS, "no other file");
    return TAP_PASS;
}

#else

static int says_so(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene, "");
    nb_nxmx *nxmx = NULL;

    empty_folder();
    check_refused(nb_nxmx_create(sim, in_folder("x.nxs"), NULL, &nxmx), NB_ERR_UNSUPPORTED,
                  "/x.nxs: this build has no HDF5", "libhdf5-dev");
    tap_check(nxmx == NULL && count_files(in_folder("")) == 0, "nothing was made");
    for (int i = 0; i < 4; i++) tap_check(!nb_nxmx_can_compress(i), "compression %d", i);
    nb_simulator_free(sim);
    return TAP_PASS;
}

#endif

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
#ifdef NANOBRAG_HDF5
        {"sweep_contents", sweep_contents},
        {"whole_or_not_there", whole_or_not_there},
        {"compressions", compressions},
        {"other_types", other_types},
        {"stills_and_wavelengths", stills_and_wavelengths},
        {"spectra", spectra},
        {"masked_pixels", masked_pixels},
        {"options_refused", options_refused},
        {"scenes_refused", scenes_refused},
        {"frames_refused", frames_refused},
        {"cut_off", cut_off},
        {"several_threads", several_threads},
#else
        {"says_so", says_so},
#endif
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
