/*
 * test_text.c - numbers in texts: the readers accept and give what strtod() does, whatever
 * the locale.
 *
 * SPDX-License-Identifier: MIT
 */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_io/text.h"
#include "support/files.h"
#include "support/tap.h"

static int numbers_like_strtod(void)
{
    static const char *const formats[] = {"%g", "%.17g", "%.3f", "%e", "%.40e", "%+.9E"};
    unsigned long long state = 1;
    long wrong = 0;

    for (int i = 0; i < 60000; i++) {
        char s[512];
        struct span span = {s, 0};
        double value = -1;

        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        (void)snprintf(s, sizeof s, formats[i % 6],
                       ldexp((double)(state >> 11), (int)(state >> 3 & 127) - 116));
        span.n = strlen(s);
        wrong += !text_number(span, &value) || value != strtod(s, NULL);
    }
    tap_check(wrong == 0, "%ld of 60000 numbers differ from strtod, allowed 0", wrong);
    return 0;
}

static int numbers_spelling(void)
{
    static const char *const good[] = {"0", "-0", "+1", "1.", ".5", "1e3", "1E-3", "00012"};
    static const char *const bad[] = {"",    ".",     "-",     "e5",     "1e",
                                      "1e+", "0x10",  "nan",   "-inf",   "1..2",
                                      "1,5", "1e999", "--1",   "1-2",    "1 ",
                                      "1d2", "1.5f",  "1e5.0", "1e99999"};
    double value;

    for (size_t i = 0; i < COUNT(good); i++)
        tap_check(text_number((struct span){good[i], strlen(good[i])}, &value)
                      && value == strtod(good[i], NULL),
                  "'%s' is read as %g", good[i], value);
    for (size_t i = 0; i < COUNT(bad); i++)
        tap_check(!text_number((struct span){bad[i], strlen(bad[i])}, &value),
                  "'%s' is no number", bad[i]);
    tap_check(text_number_prefix((struct span){"12.5e;", 6}, &value) == 4 && value == 12.5,
              "the number in front of 'e;' is 12.5");
    return 0;
}

static int numbers_in_other_locales(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                        "de_DE"};
    static const char digits[] = "3.14159265358979323846264338327950288";
    char written[TEXT_REAL];
    const char *set = NULL;
    double value = 0;

    for (size_t i = 0; i < COUNT(names) && !set; i++) set = setlocale(LC_NUMERIC, names[i]);
    if (!set) return tap_skip("no locale with a decimal comma is installed");
    (void)text_number((struct span){digits, sizeof digits - 1}, &value);
    tap_check(text_real(written, 17, -1.5e-7)
                  && !strcmp(written, "-1.4999999999999999e-07"),
              "written as %s", written);
    (void)setlocale(LC_NUMERIC, "C");
    tap_close("pi under a decimal comma", value, strtod(digits, NULL), 0);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"numbers_like_strtod", numbers_like_strtod},
        {"numbers_spelling", numbers_spelling},
        {"numbers_in_other_locales", numbers_in_other_locales},
    };

    return tap_main(argc, argv, cases, COUNT(cases));
}
