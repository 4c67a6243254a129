/*
 * test_attacked_memory.c - the k-th allocation of each public call is refused, for every k:
 * the call does without, or says that there is no memory, and nothing is left behind.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include <nanobrag/description.h>

#include "api/allocations.h"
#include "attack/attack.h"
#include "attack/attacked_description.h"
#include "attack/attacked_fits.h"
#include "attack/attacked_formats.h"
#include "attack/attacked_nxmx.h"
#include "attack/drawn_scene.h"
#include "io/experiments.h"
#include "support/compiled.h"
#include "support/files.h"
#include "support/renders.h"

/* What the calls work on. */
static struct drawn_scene drawn;
static nb_context *own;
static nb_simulator *sim;
static nb_hkl *reflections;
static double image_data[DRAWN_PIXELS], other_data[DRAWN_PIXELS], bar_data[DRAWN_PIXELS];
static uint16_t count_data[DRAWN_PIXELS];
static float single_data[DRAWN_PIXELS];
static nb_array image, other, bar, counts, single;

static void prepare(int makes_simulator)
{
    const nb_options how = {0};
    const int64_t nslow = drawn.scene.detector.nslow, nfast = drawn.scene.detector.nfast;

    own = renders_context(1);
    attacked_fits = (struct attacked_fits){own, &drawn.scene, &bar, &other};
    attacked_formats = (struct attacked_formats){own, &sim, &counts};
    sim = NULL;
    image = nb_array_f64(image_data, nslow, nfast);
    other = nb_array_f64(other_data, nslow, nfast);
    bar = nb_array_f64(bar_data, nslow, nfast);
    counts = nb_array_u16(count_data, nslow, nfast);
    single = nb_array_f32(single_data, nslow, nfast);
    if (makes_simulator
        && nb_simulator_create(own, &drawn.scene, "misset", &how, &sim) != NB_OK)
        abort();
    attacked_nxmx = (struct attacked_nxmx){own, sim, &counts};
    attacked_simulator = sim;
    attacked_image = &bar;
}

static void put_away(void)
{
    nb_simulator_free(sim);
    nb_context_free(own);
}

/* ---- the calls ---- */
enum { FREE = 4, MODEL_FACTORS = 4000 };
static double gradient[FREE], matrix[FREE * FREE], diagonal[FREE], value;
static const double dx[FREE] = {1, 0, 0, 1};

static nb_status create_context(void)
{
    nb_context *made;
    const nb_status status = nb_context_create(NB_API_VERSION, NULL, &made);

    nb_context_free(made);
    return status;
}
static nb_status create(void)
{
    return nb_simulator_create(own, &drawn.scene, "*", NULL, &sim);
}
static nb_status list(void)
{
    static const int hkl[6] = {1, 2, 3, 2, 2, 3};
    static const double f[2] = {4, 5};
    nb_hkl *made;
    const nb_status status = nb_hkl_create(own, 2, hkl, f, &made);

    nb_hkl_free(made);
    return status;
}
static nb_status forward(void)
{
    return nb_forward(sim, NULL, &image);
}
static nb_status forward_single(void)
{
    return nb_forward(sim, NULL, &single);
}
static nb_status batch(void)
{
    nb_array two[2] = {image, other};

    return nb_forward_batch(sim, 2, NULL, two);
}
static nb_status add(void)
{
    return nb_forward_add(sim, NULL, 0.5, &image);
}
static nb_status jvp(void)
{
    return nb_jvp(sim, NULL, 1, dx, &image);
}
static nb_status vjp(void)
{
    return nb_vjp(sim, NULL, 1, &bar, gradient);
}
static nb_status jtj(void)
{
    nb_normal normal = {.matrix = matrix, .diagonal = diagonal, .gradient = gradient};

    return nb_jtj(sim, NULL, &bar, &bar, &normal);
}
static nb_status loss(void)
{
    const nb_target target = {.observed = &bar, .kind = NB_LOSS_GAUSS};
    nb_normal normal = {.matrix = matrix, .gradient = gradient};

    return nb_loss(sim, NULL, &target, &value, &normal);
}

/* Planes in boxes of a simulator of its own, with structure factors that are few enough. */
static nb_status planes(void)
{
    enum { MOST = 800 };
    static const int box[2][4] = {{0, 3, 0, 4}, {1, 4, 1, 4}};
    static double normal_of[MOST], coupling[4 * MOST];
    const nb_target target = {.observed = &bar,
                              .kind = NB_LOSS_POISSON,
                              .background = NB_BACKGROUND_PLANES};
    nb_normal normal = {.diagonal = normal_of, .gradient = normal_of, .coupling = coupling};
    nb_scene scene = drawn.scene;
    nb_simulator *boxed_sim;
    double found[6];
    nb_status status;

    memset(scene.detector.roi, 0, sizeof scene.detector.roi);
    scene.detector.box = box[0];
    scene.detector.nbox = 2;
    status = nb_simulator_create(own, &scene, drawn.hkl ? "misset F[*]" : "misset", NULL,
                                 &boxed_sim);
    if (status != NB_OK) return status;
    if (nb_simulator_nparam(boxed_sim) > MOST) abort();
    status = nb_planes(boxed_sim, NULL, &target, found);
    if (status == NB_OK) status = nb_loss(boxed_sim, NULL, &target, &value, &normal);
    nb_simulator_free(boxed_sim);
    return status;
}

static nb_status digitize(void)
{
    const nb_digitizer how = {.noise = 1, .seed = 3};

    return nb_digitize(sim, &how, &bar, &counts);
}
static nb_status statistics(void)
{
    nb_statistics out;

    return nb_statistics_get(sim, NULL, &bar, &out);
}
static nb_status chosen(void)
{
    size_t at, n;

    return nb_simulator_select(sim, "misset_x", 1, &at, &n);
}
static nb_status device(void)
{
    int kind, id;

    return nb_device_named("auto", &kind, &id);
}
static nb_status stream(void)
{
    return nb_simulator_set_stream(sim, NULL);
}
static nb_status gradcheck(void)
{
    nb_gradcheck_row rows[4 * FREE];
    nb_gradcheck_summary summary;

    return nb_gradcheck(sim, NULL, NULL, NULL, rows, &summary);
}
static nb_status explained(void)
{
    return nb_simulator_explain(sim) ? NB_OK : NB_ERR_MEMORY;
}
static nb_status write_smv(void)
{
    return nb_smv_write(own, in_folder("a.img"), "{\nHEADER_BYTES=512;\n}\n", &counts);
}
static nb_status read_smv(void)
{
    nb_smv *read;
    const nb_status status = nb_smv_read(own, in_folder("read.img"), &read);

    nb_smv_free(read);
    return status;
}
static nb_status smv_experiment(void)
{
    nb_experiment e;
    nb_smv *read;
    nb_status status = nb_smv_read(own, in_folder("dtrek.img"), &read);

    if (status == NB_OK) status = nb_smv_experiment(own, read, "dtrek.img", &e);
    nb_smv_free(read);
    return status;
}
static nb_status write_raw(void)
{
    return nb_raw_write(own, in_folder("a.bin"), &bar, 32);
}
static nb_status write_png(void)
{
    return nb_png_write(own, in_folder("a.png"), 2, 2, (const uint8_t *)"abcdefghijkl");
}
static nb_status write_pgm(void)
{
    return nb_pgm_write(own, in_folder("a.pgm"), 2, 2, (const uint8_t *)"abcd", "");
}
static nb_status read_table(void)
{
    nb_table *read;
    const nb_status status = nb_table_read(own, in_folder("a.hkl"), 4, &read);

    nb_table_free(read);
    return status;
}

static nb_status read_titled(void)
{
    nb_table *read;
    const nb_status status = nb_table_read_titled(own, in_folder("a.hkl"), &read);

    nb_table_free(read);
    return status;
}

static nb_status read_list(nb_status (*read)(nb_context *, const char *, nb_hkl **),
                           const char *name)
{
    nb_hkl *made;
    const nb_status status = read(own, in_folder(name), &made);

    nb_hkl_free(made);
    return status;
}
static nb_status read_hkl(void)
{
    return read_list(nb_hkl_read, "a.hkl");
}
static nb_status read_groups(void)
{
    return read_list(nb_hkl_read_nanobragg, "a.hkl");
}
static nb_status read_dump(void)
{
    return read_list(nb_fdump_read, "read.dump");
}
static nb_status write_dump(void)
{
    return nb_fdump_write(own, in_folder("a.dump"), reflections, 0, NB_PROFILE_NANOBRAG);
}
static nb_status read_raw(void)
{
    return nb_raw_read(own, in_folder("read.bin"), &other);
}
static nb_status read_matrix(void)
{
    double axes[9];

    return nb_matrix_read(own, in_folder("a.mat"), axes);
}
static nb_status write_file(void)
{
    return nb_file_write(own, in_folder("a.txt"), "text", 4);
}

/* ---- models and MTZ; a build without gemmi has nothing to refuse ---- */
static const nb_fcalc calculated = {.dmin = 12, .wavelength = 1.3};

static int reads_models(void)
{
    return strstr(nb_features(), "gemmi") != NULL;
}

/* Read the model, calculate its list, and call. */
static nb_status on_model(nb_status (*call)(nb_structure *, nb_hkl *))
{
    nb_structure *structure = NULL;
    nb_hkl *made = NULL;
    nb_status status;

    if (!reads_models()) return NB_OK;
    status = nb_structure_read(own, in_folder("a.pdb"), &structure);
    if (status == NB_OK)
        status = nb_structure_fcalc(own, structure, &calculated, NULL, &made);
    if (status == NB_OK && call) status = call(structure, made);
    nb_hkl_free(made);
    nb_structure_free(structure);
    return status;
}
static nb_status model_vjp(nb_structure *structure, nb_hkl *made)
{
    static double factors[MODEL_FACTORS], atoms[NB_ATOM_NUMBERS];

    return nb_structure_vjp(own, structure, &calculated, NULL, made, factors, atoms);
}
static nb_status model_jvp(nb_structure *structure, nb_hkl *made)
{
    static double factors[MODEL_FACTORS], atoms[NB_ATOM_NUMBERS];

    return nb_structure_jvp(own, structure, &calculated, NULL, made, atoms, factors);
}
static nb_status read_model(void)
{
    nb_structure *structure = NULL;
    const nb_status status =
        reads_models() ? nb_structure_read(own, in_folder("a.pdb"), &structure) : NB_OK;

    if (reads_models()) nb_structure_free(structure);
    return status;
}
static nb_status calculate(void)
{
    return on_model(NULL);
}
static nb_status model_back(void)
{
    return on_model(model_vjp);
}
static nb_status model_along(void)
{
    return on_model(model_jvp);
}
static nb_status write_mtz(void)
{
    const nb_mtz mtz = {.cell = {30, 40, 50, 90, 90, 90}};

    return reads_models() ? nb_mtz_write(own, in_folder("a.mtz"), &mtz, reflections)
                          : NB_OK;
}
static nb_status read_mtz(void)
{
    nb_hkl *made = NULL;
    const nb_status status =
        reads_models() ? nb_mtz_read(own, in_folder("read.mtz"), NULL, 0, NULL, &made)
                       : NB_OK;

    nb_hkl_free(made);
    return status;
}

/* attack/covered.sh compares the names with the headers. */
static const struct call {
    const char *name;
    nb_status (*run)(void);
    int makes_simulator; /* 1: beforehand */
} calls[] = {{"nb_context_create", create_context, 0},
             {"nb_simulator_create", create, 0},
             {"nb_hkl_create", list, 0},
             {"nb_forward", forward, 1},
             {"nb_forward in float32", forward_single, 1},
             {"nb_forward_batch", batch, 1},
             {"nb_forward_add", add, 1},
             {"nb_jvp", jvp, 1},
             {"nb_vjp", vjp, 1},
             {"nb_jtj", jtj, 1},
             {"nb_loss", loss, 1},
             {"nb_planes", planes, 0},
             {"nb_fit_create", attacked_fit_made, 0},
             {"nb_fit_run", attacked_fit_run, 0},
             {"nb_fit_evaluate", attacked_fit_evaluated, 0},
             {"nb_fit_result_get", attacked_fit_result, 0},
             {"nb_fit_run_among", attacked_fit_run_among, 0},
             {"nb_fit_image", attacked_fit_imaged, 0},
             {"nb_fit_misfit_get", attacked_fit_compared, 0},
             {"nb_fit_write", attacked_fit_filed, 0},
             {"nb_fit_read", attacked_fit_filed, 0},
             {"nb_fit_create_expected", attacked_fit_expected, 0},
             {"nb_spot_sizes_measure", attacked_fit_sizes, 0},
             {"nb_spot_sizes_start", attacked_fit_sizes, 0},
             {"nb_spot_sizes_measure, nb_spot_sizes_start", attacked_spots, 0},
             {"nb_digitize", digitize, 1},
             {"nb_nxmx_create", attacked_nxmx_written, 1},
             {"nb_nxmx_append", attacked_nxmx_written, 1},
             {"nb_nxmx_close", attacked_nxmx_written, 1},
             {"nb_nxmx_append_file", attacked_nxmx_master, 1},
             {"nb_nxmx_check", attacked_nxmx_checked, 1},
             {"nb_nxmx_count", attacked_nxmx_counted, 1},
             {"nb_image_read, NXmx", attacked_nxmx_read, 1},
             {"nb_cbf_check", attacked_cbf_checked, 1},
             {"nb_cbf_write", attacked_cbf_written, 1},
             {"nb_statistics_get", statistics, 1},
             {"nb_simulator_describe", attacked_described, 1},
             {"nb_simulator_trace", attacked_traced, 1},
             {"nb_simulator_panel", attacked_placed, 1},
             {"nb_simulator_boxes", attacked_boxed, 1},
             {"nb_simulator_spots", attacked_spotted, 1},
             {"nb_rays", attacked_cast, 1},
             {"nb_predict", attacked_predicted, 1},
             {"nb_integrate", attacked_integrated, 1},
             {"nb_reflections_join", attacked_refl_joined, 0},
             {"nb_simulator_explain", explained, 1},
             {"nb_simulator_orientation", attacked_oriented, 1},
             {"nb_simulator_source", attacked_lit, 1},
             {"nb_simulator_resolved", attacked_resolved, 1},
             {"nb_simulator_param", attacked_parameter, 1},
             {"nb_simulator_select", chosen, 1},
             {"nb_simulator_set_stream", stream, 1},
             {"nb_device_named", device, 0},
             {"nb_gradcheck", gradcheck, 1},
             {"nb_file_write", write_file, 0},
             {"nb_smv_write", write_smv, 0},
             {"nb_smv_read", read_smv, 0},
             {"nb_smv_experiment", smv_experiment, 0},
             {"nb_raw_write", write_raw, 0},
             {"nb_png_write", write_png, 0},
             {"nb_pgm_write", write_pgm, 0},
             {"nb_raw_read", read_raw, 0},
             {"nb_matrix_read", read_matrix, 0},
             {"nb_hkl_read", read_hkl, 0},
             {"nb_hkl_read_nanobragg", read_groups, 0},
             {"nb_fdump_write", write_dump, 0},
             {"nb_fdump_read", read_dump, 0},
             {"nb_table_read", read_table, 0},
             {"nb_table_read_titled", read_titled, 0},
             {"nb_structure_read", read_model, 0},
             {"nb_structure_fcalc", calculate, 0},
             {"nb_structure_vjp", model_back, 0},
             {"nb_structure_jvp", model_along, 0},
             {"nb_mtz_write", write_mtz, 0},
             {"nb_image_read", attacked_image_read, 0},
             {"nb_reflections_read", attacked_refl_read, 0},
             {"nb_reflections_create", attacked_refl_created, 0},
             {"nb_reflections_set", attacked_refl_set, 0},
             {"nb_reflections_set_identifier", attacked_refl_identifier, 0},
             {"nb_reflections_write", attacked_refl_written, 0},
             {"nb_expt_read", attacked_expt_read, 0},
             {"nb_expt_read, panels", attacked_panels_read, 0},
             {"nb_expt_open", attacked_expt_open, 0},
             {"nb_expt_get", attacked_expt_open, 0},
             {"nb_expt_add", attacked_expt_open, 0},
             {"nb_expt_read_lattices", attacked_lattices_read, 0},
             {"nb_expt_update_begin", attacked_update_begun, 0},
             {"nb_expt_update_add", attacked_update_added, 0},
             {"nb_expt_update_write", attacked_update_written, 0},
             {"nb_xparm_read", attacked_xparm_read, 0},
             {"nb_expt_write", attacked_expt_written, 1},
             {"nb_geom_read", attacked_geom_read, 0},
             {"nb_geometry_apply", attacked_geometry_applied, 0},
             {"nb_geom_write", attacked_geom_written, 1},
             {"nb_mtz_read", read_mtz, 0}};

/* Make one call with its k-th allocation refused; returns 0 when it has not so many. */
static int refuse_one(struct attack *attack, const struct call *call, long k)
{
    const long held = allocations_held();
    const char *message;
    nb_status status;
    long made;

    prepare(call->makes_simulator);
    message = nb_context_message(own);
    made = allocations_made();
    allocations_refuse(k);
    status = call->run();
    allocations_refuse(0);
    made = allocations_made() - made;
    /* without a context there is no message */
    attack_expect(attack,
                  status == NB_OK
                      || (status == NB_ERR_MEMORY
                          && (call->run == create_context || strstr(message, "memory"))),
                  "%s without allocation %ld: status %d, \"%s\" (%s)", call->name, k,
                  status, message, drawn.text);
    put_away();
    /* the C library's own strdup() and realpath() are not counted, but their blocks are
     * when they are freed */
    attack_expect(attack, allocations_held() <= held,
                  "%s without allocation %ld: %ld blocks left (%s)", call->name, k,
                  allocations_held() - held, drawn.text);
    return status != NB_OK || made >= k;
}

static const char model_text[] =
    "CRYST1   40.000   50.000   60.000  90.00  90.00  90.00 P 21 21 21\n"
    "ATOM      1  CA  GLY A   7       1.000   2.000   3.000  1.00 20.00           C\n";

/* Write what the readers read, of the size of this scene. */
static void write_inputs(void)
{
    static const int hkl[6] = {1, 2, 3, 2, 2, 3};
    static const double f[2] = {4, 5};
    const nb_mtz mtz = {.cell = {30, 40, 50, 90, 90, 90}};

    if (nb_hkl_create(own, 2, hkl, f, &reflections) != NB_OK
        || (reads_models()
            && nb_mtz_write(own, in_folder("read.mtz"), &mtz, reflections) != NB_OK)
        || nb_fdump_write(own, in_folder("read.dump"), reflections, 0, NB_PROFILE_NANOBRAG)
               != NB_OK
        || nb_raw_write(own, in_folder("read.bin"), &bar, 64) != NB_OK
        || nb_smv_write(own, in_folder("read.img"), "{\nHEADER_BYTES=512;\n}\n", &counts)
               != NB_OK
        || nb_smv_write(own, in_folder("dtrek.img"),
                        "DETECTOR_NAMES=D_;\nSIZE1=2;\nSIZE2=2;\nD_GONIO_VALUES=0 0 0 0 0 "
                        "9;\n"
                        "D_SPATIAL_DISTORTION_INFO=1 1 1 1;\n",
                        &counts)
               != NB_OK)
        abort();
}

static int allocations(void)
{
    struct attack attack = attack_begin(15);
    long refusals = 0;

    if (!allocations_counted()) return tap_skip("malloc cannot be refused here");
    put(in_folder("a.hkl"), "1 2 3 4\n2 3 4 5\n", 16);
    put(in_folder("a.pdb"), model_text, strlen(model_text));
    put(in_folder("a.expt"), expt_text, strlen(expt_text));
    put(in_folder("panels.expt"), expt_panels_text, strlen(expt_panels_text));
    put(in_folder("split.expt"), expt_split_text, strlen(expt_split_text));
    put(in_folder("XPARM.XDS"), xparm_text, strlen(xparm_text));
    put(in_folder("a.mat"), "1 0 0 0 1 0 0 0 1\n", 18);
    for (int i = 0; i < DRAWN_PIXELS; i++) bar_data[i] = 1 + i % 3;
    while (attack_next(&attack)) {
        drawn_scene(&attack, &drawn);
        drawn.scene.psf.kind =
            NB_PSF_NONE; /* FFTW ends the program when it gets no memory */
        drawn.scene.psf.fwhm = drawn.scene.psf.radius = 0;
        prepare(0);
        write_inputs();
        put_away();
        for (size_t i = 0; i < COUNT(calls); i++)
            for (long k = 1; refuse_one(&attack, calls + i, k) && k < 1000; k++) refusals++;
        nb_hkl_free(reflections);
        drawn_scene_free(&drawn);
    }
    tap_check(refusals > 20, "%ld allocations were refused", refusals);
    attack_end(&attack, "scenes with every allocation of each call refused");
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {{"allocations", allocations}};

    compiled_environment();
    return attack_main(argc, argv, cases, COUNT(cases));
}
