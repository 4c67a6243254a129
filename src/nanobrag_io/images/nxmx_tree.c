/*
 * nxmx_tree.c - writes the groups and fields of NXmx, an application definition of NeXus,
 * except for the pixels.
 *
 * Each panel is a module of NXmx, whose position is a chain of translations: from the
 * pixels by module_offset, then by det_z, the distance along the beam. Directions are
 * vectors, so a tilt needs no rotation in the chain. A group of panels adds a rotation with
 * an offset between module_offset and det_z.
 *
 * SPDX-License-Identifier: MIT
 */
#include "nanobrag_io/images/nxmx_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "scene/detector/attenuation.h"
#include "scene/linear.h"

#define INSTRUMENT "/entry/instrument"
#define DETECTOR   INSTRUMENT "/detector"
#define DET_Z      DETECTOR "/transformations/det_z"
#define BEAM       INSTRUMENT "/beam"
#define WAVELENGTH BEAM "/incident_wavelength"
#define SPECTRUM   "incident_wavelength_1Dspectrum"
#define SAMPLE     "/entry/sample"
#define OMEGA      SAMPLE "/transformations/omega"

/* If the beam meets the detector beyond this distance, mm, or nowhere, det_z is 0, because
 * offsets relative to a large distance would lose digits. */
static const double distance_most = 1e5;

enum { PATH_LENGTH = 128, USER_MASK = 1 << 8 /* bit of pixel_mask: masked by the user */ };

void nxmx_tree_begin(struct hdf5_tree *tree, const char *name, const char *start)
{
    hdf5_attribute(tree, "/", "NX_class", "NXroot");
    hdf5_attribute(tree, "/", "default", "entry");
    hdf5_attribute(tree, "/", "creator", "nanobrag " NANOBRAG_VERSION);
    hdf5_attribute(tree, "/", "file_name", name);
    hdf5_attribute(tree, "/", "file_time", start);
    hdf5_group(tree, "/entry", "NXentry");
    hdf5_attribute(tree, "/entry", "default", "data");
    hdf5_text(tree, "/entry/definition", "NXmx");
    hdf5_text(tree, "/entry/title", "simulated diffraction images");
    hdf5_text(tree, "/entry/start_time", start);
    hdf5_text(tree, "/entry/program_name", "nanobrag");
    hdf5_attribute(tree, "/entry/program_name", "version", NANOBRAG_VERSION);
    hdf5_group(tree, "/entry/data", "NXdata");
    hdf5_attribute(tree, "/entry/data", "signal", "data");
    hdf5_group(tree, "/entry/source", "NXsource");
    hdf5_text(tree, "/entry/source/name", "simulation");
    hdf5_group(tree, SAMPLE, "NXsample");
    hdf5_text(tree, SAMPLE "/name", "simulated crystal");
    hdf5_group(tree, INSTRUMENT, "NXinstrument");
    hdf5_text(tree, INSTRUMENT "/name", "nanobrag");
    hdf5_attribute(tree, INSTRUMENT "/name", "short_name", "nanobrag");
    hdf5_text(tree, INSTRUMENT "/time_zone", "+00:00");
}

/* ---- the detector ---- */

/* Writes a field that is a translation in a chain; `after` is the path of the next step. */
static void put_step(struct hdf5_tree *tree, const char *path, double value,
                     const double vector[3], const char *after)
{
    static const double none[3] = {0, 0, 0};

    hdf5_real(tree, path, value, "mm");
    hdf5_attribute(tree, path, "transformation_type", "translation");
    hdf5_vector(tree, path, "vector", vector);
    hdf5_vector(tree, path, "offset", none);
    hdf5_attribute(tree, path, "offset_units", "mm");
    hdf5_attribute(tree, path, "depends_on", after);
}

/* Finds the rotation from the axes of a frame to the axes of a pose. about[3] becomes its
 * axis, a unit vector. Returns the angle, radian. */
static double rotation_to(double axis[3][3], double about[3])
{
    /* The quaternion is computed from its largest component (Shepperd, J. Guidance 1, 1978,
     * 223). axis[j][i] is element i, j of the rotation matrix. */
    const double trace = axis[0][0] + axis[1][1] + axis[2][2];
    double q[4]; /* cosine; then x, y, z */
    int i = 0;

    for (int k = 1; k < 3; k++)
        if (axis[k][k] > axis[i][i]) i = k;
    if (trace > axis[i][i]) {
        q[0] = 1 + trace;
        for (int k = 0; k < 3; k++) {
            const int m = (k + 1) % 3, n = (k + 2) % 3;

            q[k + 1] = axis[m][n] - axis[n][m];
        }
    } else {
        const int m = (i + 1) % 3, n = (i + 2) % 3;

        q[0] = axis[m][n] - axis[n][m];
        q[i + 1] = 1 + axis[i][i] - axis[m][m] - axis[n][n];
        q[m + 1] = axis[i][m] + axis[m][i];
        q[n + 1] = axis[i][n] + axis[n][i];
    }
    linear_copy(q + 1, about);
    if (!(linear_norm(about) > 0)) {
        about[2] = 1;
        return 0;
    }
    linear_unit(about, about);
    return 2 * atan2(linear_norm(q + 1), q[0]);
}

static double step_along_beam(const struct exposure *first)
{
    return fabs(first->distance) < distance_most ? first->distance : 0;
}

/* Converts a pose without a parent from the frame of dxtbx to the frame at the end of
 * det_z. */
static void turn_pose(const struct exposure *first, struct panel_pose *pose)
{
    laboratory_nexus(pose->at, pose->at);
    pose->at[2] -= step_along_beam(first);
    for (int i = 0; i < 3; i++) laboratory_nexus(pose->axis[i], pose->axis[i]);
}

/* Writes the path of a group's frame, or of det_z for group 0, numbered as in nb_panel. */
static void frame_of(int group, char path[PATH_LENGTH])
{
    (void)snprintf(path, PATH_LENGTH, DET_Z);
    if (group > 0)
        (void)snprintf(path, PATH_LENGTH, DETECTOR "/transformations/group%d", group - 1);
}

/* Writes group g with its frame. */
static void put_group(struct hdf5_tree *tree, const struct exposure *first, int g)
{
    const struct laboratory_group *group = first->group + g;
    struct panel_pose pose = exposure_group_pose(first, g);
    char path[PATH_LENGTH], after[PATH_LENGTH];
    double axis[3], angle;

    if (group->parent == 0) turn_pose(first, &pose);
    frame_of(g + 1, path);
    frame_of(group->parent, after);
    angle = rotation_to(pose.axis, axis);
    hdf5_real(tree, path, linear_degree(angle), "degree");
    hdf5_attribute(tree, path, "transformation_type", "rotation");
    hdf5_vector(tree, path, "vector", axis);
    hdf5_vector(tree, path, "offset", pose.at);
    hdf5_attribute(tree, path, "offset_units", "mm");
    hdf5_attribute(tree, path, "depends_on", after);
    if (*group->name) hdf5_attribute(tree, path, "equipment_component", group->name);
}

/* Writes the path of the module of panel i. Numbers have leading zeros, because readers
 * sort modules by name and this has to be the order of the panels. */
static void module_of(int i, int npanel, char path[PATH_LENGTH])
{
    const int digits = npanel > 1000 ? 4 : npanel > 100 ? 3 : npanel > 10 ? 2 : 1;

    (void)snprintf(path, PATH_LENGTH, DETECTOR "/module%0*d", digits, i);
    if (npanel == 1) (void)snprintf(path, PATH_LENGTH, DETECTOR "/module");
}

/* Writes the module of panel i. */
static void put_module(struct hdf5_tree *tree, const struct exposure *first, int i)
{
    static const double along_x[3] = {1, 0, 0};
    const struct laboratory_panel *panel = first->panel + i;
    const int64_t origin[2] = {panel->slow0, panel->fast0};
    const int64_t size[2] = {panel->nslow, panel->nfast};
    struct panel_pose pose = exposure_panel_pose(first, i);
    double length;
    char group[PATH_LENGTH], path[PATH_LENGTH + 32], chain[PATH_LENGTH + 32];
    char after[PATH_LENGTH];

    module_of(i, first->laboratory.npanel, group);
    hdf5_group(tree, group, "NXdetector_module");
    (void)snprintf(path, sizeof path, "%s/data_origin", group);
    hdf5_numbers(tree, path, (struct hdf5_numbers){origin, HDF5_WHOLE, 0, 2}, NULL);
    (void)snprintf(path, sizeof path, "%s/data_size", group);
    hdf5_numbers(tree, path, (struct hdf5_numbers){size, HDF5_WHOLE, 0, 2}, NULL);

    if (panel->group == 0) turn_pose(first, &pose);
    frame_of(panel->group, after);
    length = linear_norm(pose.at);
    if (length > 0) linear_scale(1 / length, pose.at, pose.at);
    (void)snprintf(chain, sizeof chain, "%s/module_offset", group);
    put_step(tree, chain, length, length > 0 ? pose.at : along_x, after);
    (void)snprintf(path, sizeof path, "%s/fast_pixel_direction", group);
    put_step(tree, path, panel->pixel, pose.axis[0], chain);
    (void)snprintf(path, sizeof path, "%s/slow_pixel_direction", group);
    put_step(tree, path, panel->pixel, pose.axis[1], chain);
}

static void put_sensor(struct hdf5_tree *tree, const struct exposure *first)
{
    double thickness;
    const int material = exposure_sensor(first, MATERIALS_LAST, &thickness);

    hdf5_text(tree, DETECTOR "/sensor_material", attenuation_name(material));
    hdf5_real(tree, DETECTOR "/sensor_thickness", thickness, "mm");
}

void nxmx_tree_detector(struct hdf5_tree *tree, const struct exposure *first)
{
    static const double along_z[3] = {0, 0, 1};
    const struct laboratory_panel *hit = first->panel + first->hit;
    const double pixel = hit->pixel;

    hdf5_group(tree, DETECTOR, "NXdetector");
    hdf5_text(tree, DETECTOR "/description", "simulated detector");
    hdf5_text(tree, DETECTOR "/type", "pixel");
    hdf5_text(tree, DETECTOR "/depends_on", DET_Z);
    hdf5_group(tree, DETECTOR "/transformations", "NXtransformations");
    put_step(tree, DET_Z, step_along_beam(first), along_z, ".");
    for (int g = 0; g < first->laboratory.ngroup; g++) put_group(tree, first, g);
    for (int i = 0; i < first->laboratory.npanel; i++) put_module(tree, first, i);
    if (isfinite(first->distance)) {
        hdf5_real(tree, DETECTOR "/distance", first->distance, "mm");
        hdf5_flag(tree, DETECTOR "/distance_derived", 1);
        hdf5_real(tree, DETECTOR "/beam_center_x", hit->fast0 + first->beam_fast / pixel,
                  "pixel");
        hdf5_real(tree, DETECTOR "/beam_center_y", hit->slow0 + first->beam_slow / pixel,
                  "pixel");
        hdf5_flag(tree, DETECTOR "/beam_center_derived", 1);
    }
    hdf5_real(tree, DETECTOR "/x_pixel_size", pixel, "mm");
    hdf5_real(tree, DETECTOR "/y_pixel_size", pixel, "mm");
    hdf5_real(tree, DETECTOR "/count_time", first->seconds, "s");
    hdf5_real(tree, DETECTOR "/frame_time", first->seconds, "s");
    put_sensor(tree, first);
    hdf5_flag(tree, DETECTOR "/flatfield_applied", 0);
    hdf5_flag(tree, DETECTOR "/pixel_mask_applied", 0);
    hdf5_flag(tree, DETECTOR "/countrate_correction_applied", 0);
}

void nxmx_tree_range(struct hdf5_tree *tree, int bits, double underload, double overload)
{
    if (bits > 0) hdf5_whole(tree, DETECTOR "/bit_depth_readout", bits);
    hdf5_whole(tree, DETECTOR "/underload_value", (long long)underload);
    if (overload > 0) hdf5_whole(tree, DETECTOR "/saturation_value", (long long)overload);
}

/* Returns the number of pixels that lie on panels and are not rendered. */
static size_t count_masked(const struct exposure *first)
{
    size_t masked = 0;

    for (int i = 0; i < first->laboratory.npanel; i++) {
        const struct laboratory_panel *p = first->panel + i;

        for (int s = p->slow0; s < p->slow0 + p->nslow; s++)
            for (int f = p->fast0; f < p->fast0 + p->nfast; f++)
                masked += !window_shows(first->window, s, f);
    }
    return masked;
}

int nxmx_tree_mask(nb_context *ctx, struct hdf5_tree *tree, const struct exposure *first)
{
    const struct window *window = first->window;
    const size_t n = (size_t)window->nslow * (size_t)window->nfast;
    int narrow = 0;
    int32_t *mask;

    /* pixels between panels need no mask, because no module shows them */
    if (tree->failed || window_is_whole(window) || count_masked(first) == 0) return 1;
    mask = malloc(n * sizeof *mask);
    if (!mask) return 0;
    for (int s = 0; s < window->nslow; s++)
        for (int f = 0; f < window->nfast; f++)
            mask[(size_t)s * (size_t)window->nfast + (size_t)f] =
                window_shows(window, s, f) ? 0 : USER_MASK;
    hdf5_numbers(tree, DETECTOR "/pixel_mask",
                 (struct hdf5_numbers){mask, HDF5_MASK, (hsize_t)window->nslow,
                                       (hsize_t)window->nfast},
                 NULL);
    free(mask);
    for (int i = 0; i < first->laboratory.npanel; i++)
        narrow |= first->panel[i].nfast < window->nfast && first->panel[i].nslow > 1;
    if (narrow)
        log_line(ctx, NB_LOG_WARNING, "nxmx",
                 "the file masks pixels of panels that are not as wide as the image, and "
                 "DIALS 3.12 cannot read such a mask (\"non-c-contiguous\"): stack the "
                 "panels "
                 "or mask nothing");
    return 1;
}

/* ---- the scene of nanobrag ---- */

int nxmx_tree_scene(struct hdf5_tree *tree, const struct exposure *first,
                    const struct nxmx_frame *frame, size_t n)
{
    double *rows;

    if (!first->scene) return 1;
    rows = malloc(n * sizeof *rows);
    if (!rows) return 0;
    for (size_t i = 0; i < n; i++) rows[i] = frame[i].row;
    hdf5_group(tree, NXMX_SCENE, "NXcollection");
    hdf5_reals(tree, NXMX_SCENE "/scene", first->nscene, first->scene, NULL);
    hdf5_reals(tree, NXMX_SCENE "/rows", n, rows, NULL);
    free(rows);
    return 1;
}

/* ---- the beam and the sample ---- */

/* Writes n numbers, or only one if all are equal. */
static void put_each(struct hdf5_tree *tree, const char *path, size_t n, const double *at,
                     const char *units)
{
    size_t equal = 1;

    while (equal < n && at[equal] == at[0]) equal++;
    if (equal == n)
        hdf5_real(tree, path, at[0], units);
    else
        hdf5_reals(tree, path, n, at, units);
}

/* Writes the wavelengths (half = 0) or the weights (half = 1) of m lines for n frames; if
 * all frames have the same spectrum, only once. Returns 0 without memory. */
static int put_spectra(struct hdf5_tree *tree, const char *path,
                       const struct nxmx_frame *frame, size_t n, size_t m, size_t half)
{
    const char *const units = half == 0 ? "angstrom" : NULL;
    double *all;
    size_t equal = 1;

    while (
        equal < n
        && memcmp(frame[equal].spectrum, frame[0].spectrum, 2 * m * sizeof *frame->spectrum)
               == 0)
        equal++;
    if (equal == n) {
        hdf5_reals(tree, path, m, frame[0].spectrum + half * m, units);
        return 1;
    }
    all = malloc(n * m * sizeof *all);
    if (!all) return 0;
    for (size_t i = 0; i < n; i++)
        memcpy(all + i * m, frame[i].spectrum + half * m, m * sizeof *all);
    hdf5_numbers(tree, path, (struct hdf5_numbers){all, HDF5_REAL, n, m}, units);
    free(all);
    return 1;
}

/* Adds a second name for the weights, with "weight" in the singular as older readers
 * expect. */
static void put_old_name(struct hdf5_tree *tree)
{
    if (tree->failed) return;
    (void)hdf5_checked(tree, hdf5.H5Lcreate_hard(tree->file, BEAM "/" SPECTRUM "_weights",
                                                 tree->file, BEAM "/" SPECTRUM "_weight",
                                                 H5P_DEFAULT, H5P_DEFAULT));
}

/* Writes the beam. `work` has room for 4 n numbers. Returns 0 without memory. */
static int put_beam(struct hdf5_tree *tree, const struct exposure *first,
                    const struct nxmx_frame *frame, size_t n, double *work)
{
    const double size[2] = {first->beam_size, first->beam_size};
    const size_t m = first->spectrum.n;

    hdf5_group(tree, BEAM, "NXbeam");
    for (size_t i = 0; i < n; i++) work[i] = frame[i].wavelength;
    put_each(tree, WAVELENGTH, n, work, "angstrom");
    if (m > 1) {
        hdf5_name_attribute(tree, WAVELENGTH, "variant", SPECTRUM);
        if (!put_spectra(tree, BEAM "/" SPECTRUM, frame, n, m, 0)
            || !put_spectra(tree, BEAM "/" SPECTRUM "_weights", frame, n, m, 1))
            return 0;
        put_old_name(tree);
    }
    for (size_t i = 0; i < n; i++) work[i] = frame[i].fluence / first->seconds;
    put_each(tree, BEAM "/flux", n, work, "1/s/m^2");
    for (size_t i = 0; i < n; i++) work[i] = frame[i].flux;
    put_each(tree, BEAM "/total_flux", n, work, "Hz");
    hdf5_reals(tree, BEAM "/incident_beam_size", 2, size, "mm");
    hdf5_text(tree, BEAM "/profile", "rectangular");
    for (size_t i = 0; i < n; i++)
        memcpy(work + 4 * i, frame[i].stokes, sizeof frame[i].stokes);
    hdf5_numbers(tree, BEAM "/incident_polarisation_stokes",
                 (struct hdf5_numbers){work, HDF5_REAL, n, 4}, NULL);
    return 1;
}

/* Writes the spindle and its angles, for a sweep. `work` has room for n numbers. */
static void put_goniometer(struct hdf5_tree *tree, const struct exposure *first,
                           const struct nxmx_frame *frame, size_t n, double *work)
{
    double spindle[3];

    laboratory_nexus(first->laboratory.spindle, spindle);
    hdf5_text(tree, SAMPLE "/depends_on", OMEGA);
    hdf5_group(tree, SAMPLE "/transformations", "NXtransformations");
    for (size_t i = 0; i < n; i++) work[i] = frame[i].phi;
    hdf5_reals(tree, OMEGA, n, work, "degree");
    hdf5_attribute(tree, OMEGA, "transformation_type", "rotation");
    hdf5_vector(tree, OMEGA, "vector", spindle);
    hdf5_attribute(tree, OMEGA, "depends_on", ".");
    for (size_t i = 0; i < n; i++) work[i] = frame[i].phi + frame[i].width;
    hdf5_reals(tree, OMEGA "_end", n, work, "degree");
    hdf5_real(tree, OMEGA "_increment_set", frame[0].width, "degree");
}

int nxmx_tree_end(struct hdf5_tree *tree, const struct exposure *first,
                  const struct nxmx_frame *frame, size_t n, int sweep, const char *end)
{
    double *const work = malloc(4 * n * sizeof *work);
    int enough;

    if (!work) return 0;
    enough = put_beam(tree, first, frame, n, work);
    if (sweep)
        put_goniometer(tree, first, frame, n, work);
    else
        hdf5_text(tree, SAMPLE "/depends_on", ".");
    hdf5_text(tree, "/entry/end_time", end);
    hdf5_text(tree, "/entry/end_time_estimated", end);
    free(work);
    return enough;
}
