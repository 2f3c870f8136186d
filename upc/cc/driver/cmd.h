// SPDX-License-Identifier: BSD-3-Clause
// Command lines: building one, running one.
#ifndef PLI_UPC_DRIVER_CMD_H
#define PLI_UPC_DRIVER_CMD_H

#include <stdbool.h>
#include <stddef.h>

struct cmd {
    char **argv; // NULL at the end; the strings belong to others or to the program's life
    size_t n, cap;
};

void pli_cmd_add(struct cmd *c, const char *arg);
void pli_cmd_addf(struct cmd *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void pli_cmd_words(struct cmd *c, const char *text); // split at blanks
// A word, or all words of FILE for @FILE, with the quotes and backslashes that gcc knows there.
void pli_cmd_expand(struct cmd *c, const char *word, int depth);
void pli_cmd_all(struct cmd *c, const struct cmd *from);
// Run and wait; echo prints the line first. Returns the exit status, 127 when it cannot start.
int pli_cmd_run(const struct cmd *c, bool echo);
// The same, with its standard error written to a descriptor.
int pli_cmd_run_to(const struct cmd *c, bool echo, int err);

#endif
