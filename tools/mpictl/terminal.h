// SPDX-License-Identifier: BSD-3-Clause
// A terminal that a program draws on, and that is as it was when the program has gone.
#ifndef PLI_MPICTL_TERMINAL_H
#define PLI_MPICTL_TERMINAL_H

#include <stdbool.h>

// Keys that are no characters.
enum { PLI_KEY_NONE = 0, PLI_KEY_UP = 256, PLI_KEY_DOWN, PLI_KEY_END };

// Call fn with the terminal in its hands: a screen of its own, keys without echo. It runs in a
// process of its own, so that the terminal is restored however that one ends. Returns what fn
// returned, 1 when it was killed.
int pli_terminal_run(int (*fn)(void *arg), void *arg);

// The next key within this time; PLI_KEY_NONE: none came, or the size has changed. PLI_KEY_END: the
// terminal is gone, or a signal wants the end.
int pli_terminal_key(int wait_ms);
void pli_terminal_size(int *columns, int *lines);

#endif
