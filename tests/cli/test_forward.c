/*
 * test_forward.c - the program's images compared with stored images of nanoBragg, case by
 * case: float pixels, counts, header, noise, picture and printed numbers.
 *
 * A case runs in a directory that contains the case's input files only. If it uses nothing
 * that differs between the profiles, the default profile has to give the same.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* memmem */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/tap.h"
#include "support/worst.h"

#define GOLDEN TEST_DATA_DIR "/golden/"

enum { PATH = 4096, HEADER = 512 };

/* a whole file, through a command that prints it */
static char *slurp(const char *path, const char *through, size_t *size)
{
    char command[PATH];
    size_t workspace = 1 << 16, n = 0, got;
    char *data = malloc(workspace);
    FILE *file;

    (void)snprintf(command, sizeof command, "%s '%s'", through, path);
    file = popen(command, "r");
    if (!file || !data) abort();
    while ((got = fread(data + n, 1, workspace - n, file)) > 0) {
        n += got;
        if (n < workspace) continue;
        workspace *= 2;
        data = realloc(data, workspace);
        if (!data) abort();
    }
    (void)pclose(file);
    *size = n;
    return data;
}

static cJSON *load_index(void)
{
    static cJSON *index;
    size_t size;

    if (!index) {
        char *text = slurp(GOLDEN "index.json", "cat", &size);
        index = cJSON_ParseWithLength(text, size);
        free(text);
    }
    return index;
}

static const cJSON *find_case(const char *name)
{
    const cJSON *c;

    cJSON_ArrayForEach(c, cJSON_GetObjectItem(load_index(), "cases"))
    {
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(c, "name")), name) == 0)
            return c;
    }
    return NULL;
}

static const char *text_of(const cJSON *c, const char *group, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(c, group), key));
}

static double number_of(const cJSON *c, const char *group, const char *key)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(cJSON_GetObjectItem(c, group), key));
}

static void append(char *command, const char *format, const char *word)
{
    const size_t n = strlen(command);

    (void)snprintf(command + n, PATH - n, format, word);
}

/* run the case in `dir`; returns the exit status */
static int run_case(const cJSON *c, const char *dir, const char *compat)
{
    char command[PATH] = "";
    const cJSON *word;

    append(command, "cd '%s'", dir);
    cJSON_ArrayForEach(word, cJSON_GetObjectItem(c, "files"))
        append(command, " && cp '" GOLDEN "%s' .", cJSON_GetStringValue(word));
    append(command, " && '" NANOBRAG_PROGRAM "' %s", compat);
    cJSON_ArrayForEach(word, cJSON_GetObjectItem(c, "args"))
        append(command, " '%s'", cJSON_GetStringValue(word));
    cJSON_ArrayForEach(word, cJSON_GetObjectItem(c, "append_args"))
        append(command, " '%s'", cJSON_GetStringValue(word));
    append(command, " > stdout.txt%s", "");
    tap_note("%s", command);
    return system(command);
}

static void check_floats(const cJSON *c, const char *dir)
{
    char path[PATH];
    size_t n, m;
    struct worst worst = {0};
    double top = 0;
    float *want, *got;

    (void)snprintf(path, sizeof path, GOLDEN "%s", text_of(c, "outputs", "float"));
    want = (float *)(void *)slurp(path, "gzip -dc", &n);
    (void)snprintf(path, sizeof path, "%s/f.bin", dir);
    got = (float *)(void *)slurp(path, "cat", &m);
    if (tap_check(n == m && n > 0, "float image: %zu bytes, expected %zu", m, n)) {
        size_t differ = 0;

        for (size_t i = 0; i < n / 4; i++) top = fmax(top, (double)want[i]);
        for (size_t i = 0; i < n / 4; i++) {
            const double x = (double)got[i], g = (double)want[i];
            const double allowed = number_of(c, "tol", "float_rtol") * fabs(g)
                                   + number_of(c, "tol", "float_atol_frac_of_max") * top;

            differ += x != g;
            worst_add(&worst, x, g, allowed);
        }
        tap_note("%zu of %zu float pixels are not bit-identical", differ, n / 4);
        worst_promised(&worst, 1, "worst float pixel, in units of its tolerance");
    }
    free(want);
    free(got);
}

static void check_counts(const char *path, const char *golden, int most_apart, int most)
{
    size_t n, m;
    int apart = 0, differ = 0;
    uint16_t *want = (uint16_t *)(void *)slurp(golden, "gzip -dc", &n);
    char *file = slurp(path, "cat", &m);

    if (tap_check(m == n + HEADER, "%s: %zu bytes, expected %zu", path, m, n + HEADER)) {
        const uint16_t *got = (const uint16_t *)(const void *)(file + HEADER);

        for (size_t i = 0; i < n / 2; i++) {
            const int d = abs((int)got[i] - (int)want[i]);

            differ += d > 0;
            if (d > apart) apart = d;
        }
        tap_check(differ <= most && apart <= most_apart,
                  "%d counts differ, by up to %d; allowed %d, by up to %d", differ, apart,
                  most, most_apart);
    }
    free(want);
    free(file);
}

static void check_header(const cJSON *c, const char *image, const char *dir)
{
    char path[PATH];
    size_t n, m;
    char *want, *got;

    (void)snprintf(path, sizeof path, GOLDEN "%s", text_of(c, "outputs", "header"));
    want = slurp(path, "cat", &n);
    (void)snprintf(path, sizeof path, "%s/%s", dir, image);
    got = slurp(path, "cat", &m);
    tap_check(n == HEADER && m > HEADER && memcmp(want, got, HEADER) == 0,
              "header of %s is byte for byte the stored one", image);
    free(want);
    free(got);
}

static void check_picture(const cJSON *c, const char *dir)
{
    const char *want = text_of(c, "sha256", "pgm");
    char path[PATH];
    char *sum;
    size_t n;

    if (!want) return;
    (void)snprintf(path, sizeof path, "%s/image.pgm", dir);
    sum = slurp(path, "sha256sum", &n);
    tap_check(n > 64 && strncmp(sum, want, 64) == 0, "SHA-256 of image.pgm is %s", want);
    free(sum);
}

/* next word of a text, and whether a line ended before it */
static const char *next_word(const char **at, size_t *length, int *line)
{
    const char *word;

    *line = 0;
    while (**at == ' ' || **at == '\n' || **at == '\t' || **at == '\r')
        *line += *(*at)++ == '\n';
    word = *at;
    while (**at && **at != ' ' && **at != '\n' && **at != '\t' && **at != '\r') (*at)++;
    *length = (size_t)(*at - word);
    return *length ? word : NULL;
}

/* two words agree: to the letter, or as numbers to 5 digits */
static int agree(const char *a, size_t na, const char *b, size_t nb)
{
    char x[64], y[64], *end_x, *end_y;
    double u, v;

    if (na == nb && memcmp(a, b, na) == 0) return 1;
    if (na >= sizeof x || nb >= sizeof y) return 0;
    memcpy(x, a, na);
    memcpy(y, b, nb);
    x[na] = y[nb] = 0;
    u = strtod(x, &end_x);
    v = strtod(y, &end_y);
    return end_x != x && end_y != y && strcmp(end_x, end_y) == 0
           && fabs(u - v) <= 1.1e-5 * fabs(v) + 1e-15;
}

/* drop progress lines and those about the noise image's run, which the stored text may
 * lack; the rest must agree word by word */
static void check_text(const cJSON *c, const char *dir)
{
    char path[PATH];
    size_t n, m, na, nb;
    char *want, *got;
    const char *a, *b, *wa, *wb;
    int line, same = 1, words = 0;

    (void)snprintf(path, sizeof path, GOLDEN "%s", text_of(c, "outputs", "log"));
    want = slurp(path, "cat", &n);
    (void)snprintf(path, sizeof path, "%s/stdout.txt", dir);
    /* the two stored texts that are statistics alone lack the lines between them */
    got = slurp(path,
                memmem(want, n, "nanoBragg", 9) ? "grep -v 'done$'"
                                                : "grep -v -e 'done$' -e '^writing'",
                &m);
    want = realloc(want, n + 1);
    got = realloc(got, m + 1);
    if (!want || !got) abort();
    want[n] = got[m] = 0;
    a = want;
    b = got;
    if (strstr(want, "nanoBragg") == NULL) { /* statistics lines only */
        b = strstr(got, "solid angle");
        tap_check(b != NULL, "the statistics are printed");
        if (!b) goto done;
    }
    while (same) {
        wa = next_word(&a, &na, &line);
        wb = next_word(&b, &nb, &line);
        if (!wa || !wb) break;
        words++;
        same = agree(wa, na, wb, nb);
        /* phi0 of the command line that the reference was given instead */
        if (!same && na == 5 && memcmp(wa, "1e-40", 5) == 0) same = nb == 1 && *wb == '0';
        if (!same)
            tap_note("stored '%.*s', printed '%.*s' after %d words", (int)na + 40, wa,
                     (int)nb + 40, wb, words);
    }
    if (same && strstr(want, "nanoBragg") && (wa || wb))
        same = tap_check(0, "one text ends early: '%.40s' against '%.40s'", wa ? wa : "",
                         wb ? wb : "");
    tap_check(same && words > 10, "%d words of the report agree", words);
done:
    free(want);
    free(got);
}

/* the stored case under a profile; `whole`: header and text too */
static void compare(const char *name, const char *compat, int whole)
{
    char dir[] = "/tmp/nanobrag-test-XXXXXX", path[PATH], golden[PATH];
    const cJSON *c = find_case(name);
    const char *noise;

    if (!tap_check(c != NULL, "case %s is in the index", name) || !mkdtemp(dir)) return;
    if (tap_check(run_case(c, dir, compat) == 0, "the program ends with status 0")) {
        check_floats(c, dir);
        (void)snprintf(golden, sizeof golden, GOLDEN "%s",
                       text_of(c, "outputs", "int_pixels"));
        (void)snprintf(path, sizeof path, "%s/i.img", dir);
        check_counts(path, golden, (int)number_of(c, "tol", "int_max_abs_diff"),
                     (int)number_of(c, "tol", "int_max_diff_pixels"));
        noise = text_of(c, "outputs", "noise_pixels");
        if (whole && noise) {
            (void)snprintf(golden, sizeof golden, GOLDEN "%s", noise);
            (void)snprintf(path, sizeof path, "%s/noiseimage.img", dir);
            check_counts(path, golden, 0, 0);
            check_header(c, "noiseimage.img", dir);
        }
        if (whole) {
            check_header(c, "i.img", dir);
            check_picture(c, dir);
            check_text(c, dir);
        }
    }
    (void)snprintf(path, sizeof path, "rm -rf '%s'", dir);
    if (system(path) != 0) tap_note("could not remove %s", dir);
}

#define COMPAT(name)                                                                       \
    static int compat_##name(void)                                                         \
    {                                                                                      \
        compare(#name, "-compat nanobragg", 1);                                            \
        return TAP_PASS;                                                                   \
    }
#define SAME(name)                                                                         \
    static int same_##name(void)                                                           \
    {                                                                                      \
        compare(#name, "", 0);                                                             \
        return TAP_PASS;                                                                   \
    }
#include "data/golden_cases.def"
#undef COMPAT
#undef SAME

static const struct tap_case cases[] = {
#define COMPAT(name) {"compat." #name, compat_##name},
#define SAME(name)   {"same." #name, same_##name},
#include "data/golden_cases.def"
#undef COMPAT
#undef SAME
};

int main(int argc, char **argv)
{
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
