/*
 * wisdom.c - the wisdom of the process, and when it meets the file.
 *
 * With those of FFTW's planner in image/psf.c these are the only variables of the library
 * that outlive a call. A spin lock guards them, held while lists are searched and never
 * while the disk is waited for; who writes the file holds another one, since the lock on
 * the file knows processes only.
 *
 * SPDX-License-Identifier: MIT
 */
#include "compile/tune/wisdom.h"

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "compile/identity.h"
#include "compile/tune/wisdom_book.h"

/* a folder that a context named */
struct shelf {
    struct shelf *next;
    int read, complained; /* its file was read; that it is no good was said */
    int stuck; /* the last lock was not had */
    struct wisdom_book file; /* what the file had for us when it was read */
    struct wisdom_book unsaved; /* what could not be written so far */
    char folder[ENV_PATH];
};

static atomic_flag spin = ATOMIC_FLAG_INIT;
static struct wisdom_book table; /* what rules in this process */
static struct shelf *shelves;
static char machine[IDENTITY];
#ifndef NANOBRAG_CJSON
static int said; /* that there is no file */
#endif

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&spin, memory_order_acquire))
        (void)sched_yield();
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&spin, memory_order_release);
}

/* an item of this machine and build, for looking up and for copying */
static struct wisdom_item item_here(const char *name, const char *text)
{
    struct wisdom_item item = {.build = identity_build(), .name = name, .text = text};

    lock();
    if (!machine[0]) identity_machine(machine);
    unlock();
    item.machine = machine;
    return item;
}

static int same(const struct finding *a, const struct finding *b)
{
    return a->strategy == b->strategy && a->threads == b->threads && a->block == b->block;
}

/* what rules under the item's key, or from now on this */
static struct finding settle(const struct wisdom_item *item)
{
    const struct wisdom_item *there;
    struct finding ruling = item->finding;

    lock();
    there = wisdom_find(&table, item);
    if (there)
        ruling = there->finding;
    else
        (void)wisdom_add(&table, item);
    unlock();
    return ruling;
}

void wisdom_forget(void)
{
    lock();
    wisdom_clear(&table);
    while (shelves) {
        struct shelf *shelf = shelves;

        shelves = shelf->next;
        wisdom_clear(&shelf->file);
        wisdom_clear(&shelf->unsaved);
        free(shelf);
    }
#ifndef NANOBRAG_CJSON
    said = 0;
#endif
    unlock();
}

#ifdef NANOBRAG_CJSON

/* ---- the file ---- */

/* A second for a lock, as long as somebody may write; hardly any time where it seems that
 * the lock will never come. */
enum { NAP_MS = 2, NAPS = 500, PATIENCE_MS = NAP_MS * NAPS, BRIEFLY_MS = 50 };

/* held by the thread that writes */
static atomic_flag writing = ATOMIC_FLAG_INIT;

/* 0 after a second in vain */
static int begin_writing(void)
{
    static const struct timespec nap = {0, NAP_MS * 1000000L};

    for (int i = 0; i < NAPS; i++) {
        if (!atomic_flag_test_and_set_explicit(&writing, memory_order_acquire)) return 1;
        (void)nanosleep(&nap, NULL);
    }
    return 0;
}

static void end_writing(void)
{
    atomic_flag_clear_explicit(&writing, memory_order_release);
}

/* Under lock(). NULL: no memory. */
static struct shelf *shelf_of(const char *folder)
{
    struct shelf *shelf = shelves;

    while (shelf && strcmp(shelf->folder, folder) != 0) shelf = shelf->next;
    if (shelf) return shelf;
    shelf = calloc(1, sizeof *shelf);
    if (!shelf) return NULL;
    (void)snprintf(shelf->folder, sizeof shelf->folder, "%s", folder);
    shelf->next = shelves;
    shelves = shelf;
    return shelf;
}

/* of the items of one book those of this machine and build into another one */
static void take_ours(struct wisdom_book *ours, const struct wisdom_book *all)
{
    for (const struct wisdom_item *item = all->first; item; item = item->next)
        if (strcmp(item->machine, machine) == 0
            && strcmp(item->build, identity_build()) == 0)
            (void)wisdom_merge(ours, item);
}

/* Say that the file is no good: once, and always where that is an error. */
static nb_status complain(nb_context *ctx, const char *why)
{
    struct shelf *shelf;
    int said;

    lock();
    shelf = shelf_of(ctx->env.cache_dir);
    said = shelf && shelf->complained;
    if (shelf) shelf->complained = 1;
    unlock();
    if (said && !ctx->env.strict) return NB_OK;
    log_topic(ctx, TOPIC_CACHE, "%s", why);
    return context_fall_back(ctx, "%s", why);
}

/* once in a process and folder */
static void read_shelf(nb_context *ctx)
{
    struct wisdom_book book = {0};
    char why[WISDOM_WHY] = "";
    struct shelf *shelf;
    int known;

    lock();
    shelf = shelf_of(ctx->env.cache_dir);
    known = !shelf || shelf->read;
    unlock();
    if (known && !(ctx->env.strict && shelf && shelf->complained)) return;
    if (wisdom_read(ctx->env.cache_dir, &book, why) >= WISDOM_DAMAGED)
        (void)complain(ctx, why);
    lock();
    shelf = shelf_of(ctx->env.cache_dir);
    if (shelf && !shelf->read) {
        shelf->read = 1;
        take_ours(&shelf->file, &book);
    }
    unlock();
    wisdom_clear(&book);
}

/* A finding of the file that is rigorous enough, which rules from now on. */
static int recall_file(nb_context *ctx, struct wisdom_item *item, int rigour)
{
    const struct wisdom_item *there = NULL;
    const struct shelf *shelf;

    if (!ctx->env.cache_dir[0]) return 0;
    read_shelf(ctx);
    lock();
    shelf = shelf_of(ctx->env.cache_dir);
    if (shelf) there = wisdom_find(&shelf->file, item);
    if (there) item->finding = there->finding;
    unlock();
    if (!there || item->finding.rigour < rigour) return 0;
    item->finding = settle(item);
    return item->finding.rigour >= rigour;
}

static char *text_of_file(nb_context *ctx, const struct wisdom_item *item)
{
    const struct wisdom_item *there = NULL;
    const struct shelf *shelf;
    char *text;

    if (!ctx->env.cache_dir[0]) return NULL;
    read_shelf(ctx);
    lock();
    shelf = shelf_of(ctx->env.cache_dir);
    if (shelf) there = wisdom_find(&shelf->file, item);
    text = there ? strdup(there->text) : NULL;
    unlock();
    return text;
}

/* Make the item what rules here, or let it rule. But one that is more rigorous than what
 * rules here stays as it is, for those who come after. */
static void settle_item(struct wisdom_item *item)
{
    const struct finding ruling = settle(item);

    if (!item->text && ruling.rigour >= item->finding.rigour) item->finding = ruling;
}

/* keep for the next writer what could not be written */
static void postpone(const nb_context *ctx, const struct wisdom_book *book,
                     const struct wisdom_item *item)
{
    struct shelf *shelf;

    lock();
    shelf = shelf_of(ctx->env.cache_dir);
    for (const struct wisdom_item *old = book->first; shelf && old; old = old->next)
        (void)wisdom_merge(&shelf->unsaved, old);
    if (shelf) (void)wisdom_merge(&shelf->unsaved, item);
    unlock();
}

/* the lock on the file, or -1 */
static int lock_file(const nb_context *ctx, char why[WISDOM_WHY])
{
    struct shelf *shelf;
    int stuck, locked;

    lock();
    shelf = shelf_of(ctx->env.cache_dir);
    stuck = shelf && shelf->stuck;
    unlock();
    locked = wisdom_lock(ctx->env.cache_dir, stuck ? BRIEFLY_MS : PATIENCE_MS, why);
    lock();
    shelf = shelf_of(ctx->env.cache_dir);
    if (shelf) shelf->stuck = locked < 0;
    unlock();
    return locked;
}

static struct wisdom_book take_unsaved(const nb_context *ctx)
{
    struct wisdom_book book = {0};
    struct shelf *shelf;

    lock();
    shelf = shelf_of(ctx->env.cache_dir);
    if (shelf) {
        book = shelf->unsaved;
        shelf->unsaved = (struct wisdom_book){0};
    }
    unlock();
    return book;
}

/*
 * With the lock on the file: read it, settle the item by it, and write it when this adds
 * something. 0: not written, `why` says so; `status`: of what was wrong with the old one.
 */
static int update(nb_context *ctx, struct wisdom_item *item,
                  const struct wisdom_book *unsaved, char why[WISDOM_WHY],
                  nb_status *status)
{
    struct wisdom_book book = {0};
    const enum wisdom_state state = wisdom_read(ctx->env.cache_dir, &book, why);
    const struct wisdom_item *there = wisdom_find(&book, item);
    int changed = state == WISDOM_DAMAGED, merged, good = state != WISDOM_FAILED;

    if (state == WISDOM_DAMAGED) *status = complain(ctx, why);
    if (good && there && there->finding.rigour >= item->finding.rigour)
        item->finding = there->finding;
    if (good) settle_item(item);
    for (const struct wisdom_item *old = unsaved->first; good && old; old = old->next) {
        merged = wisdom_merge(&book, old);
        changed |= merged > 0;
        good = merged >= 0;
    }
    if (good) {
        merged = wisdom_merge(&book, item);
        changed |= merged > 0;
        good = merged >= 0;
    }
    if (!good && state != WISDOM_FAILED)
        (void)snprintf(why, WISDOM_WHY, "wisdom: out of memory");
    if (good && changed) good = wisdom_write(ctx->env.cache_dir, &book, why);
    wisdom_clear(&book);
    return good;
}

/* Into the file, and there the item is settled; what fails is said and done later. */
static nb_status save(nb_context *ctx, struct wisdom_item *item)
{
    const char *flaw = wisdom_flaw(item);
    struct wisdom_book unsaved = {0};
    char why[WISDOM_WHY] = "wisdom.json: another thread has been writing for a second";
    nb_status status = NB_OK;
    int locked = -1, good = 0;

    if (!ctx->env.cache_dir[0])
        return context_fall_back(ctx,
                                 "no HOME, no XDG_CACHE_HOME: what was measured is not "
                                 "kept; let NANOBRAG_CACHE_DIR name a folder");
    if (flaw) return context_fall_back(ctx, "wisdom.json: '%.60s': %s", item->name, flaw);
    if (begin_writing()) {
        locked = lock_file(ctx, why);
        unsaved = take_unsaved(ctx);
        if (locked >= 0) {
            good = update(ctx, item, &unsaved, why, &status);
            wisdom_unlock(locked);
        }
        end_writing();
    }
    if (!good) {
        settle_item(item);
        postpone(ctx, &unsaved, item);
    }
    wisdom_clear(&unsaved);
    if (!good) {
        log_topic(ctx, TOPIC_CACHE, "%s", why);
        status = context_fall_back(ctx,
                                   "%s; what was measured is not kept: let "
                                   "NANOBRAG_CACHE_DIR name a folder that can be written",
                                   why);
    }
    return status;
}

#else

static int recall_file(nb_context *ctx, struct wisdom_item *item, int rigour)
{
    (void)ctx, (void)item, (void)rigour;
    return 0;
}

static char *text_of_file(nb_context *ctx, const struct wisdom_item *item)
{
    (void)ctx, (void)item;
    return NULL;
}

static nb_status save(nb_context *ctx, struct wisdom_item *item)
{
    int before;

    (void)item;
    if (!ctx->env.cache_dir[0]) return NB_OK;
    lock();
    before = said;
    said = 1;
    unlock();
    if (before && !ctx->env.strict) return NB_OK;
    return context_fall_back(ctx, "this build has no cJSON: what was measured is not kept");
}

#endif

/* ---- what is asked ---- */

static void messages(const nb_context *ctx, const char *what,
                     const struct wisdom_item *item)
{
    const struct finding *found = &item->finding;

    log_topic(ctx, TOPIC_CACHE, "wisdom %s: %s: strategy=%d threads=%d block=%d", what,
              item->name, found->strategy, found->threads, found->block);
}

static int recall_table(struct wisdom_item *item)
{
    const struct wisdom_item *there;

    lock();
    there = wisdom_find(&table, item);
    if (there) item->finding = there->finding;
    unlock();
    return there != NULL;
}

int wisdom_recall(nb_context *ctx, const char *key, int rigour, int file,
                  struct finding *out)
{
    struct wisdom_item item = item_here(key, NULL);
    const int ruled = recall_table(&item);
    int found = ruled && item.finding.rigour >= rigour;

    assert(context_compile(ctx) != NB_COMPILE_OFF);
    if (!ruled && file) found = recall_file(ctx, &item, rigour);
    if (found) {
        *out = item.finding;
        messages(ctx, ruled ? "of this process" : "of the file", &item);
    } else {
        log_topic(ctx, TOPIC_CACHE, "wisdom not found: %s", key);
    }
    return found;
}

nb_status wisdom_keep(nb_context *ctx, const char *key, struct finding *finding, int file)
{
    struct wisdom_item item = item_here(key, NULL), ruling = item;
    nb_status status = NB_OK;
    int before;

    assert(context_compile(ctx) != NB_COMPILE_OFF);
    before = recall_table(&ruling);
    item.finding = *finding;
    if (finding->rigour > RIGOUR_ESTIMATED
        && (!before || ruling.finding.rigour < finding->rigour)) {
        if (file) status = save(ctx, &item);
        ruling.finding = settle(&item);
        before = !same(&ruling.finding, finding);
    } else if (!before) {
        return NB_OK;
    }
    *finding = ruling.finding;
    messages(ctx, before ? "kept before" : "kept", &ruling);
    return status;
}

char *wisdom_text(nb_context *ctx, const char *name)
{
    const struct wisdom_item item = item_here(name, "");
    const struct wisdom_item *there;
    char *text;

    assert(context_compile(ctx) != NB_COMPILE_OFF);
    lock();
    there = wisdom_find(&table, &item);
    text = there ? strdup(there->text) : NULL;
    unlock();
    if (!text) text = text_of_file(ctx, &item);
    log_topic(ctx, TOPIC_CACHE, "wisdom %s: %s", text ? "found" : "not found", name);
    return text;
}

nb_status wisdom_keep_text(nb_context *ctx, const char *name, const char *text)
{
    struct wisdom_item item = item_here(name, text);
    int changed;

    assert(context_compile(ctx) != NB_COMPILE_OFF);
    lock();
    changed = wisdom_merge(&table, &item);
    unlock();
    log_topic(ctx, TOPIC_CACHE, "wisdom %s: %s", changed ? "kept" : "as it was", name);
    return changed ? save(ctx, &item) : NB_OK;
}
