/*
 * tuning_cache.c - the entries that hold in the process, and when they are read from the
 * files and written to them.
 *
 * Besides those of FFTW's planner in image/psf.c these are the only variables of the
 * library that outlive a call. A spin lock guards them; it is held while lists are searched
 * and copied, never during a wait for the disk.
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
#include "base/sha256.h"
#include "compile/tune/tuning_text.h"

/* Milliseconds to wait for the lock on the files, and after a wait that was in vain. */
enum { PATIENCE = 1000, PATIENCE_THEN = 50, FILES_LIMIT = 4 << 20 };

enum { ENTRIES, FFTW }; /* the two files, of entries and of FFTW */

static atomic_flag spin = ATOMIC_FLAG_INIT;
static struct tuning_list ruling; /* the entries that hold in this process */
static struct tuning_list unsaved; /* the entries that could not be written so far */
static char *fftw_text;
static int fftw_saved; /* the file holds fftw_text */
static char identity[2 * IDENTITY]; /* machine, tab, build */

/* The files in the folder of the last context. Contexts with different folders are rare. */
static struct {
    char folder[ENV_PATH];
    int read; /* the file of entries was read */
    int reported[2]; /* a damaged file was reported */
    int waited; /* the last wait for the lock was in vain */
    struct tuning_list entries; /* of the file, when it was read */
} disk;

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

static void forget_disk(void)
{
    tuning_clear(&disk.entries);
    memset(&disk, 0, sizeof disk);
}

/* Lock, and make `disk` that of the context. */
static void lock_disk(const nb_context *ctx)
{
    lock();
    if (strcmp(disk.folder, ctx->env.cache_dir) == 0) return;
    forget_disk();
    memcpy(disk.folder, ctx->env.cache_dir, sizeof disk.folder);
}

void tuning_cache_forget(void)
{
    lock();
    tuning_clear(&ruling);
    tuning_clear(&unsaved);
    forget_disk();
    free(fftw_text);
    fftw_text = NULL;
    fftw_saved = 0;
    unlock();
}

static struct store store_of(const nb_context *ctx)
{
    return store_in(ctx->env.cache_dir, "tuning", ".txt", TUNING_TEXT, FILES_LIMIT);
}

/* Report a damaged file: once, or each time if it is an error. */
static nb_status report(nb_context *ctx, int file, const char *why)
{
    int before;

    lock_disk(ctx);
    before = disk.reported[file];
    disk.reported[file] = 1;
    unlock();
    if (before && !ctx->env.strict) return NB_OK;
    log_topic(ctx, TOPIC_CACHE, "%s", why);
    return context_fall_back(ctx, "%s", why);
}

static const char no_folder[] = "no HOME, no XDG_CACHE_HOME";

static nb_status report_unsaved(nb_context *ctx, const char *why)
{
    log_topic(ctx, TOPIC_CACHE, "%s", why);
    return context_fall_back(ctx,
                             "%s; what was measured is not saved: let NANOBRAG_CACHE_DIR "
                             "name a folder that can be written",
                             why);
}

/* ---- entries ---- */

/* Copy the entry of a name, and return 1, if the list has one. The caller holds the lock.
 */
static int copy_entry(const struct tuning_list *list, const char *name,
                      struct tuning_entry *out)
{
    const struct tuning_entry *found = tuning_find(list, name);

    if (found) *out = *found;
    return found != NULL;
}

/* Write the full name of a key, and return 1 if an entry holds under it. */
static int find_ruling(const char *key, char name[TUNING_NAME], struct tuning_entry *out)
{
    int found;

    lock();
    (void)snprintf(name, TUNING_NAME, "%s\t%s", key, identity);
    found = copy_entry(&ruling, name, out);
    unlock();
    return found;
}

/* Returns the entry that holds under a name; if there is none, `entry` holds from now on.
 */
static struct tuning_entry make_ruling(const char *name, struct tuning_entry entry)
{
    lock();
    if (!copy_entry(&ruling, name, &entry)) (void)tuning_add(&ruling, name, &entry);
    unlock();
    return entry;
}

/* Add the entries of the file to a list. */
static enum store_state read_entries(const nb_context *ctx, struct tuning_list *list,
                                     char why[STORE_WHY])
{
    const struct store store = store_of(ctx);
    struct store_bytes file;
    enum store_state state = store_load(&store, "tuning.txt", NULL, NULL, &file, why);
    char flaw[STORE_WHY];

    if (state != STORE_FOUND) return state;
    if (!tuning_parse((char *)file.bytes, file.size, list, flaw)) {
        (void)snprintf(why, STORE_WHY, "%.300s/tuning.txt: out of memory", store.folder);
        state = STORE_REFUSED;
    } else if (flaw[0]) {
        (void)snprintf(why, STORE_WHY, "%.300s/tuning.txt: damaged, ignored: %.150s",
                       store.folder, flaw);
        state = STORE_DAMAGED;
    }
    free(file.bytes);
    return state;
}

/* Find an entry in the file, which is read once in a process; in strict mode a damaged one
 * is read, and is an error, each time. An entry of enough effort holds from now on. */
static int find_in_file(nb_context *ctx, const char *name, int effort,
                        struct tuning_entry *out)
{
    struct tuning_list list = {0}, old;
    enum store_state state = STORE_FOUND;
    char why[STORE_WHY] = "";
    int found, known;

    if (!ctx->env.cache_dir[0]) return 0;
    lock_disk(ctx);
    known = disk.read && !(ctx->env.strict && disk.reported[ENTRIES]);
    unlock();
    if (!known) state = read_entries(ctx, &list, why);
    if (state >= STORE_DAMAGED) (void)report(ctx, ENTRIES, why);
    lock_disk(ctx);
    if (!known && (!disk.read || state == STORE_FOUND)) {
        old = disk.entries;
        disk.entries = list;
        list = old;
        disk.read = 1;
        if (state == STORE_FOUND) disk.reported[ENTRIES] = 0; /* it was mended */
    }
    found = copy_entry(&disk.entries, name, out);
    unlock();
    tuning_clear(&list);
    if (!found || out->effort < effort) return 0;
    *out = make_ruling(name, *out);
    return out->effort >= effort;
}

/* Make an entry hold, or replace it by the one that holds already. If `entry` took the
 * greater effort, it stays as it is, to be saved for later processes. */
static void settle(const char *name, struct tuning_entry *entry)
{
    const struct tuning_entry rules = make_ruling(name, *entry);

    if (rules.effort >= entry->effort) *entry = rules;
}

/* Merge one list into another. Returns 1 if that changed it, 0 if not, -1 if there is no
 * memory. */
static int merge_all(struct tuning_list *into, const struct tuning_list *from)
{
    int changed = 0;

    for (const struct tuning_record *at = from->first; at; at = at->next) {
        const int merged = tuning_merge(into, at->name, &at->entry);

        if (merged < 0) return -1;
        changed |= merged;
    }
    return changed;
}

/* Update the file, while the lock on it is held: read its entries, settle `entry` by them,
 * add it to `more`, and write the file if any of `more` is new to it. Returns 0, with the
 * reason, if the file could not be written; `status` is that of reporting a damaged file.
 */
static int update_file(nb_context *ctx, const char *name, struct tuning_entry *entry,
                       struct tuning_list *more, char why[STORE_WHY], nb_status *status)
{
    const struct store store = store_of(ctx);
    struct tuning_list list = {0};
    struct tuning_entry found;
    const enum store_state state = read_entries(ctx, &list, why);
    int changed = -1, good = 0;
    char *text = NULL;

    if (state == STORE_REFUSED) return 0;
    if (state == STORE_DAMAGED) *status = report(ctx, ENTRIES, why);
    if (copy_entry(&list, name, &found) && found.effort >= entry->effort) *entry = found;
    settle(name, entry);
    if (tuning_merge(more, name, entry) >= 0) changed = merge_all(&list, more);
    if (changed >= 0) text = tuning_print(&list);
    if (!text)
        (void)snprintf(why, STORE_WHY, "%.300s/tuning.txt: out of memory", store.folder);
    else if (changed || state == STORE_DAMAGED)
        good = store_save(&store, "tuning.txt", text, strlen(text), NULL, why);
    else
        good = 1;
    free(text);
    tuning_clear(&list);
    return good;
}

/* Save an entry, and replace it by the one that holds. */
static nb_status save_entry(nb_context *ctx, const char *name, struct tuning_entry *entry)
{
    const struct store store = store_of(ctx);
    struct tuning_list more = {0};
    nb_status status = NB_OK;
    int files, good = 0, patience;
    char why[STORE_WHY];

    if (!ctx->env.cache_dir[0]) return report_unsaved(ctx, no_folder);
    lock_disk(ctx);
    patience = disk.waited ? PATIENCE_THEN : PATIENCE;
    unlock();
    files = store_lock(&store, patience, why);
    lock_disk(ctx);
    disk.waited = files < 0;
    if (files >= 0) {
        more = unsaved;
        unsaved = (struct tuning_list){0};
    }
    unlock();
    if (files >= 0) {
        good = update_file(ctx, name, entry, &more, why, &status);
        store_unlock(files);
    }
    if (!good) {
        settle(name, entry);
        lock();
        (void)merge_all(&unsaved, &more);
        (void)tuning_merge(&unsaved, name, entry);
        unlock();
        status = report_unsaved(ctx, why);
    }
    tuning_clear(&more);
    return status;
}

static void log_entry(const nb_context *ctx, const char *what, const char *key,
                      const struct tuning_entry *entry)
{
    log_topic(ctx, TOPIC_CACHE, "tuning entry %s: %s: strategy=%d threads=%d block=%d",
              what, key, entry->strategy, entry->threads, entry->block);
}

int tuning_cache_find(nb_context *ctx, const char *key, int effort, int file,
                      struct tuning_entry *out)
{
    struct tuning_entry entry = {0};
    char name[TUNING_NAME];
    int found, rules;

    assert(context_compile(ctx) != NB_COMPILE_OFF);
    rules = find_ruling(key, name, &entry);
    found = rules && entry.effort >= effort;
    if (!rules && file) found = find_in_file(ctx, name, effort, &entry);
    if (found) {
        *out = entry;
        log_entry(ctx, rules ? "of this process" : "of the file", key, &entry);
    } else {
        log_topic(ctx, TOPIC_CACHE, "tuning entry not found: %s", key);
    }
    return found;
}

nb_status tuning_cache_save(nb_context *ctx, const char *key, struct tuning_entry *entry,
                            int file)
{
    const struct tuning_entry mine = *entry;
    struct tuning_entry rules, saved = mine;
    nb_status status = NB_OK;
    char name[TUNING_NAME];
    int before;

    assert(context_compile(ctx) != NB_COMPILE_OFF);
    before = find_ruling(key, name, &rules);
    if (mine.effort > EFFORT_ESTIMATED && (!before || rules.effort < mine.effort)) {
        if (file) status = save_entry(ctx, name, &saved);
        rules = make_ruling(name, saved);
        before = rules.strategy != mine.strategy || rules.threads != mine.threads
                 || rules.block != mine.block;
    } else if (!before) {
        return NB_OK;
    }
    *entry = rules;
    log_entry(ctx, before ? "saved before" : "saved", key, &rules);
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
static void set_fftw(const char *text, int saved)
{
    char *copy = strdup(text);

    lock();
    free(fftw_text);
    fftw_text = copy;
    fftw_saved = saved && copy;
    unlock();
}

char *tuning_cache_fftw(nb_context *ctx)
{
    const struct store store = store_of(ctx);
    char name[STORE_NAME], why[STORE_WHY], *text;
    struct store_bytes file = {0};

    assert(context_compile(ctx) != NB_COMPILE_OFF);
    lock();
    text = fftw_text ? strdup(fftw_text) : NULL;
    unlock();
    if (!text && ctx->env.cache_dir[0]) {
        fftw_name(name);
        if (store_load(&store, name, verify_fftw, NULL, &file, why) >= STORE_DAMAGED)
            (void)report(ctx, FFTW, why);
        if (file.bytes) text = strdup((char *)file.bytes + FFTW_HEAD);
        free(file.bytes);
        if (text) set_fftw(text, 1);
    }
    log_topic(ctx, TOPIC_CACHE, "FFTW wisdom %s", text ? "found" : "not found");
    return text;
}

nb_status tuning_cache_save_fftw(nb_context *ctx, const char *text)
{
    const struct store store = store_of(ctx);
    const size_t n = strlen(text);
    char name[STORE_NAME], why[STORE_WHY], *bytes = malloc(FFTW_HEAD + n + 1);
    int changed, saved = 0;

    assert(context_compile(ctx) != NB_COMPILE_OFF);
    lock();
    changed = !fftw_saved || !fftw_text || strcmp(fftw_text, text) != 0;
    unlock();
    if (!changed) {
        free(bytes);
        return NB_OK;
    }
    if (bytes && ctx->env.cache_dir[0]) {
        fftw_name(name);
        fftw_head(text, bytes);
        memcpy(bytes + FFTW_HEAD, text, n + 1);
        saved = store_save(&store, name, bytes, FFTW_HEAD + n, NULL, why);
    } else {
        (void)snprintf(why, sizeof why, "%s", bytes ? no_folder : "out of memory");
    }
    free(bytes);
    set_fftw(text, saved);
    if (!saved) return report_unsaved(ctx, why);
    log_topic(ctx, TOPIC_CACHE, "FFTW wisdom saved");
    return NB_OK;
}
