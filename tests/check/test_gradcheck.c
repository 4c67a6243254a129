/*
 * test_gradcheck.c - the full tier of gradcheck: every single parameter in every scene of
 * gradients/modes.def and every strategy. The fast tier is in test_gradients.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "gradients/gradients.h"
#include "gradients/harness.h"

static const struct tap_case cases[] = {
#define MODES(name, ...) {"gradcheck." #name ".full", scene_##name##_full},
#include "gradients/modes.def"
#undef MODES
};

int main(int argc, char **argv)
{
    const int status = tap_main(argc, argv, cases, LENGTH(cases));
    double median, high;
    size_t n;

    report_errors(&n, &median, &high);
    if (n == 0) return status;
    tap_note("%zu derivatives: error over S, median %.1e, 99 %% %.1e", n, median, high);
    return report_write("gradcheck.json") ? status : 1;
}
