// SPDX-License-Identifier: BSD-3-Clause
// The settings: one row each in conf.def, read once from the environment.
#ifndef PLI_BASE_CONF_H
#define PLI_BASE_CONF_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pli_conf {
#define PLI_CONF_INT(name, def, min, max, help) int64_t name;
#define PLI_CONF_SIZE(name, def, min, max, help) int64_t name;
#define PLI_CONF_BOOL(name, def, help) bool name;
#define PLI_CONF_WORD(name, def, words, help) const char *name;
#define PLI_CONF_TEXT(name, def, help) const char *name;
#include "base/conf.def"
#undef PLI_CONF_INT
#undef PLI_CONF_SIZE
#undef PLI_CONF_BOOL
#undef PLI_CONF_WORD
#undef PLI_CONF_TEXT
};

extern struct pli_conf pli_conf;

enum pli_conf_type {
    PLI_CONF_IS_INT,
    PLI_CONF_IS_SIZE,
    PLI_CONF_IS_BOOL,
    PLI_CONF_IS_WORD,
    PLI_CONF_IS_TEXT
};

// A row of the table, for those who list the settings.
struct pli_conf_row {
    const char *name; // as in conf.def
    enum pli_conf_type type;
    void *value; // int64_t, bool or const char *, a field of pli_conf
    int64_t def, min, max;
    const char *text_def, *words, *help;
};
const struct pli_conf_row *pli_conf_row_at(int i);       // NULL: there are no more
bool pli_conf_is_internal(const struct pli_conf_row *r); // not for people
void pli_conf_env_name(const struct pli_conf_row *r, char *to, size_t cap); // "PLIANT_LOG"

// Let setting `log`, which was changed, have its effect. Context: any thread.
void pli_conf_apply_log(void);

// Read the environment. A bad value or an unknown PLIANT_ name is reported with what would be
// right, and the default is kept. Context: start-up only; a second call does nothing.
void pli_conf_load(void);
// Report what is wrong with NAME=VALUE, which is for processes to be started. Context: as above.
void pli_conf_check(const char *setting);
// The variables that were reported, for setting `warned` of those processes, which do not report
// them again; "" for none.
const char *pli_conf_warned(void);

// Print name, value, default and meaning of every setting that is for people.
void pli_conf_print(FILE *to);

#endif
