/*
 * parameter_names.c - collects the free parameters of a run from its options, and applies
 * -param.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_command/options/parameter_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_command/options/options.h"

/* ---- names ---- */

/* Splits NAME=VALUE; the caller frees *name. Returns 0 or the exit status. */
static int split(struct messages *messages, const char *text, char **name, double *value)
{
    const char *const equals = strchr(text, '=');
    *name = NULL;
    if (!equals || strspn(text, " ") == (size_t)(equals - text))
        return message_usage(messages, "-param %s: expected NAME=VALUE", text);
    if (!parse_real(equals + 1, value))
        return message_usage(messages, "-param %s: expected a number after the =", text);
    *name = strndup(text, (size_t)(equals - text));
    return *name ? 0 : message_failure(messages, "out of memory for the parameters");
}

int params_names(const struct settings *s, struct messages *messages,
                 const struct event_list *events, const char *shots, const char *changing,
                 char **out)
{
    /* F comes first among the lists of the user, so that all structure factors stand in the
     * order of the list of reflections */
    const char *const lists[] = {"phi0",
                                 s->hklgradfile || s->atomgradfile ? "F" : NULL,
                                 shots,
                                 changing,
                                 s->spectra ? "source_weight" : NULL,
                                 s->gradient,
                                 s->jacobian};
    size_t size = 0;
    char *name;
    double value;
    int code = 0;
    FILE *const file = open_memstream(out, &size);
    if (!file) return message_failure(messages, "out of memory for the parameters");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lists[i]) (void)fprintf(file, ";%s", lists[i]);
    for (size_t i = 0; i < events->n && !code; i++) {
        if (events->at[i].option != OPT_PARAM) continue;
        code = split(messages, events->at[i].text, &name, &value);
        if (!code) (void)fprintf(file, ";%s", name);
        free(name);
    }
    if (fclose(file) != 0 && !code)
        code = message_failure(messages, "out of memory for the parameters");
    if (code) free(*out);
    return code;
}

void params_prepare(nb_scene *scene, const char *names)
{
    double *mosaic = scene->crystal.mosaic;
    const int axes = strstr(names, "mosaic_a") || strstr(names, "mosaic_b")
                     || strstr(names, "mosaic_c") || strstr(names, "mosaic_off")
                     || strstr(names, "mosaic_tensor");
    if (strstr(names, "mosaic") || strstr(names, "strain") || strstr(names, "crystal_size"))
        scene->given |= NB_GIVEN_WIDTH;
    if (!axes || (scene->given & NB_GIVEN_MOSAIC_AXES)) return;
    mosaic[1] = mosaic[2] = mosaic[0];
    scene->given |= NB_GIVEN_MOSAIC_AXES;
}

/* ---- in a simulator ---- */

static int failed(struct messages *messages, nb_context *ctx, nb_status status)
{
    return message_status(messages, status, nb_context_message(ctx), 0);
}

static int set_one(struct params *params, struct messages *messages, nb_context *ctx,
                   const nb_simulator *sim, const char *text)
{
    char *name;
    double value = 0;
    size_t i = 0, n = 0;
    int code = split(messages, text, &name, &value);
    if (code) return code;
    const nb_status status = nb_simulator_select(sim, name, 1, &i, &n);
    free(name);
    if (status != NB_OK) return failed(messages, ctx, status);
    const nb_param *const p = &params->at[i];
    if (n > 1)
        return message_usage(messages,
                             "-param %s: this is a group of %zu parameters; name one of "
                             "them, such as %s",
                             text, n, p->name);
    if (!(value >= p->lower && value <= p->upper))
        return message_usage(messages, "-param %s: expected %g to %g", text, p->lower,
                             p->upper);
    if (p->smooth == NB_SMOOTH_ZERO && value != p->value)
        message_warning(messages, "-param %s: %s has no effect in this scene", text,
                        p->name);
    params->x[i] = value;
    params->nset += !params->set[i];
    params->set[i] = 1;
    return 0;
}

int params_set(struct params *params, struct messages *messages, nb_context *ctx,
               const nb_simulator *sim, const struct event_list *events)
{
    params->n = nb_simulator_nparam(sim);
    params->at = malloc(params->n * sizeof *params->at);
    params->x = malloc(params->n * sizeof *params->x);
    params->set = calloc(params->n, 1);
    if (!params->at || !params->x || !params->set)
        return message_failure(messages, "out of memory for %zu parameters", params->n);
    for (size_t i = 0; i < params->n; i++) {
        if (nb_simulator_param(sim, i, &params->at[i]) != NB_OK)
            return message_failure(messages, "parameter number %zu does not exist", i);
        params->x[i] = params->at[i].value;
    }
    for (size_t i = 0; i < events->n; i++) {
        if (events->at[i].option != OPT_PARAM) continue;
        const int code = set_one(params, messages, ctx, sim, events->at[i].text);
        if (code) return code;
    }
    size_t n;
    const nb_status status = nb_simulator_select(sim, "phi0", 1, &params->phi0, &n);
    return status == NB_OK ? 0 : failed(messages, ctx, status);
}

int params_select(const struct params *params, struct messages *messages, nb_context *ctx,
                  const nb_simulator *sim, const char *list, struct selection *out)
{
    *out = (struct selection){0, calloc(params->n, sizeof *out->at)};
    if (!out->at) return message_failure(messages, "out of memory for the parameters");
    const nb_status status = nb_simulator_select(sim, list, params->n, out->at, &out->n);
    return status == NB_OK ? 0 : failed(messages, ctx, status);
}

int params_is_factor(const char *name, int hkl[3])
{
    return sscanf(name, "F[%d,%d,%d]", &hkl[0], &hkl[1], &hkl[2]) == 3;
}

void params_free(struct params *params)
{
    free(params->at);
    free(params->x);
    free(params->set);
}
