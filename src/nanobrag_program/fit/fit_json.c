/* fit_json.c - adds a fit to the document of -json. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "nanobrag_program/fit/fit_run.h"
#include "nanobrag_program/output/json_writer.h"

static void add_value(cJSON *to, const nb_fit_result *r, const nb_fit_value *v)
{
    json_text(to, "name", v->param.name);
    if (v->shot >= 0) json_text(to, "image", r->shot[v->shot].name);
    json_real(to, "value", v->value);
    json_real(to, "error", v->error);
    json_real(to, "sampling", v->sampling);
    json_text(to, "unit", v->param.unit);
    json_real(to, "start", v->param.value);
    json_whole(to, "bound", v->bound);
    json_flag(to, "held", v->is_held);
}

static void add_misfit(cJSON *to, const nb_misfit *m)
{
    json_real(to, "dmax", m->dmax);
    json_real(to, "dmin", m->dmin);
    json_whole(to, "pixels", (long long)m->pixels);
    json_real(to, "z_mean", m->mean);
    json_real(to, "z_rms", m->rms);
    json_real(to, "loss", m->loss);
    json_real(to, "deviance", m->deviance);
    json_real(to, "expected", m->expected);
    json_whole(to, "bright", (long long)m->bright);
    json_real(to, "bright_deviance", m->bright_deviance);
    json_real(to, "bright_expected", m->bright_expected);
    json_real(to, "observed", m->observed);
    json_real(to, "photons", m->photons);
    json_real(to, "variance", m->variance);
    json_real(to, "correlation", m->correlation);
    if (m->boxes == 0) return;
    json_whole(to, "boxes", (long long)m->boxes);
    json_whole(to, "boxes_alike", (long long)m->alike);
}

static void add_residuals(cJSON *root, const char *name, const struct fit_residuals *from)
{
    const nb_misfit *const m = &from->all;
    if (from->nimage == 0) return;
    cJSON *const to = json_object(root, name);
    json_whole(to, "images", (long long)from->nimage);
    add_misfit(to, m);
    json_real(to, "over_expected", fit_ratio(m->deviance, m->expected));
    json_real(to, "bright_over_expected",
              fit_ratio(m->bright_deviance, m->bright_expected));
    json_real(to, "r_boxes", from->r);
    json_real(to, "r_boxes_expected", from->r_expected);
}

static void add_outliers(cJSON *to, const nb_fit_shot *shot)
{
    cJSON *const list = json_array(to, "outliers");
    char why[FIT_OUTLIER];
    for (size_t i = 0; i < shot->noutlier; i++) {
        const nb_fit_outlier *const o = &shot->outlier[i];
        cJSON *const entry = json_entry(list);
        json_whole(entry, "box", o->box);
        json_whole(entry, "fast", o->fast);
        json_whole(entry, "slow", o->slow);
        json_real(entry, "z", o->z);
        json_text(entry, "why", fit_outlier(o, why));
    }
}

static void add_image(cJSON *to, const struct fit_job *job, const nb_fit_result *r,
                      int64_t shot)
{
    nb_fit_misfit misfit;
    json_text(to, "name", r->shot[shot].name);
    json_text(to, "left_out", r->shot[shot].left_out);
    json_flag(to, "held_out", r->shot[shot].is_held_out);
    json_real(to, "loss", r->shot[shot].loss);
    json_whole(to, "pixels", (long long)r->shot[shot].pixels);
    add_outliers(to, &r->shot[shot]);
    if ((r->shot[shot].left_out && !r->shot[shot].is_held_out)
        || job->run->command.s->fit.fisher || r->nshot > 8
        || nb_fit_misfit_get(job->fit, shot, &misfit) != NB_OK)
        return;
    cJSON *const shells = json_array(to, "shells");
    for (int i = 0; i < NB_FIT_SHELLS; i++)
        add_misfit(json_entry(shells), &misfit.shell[i]);
    cJSON *const boxes = json_array(to, "boxes");
    for (size_t i = 0; i < misfit.nbox; i++) add_misfit(json_entry(boxes), &misfit.box[i]);
}

static void add_fit(cJSON *root, const struct fit_job *job, nb_fit *fit)
{
    nb_fit_result r;
    if (nb_fit_result_get(fit, &r) != NB_OK) return;
    cJSON *const to = json_object(root, "fit");
    json_text(to, "ended", r.why);
    json_text(to, "errors", r.errors_why);
    json_real(to, "misfit", r.misfit);
    json_real(to, "misfit_deviation", r.misfit_deviation);
    json_real(to, "bright_misfit", r.bright_misfit);
    json_real(to, "bright_deviation", r.bright_deviation);
    json_real(to, "error_factor", r.error_factor);
    json_whole(to, "draws", r.draws);
    json_whole(to, "passes", r.passes);
    json_real(to, "loss", r.loss);
    json_real(to, "condition", r.condition);
    json_real(to, "rms", r.rms);
    add_residuals(to, "fitted", &job->fitted);
    add_residuals(to, "held_out", &job->held_out);
    cJSON *const warnings = json_array(to, "warnings");
    for (size_t i = 0; i < r.nwarning; i++)
        cJSON_AddItemToArray(warnings, cJSON_CreateString(r.warning[i]));
    json_whole(to, "saturated", (long long)job->saturated);
    cJSON *const values = json_array(to, "values");
    for (size_t i = 0; i < r.nvalue; i++) add_value(json_entry(values), &r, &r.value[i]);
    cJSON *const pairs = json_array(to, "correlated");
    for (size_t i = 0; i < r.ncorrelated; i++) {
        cJSON *const pair = json_entry(pairs);
        char name[FIT_NAME];
        json_text(pair, "first", fit_name(&r, r.correlated[i].i, name));
        json_text(pair, "second", fit_name(&r, r.correlated[i].j, name));
        json_real(pair, "value", r.correlated[i].value);
    }
    cJSON *const free_ones = json_array(to, "free");
    for (size_t i = 0; i < r.nfree; i++)
        cJSON_AddItemToArray(free_ones, cJSON_CreateString(r.free[i]));
    cJSON *const images = json_array(to, "images");
    for (int64_t i = 0; i < r.nshot; i++) add_image(json_entry(images), job, &r, i);
}

static void add_points(cJSON *root, const struct fit_job *job)
{
    const char *const scan = job->run->command.s->fit.fisher_scan;
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(scan, "="), scan);
    cJSON *const to = json_object(root, "fisher_scan");
    json_text(to, "name", name);
    cJSON *const points = json_array(to, "points");
    for (int i = 0; i < job->npoint; i++) {
        cJSON *const point = json_entry(points);
        json_real(point, "value", job->point[i].value);
        json_whole(point, "oversample", job->point[i].oversample);
        add_fit(point, job, job->point[i].fit);
    }
}

void fit_json(cJSON *root, const struct fit_job *job)
{
    if (job->point)
        add_points(root, job);
    else
        add_fit(root, job, job->fit);
}
