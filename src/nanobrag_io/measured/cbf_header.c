/*
 * cbf_header.c - the numbers of the text of a CBF: lines "# Key value" of miniCBF, and
 * items of imgCIF where these are silent.
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "nanobrag_io/measured/measured.h"

/* ---- miniCBF ---- */

/* Reads up to `most` numbers of the line "# KEY numbers". Returns how many there are. */
static int mini_numbers(struct span text, const char *key, int most, double *out)
{
    const size_t length = strlen(key);
    const char *at = text.at;
    const char *const end = at + text.n;
    int n = 0;

    for (; at && at < end;
         at = memchr(at, '\n', (size_t)(end - at)), at = at ? at + 1 : at) {
        struct span line = {at, (size_t)(end - at)};

        if (line.n < length + 3 || memcmp(at, "# ", 2) != 0
            || memcmp(at + 2, key, length) != 0 || !strchr(" \t:=", at[2 + length]))
            continue;
        line.at += 2 + length;
        line.n -= 2 + length;
        while (n < most) {
            size_t used;

            /* "172e-6 m x 172e-6 m", "(730.00, 865.00) pixels" */
            while (line.n > 0 && strchr(" \t:=(,mx", *line.at)) line.at++, line.n--;
            used = text_number_prefix(line, out + n);
            if (used == 0 || !isfinite(out[n])) break;
            n++;
            line.at += used;
            line.n -= used;
        }
        return n;
    }
    return 0;
}

/* ---- CIF ---- */

/* Takes the next word, a quoted text being one. Returns 0 at the end. */
static int next_word(struct span text, size_t *at, struct span *word)
{
    const char *const t = text.at;
    size_t i = *at, begin;

    while (i < text.n && (isspace((unsigned char)t[i]) || t[i] == '#'))
        if (t[i++] == '#')
            while (i < text.n && t[i] != '\n') i++;
    if (i >= text.n) return 0;
    begin = i;
    if (t[i] == ';' && (i == 0 || t[i - 1] == '\n')) {
        for (i++; i < text.n && !(t[i] == ';' && t[i - 1] == '\n'); i++) continue;
        *word = (struct span){t + begin, i - begin};
        *at = i + (i < text.n);
        return 1;
    }
    if (t[i] == '\'' || t[i] == '"') {
        for (i++; i < text.n && t[i] != '\n'; i++)
            if (t[i] == t[begin] && (i + 1 == text.n || isspace((unsigned char)t[i + 1])))
                break;
        *word = (struct span){t + begin + 1, i - begin - 1};
        *at = i + (i < text.n);
        return 1;
    }
    while (i < text.n && !isspace((unsigned char)t[i])) i++;
    *word = (struct span){t + begin, i - begin};
    *at = i;
    return 1;
}

static int is_word(struct span word, const char *text)
{
    return word.n == strlen(text) && memcmp(word.at, text, word.n) == 0;
}

/* Reads a value of an item: its own, or one in a row of its loop. Returns 0 if there is no
 * such number. */
static int cif_number(struct span text, const char *tag, size_t row, double *out)
{
    size_t at = 0, n = 0, column = 0, value = 0;
    int in_tags = 0, in_loop = 0, found = 0;
    struct span word;

    while (next_word(text, &at, &word)) {
        const int is_tag = word.n > 0 && *word.at == '_';

        if (is_word(word, "loop_")) {
            in_tags = in_loop = 1;
            n = value = 0;
        } else if (is_tag && in_tags) {
            if (is_word(word, tag)) {
                found = 1;
                column = n;
            }
            n++;
        } else if (is_tag) {
            if (found) return 0;
            in_loop = 0;
            found = is_word(word, tag);
            column = value = 0;
            n = 1;
        } else {
            in_tags = 0;
            if (found && value++ == column + (in_loop ? row * n : 0))
                return text_number_prefix(word, out) > 0 && isfinite(*out);
            if (found && !in_loop) return 0;
        }
    }
    return 0;
}

/* ---- both ---- */

nb_status cbf_header(nb_context *ctx, const char *name, struct span text,
                     nb_measured *image)
{
    static const struct {
        const char *mini, *cif;
        double factor; /* of miniCBF */
        size_t member;
        int is_positive; /* 0 and less mean that it is not known */
    } items[] = {
        {"Wavelength", "_diffrn_radiation_wavelength.wavelength", 1,
         offsetof(nb_measured, wavelength), 1},
        {"Detector_distance", NULL, 1000, offsetof(nb_measured, distance), 1},
        {"Start_angle", NULL, 1, offsetof(nb_measured, osc_start), 0},
        {"Angle_increment", NULL, 1, offsetof(nb_measured, osc_range), 0},
        {"Exposure_time", "_diffrn_scan_frame.integration_time", 1,
         offsetof(nb_measured, exposure), 1},
        {"Count_cutoff", "_array_intensities.overload", 1, offsetof(nb_measured, overload),
         1},
        {NULL, "_array_intensities.gain", 1, offsetof(nb_measured, gain), 1},
    };
    static const char increment[] = "_array_structure_list_axis.displacement_increment";
    double v[2] = {0};
    int n;

    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        int found = items[i].mini && mini_numbers(text, items[i].mini, 1, v) == 1;

        v[0] *= found ? items[i].factor : 1;
        if (!found && items[i].cif) found = cif_number(text, items[i].cif, 0, v);
        if (!found || (v[0] <= 0 && items[i].is_positive)) continue;
        memcpy((char *)image + items[i].member, v, sizeof *v);
        image->has_gain |= items[i].member == offsetof(nb_measured, gain);
    }
    n = mini_numbers(text, "Pixel_size", 2, v);
    if (n > 0) {
        image->pixel_fast = 1000 * v[0];
        image->pixel_slow = 1000 * v[n - 1];
    } else if (cif_number(text, increment, 0, v) && cif_number(text, increment, 1, v + 1)) {
        image->pixel_fast = fabs(v[0]);
        image->pixel_slow = fabs(v[1]);
    }
    if (mini_numbers(text, "Beam_xy", 2, v) == 2) {
        image->beam_x = v[0] * image->pixel_fast;
        image->beam_y = v[1] * image->pixel_slow;
    }
    if (mini_numbers(text, "Count_cutoff", 1, v) == 1)
        return measured_mask(ctx, name, image, 0, 0); /* counted: gaps and bad pixels */
    if (cif_number(text, "_array_intensities.undefined_value", 0, v))
        return measured_mask(ctx, name, image, v[0], 1);
    return NB_OK;
}
