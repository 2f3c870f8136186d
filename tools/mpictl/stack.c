// SPDX-License-Identifier: BSD-3-Clause
// Prints stacks: of ranks of this host by reading them, of others by asking their mpiexec.
#include "stack.h"

#include "boot/launcher_wire.h"
#include "ctl_request.h"
#include "mpictl.h"
#include "tools/lib/job_status.h"
#include "tools/lib/stack_trace.h"

#include <stdlib.h>
#include <string.h>

// What mpiexec has fetched from the host of the rank.
static bool print_fetched(const struct pli_node *node, uint32_t row, FILE *to)
{
    char *text = malloc(PLI_LOOK_TEXT);
    bool is_there = text != NULL && pli_node_has_area(node, row);
    if (is_there) {
        memcpy(text, pli_node_area(node, row) + PLI_LOOK_TEXT_AT, PLI_LOOK_TEXT);
        text[PLI_LOOK_TEXT - 1] = '\0';
        is_there = text[0] != '\0';
    }
    fputs(is_there ? text : "  its stack cannot be shown: its host did not answer\n", to);
    is_there = is_there && strstr(text, "    #0 ") != NULL;
    free(text);
    return is_there;
}

static bool print_row(struct pli_job_view *v, uint32_t row, FILE *to)
{
    const struct pli_node_row *r = &v->node.rows[row];
    char who[PLI_JOB_STATUS_NAME];
    const char *host = v->node.header->host;
    for (uint32_t i = 0; i < v->n_rank; i++) {
        host = v->ranks[i].index == r->index ? v->ranks[i].host : host;
    }
    fprintf(to, "%s, process %u on %s\n", pli_job_status_who(&v->node, row, who),
            atomic_load(&r->pid), host);
    if (pli_mpictl_is_over(&v->node, row) || atomic_load(&r->pid) == 0) {
        fputs("  it has ended, or has not begun\n", to);
        return false;
    }
    if (v->node.header->is_nested != 0 && !v->is_head) {
        fputs("  its stack cannot be shown: it is in another process namespace\n", to);
        return false;
    }
    return v->is_head ? print_fetched(&v->node, row, to)
                      : pli_stack_trace_print(atomic_load(&r->pid), to);
}

bool pli_stack_print(struct pli_job_view *v, uint32_t rank, FILE *to)
{
    if (v->is_head) {
        struct pli_ask_look look = { PLI_LOOK_STACKS, rank };
        struct pli_answer answer;
        pli_ctl_request_send(v->pid, PLI_ASK_LOOK, &look, sizeof look, &answer);
        if (answer.error != 0) {
            fprintf(to, "stacks cannot be shown: %s\n", answer.text);
            return false;
        }
    }
    const struct pli_node_header *h = v->node.header;
    bool is_good = true, is_found = false;
    for (uint32_t i = 0; i < pli_node_n_used(&v->node); i++) {
        bool is_note = (h->net & PLI_NODE_PART) != 0 && i >= h->n_row &&
                       v->node.procs[h->n_world + i - h->n_row].host != h->host_index;
        if (!is_note && (rank == UINT32_MAX || v->node.rows[i].index == rank)) {
            is_found = true;
            is_good = print_row(v, i, to) && is_good;
        }
    }
    if (!is_found) {
        fprintf(to, "the job has no rank %u\n", rank);
    }
    return is_found && is_good;
}

int pli_stack_run(long pid, uint32_t rank)
{
    struct pli_job_view v;
    pli_job_view_open(&v, pid);
    pli_job_view_look(&v); // for the names of hosts
    bool is_good = pli_stack_print(&v, rank, stdout);
    pli_job_view_close(&v);
    return is_good ? 0 : 1;
}
