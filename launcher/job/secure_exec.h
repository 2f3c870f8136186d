// SPDX-License-Identifier: BSD-3-Clause
// Whether the loader would run a program in secure-execution mode (ld.so(8)), in which it ignores
// LD_LIBRARY_PATH and LD_PRELOAD.
#ifndef PLI_LAUNCHER_SECURE_EXEC_H
#define PLI_LAUNCHER_SECURE_EXEC_H

// Why the program of this file gains rights when the caller's user starts it, as a verb and its
// object ("is setuid"); NULL: it does not, or its file cannot be looked at. Context: any thread.
const char *pli_secure_exec_reason(const char *path);

#endif
