// SPDX-License-Identifier: BSD-3-Clause
// Pages of a mapping that is in use can be lost: another program makes the file shorter, or the
// disk fails. The system would end the process (SIGBUS). Between begin and end of a guard it gets
// other pages instead, and the end tells, so that the access is done again by system calls.
#ifndef PLI_IO_FILE_FAULT_H
#define PLI_IO_FILE_FAULT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

// Of a mapping that one thread uses.
struct pli_file_fault {
    char *begin, *end;
    volatile sig_atomic_t is_lost;
    bool was_blocked;             // the signal, in this thread
    struct pli_file_fault *outer; // of the same thread
};

// The signal has a handler of the library while there are guards; what the program had is called
// for all that is not theirs, and is back afterwards. Context: any thread; a guard is ended by the
// thread that began it.
void pli_file_fault_begin(struct pli_file_fault *g, void *start, size_t len);
// False: pages were lost. What was loaded is of no use, and what was stored may not be in the file.
bool pli_file_fault_end(struct pli_file_fault *g);

// A mapping that stays, which threads use in turn: begin, keep; then resume and pause, which are no
// system calls, around each use; resume and end. A thread that has the signal blocked has no guard.
void pli_file_fault_keep(struct pli_file_fault *g);
void pli_file_fault_resume(struct pli_file_fault *g);
// False: as above.
bool pli_file_fault_pause(struct pli_file_fault *g);

#endif
