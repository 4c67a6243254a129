/*
 * backend/device.c - the operations of a device on images and on the value of a loss.
 * Derivatives and counts are in device_derivatives.c and device_counts.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "backend/backend.h"
#include "base/context.h"
#include "gpu/launch/loss_launch.h"

static nb_status device_forward(struct request *r)
{
    nb_simulator *sim = r->sim;
    struct job job = simulator_job(sim, r->scene, r->frame, r->photons);

    NB_TRY(backend_plan(r, PLAN_FORWARD, 0, &job));
    return gpu_forward(&sim->progress, &sim->device.scene, &job, device_is_single(sim),
                       r->output);
}

static nb_status device_batch(struct request *r)
{
    nb_simulator *sim = r->sim;
    struct job job = simulator_job(sim, r->scene, r->frame, NULL);

    NB_TRY(backend_plan(r, PLAN_FORWARD, 0, &job));
    return gpu_batch_run(&sim->progress, &sim->device.scene, &job, device_is_single(sim),
                         r->batch);
}

static nb_status device_loss(struct request *r)
{
    nb_simulator *sim = r->sim;
    struct job job = simulator_job(sim, r->scene, r->frame, NULL);
    const struct gpu_loss_job loss = device_target(r->objective.target);

    NB_TRY(backend_plan(r, PLAN_FORWARD, 0, &job));
    return gpu_loss(&sim->progress, &sim->device.scene, &job, device_is_single(sim), &loss,
                    &r->value);
}

const struct backend backend_device = {
    .operations = {[BACKEND_FORWARD] = {device_forward, NULL},
                   [BACKEND_BATCH] = {device_batch, NULL},
                   [BACKEND_ADJOINT] = {device_adjoint, device_refuses_derivatives},
                   [BACKEND_JACOBIAN] = {device_jacobian, device_refuses_derivatives},
                   [BACKEND_LOSS] = {device_loss, NULL},
                   [BACKEND_NORMAL] = {device_normal, device_refuses_derivatives},
                   [BACKEND_COUNT] = {device_count, device_refuses_counts}}};
