// SPDX-License-Identifier: BSD-3-Clause
// Threads of a process that was copied by fork. A fork copies the memory of all threads and only
// one of them. Those that are stopped in a signal handler have left there what the kernel knows of
// them and their registers, so that the copy makes each anew on its own stack, at the same place.
#ifndef PLI_CKPT_THREAD_COPY_H
#define PLI_CKPT_THREAD_COPY_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <ucontext.h>

struct pli_thread_copy {
    ucontext_t context; // from getcontext, by which the copy of the thread goes on
    void *pointer;      // to its thread-local storage
    int *tid_address;   // cleared when it ends
    void *robust_list;
    size_t robust_len;
    cpu_set_t cores;
    char name[16];
    pid_t tid;
    bool is_noted;    // all of the above is known
    bool is_in_call;  // of MPI, where that was asked for
    bool is_complete; // and it has nothing that its copy would not have: children, signals
};

// Note all of the calling thread but its registers. Async-signal-safe.
void pli_thread_copy_note(struct pli_thread_copy *t);

// In the new process of a fork: be what the calling thread of the old one was.
void pli_thread_copy_become(const struct pli_thread_copy *t);

// Make the thread anew, with another number; false: the system has no room for it. is_renumbered:
// the C library is to know that number. The copy calls pli_thread_copy_arrived first of all, and
// that must come behind getcontext. Async-signal-safe. Context: the only other thread is such a
// copy.
bool pli_thread_copy_make(struct pli_thread_copy *t, bool is_renumbered, pid_t *tid_out);
void pli_thread_copy_arrived(void);

#endif
