/*
 * derive.c - runs the parts of scene/ in order: scene_resolve() once for a simulator,
 * scene_derive() for each x. SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "scene/background.h"
#include "scene/beam.h"
#include "scene/continuous/continuous.h"
#include "scene/crystal.h"
#include "scene/detector/detector.h"
#include "scene/detector/layers.h"
#include "scene/lattices/lattices.h"
#include "scene/linear.h"
#include "scene/mosaic.h"
#include "scene/reflections/hkl_table.h"
#include "scene/reflections/symmetry.h"
#include "scene/sampling.h"
#include "scene/scene.h"

void nb_scene_set_profile(nb_scene *scene, int profile)
{
    if (scene) scene->quirks = profile == NB_PROFILE_NANOBRAGG ? NB_QUIRK_ALL : 0;
}

nb_status scene_resolve(nb_context *ctx, nb_scene *scene, struct scene_fixed *fixed)
{
    struct crystal_axes axes;
    struct detector_scale scale;

    NB_TRY(scene_validate(ctx, scene));
    NB_TRY(lattices_resolve(ctx, scene));
    NB_TRY(symmetry_resolve(ctx, &scene->crystal));
    continuous_leave_domains(scene);
    crystal_resolve(scene, &fixed->random);
    memcpy(fixed->ncells_asked, scene->crystal.ncells, sizeof fixed->ncells_asked);
    NB_TRY(beam_resolve(ctx, scene));
    NB_TRY(crystal_resolve_cells(ctx, scene));
    NB_TRY(detector_resolve(ctx, scene, fixed->middle));
    NB_TRY(sampling_resolve(ctx, scene, fixed));
    NB_TRY(background_resolve(ctx, scene));
    NB_TRY(beam_count(ctx, scene, fixed));
    NB_TRY(crystal_derive(ctx, scene, &axes));
    NB_TRY(detector_scale_of(ctx, scene, fixed->middle, beam_shortest(scene), &scale));
    if (!(scale.downstream > 0))
        log_line(ctx, NB_LOG_WARNING, "detector",
                 "the whole detector lies upstream of the crystal, at a two theta above 90 "
                 "degrees; unless that is meant, correct the sign of its distance");
    NB_TRY(sampling_resolve_placed(ctx, scene, &axes, &scale, fixed));
    if ((double)scene->scan.nphi * scene->crystal.ndomains > 1e8)
        return fail(ctx, NB_ERR_SCENE,
                    "%d phi steps x %d mosaic domains are too many; at most 1e8",
                    scene->scan.nphi, scene->crystal.ndomains);
    return NB_OK;
}

void scene_fill(const nb_scene *scene, struct scene_fixed *fixed, double *box)
{
    const nb_hkl *hkl = scene->crystal.hkl;

    beam_fill(scene, fixed);
    mosaic_fill(scene, &fixed->random, fixed->domain);
    fixed->f = NULL;
    if (!hkl) return;
    for (int i = 0; i < 3; i++) {
        fixed->f_min[i] = hkl->min[i];
        fixed->f_size[i] = hkl->size[i];
    }
    fixed->f_listed = 0;
    for (size_t i = 0; i < hkl_box_size(hkl); i++) {
        const int listed = !isnan(hkl->box[i]);

        box[i] = listed ? hkl->box[i] : scene->crystal.default_f;
        if (listed && fabs(box[i]) > fixed->f_listed) fixed->f_listed = fabs(box[i]);
    }
    box[hkl_box_size(hkl)] = scene->crystal.default_f;
    fixed->f = box;
}

/* Rotates v by the rotation vector `drift`, then about the spindle by phi, radian. */
static void turn(const double drift[3], const double spindle[3], double phi,
                 const double v[3], double out[3])
{
    linear_copy(v, out);
    if (!linear_is_zero(drift)) linear_rotate_by_vector(drift, out, out);
    linear_rotate(spindle, phi, out, out);
}

/* Computes the axes and weights of all orientations; the index of the domain runs
 * fastest. */
static void derive_orientations(const nb_scene *scene, const struct scene_fixed *fixed,
                                const struct crystal_axes *axes,
                                struct phys_orientation *out)
{
    const int ndomains = scene->crystal.ndomains;
    const int turns = mosaic_is_anisotropic(scene);
    const double mean = mosaic_mean_weight(scene);
    double spindle[3], spread[3][3];

    linear_unit(scene->scan.axis, spindle);
    mosaic_frame(axes, spread);
    for (int d = 0; d < ndomains; d++) {
        double rotation[3][3];

        for (int p = 0; p < scene->scan.nphi; p++) {
            struct phys_orientation *to = out + (size_t)p * (size_t)ndomains + (size_t)d;
            const double phi = linear_radian(sampling_phi(scene, fixed, p));
            double turned[3][3], drift[3];

            sampling_drift(scene, fixed, p, drift);
            if (turns || p == 0) {
                for (int k = 0; k < 3; k++) turn(drift, spindle, phi, spread[k], turned[k]);
                mosaic_rotation(scene, (const double(*)[3])turned, fixed->domain + d,
                                rotation);
            }
            for (int i = 0; i < 3; i++) {
                double rotated[3];

                turn(drift, spindle, phi, axes->real[i], rotated);
                for (int j = 0; j < 3; j++)
                    to->axes[3 * i + j] = linear_dot(rotation[j], rotated);
            }
            to->weight = mosaic_weight(scene, d, mean);
        }
    }
}

/* Computes the frames of panels 1, 2, ..., which differ from the frame of panel 0 only in
 * the numbers of the detector. */
static nb_status derive_panels(nb_context *ctx, const nb_scene *scene,
                               const struct scene_fixed *fixed, const struct layers *layers,
                               struct phys_frame *frames)
{
    for (int i = 1; i < detector_panels(&scene->detector); i++) {
        struct detector_place place;

        NB_TRY(detector_derive(ctx, scene, fixed->middle, i, &place));
        frames[i] = frames[0];
        detector_frame(scene, &place, layers, frames + i);
    }
    return NB_OK;
}

nb_status scene_derive(nb_context *ctx, const nb_scene *scene,
                       const struct scene_fixed *fixed, struct phys_source *sources,
                       struct phys_orientation *orientations, struct phys_frame *frame)
{
    const double nsub = (double)scene->oversample * scene->oversample;
    const struct layers layers = layers_derive(scene, fixed);
    struct crystal_axes axes;
    struct detector_place place;

    memset(frame, 0, sizeof *frame);
    NB_TRY(beam_check_directions(ctx, scene));
    NB_TRY(crystal_check_cells(ctx, scene));
    NB_TRY(crystal_derive(ctx, scene, &axes));
    NB_TRY(detector_derive(ctx, scene, fixed->middle, 0, &place));
    NB_TRY(beam_derive(ctx, scene, fixed, sources));
    if (!(mosaic_mean_weight(scene) > 0))
        return fail(ctx, NB_ERR_SCENE, "the weights of the mosaic domains add up to 0");
    derive_orientations(scene, fixed, &axes, orientations);
    detector_frame(scene, &place, &layers, frame);
    crystal_lattice(scene, &axes, frame);
    frame->nsource = fixed->nsource;
    frame->source = sources;
    frame->polarised = !scene->beam.unpolarised;
    frame->kahn = scene->beam.polarization;
    frame->norientation = scene->scan.nphi * scene->crystal.ndomains;
    frame->orientation = orientations;
    frame->continuous = continuous_is_on(scene);
    if (frame->continuous) continuous_broad(scene, fixed, &axes, &frame->broad);
    frame->b_factor = scene->crystal.b_factor;
    frame->dmin = frame->continuous ? 0 : scene->dmin;
    frame->least_d = frame->continuous ? scene->dmin : 0;
    memcpy(frame->hkl_min, fixed->f_min, sizeof frame->hkl_min);
    memcpy(frame->hkl_size, fixed->f_size, sizeof frame->hkl_size);
    frame->f = fixed->f;
    frame->f_single = fixed->f_single;
    frame->f_max = fmax(fixed->f ? fixed->f_listed : 0, fabs(scene->crystal.default_f));
    frame->default_f = scene->crystal.default_f;
    frame->bragg_scale = BEAM_RE2 * scene->beam.fluence * scene->crystal.scale
                         / (nsub * frame->norientation);
    background_frame(scene, frame);
    return derive_panels(ctx, scene, fixed, &layers, frame);
}
