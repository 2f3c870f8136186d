// SPDX-License-Identifier: BSD-3-Clause
// Points at which a test lets a process die or wait, to see what becomes of the others. They stand
// where several processes change something together, never on the way of a message.
#ifndef PLI_BASE_FAULT_H
#define PLI_BASE_FAULT_H

#include <stdint.h>

// Kill this process when PLIANT_FAULT is the name of this point, or the name, a colon and the
// number `who`. Async-signal-safe. Context: any thread.
void pli_fault(const char *point, uint32_t who);

// Hold this thread when PLIANT_FAULT is the name of this point, a colon, the number `who`, @ and
// the name of a file that is there: the file is called FILE.held then, and when it is gone the
// thread goes on. Async-signal-safe. Context: any thread.
void pli_fault_hold(const char *point, uint32_t who);

#endif
