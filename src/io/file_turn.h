// SPDX-License-Identifier: BSD-3-Clause
// Members of one host write a file by turns. The system lets one write at a time in any case, but
// those that wait for it there slow the one that writes, and are woken late.
#ifndef PLI_IO_FILE_TURN_H
#define PLI_IO_FILE_TURN_H

#include <stdbool.h>
#include <stddef.h>

struct pli_file;

enum { PLI_FILE_TURN = 1 << 20 }; // bytes to write in one turn at most

// Whether members can tell each other who writes, and len bytes are worth it.
bool pli_file_turn_is_told(const struct pli_file *f, size_t len);
// Whether it is worth to wait for a turn to write len bytes: each member has a core.
bool pli_file_turn_is_worth(const struct pli_file *f, size_t len);
// Nothing but speed depends on it: who has waited for long writes without.
void pli_file_turn_take(const struct pli_file *f);
// The same without waiting; false: another has it, or nobody can.
bool pli_file_turn_try(const struct pli_file *f);
void pli_file_turn_give(const struct pli_file *f);

#endif
