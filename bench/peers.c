/*
 * peers.c - another program with nanoBragg's command line, and ours, in turn on the same
 * lines with the same number of threads.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "measure/process.h"

/* seconds of a case after which it is not repeated, and after which it is given up */
enum { PATIENCE = 60, LONGEST = 4 * 3600, RUNS = 32 };

/* who runs: the peer, then ours in each precision */
enum { THEIRS, OURS, RUNNERS = OURS + 2 };

struct turns {
    float *image[RUNNERS];
    double times[RUNNERS][RUNS];
    int runs;
    char said[NAME];
};

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* 1 - correlation of two images as half the squared distance of their unit vectors, which
 * does not cancel; a0 and b0 are their means */
static double decorrelation(const float *a, const float *b, size_t n, double a0, double b0)
{
    double aa = 0, bb = 0, distance2 = 0;

    for (size_t i = 0; i < n; i++) {
        aa += (a[i] - a0) * (a[i] - a0);
        bb += (b[i] - b0) * (b[i] - b0);
    }
    for (size_t i = 0; i < n; i++) {
        const double d = (a[i] - a0) / sqrt(aa) - (b[i] - b0) / sqrt(bb);

        distance2 += d * d;
    }
    return distance2 / 2;
}

static void compare_images(struct peer *peer, const float *theirs, const float *ours)
{
    const double n = (double)peer->pixels;
    double most = 0, worst = 0, a = 0, b = 0;

    for (size_t i = 0; i < peer->pixels; i++) {
        const double difference = fabs((double)theirs[i] - (double)ours[i]);

        peer->differ += bits_of(theirs[i]) != bits_of(ours[i]);
        if (theirs[i] > most) most = theirs[i];
        if (difference > worst) worst = difference;
        a += theirs[i];
        b += ours[i];
    }
    peer->worst = most > 0 ? worst / most : worst;
    peer->decorrelation = decorrelation(theirs, ours, peer->pixels, a / n, b / n);
}

static struct process run_one(const struct options *options, const struct bench_case *c,
                              int runner, float *image)
{
    struct command command = {0};

    command_add(&command, "%s", runner == THEIRS ? options->peer : options->program);
    cases_command(c, options->hkl, &command);
    command_image(&command);
    if (runner > THEIRS) command_manner(&command, runner - OURS, NB_STRATEGY_AUTO);
    return process_run(&command, image, (size_t)c->nslow * (size_t)c->nfast, LONGEST);
}

static void take_turns(struct turns *turns, struct report *report,
                       const struct bench_case *c)
{
    const struct options *options = report->options;
    double spent = 0;

    while (turns->runs < options->repeat && turns->runs < RUNS && spent < PATIENCE) {
        for (int who = THEIRS; who < RUNNERS; who++) {
            const struct process p = run_one(options, c, who, turns->image[who]);

            if (!p.ok) {
                (void)snprintf(turns->said, sizeof turns->said, "%s: %.140s",
                               who == THEIRS ? "peer" : precision_word(who - OURS), p.said);
                report_failure(report, who == THEIRS ? options->peer : options->program,
                               p.said);
                return;
            }
            turns->times[who][turns->runs] = p.seconds;
            spent += p.seconds;
        }
        turns->runs++;
    }
}

static void print_peer(const struct peer *peer)
{
    const struct bench_case *c = peer->c;
    const double target =
        c->shape == NB_GAUSS ? c->spots_target : c->target[peer->precision];
    char theirs[16], ours[16], wanted[16] = "-";

    (void)printf("%c    %-9s |", c->letter, precision_word(peer->precision));
    if (peer->runs == 0) {
        (void)printf(" not run: %.70s\n", peer->said);
        return;
    }
    if (target > 0) (void)snprintf(wanted, sizeof wanted, "x%.0f", target);
    if (c->spots_seconds > 0) (void)seconds_text(c->spots_seconds, wanted, sizeof wanted);
    (void)printf(" %8s %8s %3d %8.1f %8s | %10.1e %8zu of %-8zu %8.1e\n",
                 seconds_text(peer->theirs, theirs, sizeof theirs),
                 seconds_text(peer->ours, ours, sizeof ours), peer->runs,
                 peer->theirs / peer->ours, wanted, peer->worst, peer->differ, peer->pixels,
                 peer->decorrelation);
}

static void run_case(struct report *report, const struct bench_case *c)
{
    const size_t pixels = (size_t)c->nslow * (size_t)c->nfast;
    struct turns turns = {0};
    int enough = 1;

    for (int who = THEIRS; who < RUNNERS; who++) {
        turns.image[who] = malloc(pixels * sizeof(float));
        enough = enough && turns.image[who];
    }
    if (enough)
        take_turns(&turns, report, c);
    else
        (void)snprintf(turns.said, sizeof turns.said, "out of memory");
    for (int precision = NB_DOUBLE; precision <= NB_SINGLE; precision++) {
        struct peer *peer = &report->peers[report->npeers++];

        *peer = (struct peer){.c = c, .precision = precision, .runs = turns.runs};
        peer->pixels = pixels;
        memcpy(peer->said, turns.said, sizeof peer->said);
        if (turns.runs > 0) {
            peer->theirs = timing_median(turns.times[THEIRS], turns.runs);
            peer->ours = timing_median(turns.times[OURS + precision], turns.runs);
            compare_images(peer, turns.image[THEIRS], turns.image[OURS + precision]);
        }
        print_peer(peer);
    }
    for (int who = THEIRS; who < RUNNERS; who++) free(turns.image[who]);
    (void)fflush(stdout);
}

void peers_run(struct report *report)
{
    const struct options *options = report->options;

    (void)printf("\npeer: %s\n"
                 "case precision |     peer     ours   n    ratio   target | worst/peak"
                 " float32 that differ  1 - corr\n",
                 options->peer);
    process_environment(options->threads, 1);
    for (size_t i = 0; i < cases_count && report->npeers + 2 <= PEERS; i++)
        if (strchr(options->letters, cases_list[i].letter))
            run_case(report, &cases_list[i]);
}
