// SPDX-License-Identifier: BSD-3-Clause
// A thread that serves one-sided access of other processes while the threads of the program are not
// in MPI or UPC. There is at most one, and none until a window or a region needs it. It sleeps on
// what wakes the lanes that nobody looks after, and keeps away from the others, so that a thread
// that waits gets its messages itself.
#ifndef PLI_MSG_PROGRESS_THREAD_H
#define PLI_MSG_PROGRESS_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>

// Whether it serves processes of other hosts, or of this one.
bool pli_progress_thread_serves(bool is_here);
// The process has memory that others reach by messages, or has it no more. From the first on, locks
// are taken as with MPI_THREAD_MULTIPLE. Context: no lock held, no other thread inside a call.
void pli_progress_thread_retain(void);
void pli_progress_thread_release(void);
// It ends: if nobody needs it, or in any case. Context: no lock held.
void pli_progress_thread_rest(void);
void pli_progress_thread_stop(void);
bool pli_progress_thread_is_running(void);
bool pli_progress_thread_is_me(void);
// It is dealing with messages, or may be: what a sleeping thread waits for can be among them.
bool pli_progress_thread_is_serving(void);
// It sleeps until a thread of the program that sleeps in a call wakes up.
extern _Atomic int pli_progress_thread_is_deep;
void pli_progress_thread_kick(void);

#endif
