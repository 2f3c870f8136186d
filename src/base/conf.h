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

// Read the environment. A bad value or an unknown PLIANT_ name is reported with what would be
// right, and the default is kept. Context: start-up only; a second call does nothing.
void pli_conf_load(void);

// Print name, value, default and meaning of every setting that is for people.
void pli_conf_print(FILE *to);

#endif
