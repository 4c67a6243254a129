/* program_run.c - see program_run.h. SPDX-License-Identifier: MIT */
#include "attack/program_run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/files.h"

static char before[4096], errors_path[4200], output_path[4200];

void program_free(struct program_run *run)
{
    for (int i = 0; i < run->count; i++) free(run->argument[i]);
    memset(run, 0, sizeof *run);
}

void program_clear(struct program_run *run)
{
    program_free(run);
    program_add(run, "%s", NANOBRAG_PROGRAM);
}

void program_add(struct program_run *run, const char *format, ...)
{
    char text[600];
    va_list args;

    va_start(args, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): va_start() is above
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (run->count + 1 >= PROGRAM_ARGUMENTS) return;
    run->argument[run->count] = strdup(text);
    if (!run->argument[run->count]) abort();
    run->argument[++run->count] = NULL;
}

void program_line(const struct program_run *run, char *out, size_t size)
{
    size_t used = 0;

    for (int i = 0; i < run->count && used < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, i ? " '%s'" : "%s", run->argument[i]);
}

void program_enter(void)
{
    if (!getcwd(before, sizeof before) || chdir(in_folder("")) != 0) abort();
    (void)snprintf(errors_path, sizeof errors_path, "%s/errors.txt", before);
    (void)snprintf(output_path, sizeof output_path, "%s/output.txt", before);
    /* neither the profile nor the caches of the caller */
    (void)unsetenv("NANOBRAG_COMPAT");
    (void)setenv("NANOBRAG_CACHE_DIR", "/nonexistent/nanobrag", 1);
}

void program_leave(void)
{
    if (chdir(before) != 0) abort();
    (void)unlink(errors_path);
    (void)unlink(output_path);
    empty_folder();
}

void program_clean(void)
{
    empty_folder();
}

pid_t program_start(const struct program_run *run)
{
    const pid_t child = fork();
    int none, out, errors;

    if (child != 0) return child;
    none = open("/dev/null", O_RDONLY);
    out = open(output_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    errors = open(errors_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (dup2(none, 0) < 0 || dup2(out, 1) < 0 || dup2(errors, 2) < 0) _exit(99);
    if (run->file_limit > 0) {
        const struct rlimit limit = {(rlim_t)run->file_limit, (rlim_t)run->file_limit};

        (void)signal(SIGXFSZ,
                     SIG_IGN); /* the program is told by write(), as of a full disk */
        (void)setrlimit(RLIMIT_FSIZE, &limit);
    }
    (void)execv(run->argument[0], run->argument);
    _exit(98);
}

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void program_wait(struct program_run *run, pid_t child, double seconds)
{
    const struct timespec nap = {0, 2000000};
    const double end = now() + seconds;
    size_t n = 0;
    char *text;
    int status;

    run->late = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (now() > end && !run->late) {
            run->late = 1;
            (void)kill(child, SIGKILL);
        }
        (void)nanosleep(&nap, NULL);
    }
    run->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    text = slurp(errors_path, &n);
    (void)snprintf(run->errors, sizeof run->errors, "%s", text ? text : "");
    free(text);
}

void program_run(struct program_run *run, double seconds)
{
    program_wait(run, program_start(run), seconds);
}

/* Returns how many lines of a text are errors; of stdout only those of nanoBragg's kind. */
static int count_errors(const char *text, int is_stdout)
{
    int count = 0;

    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        char copy[PROGRAM_ERRORS];

        (void)snprintf(copy, sizeof copy, "%.*s", (int)length, line);
        if (is_stdout)
            count += strncmp(copy, "ERROR: ", 7) == 0;
        else
            count +=
                length > 0 && !strstr(copy, ": note: ") && !strstr(copy, ": warning: ");
        line += length + (line[length] == '\n');
    }
    return count;
}

int program_complaints(const struct program_run *run)
{
    size_t n = 0;
    char *output = slurp(output_path, &n);
    const int count = count_errors(run->errors, 0) + count_errors(output, 1);

    free(output);
    return count;
}
