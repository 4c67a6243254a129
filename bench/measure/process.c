/* process.c - see process.h. SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* wait4 */ // NOLINT(readability-identifier-naming)

#include "measure/process.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing.h"

enum { PATH = FOLDER + 16, FOLDERS_OPEN = 16, NOT_STARTED = 127 };

static int one_thread; /* as process_environment() was told */

void process_environment(int threads, int compat)
{
    char count[16];

    one_thread = threads == 1;
    (void)snprintf(count, sizeof count, "%d", threads);
    (void)setenv("OMP_NUM_THREADS", count, 1);
    (void)setenv("NANOBRAG_THREADS", count, 1);
    if (compat)
        (void)setenv("NANOBRAG_COMPAT", "nanobragg", 1);
    else
        (void)unsetenv("NANOBRAG_COMPAT");
}

int folder_make(char path[FOLDER])
{
    const char *base = getenv("TMPDIR");

    (void)snprintf(path, FOLDER, "%.400s/nanobrag_bench.XXXXXX",
                   base && *base ? base : "/tmp");
    return mkdtemp(path) != NULL;
}

static int remove_entry(const char *path, const struct stat *info, int type,
                        struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

void folder_remove(const char *path)
{
    (void)nftw(path, remove_entry, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS);
}

/* what the child does: only calls that are allowed between fork and exec */
static void become(const struct command *command, const char *folder, double limit)
{
    const struct rlimit cpu = {(rlim_t)limit + 1, (rlim_t)limit + 2};
    int log;

    if (chdir(folder) != 0 || setrlimit(RLIMIT_CPU, &cpu) != 0) _exit(NOT_STARTED);
    log = open("log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (log < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0)
        _exit(NOT_STARTED);
    (void)execvp(command->word[0], (char *const *)command->word);
    _exit(NOT_STARTED);
}

/* the last line with something in it */
static void last_line(const char *folder, char *said, size_t room)
{
    char path[PATH], line[512];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/log", folder);
    file = fopen(path, "r");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (*line) (void)snprintf(said, room, "%.*s", (int)room - 1, line);
    }
    (void)fclose(file);
}

static int read_image(const char *folder, float *image, size_t n)
{
    char path[PATH];
    FILE *file;
    int whole;

    (void)snprintf(path, sizeof path, "%s/o.bin", folder);
    file = fopen(path, "rb");
    if (!file) return 0;
    whole = fread(image, sizeof *image, n, file) == n && fgetc(file) == EOF;
    (void)fclose(file);
    return whole;
}

/* the image without its numbers */
static int has_image(const char *folder, size_t n)
{
    char path[PATH];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/o.bin", folder);
    return stat(path, &st) == 0 && (size_t)st.st_size == n * sizeof(float);
}

static double seconds_of(const struct timeval *t)
{
    return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

/* bytes of ru_maxrss */
static double resident_bytes(const struct rusage *used)
{
#ifdef __APPLE__
    return (double)used->ru_maxrss;
#else
    return 1024 * (double)used->ru_maxrss;
#endif
}

double process_own_resident(void)
{
    struct rusage used;

    return getrusage(RUSAGE_SELF, &used) == 0 ? resident_bytes(&used) : 0;
}

static void wait_for(pid_t child, const char *folder, struct process *p)
{
    struct rusage used;
    int status;

    while (wait4(child, &status, 0, &used) < 0)
        if (errno != EINTR) return;
    p->resident = resident_bytes(&used);
    if (one_thread) p->seconds = seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime);
    p->ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (p->ok) return;
    if (WIFSIGNALED(status))
        (void)snprintf(p->said, sizeof p->said, "ended by signal %d (%s)", WTERMSIG(status),
                       WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL
                           ? "out of time"
                           : "it crashed");
    else if (WEXITSTATUS(status) == NOT_STARTED)
        (void)snprintf(p->said, sizeof p->said, "could not be started");
    else
        last_line(folder, p->said, sizeof p->said);
    if (!*p->said)
        (void)snprintf(p->said, sizeof p->said, "exit status %d, without a word",
                       WEXITSTATUS(status));
}

struct process process_run(const struct command *command, float *image, size_t n,
                           double limit)
{
    struct process p = {0};
    char folder[FOLDER];
    double start;
    pid_t child;

    if (!folder_make(folder)) {
        (void)snprintf(p.said, sizeof p.said, "no temporary folder: %s", strerror(errno));
        return p;
    }
    (void)fflush(NULL);
    start = timing_seconds();
    child = fork();
    if (child == 0) become(command, folder, limit);
    if (child > 0)
        wait_for(child, folder, &p);
    else
        (void)snprintf(p.said, sizeof p.said, "fork: %s", strerror(errno));
    if (p.seconds == 0) p.seconds = timing_seconds() - start;
    if (p.ok && !(image ? read_image(folder, image, n) : has_image(folder, n))) {
        p.ok = 0;
        (void)snprintf(p.said, sizeof p.said, "wrote no o.bin of %zu pixels", n);
    }
    folder_remove(folder);
    return p;
}
