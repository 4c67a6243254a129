/*
 * fit/identity.c - numbers by which a shot is told from another: of its scene, its loss and
 * its data. A file of a fit holds them, so that a fit of something else is refused, with
 * the name of what differs.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>

#include <nanobrag/io.h>

#include "base/array.h"
#include "base/context.h"
#include "fit/fit.h"

static const char *const names[IDENTITY_NUMBERS] = {
    "the width of the image",
    "the height of the image",
    "the number of rendered pixels",
    "the pixel size",
    "the x of the detector's origin",
    "the y of the detector's origin",
    "the z of the detector's origin",
    "the detector's thickness",
    "cell_a",
    "cell_b",
    "cell_c",
    "the volume of the cell",
    "misset_x",
    "misset_y",
    "misset_z",
    "ncells_a",
    "ncells_b",
    "ncells_c",
    "the shape of the crystal",
    "the mosaic spread",
    "the number of mosaic domains",
    "the wavelength",
    "the fluence",
    "the number of sources",
    "the number of phi steps",
    "the oversampling",
    "the scale",
    "the number of reflections",
    "the water",
    "the loss",
    "the read-out noise",
    "the gain",
    "the saturation",
    "the background",
    "the sum of the observed image",
};

const char *identity_name(size_t i)
{
    return names[i];
}

static double sum_of(const nb_array *image)
{
    double sum = 0;

    if (!image || image->device != NB_CPU || image->ndim != 2) return 0;
    for (int64_t s = 0; s < image->shape[0]; s++)
        for (int64_t f = 0; f < image->shape[1]; f++) sum += array_get(image, s, f);
    return isfinite(sum) ? sum : 0;
}

nb_status identity_take(nb_fit *fit, nb_simulator *sim, const nb_shot *shot, double *out)
{
    nb_description d;
    nb_scene s;
    nb_hkl_info reflections = {0};

    NB_TRY(nb_describe(sim, NULL, &d));
    NB_TRY(nb_resolved(sim, NULL, &s));
    if (s.crystal.hkl) nb_hkl_info_get(s.crystal.hkl, &reflections);
    {
        const double numbers[IDENTITY_NUMBERS] = {
            d.nfast,
            d.nslow,
            (double)d.pixels,
            d.pixel,
            d.origin[0],
            d.origin[1],
            d.origin[2],
            d.thickness,
            d.cell[0],
            d.cell[1],
            d.cell[2],
            d.volume,
            d.misset[0],
            d.misset[1],
            d.misset[2],
            d.ncells[0],
            d.ncells[1],
            d.ncells[2],
            s.crystal.shape,
            s.crystal.mosaic[0],
            d.ndomains,
            s.beam.wavelength,
            d.fluence,
            d.nsource,
            d.nphi,
            d.oversample,
            s.crystal.scale,
            (double)reflections.count,
            s.background.water,
            shot->target.kind,
            shot->target.sigma_readout,
            shot->target.gain,
            shot->target.saturation,
            shot->target.background,
            fit->is_expected ? 0 : sum_of(shot->target.observed),
        };

        for (size_t i = 0; i < IDENTITY_NUMBERS; i++) out[i] = numbers[i];
    }
    return NB_OK;
}
