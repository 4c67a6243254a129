/*
 * state/scene_signature.c - simulator_sign(): the members of a signature of compiled mode
 * that all calls of a simulator share. These members tell features and sizes of the
 * simulator's scene, its policy and its device (compile/plan.h).
 *
 * SPDX-License-Identifier: MIT
 */
#include <assert.h>
#include <string.h>

#include "base/context.h"
#include "grad/grad.h"
#include "state/state.h"

/* Returns one bit for each option of the scene that selects other code; bits from 9 on are
 * the quirks. */
static uint32_t switches_of(const nb_simulator *sim)
{
    const nb_scene *s = &sim->scene;
    const int flags[] = {s->oversample_thick,      s->oversample_polar,
                         s->oversample_omega,      s->detector.curved,
                         s->detector.point_pixel,  s->beam.unpolarised,
                         sim->window.mask != NULL, sim->psf != NULL,
                         sim->window.boxed};
    uint32_t switches = (uint32_t)s->quirks << 9;

    for (uint32_t i = 0; i < sizeof flags / sizeof *flags; i++)
        switches |= (uint32_t)(flags[i] != 0) << i;
    return switches;
}

/* Returns 1 if the crystal has one orientation of weight 1 and there is a kernel for that
 * case. */
static int has_one_orientation(const nb_simulator *sim)
{
    const nb_crystal *c = &sim->scene.crystal;

    return sim->scene.scan.nphi == 1 && c->ndomains == 1 && !c->domain_weight
           && sim->policy.kernels.precise
                  ->single_orientation[sim->spec.shape][sim->spec.lookup];
}

/* Returns 0 if the host computes images, else ten times the compute capability of the
 * device (86 for 8.6). */
static uint32_t device_class(const nb_simulator *sim)
{
    const struct gpu *gpu = sim->device.scene.gpu;

    return gpu ? (uint32_t)(10 * gpu->properties.major + gpu->properties.minor) : 0;
}

void simulator_sign(nb_simulator *sim)
{
    struct plans *plans = &sim->plans;
    struct signature *s = &plans->common;
    const struct params *params = &sim->params;
    const nb_scene *scene = &sim->scene;
    const char *kernel = sim->policy.kernels.precise->name;
    const int over = scene->oversample;

    memset(s, 0, sizeof *s);
    s->shape = (uint32_t)sim->spec.shape;
    s->lookup = (uint32_t)sim->spec.lookup;
    s->strategy = (uint32_t)sim->policy.strategy;
    s->precision = sim->policy.kernels.single ? NB_PRECISION_SINGLE : NB_PRECISION_DOUBLE;
    s->device = device_class(sim);
    s->kernel = (uint32_t)plan_hash(kernel, strlen(kernel));
    s->switches = switches_of(sim);
    s->threads = (uint32_t)sim->ctx->threads;
    s->pixels = plan_class((double)sim->window.count);
    s->samples = plan_class((double)over * over * scene->detector.nlayers);
    s->sources = plan_class(sim->fixed.nsource);
    s->orientations = plan_class((double)scene->scan.nphi * scene->crystal.ndomains);
    s->box = plan_class(scene->crystal.hkl ? (double)hkl_box_size(&sim->hkl) : 0);
    plans->single_orientation =
        sim->policy.strategy == NB_STRATEGY_LANES && has_one_orientation(sim);
    memset(plans->free, 0, sizeof plans->free);
    for (size_t i = 0; i < params->n; i++) {
        const uint32_t row = (uint32_t)params->at[i].row;

        assert(row / 32 < sizeof plans->free / sizeof *plans->free);
        plans->free[row / 32] |= (uint32_t)1 << row % 32;
    }
}
