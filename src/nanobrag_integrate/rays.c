/*
 * rays.c - nb_rays(): the geometry of reflections at places on the detector.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>
#include <nanobrag/reflections.h>

#include "base/context.h"
#include "nanobrag_integrate/lattice.h"
#include "nanobrag_integrate/vectors.h"
#include "simulator.h"

/* What rays of one panel and one lattice share. */
struct place {
    nb_description d;
    nb_panel panel;
    int panel_of; /* number of the panel; -1: none yet */
    double pixel, wavelength, osc;
    const double (*star)[3];
};

/* a*, b*, c* of a lattice. */
struct stars {
    int is_known;
    double star[3][3];
};

/* Writes the vector from the crystal to a point of a panel, mm. */
static void point_of(const nb_panel *p, const double mm[2], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = p->origin[i] + mm[0] * p->fast[i] + mm[1] * p->slow[i];
}

/* Takes off how far spots are shifted along the ray by the depth at which the sensor
 * absorbs them, as DIALS does. */
static void correct_depth(const struct place *at, double mm[2])
{
    const double mu = at->d.mu / 1000, thickness = at->d.thickness / 1000;
    double ray[3], normal[3];

    if (!(mu > 0) || !(thickness > 0)) return;
    point_of(&at->panel, mm, ray);
    unit(ray);
    cross(at->panel.fast, at->panel.slow, normal);
    const double path = thickness / fabs(dot(ray, normal));
    const double depth = 1 / mu - (path + 1 / mu) * exp(-mu * path);

    mm[0] -= depth * dot(ray, at->panel.fast);
    mm[1] -= depth * dot(ray, at->panel.slow);
}

/* Returns the angle by which a reflection of a still turns to the Ewald sphere, as DIALS
 * defines it, radian. */
static double delta_psi(const double q[3], const double beam[3], double wavelength)
{
    const double qq = dot(q, q), along = -0.5 * qq * wavelength;
    double axis[3], across[3], first[3] = {q[0], q[1], q[2]}, second[3], on[3];

    cross(q, beam, axis);
    unit(axis);
    cross(beam, axis, across);
    unit(across);
    for (int i = 0; i < 3; i++)
        on[i] = along * beam[i] + sqrt(fmax(qq - along * along, 0)) * across[i];
    unit(first);
    cross(first, axis, second);
    return -atan2(dot(on, second), dot(on, first));
}

static void find(const struct place *at, nb_ray *ray)
{
    double way[3], q[3] = {0, 0, 0};

    ray->mm[0] = ray->fast * at->pixel;
    ray->mm[1] = ray->slow * at->pixel;
    correct_depth(at, ray->mm);
    point_of(&at->panel, ray->mm, way);
    unit(way);
    ray->wavelength = at->wavelength;
    ray->d = ray->delta_psi = 0;
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) q[j] += ray->hkl[k] * at->star[k][j];
    if (dot(q, q) > 0) {
        ray->d = 1 / sqrt(dot(q, q));
        if (at->osc == 0) ray->delta_psi = delta_psi(q, at->d.beam, at->wavelength);
        if (at->d.nsource > 1 || at->d.dispersion > 0)
            ray->wavelength = 2 * ray->d * sqrt(fmax(0, (1 - dot(way, at->d.beam)) / 2));
    }
    for (int k = 0; k < 3; k++) /* from our frame to the frame of DIALS */
        ray->s1[k] = (k == 1 ? 1 : -1) * way[k] / ray->wavelength;
}

nb_status nb_rays(nb_simulator *sim, const double *x, size_t n, nb_ray *ray)
{
    struct place at = {.panel_of = -1};
    struct stars *stars;
    nb_scene scene;
    nb_status status = NB_OK;

    if (!sim || (!ray && n > 0)) return NB_ERR_ARGUMENT;
    NB_TRY(nb_simulator_describe(sim, x, &at.d));
    NB_TRY(nb_simulator_resolved(sim, x, &scene));
    at.wavelength = scene.beam.wavelength;
    at.osc = scene.scan.osc;
    stars = calloc((size_t)scene.crystal.nlattice + 1, sizeof *stars);
    if (!stars) return fail_memory(sim->ctx, "rays");
    for (size_t i = 0; i < n && status == NB_OK; i++) {
        const int lattice = ray[i].lattice;

        if (lattice < 0 || lattice > scene.crystal.nlattice)
            status = fail(sim->ctx, NB_ERR_ARGUMENT, "ray %zu has lattice %d of %d", i,
                          lattice, scene.crystal.nlattice + 1);
        if (status == NB_OK && !stars[lattice].is_known)
            status = lattice_stars(sim->ctx, sim, x, lattice, stars[lattice].star);
        if (status == NB_OK && ray[i].panel != at.panel_of)
            status = nb_simulator_panel(sim, x, ray[i].panel, &at.panel);
        if (status != NB_OK) break;
        stars[lattice].is_known = 1;
        at.panel_of = ray[i].panel;
        at.pixel = at.panel.pixel > 0 ? at.panel.pixel : at.d.pixel;
        at.star = (const double(*)[3])stars[lattice].star;
        find(&at, ray + i);
    }
    free(stars);
    return status;
}
