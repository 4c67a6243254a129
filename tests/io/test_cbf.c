/*
 * test_cbf.c - miniCBF: the pixels, decoded here by the rules of the format, the header,
 * and what is refused; and the attenuation of sensors' materials.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <nanobrag/nanobrag.h>

#include "io/plate.h"
#include "scene/detector/attenuation.h"
#include "support/files.h"
#include "support/tap.h"

enum { NFAST = 7, NSLOW = 5, NPIX = NFAST * NSLOW };

static nb_simulator *make(const nb_scene *scene)
{
    nb_simulator *sim = NULL;

    check_ok(nb_simulator_create(ctx, scene, "phi0", NULL, &sim), "simulator");
    return sim;
}

/* differences of every length, and the numbers at their ends */
static void fill(int32_t *counts)
{
    static const int32_t some[] = {0,
                                   1,
                                   128,
                                   255,
                                   128,
                                   0,
                                   32767,
                                   0,
                                   32768,
                                   65535,
                                   2147483647,
                                   0,
                                   5,
                                   -1,
                                   -2,
                                   126,
                                   -2147483647 - 1,
                                   7,
                                   65535,
                                   131070,
                                   3,
                                   2147483647,
                                   -2147483647 - 1};

    for (int i = 0; i < NPIX; i++) counts[i] = some[i % (int)COUNT(some)];
}

static int64_t little(const unsigned char *at, int bytes)
{
    uint64_t value = 0;

    for (int i = bytes; i-- > 0;) value = value << 8 | at[i];
    if (bytes < 8 && value >> (8 * bytes - 1)) value -= (uint64_t)1 << 8 * bytes;
    return (int64_t)value;
}

/* Decodes n pixels; returns the bytes they take, or 0 if there are more than `room`. */
static size_t decode(const unsigned char *at, size_t room, int n, int64_t *out)
{
    int64_t value = 0;
    size_t used = 0;

    for (int i = 0; i < n; i++) {
        int64_t d = 0;

        for (int bytes = 1; bytes <= 8; bytes *= 2) {
            if (used + (size_t)bytes > room) return 0;
            d = little(at + used, bytes);
            used += (size_t)bytes;
            if (bytes == 8 || d != -((int64_t)1 << (8 * bytes - 1))) break;
        }
        value += d;
        out[i] = value;
    }
    return used;
}

/* the number after a word of the header; NAN: there is none */
static double number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    return at ? strtod(at + strlen(word), NULL) : NAN;
}

static int pixels_come_back(void)
{
    static const char start[] = "\x0c\x1a\x04\xd5";
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene);
    int32_t counts[NPIX];
    int64_t found[NPIX] = {0};
    const nb_array image = nb_array_i32(counts, NSLOW, NFAST);
    const char *data = NULL;
    size_t n, used = 0, stated = 0;
    int wrong = 0;
    char *bytes;

    fill(counts);
    check_ok(nb_cbf_write(sim, NULL, in_folder("a_1.cbf"), 0, &image), "write");
    bytes = slurp(in_folder("a_1.cbf"), &n);
    for (size_t i = 0; i + 4 < n && !data; i++)
        if (memcmp(bytes + i, start, 4) == 0) data = bytes + i + 4;
    tap_check(data != NULL, "the mark before the pixels");
    if (data) {
        stated = (size_t)number_after(bytes, "X-Binary-Size:");
        used = decode((const unsigned char *)data, (size_t)(bytes + n - data), NPIX, found);
        tap_check(memcmp(data + used, "\r\n--CIF-BINARY-FORMAT-SECTION----", 33) == 0,
                  "the end of the section follows them");
    }
    for (int i = 0; i < NPIX; i++) wrong += found[i] != counts[i];
    tap_check(used > 0 && used == stated && wrong == 0,
              "%zu bytes, stated %zu; %d pixels of %d differ", used, stated, wrong,
              (int)NPIX);
    free(bytes);
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int header_numbers(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene);
    const double phi = -3.7;
    int32_t counts[NPIX] = {0};
    const nb_array image = nb_array_i32(counts, NSLOW, NFAST);
    nb_description d;
    size_t n;
    char *text;

    check_ok(nb_simulator_describe(sim, NULL, &d), "describe");
    check_ok(nb_cbf_write(sim, &phi, in_folder("b_1.cbf"), 1e6, &image), "write");
    text = slurp(in_folder("b_1.cbf"), &n);
    tap_check(strncmp(text, "###CBF: VERSION 1.5", 19) == 0, "magic");
    tap_check(strstr(text, "\r\ndata_b_1\r\n") != NULL, "block named as the file");
    tap_check(strstr(text, "\"GENERIC_MINI\"") != NULL, "convention");
    /* as they are printed, so that reading gives the same bits */
    (void)tap_close("pixel, m", number_after(text, "Pixel_size"), 0.172 / 1000, 0);
    (void)tap_close("wavelength", number_after(text, "Wavelength"), 0.9791, 0);
    (void)tap_close("distance, m", number_after(text, "Detector_distance"), 0.07, 0);
    (void)tap_close("start", number_after(text, "Start_angle"), phi, 0);
    (void)tap_close("width", number_after(text, "Angle_increment"), 0.5, 0);
    (void)tap_close("cutoff", number_after(text, "Count_cutoff"), 1e6, 0);
    (void)tap_close("beam", number_after(text, "Beam_xy ("), d.beam_fast / d.pixel, 0);
    (void)tap_close("fast", number_after(text, "Fastest-Dimension:"), NFAST, 0);
    (void)tap_close("slow", number_after(text, "Second-Dimension:"), NSLOW, 0);
    free(text);
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int narrow_counts(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene);
    uint16_t narrow[NPIX];
    int32_t wide[NPIX];
    const nb_array a = nb_array_u16(narrow, NSLOW, NFAST);
    const nb_array b = nb_array_i32(wide, NSLOW, NFAST);
    size_t n[2];
    char *text[2];

    for (int i = 0; i < NPIX; i++) wide[i] = narrow[i] = (uint16_t)(i * i * 60);
    check_ok(nb_cbf_write(sim, NULL, in_folder("c_1.cbf"), 0, &a), "16 bits");
    check_ok(nb_cbf_write(sim, NULL, in_folder("c_2.cbf"), 65534, &b), "32 bits");
    for (int i = 0; i < 2; i++) {
        text[i] = slurp(in_folder(i ? "c_2.cbf" : "c_1.cbf"), &n[i]);
        (void)tap_close("cutoff", number_after(text[i], "Count_cutoff"), 65534, 0);
    }
    tap_check(n[0] == n[1] && n[0] > 500
                  && memcmp(text[0] + n[0] - 100, text[1] + n[1] - 100, 100) == 0,
              "%zu and %zu bytes with the same pixels", n[0], n[1]);
    for (int i = 0; i < 2; i++) free(text[i]);
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int geometry_refused(void)
{
    static const struct {
        const char *part;
        int convention, tilt, curved, skew;
        double twotheta, osc;
        double axis[3];
    } row[] = {
        {"a tilted detector", NB_CONVENTION_MOSFLM, 1, 0, 0, 0, 1, {0}},
        {"a tilted detector", NB_CONVENTION_XDS, 0, 0, 0, 20, 1, {0}},
        {"a mirrored image", NB_CONVENTION_ADXV, 0, 0, 0, 0, 1, {0}},
        {"a spindle", NB_CONVENTION_DIALS, 0, 0, 0, 0, 1, {0}},
        {"turns backwards", NB_CONVENTION_MOSFLM, 0, 0, 0, 0, -1, {0}},
        {"turns backwards", NB_CONVENTION_MOSFLM, 0, 0, 0, 0, 1, {0, 0, -1}},
        {"a curved detector", NB_CONVENTION_MOSFLM, 0, 1, 0, 0, 1, {0}},
        {"right angles", NB_CONVENTION_MOSFLM, 0, 0, 1, 0, 1, {0}},
        {NULL, NB_CONVENTION_MOSFLM, 0, 0, 0, 0, -1, {0, 0, -1}},
        {NULL, NB_CONVENTION_DIALS, 0, 0, 0, 0, 0, {0}},
        {NULL, NB_CONVENTION_XDS, 0, 0, 0, 0, 1, {0}},
        {NULL, NB_CONVENTION_DENZO, 0, 0, 0, 0, 1, {0}},
    };
    int32_t counts[NPIX] = {0};
    const nb_array image = nb_array_i32(counts, NSLOW, NFAST);

    for (size_t i = 0; i < COUNT(row); i++) {
        nb_scene scene = plate(NFAST, NSLOW);
        nb_simulator *sim;
        nb_status status;

        scene.detector.convention = row[i].convention;
        scene.detector.rotation[1] = row[i].tilt;
        scene.detector.twotheta = row[i].twotheta;
        scene.detector.curved = row[i].curved;
        if (row[i].skew)
            scene.detector.vectors[0][1] = 0.01, scene.detector.vectors[0][2] = 1;
        scene.scan.osc = row[i].osc;
        if (row[i].osc == 0) scene.given |= NB_GIVEN_OSC;
        memcpy(scene.scan.axis, row[i].axis, sizeof scene.scan.axis);
        sim = make(&scene);
        empty_folder();
        status = nb_cbf_write(sim, NULL, in_folder("d_1.cbf"), 0, &image);
        tap_check(nb_cbf_check(sim, NULL) == status, "row %zu: known before", i);
        if (row[i].part) {
            check_refused(status, NB_ERR_UNSUPPORTED, row[i].part, "miniCBF");
            tap_check(count_files(in_folder("")) == 0, "row %zu: no file", i);
        } else {
            check_ok(status, "it can be stated");
        }
        nb_simulator_free(sim);
    }
    return TAP_PASS;
}

static int arguments_refused(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene);
    int32_t counts[NPIX] = {0};
    float photons[NPIX] = {0};
    const nb_array good = nb_array_i32(counts, NSLOW, NFAST);
    nb_array bad = nb_array_i32(counts, NFAST, NSLOW);
    const nb_array floats = nb_array_f32(photons, NSLOW, NFAST);

    empty_folder();
    tap_check(nb_cbf_write(NULL, NULL, "x", 0, &good) == NB_ERR_ARGUMENT, "no simulator");
    tap_check(nb_cbf_check(NULL, NULL) == NB_ERR_ARGUMENT, "nothing to check");
    check_refused(nb_cbf_write(sim, NULL, NULL, 0, &good), NB_ERR_ARGUMENT, "path", "");
    check_refused(nb_cbf_write(sim, NULL, in_folder("e"), 0, NULL), NB_ERR_ARGUMENT,
                  "counts", "");
    check_refused(nb_cbf_write(sim, NULL, in_folder("e"), -1, &good), NB_ERR_ARGUMENT,
                  "overload -1", "2147483647");
    check_refused(nb_cbf_write(sim, NULL, in_folder("e"), 0, &bad), NB_ERR_SHAPE, "7 x 5",
                  "5 x 7");
    check_refused(nb_cbf_write(sim, NULL, in_folder("e"), 0, &floats), NB_ERR_SHAPE,
                  "uint16 or int32", "");
    bad = good;
    bad.flags = NB_DONATED;
    check_refused(nb_cbf_write(sim, NULL, in_folder("e"), 0, &bad), NB_ERR_DONATED, "", "");
    bad = good;
    bad.shape[1] = NFAST;
    bad.stride[0] = 1;
    bad.stride[1] = NSLOW;
    check_refused(nb_cbf_write(sim, NULL, in_folder("e"), 0, &bad), NB_ERR_SHAPE, "dense",
                  "");
    check_refused(nb_cbf_write(sim, NULL, in_folder("none/e"), 0, &good), NB_ERR_FILE,
                  "/none/e", "No such file");
    check_refused(nb_cbf_write(sim, NULL, "/dev/full", 0, &good), NB_ERR_FILE, "/dev/full",
                  "No space left");
    tap_check(count_files(in_folder("")) == 0, "no file");
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* the disk gives out in the middle: the old file stays */
static int cut_off(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene);
    int32_t counts[NPIX] = {0};
    const nb_array image = nb_array_i32(counts, NSLOW, NFAST);
    struct rlimit old, low;
    nb_status status;

    empty_folder();
    put(in_folder("f_1.cbf"), "old", 3);
    (void)getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = 600;
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)setrlimit(RLIMIT_FSIZE, &low);
    status = nb_cbf_write(sim, NULL, in_folder("f_1.cbf"), 0, &image);
    (void)setrlimit(RLIMIT_FSIZE, &old);
    check_refused(status, NB_ERR_FILE, "/f_1.cbf", "File too large");
    tap_check(holds(in_folder("f_1.cbf"), "old", 3) && count_files(in_folder("")) == 1,
              "the old file is kept, and no other");
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* what dxtbx 3.12 has for these, by its own print of 16 digits */
static int attenuation_of_dxtbx(void)
{
    static const double wave[] = {1, 0.5};
    static const struct {
        int material;
        double at[2];
    } row[] = {
        {NB_MATERIAL_SI, {4.207985875566818, 0.5700486566882856}},
        {NB_MATERIAL_CDTE, {48.11463840098675, 7.4492529402964305}},
        {NB_MATERIAL_GAAS, {80.07998629661657, 12.545501229942914}},
    };

    for (size_t i = 0; i < COUNT(row); i++)
        for (int k = 0; k < 2; k++) /* eps of a few logarithms */
            (void)tap_close(attenuation_name(row[i].material),
                            attenuation_at(row[i].material, wave[k]) / row[i].at[k], 1,
                            1e-14);
    tap_check(attenuation_at(NB_MATERIAL_SI, 13) == 0
                  && attenuation_at(NB_MATERIAL_SI, 0.1) == 0,
              "beyond the table: 0");
    tap_check(attenuation_nearest(MATERIALS_LAST, 4, 1) == NB_MATERIAL_SI
                  && attenuation_nearest(MATERIALS_LAST, 45, 1) == NB_MATERIAL_CDTE
                  && attenuation_nearest(MATERIALS_LAST, 1000, 1) == NB_MATERIAL_GAAS
                  && attenuation_nearest(MATERIALS_LAST_CBF, 1000, 1) == NB_MATERIAL_CDTE,
              "the nearest one");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"pixels_come_back", pixels_come_back},
        {"header_numbers", header_numbers},
        {"narrow_counts", narrow_counts},
        {"geometry_refused", geometry_refused},
        {"arguments_refused", arguments_refused},
        {"cut_off", cut_off},
        {"attenuation_of_dxtbx", attenuation_of_dxtbx},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
