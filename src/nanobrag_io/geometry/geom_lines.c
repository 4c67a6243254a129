/*
 * geom_lines.c - reads the lines of a geometry file of CrystFEL: `key = value` for all
 * panels, `panel/key = value` or `bad.../key = value`. A semicolon begins a comment.
 * SPDX-License-Identifier: MIT
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "nanobrag_io/geometry/geom.h"

/* Bad regions are searched linearly, so their number is limited. */
enum { TABLE = 2 * PANELS_MOST, STRANGE_MOST = 20, BAD_MOST = 4096 };

/* a line; `owner` is the text before a slash */
struct entry {
    struct span owner, key, value;
};

/* ---- words ---- */

static struct span trimmed(struct span s)
{
    static const char white[] = " \t\r\n\f\v";

    while (s.n > 0 && strchr(white, *s.at)) s.at++, s.n--;
    while (s.n > 0 && strchr(white, s.at[s.n - 1])) s.n--;
    return s;
}

/* Removes the text up to the first `c` from *rest and returns 1. Returns 0 if there is no
 * `c`. */
static int split(struct span *rest, char c, struct span *before)
{
    const char *at = rest->n > 0 ? memchr(rest->at, c, rest->n) : NULL;

    if (!at) return 0;
    *before = trimmed((struct span){rest->at, (size_t)(at - rest->at)});
    rest->n -= (size_t)(at - rest->at) + 1;
    rest->at = at + 1;
    *rest = trimmed(*rest);
    return 1;
}

int geom_same(struct span a, struct span b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

static int is_word(struct span s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.at, word, s.n) == 0;
}

static int begins(struct span s, const char *word)
{
    return s.n >= strlen(word) && memcmp(s.at, word, strlen(word)) == 0;
}

static nb_status wrong(const struct geom *g, const struct entry *e, const char *expected)
{
    return fail(g->ctx, NB_ERR_FORMAT, "%s, line %ld: %s is '%s', expected %s",
                g->text.name, g->text.line, text_show(e->key).s, text_show(e->value).s,
                expected);
}

/* ---- memory ---- */

/* Lengthens a list of n elements if there is no room for one more. */
static nb_status more(const struct geom *g, int n, int *room, void *list, size_t size)
{
    void **to = list, *larger;

    if (n < *room) return NB_OK;
    if (*room > INT_MAX / 4) return fail_memory(g->ctx, g->text.name);
    larger = realloc(*to, (size_t)(2 * *room + 16) * size);
    if (!larger) return fail_memory(g->ctx, g->text.name);
    *to = larger;
    *room = 2 * *room + 16;
    return NB_OK;
}

/* Returns the place of a panel in the hash table, or the empty place for its name. */
static int *slot(const struct geom *g, struct span name)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < name.n; i++)
        hash = (hash ^ (unsigned char)name.at[i]) * 16777619u;
    for (uint32_t i = hash % TABLE;; i = (i + 1) % TABLE)
        if (g->table[i] < 0 || geom_same(g->panel[g->table[i]].name, name))
            return g->table + i;
}

int geom_find(struct geom *g, struct span name)
{
    if (g->last < g->npanel && geom_same(g->panel[g->last].name, name)) return g->last;
    return g->npanel > 0 ? *slot(g, name) : -1;
}

static nb_status check_name(const struct geom *g, struct span name, const char *what)
{
    if (name.n > 0 && name.n < GEOM_NAME) return NB_OK;
    return fail(g->ctx, NB_ERR_FORMAT,
                "%s, line %ld: the name of the %s '%s' has %zu characters, expected 1 to "
                "%d",
                g->text.name, g->text.line, what, text_show(name).s, name.n, GEOM_NAME - 1);
}

/* Finds a panel. A new panel starts with the values that the file has stated for all panels
 * so far. */
static nb_status find_panel(struct geom *g, struct span name, struct geom_panel **out)
{
    int i = geom_find(g, name);

    if (i < 0) {
        NB_TRY(check_name(g, name, "panel"));
        if (g->npanel == PANELS_MOST)
            return fail(g->ctx, NB_ERR_FORMAT,
                        "%s, line %ld: panel %s is one more than the allowed %d panels",
                        g->text.name, g->text.line, text_show(name).s, (int)PANELS_MOST);
        NB_TRY(more(g, g->npanel, &g->panel_room, &g->panel, sizeof *g->panel));
        i = *slot(g, name) = g->npanel++;
        g->panel[i] = g->defaults;
        g->panel[i].name = name;
        g->panel[i].line = g->text.line;
    }
    g->last = i;
    *out = g->panel + i;
    return NB_OK;
}

/* ---- values ---- */

static nb_status read_real(const struct geom *g, const struct entry *e, double *out)
{
    return text_number(e->value, out) ? NB_OK : wrong(g, e, "a finite number");
}

/* Reads a whole number from 0 to `most`. */
static nb_status read_count(const struct geom *g, const struct entry *e, int most, int *out)
{
    double value;

    if (!text_number(e->value, &value) || !(value >= 0 && value <= most)
        || value != floor(value))
        return wrong(g, e, "a whole number, 0 or more");
    *out = (int)value;
    return NB_OK;
}

/* a unit, and the factor from it to the unit of the result */
struct unit {
    const char *name;
    double factor;
};

/* Reads a number with one of the units of a list; if the first unit is "", the number may
 * stand alone. A path in a data file may take the place of the number: it goes to *from,
 * and *out is NAN. */
static nb_status read_quantity(const struct geom *g, const struct entry *e,
                               const struct unit *unit, const char *expected, double *out,
                               struct span *from)
{
    double value;
    const size_t n = text_number_prefix(e->value, &value);
    const struct span rest = trimmed((struct span){e->value.at + n, e->value.n - n});

    *from = (struct span){0};
    if (n == 0 && e->value.n > 0 && memchr(e->value.at, '/', e->value.n)) {
        *from = e->value;
        for (size_t i = 0; i < from->n; i++)
            if (strchr(" \t", from->at[i])) from->n = i;
        *out = NAN;
        return NB_OK;
    }
    if (n == 0 || !isfinite(value)) return wrong(g, e, expected);
    for (; unit->name; unit++)
        if (is_word(rest, unit->name)) {
            *out = value * unit->factor;
            return NB_OK;
        }
    return wrong(g, e, expected);
}

/* Reads a sum of axes, such as +0.999x -0.005y. */
static nb_status read_vector(const struct geom *g, const struct entry *e, double out[3])
{
    static const char expected[] = "a sum such as +0.999x -0.005y, each axis once";
    struct span rest = e->value;
    unsigned seen = 0;

    out[0] = out[1] = out[2] = 0;
    if (rest.n == 0) return wrong(g, e, expected);
    while (rest.n > 0) {
        double value = 1, sign = 1;
        size_t n;

        if (*rest.at == '+' || *rest.at == '-') {
            sign = *rest.at == '-' ? -1 : 1;
            rest = trimmed((struct span){rest.at + 1, rest.n - 1});
        }
        n = rest.n > 0 && *rest.at != '+' && *rest.at != '-'
                ? text_number_prefix(rest, &value)
                : 0;
        rest = trimmed((struct span){rest.at + n, rest.n - n});
        if (rest.n == 0 || *rest.at < 'x' || *rest.at > 'z' || !isfinite(value)
            || (seen & 1u << (*rest.at - 'x')))
            return wrong(g, e, expected);
        seen |= 1u << (*rest.at - 'x');
        out[*rest.at - 'x'] = sign * value;
        rest = trimmed((struct span){rest.at + 1, rest.n - 1});
    }
    return NB_OK;
}

/* ---- values of panels ---- */

static nb_status read_axis(const struct geom *g, const struct entry *e,
                           struct geom_panel *p)
{
    const int i = *e->key.at == 's';

    p->axis_line[i] = g->text.line;
    return read_vector(g, e, p->axis[i]);
}

static nb_status read_corner(const struct geom *g, const struct entry *e,
                             struct geom_panel *p)
{
    return read_real(g, e, &p->corner[is_word(e->key, "corner_y")]);
}

static nb_status read_coffset(const struct geom *g, const struct entry *e,
                              struct geom_panel *p)
{
    return read_real(g, e, &p->coffset);
}

static nb_status read_clen(const struct geom *g, const struct entry *e,
                           struct geom_panel *p)
{
    static const struct unit units[] = {{"", 1}, {"m", 1}, {"mm", 1e-3}, {NULL, 0}};

    return read_quantity(g, e, units,
                         "a length in m, one with the unit m or mm, or a place in a data "
                         "file",
                         &p->clen, &p->clen_from);
}

static nb_status read_pixel(const struct geom *g, const struct entry *e,
                            struct geom_panel *p)
{
    double value;

    NB_TRY(read_real(g, e, &value));
    if (is_word(e->key, "pixel_pitch")) value = 1 / value;
    if (!(value >= 1e-3 && value <= 1e9)) return wrong(g, e, "pixels of 1 nm to 1000 m");
    p->res = value;
    return NB_OK;
}

static nb_status read_range(const struct geom *g, const struct entry *e,
                            struct geom_panel *p)
{
    const int i =
        (*(e->key.at + 4) == 's' ? 2 : 0) + is_word((struct span){e->key.at, 3}, "max");

    return read_count(g, e, 1000000, p->range + i);
}

static nb_status read_dim(const struct geom *g, const struct entry *e, int dims[GEOM_DIMS])
{
    const char digit = e->key.n == 4 ? e->key.at[3] : '\0';
    int *dim;

    if (digit < '0' || digit > '9') return wrong(g, e, "a key dim0 to dim9");
    dim = dims + (digit - '0');
    *dim = is_word(e->value, "%")    ? GEOM_FRAME
           : is_word(e->value, "ss") ? GEOM_SS
           : is_word(e->value, "fs") ? GEOM_FS
                                     : GEOM_NONE;
    if (*dim != GEOM_NONE) return NB_OK;
    return read_count(g, e, 1000000, dim);
}

static nb_status read_data(const struct geom *g, const struct entry *e,
                           struct geom_panel *p)
{
    (void)g;
    p->data = e->value;
    return NB_OK;
}

static nb_status read_bad_panel(const struct geom *g, const struct entry *e,
                                struct geom_panel *p)
{
    double value = 0;

    if (is_word(e->value, "true"))
        value = 1;
    else if (!is_word(e->value, "false") && !text_number(e->value, &value))
        return wrong(g, e, "true, false or a number");
    p->is_bad = value != 0;
    return NB_OK;
}

static nb_status read_edge(const struct geom *g, const struct entry *e,
                           struct geom_panel *p)
{
    return read_count(g, e, 1000000, &p->edge);
}

static const struct {
    const char *key;
    nb_status (*read)(const struct geom *, const struct entry *, struct geom_panel *);
} of_panel[] = {
    {"fs", read_axis},
    {"ss", read_axis},
    {"corner_x", read_corner},
    {"corner_y", read_corner},
    {"coffset", read_coffset},
    {"clen", read_clen},
    {"res", read_pixel},
    {"pixel_pitch", read_pixel},
    {"min_fs", read_range},
    {"max_fs", read_range},
    {"min_ss", read_range},
    {"max_ss", read_range},
    {"data", read_data},
    {"no_index", read_bad_panel},
    {"mask_edge_pixels", read_edge},
};

/* Returns 1 for keys that CrystFEL understands but that do not affect an image here. */
static int is_left_out(struct span key)
{
    static const char *const words[] = {
        "adu_per_eV",     "adu_per_photon",     "max_adu",        "badrow_direction",
        "rail_direction", "clen_for_centering", "saturation_map", "saturation_map_file",
        "mask",           "mask_file",          "mask_good",      "mask_bad",
        "flag_lessthan",  "flag_morethan",      "flag_equal",     "peak_list",
        "peak_list_type", "peak_info_location", "bandwidth",      "photon_energy_scale",
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(key, words[i])) return 1;
    /* keys such as mask0_data */
    return begins(key, "mask") && key.n > 6 && key.at[4] >= '0' && key.at[4] <= '7'
           && key.at[5] == '_';
}

/* Warns that a line is not understood. */
static void strange(struct geom *g, struct span what)
{
    if (g->strange++ < STRANGE_MOST)
        log_line(g->ctx, NB_LOG_WARNING, "geom",
                 "%s, line %ld: '%s' is not understood and is left out", g->text.name,
                 g->text.line, text_show(what).s);
}

/* Appends a line that lists names to the lists of the file. */
static nb_status add_list(struct geom *g, enum geom_list_kind kind, struct span name,
                          struct span members)
{
    NB_TRY(check_name(g, name, "group"));
    NB_TRY(more(g, g->nlist, &g->list_room, &g->list, sizeof *g->list));
    g->list[g->nlist++] = (struct geom_list){kind, name, members, g->text.line};
    return NB_OK;
}

static nb_status read_of_panel(struct geom *g, const struct entry *e, struct geom_panel *p)
{
    for (size_t i = 0; i < sizeof of_panel / sizeof *of_panel; i++)
        if (is_word(e->key, of_panel[i].key)) return of_panel[i].read(g, e, p);
    if (begins(e->key, "dim")) return read_dim(g, e, p->dim);
    if (is_word(e->key, "rigid_group") && e->owner.n > 0)
        return add_list(g, GEOM_RIGID, e->value, e->owner);
    if (!is_left_out(e->key)) strange(g, e->key);
    return NB_OK;
}

/* ---- bad regions ---- */

static nb_status find_bad(struct geom *g, struct span name, struct geom_bad **out)
{
    for (int i = g->nbad; i > 0; i--) /* most often the region of the line before */
        if (geom_same(g->bad[i - 1].name, name)) {
            *out = g->bad + i - 1;
            return NB_OK;
        }
    if (g->nbad == BAD_MOST)
        return fail(g->ctx, NB_ERR_FORMAT,
                    "%s, line %ld: bad region %s is one more than %d; state larger ones",
                    g->text.name, g->text.line, text_show(name).s, BAD_MOST);
    NB_TRY(more(g, g->nbad, &g->bad_room, &g->bad, sizeof *g->bad));
    *out = g->bad + g->nbad++;
    **out = (struct geom_bad){.name = name,
                              .line = g->text.line,
                              .range = {NAN, NAN, NAN, NAN}};
    for (int i = 0; i < GEOM_DIMS; i++) (*out)->dim[i] = GEOM_NONE;
    return NB_OK;
}

static nb_status read_bad(struct geom *g, const struct entry *e)
{
    static const char *const keys[2][GEOM_RANGES] = {{"min_x", "max_x", "min_y", "max_y"},
                                                     {"min_fs", "max_fs", "min_ss",
                                                      "max_ss"}};
    struct geom_bad *bad = NULL;

    NB_TRY(find_bad(g, e->owner, &bad));
    if (is_word(e->key, "panel")) {
        bad->panel = e->value;
        return NB_OK;
    }
    if (begins(e->key, "dim")) return read_dim(g, e, bad->dim);
    for (int i = 0; i < 2 * GEOM_RANGES; i++) {
        const int in_data = i / GEOM_RANGES;

        if (!is_word(e->key, keys[in_data][i % GEOM_RANGES])) continue;
        *(in_data ? &bad->in_data : &bad->in_lab) = 1;
        if (bad->in_lab && bad->in_data)
            return fail(g->ctx, NB_ERR_FORMAT,
                        "%s, line %ld: the bad region %s has limits of x, y and of fs, ss; "
                        "split the region into two",
                        g->text.name, g->text.line, text_show(bad->name).s);
        return read_real(g, e, bad->range + i % GEOM_RANGES);
    }
    strange(g, e->key);
    return NB_OK;
}

/* ---- keys for all panels, and the file ---- */

static nb_status read_wavelength(struct geom *g, const struct entry *e)
{
    static const struct unit energies[] = {{"", 1},
                                           {"eV", 1},
                                           {"keV", 1e3},
                                           {"MeV", 1e6},
                                           {NULL, 0}};
    static const struct unit lengths[] = {{"m", 1e10}, {"A", 1}, {NULL, 0}};
    const int is_energy = is_word(e->key, "photon_energy");
    const char *const expected =
        is_energy
            ? "a photon energy in eV, one with the unit eV, keV or MeV, or a place in "
              "a data file"
            : "a wavelength with the unit m or A, or a place in a data file";
    double value = 0;

    NB_TRY(read_quantity(g, e, is_energy ? energies : lengths, expected, &value,
                         &g->wavelength_from));
    g->wavelength = 0;
    if (g->wavelength_from.n > 0) return NB_OK;
    if (is_energy) value = GEOM_EV_ANGSTROM / value;
    if (!(value > 0 && value < 1e6)) return wrong(g, e, expected);
    g->wavelength = value;
    return NB_OK;
}

static nb_status read_shift(struct geom *g, const struct entry *e)
{
    static const struct unit units[] = {{"", 1}, {"m", 1}, {"mm", 1e-3}, {NULL, 0}};
    double *const to = &g->shift[is_word(e->key, "detector_shift_y")];
    struct span from;

    NB_TRY(read_quantity(g, e, units, "a length in m, or one with the unit m or mm", to,
                         &from));
    if (from.n == 0) return NB_OK;
    return fail(g->ctx, NB_ERR_UNSUPPORTED,
                "%s, line %ld: %s is in a data file (%s), which is not read; write a "
                "number, or leave the line out",
                g->text.name, g->text.line, text_show(e->key).s, text_show(from).s);
}

static nb_status read_whole(struct geom *g, const struct entry *e)
{
    static const struct {
        const char *prefix;
        enum geom_list_kind kind;
    } lists[] = {{"rigid_group_collection_", GEOM_COLLECTION},
                 {"rigid_group_", GEOM_RIGID},
                 {"group_", GEOM_GROUP}};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (begins(e->key, lists[i].prefix)) {
            const size_t n = strlen(lists[i].prefix);

            return add_list(g, lists[i].kind, (struct span){e->key.at + n, e->key.n - n},
                            e->value);
        }
    if (is_word(e->key, "photon_energy") || is_word(e->key, "wavelength"))
        return read_wavelength(g, e);
    if (is_word(e->key, "detector_shift_x") || is_word(e->key, "detector_shift_y"))
        return read_shift(g, e);
    if (is_word(e->key, "electron_voltage"))
        return fail(g->ctx, NB_ERR_UNSUPPORTED,
                    "%s, line %ld: electron_voltage is for electrons; only X-rays are "
                    "supported",
                    g->text.name, g->text.line);
    return read_of_panel(g, e, &g->defaults);
}

static nb_status read_line(struct geom *g, struct span line)
{
    struct entry e = {.value = line};
    struct geom_panel *panel = NULL;

    if (!split(&e.value, '=', &e.key) || e.key.n == 0) {
        strange(g, trimmed(line));
        return NB_OK;
    }
    if (!split(&e.key, '/', &e.owner)) return read_whole(g, &e);
    if (begins(e.owner, "bad")) return read_bad(g, &e);
    if (begins(e.owner, "rigid_group") || begins(e.owner, "group")) {
        strange(g, e.owner);
        return NB_OK;
    }
    NB_TRY(find_panel(g, e.owner, &panel));
    return read_of_panel(g, &e, panel);
}

nb_status geom_read_lines(nb_context *ctx, const char *name, const void *bytes, size_t n,
                          struct geom *g)
{
    struct geom_panel *d = &g->defaults;
    struct span line;

    *g = (struct geom){.ctx = ctx};
    *d = (struct geom_panel){.axis = {{NAN}, {NAN}},
                             .corner = {NAN, NAN},
                             .clen = NAN,
                             .res = NAN,
                             .range = {-1, -1, -1, -1}};
    for (int i = 0; i < GEOM_DIMS; i++) d->dim[i] = GEOM_NONE;
    NB_TRY(text_open(ctx, name, bytes, n, "the panels of a detector", &g->text));
    g->table = malloc(TABLE * sizeof *g->table);
    if (!g->table) return fail_memory(ctx, name);
    for (int i = 0; i < TABLE; i++) g->table[i] = -1;
    while (text_line(&g->text, &line)) {
        const char *const comment = memchr(line.at, ';', line.n);

        if (comment) line.n = (size_t)(comment - line.at);
        if (trimmed(line).n > 0) NB_TRY(read_line(g, trimmed(line)));
    }
    if (g->strange > STRANGE_MOST)
        log_line(ctx, NB_LOG_WARNING, "geom",
                 "%s: the number of further lines that are not understood is %d", name,
                 g->strange - STRANGE_MOST);
    return NB_OK;
}

void geom_free(struct geom *g)
{
    free(g->panel);
    free(g->bad);
    free(g->list);
    free(g->table);
}
