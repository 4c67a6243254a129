/*
 * fits.c - nanobrag_fits: how well and in how many passes fits find what an image with
 * noise was computed from.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct named {
    const char *name;
    void (*run)(struct campaign *c, const char *name);
    const char *what;
} campaigns[] = {
    {"gauss", campaign_starts, "20 starts of gaussian spots"},
    {"square", campaign_starts, "20 starts of a square crystal"},
    {"far", campaign_starts, "20 starts with misset 0.5 degree off"},
    {"large", campaign_starts, "20 starts of a crystal with three times the cells"},
    {"pulls", campaign_pulls, "100 draws of noise: errors"},
    {"pulls_square", campaign_pulls, "the same of a square crystal"},
    {"pulls_saturated", campaign_pulls, "the same with 0.01 % of the pixels saturated"},
    {"pulls_hot", campaign_pulls, "the same with 0.01 % hot pixels, by NB_LOSS_CAUCHY"},
    {"bias", campaign_bias, "data of other domains: errors by their number"},
    {"drawn", campaign_drawn, "pulls, data of 20000 normal domains"},
    {"drawn_osc", campaign_drawn, "the same turned by half a degree"},
    {"drawn_lines", campaign_drawn, "the same with a spectrum of 100 lines"},
    {"drawn_cap", campaign_drawn, "the same with domains as nanoBragg draws them"},
    {"memory", campaign_memory, "an image of 2527 x 2463"},
    {"joint", campaign_joint, "eight stills, 10 shared and 40 own parameters"},
    {"cancel", campaign_cancel, "how soon fits stop that are told to"},
    {"factors", campaign_factors, "eight stills, all structure factors free"},
    {"stream", campaign_stream, "a thousand stills that are loaded one by one"},
};

enum { CAMPAIGNS = sizeof campaigns / sizeof *campaigns };

static int usage(void)
{
    (void)fprintf(stderr, "usage: nanobrag_fits [-runs N] [-threads N] [-verbose] "
                          "[CAMPAIGN]...\n");
    for (size_t i = 0; i < CAMPAIGNS; i++)
        (void)fprintf(stderr, "  %-16s %s\n", campaigns[i].name, campaigns[i].what);
    return 2;
}

static const struct named *campaign_named(const char *name)
{
    for (size_t i = 0; i < CAMPAIGNS; i++)
        if (!strcmp(campaigns[i].name, name)) return campaigns + i;
    return NULL;
}

int main(int argc, char **argv)
{
    struct campaign c = {0};
    nb_context_options options = {.threads = 1};
    int first = 1;

    for (; first < argc && argv[first][0] == '-'; first++) {
        if (!strcmp(argv[first], "-verbose"))
            c.verbose = 1;
        else if (!strcmp(argv[first], "-runs") && first + 1 < argc)
            c.runs = atoi(argv[++first]);
        else if (!strcmp(argv[first], "-threads") && first + 1 < argc)
            options.threads = atoi(argv[++first]);
        else
            return usage();
    }
    for (int i = first; i < argc; i++)
        if (!campaign_named(argv[i])) return usage();
    if (nb_context_create(NB_API_VERSION, &options, &c.ctx) != NB_OK) return 1;
    must(c.ctx, nb_hkl_read(c.ctx, BENCH_LIST, &c.list));
    for (size_t i = 0; first == argc && i < CAMPAIGNS; i++)
        campaigns[i].run(&c, campaigns[i].name);
    for (int i = first; i < argc; i++) campaign_named(argv[i])->run(&c, argv[i]);
    nb_hkl_free(c.list);
    nb_context_free(c.ctx);
    return 0;
}
