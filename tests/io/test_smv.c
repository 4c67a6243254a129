/*
 * test_smv.c - SMV images: values of headers, types of pixels, and experiments that headers
 * of d*TREK state. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "nanobrag_io/parse.h"
#include "nanobrag_io/smv/smv.h"
#include "support/files.h"
#include "support/tap.h"

#define GOLDEN(file) TEST_DATA_DIR "/golden/" file

static int smv_look_up(void)
{
    static const struct {
        const char *keyword;
        double value, searched; /* by its key; inside other words, too. 99: there is none */
    } cases[] = {{"ORGX", 99, 30.25},        {"XDS_ORGX", 30.25, 30.25},
                 {"DISTANCE", 66.5, 66.1},   {"PHI", 12.5, 12.5},
                 {"WAVELENGTH", 1.3, 1.3},   {"TWOTHETA", 5, 5},
                 {"HEADER_BYTES", 512, 512}, {"ADC_OFFSET", 99, 99},
                 {"TYPE", 99, 99},           {"", 99, 99}};
    static const char records[] =
        "{\nHEADER_BYTES=320;\nDISTANCE=150;\n SIZE1 = 2 ; "
        "SIZE2\t=3;\nCLOSE_DISTANCE=140;\n"
        "A_WAVELENGTH=1 1.5;\nLIST=1,2 3\n -4e-1;\nNO_END=7\nPHI=8;PHI=9;\nWORD=abc;\n}";
    static const struct {
        const char *keyword;
        double value, searched;
    } rows[] = {{"DISTANCE", 150, 140}, {"CLOSE_DISTANCE", 140, 140},
                {"WAVELENGTH", 99, 1},  {"SIZE1", 2, 2},
                {"SIZE2", 3, 3},        {"LIST", 1, 1},
                {"NO_END", 7, 7},       {"PHI", 9, 9},
                {"WORD", 99, 99}};
    static const char bounded[] = "{\nHEADER_BYTES=28;\nTHE_PHI=12345";
    char text[320];
    nb_smv *smv = NULL;
    double value = 99, list[5];

    check_ok(nb_smv_read(ctx, GOLDEN("head.img"), &smv), "head.img");
    for (size_t i = 0; i < COUNT(cases); i++) {
        double searched = value = 99;

        tap_check(nb_smv_number(smv, cases[i].keyword, &value) == (cases[i].value != 99)
                      && value == cases[i].value
                      && nb_smv_search(smv, cases[i].keyword, &searched)
                             == (cases[i].searched != 99)
                      && searched == cases[i].searched,
                  "%s is %g, found inside words %g; 99: untouched", cases[i].keyword, value,
                  searched);
    }
    tap_check(!nb_smv_number(smv, NULL, &value) && !nb_smv_number(NULL, "PHI", &value)
                  && !nb_smv_search(smv, NULL, &value)
                  && !nb_smv_search(NULL, "PHI", &value) && value == 99,
              "nothing to look up: untouched");
    nb_smv_free(smv);
    memset(text, ' ', sizeof text);
    memcpy(text, records, sizeof records - 1);
    check_ok(smv_parse(ctx, "records", text, sizeof text, &smv), "records");
    for (size_t i = 0; i < COUNT(rows); i++) {
        double searched = value = 99;

        (void)nb_smv_number(smv, rows[i].keyword, &value);
        (void)nb_smv_search(smv, rows[i].keyword, &searched);
        tap_check(value == rows[i].value && searched == rows[i].searched,
                  "%s is %g, found inside words %g", rows[i].keyword, value, searched);
    }
    tap_check(smv_numbers(smv->header, "LIST", 5, list) == 4 && list[3] == -0.4
                  && smv_numbers(smv->header, "LIST", 2, list) == 2,
              "a list over two lines");
    nb_smv_free(smv);
    check_ok(smv_parse(ctx, "bounded", bounded, sizeof bounded - 1, &smv), "bounded");
    tap_check(nb_smv_search(smv, "PHI", &value) && value == 1,
              "PHI %g ends with the header", value);
    tap_check(!nb_smv_search(smv, "12", &value), "no '=' after it inside the header");
    nb_smv_free(smv);
    return 0;
}

/* Writes two floats, little endian. */
static void put_floats(const float *from, char *to)
{
    for (int i = 0; i < 8; i++) {
        uint32_t bits;

        memcpy(&bits, from + i / 4, sizeof bits);
        to[i] = (char)(bits >> 8 * (i % 4));
    }
}

/* Bytes 0x81, 0x82, ... and their last number; the types by hand. */
static int smv_pixels(void)
{
    static const char text[] = "{\nHEADER_BYTES=120;\n%s;\n%s}\f";
    static const char two[] = "SIZE1=2;\nSIZE2=1;\n", three[] = "SIZE1=3;\nSIZE2=2;\n";
    static const struct {
        const char *type, *size;
        size_t n;
        int nfast, nslow, bits;
        double last; /* pixel */
    } cases[] = {
        {"TYPE=unsigned_short;BYTE_ORDER=little_endian", three, 12, 3, 2, 16, 0x8c8b},
        {"TYPE=unsigned_short;BYTE_ORDER=big_endian", three, 12, 3, 2, 16, 0x8b8c},
        {"TYPE=unsigned_short;BYTE_ORDER=BIG_ENDIAN", three, 12, 3, 2, 16, 0x8b8c},
        {"BYTE_ORDER=big_endian", "DETECTOR_DIMENSIONS=2 2;\n", 12, 2, 2, 16, 0x8788},
        {"BYTE_ORDER=big_endian", "DETECTOR_DIMENSIONS=2 3;\n", 12, 2, 3, 16, 0x8b8c},
        {"BYTE_ORDER=little_endian", three, 11, 3, 2, 0, 0},
        {"BYTE_ORDER=little_endian", three, 0, 3, 2, 0, 0},
        {"BYTE_ORDER=little_endian", "PHI=3;\n", 12, 0, 0, 0, 0},
        {"BYTE_ORDER=little_endian", "SIZE1=1048576;\nSIZE2=1048576;\n", 12, 1048576,
         1048576, 0, 0},
        {"TYPE=signed_short", three, 12, 3, 2, 16, 0x8c8b - 65536},
        {"Data_type=short int", three, 12, 3, 2, 16, 0x8c8b - 65536},
        {"Data_type=unsigned short int", three, 12, 3, 2, 16, 0x8c8b},
        {"TYPE=unsigned_int", two, 12, 2, 1, 32, 0x88878685},
        {"TYPE=unsigned_long;BYTE_ORDER=big_endian", two, 12, 2, 1, 32, 0x85868788},
        {"Data_type=long int", two, 12, 2, 1, 32, 0x88878685 - 4294967296.0},
        {"TYPE=int", two, 12, 2, 1, 32, 0x88878685 - 4294967296.0},
        {"TYPE=unsigned_int", three, 12, 3, 2, 0, 0},
        {"TYPE=unsigned_char", two, 12, 2, 1, 8, 0x82},
        {"Data_type=signed char", two, 12, 2, 1, 8, 0x82 - 256},
        {"TYPE=unsigned_short;RAXIS_COMPRESSION_RATIO=8", two, 12, 2, 1, 16, 0x483 * 8},
        {"TYPE=int;Data_type=long int;DETECTOR_TYPE=CCD", two, 12, 2, 1, 32,
         0x88878685 - 4294967296.0},
    };
    static const float floats[] = {1.5F, -2.25F};

    for (size_t i = 0; i <= COUNT(cases); i++) {
        const int is_float = i == COUNT(cases);
        const double expected = is_float ? -2.25 : cases[i].last;
        const size_t n = is_float ? sizeof floats : cases[i].n;
        char bytes[160];
        double pixels[6] = {0};
        int nfast, nslow, bits, read;
        nb_smv *smv = NULL;

        memset(bytes, ' ', sizeof bytes);
        (void)snprintf(bytes, 120, text,
                       is_float ? "Data_type=float IEEE;BYTE_ORDER=little_endian"
                                : cases[i].type,
                       is_float ? two : cases[i].size);
        for (int k = 0; k < 12; k++) bytes[120 + k] = (char)(0x80 | (k + 1));
        if (is_float) put_floats(floats, bytes + 120);
        if (!is_float && strstr(cases[i].type, "RATIO"))
            bytes[122] = (char)0x83, bytes[123] = (char)0x84;
        check_ok(smv_parse(ctx, "image", bytes, 120 + n, &smv), "image");
        nb_smv_image(smv, &nfast, &nslow, NULL, &bits);
        read = nb_smv_pixels(smv, pixels);
        tap_check(is_float
                      || (nfast == cases[i].nfast && nslow == cases[i].nslow
                          && bits == cases[i].bits),
                  "%d x %d of %d bits", nfast, nslow, bits);
        tap_check(read == (bits > 0) && (!read || pixels[nfast * nslow - 1] == expected),
                  "%s: last pixel %.10g expected %.10g", is_float ? "float" : cases[i].type,
                  read ? pixels[nfast * nslow - 1] : 0, expected);
        nb_smv_free(smv);
    }
    return 0;
}

static int smv_refused(void)
{
    static const struct {
        const char *text, *part;
        nb_status status;
    } cases[] = {
        {"", "not an SMV image", NB_ERR_FORMAT},
        {"\x89PNG\r\n", "not an SMV image", NB_ERR_FORMAT},
        {"{\r\nHEADER_BYTES=20;\r\n}", "not an SMV image", NB_ERR_FORMAT},
        {"{\nHEADER_BYT", "HEADER_BYTES is missing", NB_ERR_FORMAT},
        {"{\nHEADER_BYTES;\nDIM=20;\n}\f", "line 2: HEADER_BYTES is missing",
         NB_ERR_FORMAT},
        {"{\nHEADER_BYTES=15;\n}\f", "out of range", NB_ERR_FORMAT},
        {"{\nHEADER_BYTES=nan;\n}\f", "missing or out of range", NB_ERR_FORMAT},
        {"{\nHEADER_BYTES=1048577;\n}\f", "out of range", NB_ERR_FORMAT},
        {"{\nHEADER_BYTES=-512;\n}\f", "out of range", NB_ERR_FORMAT},
        {"{\nHEADER_BYTES=512;\n}\f", "HEADER_BYTES=512 but the file has 22 bytes",
         NB_ERR_FORMAT},
        {"{\nHEADER_BYTES=30;\nSIZE1=2.5;\n}\f", "SIZE1=2.5", NB_ERR_FORMAT},
        {"{\nHEADER_BYTES=30;\nSIZE2=-1;\n}\f", "SIZE2=-1", NB_ERR_FORMAT},
        {"{\nHEADER_BYTES=30;\nSIZE1=1e99;\n}\f", "SIZE1=1e+99", NB_ERR_FORMAT},
        {"{\nHEADER_BYTES=64;\nDIM=3;SIZE3=2;\n}\f  ", "one image per file",
         NB_ERR_UNSUPPORTED},
        {"{\nHEADER_BYTES=64;\nTYPE=complex;\n}\f", "TYPE=complex", NB_ERR_UNSUPPORTED},
        {"{\nHEADER_BYTES=64;\nData_type=Compressed;\n}", "Data_type=Compressed",
         NB_ERR_UNSUPPORTED},
        {"{\nHEADER_BYTES=64;\nTYPE=int;\nData_type=char;\n}", "contradict", NB_ERR_FORMAT},
        {"{\nHEADER_BYTES=64;\nCOMPRESSION=BS1;\n}\f", "compressed", NB_ERR_UNSUPPORTED},
        {"{\nHEADER_BYTES=64;\nSIZE1=1;SIZE2=1;}\f", "4 bytes for each pixel",
         NB_ERR_FORMAT},
    };
    nb_smv *smv;

    for (size_t i = 0; i < COUNT(cases); i++) {
        char padded[68] = ""; /* a header of 64 bytes is padded, and a pixel follows */
        const int pads = strstr(cases[i].text, "BYTES=64;") != NULL;

        (void)snprintf(padded, sizeof padded, "%-67s", cases[i].text);
        put(in_folder("a.img"), pads ? padded : cases[i].text,
            pads ? sizeof padded : strlen(cases[i].text));
        check_refused(nb_smv_read(ctx, in_folder("a.img"), &smv), cases[i].status, "/a.img",
                      cases[i].part);
        tap_check(!smv, "no object");
    }
    return 0;
}

/* ---- d*TREK ---- */

/* The keys of a detector with the prefix "D_". */
static const char dtrek_lines[] = "DETECTOR_NAMES=D_;\nSIZE1=60;\nSIZE2=40;\n"
                                  "D_GONIO_VALUES=0 20 0 0 0 45;\n"
                                  "D_SPATIAL_DISTORTION_INFO=32 24 0.1 0.1;\n"
                                  "SOURCE_WAVELENGTH=1 1.5418;\nROTATION=10 10.5 0.5 30;\n";

/* Reads a header of these lines, in which one part is another. */
static nb_status read_dtrek(const char *from, const char *to, nb_experiment *out)
{
    char text[2048];
    const char *at = strstr(dtrek_lines, from);
    nb_status status;
    nb_smv *smv = NULL;

    memset(text, ' ', sizeof text);
    (void)snprintf(text, sizeof text, "{\nHEADER_BYTES=2048;\n%.*s%s%s}\n",
                   (int)(at - dtrek_lines), dtrek_lines, to, at + strlen(from));
    check_ok(smv_parse(ctx, "d.img", text, sizeof text, &smv), "header");
    status = nb_smv_experiment(ctx, smv, "d.img", out);
    nb_smv_free(smv);
    return status;
}

/* The frame of NB_CONVENTION_DIALS is (-x, y, -z) of that of d*TREK. */
static int dtrek_read(void)
{
    const unsigned all = NB_FOUND_BEAM | NB_FOUND_DETECTOR | NB_FOUND_AXIS | NB_FOUND_SCAN;
    nb_experiment e;
    const nb_detector *d = &e.scene.detector;

    check_ok(read_dtrek("", "", &e), "a swing");
    tap_check(e.found == all, "beam, detector, axis and scan: %#x", e.found);
    tap_close("wavelength", e.scene.beam.wavelength, 1.5418, 0);
    tap_close("beam along z", e.scene.beam.direction[2], 1, 0);
    tap_close("phi", e.scene.scan.phi0, 10, 0);
    tap_close("width", e.scene.scan.osc, 0.5, 0);
    tap_close("the axis is -x", e.scene.scan.axis[0], -1, 0);
    tap_close("two theta", d->twotheta, 20, 0);
    tap_close("about -x", d->vectors[3][0], -1, 0);
    tap_close("pixel", d->pixel, 0.1, 0);
    tap_close("distance", d->close_distance, 45, 1e-12);
    tap_close("fast is -x", d->vectors[0][0], -1, 0);
    tap_close("slow is y", d->vectors[1][1], 1, 0);
    tap_close("nearest point, fast", d->origin[0], 3.2, 1e-12);
    tap_close("nearest point, slow", d->origin[1], 2.4, 1e-12);
    /* two axes that turn are in the vectors: y after x, each by 90 degrees */
    check_ok(read_dtrek("0 20 0 0 0 45", "0 90 90 0 0 45", &e), "two axes");
    tap_close("no two theta", d->twotheta, 0, 0);
    /* fast x -> (about y) -z -> (about x) y; slow y -> y -> z, and -z here */
    tap_close("fast is y", d->vectors[0][1], 1, 1e-12);
    tap_close("slow is -z", d->vectors[1][2], -1, 1e-12);
    tap_close("distance", d->close_distance, 45, 1e-12);
    /* a translation outside the swing */
    check_ok(read_dtrek("0 20 0 0 0 45;\n",
                        "7 90 45;\nD_GONIO_UNITS=mm deg mm;\n"
                        "D_GONIO_VECTORS=0 0 1 1 0 0 0 0 -1;\n",
                        &e),
             "three axes");
    tap_close("no two theta", d->twotheta, 0, 0);
    /* the origin is (-3.2, -2.4, -45), (-3.2, 45, -2.4), (-3.2, 45, 4.6); the normal y */
    tap_close("distance", d->close_distance, 45, 1e-12);
    tap_close("nearest point, slow", d->origin[1], -4.6, 1e-12);
    check_ok(read_dtrek("SOURCE_WAVELENGTH=1 1.5418",
                        "SCAN_WAVELENGTH=0.9;SOURCE_VECTORS=0 0 2 0 1 0;"
                        "SOURCE_POLARZ=0.99 0 1 0;ROTATION_VECTOR=0 1 0",
                        &e),
             "other words");
    tap_close("wavelength", e.scene.beam.wavelength, 0.9, 0);
    tap_close("Kahn factor", e.scene.beam.polarization, 0.98, 1e-12);
    tap_close("the field is along x", fabs(e.scene.beam.polarization_axis[0]), 1, 0);
    tap_close("the axis is y", e.scene.scan.axis[1], 1, 0);
    check_ok(read_dtrek("DETECTOR_NAMES", "DETECTOR_SN", &e), "no names");
    tap_check(e.found == 0, "no header of d*TREK");
    return 0;
}

static int dtrek_refused(void)
{
    static const struct {
        const char *from, *to, *part;
        nb_status status;
    } cases[] = {
        {"D_GONIO_VALUES", "D_GONIO", "D_GONIO_VALUES", NB_ERR_FORMAT},
        {"0 20 0 0 0 45", "0 20 0 45", "D_GONIO_VECTORS", NB_ERR_FORMAT},
        {"0 0 45;", "0 0 45;D_GONIO_NUM_VALUES=5;", "D_GONIO_VALUES", NB_ERR_FORMAT},
        {"0 0 45;", "0 0 45;D_GONIO_UNITS=deg rad deg mm mm mm;", "D_GONIO_UNITS",
         NB_ERR_FORMAT},
        {"0.1 0.1", "0.1 0.2", "square", NB_ERR_UNSUPPORTED},
        {"D_SPATIAL", "D_SPACIAL", "D_SPATIAL_DISTORTION_INFO", NB_ERR_FORMAT},
        {"SIZE1=60;", "DETECTOR_NUMBER=2;SIZE1=60;", "2 detectors", NB_ERR_UNSUPPORTED},
        {"0 0 45;", "0 0 0;", "lies in the plane", NB_ERR_FORMAT},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        nb_experiment e;

        check_refused(read_dtrek(cases[i].from, cases[i].to, &e), cases[i].status, "d.img",
                      cases[i].part);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"smv_look_up", smv_look_up},     {"smv_pixels", smv_pixels},
        {"smv_refused", smv_refused},     {"dtrek_read", dtrek_read},
        {"dtrek_refused", dtrek_refused},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
