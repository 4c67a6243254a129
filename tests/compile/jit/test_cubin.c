/*
 * test_cubin.c - code from NVRTC is stored on disk under a key that names all it was made
 * from. It needs no GPU, and hardly ever NVRTC. The store itself is tested by
 * tests/base/store/test_store.c.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700 // NOLINT(readability-identifier-naming)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/allocations.h"
#include "base/log.h"
#include "compile/jit/cubin_cases.h"
#include "support/files.h"
#include "support/tap.h"

/* ---- the digest ---- */

/* NIST's examples for FIPS 180-4, and the message of no length */
static int sha256_vectors(void)
{
    static const struct {
        const char *message;
        size_t n, times;
        const char *digest;
    } vectors[] = {
        {"", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 3, 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
         "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
         112, 1, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {"a", 1, 1000000,
         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
        {"\xbd", 1, 1, "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b"},
        {"\0", 1, 55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"},
        {"\0", 1, 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"},
    };

    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char hex[2 * SHA256_DIGEST + 1];
        struct sha256 sha;

        sha256_begin(&sha);
        for (size_t k = 0; k < vectors[i].times; k++)
            sha256_add(&sha, vectors[i].message, vectors[i].n);
        sha256_end_hex(&sha, hex);
        tap_check(strcmp(hex, vectors[i].digest) == 0,
                  "%zu times %zu bytes: %s expected %s", vectors[i].times, vectors[i].n,
                  hex, vectors[i].digest);
    }
    return TAP_PASS;
}

/* wherever a message is cut in pieces */
static int sha256_pieces(void)
{
    unsigned char message[300], whole[SHA256_DIGEST], digest[SHA256_DIGEST];
    struct sha256 sha;
    int differ = 0;

    for (size_t i = 0; i < sizeof message; i++) message[i] = (unsigned char)(7 * i);
    for (size_t n = 0; n <= sizeof message; n++) {
        sha256_begin(&sha);
        sha256_add(&sha, message, n);
        sha256_end(&sha, whole);
        for (size_t cut = 0; cut <= n; cut += 1 + n / 20) {
            sha256_begin(&sha);
            sha256_add(&sha, message, cut);
            sha256_add(&sha, message + cut, n - cut);
            sha256_end(&sha, digest);
            differ += memcmp(digest, whole, sizeof digest) != 0;
        }
    }
    tap_check(differ == 0, "%d digests differ, allowed 0", differ);
    return TAP_PASS;
}

/* ---- kept and found ---- */

static int kept_and_found(void)
{
    begin_anew();
    tap_check(obtains(1, SIZE, 0), "made");
    tap_check(obtains(1, SIZE, 1), "found");
    tap_check(obtains(2, SIZE, 0), "another is made");
    tap_check(obtains(1, SIZE, 1) && obtains(2, SIZE, 1), "both are found");
    tap_check(total.hits == 3 && total.misses == 2 && total.built == 2 && total.failed == 0
                  && total.damaged == 0 && total.removed == 0,
              "%d found, %d not, %d made", (int)total.hits, (int)total.misses,
              (int)total.built);
    tap_check(total.bytes_read == 3 * SIZE && total.bytes_written == 2 * SIZE
                  && total.seconds > 0,
              "%d bytes read, %d written, %g s", (int)total.bytes_read,
              (int)total.bytes_written, total.seconds);
    check_fallbacks(0, "");
    return TAP_PASS;
}

/* a device newer than the library: PTX comes back as PTX */
static int ptx_too(void)
{
    begin_anew();
    for (int i = 0; i < 2; i++) {
        prepare(1, SIZE);
        job.major = 12;
        check_ok(run(), "a newer device");
        tap_check(job.cubin.ptx && job.counts.hits == (uint64_t)i
                      && strcmp(job.target.name, "compute_90") == 0,
                  "%s as PTX, found %d", job.target.name, (int)job.counts.hits);
        cubin_free(&job.cubin);
    }
    return TAP_PASS;
}

/* 1: not found, made anew */
static int made_anew(void)
{
    const int made = run() == NB_OK && job.counts.built == 1;

    cubin_free(&job.cubin);
    return made;
}

static int key_depends(void)
{
    static const struct source renamed = {"gpu/best.cu", "void f(void);\n", 14};
    static const struct source edited = {"gpu/test.cu", "void g(void);\n", 14};

    begin_anew();
    tap_check(obtains(1, SIZE, 0), "made");
    prepare(1, SIZE);
    job.donated = 1;
    tap_check(made_anew(), "on what is donated");
    prepare(1, SIZE);
    nvrtc_option(&job.request, "-DMORE");
    tap_check(made_anew(), "on each option");
    prepare(1, SIZE);
    (void)strcpy(job.request.options[0], "-DSIZE=300");
    (void)strcpy(job.request.options[1], "0-DNUMBER=1");
    tap_check(made_anew(), "on where one option ends");
    prepare(1, SIZE);
    job.request.text = &renamed;
    tap_check(made_anew(), "on the text's name");
    prepare(1, SIZE);
    job.request.text = &edited;
    tap_check(made_anew(), "on the text");
    prepare(1, SIZE);
    job.major = 8;
    job.minor = 6;
    tap_check(made_anew(), "on the architecture");
    (void)setenv("FAKE_NVRTC", "newer", 1);
    prepare(1, SIZE);
    tap_check(made_anew(), "on NVRTC's version");
    (void)unsetenv("FAKE_NVRTC");
    prepare(1, SIZE);
    job.request.timeout = 99;
    job.minor = 1;
    tap_check(!made_anew(), "not on the time limit, nor on a device of the same target");
    tap_check(count_cubins() == 8, "%d files expected 8", count_cubins());
    return TAP_PASS;
}

static int failures(void)
{
    begin_anew();
    prepare(1, SIZE);
    nvrtc_option(&job.request, "-DFAIL");
    check_ok(run(), "a text that does not compile");
    tap_check(job.status == NB_ERR_UNSUPPORTED && !job.cubin.bytes, "gives no code");
    check_fallbacks(1, "error: expected a \";\"");
    prepare(1, SIZE);
    nvrtc_option(&job.request, "-DSLOW");
    job.request.timeout = 0.05;
    check_ok(run(), "one that takes too long");
    check_fallbacks(2, "stopped after 0.05 s");
    prepare(1, SIZE);
    job.nvrtc = "libnvrtc-none.so.1";
    check_ok(run(), "no library");
    check_fallbacks(3, "NVRTC cannot be opened: libnvrtc-none.so.1");
    prepare(1, SIZE);
    job.major = 5;
    check_ok(run(), "an old device");
    check_fallbacks(4, "capability 7.5 and newer, not 5.0");
    tap_check(total.failed == 4 && total.built == 0, "%d failures", (int)total.failed);
    tap_check(access(in_folder("cache"), F_OK) != 0, "nothing is kept");
    ctx->env.strict = 1;
    prepare(1, SIZE);
    job.nvrtc = "libnvrtc-none.so.1";
    check_refused(run(), NB_ERR_UNSUPPORTED, "libnvrtc-none", "NANOBRAG_STRICT=1");
    return TAP_PASS;
}

/* the context's own limit of time is the job's */
static int time_limit(void)
{
    const double before = ctx->env.compile_timeout;

    begin_anew();
    ctx->env.compile_timeout = 0.03;
    prepare(1, SIZE);
    nvrtc_option(&job.request, "-DSLOW");
    check_ok(run(), "one that takes too long");
    check_fallbacks(1, "stopped after 0.03 s (NANOBRAG_COMPILE_TIMEOUT)");
    ctx->env.compile_timeout = before;
    return TAP_PASS;
}

static int compiled_mode_off(void)
{
    begin_anew();
    tap_check(obtains(1, SIZE, 0), "kept");
    ctx->options.compile = NB_COMPILE_OFF;
    for (int i = 1; i < 3; i++) {
        prepare(i, SIZE);
        tap_check(made_anew(), "off: made, whether it is there or not");
    }
    tap_check(total.hits == 0 && total.misses == 1 && count_cubins() == 1,
              "nothing is read or written");
    empty_folder();
    prepare(1, SIZE);
    tap_check(made_anew() && count_files(in_folder("")) == 0, "no folder is made");
    check_fallbacks(0, "");
    return TAP_PASS;
}

static int without_folder(void)
{
    begin_anew();
    ctx->env.cache_dir[0] = '\0';
    for (int i = 0; i < 2; i++) tap_check(obtains(1, SIZE, 0), "made each time");
    tap_check(count_files(in_folder("")) == 0 && total.misses == 0, "no file");
    check_fallbacks(0, "");
    return TAP_PASS;
}

static int log_lines(void)
{
    static const char expected[] =
        "nanobrag: [cache] cubin not found: gpu/test.cu for sm_90\n"
        "nanobrag: [hotpath] NVRTC 99.1 built gpu/test.cu for sm_90 in 0.00 s, 3000 bytes\n"
        "nanobrag: [cache] cubin saved: gpu/test.cu for sm_90\n"
        "nanobrag: [cache] cubin read from disk: gpu/test.cu for sm_90, 3000 bytes\n"
        "nanobrag: [hotpath] NVRTC 99.1 built gpu/test.cu for sm_90 in 0.00 s, 3000 bytes; "
        "this version has no time limit\n";
    const int stderr_was = dup(2);
    FILE *file;
    char *lines;
    size_t n;

    begin_anew();
    ctx->env.topics = TOPIC_CACHE | TOPIC_HOTPATH;
    file = freopen(in_folder("lines"), "w", stderr);
    for (int i = 0; i < 3; i++) {
        prepare(1, SIZE);
        if (i == 2) job.nvrtc = FAKE_NVRTC_OLD;
        if (i == 2) job.folder[0] = '\0';
        (void)made_anew();
    }
    (void)fflush(stderr);
    (void)dup2(stderr_was, 2);
    lines = slurp(in_folder("lines"), &n);
    for (char *at = lines; (at = strstr(at, " in ")); at += 4) at[4] = at[6] = at[7] = '0';
    tap_check(file && strcmp(lines, expected) == 0, "a line for each:\n%s", lines);
    free(lines);
    return TAP_PASS;
}

/* memory that runs out anywhere is said, or another way is gone */
static int memory_refused(void)
{
    enum { CALLS = 40 };
    int wrong = 0, without = 0, unsaid = 0;

    if (!allocations_counted()) return tap_skip("malloc cannot be refused here");
    begin_anew();
    tap_check(obtains(1, SIZE, 0), "kept");
    for (int i = 0; i < CALLS; i++) {
        const uint64_t before = ctx->fallbacks;
        const long held = allocations_held();

        prepare(i % 2 ? 1 : 100 + i, SIZE); /* found, or made */
        allocations_refuse(1 + i / 2);
        wrong += run() != NB_OK;
        allocations_refuse(0);
        without += !job.cubin.bytes;
        unsaid += (!job.cubin.bytes || job.disk_error[0][0] || job.disk_error[1][0])
                  && ctx->fallbacks == before;
        cubin_free(&job.cubin);
        wrong += allocations_held() > held;
    }
    tap_check(wrong == 0 && unsaid == 0 && without > 0 && without < CALLS,
              "%d of %d without code, %d not said, %d wrong, allowed 0", without,
              (int)CALLS, unsaid, wrong);
    tap_check(obtains(1, SIZE, 1), "what is on disk is whole");
    return TAP_PASS;
}

/* the library that is there, and the embedded text */
static int of_nvrtc(void)
{
    struct cubin first = {0};

    begin_anew();
    for (int i = 0; i < 2; i++) {
        cubin_job_begin(ctx, &job);
        job.request.text = sources_find("physics/pixel.h");
        job.request.timeout = 100;
        job.major = 8;
        check_ok(run(), "NVRTC");
        if (i == 0 && job.version[0] == 0) return tap_skip("%s", job.why);
        tap_check(job.status == NB_OK && job.counts.hits == (uint64_t)i,
                  "%s, %zu bytes, %s", job.target.name, job.cubin.size,
                  i ? "of the disk" : "made");
        if (i == 0) first = job.cubin;
    }
    tap_check(first.size > 0 && first.size == job.cubin.size
                  && memcmp(first.bytes, job.cubin.bytes, first.size) == 0,
              "the same bytes");
    cubin_free(&first);
    cubin_free(&job.cubin);
    return TAP_PASS;
}

int main(int argc, char **argv)
{
    static const struct tap_case cases[] = {
        {"sha256_vectors", sha256_vectors},
        {"sha256_pieces", sha256_pieces},
        {"kept_and_found", kept_and_found},
        {"ptx_too", ptx_too},
        {"key_depends", key_depends},
        {"failures", failures},
        {"time_limit", time_limit},
        {"compiled_mode_off", compiled_mode_off},
        {"without_folder", without_folder},
        {"log_lines", log_lines},
        {"memory_refused", memory_refused},
        {"of_nvrtc", of_nvrtc},
        {"damaged_anywhere", damaged_anywhere},
        {"under_another_key", under_another_key},
        {"folder_refused", folder_refused},
        {"limit_of_the_folder", limit_of_the_folder},
        {"too_large", too_large},
        {"second_process", second_process},
        {"threads_at_once", threads_at_once},
        {"background_thread", background_thread},
    };
    static const char *const variables[] = {"NANOBRAG_STRICT", "NANOBRAG_LOGS",
                                            "FAKE_NVRTC", "NANOBRAGG_DISABLE_COMPILE",
                                            "NANOBRAG_DISABLE_COMPILE"};

    for (size_t i = 0; i < COUNT(variables); i++) (void)unsetenv(variables[i]);
    (void)umask(022);
    if (argc > 1 && strcmp(argv[1], "--get") == 0) return get_only(argc, argv);
    return files_main(argc, argv, cases, COUNT(cases));
}
