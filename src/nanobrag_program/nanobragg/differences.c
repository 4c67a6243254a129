/*
 * differences.c - finds the points in which nanobrag, without -compat, computes or reads
 * something else than nanoBragg and which matter for this command line
 * (docs/from_nanobragg.md, rows 1 to 28).
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include <nanobrag/description.h>

#include "nanobrag_program/run.h"

#define RADIAN (3.14159265358979323846 / 180)

static void note_difference(struct run *run, int differs, const char *ours,
                            const char *theirs)
{
    const struct difference difference = {ours, theirs};
    if (differs && run->ndifference < DIFFERENCES_MOST)
        run->difference[run->ndifference++] = difference;
}

static int is_turned(const nb_detector *d)
{
    return d->twotheta != 0 || d->rotation[0] != 0 || d->rotation[1] != 0
           || d->rotation[2] != 0;
}

static void note_pivot(struct run *run)
{
    const struct settings *s = run->command.s;
    const nb_description *d = &run->command.description;
    int theirs = NB_PIVOT_BEAM;
    if (d->convention == NB_CONVENTION_XDS || d->convention == NB_CONVENTION_DIALS)
        theirs = NB_PIVOT_SAMPLE;
    if (d->convention == NB_CONVENTION_CUSTOM) theirs = s->reference_pivot;
    if (d->pivot == theirs || !is_turned(&run->command.resolved.detector)) return;
    if (d->pivot == NB_PIVOT_SAMPLE)
        note_difference(run, 1, "the detector is turned about the crystal",
                        "turns it about the beam spot");
    else
        note_difference(run, 1, "the detector is turned about the beam spot",
                        "turns it about the crystal");
}

/* Returns 1 if -odet_vector differs from the direction of fast x slow. */
static int normal_differs(const struct settings *s, const nb_detector *resolved)
{
    const double *o = s->vector[VECTOR_NORMAL];
    const double length = sqrt(o[0] * o[0] + o[1] * o[1] + o[2] * o[2]);
    if (!s->vector_given[VECTOR_NORMAL] || length == 1) return 0;
    const double *f = resolved->vectors[0], *l = resolved->vectors[1];
    const double c[3] = {f[1] * l[2] - f[2] * l[1], f[2] * l[0] - f[0] * l[2],
                         f[0] * l[1] - f[1] * l[0]};
    const double across = sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]);
    const double cosine = (c[0] * o[0] + c[1] * o[1] + c[2] * o[2]) / (across * length);
    return !(cosine > 1 - 1e-12);
}

static int any(const struct pair *pair)
{
    return pair->given[0] || pair->given[1];
}

static int vector_options(const struct settings *s)
{
    int n = 0;
    for (int i = 0; i < VECTOR_COUNT; i++) n += s->vector_given[i];
    return n;
}

static void notes_geometry(struct run *run)
{
    const struct settings *s = run->command.s;
    const nb_description *d = &run->command.description;
    const int *given = s->given;
    const int beam_convention = d->convention <= NB_CONVENTION_ADXV;
    const int near_options =
        given[OPT_ORGX] || given[OPT_ORGY] || given[OPT_XCLOSE] || given[OPT_YCLOSE];
    const int beam_options = given[OPT_XBEAM] || given[OPT_YBEAM];
    note_pivot(run);
    note_difference(run, beam_convention && near_options,
                    "the point nearest to the crystal fixes the detector",
                    "ignores it under this convention");
    note_difference(run,
                    (d->convention == NB_CONVENTION_XDS
                     || d->convention == NB_CONVENTION_DIALS)
                        && (beam_options || given[OPT_XCLOSE] || given[OPT_YCLOSE]),
                    "the beam centre or near point fixes the detector",
                    "uses -ORGX and -ORGY only under this convention");
    note_difference(run,
                    s->inherited.beam_flipped && !s->inherited.ours
                        && any(&s->inherited.beam),
                    "BEAM_CENTER_Y of the mask is taken as it stands", "turns it round");
    note_difference(run,
                    s->inherited.has_twotheta && s->inherited.twotheta != 0
                        && !given[OPT_TWOTHETA],
                    "TWOTHETA of the header is used", "ignores it");
    note_difference(run, normal_differs(s, &run->command.resolved.detector),
                    "-odet_vector is used as given", "replaces it by fast x slow");
    note_difference(run,
                    run->command.resolved.detector.twotheta != 0
                        && d->pivot == NB_PIVOT_BEAM,
                    "distance and beam centre are those of the turned detector",
                    "prints them without two theta");
    note_difference(run, d->thickness > 0,
                    "each sensor layer counts with its own share of the absorption",
                    "weights all layers by the share of the last layer");
    note_difference(run, run->command.resolved.detector.curved,
                    "the curved detector is not mirrored", "mirrors the pattern");
    note_difference(run,
                    s->inherited.has_close && given[OPT_DISTANCE]
                        && !given[OPT_CLOSE_DISTANCE],
                    "-distance overrides CLOSE_DISTANCE of the header",
                    "lets the header override it");
    note_difference(run, s->named >= 0 && vector_options(s),
                    "vector options change the axes of the chosen convention",
                    "keeps either the convention or the vectors");
}

/* Returns 1 if the steps of a grid do not fill its range; nanoBragg does not centre such a
 * grid. */
static int grid_differs(double range, double step, int n, int one_asked)
{
    if (n > 1) return fabs(step * (n - 1) - range) > 1e-9 * range;
    return one_asked && range > 0;
}

static void notes_sampling(struct run *run)
{
    const nb_description *d = &run->command.description;
    const nb_scene *asked = &run->command.s->scene, *scene = &run->command.resolved;
    int grid = 0;
    for (int i = 0; i < 2; i++)
        grid |= grid_differs(d->divergence[i], d->divergence_step[i],
                             scene->beam.ndivergence[i], asked->beam.ndivergence[i] == 1);
    grid |= grid_differs(d->dispersion, d->dispersion_step, d->ndispersion,
                         asked->beam.ndispersion == 1);
    note_difference(run, scene->scan.osc < 0, "a negative -osc turns backwards",
                    "ignores it");
    note_difference(run, scene->scan.osc != 0, "phi is sampled in the middle of each step",
                    "samples the start of each step");
    note_difference(run, grid && !run->command.inputs.nsource,
                    "divergence and dispersion grids are centred and counts of 1 kept",
                    "starts them at minus half the range");
    const double weight = (double)d->nsource * d->nphi * d->ndomains;
    note_difference(run, weight != d->nlayers, "the printed solid angle is the true one",
                    "divides it by sources, phi steps and domains");
    note_difference(run, run->command.s->mask != NULL,
                    "the printed rmsd leaves masked pixels out", "counts them as 0");
}

/* Returns 1 if nanoBragg's c*_z differs from the right one, by the ratio computed below. */
static int cell_differs(const double cell[6])
{
    double c[3], s[3];
    for (int i = 0; i < 3; i++) {
        const double angle = (cell[3 + i] > 0 ? cell[3 + i] : 90) * RADIAN;
        c[i] = cos(angle);
        s[i] = sin(angle);
    }
    const double cosine_star = (c[0] * c[1] - c[2]) / (s[0] * s[1]);
    const double sine_star = sqrt(1 - cosine_star * cosine_star);
    /* the ratio c* V/(a b c sin ga*), with c* = a b sin ga/V */
    return fabs(s[2] / sine_star - 1) > 1e-9;
}

static int weights_differ(const struct inputs *in)
{
    for (int i = 1; i < in->nsource; i++)
        if (in->sources[i].weight != in->sources[0].weight) return 1;
    return 0;
}

static int few(const double n[3])
{
    return n[0] <= 2 || n[1] <= 2 || n[2] <= 2;
}

static void notes_crystal(struct run *run)
{
    const struct settings *s = run->command.s;
    const nb_description *d = &run->command.description;
    const int shape = run->command.resolved.crystal.shape;
    note_difference(run,
                    run->command.inputs.hkl && s->scene.crystal.interpolate == 0
                        && few(s->ncells) != few(d->ncells),
                    "interpolation is chosen by the final crystal size",
                    "chooses before -xtalsize");
    note_difference(run, s->random_misset, "random orientations are uniform",
                    "favours some");
    note_difference(run, s->matrix == NULL && cell_differs(s->scene.crystal.cell),
                    "cell vectors are those of -cell", "distorts triclinic cells");
    note_difference(run, s->matrix && s->scene.crystal.cell[0] > 0,
                    "-cell gives lengths and angles, -mat the orientation",
                    "ignores the angles");
    note_difference(run, d->ndomains > 1, "mosaic domains fill the mosaic cap evenly",
                    "draws them at random");
    note_difference(run, shape == NB_SHAPE_GAUSS || shape == NB_SHAPE_TOPHAT,
                    "the width of a spot follows Na, Nb and Nc axis by axis",
                    "multiplies all three");
}

static int has_unused_dump(const struct settings *s)
{
    struct stat st;
    return !s->hkl && !s->dump && stat("Fdump.bin", &st) == 0;
}

static void differences_find(struct run *run)
{
    const struct settings *s = run->command.s;
    const nb_background *background = &run->command.resolved.background;
    if (s->compat) return;
    notes_geometry(run);
    notes_sampling(run);
    notes_crystal(run);
    note_difference(run, weights_differ(&run->command.inputs), "source weights are used",
                    "ignores them");
    note_difference(run, s->stol != NULL, "-stol shapes the background",
                    "reads it without effect");
    note_difference(run, background->water > 0,
                    "the water background does not depend on steps and grows with the "
                    "fluence",
                    "divides it by the steps and squares the fluence");
    note_difference(run, s->noise, "noise is drawn by a counter-based generator",
                    "draws from one stream in float");
    note_difference(run, has_unused_dump(s), "Fdump.bin is read with -dump only",
                    "reads it whenever it is there");
}

void differences_note(struct run *run)
{
    differences_find(run);
    if (run->command.s->verbose)
        for (int i = 0; i < run->ndifference; i++)
            message_note(run->command.messages, "%s (nanoBragg %s; -compat nanobragg)",
                         run->difference[i].ours, run->difference[i].theirs);
    else if (run->ndifference > 0 && !run->command.s->explain)
        message_note(run->command.messages,
                     "nanoBragg would compute another image, because of %d %s that %s "
                     "corrected here; -explain lists %s",
                     run->ndifference, run->ndifference == 1 ? "point" : "points",
                     run->ndifference == 1 ? "is" : "are",
                     run->ndifference == 1 ? "it" : "them");
}
