/*
 * fit_among.c - a fit by two processes, each of which evaluates half of the shots; they
 * exchange numbers through a socket, and take the same steps. mpi.h does this with the
 * processes of MPI.
 *
 *   cc fit_among.c $(pkg-config --cflags --libs nanobrag) -lm && ./a.out
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nanobrag/nanobrag.h>

enum { SIDE = 64, PIXELS = SIDE * SIDE, SHOTS = 4 };

struct half {
    int rank, socket;
};

static double photons[SHOTS][PIXELS];
static nb_array observed[SHOTS];
static nb_scene scenes[SHOTS];
static nb_shot shots[SHOTS];

static const nb_scene scene = {
    .crystal = {.cell = {50, 60, 70, 90, 90, 90},
                .ncells = {8, 8, 8},
                .shape = NB_SHAPE_GAUSS,
                .default_f = 100},
    .beam = {.fluence = 1e28},
    .background = {.water = 0.02},
    .detector = {.nslow = SIDE, .nfast = SIDE, .pixel = 1.2},
    .oversample = 2,
};

static nb_status observe(nb_context *ctx)
{
    nb_status status = NB_OK;

    for (int i = 0; i < SHOTS && status == NB_OK; i++) {
        nb_simulator *sim = NULL;

        scenes[i] = scene;
        scenes[i].crystal.misset[0] = 10 + 25 * i;
        observed[i] = nb_array_f64(photons[i], SIDE, SIDE);
        shots[i] = (nb_shot){.scene = scenes + i,
                             .target = {.kind = NB_LOSS_POISSON, .observed = observed + i}};
        status = nb_simulator_create(ctx, scenes + i, NULL, NULL, &sim);
        if (status == NB_OK) status = nb_forward(sim, NULL, observed + i);
        nb_simulator_free(sim);
        scenes[i].crystal.cell[0] += 0.05; /* A */
        scenes[i].crystal.misset[0] += 0.05; /* degree */
    }
    return status;
}

/* Adds the numbers of the two processes: each writes its own and reads those of the other,
 * one after the other, since a socket holds few. */
static int exchange(void *user, double *numbers, size_t n)
{
    struct half *half = user;
    double *other = malloc(n * sizeof *other);
    int is_there = other != NULL;

    for (int turn = 0; turn < 2 && is_there; turn++) {
        char *at = turn == half->rank ? (char *)numbers : (char *)other;

        for (size_t left = n * sizeof *numbers; left > 0 && is_there;) {
            const ssize_t done = turn == half->rank ? write(half->socket, at, left)
                                                    : read(half->socket, at, left);

            is_there = done > 0;
            if (is_there) at += done, left -= (size_t)done;
        }
    }
    for (size_t i = 0; i < n && is_there; i++) numbers[i] += other[i];
    free(other);
    return !is_there;
}

static int fit_half(struct half *half)
{
    const nb_fit_options options = {.shared = "cell_a", .own = "misset scale"};
    nb_context *ctx;
    nb_fit *fit = NULL;
    nb_fit_result r;
    nb_status status = nb_context_create(NB_API_VERSION, NULL, &ctx);

    if (status == NB_OK) status = observe(ctx);
    if (status == NB_OK) status = nb_fit_create(ctx, SHOTS, shots, &options, &fit);
    if (status == NB_OK) status = nb_fit_run_among(fit, half->rank, 2, exchange, half);
    if (status == NB_OK) status = nb_fit_result_get(fit, &r);
    if (status == NB_OK)
        (void)printf("process %d: cell_a %.5f; %s\n", half->rank, r.value->value, r.why);
    else
        (void)fprintf(stderr, "%s\n", nb_context_message(ctx));
    if (status == NB_OK && !(fabs(r.value->value - 50) < 1e-3)) status = NB_ERR_DOMAIN;
    nb_fit_free(fit);
    nb_context_free(ctx);
    return status != NB_OK;
}

int main(void)
{
    int sockets[2], other = 1;
    struct half half = {0, 0};
    pid_t child;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 1;
    child = fork();
    if (child < 0) return 1;
    half.rank = child == 0;
    half.socket = sockets[half.rank];
    (void)close(sockets[!half.rank]);
    if (fit_half(&half)) return 1;
    if (child == 0) return 0;
    return waitpid(child, &other, 0) != child || other != 0;
}
