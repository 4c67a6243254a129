/*
 * check_handlers.c - replaces the handlers of a context during a check of derivatives.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/context.h"
#include "check.h"

/* Calls the caller's progress handler, with the fraction of the whole check that is
 * done. */
static int ask(void *user, double fraction)
{
    const struct check *c = user;

    (void)fraction;
    return c->before.progress(c->before.user, c->done);
}

static void pass_line_on(void *user, int level, const char *topic, const char *line)
{
    const struct check *c = user;

    (c->before.log)(c->before.user, level, topic, line);
}

void check_set_handlers(struct check *c)
{
    nb_context_options *const o = &c->ctx->options;

    c->before = *o;
    o->compile = NB_COMPILE_OFF;
    if (o->progress) o->progress = ask;
    if (o->log) o->log = pass_line_on;
    o->user = c;
}

void check_restore_handlers(const struct check *c)
{
    nb_context_options *const o = &c->ctx->options;

    o->compile = c->before.compile;
    o->progress = c->before.progress;
    o->log = c->before.log;
    o->user = c->before.user;
}

void check_hold(nb_simulator *sim, int held)
{
    for (int l = 0; l < lattices_count(&sim->scene); l++) sim->continuous[l].held = held;
}
