/*
 * backend/request_plan.c - the plan of a request, and two questions about a simulator: does
 * its device compute derivatives, and does it compute in float?
 *
 * SPDX-License-Identifier: MIT
 */
#include "backend/backend.h"
#include "base/context.h"

nb_status backend_plan(struct request *r, enum operation operation, int directions,
                       struct job *job)
{
    const struct call call = {operation, directions, r->donated};

    NB_TRY(call_plan(&r->sim->plans, &call, job));
    r->started = 1;
    return NB_OK;
}

const char *device_never_derives(const nb_simulator *sim)
{
    if (sim->psf) return "behind a point spread";
    if (context_compile(sim->ctx) == NB_COMPILE_OFF)
        return "compiled mode is off, which builds their kernels";
    return NULL;
}

int device_is_single(const nb_simulator *sim)
{
    return sim->policy.precision == NB_PRECISION_SINGLE;
}
