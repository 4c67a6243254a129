/* scenes.c - see scenes.h. SPDX-License-Identifier: MIT */
#include "support/scenes.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/renders.h"

static void set(double *to, double x, double y, double z)
{
    to[0] = x, to[1] = y, to[2] = z;
}

static void cell(nb_crystal *c, double x, double y, double z, double alpha, double beta,
                 double gamma)
{
    set(c->cell, x, y, z);
    set(c->cell + 3, alpha, beta, gamma);
}

/* ---- the bases ---- */
nb_scene scenes_base(void)
{
    nb_scene s = {0};

    cell(&s.crystal, 31.4, 37.2, 43.9, 81, 96, 103);
    set(s.crystal.misset, 12, -33, 71);
    set(s.crystal.ncells, 5, 5, 5);
    s.crystal.default_f = 80;
    s.crystal.mosaic[0] = 0.8;
    s.crystal.ndomains = 6;
    s.crystal.mosaic_seed = 7;
    s.beam.wavelength = 1.1;
    s.beam.polarization = 0.6;
    s.scan.phi0 = 2;
    s.scan.osc = 1.5;
    s.scan.nphi = 2;
    s.detector.distance = 80;
    s.detector.nfast = 40;
    s.detector.nslow = 37;
    s.detector.pixel = 0.44;
    set(s.detector.rotation, 3, -4, 0);
    s.detector.twotheta = 6;
    s.oversample = 1;
    return s;
}

static nb_scene small_base(void)
{
    nb_scene s = scenes_base();

    s.crystal.ndomains = 3;
    s.detector.nfast = s.detector.nslow = 8;
    s.detector.pixel = 2.2;
    return s;
}

static nb_scene spots_base(void)
{
    nb_scene s = {0};

    cell(&s.crystal, 70, 80, 90, 85, 95, 105);
    set(s.crystal.ncells, 10, 10, 10);
    set(s.crystal.misset, 10, 20, 30);
    s.crystal.shape = NB_SHAPE_GAUSS;
    s.crystal.default_f = 100;
    s.crystal.mosaic[0] = 0.5;
    s.crystal.ndomains = 20;
    s.beam.wavelength = 1;
    s.beam.polarization = 0.9;
    s.detector.convention = NB_CONVENTION_XDS; /* two theta turns about the crystal */
    s.detector.nfast = SPOTS_NFAST;
    s.detector.nslow = SPOTS_NSLOW;
    s.detector.pixel = 0.5;
    s.oversample = 1;
    return s;
}

nb_scene scenes_base_of(unsigned tags)
{
    if (tags & SCENES_FEATURES) return scenes_base();
    return tags & SCENES_SPOTS ? spots_base() : small_base();
}

/* ---- lists of reflections ---- */
static int is_missing(int h, int k, int l)
{
    return (h + 2 * k + 3 * l) % 11 == 5;
}

static int is_missing_or_inside(int h, int k, int l)
{
    return is_missing(h, k, l) || h * h + k * k + l * l <= 2;
}

static double f_of(int h, int k, int l)
{
    return 100 * (1 + cos(1.3 * h + 2.1 * k + 0.7 * l));
}

static int is_missing_of_signed(int h, int k, int l)
{
    return (2 * h + k + 5 * l) % 9 == 4;
}

static double f_signed(int h, int k, int l)
{
    return 90 * sin(1 + 0.9 * h + 1.7 * k - 0.4 * l) + 3 * h;
}

/* Return all reflections with -most <= h, k, l <= most that are not missing. */
static const nb_hkl *reflections(nb_hkl **list, int most, int (*missing)(int, int, int),
                                 double (*f_at)(int, int, int))
{
    enum { SIDE = 19 }; /* enough for 9 */
    static int hkl[SIDE * SIDE * SIDE][3];
    static double f[SIDE * SIDE * SIDE];
    nb_context *ctx;
    size_t n = 0;

    if (*list) return *list;
    for (int h = -most; h <= most; h++)
        for (int k = -most; k <= most; k++)
            for (int l = -most; l <= most; l++) {
                if (missing(h, k, l)) continue;
                hkl[n][0] = h, hkl[n][1] = k, hkl[n][2] = l;
                f[n++] = f_at(h, k, l);
            }
    if (nb_context_create(NB_API_VERSION, NULL, &ctx) != NB_OK
        || nb_hkl_create(ctx, n, hkl[0], f, list) != NB_OK)
        abort();
    nb_context_free(ctx);
    return *list;
}

const nb_hkl *scenes_reflections(void)
{
    static nb_hkl *list;

    return reflections(&list, 8, is_missing, f_of);
}

const nb_hkl *scenes_reflections_outside(void)
{
    static nb_hkl *list;

    return reflections(&list, 8, is_missing_or_inside, f_of);
}

/* ---- changes that several scenes make ---- */
static void look_up(nb_crystal *c, int interpolate)
{
    c->hkl = scenes_reflections();
    c->interpolate = interpolate;
}

static void look_up_signed(nb_crystal *c, int interpolate)
{
    static nb_hkl *list;

    c->hkl = reflections(&list, 9, is_missing_of_signed, f_signed);
    c->interpolate = interpolate;
}

static void wide_spots(nb_crystal *c, int shape, double fudge)
{
    c->shape = shape;
    c->fudge = fudge;
    set(c->ncells, 2, 3, 2.5);
}

/* columns a*, b*, c* */
static void star_axes(nb_crystal *c)
{
    set(c->matrix, 0.031, 0.004, -0.002);
    set(c->matrix + 3, -0.006, 0.024, 0.005);
    set(c->matrix + 6, 0.003, -0.007, 0.022);
}

static void invert_b_star(nb_crystal *c)
{
    for (int row = 0; row < 3; row++) c->matrix[3 * row + 1] *= -1;
}

static void single_orientation(nb_crystal *c)
{
    c->ndomains = 1;
    c->mosaic[0] = 0;
}

static void still(nb_scene *s)
{
    s->scan.phi0 = s->scan.osc = 0;
    s->scan.nphi = 1;
    single_orientation(&s->crystal);
}

static void upright(nb_scene *s)
{
    set(s->crystal.misset, 0, 0, 0);
    set(s->detector.rotation, 0, 0, 0);
    s->detector.twotheta = 0;
}

/* Move a reflection into the middle of a pixel. */
static void hit_one(nb_scene *s)
{
    single_orientation(&s->crystal);
    if (!renders_aim(s, 29, 49, 0, NULL)) abort();
}

static void thick(nb_detector *d, double thickness, double attenuation, int nlayers)
{
    d->thickness = thickness;
    d->attenuation = attenuation;
    d->nlayers = nlayers;
}

static void place(nb_detector *d, int convention, int origin_kind, double x, double y)
{
    d->convention = convention;
    d->origin_kind = origin_kind;
    set(d->origin, x, y, 0);
}

static void roi(nb_detector *d, int fast, int fast_end, int slow, int slow_end)
{
    const int range[4] = {fast, fast_end, slow, slow_end};

    memcpy(d->roi, range, sizeof range);
}

static void diverge(nb_beam *b, int nhorizontal, int nvertical)
{
    b->dispersion = 0.02;
    b->ndispersion = 3;
    b->divergence[0] = 2;
    b->divergence[1] = 3;
    b->ndivergence[0] = nhorizontal;
    b->ndivergence[1] = nvertical;
}

static void three_sources(nb_beam *b)
{
    static const nb_source source[] = {{{1, 0.001, 0.002}, 1.1, 2.5},
                                       {{2, -0.003, 0.001}, 1.09, 1},
                                       {{1, 0, 0}, 1.12, 0}};

    b->source = source;
    b->nsource = 3;
}

/* the lists of so many scenes */
enum { PANELLED = 64 };

void scenes_panels(nb_scene *s)
{
    static const nb_panel_group groups[2] = {{.name = "outer",
                                              .fast = {0, 0, 1},
                                              .slow = {0, -1, 0},
                                              .shift = {0.1, 0.2, -0.3},
                                              .rotation = {1, -2, 1.5}},
                                             {.parent = 1,
                                              .origin = {0.3, -0.2, 0.5},
                                              .shift = {-0.2, 0.1, 0.4},
                                              .rotation = {-1.5, 1, 2}}};
    static struct {
        nb_panel panel[2];
        nb_panel_group group[2];
    } list[PANELLED];
    static int next;
    nb_detector *const d = &s->detector;
    nb_panel *const panel = list[next].panel;
    const double half_fast = 0.5 * d->nfast * d->pixel, half = 0.5 * d->nslow * d->pixel;

    memset(panel, 0, sizeof list->panel);
    memcpy(list[next].group, groups, sizeof groups);
    for (int i = 0; i < 2; i++) {
        panel[i].nfast = d->nfast;
        panel[i].nslow = i == 0 ? d->nslow / 2 : d->nslow - d->nslow / 2;
        panel[i].slow0 = i == 0 ? 0 : d->nslow / 2;
    }
    panel[0].group = 2;
    set(panel[0].origin, -half_fast - 2, -half + 3, 80);
    set(panel[0].shift, 0.3, -0.1, 0.2);
    set(panel[0].rotation, -1, 2, 1);
    set(panel[1].origin, 84, 1 - 0.1 * half, -half_fast + 1);
    set(panel[1].fast, 0, 0, 1);
    set(panel[1].slow, 0, -1, 0);
    set(panel[1].shift, -0.1, 0.2, 0.1);
    set(panel[1].rotation, 2, 1, -3);
    d->npanel = d->ngroup = 2;
    d->panel = panel;
    d->group = list[next].group;
    d->distance = d->close_distance = d->twotheta = 0;
    d->curved = 0;
    d->origin_kind = NB_ORIGIN_PIX0;
    set(d->origin, 1.5, 0.4, -0.3);
    next = (next + 1) % PANELLED;
}

/* Turns a vector about z, by 90 degrees without rounding. */
static void swing(double degree, double v[3])
{
    const double radian = degree * (3.14159265358979323846 / 180), x = v[0];
    const double c = degree == 90 ? 0 : cos(radian), n = sin(radian);

    v[0] = c * x - n * v[1];
    v[1] = n * x + c * v[1];
}

void scenes_barrel(nb_scene *s, double degree)
{
    nb_panel *panel;

    scenes_panels(s);
    panel = (nb_panel *)(uintptr_t)s->detector.panel + 1;
    swing(degree, panel->origin);
    swing(degree, panel->fast);
    swing(degree, panel->slow);
    set(panel->shift, 0, 0, 0);
    set(panel->rotation, 0, 0, 0);
}

void scenes_amorphous(nb_scene *s, double water)
{
    enum { ROWS = 20 };
    static double pair[2 * ROWS];

    for (int i = 0; i < ROWS; i++) {
        pair[2 * i] = 0.01 * i + 0.0002 * i * i;
        pair[2 * i + 1] = 2.5 + 3 * exp(-(i - 9.0) * (i - 9.0) / 9);
    }
    s->background.water = water;
    s->background.stol = pair;
    s->background.nstol = ROWS;
}

/* nanoBragg's profile, but without rounding to float, which has no derivative */
static void nanobragg_in_double(nb_scene *s)
{
    nb_scene_set_profile(s, NB_PROFILE_NANOBRAGG);
    s->quirks &= ~(uint64_t)NB_QUIRK_MOSAIC_F32;
}

/* ---- the catalogue ---- */
#define SCENE(set_of, name, tags, ...)                                                     \
    static void set_of##_##name(nb_scene *s)                                               \
    {                                                                                      \
        nb_crystal *const c = &s->crystal;                                                 \
        nb_beam *const b = &s->beam;                                                       \
        nb_detector *const d = &s->detector;                                               \
                                                                                           \
        (void)c, (void)b, (void)d;                                                         \
        __VA_ARGS__;                                                                       \
    }
#include "support/scenes.def"
#undef SCENE

/* the tags as scenes.def writes them */
enum {
    CRYSTAL = SCENES_CRYSTAL,
    BEAM = SCENES_BEAM,
    DETECTOR = SCENES_DETECTOR,
    FACTOR = SCENES_FACTOR,
    BRUTE_FORCE = SCENES_BRUTE_FORCE,
    SUMS = SCENES_SUMS,
    FACTORS = SCENES_FACTORS,
    ROUNDING_MODES = SCENES_ROUNDING_MODES
};

static const struct entry {
    const char *name;
    unsigned tags;
    void (*change)(nb_scene *);
} catalogue[] = {
#define SCENE(set_of, name, tags, ...) {#name, SCENES_##set_of | (tags), set_of##_##name},
#include "support/scenes.def"
#undef SCENE
};

static struct named_scene make(const struct entry *e)
{
    struct named_scene made = {e->name, scenes_base_of(e->tags)};

    e->change(&made.scene);
    return made;
}

/* Return entry number i of those that have all these tags and, if it is given, the name. */
static const struct entry *find(unsigned tags, const char *name, size_t i)
{
    for (size_t k = 0; k < sizeof catalogue / sizeof *catalogue; k++)
        if ((catalogue[k].tags & tags) == tags
            && (!name || strcmp(catalogue[k].name, name) == 0) && i-- == 0)
            return catalogue + k;
    return NULL;
}

int scenes_at(unsigned tags, size_t i, struct named_scene *out)
{
    const struct entry *e = find(tags, NULL, i);

    if (e) *out = make(e);
    return e != NULL;
}

size_t scenes_count(unsigned tags)
{
    size_t n = 0;

    while (find(tags, NULL, n)) n++;
    return n;
}

nb_scene scenes_named(unsigned tags, const char *name)
{
    const struct entry *e = find(tags, name, 0);

    if (!e) abort();
    return make(e).scene;
}

nb_scene scenes_beside_spot(int shape, double count, double off)
{
    nb_scene s = spots_base();

    set(s.crystal.ncells, count, count, count);
    s.crystal.shape = shape;
    single_orientation(&s.crystal);
    s.detector.distance = 200;
    s.detector.pixel = 0.2 / count;
    s.detector.twotheta = 20;
    if (!renders_aim(&s, SPOTS_NSLOW / 2, SPOTS_NFAST / 2, off, NULL)) abort();
    return s;
}

int scenes_is_width(const char *name)
{
    return strcmp(name, "strain") == 0 || strcmp(name, "crystal_size") == 0
           || strncmp(name, "mosaic_tail", strlen("mosaic_tail")) == 0;
}

void scenes_lattices(nb_scene *s)
{
    static const nb_lattice lattice[] = {{.misset = {3, -8, 20}, .scale = 0.7},
                                         {.cell = {32, 37.5, 43, 82, 95, 102},
                                          .misset = {-15, 6, 40},
                                          .rotation = {1, 2, -3}}};

    s->crystal.lattice = lattice;
    s->crystal.nlattice = 2;
    s->background.water = 0.06;
}

int scenes_is_lattice(const char *name)
{
    return strncmp(name, "lattice_", strlen("lattice_")) == 0;
}

size_t scenes_parameters(nb_context *ctx, const nb_scene *scene, int row, nb_param *out,
                         size_t most)
{
    nb_param param;
    nb_simulator *sim;
    size_t n, count;

    if (!nb_param_registry(row, &param)) return 0;
    param.name[strcspn(param.name, "[")] = 0; /* all members of a list */
    if (nb_simulator_create(ctx, scene, param.name, NULL, &sim) != NB_OK) return 0;
    n = nb_simulator_nparam(sim);
    count = n < most ? n : most;
    for (size_t i = 0; i < count; i++)
        if (nb_simulator_param(sim, i * n / count, out + i) != NB_OK) abort();
    nb_simulator_free(sim);
    return count;
}
