/*
 * smv_type.c - finds the type of the pixels of an SMV image from its header: by TYPE, which
 * most programs write, or Data_type, which d*TREK writes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "nanobrag_io/smv/smv.h"

enum { WORD = 16 };

/* What each word of a value says. If only bits are stated, the type is an integer. */
static const struct word {
    const char *word;
    int type, bits; /* type: NB_TYPE_... + 1; each 0: the word does not say */
} words[] = {
    {"unsigned", NB_TYPE_UINT + 1, 0},
    {"signed", NB_TYPE_INT + 1, 0},
    {"char", 0, 8},
    {"byte", 0, 8},
    {"short", 0, 16},
    {"long", 0, 32},
    {"int", 0, 0},
    {"integer", 0, 0},
    {"ieee", 0, 0},
    {"float", NB_TYPE_FLOAT + 1, 32},
    {"real", NB_TYPE_FLOAT + 1, 32},
    {"double", NB_TYPE_FLOAT + 1, 64},
    {"int8", NB_TYPE_INT + 1, 8},
    {"int16", NB_TYPE_INT + 1, 16},
    {"int32", NB_TYPE_INT + 1, 32},
    {"uint8", NB_TYPE_UINT + 1, 8},
    {"uint16", NB_TYPE_UINT + 1, 16},
    {"uint32", NB_TYPE_UINT + 1, 32},
    {"float32", NB_TYPE_FLOAT + 1, 32},
    {"float64", NB_TYPE_FLOAT + 1, 64},
};

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Takes the next word off a value, in small letters. Returns 0 at the end of the value. */
static int next_word(struct span *value, char out[WORD])
{
    size_t n = 0;

    while (value->n > 0 && !is_letter(*value->at)) value->at++, value->n--;
    for (; value->n > 0 && is_letter(*value->at); value->at++, value->n--)
        if (n + 1 < WORD) out[n++] = (char)(*value->at | 0x20);
    out[n] = '\0';
    return n > 0;
}

/* Reads all words of a value. Returns 0 if one of them is not known. */
static int read_words(struct span value, int *type, int *bits)
{
    char word[WORD];

    *type = *bits = 0;
    while (next_word(&value, word)) {
        size_t i = 0;

        while (i < sizeof words / sizeof *words && strcmp(words[i].word, word) != 0) i++;
        if (i == sizeof words / sizeof *words) return 0;
        if (words[i].type) *type = words[i].type;
        if (words[i].bits) *bits = words[i].bits;
    }
    if (!*type) *type = NB_TYPE_INT + 1;
    if (!*bits) *bits = 32;
    (*type)--;
    return 1;
}

/* Returns 1 for TYPE=mad beside a Data_type. d*TREK writes it as the kind of the file. */
static int is_kind_of_file(struct span header, struct span type)
{
    return type.n == 3 && memcmp(type.at, "mad", 3) == 0
           && smv_value(header, "Data_type").n > 0;
}

/* Refuses compressed pixels. */
static nb_status check_compression(nb_context *ctx, const char *name, struct span header)
{
    struct span value = smv_value(header, "COMPRESSION");
    char word[WORD];

    if (!next_word(&value, word) || strcmp(word, "none") == 0 || strcmp(word, "0") == 0)
        return NB_OK;
    return fail(ctx, NB_ERR_UNSUPPORTED,
                "%s: the pixels are compressed (COMPRESSION=%s); write the image without "
                "compression",
                name, word);
}

nb_status smv_read_type(nb_context *ctx, const char *name, nb_smv *smv)
{
    static const char *const keys[] = {"TYPE", "Data_type"};
    int found = 0;

    smv->type = NB_TYPE_UINT;
    smv->bits = 16;
    NB_TRY(check_compression(ctx, name, smv->header));
    for (int i = 0; i < 2; i++) {
        const struct span value = smv_value(smv->header, keys[i]);
        int type, bits;

        if (value.n == 0 || is_kind_of_file(smv->header, value)) continue;
        if (!read_words(value, &type, &bits))
            return fail(ctx, NB_ERR_UNSUPPORTED,
                        "%s: %s=%s in the header is not a known type of pixels, such as "
                        "unsigned_short, long int or float",
                        name, keys[i], text_show(value).s);
        if (found && (type != smv->type || bits != smv->bits))
            return fail(ctx, NB_ERR_FORMAT,
                        "%s: TYPE and Data_type in the header contradict each other; "
                        "correct one of them",
                        name);
        smv->type = type;
        smv->bits = bits;
        found = 1;
    }
    smv->ratio = 0;
    (void)smv_numbers(smv->header, "RAXIS_COMPRESSION_RATIO", 1, &smv->ratio);
    if (!(smv->ratio > 1 && smv->bits == 16 && smv->type != NB_TYPE_FLOAT)) smv->ratio = 0;
    return NB_OK;
}
