// SPDX-License-Identifier: BSD-3-Clause
// How upcrun refuses a command line.
#ifndef PLI_UPCRUN_UPCRUN_H
#define PLI_UPCRUN_UPCRUN_H

// Print a sentence about the command line and end with status 2.
_Noreturn void pli_upcrun_bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
