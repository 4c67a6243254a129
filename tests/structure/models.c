/* models.c - see models.h. SPDX-License-Identifier: MIT */
#include "structure/models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nanobrag/nanobrag.h>

#include "nanobrag_model/read.h"
#include "scene/reflections/hkl_table.h"
#include "support/plant.h"

static const struct model models[] = {
    {"2erl", TEST_DATA_DIR "/../../examples/data/2erl.pdb", 0, 1.5, NULL}, /* C2, ANISOU */
    {"1yjp", TEST_DATA_DIR "/structures/1yjp.pdb", 0, 1.5, NULL}, /* P21, 66 atoms */
    {"1cbs", TEST_DATA_DIR "/structures/1cbs.cif.gz", 0, 1.8, NULL}, /* P212121 */
    {"1hpv", "/usr/share/pymol/data/tut/1hpv.pdb", 72, 2.0, "pymol-data"}, /* P61 */
    {"1tii", "/usr/share/pymol/data/demo/1tii.pdb", 0, 2.5, "pymol-data"}, /* P3121 */
};

enum { MODELS = sizeof models / sizeof *models };

const struct model *model_at(size_t i)
{
    return i < MODELS ? models + i : NULL;
}

const struct model *model_named(const char *name)
{
    for (size_t i = 0; i < MODELS; i++)
        if (strcmp(models[i].name, name) == 0) return models + i;
    abort();
}

int model_is_here(const struct model *model)
{
    return access(model->path, R_OK) == 0;
}

nb_structure *model_read(nb_context *ctx, const struct model *model)
{
    nb_structure *structure;

    if (nb_structure_read(ctx, model->path, &structure) == NB_OK) return structure;
    (void)fprintf(stderr, "%s\n", nb_context_message(ctx));
    abort();
}

nb_structure *model_of_text(nb_context *ctx, const char *text, nb_status *status)
{
    nb_structure *structure;

    *status = structure_parse(ctx, "input", text, strlen(text), &structure);
    return structure;
}

nb_hkl *model_list(nb_context *ctx, const nb_structure *structure, const nb_fcalc *how,
                   const double *x)
{
    nb_hkl *list;

    if (nb_structure_fcalc(ctx, structure, how, x, &list) == NB_OK) {
        plant_numbers("factors", *list->factor, 2 * list->nfactor);
        return list;
    }
    (void)fprintf(stderr, "%s\n", nb_context_message(ctx));
    abort();
}

const double (*model_factors(const nb_hkl *list))[2]
{
    return (const double(*)[2])list->factor;
}

struct model_gap model_compare(const double (*f)[2], const double (*truth)[2], size_t n)
{
    double difference = 0, sum = 0, square = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        const double a = hypot(f[i][0], f[i][1]), b = hypot(truth[i][0], truth[i][1]);
        const double re = f[i][0] - truth[i][0], im = f[i][1] - truth[i][1];

        difference += fabs(a - b);
        sum += b;
        square += re * re + im * im;
        squares += b * b;
    }
    return (struct model_gap){difference / sum, sqrt(square / squares)};
}

static char heard[4096], given[4096];

static void hear(void *user, int level, const char *topic, const char *line)
{
    const size_t n = strlen(heard);

    (void)user;
    (void)topic;
    (void)snprintf(heard + n, sizeof heard - n, "%s%s\n",
                   level == NB_LOG_WARNING ? "warning: " : "note: ", line);
}

nb_context *model_listener(void)
{
    const nb_context_options options = {.threads = 1, .log = hear};
    nb_context *ctx;

    if (nb_context_create(NB_API_VERSION, &options, &ctx) != NB_OK) abort();
    heard[0] = '\0';
    return ctx;
}

const char *model_heard(void)
{
    memcpy(given, heard, sizeof given);
    heard[0] = '\0';
    return given;
}

int models_are_read(void)
{
    return strstr(nb_features(), "gemmi") != NULL;
}
