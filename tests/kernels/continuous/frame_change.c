/* frame_change.c - see frame_change.h. SPDX-License-Identifier: MIT */
#include "kernels/continuous/frame_change.h"

#include <string.h>

#include "kernels/continuous_oracle.h"

static void fill(double *out, int n, double size, unsigned *seed)
{
    for (int i = 0; i < n; i++) out[i] = size * oracle_uniform(seed);
}

void frame_change_random(const struct phys_broad *b, unsigned seed, struct frame_change *c)
{
    struct phys_frame_tangent *dot = &c->dot;

    memset(c, 0, sizeof *c);
    dot->source = &c->source;
    dot->rotation = &c->rotation;
    fill(dot->pix0, 3, 1e-5, &seed);
    fill(dot->fast, 3, 0.01, &seed);
    fill(dot->slow, 3, 0.01, &seed);
    fill(dot->normal, 3, 0.1, &seed);
    fill(c->rotation.by, 3, 1e-3, &seed);
    fill(c->source.direction, 3, 1e-3, &seed);
    fill(&c->source.inverse_wavelength, 1, 1e-3, &seed);
    fill(&c->rotation.weight, 1, 1, &seed);
    fill(&dot->pixel, 1, 1e-7, &seed);
    fill(&dot->layer_step, 1, 1e-6, &seed);
    fill(&dot->layer_offset, 1, 1e-6, &seed);
    fill(dot->strain, 9, 1e-3, &seed);
    fill(dot->metric, 6, 5, &seed);
    fill(&dot->fudge, 1, 0.1, &seed);
    fill(&dot->b_factor, 1, 1, &seed);
    fill(&dot->broad.half_range, 1, 1e-2, &seed);
    fill(dot->broad.spindle, 3, 0.1, &seed);
    fill(dot->broad.spread, 6, 0.2 * b->spread[0], &seed);
    fill(&dot->broad.tail, 1, 0.1, &seed);
    fill(&dot->broad.tail_width, 1, 1, &seed);
    fill(&dot->broad.spacing, 1, 1e-4, &seed);
    fill(&dot->broad.size, 1, 1e-5, &seed);
    if (b->line > 0) fill(&dot->broad.line, 1, 2e-4, &seed);
    fill(dot->broad.divergence, 6, 1e-9, &seed);
}

const char *frame_change_keep(int kind, struct frame_change *c)
{
    static const char *const names[] = {"all",         "detector", "beam",
                                        "orientation", "block",    "mosaic"};
    const struct frame_change all = *c;
    struct phys_frame_tangent *dot = &c->dot;

    if (kind == 0) return names[0];
    memset(c, 0, sizeof *c);
    dot->source = &c->source;
    dot->rotation = &c->rotation;
    if (kind == 1) {
        *dot = all.dot;
        memset(dot->strain, 0, sizeof dot->strain);
        memset(dot->metric, 0, sizeof dot->metric);
        dot->fudge = dot->b_factor = 0;
        memset(&dot->broad, 0, sizeof dot->broad);
        dot->source = &c->source;
        dot->rotation = &c->rotation;
    }
    if (kind == 2) {
        c->source = all.source;
        dot->broad.line = all.dot.broad.line;
        memcpy(dot->broad.divergence, all.dot.broad.divergence,
               sizeof dot->broad.divergence);
    }
    if (kind == 3) {
        c->rotation = all.rotation;
        memcpy(dot->strain, all.dot.strain, sizeof dot->strain);
        memcpy(dot->broad.spindle, all.dot.broad.spindle, sizeof dot->broad.spindle);
        dot->broad.half_range = all.dot.broad.half_range;
    }
    if (kind == 4) {
        memcpy(dot->metric, all.dot.metric, sizeof dot->metric);
        dot->fudge = all.dot.fudge;
        dot->b_factor = all.dot.b_factor;
        dot->broad.spacing = all.dot.broad.spacing;
        dot->broad.size = all.dot.broad.size;
    }
    if (kind == 5) {
        memcpy(dot->broad.spread, all.dot.broad.spread, sizeof dot->broad.spread);
        dot->broad.tail = all.dot.broad.tail;
        dot->broad.tail_width = all.dot.broad.tail_width;
    }
    return names[kind];
}
