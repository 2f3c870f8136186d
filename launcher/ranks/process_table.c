// SPDX-License-Identifier: BSD-3-Clause
// A debugger that has started mpiexec or attached to it reads MPIR_proctable in its memory, and
// sets MPIR_being_debugged to be told when it is filled.
#include "launcher/ranks/process_table.h"

#include "launcher/base/say.h"
#include "launcher/job/job.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    char *host_name, *executable_name;
    int pid;
} MPIR_PROCDESC;

enum { SPAWNED = 1 };

MPIR_PROCDESC *MPIR_proctable;
int MPIR_proctable_size;
volatile int MPIR_being_debugged, MPIR_debug_state, MPIR_i_am_starter;
int MPIR_partial_attach_ok;
char *MPIR_debug_abort_string;
static uint32_t n_missing; // tasks that no host has told of yet

// A debugger has a breakpoint here.
__attribute__((noinline)) void MPIR_Breakpoint(void);
void MPIR_Breakpoint(void)
{
    __asm__ volatile("" ::: "memory");
}

static void open_table(const struct pli_job *job)
{
    pli_process_table_free();
    MPIR_proctable = pli_say_need(calloc((size_t)job->n_first + 1, sizeof *MPIR_proctable));
    for (uint32_t i = 0; i < job->n_first; i++) {
        MPIR_proctable[i].executable_name = pli_say_need(strdup(job->tasks[i].app->argv[0]));
    }
    n_missing = job->n_first;
}

void pli_process_table_add(const struct pli_job *job, uint32_t task, const char *host, pid_t pid)
{
    if (MPIR_proctable == NULL) {
        open_table(job);
    }
    if (task >= job->n_first || MPIR_proctable[task].pid != 0 || MPIR_debug_state == SPAWNED) {
        return; // started again, or nonsense
    }
    MPIR_proctable[task].host_name = pli_say_need(strdup(host));
    MPIR_proctable[task].pid = (int)pid;
    if (--n_missing > 0) {
        return;
    }
    MPIR_proctable_size = (int)job->n_first;
    MPIR_debug_state = SPAWNED;
    if (MPIR_being_debugged != 0) {
        MPIR_Breakpoint();
    }
}

void pli_process_table_free(void)
{
    for (MPIR_PROCDESC *p = MPIR_proctable; p != NULL && p->executable_name != NULL; p++) {
        free(p->host_name);
        free(p->executable_name);
    }
    free(MPIR_proctable);
    MPIR_proctable = NULL;
    MPIR_proctable_size = 0;
}
