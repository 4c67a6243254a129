/*
 * constraints.c - applies the rules of constraints.def, and refuses files named twice.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nanobrag_command/command.h"
#include "nanobrag_command/shots/shots.h"

enum { TERM = 48, SAID = 320 };

/* ---- the table ---- */

enum rule_kind { NEEDS, EXCLUDES, WRONG, IDLE, VAIN, LACKS, BESIDE, ODD, SETS };

struct rule {
    enum rule_kind kind;
    const char *terms, *others, *text;
};

#define RULE(kind, terms, others, text) {kind, terms, others, text},
static const struct rule rules[] = {
#include "nanobrag_command/options/constraints.def"
};
enum { RULES = sizeof rules / sizeof *rules };

/* How rules of each kind are applied. A message consists of term, `between`, rule->others,
 * `behind` and rule->text. */
static const struct {
    int unless; /* 1: the rule applies if none of rule->others holds; 0: if one holds */
    int refuses; /* 1: an error; 0: a warning */
    int idles; /* 1: a term to which the rule applies has no effect */
    const char *between, *behind;
} kinds[] = {
    [NEEDS] = {1, 1, 0, " needs ", ", "},
    [EXCLUDES] = {0, 1, 0, " and ", " exclude each other: "},
    [WRONG] = {1, 1, 0, " ", ""},
    [IDLE] = {1, 0, 1, " has no effect without ", ""},
    [VAIN] = {0, 0, 1, " has no effect beside ", ""},
    [LACKS] = {1, 0, 0, " without ", ": "},
    [BESIDE] = {0, 0, 0, " beside ", ": "},
    [ODD] = {1, 0, 0, " ", ""},
};

/* ---- terms ---- */

/* Returns 1 if a fact of the run holds, such as "fit" or "panels". Its name in messages
 * goes to *said, if the fact is in the list below. */
static int holds_fact(const struct command *command, const char *word, const char **said)
{
    const struct settings *const s = command->s;
    const int fitted = fit_asked(s);
    const struct {
        const char *word, *said;
        int holds;
    } facts[] = {
        {"alone", "-integrate without -fit",
         s->integrate && !s->fit.shared && !s->fit.own && !s->explain && !s->gradcheck
             && !command->scene_only},
        /* a fit or an integration that will be run */
        {"fit",
         s->fit.shared ? "-fit"
         : s->fit.own  ? "-fit_each"
                       : "-integrate",
         fitted && !s->explain && !s->gradcheck && !command->scene_only},
        {"table", "-shots", shots_asked(s)}, /* -shots lists images to make */
        {"list", "-shots", s->fit.shots && fitted}, /* -shots lists images to fit */
        {"experiments", "", command->inputs.expt != NULL},
        {"tables", "", s->refl != NULL},
        {"several", "a run of several processes", command->several},
        {"noboxes", "", !s->boxes},
        {"panels", "the panels of -expt", command->inputs.geometry && !s->geom},
        {"nxmx", "an NXmx -imagefile", image_format(s) == IMAGE_NXMX},
        {"reflections", "-pdb, -mtz, -hkl or -dump", s->pdb || s->mtz || s->hkl || s->dump},
        /* numbers that -expt or -xparm states */
        {"scan", "", (s->stated & NB_FOUND_SCAN) != 0},
        {"mosaic", "", (s->stated & NB_FOUND_MOSAIC) != 0},
        {"sensor", "", (s->stated & NB_FOUND_SENSOR) != 0},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(facts[i].word, word) == 0) {
            *said = facts[i].said;
            return facts[i].holds;
        }
    return option_listed(nb_features(), word); /* what this build can do, such as "png" */
}

/* Returns the last event of the option that a term names, if the term holds; else NULL.
 * Terms are explained in constraints.def. */
static const struct event *find(const struct command *command, const char *term)
{
    const struct event_list *const events = command->events;
    const size_t n = strcspn(term, "=>*");
    const struct event *last = NULL;
    int times = 0;
    for (size_t i = 0; i < events->n; i++) {
        const char *const name = option_at(events->at[i].option)->name;
        if (strncmp(name, term, n) != 0 || name[n]) continue;
        last = &events->at[i];
        times++;
    }
    if (!last) return NULL;
    const char *const text = last->text ? last->text : "";
    const char *const value = term + n + (term[n] != 0);
    const int is_met = term[n] == '>'   ? strtod(text, NULL) > strtod(value, NULL)
                       : term[n] == '*' ? times >= atoi(value)
                       : term[n] == 0   ? 1
                       : *value == '*'  ? *text != 0
                       : *value == 0    ? *text == 0
                                     : option_choice(value, text, strcspn(text, ":")) >= 0;
    return is_met ? last : NULL;
}

/* Returns 1 if a term holds, and writes it to `said` in the user's words. *event is the
 * event of an option, or NULL for a fact. */
static int holds(const struct command *command, const char *term, char said[SAID],
                 const struct event **event)
{
    const char *fact = "", *value = NULL;
    const size_t n = strcspn(term, "=>*");
    *event = *term == '-' ? find(command, term) : NULL;
    if (*event && (term[n] == '=' || term[n] == '>')) value = (*event)->text;
    if (*event)
        (void)snprintf(said, SAID, "%.*s%s%s", (int)n, term, value ? " " : "",
                       value ? value : "");
    if (*term == '-') return *event != NULL;
    const int is_met = holds_fact(command, term, &fact);
    (void)snprintf(said, SAID, "%s", fact);
    return is_met;
}

static int any_holds(const struct command *command, const char *terms, char said[SAID])
{
    const struct event *event;
    char term[TERM];
    while (option_word(&terms, term, sizeof term))
        if (holds(command, term, said, &event)) return 1;
    return 0;
}

/* Lists the terms in front of a bracket as words of a message: "-a, -b or -c". */
static void propose(const struct command *command, const char *terms, char said[SAID])
{
    char term[TERM], next[TERM] = "";
    size_t n = 0;
    *said = 0;
    for (int i = 0; option_word(&terms, term, sizeof term) && *term != '('; i++) {
        const char *rest = terms, *fact = term;
        const int more = option_word(&rest, next, sizeof next) && *next != '(';
        char *const value = strpbrk(term, "=>*");
        if (value) *value = *value == '=' ? ' ' : 0;
        if (*term != '-') (void)holds_fact(command, term, &fact);
        n += (size_t)snprintf(said + n, SAID - n, "%s%s",
                              i == 0 ? ""
                              : more ? ", "
                                     : " or ",
                              fact);
    }
}

/* ---- rules ---- */

/* Applies a rule to one of its terms. `idle` marks options that earlier rules found to have
 * no effect; such options are passed over. Returns 0 or the exit status. */
static int apply(const struct command *command, const struct rule *rule, const char *term,
                 unsigned char idle[OPT_COUNT])
{
    char left[SAID] = "", right[SAID] = "";
    const struct event *event;
    if (!holds(command, term, left, &event)) return 0;
    if (event && idle[event->option]) return 0;
    if (event && command->s->compat && !(option_at(event->option)->flags & OPTION_OURS))
        return 0;
    if (any_holds(command, rule->others, right) == kinds[rule->kind].unless) return 0;
    if (kinds[rule->kind].unless) propose(command, rule->others, right);
    const char *const between = kinds[rule->kind].between;
    const char *const behind = kinds[rule->kind].behind;
    if (kinds[rule->kind].refuses)
        return message_usage(command->messages, "%s%s%s%s%s", left, between, right, behind,
                             rule->text);
    message_warning(command->messages, "%s%s%s%s%s", left, between, right, behind,
                    rule->text);
    if (event && kinds[rule->kind].idles) idle[event->option] = 1;
    return 0;
}

/* ---- options that set the same quantity ---- */

/* Returns the option that decides under a rule: the last one given among rule->others, or
 * else among rule->terms. *role is 2 or 1 accordingly. *own is 2 or 1 if rule->others or
 * rule->terms names the option of `event`, and 0 if neither does. */
static const struct event *find_top(const struct command *command, const struct rule *rule,
                                    const struct event *event, int *role, int *own)
{
    const struct event *top = NULL;
    *own = 0;
    for (int i = 1; i <= 2; i++) {
        const char *terms = i == 1 ? rule->terms : rule->others;
        const struct event *last = NULL;
        char term[TERM];
        while (option_word(&terms, term, sizeof term)) {
            const struct event *const one = find(command, term);
            if (one && (!last || one > last)) last = one;
            if (one == event) *own = i;
        }
        if (last) top = last, *role = i;
    }
    return top;
}

/* Warns of options without effect. An option has none if, in each of the n rules of a group
 * that names it, another option decides. */
static void check_set(const struct command *command, const struct rule *group, int n)
{
    for (size_t i = 0; i < command->events->n; i++) {
        const struct event *const event = &command->events->at[i], *by = NULL;
        int wins = 0, role = 0, own = 0;
        for (int k = 0; k < n && by != event; k++) {
            const struct event *const top =
                find_top(command, &group[k], event, &role, &own);
            if (own) by = top, wins = role > own;
        }
        if (!by || by == event) continue;
        message_warning(command->messages, "%s has no effect: %s %s",
                        option_at(event->option)->name, option_at(by->option)->name,
                        wins ? "sets the same and wins" : "comes later and sets the same");
    }
}

/* ---- names given twice ---- */

/* Refuses an output option that is given twice with different files, and warns of an input
 * option given so. -data, -add, -expt and -refl may be repeated. Returns 0 or the exit
 * status. */
static int check_names(const struct event_list *events, struct messages *messages)
{
    for (size_t i = 0; i < events->n; i++)
        for (size_t k = i + 1; k < events->n; k++) {
            const struct event *const one = &events->at[i], *const two = &events->at[k];
            const struct option *const option = option_at(one->option);
            if (one->option != two->option || one->option == OPT_DATA
                || one->option == OPT_EXPT || one->option == OPT_REFL
                || (option->kind != KIND_OUTPUT && option->kind != KIND_INPUT) || !one->text
                || !two->text || strcmp(one->text, two->text) == 0)
                continue;
            if (option->kind == KIND_OUTPUT)
                return message_usage(messages,
                                     "%s is given twice, as %s and %s, and writes one "
                                     "file; "
                                     "leave one out",
                                     option->name, one->text, two->text);
            message_warning(messages, "%s %s has no effect: %s %s comes later",
                            option->name, one->text, option->name, two->text);
        }
    return 0;
}

int constraints_check(const struct command *command)
{
    unsigned char idle[OPT_COUNT] = {0};
    const int compat = command->s->compat;
    int code = compat ? 0 : check_names(command->events, command->messages);
    for (int i = 0, n; i < RULES && !code; i += n) {
        const struct rule *const rule = &rules[i];
        const char *terms = rule->terms;
        char term[TERM];
        for (n = 1; rule->kind == SETS && i + n < RULES; n++)
            if (strcmp(rule[n].text, rule->text) != 0) break;
        if (rule->kind == SETS && !compat) check_set(command, rule, n);
        while (rule->kind != SETS && !code && option_word(&terms, term, sizeof term))
            code = apply(command, rule, term, idle);
    }
    return code;
}
