// SPDX-License-Identifier: BSD-3-Clause
// Reads the programs of processes that are started while the job runs.
#ifndef PLI_LAUNCHER_PROGRAMS_H
#define PLI_LAUNCHER_PROGRAMS_H

#include "boot/launcher_wire.h"
#include "launcher/job/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_answer;

// The program of several tasks, and the request it came from, to which its strings belong.
struct pli_programs {
    struct pli_app app; // first: tasks point to it
    uint32_t n_user;
    const char *hosts, *add; // names of those they are to be on, and that are to join; "": none
    bool *may; // by host of the job, whether they may be there, of the heap; NULL: anywhere
    char *text;
    bool is_borrowed; // all is the command line's
};
void pli_programs_release(struct pli_programs *c); // NULL is fine

// n processes of a program of the command line. NULL: no memory.
struct pli_programs *pli_programs_borrow(const struct pli_app *app, uint32_t n);

// All of a request of kind PLI_ASK_SPAWN.
struct pli_programs_list {
    struct pli_ask_spawn ask;
    struct pli_programs **programs; // ask.n_part
    uint32_t n_all;                 // processes
    uint32_t rank, version;         // of the first; new ranks of the job's world: of which version
};
// False with a refusal; the list is to be ended in both cases.
bool pli_programs_read(const struct pli_job *job, const char *body, size_t len,
                       struct pli_programs_list *out, struct pli_answer *a);
// The same for n more ranks of the command line's program. False: no memory.
bool pli_programs_ranks(const struct pli_job *job, uint32_t n, uint32_t rank, uint32_t version,
                        struct pli_programs_list *out);
void pli_programs_list_fini(struct pli_programs_list *l);

// A task for the process of this row, which is filled. NULL: no memory.
struct pli_proc_task *pli_programs_task(const struct pli_job *job, struct pli_programs *c,
                                        uint32_t row);

// Programs that are spawned: pli_launcher.programs.
struct pli_programs_state {
    struct pli_app plain; // the environment of spawned programs, once it is known
};

#endif
