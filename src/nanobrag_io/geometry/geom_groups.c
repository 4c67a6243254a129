/*
 * geom_groups.c - orders the groups of a geometry file as a tree. Groups of CrystFEL, above
 * all rigid groups, are any sets of panels. The tree takes those that lie inside each other
 * or have no panel in common. SPDX-License-Identifier: MIT
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "nanobrag_io/geometry/geom.h"

/* Takes the first name off a list. Returns 0 at the end of the list. */
static int next_member(struct span *rest, struct span *name)
{
    static const char apart[] = " \t,";
    size_t n = 0;

    while (rest->n > 0 && strchr(apart, *rest->at)) rest->at++, rest->n--;
    while (n < rest->n && !strchr(apart, rest->at[n])) n++;
    *name = (struct span){rest->at, n};
    rest->at += n;
    rest->n -= n;
    return n > 0;
}

/* Returns the index of the set with a name; -1 if there is none. */
static int find_set(const struct geom_tree *t, struct span name)
{
    for (int i = 0; i < t->n; i++)
        if (geom_same(t->set[i].name, name)) return i;
    return -1;
}

/* ---- sets ---- */

static nb_status add_panel(const struct geom *g, const struct geom_list *list, int panel,
                           struct geom_set *set)
{
    assert(set->member);
    for (int i = 0; i < set->n; i++)
        if (set->member[i] == panel)
            return fail(g->ctx, NB_ERR_FORMAT, "%s, line %ld: group %s has panel %s twice",
                        g->text.name, list->line, text_show(list->name).s,
                        text_show(g->panel[panel].name).s);
    set->member[set->n++] = panel;
    return NB_OK;
}

/* Adds to a set the panel of a name, or the panels of a group that the file lists before
 * this one. */
static nb_status add_member(struct geom *g, const struct geom_tree *t,
                            const struct geom_list *list, struct span name,
                            struct geom_set *set)
{
    const int panel = geom_find(g, name);
    const int other = panel < 0 && list->kind == GEOM_GROUP ? find_set(t, name) : -1;

    if (panel >= 0) return add_panel(g, list, panel, set);
    if (other < 0 || t->set + other == set)
        return fail(g->ctx, NB_ERR_FORMAT,
                    "%s, line %ld: group %s names '%s', which is no panel%s", g->text.name,
                    list->line, text_show(list->name).s, text_show(name).s,
                    list->kind == GEOM_GROUP ? " and no group before it" : "");
    for (int i = 0; i < t->set[other].n; i++)
        NB_TRY(add_panel(g, list, t->set[other].member[i], set));
    return NB_OK;
}

/* Adds the panels of a line to the set that the line names, which is made if it is new. */
static nb_status add_set(struct geom *g, const struct geom_list *list, struct geom_tree *t)
{
    struct span rest = list->members, name;
    int i = find_set(t, list->name), *member;

    if (i < 0) {
        if (t->n == PANELS_MOST)
            return fail(g->ctx, NB_ERR_FORMAT,
                        "%s, line %ld: group %s is one more than the allowed %d groups",
                        g->text.name, list->line, text_show(list->name).s,
                        (int)PANELS_MOST);
        member = calloc((size_t)g->npanel + 1, sizeof *member);
        if (!member) return fail_memory(g->ctx, g->text.name);
        i = t->n++;
        t->set[i] =
            (struct geom_set){.name = list->name, .line = list->line, .member = member};
    }
    while (next_member(&rest, &name)) NB_TRY(add_member(g, t, list, name, t->set + i));
    return NB_OK;
}

/* Returns 1 if a collection lists a rigid group, or if the file has no collections. */
static int is_collected(const struct geom *g, struct span name)
{
    int any = 0;

    for (int i = 0; i < g->nlist; i++) {
        struct span rest = g->list[i].members, member;

        if (g->list[i].kind != GEOM_COLLECTION) continue;
        any = 1;
        while (next_member(&rest, &member))
            if (geom_same(member, name)) return 1;
    }
    return !any;
}

/* Checks that the names in collections are rigid groups. */
static nb_status check_collections(const struct geom *g, const struct geom_tree *t)
{
    for (int i = 0; i < g->nlist; i++) {
        struct span rest = g->list[i].members, member;

        while (g->list[i].kind == GEOM_COLLECTION && next_member(&rest, &member))
            if (find_set(t, member) < 0)
                return fail(g->ctx, NB_ERR_FORMAT,
                            "%s, line %ld: collection %s names '%s', which is no rigid "
                            "group",
                            g->text.name, g->list[i].line, text_show(g->list[i].name).s,
                            text_show(member).s);
    }
    return NB_OK;
}

static void drop_set(struct geom_tree *t, int i)
{
    free(t->set[i].member);
    memmove(t->set + i, t->set + i + 1, (size_t)(t->n - i - 1) * sizeof *t->set);
    t->n--;
}

/* Makes a set of each group; if the file has no groups, of each rigid group. */
static nb_status make_sets(struct geom *g, struct geom_tree *t)
{
    static const struct span all = {"all", 3};
    enum geom_list_kind kind = GEOM_RIGID;

    for (int i = 0; i < g->nlist; i++)
        if (g->list[i].kind == GEOM_GROUP) kind = GEOM_GROUP;
    for (int i = 0; i < g->nlist; i++)
        if (g->list[i].kind == kind) NB_TRY(add_set(g, g->list + i, t));
    if (kind == GEOM_RIGID) NB_TRY(check_collections(g, t));
    for (int i = t->n; i-- > 0;)
        if (t->set[i].n == 0
            || (kind == GEOM_GROUP ? geom_same(t->set[i].name, all)
                                   : !is_collected(g, t->set[i].name)))
            drop_set(t, i);
    return NB_OK;
}

/* ---- the tree ---- */

/* Orders sets by falling size; equally large sets stay in the order of the file. */
static int by_size(const void *a, const void *b)
{
    const struct geom_set *p = a, *q = b;

    if (p->n != q->n) return p->n < q->n ? 1 : -1;
    return (p->line > q->line) - (p->line < q->line);
}

/* Puts a set into the tree, below the smallest group that contains all its panels. Sets
 * come in the order of falling size. Returns 0 without doing so if the set has the same
 * panels as a group, or (with a warning) if it only overlaps one. */
static int place_set(struct geom *g, struct geom_tree *t, int kept,
                     const struct geom_set *set)
{
    const int owner = t->group[set->member[0]];

    for (int i = 0; i < set->n; i++) {
        const int other = t->group[set->member[i]];

        if (other == owner) continue;
        log_line(g->ctx, NB_LOG_WARNING, "geom",
                 "%s, line %ld: group %s overlaps group %s and is left out", g->text.name,
                 set->line, text_show(set->name).s,
                 text_show(t->set[(other > 0 ? other : owner) - 1].name).s);
        return 0;
    }
    if (owner > 0 && t->set[owner - 1].n == set->n) return 0;
    for (int i = 0; i < set->n; i++) t->group[set->member[i]] = kept + 1;
    return 1;
}

nb_status geom_make_tree(struct geom *g, struct geom_tree *t)
{
    int kept = 0;

    *t = (struct geom_tree){0};
    t->set = calloc(PANELS_MOST, sizeof *t->set);
    t->group = calloc((size_t)g->npanel + 1, sizeof *t->group);
    if (!t->set || !t->group) return fail_memory(g->ctx, g->text.name);
    NB_TRY(make_sets(g, t));
    qsort(t->set, (size_t)t->n, sizeof *t->set, by_size);
    for (int i = 0; i < t->n; i++) {
        struct geom_set set = t->set[i];

        set.parent = t->group[set.member[0]];
        if (place_set(g, t, kept, &set)) {
            t->set[i] = t->set[kept];
            t->set[kept++] = set;
        }
    }
    while (t->n > kept) drop_set(t, t->n - 1);
    return NB_OK;
}

void geom_tree_free(struct geom_tree *t)
{
    for (int i = 0; t->set && i < t->n; i++) free(t->set[i].member);
    free(t->set);
    free(t->group);
}
