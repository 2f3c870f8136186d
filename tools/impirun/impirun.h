// SPDX-License-Identifier: BSD-3-Clause
// How impirun refuses a command line.
#ifndef PLI_IMPIRUN_IMPIRUN_H
#define PLI_IMPIRUN_IMPIRUN_H

// Print a sentence about the command line and end with status 2.
_Noreturn void pli_impirun_bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
