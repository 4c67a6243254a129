/*
 * test_measured.c - measured images: files written here and read back, compressed files,
 * and other files; and real images, where there are some, against sums that fabio and
 * CBFlib gave. test_cbf_read.c has CBF in detail.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "io/plate.h"
#include "nanobrag_io/measured/md5.h"
#include "nanobrag_io/measured/measured.h"
#include "support/files.h"
#include "support/tap.h"

#define DATA TEST_DATA_DIR "/cbf/"

/* ---- help ---- */

static nb_measured *read_frame(const char *path)
{
    nb_measured *image = NULL;

    check_ok(nb_image_read(ctx, path, 0, &image), path);
    return image;
}

static size_t pixels_of(const nb_measured *image)
{
    return (size_t)image->nfast * (size_t)image->nslow;
}

/* Returns how many of n pixels differ; n if there are not as many. */
static size_t differences(const nb_measured *image, const double *expected, size_t n)
{
    size_t wrong = 0;

    if (!image || !expected || pixels_of(image) != n) return n;
    for (size_t i = 0; i < n; i++) wrong += !(image->pixels[i] == expected[i]);
    return wrong;
}

/* ---- files written here ---- */

enum { NFAST = 7, NSLOW = 5, NPIX = NFAST * NSLOW };

static int is_near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static int cbf_written_back(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = NULL;
    nb_measured *image;
    int32_t counts[NPIX];
    double expected[NPIX];
    const nb_array array = nb_array_i32(counts, NSLOW, NFAST);
    nb_description d;

    for (int i = 0; i < NPIX; i++)
        counts[i] = i == 9 ? -1 : i == 10 ? -2 : i * i * i * 50000;
    for (int i = 0; i < NPIX; i++) expected[i] = counts[i];
    check_ok(nb_simulator_create(ctx, &scene, NULL, NULL, &sim), "simulator");
    check_ok(nb_simulator_describe(sim, NULL, &d), "describe");
    check_ok(nb_cbf_write(sim, NULL, in_folder("a.cbf"), 1e6, &array), "write");
    image = read_frame(in_folder("a.cbf"));
    if (image) {
        tap_check(differences(image, expected, NPIX) == 0, "%zu pixels differ, allowed 0",
                  differences(image, expected, NPIX));
        for (int i = 0; i < NPIX; i++)
            tap_check(image->mask && image->mask[i] == (i != 9 && i != 10), "mask of %d",
                      i);
        tap_check(is_near(image->pixel_fast, d.pixel) && is_near(image->pixel_slow, d.pixel)
                      && is_near(image->wavelength, scene.beam.wavelength)
                      && is_near(image->distance, d.distance)
                      && is_near(image->beam_x, d.beam_fast)
                      && is_near(image->beam_y, d.beam_slow),
                  "pixel %g, wavelength %g, distance %g, beam %g %g", image->pixel_fast,
                  image->wavelength, image->distance, image->beam_x, image->beam_y);
        tap_check(is_near(image->osc_start, scene.scan.phi0)
                      && is_near(image->osc_range, scene.scan.osc) && image->overload == 1e6
                      && image->exposure > 0,
                  "start %g, range %g, overload %g, exposure %g", image->osc_start,
                  image->osc_range, image->overload, image->exposure);
    }
    nb_measured_free(image);
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int smv_written_back(void)
{
    static const char header[] =
        "DIM=2;\nTYPE=unsigned_short;\nBYTE_ORDER=big_endian;\nSIZE1=7;\nSIZE2=5;\n"
        "PIXEL_SIZE=0.1;\nDISTANCE=200.5;\nWAVELENGTH=0.9;\nBEAM_CENTER_X=1.25;\n"
        "BEAM_CENTER_Y=2.5;\nOSC_START=-3;\nOSC_RANGE=0.25;\nTIME=0.1;\n"
        "CCD_IMAGE_SATURATION=60000;\nIMAGE_PEDESTAL=40;\nGAIN=1.5;\n";
    static const double stated[] = {0.1, 0.1,  0.9, 200.5, 1.25, 2.5,
                                    -3,  0.25, 0.1, 60000, 40,   1.5};
    uint16_t counts[NPIX];
    double expected[NPIX];
    const nb_array array = nb_array_u16(counts, NSLOW, NFAST);
    nb_measured *image;

    for (int i = 0; i < NPIX; i++) expected[i] = counts[i] = (uint16_t)(i * i * 50);
    check_ok(nb_smv_write(ctx, in_folder("a.img"), header, &array), "write");
    image = read_frame(in_folder("a.img"));
    if (image) {
        const double found[] = {image->pixel_fast, image->pixel_slow, image->wavelength,
                                image->distance,   image->beam_x,     image->beam_y,
                                image->osc_start,  image->osc_range,  image->exposure,
                                image->overload,   image->pedestal,   image->gain};

        tap_check(differences(image, expected, NPIX) == 0, "%zu pixels differ, allowed 0",
                  differences(image, expected, NPIX));
        for (size_t i = 0; i < COUNT(found); i++)
            tap_check(found[i] == stated[i], "number %zu: %g, expected %g", i, found[i],
                      stated[i]);
    }
    nb_measured_free(image);
    return TAP_PASS;
}

/* ---- compressed files ---- */

static int compressed_files(void)
{
    static const char *const names[] = {"offsets.cbf.gz", "offsets.cbf.bz2"};
    nb_measured *const plain = read_frame(DATA "offsets.cbf");

    for (size_t i = 0; i < COUNT(names); i++) {
        const char *const library = i == 0 ? "gemmi" : "bzip2";
        nb_measured *image = NULL;
        char path[400];
        size_t n = 0;
        char *bytes;
        nb_status status;

        (void)snprintf(path, sizeof path, DATA "%s", names[i]);
        bytes = slurp(path, &n);
        status = measured_parse(ctx, names[i], bytes, n, &image);
        if (!strstr(nb_features(), library)) {
            check_refused(status, NB_ERR_UNSUPPORTED, names[i], "expand it");
            free(bytes);
            continue;
        }
        check_ok(status, names[i]);
        tap_check(differences(image, plain ? plain->pixels : NULL, 99) == 0,
                  "%s: %zu pixels differ, allowed 0", names[i],
                  differences(image, plain ? plain->pixels : NULL, 99));
        nb_measured_free(image);
        for (size_t cut = 4; cut < n; cut++)
            check_refused(measured_parse(ctx, names[i], bytes, cut, &image), NB_ERR_FORMAT,
                          names[i], "damaged or cut off");
        free(bytes);
    }
    nb_measured_free(plain);
    return TAP_PASS;
}

/* ---- other files ---- */

static int other_files_are_refused(void)
{
    static const struct {
        const char *name, *bytes, *kind;
        nb_status status;
    } files[] = {{"a.png", "\211PNG\r\n", "PNG", NB_ERR_FORMAT},
                 {"a.tif", "II*.", "TIFF", NB_ERR_FORMAT},
                 {"a.bin", "1234", NULL, NB_ERR_FORMAT},
                 {"a.txt", "", NULL, NB_ERR_FORMAT},
                 {"a.img", "{\nHEADER_BYTES=512;\n", "SMV", NB_ERR_FORMAT}};
    nb_measured *image = (nb_measured *)1;

    for (size_t i = 0; i < COUNT(files); i++) {
        const char *const path = in_folder(files[i].name);
        const char *const kind =
            (put(path, files[i].bytes, strlen(files[i].bytes)), nb_image_kind(path));

        tap_check(kind == files[i].kind
                      || (kind && files[i].kind && strcmp(kind, files[i].kind) == 0),
                  "%s: %s", files[i].name, kind ? kind : "none");
        check_refused(nb_image_read(ctx, path, 0, &image), files[i].status, files[i].name,
                      i == 4          ? "cut off"
                      : files[i].kind ? files[i].kind
                                      : "no known kind");
        tap_check(!image, "no image");
    }
    check_refused(nb_image_read(ctx, in_folder("none"), 0, &image), NB_ERR_FILE, "none",
                  "");
    check_refused(nb_image_read(ctx, DATA "offsets.cbf", 1, &image), NB_ERR_ARGUMENT,
                  "offsets.cbf", "frame 1");
    check_refused(nb_image_read(ctx, DATA "offsets.cbf", -1, &image), NB_ERR_ARGUMENT,
                  "offsets.cbf", "frame -1");
    check_refused(nb_image_read(ctx, NULL, 0, &image), NB_ERR_ARGUMENT, "path", "NULL");
    check_refused(nb_image_read(ctx, "a", 0, NULL), NB_ERR_ARGUMENT, "out", "NULL");
    tap_check(nb_image_read(NULL, "a", 0, &image) == NB_ERR_ARGUMENT, "no context");
    tap_check(!nb_image_kind(NULL) && !nb_image_kind(in_folder("none")), "no file");
    nb_measured_free(NULL);
    return TAP_PASS;
}

/* ---- the checksum, by the test suite of RFC 1321 ---- */

static int checksums(void)
{
    static const char *const texts[][2] = {{"", "1B2M2Y8AsgTpgAmY7PhCfg=="},
                                           {"abc", "kAFQmDzST7DWlj99KOF/cg=="},
                                           {"1234567890123456789012345678901234567890123456"
                                            "7890123456789012345678901234567890",
                                            "V+30oivjyVWsSdouIQe2eg=="}};
    char found[MD5_TEXT];

    for (size_t i = 0; i < COUNT(texts); i++) {
        md5_text(texts[i][0], strlen(texts[i][0]), found);
        tap_check(strcmp(found, texts[i][1]) == 0, "%s, expected %s", found, texts[i][1]);
    }
    return TAP_PASS;
}

/* ---- measured images ---- */

/* The checksum of the pixels as 32-bit numbers, little endian. */
static void checksum_of(const nb_measured *image, char out[MD5_TEXT])
{
    const size_t n = pixels_of(image);
    unsigned char *const bytes = calloc(n + 1, 4);

    for (size_t i = 0; bytes && i < 4 * n; i++)
        bytes[i] = (unsigned char)((uint32_t)(int64_t)image->pixels[i / 4] >> 8 * (i % 4));
    md5_text(bytes, bytes ? 4 * n : 0, out);
    free(bytes);
}

static int measured_images(void)
{
    static const struct {
        const char *name, *checksum;
        int nfast, nslow;
        double sum, wavelength, distance, start, overload;
        size_t masked;
    } files[] = {{"kapton/hit-20181213155134902.cbf", "63vH7qWW/TInK6+R3rbSTA==", 1920,
                  1920, 3410756158, 1.30375729885, NAN, NAN, 65535, 0},
                 {"l_cysteine/l-cyst_01_00001.cbf.gz", "pKaeNL6HvUxM/a0EdMDPYA==", 1475,
                  1679, -142707, 0.6889, 160, -145, 388705, 197632},
                 {"l_cysteine/l-cyst_01_00015.cbf.gz", "xcIb97buz765fqZbaxSaSQ==", 1475,
                  1679, -128082, 0.6889, 160, -143.6, 388705, 197632},
                 {"thaumatin/thau_3_2_0005.cbf.bz2", "z01NOdc/T22hL0DqzqfS0g==", 2463, 2527,
                  25317166, 0.96859, 351, 89.9997, 115897, 526726}};
    const char *const folder = getenv("NANOBRAG_MEASURED_DATA");

    if (!folder) return tap_skip("set NANOBRAG_MEASURED_DATA");
    for (size_t i = 0; i < COUNT(files); i++) {
        char path[1000], found[MD5_TEXT];
        nb_measured *image = NULL;
        double sum = 0;
        size_t masked = 0;

        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        if (nb_image_read(ctx, path, 0, &image) == NB_ERR_UNSUPPORTED
            && strstr(nb_context_message(ctx), "this build has no")) {
            tap_note("%s", nb_context_message(ctx)); /* zlib or libbz2 */
            continue;
        }
        nb_measured_free(image);
        image = read_frame(path);
        if (!image) continue;
        for (size_t k = 0; k < pixels_of(image); k++) {
            sum += image->pixels[k];
            masked += image->mask && !image->mask[k];
        }
        checksum_of(image, found);
        tap_check(image->nfast == files[i].nfast && image->nslow == files[i].nslow
                      && sum == files[i].sum && strcmp(found, files[i].checksum) == 0,
                  "%s: %d x %d pixels, sum %.0f, checksum %s", files[i].name, image->nfast,
                  image->nslow, sum, found);
        tap_check(is_near(image->wavelength, files[i].wavelength)
                      && (isnan(files[i].distance)
                              ? isnan(image->distance)
                              : is_near(image->distance, files[i].distance))
                      && (isnan(files[i].start) ? isnan(image->osc_start)
                                                : is_near(image->osc_start, files[i].start))
                      && image->overload == files[i].overload,
                  "%s: wavelength %g, distance %g, start %g, overload %g", files[i].name,
                  image->wavelength, image->distance, image->osc_start, image->overload);
        tap_check(masked == files[i].masked, "%s: %zu masked, expected %zu", files[i].name,
                  masked, files[i].masked);
        nb_measured_free(image);
    }
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"cbf_written_back", cbf_written_back},
        {"smv_written_back", smv_written_back},
        {"compressed_files", compressed_files},
        {"other_files_are_refused", other_files_are_refused},
        {"checksums", checksums},
        {"measured_images", measured_images},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
