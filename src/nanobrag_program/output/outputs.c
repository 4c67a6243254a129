/*
 * outputs.c - checks whether the files of a run can be written, and writes the images.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nanobrag_program/derivatives/run_derivatives.h"
#include "nanobrag_program/fit/fit_run.h"
#include "nanobrag_program/run.h"

/* ---- checks ---- */

/* Returns 0 if the system refuses to open a file for writing, else 1. In a folder for all
 * users it may refuse another user's file whatever its permissions are. */
static int opens(const char *path, const struct stat *st)
{
    if (!S_ISREG(st->st_mode)) return 1;
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) (void)close(fd);
    return fd >= 0;
}

static int check_place(struct messages *messages, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return message_failure(messages, "%s: is a directory; give a file name", path);
        if (access(path, W_OK) != 0 || !opens(path, &st))
            return message_failure(messages,
                                   "%s: cannot be written; change its permissions", path);
        if (!S_ISREG(st.st_mode)) return 0;
    } else if (errno != ENOENT && errno != ENOTDIR) {
        return message_failure(messages, "%s: cannot be written: %s; choose another name",
                               path, strerror(errno));
    }
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strdup(path) : strdup(".");
    if (!folder) return message_failure(messages, "out of memory");
    if (slash) folder[slash == path ? 1 : slash - path] = 0;
    int code = 0;
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
        code = message_failure(messages, "%s: there is no directory %s; make it first",
                               path, folder);
    else if (access(folder, W_OK | X_OK) != 0)
        code = message_failure(messages,
                               "%s: nothing can be written in %s; change its permissions",
                               path, folder);
    free(folder);
    return code;
}

static int check_clashes(const struct run *run, const char **names, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            if (outputs_same_file(names[i], names[k]) && strncmp(names[i], "/dev/", 5) != 0)
                return message_usage(run->command.messages,
                                     "two outputs have the same name %s; change one",
                                     names[i]);
        const int code = outputs_keep_inputs(run, names[i]);
        if (code) return code;
    }
    return 0;
}

/* Returns 1 if image i of output a gets the same name as the first image of output b. */
static int has_same_name(const struct settings *s, int a, int b, int i)
{
    char *const later = output_name_of(s, a, i), *const first = output_name_of(s, b, 0);
    const int same = later && first && strcmp(later, first) == 0;
    free(later);
    free(first);
    return same;
}

static int check_sweep(const struct settings *s, struct messages *messages)
{
    if (s->images < 2) return 0;
    for (int a = 0; a < OUT_COUNT; a++)
        for (int b = 0; b < OUT_COUNT; b++) {
            if (a == b || !s->out[a] || !s->out[b]) continue;
            for (int i = 0; i < s->images; i++) {
                if (progress_line_interrupted()) return EXIT_INTERRUPTED;
                if (has_same_name(s, a, b, i))
                    return message_usage(messages,
                                         "the images of %s and %s would get the same "
                                         "names; change one",
                                         s->out[a], s->out[b]);
            }
        }
    return 0;
}

/* number of files that a run writes once for all images */
enum { SINGLES = 15 };

static void list_singles(const struct settings *s, const char *out[SINGLES])
{
    const char *const singles[SINGLES] = {s->json,         s->gradfile,     s->hklgradfile,
                                          s->jacobianfile, s->fmtz,         s->atomgradfile,
                                          s->fit.fitfile,  s->fit.fitimage, s->truth,
                                          s->geomout,      s->exptout,      s->fit.fittable,
                                          s->reflout,      s->predict,      s->integrate};
    memcpy(out, singles, sizeof singles);
}

/* Check that no file of list_singles() has the name of an image. Returns 0 or the exit
 * status. */
static int check_singles(const struct settings *s, struct messages *messages)
{
    const char *singles[SINGLES];
    int any = 0;
    list_singles(s, singles);
    for (int k = 0; k < SINGLES; k++) any |= singles[k] != NULL;
    for (int kind = 0; any && kind < OUT_COUNT; kind++)
        for (int i = 0; s->out[kind] && i < s->images; i++) {
            if (progress_line_interrupted()) return EXIT_INTERRUPTED;
            char *name = output_name_of(s, kind, i);
            int clash = -1;
            for (int k = 0; name && k < SINGLES; k++)
                if (singles[k] && outputs_same_file(name, singles[k])) clash = k;
            free(name);
            if (clash >= 0)
                return message_usage(messages,
                                     "%s would overwrite an image; choose another name",
                                     singles[clash]);
        }
    return 0;
}

/* Returns 1 if the run will write the file of -dump. */
static int writes_dump(const struct settings *s)
{
    return s->dump && !s->compat && (s->hkl || s->pdb || s->mtz);
}

int outputs_check(const struct run *run)
{
    const struct settings *const s = run->command.s;
    struct messages *const messages = run->command.messages;
    const char *names[OUT_COUNT + SINGLES + 1], *singles[SINGLES];
    int n = 0;
    if (s->explain || s->gradcheck) return 0;
    for (int kind = 0; kind < OUT_COUNT; kind++)
        if (s->out[kind]) names[n++] = s->out[kind];
    list_singles(s, singles);
    for (int i = 0; i < SINGLES; i++)
        if (singles[i] && !names_stdout(singles[i])) names[n++] = singles[i];
    if (writes_dump(s)) names[n++] = s->dump;
    if (n == 0 && !s->printout && !s->json && !s->gradient && !fit_asked(s))
        return message_usage(messages,
                             "nothing to write: give -floatfile, -imagefile, "
                             "-noisefile, -pngfile or another output file, or -explain");
    if (s->png_size != 0 && (s->png_size < 16 || s->png_size > 16384))
        return message_usage(messages, "-png_size is %d, expected between 16 and 16384",
                             s->png_size);
    if (s->fit.fisher_scan) {
        const int code = fisher_scan_check(s, messages);
        if (code) return code;
    }
    for (int i = 0; i < n; i++) {
        const int code = check_place(messages, names[i]);
        if (code) return code;
    }
    int code = s->out[OUT_IMAGE] ? image_file_check(s, messages) : 0;
    if (!code) code = check_sweep(s, messages);
    if (!code) code = check_singles(s, messages);
    return code || s->compat ? code : check_clashes(run, names, n);
}

/* ---- writing ---- */

static int write_failed(struct run *run, nb_status status)
{
    return message_status(run->command.messages, status,
                          nb_context_message(run->command.ctx), 1);
}

static nb_array photons_of(struct run *run)
{
    nb_array array = nb_array_f64(run->image, run->command.description.nslow,
                                  run->command.description.nfast);
    array.name = "image";
    return array;
}

static void print_written(const struct run *run, const char *name, const char *kind,
                          int bytes)
{
    if (!run->command.s->full_report) return;
    const long long pixels =
        (long long)run->command.description.nslow * run->command.description.nfast;
    if (strcmp(kind, "floats") == 0)
        printf("writing %s as %lld %d-byte floats\n", name, pixels, bytes);
    else
        printf("writing %s as %d-byte integers\n", name, bytes);
}

static int write_floats(struct run *run, const struct result *result)
{
    const nb_array image = photons_of(run);
    static const int kinds[] = {OUT_FLOAT, OUT_DOUBLE}, bits[] = {32, 64};
    for (int i = 0; i < 2; i++) {
        const char *const name = result->file[kinds[i]];
        if (!name) continue;
        print_written(run, name, "floats", bits[i] / 8);
        const nb_status status = nb_raw_write(run->command.ctx, name, &image, bits[i]);
        if (status != NB_OK) return write_failed(run, status);
    }
    return 0;
}

static int write_counts(struct run *run, const struct result *result, const char *name)
{
    char header[SMV_HEADER_BYTES];
    const nb_array counts = nb_array_u16(run->counts, run->command.description.nslow,
                                         run->command.description.nfast);
    smv_header(run, result->phi, header);
    print_written(run, name, "integers", 2);
    const nb_status status = nb_smv_write(run->command.ctx, name, header, &counts);
    return status == NB_OK ? 0 : write_failed(run, status);
}

int outputs_write_smv(struct run *run, const struct result *result, const nb_digitizer *how,
                      const char *name)
{
    nb_array image = photons_of(run);
    nb_array counts = nb_array_u16(run->counts, run->command.description.nslow,
                                   run->command.description.nfast);
    const nb_status status = nb_digitize(run->command.sim, how, &image, &counts);
    return status == NB_OK ? write_counts(run, result, name) : write_failed(run, status);
}

static int write_int(struct run *run, struct result *result)
{
    if (!result->file[OUT_INT]) return 0;
    const nb_digitizer how = {.scale = result->int_scale,
                              .offset = run->command.s->adc,
                              .overloads = &result->saturated};
    if (run->command.s->full_report) printf("intfile_scale = %g\n", result->int_scale);
    return outputs_write_smv(run, result, &how, result->file[OUT_INT]);
}

static int write_pgm(struct run *run, struct result *result)
{
    if (!result->file[OUT_PGM]) return 0;
    const size_t n =
        (size_t)run->command.description.nslow * (size_t)run->command.description.nfast;
    uint8_t *grey = malloc(n);
    if (!grey)
        return message_failure(run->command.messages, "out of memory for the picture");
    for (size_t i = 0; i < n; i++) {
        const double v = (float)run->image[i] * result->pgm_scale;
        grey[i] = v >= 255 ? 255 : v > 0 ? (uint8_t)v : 0;
    }
    char comment[64];
    snprintf(comment, sizeof comment, "pixels scaled by %g", result->pgm_scale);
    if (run->command.s->full_report) printf("pgm_scale = %g\n", result->pgm_scale);
    print_written(run, result->file[OUT_PGM], "integers", 1);
    const nb_status status = nb_pgm_write(run->command.ctx, result->file[OUT_PGM],
                                          run->command.description.nfast,
                                          run->command.description.nslow, grey, comment);
    free(grey);
    return status == NB_OK ? 0 : write_failed(run, status);
}

nb_digitizer outputs_noise(const struct run *run, int i, double pedestal)
{
    const struct settings *s = run->command.s;
    struct result *result = &run->results[i];
    /* Seeds count up with the images, because nanoBragg's generator does not use the
     * image's number. */
    return (nb_digitizer){.offset = pedestal,
                          .noise = 1,
                          .seed = s->compat ? s->seed + i : s->seed,
                          .image = (uint32_t)(s->first + i),
                          .photons = &result->photons};
}

static void print_noise(const struct run *run, const struct result *result)
{
    if (run->command.s->full_report)
        printf("%.0f photons on noise image (%lld overloads)\n", result->photons,
               (long long)result->overloads);
}

static int write_noise(struct run *run, struct result *result, int i)
{
    if (!result->file[OUT_NOISE]) return 0;
    nb_array image = photons_of(run);
    nb_array counts = nb_array_u16(run->counts, run->command.description.nslow,
                                   run->command.description.nfast);
    nb_digitizer how = outputs_noise(run, i, run->command.s->adc);
    how.overloads = &result->overloads;
    const nb_status status = nb_digitize(run->command.sim, &how, &image, &counts);
    if (status != NB_OK) return write_failed(run, status);
    print_noise(run, result);
    return write_counts(run, result, result->file[OUT_NOISE]);
}

static void print_statistics(const struct run *run, const struct result *result)
{
    const nb_statistics *t = &result->statistics;
    if (!run->command.s->full_report) return;
    printf("max_I = %g  at %g %g\n", t->max, t->max_fast / 1000, t->max_slow / 1000);
    printf("mean= %g rms= %g rmsd= %g\n", t->mean, t->rms, t->rmsd);
}

static int store_statistics(struct run *run, struct result *result)
{
    const struct settings *s = run->command.s;
    nb_statistics *const t = &result->statistics;
    const nb_array image = photons_of(run);
    const nb_status status =
        nb_statistics_get(run->command.sim, run->command.params.x, &image, t);
    if (status != NB_OK) return write_failed(run, status);
    if (t->nonfinite > 0 && !s->compat)
        return message_failure(run->command.messages,
                               "the image has pixels that are not finite numbers (%lld in "
                               "all) and was not written; look for huge or tiny numbers in "
                               "-explain",
                               (long long)t->nonfinite);
    result->int_scale = s->scale > 0 ? s->scale : t->max > 0 ? 55000 / t->max : 1;
    result->pgm_scale = s->pgm_scale > 0 ? s->pgm_scale
                        : t->rmsd > 0    ? 250 / (5 * t->rmsd)
                                         : result->int_scale;
    if (s->full_report)
        printf("solid angle subtended by detector = %g steradian ( %g%% sphere)\n",
               t->solid_angle, 100 * t->solid_angle / (4 * 3.14159265358979323846));
    return 0;
}

int outputs_write(struct run *run, int i)
{
    struct result *const result = &run->results[i];
    int code = store_statistics(run, result);
    if (!code) code = write_floats(run, result);
    if (!code) {
        print_statistics(run, result);
        code = write_int(run, result);
    }
    if (!code) code = write_pgm(run, result);
    if (!code) code = write_noise(run, result, i);
    if (!code && run->command.s->out[OUT_IMAGE]) code = image_file_write(run, result, i);
    if (!code && result->file[OUT_PNG]) code = picture_write(run, result->file[OUT_PNG]);
    return code;
}
