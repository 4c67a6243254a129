/*
 * tuning_cache.c - what the process knows of each cache folder: the entries that hold, and
 * when they are read from its file and written to it.
 *
 * Besides those of FFTW's planner in image/psf.c and the turn to write in base/store/ these
 * are the only variables of the library that outlive a call. A spin lock guards them; it is
 * held while lists are searched and copied, never during a wait for the disk.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/tune/tuning_cache.h"

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/store/sha256.h"
#include "compile/tune/tuning_text.h"

enum { PATIENCE = 1000, PATIENCE_THEN = 50, FILES_LIMIT = 4 << 20 };

enum { ENTRIES, FFTW }; /* the two files, of entries and of FFTW */

/* A cache folder as this process knows it. It is never freed while the process runs. */
struct folder {
    struct folder *next;
    struct tuning_list entries; /* the entries that hold, and all entries of the file */
    char *fftw; /* the tuning results of FFTW; NULL: none are known */
    int fftw_saved; /* the file holds them */
    int read; /* the file of entries was read */
    int reported[2]; /* a damaged file was reported */
    /* milliseconds to wait for the lock on the files: fewer after a wait in vain */
    atomic_int patience;
    char path[]; /* NANOBRAG_CACHE_DIR; "": there is no folder */
};

static atomic_flag spin = ATOMIC_FLAG_INIT;
static struct folder *folders;
static char identity[2 * IDENTITY]; /* machine, tab, build */

static const char no_folder[] = "no HOME, no XDG_CACHE_HOME", no_memory[] = "out of memory";

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&spin, memory_order_acquire))
        (void)sched_yield();
    if (identity[0]) return;
    identity_machine(identity);
    (void)snprintf(identity + strlen(identity), IDENTITY, "\t%s", identity_build());
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&spin, memory_order_release);
}

/* Returns the folder of a context, or NULL if there is no memory for it. */
static struct folder *folder_of(const nb_context *ctx)
{
    const char *const path = ctx->env.cache_dir;
    struct folder *at;

    lock();
    for (at = folders; at && strcmp(at->path, path) != 0;) at = at->next;
    if (!at && (at = calloc(1, sizeof *at + strlen(path) + 1))) {
        memcpy(at->path, path, strlen(path));
        atomic_init(&at->patience, PATIENCE);
        at->next = folders;
        folders = at;
    }
    unlock();
    return at;
}

void tuning_cache_forget(void)
{
    lock();
    while (folders) {
        struct folder *const folder = folders;

        folders = folder->next;
        tuning_clear(&folder->entries);
        free(folder->fftw);
        free(folder);
    }
    unlock();
}

static struct store store_of(const struct folder *folder)
{
    return store_in(folder->path, "tuning", ".txt", TUNING_TEXT, FILES_LIMIT);
}

/* Report a damaged file: once, or each time if it is an error. */
static nb_status report(nb_context *ctx, struct folder *folder, int file, const char *why)
{
    int before;

    lock();
    before = folder->reported[file];
    folder->reported[file] = 1;
    unlock();
    if (before && !ctx->env.strict) return NB_OK;
    log_topic(ctx, TOPIC_CACHE, "%s", why);
    return context_fall_back(ctx, "%s", why);
}

static nb_status report_unsaved(nb_context *ctx, const char *why)
{
    log_topic(ctx, TOPIC_CACHE, "%s", why);
    return context_fall_back(ctx,
                             "%s; what was measured is not saved: let NANOBRAG_CACHE_DIR "
                             "name a folder that can be written",
                             why);
}

/* ---- entries ---- */

/* Write the full name of a key, and return 1, with the entry, if one holds under it. */
static int find_entry(const struct folder *folder, const char *key, char name[TUNING_NAME],
                      struct tuning_entry *out)
{
    const struct tuning_entry *found;

    lock();
    (void)snprintf(name, TUNING_NAME, "%s\t%s", key, identity);
    found = tuning_find(&folder->entries, name);
    if (found) *out = *found;
    unlock();
    return found != NULL;
}

/* Make an entry hold, or replace it by the one that holds already. With `unsaved` the next
 * update of the file is to write it. */
static void hold_entry(struct folder *folder, const char *name, struct tuning_entry *entry,
                       int unsaved)
{
    const struct tuning_entry *found;

    lock();
    found = tuning_find(&folder->entries, name);
    if (found)
        *entry = *found;
    else if (tuning_add(&folder->entries, name, entry))
        folder->entries.last->unsaved = unsaved;
    unlock();
}

/* Add the entries of the file to a list. */
static enum store_state read_file(const struct folder *folder, struct tuning_list *list,
                                  char why[STORE_WHY])
{
    const struct store store = store_of(folder);
    struct store_bytes file;
    enum store_state state = store_load(&store, "tuning.txt", NULL, NULL, &file, why);
    char flaw[STORE_WHY];

    if (state != STORE_FOUND) return state;
    if (!tuning_parse((char *)file.bytes, file.size, list, flaw)) {
        (void)snprintf(why, STORE_WHY, "%.300s/tuning.txt: %s", store.folder, no_memory);
        state = STORE_REFUSED;
    } else if (flaw[0]) {
        (void)snprintf(why, STORE_WHY, "%.300s/tuning.txt: damaged, ignored: %.150s",
                       store.folder, flaw);
        state = STORE_DAMAGED;
    }
    free(file.bytes);
    return state;
}

/* Let the entries of the file hold where none does. The file is read once in a process; in
 * strict mode a damaged one is read, and is an error, each time, until it is mended. */
static void read_entries(nb_context *ctx, struct folder *folder)
{
    struct tuning_list list = {0};
    enum store_state state;
    char why[STORE_WHY] = "";
    int known;

    lock();
    known = folder->read && !(ctx->env.strict && folder->reported[ENTRIES]);
    unlock();
    if (known || !folder->path[0]) return;
    state = read_file(folder, &list, why);
    if (state >= STORE_DAMAGED) (void)report(ctx, folder, ENTRIES, why);
    lock();
    if (!folder->read || (state == STORE_FOUND && folder->reported[ENTRIES])) {
        tuning_move(&folder->entries, &list);
        folder->read = 1;
        if (state == STORE_FOUND) folder->reported[ENTRIES] = 0;
    }
    unlock();
    tuning_clear(&list);
}

/* Add the unsaved entries to those of the file. Returns how many are new to it, or -1 if
 * there is no memory. */
static int add_unsaved(const struct folder *folder, struct tuning_list *list)
{
    int added = 0;

    lock();
    for (const struct tuning_record *at = folder->entries.first; at && added >= 0;
         at = at->next)
        if (at->unsaved && !tuning_find(list, at->name))
            added = tuning_add(list, at->name, &at->entry) ? added + 1 : -1;
    unlock();
    return added;
}

/* Note that a list was written to the file. */
static void note_saved(struct folder *folder, const struct tuning_list *list)
{
    lock();
    for (struct tuning_record *at = folder->entries.first; at; at = at->next)
        if (at->unsaved && tuning_find(list, at->name)) at->unsaved = 0;
    unlock();
}

/* Update the file, while the lock on it is held: read its entries, replace `entry` by the
 * one that it has or make it hold, and write the file if any unsaved entry is new to it.
 * Returns 0, with the reason, if the file could not be written; `status` is that of
 * reporting a damaged file. */
static int update_file(nb_context *ctx, struct folder *folder, const char *name,
                       struct tuning_entry *entry, char why[STORE_WHY], nb_status *status)
{
    const struct store store = store_of(folder);
    struct tuning_list list = {0};
    const struct tuning_entry *found;
    const enum store_state state = read_file(folder, &list, why);
    int added, good = 0;
    char *text = NULL;

    if (state == STORE_DAMAGED) *status = report(ctx, folder, ENTRIES, why);
    found = tuning_find(&list, name);
    if (found) *entry = *found;
    hold_entry(folder, name, entry, !found);
    added = add_unsaved(folder, &list);
    if (added >= 0 && state != STORE_REFUSED) text = tuning_print(&list);
    if (text && (added > 0 || state == STORE_DAMAGED))
        good = store_save(&store, "tuning.txt", text, strlen(text), NULL, why);
    else if (text)
        good = 1;
    else if (state != STORE_REFUSED)
        (void)snprintf(why, STORE_WHY, "%.300s/tuning.txt: %s", store.folder, no_memory);
    if (good) note_saved(folder, &list);
    free(text);
    tuning_clear(&list);
    return good;
}

/* Save an entry, and replace it by the one that holds. */
static nb_status save_entry(nb_context *ctx, struct folder *folder, const char *name,
                            struct tuning_entry *entry)
{
    const struct store store = store_of(folder);
    nb_status status = NB_OK;
    int files = -1, good = 0;
    char why[STORE_WHY];

    if (folder->path[0]) {
        files = store_lock(&store, folder->patience, why);
        folder->patience = files < 0 ? PATIENCE_THEN : PATIENCE;
    } else {
        (void)snprintf(why, sizeof why, "%s", no_folder);
    }
    if (files >= 0) {
        good = update_file(ctx, folder, name, entry, why, &status);
        store_unlock(files);
    }
    if (good) return status;
    hold_entry(folder, name, entry, 1);
    return report_unsaved(ctx, why);
}

static void log_entry(const nb_context *ctx, const char *what, const char *key,
                      const struct tuning_entry *entry)
{
    log_topic(ctx, TOPIC_CACHE, "tuning entry %s: %s: strategy=%d threads=%d block=%d",
              what, key, entry->strategy, entry->threads, entry->block);
}

int tuning_cache_find(nb_context *ctx, const char *key, struct tuning_entry *out)
{
    struct folder *const folder = folder_of(ctx);
    char name[TUNING_NAME];
    int found, before;

    assert(context_compile(ctx) != NB_COMPILE_OFF);
    before = found = folder && find_entry(folder, key, name, out);
    if (folder && !before) {
        read_entries(ctx, folder);
        found = find_entry(folder, key, name, out);
    }
    if (found)
        log_entry(ctx, before ? "of this process" : "of the file", key, out);
    else
        log_topic(ctx, TOPIC_CACHE, "tuning entry not found: %s", key);
    return found;
}

nb_status tuning_cache_save(nb_context *ctx, const char *key, struct tuning_entry *entry,
                            int file)
{
    struct folder *const folder = folder_of(ctx);
    const struct tuning_entry mine = *entry;
    nb_status status = NB_OK;
    char name[TUNING_NAME];
    int before;

    assert(context_compile(ctx) != NB_COMPILE_OFF);
    if (!folder) return report_unsaved(ctx, no_memory);
    before = find_entry(folder, key, name, entry);
    if (!before && file)
        status = save_entry(ctx, folder, name, entry);
    else if (!before)
        hold_entry(folder, name, entry, 0);
    before |= memcmp(&mine, entry, sizeof mine) != 0;
    log_entry(ctx, before ? "saved before" : "saved", key, entry);
    return status;
}

/* ---- the results of FFTW's planner: for each machine and build a file, of a digest and
 * the text ---- */

enum { FFTW_HEAD = 2 * SHA256_DIGEST + 23 };

/* Write the first line, a digest of machine, build and text. With no text the digest is
 * that of the file's name. */
static void fftw_head(const char *text, char head[FFTW_HEAD + 1])
{
    char hex[2 * SHA256_DIGEST + 1];
    struct sha256 sha;

    lock();
    sha256_begin(&sha);
    sha256_add(&sha, identity, strlen(identity));
    unlock();
    sha256_add(&sha, text, strlen(text));
    sha256_end_hex(&sha, hex);
    (void)snprintf(head, FFTW_HEAD + 1, "nanobrag FFTW wisdom: %s\n", hex);
}

static void fftw_name(char name[STORE_NAME])
{
    char head[FFTW_HEAD + 1];

    fftw_head("", head);
    (void)snprintf(name, STORE_NAME, "fftw_wisdom-%.8s.txt", strchr(head, ':') + 2);
}

static const char *verify_fftw(const void *user, const struct store_bytes *file)
{
    char head[FFTW_HEAD + 1];

    (void)user;
    if (file->size < FFTW_HEAD) return "it is too short";
    fftw_head((char *)file->bytes + FFTW_HEAD, head);
    return memcmp(file->bytes, head, FFTW_HEAD) == 0 ? NULL : "it is damaged";
}

/* Remember FFTW's text for this process, and whether the file holds it. */
static void set_fftw(struct folder *folder, const char *text, int saved)
{
    char *copy = strdup(text);

    lock();
    free(folder->fftw);
    folder->fftw = copy;
    folder->fftw_saved = saved && copy;
    unlock();
}

char *tuning_cache_fftw(nb_context *ctx)
{
    struct folder *const folder = folder_of(ctx);
    char name[STORE_NAME], why[STORE_WHY], *text = NULL;
    struct store_bytes file = {0};

    assert(context_compile(ctx) != NB_COMPILE_OFF);
    if (!folder) return NULL;
    lock();
    if (folder->fftw) text = strdup(folder->fftw);
    unlock();
    if (!text && folder->path[0]) {
        const struct store store = store_of(folder);

        fftw_name(name);
        if (store_load(&store, name, verify_fftw, NULL, &file, why) >= STORE_DAMAGED)
            (void)report(ctx, folder, FFTW, why);
        if (file.bytes) text = strdup((char *)file.bytes + FFTW_HEAD);
        free(file.bytes);
        if (text) set_fftw(folder, text, 1);
    }
    log_topic(ctx, TOPIC_CACHE, "FFTW wisdom %s", text ? "found" : "not found");
    return text;
}

/* Write the file of FFTW's text. Returns 0, with the reason, if that cannot be done. */
static int save_fftw(const struct folder *folder, const char *text, char why[STORE_WHY])
{
    const struct store store = store_of(folder);
    const size_t n = strlen(text);
    char name[STORE_NAME], *bytes = folder->path[0] ? malloc(FFTW_HEAD + n + 1) : NULL;
    int saved;

    if (!bytes) {
        (void)snprintf(why, STORE_WHY, "%s", folder->path[0] ? no_memory : no_folder);
        return 0;
    }
    fftw_name(name);
    fftw_head(text, bytes);
    memcpy(bytes + FFTW_HEAD, text, n + 1);
    saved = store_save(&store, name, bytes, FFTW_HEAD + n, NULL, why);
    free(bytes);
    return saved;
}

nb_status tuning_cache_save_fftw(nb_context *ctx, const char *text)
{
    struct folder *const folder = folder_of(ctx);
    char why[STORE_WHY];
    int unchanged, saved;

    assert(context_compile(ctx) != NB_COMPILE_OFF);
    if (!folder) return report_unsaved(ctx, no_memory);
    lock();
    unchanged = folder->fftw_saved && strcmp(folder->fftw, text) == 0;
    unlock();
    if (unchanged) return NB_OK;
    saved = save_fftw(folder, text, why);
    set_fftw(folder, text, saved);
    if (!saved) return report_unsaved(ctx, why);
    log_topic(ctx, TOPIC_CACHE, "FFTW wisdom saved");
    return NB_OK;
}
