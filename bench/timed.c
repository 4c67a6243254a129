/* timed.c - see timed.h. SPDX-License-Identifier: MIT */
#include "timed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "timing.h"

enum { DIRECTIONS = 16, BOX = 12 };

const char timed_words[] =
    "image|moved|vjp|value|gradient|matrix|tangent|tangents|normal|noise|"
    "batch";

/* ---- the request ---- */

/* Copy names, with spaces in place of '+'. */
static int copy_names(const char *from, char *to, size_t room)
{
    if (strlen(from) >= room) return 0;
    do *to++ = *from == '+' ? ' ' : *from;
    while (*from++);
    return 1;
}

static int read_calls(const char *names, unsigned *calls)
{
    char words[NAME], word[NAME];
    int n;

    if (!copy_names(names, words, sizeof words)) return 0;
    for (const char *at = words; sscanf(at, "%159s%n", word, &n) == 1; at += n) {
        const int call = cases_place(timed_words, word);

        if (call < 0) return 0;
        *calls |= 1U << call;
    }
    return 1;
}

static int read_word(const char *word, struct timed_request *r)
{
    const char *const value = strchr(word, '=') ? strchr(word, '=') + 1 : "";
    const struct {
        const char *name, *words;
        int *to;
    } chosen[] = {{"precision=", "double|float", &r->options.precision},
                  {"strategy=", "auto|reference|lanes|spots", &r->options.strategy},
                  {"profile=", "nanobrag|nanobragg", &r->profile},
                  {"loss=", "gaussian|poisson", &r->loss},
                  {"threads=", NULL, &r->threads},
                  {"boxes=", NULL, &r->boxes}};
    struct bench_case c;

    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        if (strncmp(word, chosen[i].name, strlen(chosen[i].name)) != 0) continue;
        *chosen[i].to = chosen[i].words ? cases_place(chosen[i].words, value) : atoi(value);
        return *chosen[i].to >= 0;
    }
    if (strncmp(word, "case=", 5) == 0) {
        if (!cases_of(*value, &c)) return 0;
        r->of = c.is;
        return 1;
    }
    if (strcmp(word, "clock=wall") == 0) return (r->clock = timing_seconds) != NULL;
    if (strcmp(word, "clock=cpu") == 0) return (r->clock = timing_process_seconds) != NULL;
    if (strncmp(word, "planes=", 7) == 0) return (r->planes = atof(value)) > 0;
    if (strncmp(word, "panels=", 7) == 0)
        return sscanf(value, "%d,%d", &r->columns, &r->rows) == 2;
    if (strncmp(word, "isa=", 4) == 0) return copy_names(value, r->isa, sizeof r->isa);
    if (strncmp(word, "free=", 5) == 0)
        return copy_names(value, r->free_names, sizeof r->free_names);
    if (strncmp(word, "calls=", 6) == 0) return read_calls(value, &r->calls);
    return cases_word(word, &r->of);
}

const char *timed_read(char *words, struct timed_request *out)
{
    memset(out, 0, sizeof *out);
    out->threads = 1;
    out->clock = timing_process_seconds;
    for (char *word = strtok(words, " \n"); word; word = strtok(NULL, " \n"))
        if (!read_word(word, out)) return word;
    return NULL;
}

/* ---- the simulator ---- */

static int failed(struct timed *t)
{
    (void)snprintf(t->said, sizeof t->said, "%.150s",
                   t->ctx ? nb_context_message(t->ctx) : "out of memory");
    return 0;
}

/* Make a context that sees NANOBRAG_ISA as the request has it. */
static int make_context(struct timed *t)
{
    static const char name[] = "NANOBRAG_ISA";
    const nb_context_options options = {.threads = t->is.threads,
                                        .device = t->is.device,
                                        .compile = t->is.compile};
    const char *const before = getenv(name);
    char *const kept = before ? strdup(before) : NULL;
    nb_status status;

    if (*t->is.isa) (void)setenv(name, strcmp(t->is.isa, "best") ? t->is.isa : "", 1);
    status = nb_context_create(NB_API_VERSION, &options, &t->ctx);
    if (kept)
        (void)setenv(name, kept, 1);
    else
        (void)unsetenv(name);
    free(kept);
    return status == NB_OK;
}

/* Cut the detector into columns x rows panels, each a little turned, or leave it whole as
 * one panel. */
static int cut_panels(struct timed *t, nb_detector *d)
{
    const int columns = t->is.columns, n = columns * t->is.rows;
    const int width = n ? d->nfast / columns : 0, height = n ? d->nslow / t->is.rows : 0;

    if (n == 0) return 1;
    if (!(t->panel = calloc((size_t)n, sizeof *t->panel))) return 0;
    for (int i = 0; i < n; i++) {
        const int column = i % columns, row = i / columns;
        nb_panel *const p = t->panel + i;

        p->nfast = width, p->nslow = height;
        p->origin[0] = (column * width - 0.5 * d->nfast) * d->pixel;
        p->origin[1] = (row * height - 0.5 * d->nslow) * d->pixel;
        p->origin[2] = d->distance;
        if (i == 0) continue;
        p->rotation[0] = 0.1 * (i % 7 - 3);
        p->rotation[1] = 0.1 * (i % 5 - 2);
        p->rotation[2] = 0.1 * (i % 3 - 1);
    }
    d->nfast = d->nslow = 0;
    d->distance = 0;
    d->convention = NB_CONVENTION_DIALS;
    d->npanel = n;
    d->panel = t->panel;
    return 1;
}

/* Render only boxes around the brightest reflections. */
static int choose_boxes(struct timed *t, nb_scene *scene)
{
    const size_t most = (size_t)t->is.boxes;
    nb_simulator *sim = NULL;
    size_t found = 0;
    int good;

    if (most == 0) return 1;
    if (!(t->box = calloc(most, sizeof *t->box))) return 0;
    good = nb_simulator_create(t->ctx, scene, NULL, NULL, &sim) == NB_OK
           && nb_simulator_boxes(sim, NULL, BOX, most, *t->box, &found) == NB_OK
           && found > 0;
    nb_simulator_free(sim);
    scene->detector.box = *t->box;
    scene->detector.nbox = found;
    return good;
}

/* The data are the image in whole photons with the planes, or what no image is. */
static int make_data(struct timed *t, size_t pixels)
{
    if (nb_forward(t->sim, NULL, &t->data) != NB_OK) return 0;
    for (size_t i = 0; i < pixels; i++)
        t->observed[i] = t->is.loss == NB_LOSS_POISSON ? rint(t->observed[i] + t->is.planes)
                                                       : 0.5 + 1e-3 * (double)(i % 1009);
    return 1;
}

static int make_batch(struct timed *t, size_t pixels)
{
    t->many = calloc(TIMED_IN_BATCH * pixels, sizeof *t->many);
    for (size_t i = 0; t->many && i < TIMED_IN_BATCH; i++)
        t->batch[i] = nb_array_f32(t->many + i * pixels, t->about.nslow, t->about.nfast);
    return t->many != NULL;
}

static int make_room(struct timed *t)
{
    const int64_t nslow = t->about.nslow, nfast = t->about.nfast;
    const size_t pixels = (size_t)nslow * (size_t)nfast, n = nb_simulator_nparam(t->sim);
    const size_t dense = nb_simulator_ndense(t->sim);

    t->photons = calloc(pixels, sizeof *t->photons);
    t->slopes = calloc(n + 1, sizeof *t->slopes);
    t->matrix = calloc(dense * dense + 1, sizeof *t->matrix);
    t->directions = calloc(DIRECTIONS * n + 1, sizeof *t->directions);
    t->x = calloc(TIMED_IN_BATCH * n + 1, sizeof *t->x);
    if (!t->photons || !t->slopes || !t->matrix || !t->directions || !t->x) return 0;
    t->image = t->is.options.precision == NB_PRECISION_SINGLE && !t->is.is_wide
                   ? nb_array_f32((float *)(void *)t->photons, nslow, nfast)
                   : nb_array_f64(t->photons, nslow, nfast);
    for (size_t d = 0; d < DIRECTIONS && n > 0; d++) {
        t->directions[d * n + d % n] = 1;
        t->same[d] = nb_array_f64(t->photons, nslow, nfast);
    }
    for (size_t i = 0; i < TIMED_IN_BATCH * n; i++) {
        const size_t of_batch = i / n;
        nb_param p;

        if (nb_simulator_param(t->sim, i % n, &p) != NB_OK) return 0;
        t->x[i] = p.value * (1 + 1e-6 * (double)of_batch);
    }
    if (t->is.calls >> TIMED_NOISE & 1 && !(t->counts = calloc(pixels, sizeof *t->counts)))
        return 0;
    if (t->is.calls >> TIMED_BATCH & 1 && !make_batch(t, pixels)) return 0;
    if (!(t->is.calls >> TIMED_ADJOINT)) return 1;
    t->observed = calloc(pixels, sizeof *t->observed);
    t->data = nb_array_f64(t->observed, nslow, nfast);
    return t->observed && make_data(t, pixels);
}

int timed_open(struct timed *t, const struct timed_request *request)
{
    nb_scene *const scene = &t->is.of.scene;

    memset(t, 0, sizeof *t);
    t->is = *request;
    if (!make_context(t) || cases_hkl(t->ctx, &t->is.of, &t->hkl) != NB_OK
        || !cut_panels(t, &scene->detector))
        return failed(t);
    if (t->is.profile != NB_PROFILE_NANOBRAG) nb_scene_set_profile(scene, t->is.profile);
    if (!choose_boxes(t, scene)) return failed(t);
    t->made = t->is.clock();
    if (nb_simulator_create(t->ctx, scene, t->is.free_names, &t->is.options, &t->sim)
        != NB_OK)
        return failed(t);
    t->made = t->is.clock() - t->made;
    return nb_simulator_describe(t->sim, NULL, &t->about) == NB_OK && make_room(t)
               ? 1
               : failed(t);
}

void timed_close(struct timed *t)
{
    nb_simulator_free(t->sim);
    nb_hkl_free(t->hkl);
    nb_context_free(t->ctx);
    free(t->photons);
    free(t->observed);
    free(t->slopes);
    free(t->matrix);
    free(t->directions);
    free(t->x);
    free(t->panel);
    free(t->box);
    free(t->counts);
    free(t->many);
}

/* ---- the calls ---- */

static nb_status draw_counts(struct timed *t)
{
    const nb_digitizer how = {.noise = 1, .seed = 1};
    nb_array counts = nb_array_u16(t->counts, t->about.nslow, t->about.nfast);

    return nb_digitize(t->sim, &how, &t->image, &counts);
}

double timed_run(struct timed *t, enum timed_call call)
{
    const nb_target target = {.kind = t->is.loss,
                              .observed = &t->data,
                              .background = t->is.planes > 0 ? NB_BACKGROUND_PLANES : 0};
    nb_normal gradient = {.gradient = t->slopes};
    nb_normal all = {.gradient = t->slopes, .matrix = t->matrix};
    nb_normal *const out = call == TIMED_MATRIX ? &all : &gradient;
    nb_status status;
    double start, value;

    for (size_t i = 0; call == TIMED_MOVED && i < nb_simulator_nparam(t->sim); i++)
        t->x[i] += 1e-6 * (double)(i + 1);
    start = t->is.clock();
    if (call <= TIMED_MOVED)
        status = nb_forward(t->sim, call == TIMED_MOVED ? t->x : t->at, &t->image);
    else if (call == TIMED_ADJOINT)
        status = nb_vjp(t->sim, t->at, 1, &t->data, t->slopes);
    else if (call <= TIMED_MATRIX)
        status = nb_loss(t->sim, NULL, &target, &value, call == TIMED_VALUE ? NULL : out);
    else if (call <= TIMED_TANGENTS)
        status = nb_jvp(t->sim, NULL, call == TIMED_TANGENT ? 1 : DIRECTIONS, t->directions,
                        t->same);
    else if (call == TIMED_NOISE)
        status = draw_counts(t);
    else if (call == TIMED_BATCH)
        status = nb_forward_batch(t->sim, TIMED_IN_BATCH, t->x, t->batch);
    else
        status = nb_jtj(t->sim, NULL, NULL, &t->data, &all);
    if (status == NB_OK) return t->is.clock() - start;
    return failed(t);
}

/* Make one round of calls; returns their seconds, 0 on failure. */
static double one_round(struct timed *all, int n, int at)
{
    double spent = 0;

    for (int i = 0; i < n; i++)
        for (int call = 0; call < TIMED_CALLS; call++) {
            double seconds;

            if (!(all[i].is.calls >> call & 1)) continue;
            seconds = timed_run(all + i, (enum timed_call)call);
            if (seconds == 0) return 0;
            all[i].times[call][at] = seconds;
            spent += seconds;
        }
    return spent;
}

int timed_turns(struct timed *all, int n, int repeat, double budget)
{
    double spent = one_round(all, n, 0);
    unsigned calls = 0;
    int done = spent > budget / 2; /* a long run needs no warming up */

    for (int i = 0; i < n; i++) calls |= all[i].is.calls;
    if (spent == 0) return calls == 0;
    if (!done) spent = 0;
    while (done < TIMED_MOST && (done < repeat || spent < budget / 4)
           && (done == 0 || spent < budget)) {
        const double seconds = one_round(all, n, done);

        if (seconds == 0) return 0;
        spent += seconds;
        done++;
    }
    for (int i = 0; i < n; i++) all[i].n = done;
    return 1;
}

unsigned long long timed_hash(const void *numbers, size_t bytes)
{
    const unsigned char *const p = numbers;
    unsigned long long hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}
