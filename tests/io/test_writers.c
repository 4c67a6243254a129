/*
 * test_writers.c - the writers of io.h: their output, that a target is whole or untouched,
 * and the messages about paths that cannot be written.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nanobrag/nanobrag.h>

#include "support/files.h"
#include "support/tap.h"

#define GOLDEN(file) TEST_DATA_DIR "/golden/" file

enum { NOBODY = 65534, NFAST = 3, NSLOW = 2, NPIX = NFAST * NSLOW };

static uint16_t counts[NPIX] = {0, 1, 256, 513, 40000, 65535};
static float narrow[NPIX] = {0, 1.5f, -2, 1e-30f, 3e38f, 0.1f};

static nb_array count_image(void)
{
    return nb_array_u16(counts, NSLOW, NFAST);
}

/* ---- SMV ---- */

/* with the lines of nanoBragg's own header, the header comes out again */
static int smv_header_golden(void)
{
    const nb_array image = count_image();
    size_t n, written;
    char *golden = slurp(GOLDEN("mosflm_beam.hdr.txt"), &n), *found;
    char lines[512] = "";
    const char *first = strstr(golden, "DIM="), *last = strrchr(golden, '}');

    tap_check(n == 512 && first && last, "mosflm_beam.hdr.txt is there");
    if (first && last) memcpy(lines, first, (size_t)(last - first));
    check_ok(nb_smv_write(ctx, in_folder("a.img"), lines, &image), "write");
    found = slurp(in_folder("a.img"), &written);
    tap_check(written == 512 + sizeof counts, "%zu bytes expected 524", written);
    tap_check(memcmp(found, golden, 512) == 0, "the same 512 bytes");
    free(found);
    free(golden);
    return 0;
}

static int smv_round_trip(void)
{
    static const char *const orders[] = {"little_endian", "big_endian"};
    const nb_array image = count_image();

    for (int i = 0; i < 2; i++) {
        char header[128];
        double pixels[6] = {0};
        double phi = 0;
        int nfast = 0, nslow = 0, same = 1;
        size_t n;
        char *bytes;
        nb_smv *smv = NULL;

        (void)snprintf(header, sizeof header,
                       "BYTE_ORDER=%s;\nSIZE1=3;\nSIZE2=2;\nPHI=-1.5;\n", orders[i]);
        check_ok(nb_smv_write(ctx, in_folder("a.img"), header, &image), "write");
        bytes = slurp(in_folder("a.img"), &n);
        tap_check(n == 524 && bytes[512 + 4 + !i] == 1, "256 lies %s", orders[i]);
        free(bytes);
        check_ok(nb_smv_read(ctx, in_folder("a.img"), &smv), "read");
        nb_smv_image(smv, &nfast, &nslow, NULL, NULL);
        for (int k = 0; nb_smv_pixels(smv, pixels) && k < NFAST * NSLOW; k++)
            same &= pixels[k] == counts[k];
        tap_check(nfast == NFAST && nslow == NSLOW && same && pixels[5] == counts[5],
                  "the same pixels");
        tap_check(nb_smv_number(smv, "PHI", &phi) && phi == -1.5, "PHI %g", phi);
        nb_smv_free(smv);
    }
    return 0;
}

/* whatever the length, the header states where the pixels start, in blocks of 512 */
static int smv_header_lengths(void)
{
    const nb_array image = count_image();
    int good = 0, blocks[22] = {0};

    for (size_t length = 0; length<10240; length += length % 512> 470 ? 1 : 37) {
        char header[10240] = "";
        const char *end;
        size_t n, states;
        char *bytes;

        memset(header, 'x', length);
        if (nb_smv_write(ctx, in_folder("a.img"), header, &image) != NB_OK) break;
        bytes = slurp(in_folder("a.img"), &n);
        end = memchr(bytes, '\f', n);
        states = strtoul(bytes + 15, NULL, 10);
        good += states % 512 == 0 && n == states + sizeof counts
                && (size_t)(end + 1 - bytes) <= states
                && (size_t)(end + 1 - bytes) + 512 > states
                && memcmp(bytes + states, counts, 2) == 0;
        blocks[0]++;
        blocks[states / 512 < 22 ? states / 512 : 21]++;
        free(bytes);
    }
    tap_check(good == blocks[0] && good > 500, "%d of %d headers are right", good,
              blocks[0]);
    tap_check(blocks[1] && blocks[2] && blocks[19] && blocks[20],
              "1, 2, 19 and 20 blocks all occur (3, 4 and 5 digits)");
    return 0;
}

static int smv_misuse(void)
{
    nb_array image = count_image(), other = nb_array_f32(narrow, NSLOW, NFAST);

    check_refused(nb_smv_write(ctx, in_folder("a"), "", &other), NB_ERR_SHAPE, "uint16",
                  "");
    image.stride[0] = 4;
    image.stride[1] = 1;
    check_refused(nb_smv_write(ctx, in_folder("a"), "", &image), NB_ERR_SHAPE, "dense", "");
    image = nb_array_u16(counts, 0, 3);
    check_refused(nb_smv_write(ctx, in_folder("a"), "", &image), NB_ERR_SHAPE, "counts",
                  "");
    check_refused(nb_smv_write(ctx, in_folder("a"), NULL, &image), NB_ERR_ARGUMENT,
                  "header", "NULL");
    check_refused(nb_smv_write(ctx, in_folder("a"), "", NULL), NB_ERR_ARGUMENT, "counts",
                  "NULL");
    check_refused(nb_smv_write(ctx, NULL, "", &image), NB_ERR_ARGUMENT, "path", "NULL");
    tap_check(nb_smv_write(NULL, "a", "", &image) == NB_ERR_ARGUMENT, "no context");
    tap_check(access(in_folder("a"), F_OK) != 0, "nothing written");
    return 0;
}

/* ---- raw images ---- */

static int raw_round_trip(void)
{
    static double wide[NPIX] = {0, 1.5, -2, 1e-30, 3e38, 0.1};
    double back64[NPIX] = {9}, from32[NPIX] = {9};
    float back32[NPIX] = {9};
    nb_array f32 = nb_array_f32(narrow, NSLOW, NFAST),
             f64 = nb_array_f64(wide, NSLOW, NFAST);
    nb_array b32 = nb_array_f32(back32, NSLOW, NFAST), u16 = count_image();
    nb_array b64 = nb_array_f64(back64, NSLOW, NFAST),
             w32 = nb_array_f64(from32, NSLOW, NFAST);

    check_ok(nb_raw_write(ctx, in_folder("r"), &f32, 32), "float as float");
    tap_check(holds(in_folder("r"), narrow, sizeof narrow), "as it lies in memory");
    check_ok(nb_raw_write(ctx, in_folder("r"), &f64, 64), "double as double");
    tap_check(holds(in_folder("r"), wide, sizeof wide), "as it lies in memory");
    check_ok(nb_raw_read(ctx, in_folder("r"), &b64), "read doubles");
    for (int i = 0; i < NPIX; i++) tap_close("the same double", back64[i], wide[i], 0);
    check_ok(nb_raw_write(ctx, in_folder("r"), &f64, 32), "double as float");
    check_ok(nb_raw_read(ctx, in_folder("r"), &b32), "read floats");
    for (int i = 0; i < NPIX; i++)
        tap_close("rounded to float", (double)back32[i], (double)narrow[i], 0);
    check_ok(nb_raw_write(ctx, in_folder("r"), &f32, 64), "float as double");
    check_ok(nb_raw_read(ctx, in_folder("r"), &w32), "read doubles");
    for (int i = 0; i < NPIX; i++) tap_close("widened", from32[i], (double)narrow[i], 0);
    check_ok(nb_raw_write(ctx, in_folder("r"), &u16, 32), "counts");
    tap_check(holds(in_folder("r"), counts, sizeof counts), "as they lie in memory");
    return 0;
}

/* more pixels than the conversion takes at a time */
static int raw_large(void)
{
    enum { LARGE = 10007 };
    double *pixels = calloc(LARGE, sizeof *pixels), *back = calloc(LARGE, sizeof *back);
    float *middle = calloc(LARGE, sizeof *middle);
    nb_array a = nb_array_f64(pixels, LARGE, 1), b = nb_array_f32(middle, LARGE, 1);
    nb_array c = nb_array_f64(back, LARGE, 1);
    int wrong = 0;

    if (!pixels || !back || !middle) abort();
    for (int i = 0; i < LARGE; i++) pixels[i] = i + 0.25;
    check_ok(nb_raw_write(ctx, in_folder("r"), &a, 32), "narrow");
    check_ok(nb_raw_read(ctx, in_folder("r"), &b), "read floats");
    check_ok(nb_raw_write(ctx, in_folder("r"), &b, 64), "widen");
    check_ok(nb_raw_read(ctx, in_folder("r"), &c), "read doubles");
    for (int i = 0; i < LARGE; i++) wrong += back[i] != pixels[i];
    tap_check(wrong == 0, "%d of %d pixels differ, allowed 0", wrong, (int)LARGE);
    free(pixels);
    free(middle);
    free(back);
    return 0;
}

static int raw_refused(void)
{
    float pixels[NPIX] = {42};
    nb_array image = nb_array_f32(pixels, NSLOW, NFAST), u16 = count_image();

    put(in_folder("r"), narrow, sizeof narrow - 1);
    check_refused(nb_raw_read(ctx, in_folder("r"), &image), NB_ERR_FORMAT,
                  "/r: the file has 23 bytes", "expected 24 (3 x 2 floats of 32 bits)");
    put(in_folder("r"), counts, 0);
    check_refused(nb_raw_read(ctx, in_folder("r"), &image), NB_ERR_FORMAT,
                  "/r: the file has 0 bytes", "24");
    put(in_folder("r"), "0123456789012345678901234", 25);
    check_refused(nb_raw_read(ctx, in_folder("r"), &image), NB_ERR_FORMAT,
                  "/r: the file has 25 bytes", "24");
    check_refused(nb_raw_read(ctx, "/dev/zero", &image), NB_ERR_FORMAT, "/dev/zero", "24");
    check_refused(nb_raw_read(ctx, "/dev/null", &image), NB_ERR_FORMAT, "0 bytes", "24");
    check_refused(nb_raw_read(ctx, in_folder("r"), &u16), NB_ERR_SHAPE, "float", "");
    check_refused(nb_raw_write(ctx, in_folder("r"), &image, 16), NB_ERR_ARGUMENT, "16",
                  "64");
    image.flags = NB_DONATED;
    check_refused(nb_raw_write(ctx, in_folder("r"), &image, 32), NB_ERR_DONATED, "image",
                  "");
    image.flags = 0;
    image.device = NB_DEVICE_CUDA;
    check_refused(nb_raw_write(ctx, in_folder("r"), &image, 32), NB_ERR_SHAPE, "device",
                  "");
    tap_close("pixels untouched", (double)pixels[0], 42, 0);
    return 0;
}

/* ---- pictures ---- */

static int pgm_bytes(void)
{
    static const uint8_t grey[NPIX] = {0, 1, 2, 10, 13, 255};
    static const char with[] = "P5\n3 2\n# pixels scaled by 2\n255\n\0\1\2\n\r\377";
    static const char without[] = "P5\n3 2\n255\n\0\1\2\n\r\377";

    check_ok(nb_pgm_write(ctx, in_folder("p"), 3, 2, grey, "pixels scaled by 2"),
             "comment");
    tap_check(holds(in_folder("p"), with, sizeof with - 1), "nanoBragg's layout");
    check_ok(nb_pgm_write(ctx, in_folder("p"), 3, 2, grey, NULL), "no comment");
    tap_check(holds(in_folder("p"), without, sizeof without - 1), "no comment line");
    check_refused(nb_pgm_write(ctx, in_folder("p"), 3, 2, grey, "a\nb"), NB_ERR_ARGUMENT,
                  "one line", "");
    check_refused(nb_pgm_write(ctx, in_folder("p"), 0, 2, grey, NULL), NB_ERR_ARGUMENT,
                  "0 x 2", "");
    check_refused(nb_pgm_write(ctx, in_folder("p"), 3, 2, NULL, NULL), NB_ERR_ARGUMENT,
                  "grey", "");
    return 0;
}

static int png_structure(void)
{
    static const uint8_t rgb[NPIX * 3] = {255, 0, 0, 0, 255, 0, 0, 0, 255};
    static const char start[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\3\0\0\0\2\10\2\0\0\0";
    const nb_status status = nb_png_write(ctx, in_folder("p.png"), NFAST, NSLOW, rgb);
    size_t n;
    char *bytes;

    if (status == NB_ERR_UNSUPPORTED) {
        check_refused(status, NB_ERR_UNSUPPORTED, "libpng", "p.png");
        return tap_skip("built without libpng");
    }
    check_ok(status, "write");
    bytes = slurp(in_folder("p.png"), &n);
    tap_check(n > 57 && memcmp(bytes, start, sizeof start - 1) == 0,
              "signature, 3 x 2, 8 bits, RGB");
    tap_check(n > 57 && memcmp(bytes + n - 8, "IEND\xae\x42\x60\x82", 8) == 0, "whole");
    free(bytes);
    check_refused(nb_png_write(ctx, in_folder("q.png"), 0, 2, rgb), NB_ERR_ARGUMENT,
                  "0 x 2", "");
    check_refused(nb_png_write(ctx, "/dev/full", NFAST, NSLOW, rgb), NB_ERR_FILE,
                  "/dev/full", "No space left");
    return 0;
}

/* ---- places ---- */

static int write_replaces_whole(void)
{
    const mode_t mask = umask(027);
    struct stat st = {0};

    empty_folder();
    check_ok(nb_file_write(ctx, in_folder("new"), "abc", 3), "new file");
    tap_check(stat(in_folder("new"), &st) == 0 && (st.st_mode & 0777) == 0640,
              "mode %o expected 640 (umask 027)", (unsigned)st.st_mode & 0777);
    (void)chmod(in_folder("new"), 0604);
    check_ok(nb_file_write(ctx, in_folder("new"), "de", 2), "again");
    tap_check(holds(in_folder("new"), "de", 2), "replaced");
    tap_check(stat(in_folder("new"), &st) == 0 && (st.st_mode & 0777) == 0604,
              "mode %o expected 604 (kept)", (unsigned)st.st_mode & 0777);
    check_ok(nb_file_write(ctx, in_folder("new"), NULL, 0), "no bytes");
    tap_check(holds(in_folder("new"), "", 0), "empty");
    tap_check(count_files(in_folder("")) == 1, "no other file");
    (void)umask(mask);
    return 0;
}

static int write_follows_links(void)
{
    char here[512];
    struct stat st;

    empty_folder();
    put(in_folder("target"), "old", 3);
    tap_check(symlink("target", in_folder("link")) == 0
                  && symlink("link", in_folder("link2")) == 0
                  && symlink("absent", in_folder("dangling")) == 0
                  && symlink("loop", in_folder("loop")) == 0,
              "links made");
    check_ok(nb_file_write(ctx, in_folder("link2"), "new", 3), "through two links");
    tap_check(holds(in_folder("target"), "new", 3), "the target has it");
    tap_check(lstat(in_folder("link2"), &st) == 0 && S_ISLNK(st.st_mode),
              "the link is kept");
    check_ok(nb_file_write(ctx, in_folder("dangling"), "x", 1), "to a file not there yet");
    tap_check(holds(in_folder("absent"), "x", 1), "made where the link points");
    check_refused(nb_file_write(ctx, in_folder("loop"), "x", 1), NB_ERR_FILE, "/loop",
                  "circle");
    tap_check(getcwd(here, sizeof here) && chdir(in_folder("")) == 0, "in the folder");
    check_ok(nb_file_write(ctx, "plain", "y", 1), "a name without a folder");
    tap_check(chdir(here) == 0 && holds(in_folder("plain"), "y", 1), "is in the folder");
    return 0;
}

static int write_refused(void)
{
    char name[300];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    put(in_folder("file"), "", 0);
    check_refused(nb_file_write(ctx, in_folder("none/a"), "x", 1), NB_ERR_FILE, "/none/a",
                  "No such file or directory; check");
    check_refused(nb_file_write(ctx, in_folder("file/a"), "x", 1), NB_ERR_FILE, "/file/a",
                  "Not a directory");
    check_refused(nb_file_write(ctx, in_folder(""), "x", 1), NB_ERR_FILE, "cannot write",
                  "Is a directory; give the name of a file");
    check_refused(nb_file_write(ctx, in_folder(name), "x", 1), NB_ERR_FILE, "nnn",
                  "too long; choose a shorter name");
    check_refused(nb_file_write(ctx, NULL, "x", 1), NB_ERR_ARGUMENT, "path", "");
    check_refused(nb_file_write(ctx, in_folder("a"), NULL, 1), NB_ERR_ARGUMENT, "bytes",
                  "");
    return 0;
}

/* as a user without rights, so that it holds for root too */
static int write_without_permission(void)
{
    const int root = geteuid() == 0;
    nb_hkl *hkl;

    empty_folder();
    tap_check(mkdir(in_folder("closed"), 0555) == 0, "a folder nobody writes to");
    put(in_folder("read_only"), "old", 3);
    put(in_folder("secret"), "1 1 1 1", 7);
    (void)chmod(in_folder("read_only"), 0444);
    (void)chmod(in_folder("secret"), 0);
    if (root) (void)chmod(in_folder(""), 0777);
    if (root && seteuid(NOBODY) != 0) return tap_skip("cannot become an ordinary user");
    check_refused(nb_file_write(ctx, in_folder("closed/a"), "x", 1), NB_ERR_FILE,
                  "/closed/a", "Permission denied; change");
    check_refused(nb_file_write(ctx, in_folder("read_only"), "x", 1), NB_ERR_FILE,
                  "/read_only", "Permission denied; change");
    check_refused(nb_hkl_read(ctx, in_folder("secret"), &hkl), NB_ERR_FILE, "/secret",
                  "cannot read: Permission denied");
    if (root) tap_check(seteuid(0) == 0, "root again");
    tap_check(holds(in_folder("read_only"), "old", 3), "the old file is kept");
    tap_check(count_files(in_folder("closed")) == 0, "nothing left in the folder");
    return 0;
}

static int write_full_device(void)
{
    static const int index[3] = {1, 1, 1};
    static const double f = 1;
    const nb_array f32 = nb_array_f32(narrow, NSLOW, NFAST), u16 = count_image();
    const uint8_t grey[NPIX] = {0};
    nb_hkl *hkl = NULL;
    nb_status status[5];

    check_ok(nb_hkl_create(ctx, 1, index, &f, &hkl), "reflections");
    for (int i = 0; i < 5; i++) {
        if (i == 0) status[i] = nb_file_write(ctx, "/dev/full", "x", 1);
        if (i == 1) status[i] = nb_smv_write(ctx, "/dev/full", "", &u16);
        if (i == 2) status[i] = nb_raw_write(ctx, "/dev/full", &f32, 64);
        if (i == 3) status[i] = nb_pgm_write(ctx, "/dev/full", NFAST, NSLOW, grey, NULL);
        if (i == 4)
            status[i] = nb_fdump_write(ctx, "/dev/full", hkl, 0, NB_PROFILE_NANOBRAG);
        check_refused(status[i], NB_ERR_FILE, "/dev/full: cannot write",
                      "No space left on device; free some space");
    }
    nb_hkl_free(hkl);
    return 0;
}

/* the disk gives out in the middle: the old file stays, the temporary one goes */
static int write_cut_off(void)
{
    struct rlimit old, low;
    char *bytes = calloc(1, 100000);
    nb_status status;

    if (!bytes) abort();
    empty_folder();
    put(in_folder("kept"), "old", 3);
    (void)getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = 5000;
    (void)signal(SIGXFSZ, SIG_IGN);
    tap_check(setrlimit(RLIMIT_FSIZE, &low) == 0, "files end at 5000 bytes");
    status = nb_file_write(ctx, in_folder("kept"), bytes, 100000);
    (void)setrlimit(RLIMIT_FSIZE, &old);
    check_refused(status, NB_ERR_FILE, "/kept", "File too large; raise");
    tap_check(holds(in_folder("kept"), "old", 3), "the old file is kept");
    tap_check(count_files(in_folder("")) == 1, "%d files expected 1",
              count_files(in_folder("")));
    free(bytes);
    return 0;
}

static int write_to_pipe(void)
{
    char *bytes;
    size_t n;
    pid_t child;
    int status = -1;
    struct stat st;
    nb_array image = nb_array_f32(narrow, NSLOW, NFAST);

    empty_folder();
    tap_check(mkfifo(in_folder("pipe"), 0600) == 0, "pipe made");
    child = fork();
    if (child == 0) _exit((int)nb_raw_write(ctx, in_folder("pipe"), &image, 32));
    bytes = slurp(in_folder("pipe"), &n);
    tap_check(waitpid(child, &status, 0) == child && status == 0, "the writer succeeds");
    tap_check(n == sizeof narrow && memcmp(bytes, narrow, n) == 0, "%zu bytes arrive", n);
    tap_check(stat(in_folder("pipe"), &st) == 0 && S_ISFIFO(st.st_mode),
              "it is still a pipe");
    free(bytes);
    return 0;
}

static int read_from_pipe(void)
{
    double m[9] = {0};
    pid_t child;

    empty_folder();
    tap_check(mkfifo(in_folder("pipe"), 0600) == 0, "pipe made");
    child = fork();
    if (child == 0) {
        put(in_folder("pipe"), "1 2 3 4 5 6 7 8 9\n", 18);
        _exit(0);
    }
    check_ok(nb_matrix_read(ctx, in_folder("pipe"), m), "matrix from a pipe");
    tap_close("last element", m[8], 9, 0);
    (void)waitpid(child, NULL, 0);
    return 0;
}

static int read_refused(void)
{
    char *large = malloc((1 << 20) + 1);
    nb_hkl *hkl;
    nb_smv *smv;
    nb_table *table;
    double m[9];

    if (!large) abort();
    memset(large, ' ', (1 << 20) + 1);
    put(in_folder("large"), large, (1 << 20) + 1);
    free(large);
    check_refused(nb_matrix_read(ctx, in_folder("large"), m), NB_ERR_FORMAT, "/large",
                  "1048576");
    check_refused(nb_matrix_read(ctx, "/dev/zero", m), NB_ERR_FORMAT, "/dev/zero",
                  "1048576");
    check_refused(nb_hkl_read(ctx, in_folder("none"), &hkl), NB_ERR_FILE, "/none",
                  "cannot read: No such file or directory; check");
    check_refused(nb_fdump_read(ctx, in_folder(""), &hkl), NB_ERR_FILE, "cannot read",
                  "Is a directory");
    check_refused(nb_smv_read(ctx, in_folder("large/a"), &smv), NB_ERR_FILE, "/large/a",
                  "Not a directory");
    check_refused(nb_table_read(ctx, in_folder("none"), 2, &table), NB_ERR_FILE, "/none",
                  "");
    check_refused(nb_hkl_read(ctx, NULL, &hkl), NB_ERR_ARGUMENT, "path", "");
    check_refused(nb_matrix_read(ctx, in_folder("none"), NULL), NB_ERR_ARGUMENT, "matrix",
                  "");
    tap_check(nb_hkl_read(NULL, "a", &hkl) == NB_ERR_ARGUMENT
                  && nb_smv_read(ctx, "a", NULL) == NB_ERR_ARGUMENT
                  && nb_table_read(ctx, "a", 2, NULL) == NB_ERR_ARGUMENT
                  && nb_fdump_read(NULL, "a", &hkl) == NB_ERR_ARGUMENT,
              "no context or no result: refused");
    nb_hkl_free(NULL);
    nb_smv_free(NULL);
    nb_table_free(NULL);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"smv_header_golden", smv_header_golden},
        {"smv_round_trip", smv_round_trip},
        {"smv_header_lengths", smv_header_lengths},
        {"smv_misuse", smv_misuse},
        {"raw_round_trip", raw_round_trip},
        {"raw_large", raw_large},
        {"raw_refused", raw_refused},
        {"pgm_bytes", pgm_bytes},
        {"png_structure", png_structure},
        {"write_replaces_whole", write_replaces_whole},
        {"write_follows_links", write_follows_links},
        {"write_refused", write_refused},
        {"write_without_permission", write_without_permission},
        {"write_full_device", write_full_device},
        {"write_cut_off", write_cut_off},
        {"write_to_pipe", write_to_pipe},
        {"read_from_pipe", read_from_pipe},
        {"read_refused", read_refused},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
