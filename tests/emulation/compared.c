/* compared.c - see compared.h. SPDX-License-Identifier: MIT */
#include "emulation/compared.h"

#include <stdio.h>

#include "support/renders.h"
#include "support/tap.h"

static size_t pixels_of(const struct gpu_case *c)
{
    return (size_t)c->frame.nfast * (size_t)c->frame.nslow;
}

void compared_in_double(const char *name, struct gpu_case *c, double allowed)
{
    static double truth[COMPARED_MOST], lanes[COMPARED_MOST], image[COMPARED_MOST];
    struct gpu_way way = {.parts = 1};

    if (!gpu_case_reference(c, truth) || !gpu_case_lanes(c, lanes)) return;
    for (way.parts = 1; way.parts <= 2; way.parts++) {
        struct renders_gap gap;
        char title[120];

        if (!gpu_case_run(c, &way, image)) return;
        gap = renders_compare(image, truth, pixels_of(c));
        (void)snprintf(title, sizeof title, "%s, parts %d", name, way.parts);
        tap_check(gap.peak > 0, "%s: off lanes %.2g", title,
                  renders_compare(image, lanes, pixels_of(c)).worst);
        tap_close(title, gap.worst, 0, allowed);
    }
}

/* scenes that were computed in float, and that were not, since the last count */
static int for_float, not_for_float;

void compared_float_count(int expected_not)
{
    tap_check(not_for_float == expected_not && for_float > 0,
              "%d scenes in float, %d are not for it, expected %d", for_float,
              not_for_float, expected_not);
    for_float = not_for_float = 0;
}

void compared_in_float(const char *name, struct gpu_case *c)
{
    static double truth[COMPARED_MOST], image[COMPARED_MOST];
    const int least = gpu_case_parts(c);
    struct gpu_way way = {.single = 1};

    if (least == 0) {
        tap_note("%s: not for float", name);
        not_for_float++;
        return;
    }
    for_float++;
    if (!gpu_case_reference(c, truth)) return;
    for (way.parts = least; way.parts <= 2; way.parts++) {
        struct renders_gap gap;
        char title[120];

        if (!gpu_case_run(c, &way, image)) return;
        gap = renders_compare(image, truth, pixels_of(c));
        (void)snprintf(title, sizeof title, "%s, float, parts %d", name, way.parts);
        tap_check(gap.peak > 0, "%s: peak %g", title, gap.peak);
        tap_promised(title, gap.worst, 0, 1e-5);
    }
}
