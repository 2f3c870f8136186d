// SPDX-License-Identifier: BSD-3-Clause
// Reads the options of a command line from a table, and prints the table for --help.
#include "tools/lib/options.h"

#include "base/edit_distance.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    WIDTH = 80,    // of --help
    MAX_LEFT = 26, // columns for an option and its value; after a longer one comes a new line
    FAR = 4        // changes that make a name another one and not a mistyped one
};

struct name {
    const char *text; // without dashes
    size_t len, dashes;
};

// The first name of a list, which is moved after it. False: the list is empty.
static bool next_name(const char **list, struct name *out)
{
    *list += strspn(*list, " ");
    out->dashes = strspn(*list, "-");
    out->text = *list + out->dashes;
    out->len = strcspn(out->text, " ");
    *list = out->text + out->len;
    return out->len > 0;
}

// Whether the first `len` letters of `typed` are a name of the option.
static bool has_name(const struct pli_option *o, const char *typed, size_t len)
{
    const char *lists[] = { o->names, o->aliases };
    struct name name;
    for (int i = 0; i < 2; i++) {
        while (next_name(&lists[i], &name)) {
            if (name.len == len && memcmp(name.text, typed, len) == 0) {
                return true;
            }
        }
    }
    return false;
}

// The length of the longest name of the option that `typed` begins with.
static size_t prefix_length(const struct pli_option *o, const char *typed)
{
    const char *lists[] = { o->names, o->aliases };
    struct name name;
    size_t longest = 0;
    for (int i = 0; i < 2; i++) {
        while (next_name(&lists[i], &name)) {
            if (name.len > longest && strncmp(name.text, typed, name.len) == 0) {
                longest = name.len;
            }
        }
    }
    return longest;
}

bool pli_options_is_named(const struct pli_option *o, const char *name)
{
    return has_name(o, name, strlen(name));
}

bool pli_options_is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

// The option that a word without its dashes names, and the length of that name. A whole word comes
// before a name with '=' after it, and that before the longest name with its value joined to it.
static const struct pli_option *find(const struct pli_option_table *t, const char *typed,
                                     size_t *len_out)
{
    const struct pli_option *best = NULL;
    size_t whole = strlen(typed), until_equals = strcspn(typed, "=");
    *len_out = whole;
    for (int i = 0; i < t->n_option; i++) {
        if (has_name(&t->option[i], typed, whole)) {
            return &t->option[i];
        }
    }
    *len_out = until_equals;
    for (int i = 0; i < t->n_option && until_equals < whole; i++) {
        if ((t->option[i].forms & PLI_FORM_EQUALS) != 0 &&
            has_name(&t->option[i], typed, until_equals)) {
            return &t->option[i];
        }
    }
    *len_out = 0;
    for (int i = 0; i < t->n_option; i++) {
        size_t len =
            (t->option[i].forms & PLI_FORM_JOINED) != 0 ? prefix_length(&t->option[i], typed) : 0;
        if (len > *len_out) {
            best = &t->option[i];
            *len_out = len;
        }
    }
    return best;
}

// The two words of a pair, which may be one: NAME=VALUE. Returns how many words that are.
static int match_pair(struct pli_option_use *use)
{
    char *equals = use->rest[0] != NULL ? strchr(use->rest[0], '=') : NULL;
    if (equals != NULL) {
        use->text = strndup(use->rest[0], (size_t)(equals - use->rest[0]));
        use->second = equals + 1;
        return use->text != NULL ? 2 : -1;
    }
    if (use->rest[0] == NULL || use->rest[1] == NULL || strcmp(use->rest[0], ":") == 0 ||
        strcmp(use->rest[1], ":") == 0) {
        return -1;
    }
    use->text = use->rest[0];
    use->second = use->rest[1];
    return 3;
}

int pli_options_match(const struct pli_option_table *table, char **argv, struct pli_option_use *use)
{
    char *typed = argv[0] + (argv[0][1] == '-' ? 2 : 1);
    size_t len;
    const struct pli_option *o = find(table, typed, &len);
    *use = (struct pli_option_use){ .option = o, .word = argv[0], .rest = argv + 1 };
    snprintf(use->name, sizeof use->name, "%.*s",
             (int)(typed - argv[0] + (o != NULL ? (int)len : (int)strcspn(typed, "="))), argv[0]);
    if (o == NULL) {
        return 0;
    }
    if (o->kind == PLI_OPTION_FLAG || o->kind == PLI_OPTION_REST) {
        return 1;
    }
    if (o->kind == PLI_OPTION_PAIR) {
        return match_pair(use);
    }
    if (typed[len] != '\0') {
        bool is_equals = typed[len] == '=' && (o->forms & PLI_FORM_EQUALS) != 0;
        use->text = typed + len + (is_equals ? 1 : 0);
        return 1;
    }
    if ((o->forms & PLI_FORM_NONE) != 0) {
        return 1;
    }
    if (argv[1] == NULL || strcmp(argv[1], ":") == 0) {
        return -1;
    }
    use->text = argv[1];
    use->is_next = true;
    return 2;
}

// The name of the list that is nearest to what was typed, if it is nearer than *least.
static void look_for_nearer(const char *list, const char *typed, int *least, struct name *best)
{
    struct name name;
    while (next_name(&list, &name)) {
        int d = pli_edit_distance_distance(typed, name.text, name.len);
        if (d < *least && d < (int)strlen(typed)) {
            *least = d;
            *best = name;
        }
    }
}

// The digits that directly follow the name, as in -n2; "" where something else does.
static const char *joined_number(const char *typed, const struct name *name)
{
    const char *rest = typed + strnlen(typed, name->len);
    bool is_name = strncmp(typed, name->text, name->len) == 0;
    return is_name && rest[strspn(rest, "0123456789")] == '\0' ? rest : "";
}

static _Noreturn void refuse_unknown(const struct pli_option_reader *r, const char *typed)
{
    const struct pli_option_table *t = r->table;
    const char *bare = typed + strspn(typed, "-");
    struct name best = { NULL, 0, 0 };
    int least = FAR;
    for (int i = 0; i < t->n_option; i++) {
        if (has_name(&t->option[i], bare, strlen(bare))) {
            r->bad(t->option[i].value[0] == '\0'
                       ? "%s takes no value"
                       : "%s takes its value in the next word, without '='",
                   typed);
        }
        if (t->option[i].advice[0] == '\0') { // not one that is of no use here
            look_for_nearer(t->option[i].names, bare, &least, &best);
            look_for_nearer(t->option[i].aliases, bare, &least, &best);
        }
    }
    if (best.text != NULL) {
        const char *number = joined_number(bare, &best);
        r->bad("there is no option '%s'; did you mean %.*s%s%s? See %s --help", typed,
               (int)(best.len + best.dashes), best.text - best.dashes, number[0] != '\0' ? " " : "",
               number, r->tool);
    }
    r->bad("there is no option '%s'%s; see %s --help", typed,
           r->expected != NULL ? r->expected : "", r->tool);
    abort(); // bad does not return
}

static void read_number(struct pli_option_use *use)
{
    const struct pli_option *o = use->option;
    char *end;
    errno = 0;
    use->number = strtol(use->text, &end, 10);
    if (end == use->text || *end != '\0' || errno != 0 || use->number < o->min ||
        use->number > o->max) {
        use->reader->bad("%s needs a whole number from %ld to %ld, not '%s'", use->name, o->min,
                         o->max, use->text);
    }
}

static void read_duration(struct pli_option_use *use)
{
    char *end;
    double v = strtod(use->text, &end);
    bool is_number = end != use->text && v >= 0 && v <= 1e8;
    double unit = strcmp(end, "") == 0 || strcmp(end, "s") == 0 ? 1
                  : strcmp(end, "ms") == 0                      ? 0.001
                  : strcmp(end, "m") == 0                       ? 60
                  : strcmp(end, "h") == 0                       ? 3600
                                                                : 0;
    if (!is_number || unit == 0) {
        use->reader->bad("%s needs a time such as 30, 1.5, 5m or 2h, not '%s'", use->name,
                         use->text);
    }
    use->seconds = v * unit;
    if (use->option->min > 0 && use->seconds <= 0) {
        use->reader->bad("%s needs a time above 0, not '%s'", use->name, use->text);
    }
}

static void read_choice(struct pli_option_use *use)
{
    const char *list = use->option->choices;
    struct name word;
    while (next_name(&list, &word)) {
        if (strlen(use->text) == word.len && strncasecmp(use->text, word.text, word.len) == 0) {
            return;
        }
        use->choice++;
    }
    use->reader->bad("%s needs one of '%s', not '%s'", use->name, use->option->choices, use->text);
}

static void store(const struct pli_option_use *use)
{
    const struct pli_option *o = use->option;
    char *base = o->is_part ? use->reader->part : use->reader->job;
    long value = o->kind == PLI_OPTION_NUMBER ? use->number
                 : o->kind == PLI_OPTION_FLAG ? 1
                                              : use->choice;
    if (o->kind == PLI_OPTION_TEXT) {
        *(char **)(void *)(base + o->at) = use->text;
    } else if (o->kind == PLI_OPTION_DURATION) {
        *(double *)(void *)(base + o->at) = use->seconds;
    } else if (o->size == 1) {
        *(uint8_t *)(base + o->at) = (uint8_t)value; // a bool
    } else if (o->size == sizeof(int32_t)) {
        *(int32_t *)(void *)(base + o->at) = (int32_t)value;
    } else {
        *(int64_t *)(void *)(base + o->at) = value;
    }
}

int pli_options_take(const struct pli_option_reader *r, char **argv)
{
    struct pli_option_use use;
    int n = pli_options_match(r->table, argv, &use);
    use.reader = r;
    if (n == 0) {
        refuse_unknown(r, use.name);
    }
    if (n < 0) {
        r->bad("%s needs a value: %s %s", use.name, use.name, use.option->value);
    }
    if (use.text != NULL && use.option->kind == PLI_OPTION_NUMBER) {
        read_number(&use);
    } else if (use.text != NULL && use.option->kind == PLI_OPTION_DURATION) {
        read_duration(&use);
    } else if (use.text != NULL && use.option->kind == PLI_OPTION_CHOICE) {
        read_choice(&use);
    }
    if (use.option->take >= 0) {
        r->take[use.option->take](&use);
    } else {
        store(&use);
    }
    return n;
}

int pli_options_take_leading(const struct pli_option_reader *r, char **argv)
{
    int i = 0;
    while (argv[i] != NULL && pli_options_is_option(argv[i])) {
        if (strcmp(argv[i], "--") == 0) {
            return i + 1;
        }
        i += pli_options_take(r, argv + i);
    }
    return i;
}

const struct pli_option_command *pli_options_command(const struct pli_option_table *table,
                                                     const char *name)
{
    for (int i = 0; i < table->n_command; i++) {
        if (strcmp(table->command[i].name, name) == 0) {
            return &table->command[i];
        }
    }
    return NULL;
}

void pli_options_no_command(const struct pli_option_reader *r, const char *name)
{
    struct name best = { NULL, 0, 0 };
    int least = FAR;
    for (int i = 0; i < r->table->n_command; i++) {
        look_for_nearer(r->table->command[i].name, name, &least, &best);
    }
    if (best.text != NULL) {
        r->bad("there is no command '%s'; did you mean %.*s? See %s --help", name, (int)best.len,
               best.text, r->tool);
    }
    r->bad("there is no command '%s'; see %s --help", name, r->tool);
    abort(); // bad does not return
}

// Print a row of --help: what is typed, and beside it a sentence that is broken into lines.
static void print_row(FILE *to, int width, const char *left, const char *help)
{
    int at = fprintf(to, "  %s", left);
    if (at > width + 2) {
        fputc('\n', to);
        at = 0;
    }
    fprintf(to, "%*s", width + 2 - at, "");
    at = width + 2;
    while (*help != '\0') {
        int len = (int)strcspn(help, " ");
        if (at + 1 + len > WIDTH && at > width + 2) {
            fprintf(to, "\n%*s", width + 2, "");
            at = width + 2;
        }
        at += fprintf(to, " %.*s", len, help);
        help += len;
        help += strspn(help, " ");
    }
    fputc('\n', to);
}

// The names of an option with its value, as --help shows them.
static void spell_option(const struct pli_option *o, char *left, size_t cap)
{
    size_t n = 0;
    const char *names = o->names;
    bool is_next = o->value[0] != '\0' && (o->forms & PLI_FORM_NEXT) != 0;
    bool is_behind = o->value[0] != '\0' && !is_next; // without a blank: -OLEVEL, -pthreads[=N]
    bool is_joined = (o->forms & PLI_FORM_JOINED) != 0;
    struct name name;
    while (n < cap && next_name(&names, &name)) {
        n += (size_t)snprintf(left + n, cap - n, "%s%.*s%s%s%s", n > 0 ? ", " : "",
                              (int)(name.dashes + name.len), name.text - name.dashes,
                              is_behind && !is_joined ? "[=" : "", is_behind ? o->value : "",
                              is_behind && !is_joined ? "]" : "");
    }
    if (is_next && n < cap) {
        snprintf(left + n, cap - n, " %s", o->value);
    }
}

static void spell_command(const struct pli_option_command *c, char *left, size_t cap)
{
    snprintf(left, cap, "%s%s%s", c->name, c->operands[0] != '\0' ? " " : "", c->operands);
}

static bool is_shown(const struct pli_option *o, bool is_all)
{
    return o->help != NULL && (is_all || !o->is_rare);
}

// The width of the left column: that of the longest row that is not longer than MAX_LEFT.
static int left_width(const struct pli_option_table *t, bool is_all)
{
    char left[512] = "";
    int width = 0;
    for (int i = 0; i < t->n_option + t->n_command; i++) {
        if (i >= t->n_option) {
            spell_command(&t->command[i - t->n_option], left, sizeof left);
        } else if (is_shown(&t->option[i], is_all)) {
            spell_option(&t->option[i], left, sizeof left);
        }
        int len = (int)strlen(left);
        width = len > width && len <= MAX_LEFT ? len : width;
    }
    return width;
}

static void print_help(const struct pli_option_reader *r, FILE *to, bool is_all, bool has_groups)
{
    const struct pli_option_table *t = r->table;
    int width = left_width(t, is_all);
    const char *group = "";
    char left[512];
    fprintf(to, "usage: %s %s", r->tool, t->usage);
    for (int i = 0; i < t->n_command; i++) {
        fputs(i == 0 ? "\nCommands:\n" : "", to);
        spell_command(&t->command[i], left, sizeof left);
        print_row(to, width, left, t->command[i].help);
    }
    for (int i = 0; i < t->n_option; i++) {
        const struct pli_option *o = &t->option[i];
        if (!is_shown(o, is_all)) {
            continue;
        }
        if (has_groups && strcmp(group, o->group) != 0) {
            group = o->group;
            fprintf(to, "\n%s:\n", group);
        }
        spell_option(o, left, sizeof left);
        print_row(to, width, left, o->help);
    }
    fputs(t->closing, to);
}

void pli_options_help(const struct pli_option_reader *r, FILE *to)
{
    bool has_rare = false;
    for (int i = 0; i < r->table->n_option; i++) {
        has_rare |= r->table->option[i].is_rare;
    }
    print_help(r, to, false, !has_rare);
}

void pli_options_help_all(const struct pli_option_reader *r, FILE *to)
{
    print_help(r, to, true, true);
}

static bool has_topic(const struct pli_option *o, const char *topic)
{
    const char *list = o->topics;
    struct name word;
    while (next_name(&list, &word)) {
        if (strlen(topic) == word.len && strncasecmp(topic, word.text, word.len) == 0) {
            return true;
        }
    }
    return false;
}

// Whether the option is the first of a group that has topics.
static bool begins_topic(const struct pli_option_table *t, int i)
{
    const struct pli_option *o = &t->option[i];
    return o->topics[0] != '\0' && (i == 0 || strcmp(o->group, t->option[i - 1].group) != 0);
}

static void print_topics(const struct pli_option_table *t, FILE *to)
{
    fputs("Topics of --help:\n", to);
    for (int i = 0; i < t->n_option; i++) {
        if (begins_topic(t, i)) {
            print_row(to, MAX_LEFT, t->option[i].topics, t->option[i].group);
        }
    }
}

static void refuse_topic(const struct pli_option_reader *r, const char *topic)
{
    char all[512] = "";
    int at = 0;
    for (int i = 0; i < r->table->n_option; i++) {
        if (begins_topic(r->table, i) && at < (int)sizeof all) {
            at += snprintf(all + at, sizeof all - (size_t)at, "%s%s", at > 0 ? " " : "",
                           r->table->option[i].topics);
        }
    }
    r->bad("--help has no topic '%s'; the topics are %s", topic, all);
}

void pli_options_help_topic(const struct pli_option_reader *r, FILE *to, const char *topic)
{
    const struct pli_option_table *t = r->table;
    int width = left_width(t, true);
    const char *group = "";
    char left[512];
    if (strcasecmp(topic, "topics") == 0) {
        print_topics(t, to);
        return;
    }
    for (int i = 0; i < t->n_option; i++) {
        const struct pli_option *o = &t->option[i];
        if (!is_shown(o, true) || !has_topic(o, topic)) {
            continue;
        }
        if (strcmp(group, o->group) != 0) {
            group = o->group;
            fprintf(to, "%s:\n", group);
        }
        spell_option(o, left, sizeof left);
        print_row(to, width, left, o->help);
    }
    if (group[0] == '\0') {
        refuse_topic(r, topic);
    }
}
