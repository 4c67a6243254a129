/*
 * backend/launch.c - a job on the kernels of a simulator: an image, an adjoint, rows of a
 * Jacobian, each spot by spot or by lanes, the image also on a device, as are sums of
 * derivatives. Compiled mode repeats them while it tunes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/context.h"
#include "kernels/kernels.h"
#include "kernels/spots/spots_vjp.h"
#include "simulator.h"

static nb_status launch_on_host(nb_simulator *sim, const struct job *job)
{
    const struct kernel_set *kernels = &sim->policy.kernels;

    if (sim->policy.strategy == NB_SPOTS) {
        const nb_status status = spots_forward(sim->ctx, kernels, job, &sim->spots);

        /* x may have led to where there are too many; whoever left it open gets an image */
        if (status != NB_ERR_MEMORY || !sim->policy.automatic) return status;
    }
    return tiles_forward(sim->ctx, kernels, job);
}

nb_status launch_image(nb_simulator *sim, const struct job *job, const void *user)
{
    const struct gpu_output *out = user;

    if (sim->device.scene.gpu) {
        const nb_status status = gpu_forward(sim->ctx, &sim->device.scene, job,
                                             sim->policy.precision == NB_SINGLE, out);

        if (out || (status != NB_ERR_DEVICE && status != NB_ERR_MEMORY)) return status;
        NB_TRY(device_lost(sim));
    }
    if (out)
        return fail(sim->ctx, NB_ERR_DEVICE, "the device was lost: %s", sim->device.why);
    return launch_on_host(sim, job);
}

/* what a device said: 1 to go on there, 0 where it was lost, of which *status tells */
static int still_there(nb_simulator *sim, nb_status *status)
{
    if (*status != NB_ERR_DEVICE && *status != NB_ERR_MEMORY) return 1;
    *status = device_lost(sim);
    return 0;
}

nb_status launch_batch(nb_simulator *sim, const struct job *job, const void *user)
{
    const struct batch_launch *run = user;
    nb_status status;

    if (!run) return launch_image(sim, job, NULL);
    if (!sim->device.scene.gpu) return NB_OK; /* lost while a plan was tuned */
    status = gpu_batch_run(sim->ctx, &sim->device.scene, job,
                           sim->policy.precision == NB_SINGLE, run->batch);
    if (!run->batch->on_device) (void)still_there(sim, &status);
    return status;
}

nb_status launch_loss(nb_simulator *sim, const struct job *job, const void *user)
{
    const struct loss_launch *run = user;
    nb_status status;

    if (!run) return launch_image(sim, job, NULL);
    *run->done = 0;
    if (!sim->device.scene.gpu) return NB_OK; /* lost while a plan was tuned */
    status = gpu_loss(sim->ctx, &sim->device.scene, job, sim->policy.precision == NB_SINGLE,
                      run->loss, run->value);
    *run->done = still_there(sim, &status);
    return status;
}

nb_status launch_adjoint(nb_simulator *sim, const struct job *job, const void *user)
{
    const struct objective *objective = user;
    const struct kernel_set *kernels = &sim->policy.kernels;

    if (sim->policy.strategy == NB_SPOTS) {
        const nb_status status =
            spots_vjp(sim->ctx, kernels, job, objective, &sim->adjoint, &sim->spots);

        if (status != NB_ERR_MEMORY || !sim->policy.automatic) return status;
    }
    return adjoint_run(sim->ctx, kernels, job, objective, &sim->adjoint, NULL);
}

nb_status launch_jacobian(nb_simulator *sim, const struct job *job, const void *user)
{
    const struct jacobian_job *rows = user;
    const struct kernel_set *kernels = &sim->policy.kernels;

    if (sim->policy.strategy == NB_SPOTS) {
        const nb_status status = jacobian_run(sim->ctx, kernels, job, rows->n, rows->work,
                                              rows->reader, &sim->spots);

        if (status != NB_ERR_MEMORY || !sim->policy.automatic) return status;
    }
    return jacobian_run(sim->ctx, kernels, job, rows->n, rows->work, rows->reader, NULL);
}

nb_status launch_sums(nb_simulator *sim, const struct job *job, const void *user)
{
    const struct derivatives_launch *call = user;

    return gpu_derivatives(sim->ctx, &sim->device.scene, job,
                           sim->policy.precision == NB_SINGLE, call->rows, call->sums);
}
