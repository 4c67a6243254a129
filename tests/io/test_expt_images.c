/*
 * test_expt_images.c - the images that the experiments of an .expt name, and experiments
 * that are taken from an .expt in memory. SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/experiments.h"
#include "nanobrag_io/experiment/models.h"
#include "scene/probe.h"
#include "support/files.h"

#define LIST(experiments, sets, scans)                                                     \
    "{\"__id__\":\"ExperimentList\",\"experiment\":[" experiments "],\"imageset\":[" sets  \
    "],\"scan\":[" scans "]}"

/* Checks one image of a list. */
static void same(const nb_expt_image *found, const nb_expt_image *expected)
{
    tap_check(!strcmp(found->file, expected->file), "file %s, expected %s", found->file,
              expected->file);
    tap_check(!strcmp(found->identifier, expected->identifier),
              "identifier %s, expected %s", found->identifier, expected->identifier);
    tap_check(found->frame == expected->frame && found->experiment == expected->experiment
                  && found->first == expected->first && found->image == expected->image
                  && found->array == expected->array,
              "frame %lld, experiment %d, first %d, image %d, array %d; expected %lld, %d, "
              "%d, %d, %d",
              (long long)found->frame, found->experiment, found->first, found->image,
              found->array, (long long)expected->frame, expected->experiment,
              expected->first, expected->image, expected->array);
}

static void lists(const char *text, size_t n, const nb_expt_image *expected)
{
    nb_expt *expt = NULL;
    const nb_expt_image *list;
    size_t found = 99;

    check_ok(expt_open_parse(ctx, in_folder("a.expt"), text, strlen(text), &expt), text);
    list = nb_expt_images(expt, &found);
    tap_check(found == n, "%zu images, expected %zu", found, n);
    for (size_t i = 0; i < n && found == n; i++) same(list + i, expected + i);
    nb_expt_free(expt);
}

static int stills(void)
{
    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    lists(LIST("{\"imageset\":0,\"identifier\":\"one\"},{\"imageset\":1},{}",
               "{\"images\":[\"a.cbf\"]},{\"images\":[\"b.h5\"],\"single_file_indices\":[7]"
               "}",
               ""),
          3,
          (const nb_expt_image[]){{"a.cbf", -1, 0, 0, 0, 0, "one"},
                                  {"b.h5", 7, 1, 1, 0, 0, ""},
                                  {"", 0, 2, 2, 0, 0, ""}});
    /* another beam: no lattice, but an image of its own; and a scan without images */
    lists(LIST("{\"imageset\":0,\"scan\":0,\"crystal\":0,\"beam\":0},"
               "{\"imageset\":0,\"scan\":0,\"crystal\":1,\"beam\":1},{\"scan\":0}",
               "{\"images\":[\"a.cbf\"]}",
               "{\"image_range\":[101,101]}],\"beam\":[{\"wavelength\":1},{\"wavelength\":"
               "2}"),
          3,
          (const nb_expt_image[]){{"a.cbf", -1, 0, 0, 0, 100, ""},
                                  {"a.cbf", -1, 1, 1, 0, 100, ""},
                                  {"", 100, 2, 2, 0, 100, ""}});
    return 0;
}

static int sweeps(void)
{
    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    lists(LIST("{\"imageset\":0,\"scan\":0,\"crystal\":0},"
               "{\"imageset\":0,\"scan\":0,\"crystal\":1},"
               "{\"imageset\":1,\"scan\":1}",
               "{\"template\":\"x_###.img\"},{\"template\":\"y_master.h5\"}",
               "{\"image_range\":[9,10]},{\"image_range\":[3,4]}"),
          6,
          (const nb_expt_image[]){{"x_009.img", -1, 0, 0, 0, 8, ""},
                                  {"x_010.img", -1, 0, 0, 1, 9, ""},
                                  {"x_009.img", -1, 1, 0, 0, 8, ""},
                                  {"x_010.img", -1, 1, 0, 1, 9, ""},
                                  {"y_master.h5", 2, 2, 2, 0, 2, ""},
                                  {"y_master.h5", 3, 2, 2, 1, 3, ""}});
    return 0;
}

/* A file that is not where the .expt says lies beside it, perhaps compressed. */
static int moved(void)
{
    char beside[300];

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    put(in_folder("m_1.cbf.bz2"), "", 0);
    (void)snprintf(beside, sizeof beside, "%s", in_folder("m_1.cbf.bz2"));
    lists(LIST("{\"imageset\":0}", "{\"images\":[\"/nowhere/at/all/m_1.cbf\"]}", ""), 1,
          (const nb_expt_image[]){{beside, -1, 0, 0, 0, 0, ""}});
    lists(LIST("{\"imageset\":0}", "{\"images\":[\"m_1.cbf\"]}", ""), 1,
          (const nb_expt_image[]){{beside, -1, 0, 0, 0, 0, ""}});
    return 0;
}

/* Experiments from memory are those of nb_expt_read() and nb_expt_read_lattices(). */
static int taken(void)
{
    nb_expt *expt = NULL;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");

    check_ok(expt_open_parse(ctx, "input", expt_split_text, strlen(expt_split_text), &expt),
             "the file");
    for (int lattices = 0; lattices < 2; lattices++) {
        nb_experiment a, b;

        check_ok(nb_expt_get(ctx, expt, 0, lattices, &a), "from memory");
        check_ok(expt_parse(ctx, "input", expt_split_text, strlen(expt_split_text),
                            &(struct expt_request){0, &b, lattices}),
                 "from the text");
        tap_check(!memcmp(a.scene.crystal.matrix, b.scene.crystal.matrix,
                          sizeof a.scene.crystal.matrix)
                      && a.scene.crystal.nlattice == b.scene.crystal.nlattice
                      && a.scene.crystal.nlattice == lattices && a.images == b.images,
                  "the same crystal, %d lattices, %d images", a.scene.crystal.nlattice,
                  a.images);
        nb_experiment_clear(&a);
        nb_experiment_clear(&b);
    }
    nb_expt_free(expt);
    return 0;
}

/* Several files: the experiments of a file follow those of the files before it. */
static int added(void)
{
    nb_expt *expt = NULL;
    nb_experiment e;
    size_t n = 0;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");
    put(in_folder("split.expt"), expt_split_text, strlen(expt_split_text));
    put(in_folder("panels.expt"), expt_panels_text, strlen(expt_panels_text));
    check_ok(nb_expt_open(ctx, in_folder("panels.expt"), &expt), "the first file");
    check_ok(nb_expt_add(ctx, expt, in_folder("split.expt")), "another");
    check_ok(nb_expt_add(ctx, expt, in_folder("panels.expt")), "the first again");
    check_refused(nb_expt_add(ctx, expt, in_folder("none.expt")), NB_ERR_FILE, "none.expt",
                  "");
    check_refused(nb_expt_add(ctx, NULL, in_folder("split.expt")), NB_ERR_ARGUMENT, "NULL",
                  "");
    tap_check(nb_expt_count(expt) == 5 && nb_expt_count(NULL) == 0, "five experiments");
    check_ok(nb_expt_get(ctx, expt, 1, 1, &e), "experiment 0 of the second file");
    tap_check(e.scene.crystal.nlattice == 1 && e.count == 3, "has its lattice");
    nb_experiment_clear(&e);
    check_ok(nb_expt_get(ctx, expt, 4, 0, &e), "experiment 0 of the third file");
    tap_check(e.scene.detector.npanel == 2, "has two panels");
    nb_experiment_clear(&e);
    check_refused(nb_expt_get(ctx, expt, 5, 0, &e), NB_ERR_ARGUMENT, "no experiment 1",
                  "panels.expt");
    tap_check(nb_expt_images(expt, &n)[3].experiment == 2
                  && nb_expt_images(expt, NULL)[3].first == 1 && n == 8,
              "%zu images", n);
    nb_expt_free(expt);
    return 0;
}

static void refused(const char *text, const char *said)
{
    nb_expt *expt = NULL;
    const nb_status status = expt_open_parse(ctx, "input", text, strlen(text), &expt);

    check_refused(status, NB_ERR_FORMAT, said, "input");
    tap_check(!expt, "no object");
}

static int wrong(void)
{
    nb_expt *expt = NULL;
    nb_experiment e;
    size_t n = 9;

    if (!has_feature("cjson")) return tap_skip("this build has no cJSON");

    refused("{", "not JSON");
    refused("{\"__id__\":\"ExperimentList\",\"experiment\":[]}", "holds no experiment");
    refused(LIST("{\"imageset\":2}", "{}", ""), "imageset");
    refused(LIST("{\"imageset\":0}", "{\"images\":[3]}", ""), "a list of files");
    refused(LIST("{\"imageset\":0,\"scan\":0}", "{\"template\":\"a#\"}",
                 "{\"image_range\":[5,1]}"),
            "image_range");
    refused(LIST("{\"imageset\":0,\"scan\":0}", "{\"template\":\"a#\"}",
                 "{\"image_range\":[1,900000000]}"),
            "image_range");
    check_refused(nb_expt_open(ctx, in_folder("none.expt"), &expt), NB_ERR_FILE,
                  "none.expt", "");
    check_refused(nb_expt_open(ctx, "a", NULL), NB_ERR_ARGUMENT, "NULL", "");
    check_refused(nb_expt_get(ctx, NULL, 0, 0, &e), NB_ERR_ARGUMENT, "NULL", "");
    tap_check(!nb_expt_images(NULL, &n) && n == 0, "no images of NULL");
    nb_expt_free(NULL);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"stills", stills}, {"sweeps", sweeps}, {"moved", moved},
        {"taken", taken},   {"wrong", wrong},   {"added", added},
    };

    return files_main(argc, argv, cases, COUNT(cases));
}
