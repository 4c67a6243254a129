/*
 * test_measured_nxmx.c - measured images in HDF5: NXmx written here and read back, files as
 * DECTRIS writes them, and damage. Without HDF5: that the call says so.
 *
 * SPDX-License-Identifier: MIT
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanobrag/nanobrag.h>

#include "io/nxmx_files.h"
#include "io/plate.h"
#include "support/files.h"
#include "support/tap.h"

#ifdef NANOBRAG_HDF5

static nb_simulator *make(const nb_scene *scene, const char *names)
{
    nb_simulator *sim = NULL;

    check_ok(nb_simulator_create(ctx, scene, names, NULL, &sim), "simulator");
    return sim;
}

static nb_measured *read_frame(const char *name, int64_t frame)
{
    nb_measured *image = NULL;

    check_ok(nb_image_read(ctx, in_folder(name), frame, &image), name);
    return image;
}

/* Checks the pixels of a frame that nxmx_fill() made. */
static void same_frame(const nb_measured *image, int frame)
{
    int32_t counts[NPIX];
    int wrong = image && image->nfast == NFAST && image->nslow == NSLOW ? 0 : NPIX;

    nxmx_fill(counts, frame);
    for (int i = 0; i < NPIX && wrong < NPIX; i++) wrong += image->pixels[i] != counts[i];
    tap_check(wrong == 0, "frame %d: %d pixels differ, allowed 0", frame, wrong);
}

static int is_near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

static int sweep_read_back(void)
{
    static const int compressions[] = {NB_COMPRESSION_DEFLATE, NB_COMPRESSION_NONE,
                                       NB_COMPRESSION_LZ4, NB_COMPRESSION_BSLZ4};
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene, "phi0");
    nb_description d;
    nb_measured *image = NULL;

    check_ok(nb_simulator_describe(sim, NULL, &d), "describe");
    for (size_t c = 0; c < COUNT(compressions); c++) {
        const nb_nxmx_options options = {.compression = compressions[c]};

        if (nxmx_write(sim, "a.nxs", &options, 3) == NB_ERR_UNSUPPORTED) continue;
        for (int frame = 0; frame < 3; frame++) {
            image = read_frame("a.nxs", frame);
            same_frame(image, frame);
            if (!image) continue;
            tap_check(image->frames == 3 && image->npanel == 1 && image->gain == 1
                          && image->overload == 2147483646 && image->nspectrum == 0,
                      "%d frames, overload %g", (int)image->frames, image->overload);
            tap_check(is_near(image->osc_start, 12.25 + 0.5 * frame)
                          && is_near(image->osc_range, 0.5),
                      "start %g, range %g", image->osc_start, image->osc_range);
            tap_check(is_near(image->pixel_fast, 0.172) && is_near(image->pixel_slow, 0.172)
                          && is_near(image->wavelength, 0.9791)
                          && is_near(image->distance, 70)
                          && is_near(image->beam_x, d.beam_fast)
                          && is_near(image->beam_y, d.beam_slow) && image->exposure > 0,
                      "pixel %g, wavelength %g, distance %g, beam %g %g", image->pixel_fast,
                      image->wavelength, image->distance, image->beam_x, image->beam_y);
            nb_measured_free(image);
        }
    }
    check_refused(nb_image_read(ctx, in_folder("a.nxs"), 3, &image), NB_ERR_ARGUMENT,
                  "a.nxs", "expected 0 to 2");
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int reals_masks_and_spectra(void)
{
    nb_source source[2] = {{{1, 0, 0}, 1.0, 1}, {{1, 0, 0}, 1.1, 3}};
    nb_scene scene = plate(NFAST, NSLOW);
    const nb_nxmx_options options = {.type = NB_TYPE_FLOAT, .bits = 32, .stills = 1};
    const double x[2] = {1.1, 1.2};
    uint8_t mask[NPIX];
    float photons[NPIX];
    const nb_array array = nb_array_f32(photons, NSLOW, NFAST);
    nb_nxmx *nxmx = NULL;
    nb_simulator *sim;

    for (int i = 0; i < NPIX; i++) mask[i] = i % 5 != 0;
    for (int i = 0; i < NPIX; i++) photons[i] = 0.1F * (float)i;
    scene.detector.mask = mask;
    scene.beam.source = source;
    scene.beam.nsource = 2;
    sim = make(&scene, "source_wavelength[1]");
    check_ok(nb_nxmx_create(sim, in_folder("f.nxs"), &options, &nxmx), "create");
    for (int i = 0; i < 2; i++) check_ok(nb_nxmx_append(nxmx, x + i, &array), "append");
    check_ok(nb_nxmx_close(nxmx), "close");
    for (int frame = 0; frame < 2; frame++) {
        nb_measured *const image = read_frame("f.nxs", frame);
        int wrong = 0;

        if (!image) continue;
        for (int i = 0; i < NPIX; i++)
            wrong += image->pixels[i] != (double)photons[i] || !image->mask
                     || image->mask[i] != mask[i];
        tap_check(wrong == 0, "%d pixels or their mask differ, allowed 0", wrong);
        tap_check(isinf(image->overload) && isnan(image->osc_start)
                      && isnan(image->osc_range),
                  "reals do not saturate, stills do not turn");
        tap_check(image->nspectrum == 2 && image->spectrum[0] == 1
                      && image->spectrum[1] == x[frame] && image->weights[0] == 0.25
                      && image->weights[1] == 0.75
                      && is_near(image->wavelength, 0.25 + 0.75 * x[frame]),
                  "%d wavelengths, mean %g", (int)image->nspectrum, image->wavelength);
        nb_measured_free(image);
    }
    nb_simulator_free(sim);
    return TAP_PASS;
}

/* ---- files as DECTRIS writes them ---- */

static void put_field(hid_t file, const char *path, hid_t type, int rank,
                      const hsize_t *size, const void *at, const char *unit)
{
    const hid_t links = H5Pcreate(H5P_LINK_CREATE), text = H5Tcopy(H5T_C_S1);
    const hid_t space =
        rank > 0 ? H5Screate_simple(rank, size, NULL) : H5Screate(H5S_SCALAR);
    hid_t field;

    H5Pset_create_intermediate_group(links, 1);
    field = H5Dcreate2(file, path, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    tap_check(field >= 0 && H5Dwrite(field, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, at) >= 0,
              "%s is written", path);
    if (unit) {
        const hid_t one = H5Screate(H5S_SCALAR);
        hid_t attribute;

        H5Tset_size(text, strlen(unit) + 1);
        attribute = H5Acreate2(field, "units", text, one, H5P_DEFAULT, H5P_DEFAULT);
        H5Awrite(attribute, text, unit);
        H5Aclose(attribute);
        H5Sclose(one);
    }
    H5Dclose(field);
    H5Sclose(space);
    H5Tclose(text);
    H5Pclose(links);
}

static void put_number(hid_t file, const char *path, double value, const char *unit)
{
    put_field(file, path, H5T_NATIVE_DOUBLE, 0, NULL, &value, unit);
}

/* Writes a data file of n frames of two panels, with numbers from `first` on. */
static void write_data(const char *name, int n, uint32_t first)
{
    const hid_t file = H5Fcreate(in_folder(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t size[4] = {(hsize_t)n, 2, 2, 3};
    uint32_t pixels[36];

    for (uint32_t i = 0; i < 36; i++) pixels[i] = i % 12 == 5 ? UINT32_MAX : first + i;
    put_field(file, "/entry/data/data", H5T_NATIVE_UINT32, 4, size, pixels, NULL);
    H5Fclose(file);
}

#define DETECTOR "/entry/instrument/detector/"

static void write_master(const char *name)
{
    static const double omega[3] = {10, 10.5, 11};
    static const uint32_t mask[12] = {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 16};
    static const hsize_t three = 3, image[3] = {2, 2, 3};
    const hid_t file = H5Fcreate(in_folder(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    put_number(file, DETECTOR "x_pixel_size", 75e-6, "m");
    put_number(file, DETECTOR "y_pixel_size", 75e-6, NULL);
    put_number(file, DETECTOR "detector_distance", 12, "cm");
    put_number(file, DETECTOR "beam_center_x", 2, "pixel");
    put_number(file, DETECTOR "beam_center_y", 4, "pixel");
    put_number(file, DETECTOR "count_time", 20, "ms");
    put_number(file, DETECTOR "detectorSpecific/countrate_correction_count_cutoff", 99,
               NULL);
    put_field(file, DETECTOR "detectorSpecific/pixel_mask", H5T_NATIVE_UINT32, 3, image,
              mask, NULL);
    put_number(file, "/entry/instrument/beam/incident_wavelength", 0.1, "nm");
    put_field(file, "/entry/sample/goniometer/omega", H5T_NATIVE_DOUBLE, 1, &three, omega,
              "degree");
    put_number(file, "/entry/sample/goniometer/omega_range_average", 0.25, NULL);
    H5Gclose(H5Gcreate2(file, "/entry/data", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_external("d_1.h5", "/entry/data/data", file, "/entry/data/data_000001",
                       H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("d_2.h5", "/entry/data/data", file, "/entry/data/data_000002",
                       H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
}

static int files_of_dectris(void)
{
    nb_measured *image = NULL;

    empty_folder();
    write_data("d_1.h5", 1, 0);
    write_data("d_2.h5", 2, 100);
    write_master("m.h5");
    image = read_frame("m.h5", 2);
    if (image) {
        int wrong = 0;

        for (int i = 0; i < 12; i++)
            wrong += image->pixels[i] != (i == 5 ? 4294967295.0 : 112.0 + i)
                     || image->mask[i] != (i != 5 && i != 11);
        tap_check(wrong == 0 && image->nfast == 3 && image->nslow == 4 && image->npanel == 2
                      && image->frames == 3,
                  "%d pixels of %d x %d differ, allowed 0; %d frames", wrong, image->nfast,
                  image->nslow, (int)image->frames);
        tap_check(is_near(image->pixel_fast, 0.075) && is_near(image->pixel_slow, 0.075)
                      && is_near(image->distance, 120) && is_near(image->beam_x, 0.15)
                      && is_near(image->beam_y, 0.3) && is_near(image->exposure, 0.02)
                      && is_near(image->wavelength, 1) && image->overload == 99
                      && image->osc_start == 11 && image->osc_range == 0.25,
                  "pixel %g, distance %g, exposure %g, wavelength %g, overload %g, start "
                  "%g",
                  image->pixel_fast, image->distance, image->exposure, image->wavelength,
                  image->overload, image->osc_start);
    }
    nb_measured_free(image);
    remove(in_folder("d_2.h5"));
    check_refused(nb_image_read(ctx, in_folder("m.h5"), 0, &image), NB_ERR_FORMAT, "m.h5",
                  "data_000002 cannot be opened");
    return TAP_PASS;
}

/* ---- damage ---- */

/* A file that was cut off is refused, or its pixels are all there. */
static int cuts_are_refused(void)
{
    const nb_scene scene = plate(NFAST, NSLOW);
    nb_simulator *sim = make(&scene, "phi0");
    nb_measured *image = NULL;
    size_t n = 0;
    char *bytes;

    check_ok(nxmx_write(sim, "a.nxs", NULL, 2), "write");
    bytes = slurp(in_folder("a.nxs"), &n);
    for (size_t cut = 8; cut < n; cut += 97) {
        put(in_folder("cut.nxs"), bytes, cut);
        check_refused(nb_image_read(ctx, in_folder("cut.nxs"), 1, &image), NB_ERR_FORMAT,
                      "cut.nxs", "HDF5");
    }
    free(bytes);
    nb_simulator_free(sim);
    return TAP_PASS;
}

static int others_are_refused(void)
{
    static const hsize_t size[3] = {1, 2, 3}, none[3] = {1, 0, 3};
    static const int32_t pixels[6] = {0};
    static const struct {
        const char *path, *part;
        const hsize_t *size;
        int rank;
    } files[] = {{"/entry/other/data", "no frames", size, 3},
                 {"/entry/data/data", "no array of numbers", size, 1},
                 {"/entry/data/data", "0 pixels", none, 3}};
    nb_measured *image = NULL;

    for (size_t i = 0; i < COUNT(files); i++) {
        const hid_t file =
            H5Fcreate(in_folder("o.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

        put_field(file, files[i].path, H5T_NATIVE_INT32, files[i].rank, files[i].size,
                  pixels, NULL);
        H5Fclose(file);
        check_refused(nb_image_read(ctx, in_folder("o.h5"), 0, &image), NB_ERR_FORMAT,
                      "o.h5", files[i].part);
    }
    return TAP_PASS;
}

#else

static int says_so(void)
{
    nb_measured *image = NULL;

    put(in_folder("a.nxs"), "\211HDF\r\n\032\n", 8);
    check_refused(nb_image_read(ctx, in_folder("a.nxs"), 0, &image), NB_ERR_UNSUPPORTED,
                  "a.nxs", "no HDF5");
    return TAP_PASS;
}

#endif

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
#ifdef NANOBRAG_HDF5
        {"sweep_read_back", sweep_read_back},
        {"reals_masks_and_spectra", reals_masks_and_spectra},
        {"files_of_dectris", files_of_dectris},
        {"cuts_are_refused", cuts_are_refused},
        {"others_are_refused", others_are_refused},
#else
        {"says_so", says_so},
#endif
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
