/* worst.c - see worst.h. SPDX-License-Identifier: MIT */
#include "support/worst.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/tap.h"

/* Returns |found - truth| / scale, infinite if any of them is not finite. */
static double error_of(double found, double truth, double scale)
{
    if (!isfinite(found) || !isfinite(truth) || !isfinite(scale)) return INFINITY;
    if (found == truth) return 0;
    return scale > 0 ? fabs(found - truth) / scale : INFINITY;
}

void worst_add(struct worst *w, double found, double truth, double scale)
{
    const double error = error_of(found, truth, scale);

    if (w->count == 0 || error > w->error) {
        w->error = error;
        w->found = found;
        w->truth = truth;
        w->at = w->count;
    }
    w->count++;
}

void worst_add_all(struct worst *w, const double *found, const double *truth, size_t n,
                   double scale)
{
    for (size_t i = 0; i < n; i++) worst_add(w, found[i], truth[i], scale);
}

void worst_join(struct worst *w, const struct worst *other)
{
    const size_t before = w->count;

    if (other->count == 0) return;
    if (before == 0 || other->error > w->error) {
        *w = *other;
        w->at += before;
    }
    w->count = before + other->count;
}

void worst_fail(struct worst *w)
{
    worst_add(w, NAN, NAN, 1);
}

int worst_check_at(const char *file, int line, const char *kind, const struct worst *w,
                   double allowed, const char *format, ...)
{
    char what[200];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (w->count == 0) return tap_check(0, "%s: nothing was compared", what);
    return tap_check(w->error <= allowed,
                     "%s: off %.2g %s %.2g, at number %zu of %zu: %.9g expected %.9g "
                     "[%s:%d]",
                     what, w->error, kind, allowed, w->at, w->count, w->found, w->truth,
                     file, line);
}

double worst_largest(const double *a, size_t n)
{
    double most = 0;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a[i])) return NAN;
        most = fmax(most, fabs(a[i]));
    }
    return most;
}

size_t bits_differ(const double *a, const double *b, size_t n)
{
    size_t differ = 0;

    for (size_t i = 0; i < n; i++)
        differ += memcmp((const char *)(a + i), (const char *)(b + i), sizeof *a) != 0;
    return differ;
}

int bits_same_or_zeros(const double *a, const double *b, size_t n)
{
    const size_t differ = bits_differ(a, b, n);

    if (differ > 0) tap_note("%zu of %zu numbers have other bits", differ, n);
    if (!isfinite(worst_largest(a, n))) {
        tap_note("the numbers that are compared are not all finite");
        return 0;
    }
    return differ == 0;
}

int bits_same(const double *a, const double *b, size_t n)
{
    if (worst_largest(a, n) == 0) {
        tap_note("all %zu numbers that are compared are zeros", n);
        return 0;
    }
    return bits_same_or_zeros(a, b, n);
}
