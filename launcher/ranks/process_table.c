// SPDX-License-Identifier: BSD-3-Clause
// A debugger that has started mpiexec or attached to it reads MPIR_proctable in its memory, and
// sets MPIR_being_debugged to be told when it is filled.
#include "launcher/ranks/process_table.h"

#include "launcher/base/say.h"
#include "launcher/job/job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

// A debugger has a breakpoint here.
__attribute__((noinline)) void MPIR_Breakpoint(void);
void MPIR_Breakpoint(void)
{
    __asm__ volatile("" ::: "memory");
}

void pli_process_table_publish(const struct pli_job *job)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    pli_process_table_free();
    MPIR_proctable = pli_say_need(calloc((size_t)job->n_first + 1, sizeof *MPIR_proctable));
    for (uint32_t i = 0; i < job->n_first; i++) {
        MPIR_proctable[i].host_name = pli_say_need(strdup(host));
        MPIR_proctable[i].executable_name = pli_say_need(strdup(job->tasks[i].app->argv[0]));
        MPIR_proctable[i].pid = (int)job->tasks[i].pid;
    }
    MPIR_proctable_size = (int)job->n_first;
    MPIR_debug_state = SPAWNED;
    if (MPIR_being_debugged != 0) {
        MPIR_Breakpoint();
    }
}

void pli_process_table_free(void)
{
    for (int i = 0; i < MPIR_proctable_size; i++) {
        free(MPIR_proctable[i].host_name);
        free(MPIR_proctable[i].executable_name);
    }
    free(MPIR_proctable);
    MPIR_proctable = NULL;
    MPIR_proctable_size = 0;
}
