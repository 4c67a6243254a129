/*
 * verdict_text.c - the words of gradcheck: names of verdicts and losses, the line of a row,
 * and hints at the cause of a wrong derivative.
 *
 * SPDX-License-Identifier: MIT
 */
#include "check/verdict_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double degree = 3.14159265358979323846 / 180;

const char *nb_verdict_name(int verdict)
{
    static const char *const name[] = {
#define VERDICT(name, text) #name,
        NB_VERDICT_LIST(VERDICT)
#undef VERDICT
    };

    return verdict >= 0 && verdict < NB_VERDICTS ? name[verdict] : "unknown verdict";
}

const char *nb_verdict_text(int verdict)
{
    static const char *const text[] = {
#define VERDICT(name, text) text,
        NB_VERDICT_LIST(VERDICT)
#undef VERDICT
    };

    return verdict >= 0 && verdict < NB_VERDICTS ? text[verdict] : "unknown verdict";
}

const char *nb_gradcheck_loss_name(int loss)
{
    static const char *const name[] = {"given", "random", "random_2", "bright"};

    return loss >= 0 && loss < NB_GRADCHECK_LOSSES ? name[loss] : "unknown loss";
}

int nb_gradcheck_line(const nb_gradcheck_row *row, char *line, size_t size)
{
    const double value = fabs(row->vjp - row->fd), other = fabs(row->jvp - row->fd);
    const double off = value > other ? value : other;
    char ratio[128] = "";

    if (row->verdict == NB_VERDICT_FAIL_VALUE)
        (void)snprintf(ratio, sizeof ratio, ", ratio %.6g%s%s", row->vjp / row->fd,
                       row->hint[0] ? " -> looks like " : "", row->hint);
    return snprintf(line, size,
                    "%s %s [%s] loss=%s: adjoint %.8e, tangent %.8e, fd %.8e +- %.1e "
                    "(h=%.1e, order %d), |diff|/tol = %.2g, kept %.0f %%%s",
                    nb_verdict_name(row->verdict), row->param.name, row->param.unit,
                    nb_gradcheck_loss_name(row->loss), row->vjp, row->jvp, row->fd,
                    row->bar, row->step, row->order,
                    row->tolerance > 0 ? off / row->tolerance : 0.0, 100 * row->kept,
                    ratio);
}

static int is_near(double a, double b)
{
    return fabs(a - b) <= 1e-3 * fabs(b);
}

/* Write a hint if `ratio` is `factor`, its inverse, or the negative of either. Returns 1 if
 * row->hint is set. */
static int try_factor(nb_gradcheck_row *row, double ratio, double factor, const char *name)
{
    const char *sign = ratio < 0 ? "-" : "";

    if (is_near(fabs(ratio), factor))
        (void)snprintf(row->hint, sizeof row->hint, "a factor %s%s", sign, name);
    else if (is_near(fabs(ratio), 1 / factor))
        (void)snprintf(row->hint, sizeof row->hint, "a factor %s1/(%s)", sign, name);
    return row->hint[0] != '\0';
}

static int try_factors(nb_gradcheck_row *row, double ratio, const nb_scene *scene)
{
    const double *n = scene->crystal.ncells;
    const struct {
        const char *name;
        double value;
    } factor[] = {
        {"2", 2},
        {"4", 4},
        {"3", 3},
        {"pi/180", degree},
        {"pi", 180 * degree},
        {"2 pi", 360 * degree},
        {"1000", 1000},
        {"wavelength", scene->beam.wavelength},
        {"N a", n[0]},
        {"N b", n[1]},
        {"N c", n[2]},
        {"phi steps", scene->scan.nphi},
        {"domains", scene->crystal.ndomains},
    };

    if (is_near(ratio, -1)) {
        (void)snprintf(row->hint, sizeof row->hint, "the wrong sign");
        return 1;
    }
    for (size_t i = 0; i < sizeof factor / sizeof *factor; i++)
        if (factor[i].value > 0 && !is_near(factor[i].value, 1)
            && try_factor(row, ratio, factor[i].value, factor[i].name))
            return 1;
    return 0;
}

void gradcheck_hint(nb_gradcheck_row *row, const nb_scene *scene, const nb_param *param,
                    size_t nparam, const double *gradient)
{
    const double wrong = fabs(row->vjp - row->fd) > row->tolerance ? row->vjp : row->jvp;

    row->hint[0] = '\0';
    if (wrong == 0)
        (void)snprintf(row->hint, sizeof row->hint, "nothing at all");
    else if (row->fd == 0 || try_factors(row, wrong / row->fd, scene))
        return;
    /* If rows and columns were exchanged, this is the derivative of another parameter. */
    for (size_t p = 0; p < nparam && row->hint[0] == '\0'; p++)
        if (strcmp(param[p].name, row->param.name) != 0 && is_near(gradient[p], row->fd))
            (void)snprintf(row->hint, sizeof row->hint, "that of %s (transposed?)",
                           param[p].name);
}
