// SPDX-License-Identifier: BSD-3-Clause
// Reads the settings of conf.def from the environment, with help for mistakes.
#include "base/conf.h"
#include "base/cpu.h"

#include "base/log.h"
#include "base/edit_distance.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern char **environ;

// A default that differs between processors: there, elsewhere.
#ifdef __x86_64__
#define PLI_CONF_ON_X86(there, elsewhere) (there)
#else
#define PLI_CONF_ON_X86(there, elsewhere) (elsewhere)
#endif

struct pli_conf pli_conf = {
#define PLI_CONF_INT(name, def, min, max, help) .name = (def),
#define PLI_CONF_SIZE(name, def, min, max, help) .name = (def),
#define PLI_CONF_BOOL(name, def, help) .name = (def),
#define PLI_CONF_WORD(name, def, words, help) .name = (def),
#define PLI_CONF_TEXT(name, def, help) .name = (def),
#include "base/conf.def"
#undef PLI_CONF_INT
#undef PLI_CONF_SIZE
#undef PLI_CONF_BOOL
#undef PLI_CONF_WORD
#undef PLI_CONF_TEXT
};

static const struct pli_conf_row rows[] = {
#define PLI_CONF_INT(name, def, min, max, help)                                                    \
    { #name, PLI_CONF_IS_INT, &pli_conf.name, (def), (min), (max), NULL, NULL, (help) },
#define PLI_CONF_SIZE(name, def, min, max, help)                                                   \
    { #name, PLI_CONF_IS_SIZE, &pli_conf.name, (def), (min), (max), NULL, NULL, (help) },
#define PLI_CONF_BOOL(name, def, help)                                                             \
    { #name, PLI_CONF_IS_BOOL, &pli_conf.name, (def), 0, 1, NULL, NULL, (help) },
#define PLI_CONF_WORD(name, def, words, help)                                                      \
    { #name, PLI_CONF_IS_WORD, &pli_conf.name, 0, 0, 0, (def), (words), (help) },
#define PLI_CONF_TEXT(name, def, help)                                                             \
    { #name, PLI_CONF_IS_TEXT, &pli_conf.name, 0, 0, 0, (def), NULL, (help) },
#include "base/conf.def"
#undef PLI_CONF_INT
#undef PLI_CONF_SIZE
#undef PLI_CONF_BOOL
#undef PLI_CONF_WORD
#undef PLI_CONF_TEXT
};

enum { N_ROW = sizeof rows / sizeof rows[0] };

void pli_conf_env_name(const struct pli_conf_row *r, char *to, size_t cap)
{
    int n = snprintf(to, cap, "PLIANT_%s", r->name);
    for (int i = 7; i < n; i++) {
        to[i] = (char)toupper((unsigned char)to[i]);
    }
}

static bool parse_number(const char *s, bool with_unit, int64_t *out)
{
    char *end;
    long long v = strtoll(s, &end, 10);
    if (end == s) {
        return false;
    }
    int shift = 0;
    if (with_unit && *end != '\0') {
        switch (toupper((unsigned char)*end)) {
        case 'K':
            shift = 10;
            break;
        case 'M':
            shift = 20;
            break;
        case 'G':
            shift = 30;
            break;
        default:
            return false;
        }
        end++;
    }
    if (*end != '\0' || v > (INT64_MAX >> shift) || v < (INT64_MIN >> shift)) {
        return false;
    }
    *out = v * ((int64_t)1 << shift);
    return true;
}

static bool parse_bool(const char *s, bool *out)
{
    static const char *const yes[] = { "1", "yes", "on", "true" };
    static const char *const no[] = { "0", "no", "off", "false" };
    for (int i = 0; i < 4; i++) {
        if (strcasecmp(s, yes[i]) == 0) {
            *out = true;
            return true;
        }
        if (strcasecmp(s, no[i]) == 0) {
            *out = false;
            return true;
        }
    }
    return false;
}

static bool is_word_of(const char *s, const char *words)
{
    size_t len = strlen(s);
    while (words != NULL && len > 0) {
        const char *bar = strchr(words, '|');
        size_t n = bar != NULL ? (size_t)(bar - words) : strlen(words);
        if (n == len && memcmp(words, s, n) == 0) {
            return true;
        }
        words = bar != NULL ? bar + 1 : NULL;
    }
    return false;
}

// Variables that were reported, here or by the process that started this one, each behind a comma.
static char warned[512];

static bool is_warned(const char *var)
{
    size_t len = strlen(var);
    for (const char *at = warned; (at = strstr(at, var)) != NULL; at++) {
        if (at > warned && at[-1] == ',' && (at[len] == ',' || at[len] == '\0')) {
            return true;
        }
    }
    return false;
}

// Report a variable, unless that was done.
__attribute__((format(printf, 2, 3))) static void warn(const char *var, const char *fmt, ...)
{
    char text[512];
    if (is_warned(var)) {
        return;
    }
    size_t n = strlen(warned);
    if (n + strlen(var) + 2 <= sizeof warned) {
        snprintf(warned + n, sizeof warned - n, ",%s", var);
    }
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    pli_log(PLI_WARN, "%s", text);
}

static void set_number(const struct pli_conf_row *r, const char *var, const char *s)
{
    int64_t v;
    if (!parse_number(s, r->type == PLI_CONF_IS_SIZE, &v) || v < r->min || v > r->max) {
        warn(var, "%s=%s is not a number from %lld to %lld; using %lld", var, s, (long long)r->min,
             (long long)r->max, (long long)r->def);
        return;
    }
    *(int64_t *)r->value = v;
}

static void set_row(const struct pli_conf_row *r, const char *var, const char *s)
{
    switch (r->type) {
    case PLI_CONF_IS_INT:
    case PLI_CONF_IS_SIZE:
        set_number(r, var, s);
        break;
    case PLI_CONF_IS_BOOL:
        if (!parse_bool(s, r->value)) {
            warn(var, "%s=%s is neither yes nor no; using %s", var, s, r->def ? "yes" : "no");
        }
        break;
    case PLI_CONF_IS_WORD:
        if (is_word_of(s, r->words)) {
            *(const char **)r->value = s;
        } else {
            warn(var, "%s=%s is not one of %s; using %s", var, s, r->words, r->text_def);
        }
        break;
    case PLI_CONF_IS_TEXT:
        *(const char **)r->value = s;
        break;
    }
}

enum { FAR = 6 }; // changes that make a name another one and not a mistyped one

// How many letters tell a setting from what was written; half of them are too many. Words that are
// the beginning or the end of its name count as one.
static int difference(const char *name, const char *var)
{
    const char *word = name + 7, *full = var + 7; // behind PLIANT_
    size_t len = strlen(word), n = strlen(full);
    if (len > 0 && n > len + 1 &&
        ((full[len] == '_' && strncmp(full, word, len) == 0) ||
         (full[n - len - 1] == '_' && strcmp(full + n - len, word) == 0))) {
        return 1;
    }
    int d = pli_edit_distance_distance(name, var, strlen(var));
    return 2 * d <= (int)len ? d : FAR;
}

static const char *nearest(const char *name)
{
    static char best_name[64];
    int best = FAR;
    const char *found = NULL;
    for (int i = 0; i < N_ROW; i++) {
        char var[64];
        pli_conf_env_name(&rows[i], var, sizeof var);
        int d = difference(name, var);
        if (d < best) {
            best = d;
            snprintf(best_name, sizeof best_name, "%s", var);
            found = best_name;
        }
    }
    return found;
}

static const struct pli_conf_row *find_row(const char *var, size_t len)
{
    for (int i = 0; i < N_ROW; i++) {
        size_t k = 0; // compared in place: this is on the way of every start
        const char *name = rows[i].name;
        while (7 + k < len && name[k] != '\0' && toupper((unsigned char)name[k]) == var[7 + k]) {
            k++;
        }
        if (7 + k == len && name[k] == '\0') {
            return &rows[i];
        }
    }
    return NULL;
}

void pli_conf_apply_log(void)
{
    pli_log_coll(strcmp(pli_conf.log, "coll") == 0);
    pli_log_limit(strcmp(pli_conf.log, "error") == 0 ? PLI_ERROR
                  : strcmp(pli_conf.log, "warn") == 0 || strcmp(pli_conf.log, "coll") == 0
                      ? PLI_WARN
                  : strcmp(pli_conf.log, "info") == 0 ? PLI_INFO
                                                      : PLI_DEBUG);
}

static void take(const char *setting)
{
    const char *eq = strchr(setting, '=');
    if (strncmp(setting, "PLIANT_", 7) != 0 || eq == NULL) {
        return;
    }
    const struct pli_conf_row *r = find_row(setting, (size_t)(eq - setting));
    char var[64] = "";
    memcpy(var, setting,
           (size_t)(eq - setting) < sizeof var ? (size_t)(eq - setting) : sizeof var - 1);
    if (r != NULL) {
        set_row(r, var, eq + 1);
        return;
    }
    const char *near = nearest(var);
    warn(var, "unknown setting %s%s%s%s; `mpiinfo --settings` lists them", var,
         near != NULL ? " (did you mean " : "", near != NULL ? near : "", near != NULL ? "?)" : "");
}

PLI_START void pli_conf_load(void)
{
    static bool is_loaded;
    if (is_loaded) {
        return;
    }
    is_loaded = true;
    const char *list = getenv("PLIANT_WARNED");
    snprintf(warned, sizeof warned, "%s", list != NULL ? list : "");
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        take(*e);
    }
    pli_conf_apply_log();
}

void pli_conf_check(const char *setting)
{
    struct pli_conf kept = pli_conf;
    take(setting);
    pli_conf = kept;
}

const char *pli_conf_warned(void)
{
    return warned;
}

static void print_row(const struct pli_conf_row *r, FILE *to)
{
    char var[64], value[64];
    pli_conf_env_name(r, var, sizeof var);
    if (r->type == PLI_CONF_IS_WORD || r->type == PLI_CONF_IS_TEXT) {
        snprintf(value, sizeof value, "%s", *(const char **)r->value);
    } else if (r->type == PLI_CONF_IS_BOOL) {
        snprintf(value, sizeof value, "%s", *(bool *)r->value ? "yes" : "no");
    } else {
        snprintf(value, sizeof value, "%lld", (long long)*(int64_t *)r->value);
    }
    fprintf(to, "%-24s %-10s %s", var, value, r->help);
    if (r->words != NULL) {
        fprintf(to, " (%s)", r->words);
    } else if (r->type == PLI_CONF_IS_INT || r->type == PLI_CONF_IS_SIZE) {
        fprintf(to, " (%lld to %lld)", (long long)r->min, (long long)r->max);
    }
    fputc('\n', to);
}

bool pli_conf_is_internal(const struct pli_conf_row *r)
{
    return strncmp(r->help, "internal:", 9) == 0;
}

const struct pli_conf_row *pli_conf_row_at(int i)
{
    return i >= 0 && i < N_ROW ? &rows[i] : NULL;
}

void pli_conf_print(FILE *to)
{
    for (int i = 0; i < N_ROW; i++) {
        if (!pli_conf_is_internal(&rows[i])) {
            print_row(&rows[i], to);
        }
    }
}
