/*
 * validate.c - checks the range of every number of a scene, by two tables of rules.
 * Contradictions between numbers are found where those are resolved.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stddef.h>

#include "base/context.h"
#include "scene/scene.h"

struct rule {
    const char *name, *option; /* member of nb_scene, and option of the program */
    size_t offset; /* where `count` doubles begin in nb_scene */
    int count;
    double lower, upper;
};

#define ANY HUGE_VAL
#define RULE(member, count, lower, upper, option)                                          \
    {                                                                                      \
#member, option, offsetof(nb_scene, member), count, lower, upper                   \
    }

static const struct rule number_rules[] = {
    RULE(crystal.cell[0], 3, 0, 1e6, "-cell"),
    RULE(crystal.cell[3], 3, 0, 180, "-cell, angles"),
    RULE(crystal.matrix, 9, -1e6, 1e6, "-mat"),
    RULE(crystal.misset, 3, -1e6, 1e6, "-misset"),
    RULE(crystal.rotation, 3, -1e6, 1e6, ""),
    RULE(crystal.ncells, 3, 0, 1e9, "-N"),
    RULE(crystal.ncells_off, 3, -1e9, 1e9, ""),
    RULE(crystal.mosaic, 3, 0, 360, "-mosaic"),
    RULE(crystal.fudge, 1, 0, 1e30, "-fudge"),
    RULE(crystal.b_factor, 1, -1e4, 1e6, ""),
    RULE(crystal.scale, 1, -1e30, 1e30, ""),
    RULE(crystal.default_f, 1, -1e30, 1e30, "-default_F"),
    RULE(crystal.size, 3, 0, 1e6, "-xtalsize, mm"),
    RULE(detector.origin, 3, -1e9, 1e9, "-Xbeam -Ybeam -ORGX -ORGY -pix0_vector"),
    RULE(detector.also, 3, -1e9, 1e9, "-ORGX -ORGY -Xclose -Yclose"),
    RULE(detector.distance, 1, -1e9, 1e9, "-distance"),
    RULE(detector.close_distance, 1, -1e9, 1e9, "-close_distance"),
    RULE(detector.pixel, 1, 0, 1e6, "-pixel"),
    RULE(detector.rotation, 3, -1e6, 1e6, "-detector_rotx, _roty, _rotz"),
    RULE(detector.twotheta, 1, -1e6, 1e6, "-twotheta"),
    RULE(detector.vectors, 12, -1e9, 1e9,
         "-fdet_vector, -sdet_vector, -odet_vector, -twotheta_axis"),
    RULE(detector.thickness, 1, 0, 1e9, "-detector_thick"),
    RULE(detector.attenuation, 1, 0, ANY, "-detector_abs"),
    RULE(detector.size, 2, 0, 1e9, "-detsize"),
    RULE(beam.wavelength, 1, 0, 1e6, "-lambda, -energy"),
    RULE(beam.direction, 3, -1e9, 1e9, "-beam_vector"),
    RULE(beam.fluence, 1, 0, 1e60, "-fluence"),
    RULE(beam.polarization, 1, -1e6, 1e6, "-polar"),
    RULE(beam.polarization_axis, 3, -1e9, 1e9, "-polar_vector"),
    RULE(beam.dispersion, 1, 0, 2, "-dispersion, a fraction"),
    RULE(beam.divergence, 2, 0, 6284, "-hdivrange, -vdivrange"),
    RULE(beam.divergence_step, 2, 0, 6284, "-hdivstep, -vdivstep"),
    RULE(beam.flux, 1, 0, 1e60, "-flux"),
    RULE(beam.exposure, 1, 0, 1e30, "-exposure"),
    RULE(beam.size, 1, -1e9, 1e9, "-beamsize"),
    RULE(scan.phi0, 1, -1e6, 1e6, "-phi"),
    RULE(scan.osc, 1, -1e6, 1e6, "-osc"),
    RULE(scan.axis, 3, -1e9, 1e9, "-spindle_axis"),
    RULE(scan.step, 1, -1e6, 1e6, "-phistep"),
    RULE(background.water, 1, 0, 1e9, "-water"),
    RULE(background.density, 1, 0, 1e6, "-density"),
    RULE(background.molecular_weight, 1, 0, 1e9, "-MW"),
    RULE(dmin, 1, 0, 1e9, "-dmin"),
    RULE(psf.fwhm, 1, 0, 1e6, "-psf_fwhm"),
};

struct count_rule {
    const char *name, *option;
    size_t offset; /* where the int lies in nb_scene */
    int lower, upper;
};

#define COUNT(member, lower, upper, option)                                                \
    {                                                                                      \
#member, option, offsetof(nb_scene, member), lower, upper                          \
    }

static const struct count_rule count_rules[] = {
    COUNT(crystal.ndomains, 0, 100000000, "-mosaic_domains"),
    COUNT(crystal.system, NB_SYSTEM_NONE, NB_CUBIC, ""),
    COUNT(crystal.shape, NB_SQUARE, NB_GAUSS_STAR, ""),
    COUNT(crystal.interpolate, NB_INTERPOLATE_AUTO, NB_TRICUBIC, ""),
    COUNT(detector.nslow, 0, 1000000, "-detpixels_s"),
    COUNT(detector.nfast, 0, 1000000, "-detpixels_f"),
    COUNT(detector.convention, NB_MOSFLM, NB_CUSTOM, ""),
    COUNT(detector.origin_kind, NB_ORIGIN_DEFAULT, NB_ORIGIN_CLOSE, ""),
    COUNT(detector.also_kind, NB_ORIGIN_DEFAULT, NB_ORIGIN_CLOSE, ""),
    COUNT(detector.pivot, NB_PIVOT_DEFAULT, NB_PIVOT_SAMPLE, ""),
    COUNT(detector.nlayers, 0, 1000000, "-thicksteps"),
    COUNT(beam.ndispersion, 0, 100000000, "-dispsteps"),
    COUNT(beam.ndivergence[0], 0, 100000000, "-hdivsteps"),
    COUNT(beam.ndivergence[1], 0, 100000000, "-vdivsteps"),
    COUNT(beam.nsource, 0, 100000000, "-sourcefile"),
    COUNT(scan.nphi, 0, 100000000, "-phisteps"),
    COUNT(oversample, 0, 10000, "-oversample"),
    COUNT(psf.kind, NB_PSF_NONE, NB_PSF_FIBER, "-psf"),
    COUNT(psf.radius, 0, 1000000, "-psf_radius"),
};

static nb_status check_numbers(nb_context *ctx, const nb_scene *scene)
{
    for (size_t i = 0; i < sizeof number_rules / sizeof *number_rules; i++) {
        const struct rule *r = number_rules + i;
        const double *v = (const double *)(const void *)((const char *)scene + r->offset);

        for (int k = 0; k < r->count; k++)
            if (!(v[k] >= r->lower && v[k] <= r->upper))
                return fail(ctx, NB_ERR_ARGUMENT,
                            "%s (number %d) is %g, expected %g to %g%s%s", r->name, k + 1,
                            v[k], r->lower, r->upper, *r->option ? ": " : "", r->option);
    }
    return NB_OK;
}

static nb_status check_counts(nb_context *ctx, const nb_scene *scene)
{
    for (size_t i = 0; i < sizeof count_rules / sizeof *count_rules; i++) {
        const struct count_rule *r = count_rules + i;
        const int v = *(const int *)(const void *)((const char *)scene + r->offset);

        if (v < r->lower || v > r->upper)
            return fail(ctx, NB_ERR_ARGUMENT, "%s is %d, expected %d to %d%s%s", r->name, v,
                        r->lower, r->upper, *r->option ? ": " : "", r->option);
    }
    return NB_OK;
}

static nb_status check_lists(nb_context *ctx, const nb_scene *scene)
{
    if (scene->beam.nsource > 0 && !scene->beam.source)
        return fail(ctx, NB_ERR_ARGUMENT, "beam.source is NULL but beam.nsource is %d",
                    scene->beam.nsource);
    for (int i = 0; i < scene->beam.nsource; i++) {
        const nb_source *s = scene->beam.source + i;

        if (!isfinite(s->direction[0]) || !isfinite(s->direction[1])
            || !isfinite(s->direction[2]) || !isfinite(s->wavelength)
            || !isfinite(s->weight))
            return fail(ctx, NB_ERR_ARGUMENT, "source %d holds a number that is not finite",
                        i + 1);
    }
    if (scene->crystal.domain_weight && scene->crystal.ndomains < 1)
        return fail(ctx, NB_ERR_ARGUMENT,
                    "crystal.domain_weight needs their number, crystal.ndomains");
    for (int i = 0; scene->crystal.domain_weight && i < scene->crystal.ndomains; i++) {
        const double weight = scene->crystal.domain_weight[i];

        if (!(weight >= 0) || !isfinite(weight))
            return fail(ctx, NB_ERR_ARGUMENT,
                        "crystal.domain_weight[%d] is %g, expected 0 or more", i, weight);
    }
    if (scene->background.nstol > 0 && !scene->background.stol)
        return fail(ctx, NB_ERR_ARGUMENT, "background.stol is NULL but nstol is %zu",
                    scene->background.nstol);
    if (scene->background.nstol > 1000000)
        return fail(ctx, NB_ERR_ARGUMENT, "background.nstol is %zu, expected up to 1000000",
                    scene->background.nstol);
    for (size_t i = 0; i < 2 * scene->background.nstol; i++)
        if (!isfinite(scene->background.stol[i]))
            return fail(ctx, NB_ERR_ARGUMENT,
                        "row %zu of background.stol holds a number that is not finite",
                        i / 2 + 1);
    return NB_OK;
}

/* Checks members whose values this version does not support yet. */
static nb_status check_supported(nb_context *ctx, const nb_scene *scene)
{
    if (scene->detector.npanel < 0 || scene->detector.npanel > 1)
        return fail(ctx, NB_ERR_UNSUPPORTED, "detector.npanel is %d; this version has 1",
                    scene->detector.npanel);
    return NB_OK;
}

nb_status scene_validate(nb_context *ctx, const nb_scene *scene)
{
    NB_TRY(check_numbers(ctx, scene));
    NB_TRY(check_counts(ctx, scene));
    NB_TRY(check_lists(ctx, scene));
    NB_TRY(check_supported(ctx, scene));
    if (scene->quirks & ~(uint64_t)NB_QUIRK_ALL)
        return fail(ctx, NB_ERR_ARGUMENT, "quirks holds bits that are no NB_QUIRK");
    if (scene->beam.wavelength != 0 && scene->beam.wavelength < 1e-6)
        return fail(ctx, NB_ERR_ARGUMENT, "beam.wavelength is %g A, expected at least 1e-6",
                    scene->beam.wavelength);
    if (scene->psf.kind != NB_PSF_NONE && !(scene->psf.fwhm > 0))
        return fail(ctx, NB_ERR_SCENE, "a point spread needs a width; give -psf_fwhm");
    if (scene->psf.kind == NB_PSF_NONE && (scene->psf.fwhm > 0 || scene->psf.radius > 0))
        return fail(ctx, NB_ERR_SCENE,
                    "a point-spread width or radius needs a kind; give -psf gauss or -psf "
                    "fiber");
    return NB_OK;
}
