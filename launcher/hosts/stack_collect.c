// SPDX-License-Identifier: BSD-3-Clause
// Reads stacks in a copy of the daemon, for it takes a while and libraries for it; the text goes to
// mpiexec through a memory that both have.
#include "launcher/hosts/stack_collect.h"

#include "boot/launcher_wire.h"
#include "boot/node.h"
#include "launcher/base/launcher.h"
#include "launcher/base/pidns.h"
#include "launcher/hosts/daemon.h"
#include "launcher/hosts/dlink_wire.h"
#include "launcher/job/job.h"
#include "tools/lib/stack_trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void pli_stack_collect_init(void)
{
    struct pli_stack_collect_state *self = pli_launcher.stack_collect;
    self->helper = (struct pli_helper)PLI_HELPER_NONE;
    self->memory = -1;
}

static void pack_one(struct pli_pack *to, uint32_t index, uint32_t pid)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (f == NULL) {
        return;
    }
    pli_stack_trace_print(pid, f);
    if (fclose(f) == 0) {
        text[len < PLI_LOOK_TEXT ? len : PLI_LOOK_TEXT - 1] = '\0';
        pli_pack_u32(to, index);
        pli_pack_text(to, text);
    }
    free(text);
}

// In the helper. The rows of processes elsewhere have numbers of other hosts.
static bool read_all(void *arg, int report)
{
    const struct pli_stack_collect_state *self = arg;
    const struct pli_node *node = &pli_launcher.job->node;
    const struct pli_node_header *h = node->header;
    struct pli_pack p = { 0 };
    (void)report;
    for (uint32_t i = 0; i < pli_node_n_used(node); i++) {
        const struct pli_node_row *r = &node->rows[i];
        bool is_here = i < h->n_row || node->procs[h->n_world + i - h->n_row].host == h->host_index;
        uint32_t pid = atomic_load(&r->pid);
        bool is_wanted = self->index == UINT32_MAX || self->index == r->index;
        if (is_here && is_wanted && pid != 0 && atomic_load(&r->has_ended) == 0) {
            pid = h->is_nested != 0 ? (uint32_t)pli_pidns_find((pid_t)pid) : pid;
            pack_one(&p, r->index, pid);
        }
    }
    bool is_good = write(self->memory, p.data, p.len) == (ssize_t)p.len;
    pli_pack_fini(&p);
    return is_good;
}

static void done(struct pli_helper *helper, bool is_good)
{
    struct pli_stack_collect_state *self = pli_launcher.stack_collect;
    struct stat st;
    (void)helper;
    size_t len = is_good && fstat(self->memory, &st) == 0 ? (size_t)st.st_size : 0;
    char *data = len > 0 ? malloc(len) : NULL;
    if (data == NULL || pread(self->memory, data, len, 0) != (ssize_t)len) {
        len = 0;
    }
    close(self->memory);
    self->memory = -1;
    pli_daemon_send(PLI_DLINK_STATUS, PLI_LOOK_STACKS, 0, data, len);
    free(data);
}

void pli_stack_collect_begin(struct pli_job *job, uint32_t index)
{
    struct pli_stack_collect_state *self = pli_launcher.stack_collect;
    (void)job;
    if (self->memory >= 0) {
        return; // mpiexec asks again only when it has given up the last; this answer is for both
    }
    self->index = index;
    self->memory = memfd_create("pliant-stacks", MFD_CLOEXEC);
    self->helper.done = done;
    if (self->memory < 0 || !pli_helper_fork(&self->helper, read_all, self)) {
        if (self->memory >= 0) {
            close(self->memory);
        }
        self->memory = -1;
        pli_daemon_send(PLI_DLINK_STATUS, PLI_LOOK_STACKS, 0, NULL, 0);
        return;
    }
    pli_helper_watch(&self->helper);
}

void pli_stack_collect_clear(struct pli_node *node)
{
    for (uint32_t i = 0; i < pli_node_n_used(node); i++) {
        if (pli_node_has_area(node, i)) {
            pli_node_area(node, i)[PLI_LOOK_TEXT_AT] = '\0';
        }
    }
}

void pli_stack_collect_take(struct pli_node *node, struct pli_unpack *u)
{
    while (!u->is_bad && u->at < u->end) {
        uint32_t index = pli_unpack_u32(u), at = index - node->header->base;
        char *text = pli_unpack_text(u);
        uint32_t row = at < node->header->n_row ? at : pli_node_row_of(node, index);
        if (text != NULL && row != UINT32_MAX && pli_node_has_area(node, row)) {
            char *to = pli_node_area(node, row) + PLI_LOOK_TEXT_AT;
            size_t n = strnlen(text, PLI_LOOK_TEXT - 1);
            memcpy(to, text, n);
            to[n] = '\0';
        }
        free(text);
    }
}
