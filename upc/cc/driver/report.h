// SPDX-License-Identifier: BSD-3-Clause
// What the C compiler says about translated text, in terms of the text that the user wrote.
#ifndef PLI_UPC_DRIVER_REPORT_H
#define PLI_UPC_DRIVER_REPORT_H

#include <stdbool.h>

// Print the messages with the places that the map of upcc-translate (-map) has. Both are
// texts that end with a null. is_bare: it counts columns in bytes, and has shown no lines, as clang
// does with -fno-caret-diagnostics.
void pli_report_print(const char *said, const char *map, bool is_bare);

#endif
