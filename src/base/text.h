// SPDX-License-Identifier: BSD-3-Clause
// Texts that are put together where printf must not be called.
#ifndef PLI_BASE_TEXT_H
#define PLI_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

// Append to a text that has room for cap bytes with its end; what does not fit is left out.
// Context: any thread, signal handlers too.
void pli_text_add(char *to, size_t cap, const char *more);
void pli_text_add_number(char *to, size_t cap, uint64_t number);

#endif
