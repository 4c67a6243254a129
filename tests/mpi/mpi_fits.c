/*
 * mpi_fits.c - fits of five small stills by the processes of MPI, for fit_mpi.sh:
 *
 *   mpirun -n RANKS mpi_fits CASE THREADS
 *
 * Each process prints one line, which begins with its rank.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/mpi.h>
#include <nanobrag/nanobrag.h>

enum { SIDE = 48, PIXELS = SIDE * SIDE, SHOTS = 5 };

static double photons[SHOTS][PIXELS];
static uint16_t counts[PIXELS];
static nb_array observed[SHOTS];
static nb_scene scenes[SHOTS];
static nb_shot shots[SHOTS];
static int rank, loads;
static const char *wanted; /* the case */
static nb_fit *running;

static int is(const char *name)
{
    return !strcmp(wanted, name);
}

static nb_scene scene_at(int shot, double off)
{
    const double turn = 17.0 * shot;

    return (nb_scene){
        .crystal = {.cell = {50 + 0.02 * off, 60, 70, 90, 90, 90},
                    .misset = {10 + turn + 0.02 * off, 20 - turn, 30 + 0.02 * off},
                    .ncells = {8, 8, 8},
                    .mosaic = {0.4},
                    .ndomains = 6,
                    .shape = NB_SHAPE_GAUSS,
                    .default_f = 100,
                    .scale = 1 + 0.2 * shot + 0.1 * off},
        .beam = {.fluence = 1e28},
        .background = {.water = 0.02},
        .detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 1.6},
        .oversample = 1,
    };
}

static void observe(nb_context *ctx)
{
    for (int i = 0; i < SHOTS; i++) {
        const nb_scene truth = scene_at(i, 0);
        const nb_digitizer how = {.scale = 1, .noise = 1, .seed = 7 + i};
        nb_array counted = nb_array_u16(counts, SIDE, SIDE);
        nb_simulator *sim;

        observed[i] = nb_array_f64(photons[i], SIDE, SIDE);
        if (nb_simulator_create(ctx, &truth, NULL, NULL, &sim) != NB_OK
            || nb_forward(sim, NULL, observed + i) != NB_OK
            || nb_digitize(sim, &how, observed + i, &counted) != NB_OK)
            abort();
        nb_simulator_free(sim);
        for (int p = 0; p < PIXELS; p++) photons[i][p] = counts[p];
        scenes[i] = scene_at(i, is("other_start") && rank == 1 ? 1.1 : 1);
        shots[i] = (nb_shot){.scene = scenes + i,
                             .target = {.kind = NB_LOSS_POISSON, .observed = observed + i}};
    }
}

/* Loads of fits begin with one of each shot (nb_fit_create()). */
static nb_status load(void *user, int64_t shot, nb_shot *out)
{
    const int is_made = loads >= SHOTS;

    (void)user;
    loads++;
    if (is("lost") && is_made && shot == 3) return NB_ERR_FILE;
    if (is("lost_at_start") && rank == 1 && shot == 3) return NB_ERR_FILE;
    if (is("no_memory") && is_made && shot == 3) return NB_ERR_MEMORY;
    if (is("cancel") && is_made && shot == 3 && running) {
        nb_fit_cancel(running);
        running = NULL;
    }
    *out = shots[shot];
    return NB_OK;
}

static int stop(void *user, const nb_fit_state *state)
{
    (void)user;
    return is("progress") && rank == 1 && state->passes == 2;
}

/* A sum of the bits of all that a fit found. */
static unsigned long long digest(const nb_fit_result *r)
{
    unsigned long long sum = 14695981039346656037u;

    for (size_t i = 0; i < 2 * r->nvalue + 1; i++) {
        const double number = i == 0           ? r->loss
                              : i <= r->nvalue ? r->value[i - 1].value
                                               : r->value[i - 1 - r->nvalue].error;
        unsigned long long bits;

        memcpy(&bits, &number, sizeof bits);
        sum = (sum ^ bits) * 1099511628211u;
    }
    return sum;
}

static void report(nb_fit *fit, nb_status status, const char *message)
{
    nb_fit_result r = {0};
    char said[1024];
    int left_out = 0;

    (void)snprintf(said, sizeof said, "%s", message); /* before the next */
    if (fit && nb_fit_result_get(fit, &r) == NB_OK)
        for (int64_t i = 0; i < r.nshot; i++) left_out += r.shot[i].left_out != NULL;
    (void)printf("%d: status %d end %d passes %d left out %d digest %016llx %s\n", rank,
                 (int)status, r.end, r.passes, left_out, r.nvalue ? digest(&r) : 0,
                 status == NB_OK ? "" : said);
}

int main(int argc, char **argv)
{
    nb_context_options how = {0};
    nb_fit_options options = {.shared = "cell_a",
                              .own = "misset scale",
                              .load = load,
                              .progress = stop};
    nb_context *ctx;
    nb_fit *fit = NULL;
    nb_status status;
    int provided;

    if (argc != 3) return 2;
    wanted = argv[1];
    how.threads = atoi(argv[2]);
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS
        || provided < MPI_THREAD_FUNNELED)
        return 1;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (nb_context_create(NB_API_VERSION, &how, &ctx) != NB_OK) return 1;
    observe(ctx);
    if (is("lbfgs")) options.method = NB_FIT_LBFGS;
    if (is("seconds")) options.seconds = 1e-9;
    if (is("other_shots")) options.load = NULL;
    if (!is("no_fit") || rank != 1) {
        status = nb_fit_create(ctx, is("other_shots") ? SHOTS - rank : SHOTS, shots,
                               &options, &fit);
        if (status != NB_OK) (void)fprintf(stderr, "%s\n", nb_context_message(ctx));
    }
    running = fit;
    status = is("alone") ? nb_fit_run(fit) : nb_fit_mpi(fit, MPI_COMM_WORLD);
    report(fit, status, nb_context_message(ctx));
    if (is("cancel") || is("progress")) {
        wanted = "bits";
        report(fit, nb_fit_mpi(fit, MPI_COMM_WORLD), nb_context_message(ctx));
    }
    nb_fit_free(fit);
    nb_context_free(ctx);
    (void)MPI_Finalize();
    return 0;
}
