/*
 * test_cbf_read.c - CBF that is read: files of CBFlib, pixels packed by hand, the items of
 * imgCIF, and damage.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

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

    if (!image || pixels_of(image) != n) return n;
    for (size_t i = 0; i < n; i++) wrong += !(image->pixels[i] == expected[i]);
    return wrong;
}

static uint32_t seed;

static uint32_t draw(void)
{
    seed = seed * 1664525U + 1013904223U;
    return seed >> 8;
}

/* The pixels of the files of CBFlib (tests/data/README.md), n in each of their sections. */
static void drawn_pixels(double *out, size_t nsection, size_t n)
{
    seed = 1;
    for (size_t i = 0; i < nsection * n; i++) {
        const uint32_t r = draw();

        out[i] = (double)(i % n / 7 % 50 + (r % 9 == 0 ? r % 5000 : r % 7));
    }
}

/* ---- files of CBFlib ---- */

static int files_of_cbflib(void)
{
    static const struct {
        const char *name;
        size_t nsection, n;
        int npanel;
        double overload, factor;
    } files[] = {{"packed_correlated.cbf", 1, 297, 3, 2147483647, 1},
                 {"packed_alone.cbf", 1, 297, 3, 2147483647, 1},
                 {"packed_flat.cbf", 1, 99, 1, 2147483647, 1},
                 {"packed_flat_large.cbf", 1, 99, 1, 2147483647, 1000},
                 {"packed_flat_large_v2.cbf", 1, 99, 1, 2147483647, 1000},
                 {"packed_v2.cbf", 2, 99, 2, 2147483647, 1},
                 {"packed_reals.cbf", 1, 99, 1, INFINITY, -0.1},
                 {"packed_reals_v2.cbf", 1, 99, 1, INFINITY, 0.5},
                 {"offset_reals.cbf", 1, 99, 1, INFINITY, -0.1},
                 {"offsets.cbf", 1, 99, 1, 65535, 1}};
    double expected[297];

    for (size_t i = 0; i < COUNT(files); i++) {
        char path[400];
        nb_measured *image;

        (void)snprintf(path, sizeof path, DATA "%s", files[i].name);
        image = read_frame(path);
        if (!image) continue;
        drawn_pixels(expected, files[i].nsection, files[i].n);
        for (size_t k = 0; k < files[i].nsection * files[i].n; k++)
            expected[k] *= files[i].factor;
        tap_check(differences(image, expected, files[i].nsection * files[i].n) == 0,
                  "%s: %zu pixels differ, allowed 0", files[i].name,
                  differences(image, expected, files[i].nsection * files[i].n));
        tap_check(image->nfast == 11 && image->nslow == 9 * files[i].npanel
                      && image->npanel == files[i].npanel && image->frames == 1,
                  "%s: %d x %d pixels, %d panels", files[i].name, image->nfast,
                  image->nslow, image->npanel);
        tap_check(image->overload == files[i].overload && !image->mask && image->gain == 1
                      && image->pedestal == 0 && isnan(image->distance)
                      && image->nspectrum == 0,
                  "%s: the header states nothing else", files[i].name);
        nb_measured_free(image);
    }
    return TAP_PASS;
}

enum { NFAST = 7, NSLOW = 5, NPIX = NFAST * NSLOW };

/* ---- sections made by hand ---- */

/* A file in memory. */
struct made {
    unsigned char at[6000];
    size_t n;
};

static void add(struct made *made, const void *bytes, size_t n)
{
    memcpy(made->at + made->n, bytes, n);
    made->n += n;
}

/* Adds a section with the lines of its header besides its size. */
static void add_section(struct made *made, const char *header, const void *bytes, size_t n)
{
    char text[1000];

    (void)snprintf(text, sizeof text,
                   "\n--CIF-BINARY-FORMAT-SECTION--\nX-Binary-Size: %zu\n%s\n"
                   "\x0c\x1a\x04\xd5",
                   n, header);
    add(made, text, strlen(text));
    add(made, bytes, n);
    add(made, "\n--CIF-BINARY-FORMAT-SECTION----\n;\n", 35);
}

static void begin_cbf(struct made *made)
{
    static const char magic[] = "###CBF: VERSION 1.5\ndata_a\n_array_data.data\n;";

    made->n = 0;
    add(made, magic, sizeof magic - 1);
}

static nb_status parse(const struct made *made, nb_measured **out)
{
    return measured_parse(ctx, "a.cbf", made->at, made->n, out);
}

static int types_of_pixels(void)
{
    static const struct {
        const char *header;
        const char *bytes;
        size_t n;
        double expected[2];
    } kinds[] = {
        {"X-Binary-Element-Type: \"signed 8-bit integer\"\n", "\377\177", 2, {-1, 127}},
        {"X-Binary-Element-Type: \"unsigned 8-bit integer\"\n", "\377\001", 2, {255, 1}},
        {"X-Binary-Element-Type: \"signed 16-bit integer\"\n"
         "X-Binary-Element-Byte-Order: BIG_ENDIAN\n",
         "\377\376\001\002",
         4,
         {-2, 258}},
        {"X-Binary-Element-Type: \"unsigned 16-bit integer\"\n",
         "\377\376\001\002",
         4,
         {65279, 513}},
        {"X-Binary-Element-Type: \"unsigned 32-bit integer\"\n",
         "\377\377\377\377\001\0\0\0",
         8,
         {4294967295, 1}},
        {"X-Binary-Element-Type: \"signed 64-bit integer\"\n",
         "\376\377\377\377\377\377\377\377\0\0\0\0\001\0\0\0",
         16,
         {-2, 4294967296}},
        {"X-Binary-Element-Type: \"signed 32-bit real IEEE\"\n",
         "\0\0\200\277\0\0\0\100",
         8,
         {-1, 2}},
        {"X-Binary-Element-Type: \"signed 64-bit real IEEE\"\n"
         "X-Binary-Element-Byte-Order: BIG_ENDIAN\n",
         "\277\360\0\0\0\0\0\0\100\0\0\0\0\0\0\0",
         16,
         {-1, 2}},
        {"X-Binary-Element-Type: \"signed 32-bit integer\"\n"
         "conversions=\"x-CBF_BYTE_OFFSET\"\n",
         "\200\000\200\000\000\000\200\377",
         8,
         {-2147483648, 2147483647}},
        {"X-Binary-Element-Type: \"unsigned 32-bit integer\"\n"
         "conversions=\"x-CBF_BYTE_OFFSET\"\n",
         "\377\002",
         2,
         {4294967295, 1}},
    };
    struct made made;

    for (size_t i = 0; i < COUNT(kinds); i++) {
        char header[500];
        nb_measured *image = NULL;

        (void)snprintf(header, sizeof header,
                       "%sX-Binary-Size-Fastest-Dimension: 2\n"
                       "X-Binary-Size-Second-Dimension: 1\n",
                       kinds[i].header);
        begin_cbf(&made);
        /* differences of 4 and of 8 bytes */
        if (i == 8)
            add_section(&made, header,
                        "\200\000\200\000\000\000\200\000\000\000\200\377\377\377\377"
                        "\200\000\200\000\000\000\200\377\377\377\377\000\000\000\000",
                        30);
        else
            add_section(&made, header, kinds[i].bytes, kinds[i].n);
        check_ok(parse(&made, &image), "pixels of a type");
        tap_check(differences(image, kinds[i].expected, 2) == 0, "%zu: %.10g %.10g", i,
                  image ? image->pixels[0] : NAN, image ? image->pixels[1] : NAN);
        nb_measured_free(image);
    }
    return TAP_PASS;
}

/* Bits that are written, the lowest of a byte first. */
struct bits {
    unsigned char at[4000];
    size_t n;
};

static void put_bits(struct bits *b, uint64_t value, int n)
{
    for (int i = 0; i < n; i++, b->n++)
        if (i < 64 && (value >> i & 1)) b->at[b->n / 8] |= (unsigned char)(1 << b->n % 8);
}

/* Packs errors in blocks of drawn lengths, each as narrow as it may be or wider; the widest
 * ones in `most` bits. */
static void pack(const int64_t *error, size_t n, int version, int most, struct bits *b)
{
    static const int widths[2][16] = {{0, 4, 5, 6, 7, 8, 16, 32},
                                      {0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
                                       32}};
    const int codes = version == 1 ? 8 : 16;

    memset(b, 0, sizeof *b);
    put_bits(b, n, 64);
    b->n = 256;
    for (size_t i = 0; i < n;) {
        const int length = (int)(draw() % 8);
        const size_t count = (size_t)1 << length;
        int code = (int)draw() % 3;

        for (size_t k = i; k < i + count && k < n; k++)
            while (code < codes - 1
                   && (widths[version - 1][code] == 0
                           ? error[k] != 0
                           : error[k] >= (int64_t)1 << (widths[version - 1][code] - 1)
                                 || error[k]
                                        < -((int64_t)1 << (widths[version - 1][code] - 1))))
                code++;
        put_bits(b, (uint64_t)length, 3);
        put_bits(b, (uint64_t)code, version == 1 ? 3 : 4);
        for (size_t k = 0; k < count && i < n; k++, i++)
            put_bits(b, (uint64_t)error[i],
                     code == codes - 1 ? most : widths[version - 1][code]);
    }
}

/* The mean, rounded, of the pixels around one that came before it. */
static int64_t expected_pixel(const double *p, int x, int y)
{
    if (x == 0 && y == 0) return 0;
    if (y == 0) return (int64_t)p[x - 1];
    p += y * NFAST + x;
    if (x == 0) return (int64_t)floor((p[-NFAST] + p[1 - NFAST] + 1) / 2);
    if (x == NFAST - 1) return (int64_t)floor((p[-NFAST] + p[-1] + 1) / 2);
    return (int64_t)floor((p[-NFAST - 1] + p[-NFAST] + p[-NFAST + 1] + p[-1] + 2) / 4);
}

static int packed_by_hand(void)
{
    struct made made;
    struct bits bits;

    seed = 5;
    for (int i = 0; i < 200; i++) {
        const int version = 1 + i % 2, is_flat = i % 3 == 0, largest = 1 << (i % 30);
        int64_t error[NPIX];
        double pixels[NPIX];
        char header[300];
        nb_measured *image = NULL;

        for (int k = 0; k < NPIX; k++) {
            pixels[k] =
                (double)(draw() % (unsigned)largest) - (i % 5 == 0 ? largest / 2 : 0);
            error[k] = (int64_t)pixels[k]
                       - (is_flat ? k > 0 ? (int64_t)pixels[k - 1] : 0
                                  : expected_pixel(pixels, k % NFAST, k / NFAST));
        }
        pack(error, NPIX, version, is_flat ? 65 : 32, &bits);
        (void)snprintf(header, sizeof header,
                       "     conversions=\"x-CBF_PACKED%s\"%s\n"
                       "X-Binary-Element-Type: \"signed 32-bit integer\"\n"
                       "X-Binary-Size-Fastest-Dimension: %d\n"
                       "X-Binary-Size-Second-Dimension: %d\n",
                       version == 1 ? "" : "_V2", is_flat ? "; \"flat\"" : "", NFAST,
                       NSLOW);
        begin_cbf(&made);
        add_section(&made, header, bits.at, (bits.n + 7) / 8);
        check_ok(parse(&made, &image), "packed pixels");
        tap_check(differences(image, pixels, NPIX) == 0, "%d: %zu pixels differ, allowed 0",
                  i, differences(image, pixels, NPIX));
        nb_measured_free(image);
    }
    return TAP_PASS;
}

static int items_of_cif(void)
{
    static const char text[] =
        "###CBF: VERSION 1.5\ndata_a\n# _array_intensities.gain 7\n"
        "_a.text\n;\n_array_intensities.gain 8\n;\n"
        "loop_\n_b.x\n_array_intensities.gain _array_intensities.overload\n"
        "'it''s _array_intensities.gain 9' 2.5(1) \"3000\"\n 1 2 3\n"
        "_array_intensities.undefined_value -3\n"
        "_diffrn_radiation_wavelength.wavelength 1.25\n"
        "loop_\n_array_structure_list_axis.axis_set_id\n"
        "_array_structure_list_axis.displacement_increment\nX 0.11\nY -0.12\n"
        "_diffrn_scan_frame.integration_time 0\n_array_data.data\n;";
    static const char header[] = "X-Binary-Element-Type: \"signed 8-bit integer\"\n"
                                 "X-Binary-Size-Fastest-Dimension: 2\n"
                                 "X-Binary-Size-Second-Dimension: 1\n";
    nb_measured *image = NULL;
    struct made made = {.n = 0};

    add(&made, text, sizeof text - 1);
    add_section(&made, header, "\375\374", 2);
    check_ok(parse(&made, &image), "imgCIF");
    if (!image) return TAP_PASS;
    tap_check(image->gain == 2.5 && image->overload == 3000 && image->wavelength == 1.25
                  && image->pixel_fast == 0.11 && image->pixel_slow == 0.12
                  && isnan(image->exposure) && isnan(image->osc_start),
              "gain %g, overload %g, wavelength %g, pixel %g %g", image->gain,
              image->overload, image->wavelength, image->pixel_fast, image->pixel_slow);
    tap_check(image->mask && image->mask[0] == 0 && image->mask[1] == 1,
              "the undefined value alone is masked");
    nb_measured_free(image);
    return TAP_PASS;
}

/* ---- damage ---- */

static int every_cut_is_refused(void)
{
    static const char *const names[] = {"packed_correlated.cbf", "packed_v2.cbf",
                                        "offsets.cbf"};

    for (size_t i = 0; i < COUNT(names); i++) {
        char path[400];
        nb_measured *image = NULL;
        size_t n = 0;
        char *bytes;

        (void)snprintf(path, sizeof path, DATA "%s", names[i]);
        bytes = slurp(path, &n);
        while (n > 0 && strchr("\r\n;-", bytes[n - 1])) n--; /* of the last boundary */
        for (size_t cut = 0; cut <= n; cut++) {
            /* behind one whole section, a file is whole */
            if (i == 1 && measured_parse(ctx, names[i], bytes, cut, &image) == NB_OK) {
                tap_check(image->npanel == 1, "cut at %zu: %d panels", cut, image->npanel);
                nb_measured_free(image);
                continue;
            }
            check_refused(measured_parse(ctx, names[i], bytes, cut, &image), NB_ERR_FORMAT,
                          names[i], "");
            tap_check(!image, "no image");
        }
        free(bytes);
    }
    return TAP_PASS;
}

static int changed_bytes_are_refused(void)
{
    static const char name[] = "offsets.cbf", mark[] = "\x0c\x1a\x04\xd5";
    nb_measured *image = NULL;
    size_t n = 0, begin = 0, ok = 0;
    char *const bytes = slurp(DATA "offsets.cbf", &n);

    while (begin + 4 < n && memcmp(bytes + begin, mark, 4) != 0) begin++;
    for (size_t i = begin + 4; i < begin + 4 + 99; i++) {
        bytes[i] ^= 1;
        check_refused(measured_parse(ctx, name, bytes, n, &image), NB_ERR_FORMAT, name,
                      "Content-MD5");
        bytes[i] ^= 1;
    }
    /* any other byte: the file is refused, or it is read */
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 16;
        if (measured_parse(ctx, name, bytes, n, &image) == NB_OK) ok++;
        nb_measured_free(image);
        image = NULL;
        bytes[i] ^= 16;
    }
    tap_check(ok > 0 && ok < n, "%zu of %zu changes are harmless", ok, n);
    free(bytes);
    return TAP_PASS;
}

static int wrong_headers_are_refused(void)
{
    static const struct {
        const char *line, *instead, *part;
        nb_status status;
    } changes[] = {
        {"X-Binary-Size: 4", "X-Binary-Size: 5", "as many pixels", NB_ERR_FORMAT},
        {"X-Binary-Size: 4", "X-Binary-Size: 99", "X-Binary-Size", NB_ERR_FORMAT},
        {"X-Binary-Size: 4", "X-Binary-Sizes: 4", "X-Binary-Size", NB_ERR_FORMAT},
        {"Fastest-Dimension: 2", "Fastest-Dimension: 0", "Dimension", NB_ERR_FORMAT},
        {"Fastest-Dimension: 2", "Fastest-Dimension: 3", "Number-of-Elements",
         NB_ERR_FORMAT},
        {"Fastest-Dimension: 2", "Fastest-Dimension: 1", "Number-of-Elements",
         NB_ERR_FORMAT},
        {"Fastest-Dimension: 2", "Fastest-Dimension: 4294967296", "2^31", NB_ERR_FORMAT},
        {"Second-Dimension: 1", "Second-Dimension: 2147483648", "2^31", NB_ERR_FORMAT},
        {"Elements: 2", "Elements: 3", "Number-of-Elements", NB_ERR_FORMAT},
        {"signed 16-bit integer", "signed 24-bit integer", "Element-Type", NB_ERR_FORMAT},
        {"signed 16-bit integer", "signed 16-bit complex", "Element-Type", NB_ERR_FORMAT},
        {"signed 16-bit integer", "signed 16-bit real", "Element-Type", NB_ERR_FORMAT},
        {"Encoding: BINARY", "Encoding: BASE64", "BASE64", NB_ERR_UNSUPPORTED},
        {"x-CBF_NONE", "x-CBF_CANONICAL", "CANONICAL", NB_ERR_UNSUPPORTED},
        {"x-CBF_NONE", "x-CBF_PACKED", "more bytes", NB_ERR_FORMAT},
        {"x-CBF_NONE", "x-CBF_BYTE_OFFSET", "as many pixels", NB_ERR_FORMAT},
        {"MD5: ", "MD5: A", "Content-MD5", NB_ERR_FORMAT},
    };
    static const char good[] = "X-Binary-Size: 4\nConversions=\"x-CBF_NONE\"\n"
                               "Content-Transfer-Encoding: BINARY\n"
                               "X-Binary-Element-Type: \"signed 16-bit integer\"\n"
                               "X-Binary-Number-of-Elements: 2\n"
                               "X-Binary-Size-Fastest-Dimension: 2\n"
                               "X-Binary-Size-Second-Dimension: 1\nContent-MD5: \n";
    struct made made;
    nb_measured *image = NULL;

    for (size_t i = 0; i <= COUNT(changes); i++) {
        const char *const at = i < COUNT(changes) ? strstr(good, changes[i].line) : good;
        const char *const instead = i < COUNT(changes) ? changes[i].instead : "";
        const size_t length = i < COUNT(changes) ? strlen(changes[i].line) : 0;

        begin_cbf(&made);
        add(&made, "\n--CIF-BINARY-FORMAT-SECTION--\n", 31);
        add(&made, good, (size_t)(at - good));
        add(&made, instead, strlen(instead));
        add(&made, at + length, strlen(at + length));
        add(&made, "\n\x0c\x1a\x04\xd5\1\0\2\0\n--CIF-BINARY-FORMAT-SECTION----", 41);
        if (i < COUNT(changes))
            check_refused(parse(&made, &image), changes[i].status, "a.cbf",
                          changes[i].part);
        else
            check_ok(parse(&made, &image), "without a change");
    }
    nb_measured_free(image);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"files_of_cbflib", files_of_cbflib},
        {"types_of_pixels", types_of_pixels},
        {"packed_by_hand", packed_by_hand},
        {"items_of_cif", items_of_cif},
        {"every_cut_is_refused", every_cut_is_refused},
        {"changed_bytes_are_refused", changed_bytes_are_refused},
        {"wrong_headers_are_refused", wrong_headers_are_refused},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
