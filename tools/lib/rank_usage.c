// SPDX-License-Identifier: BSD-3-Clause
// Reads processor time and memory of a process, and the counts in its mailboxes.
#include "tools/lib/rank_usage.h"

#include "net/shm/shm_wire.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000 };

// The text behind the name of a program, which may have blanks and brackets in it.
static bool read_stat(uint32_t pid, char *to, size_t cap)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *f = fopen(path, "re");
    size_t n = f != NULL ? fread(to, 1, cap - 1, f) : 0;
    if (f != NULL) {
        fclose(f);
    }
    to[n] = '\0';
    char *end = strrchr(to, ')');
    if (end == NULL) {
        return false;
    }
    memmove(to, end + 1, strlen(end + 1) + 1);
    return true;
}

bool pli_rank_usage_read(uint32_t pid, struct pli_rank_usage *out)
{
    char text[1024], path[64];
    unsigned long user, system, resident, shared;
    memset(out, 0, sizeof *out);
    if (pid == 0 || !read_stat(pid, text, sizeof text) ||
        sscanf(text, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) {
        return false;
    }
    out->cpu_ns = (uint64_t)(user + system) * ((uint64_t)NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
    snprintf(path, sizeof path, "/proc/%u/statm", pid);
    FILE *f = fopen(path, "re");
    if (f != NULL && fscanf(f, "%*u %lu %lu", &resident, &shared) == 2 && resident >= shared) {
        out->memory = (uint64_t)(resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
    }
    if (f != NULL) {
        fclose(f);
    }
    return true;
}

static struct pli_shm_mailbox *box_of(const struct pli_node *node, uint32_t row, int lane)
{
    return (void *)(pli_node_area(node, row) + (size_t)lane * PLI_NODE_LANE);
}

void pli_rank_usage_traffic(const struct pli_node *node, uint32_t row, struct pli_rank_traffic *out)
{
    bool is_head = (node->header->net & PLI_NODE_HEAD) != 0; // there the first lane has the sums
    uint32_t n_lane = is_head ? 1 : atomic_load(&node->rows[row].n_lane);
    memset(out, 0, sizeof *out);
    if (!pli_node_has_area(node, row)) {
        return;
    }
    for (uint32_t i = 0; i < n_lane && i < PLI_NODE_N_LANE; i++) {
        const struct pli_shm_mailbox *b = box_of(node, row, (int)i);
        out->n_sent += atomic_load_explicit(&b->n_sent, memory_order_relaxed);
        out->sent_bytes += atomic_load_explicit(&b->sent_bytes, memory_order_relaxed);
        out->n_received += atomic_load_explicit(&b->n_received, memory_order_relaxed);
        out->received_bytes += atomic_load_explicit(&b->received_bytes, memory_order_relaxed);
    }
}

void pli_rank_usage_set_traffic(const struct pli_node *node, uint32_t row,
                                const struct pli_rank_traffic *t)
{
    if (pli_node_has_area(node, row)) {
        struct pli_shm_mailbox *b = box_of(node, row, 0);
        atomic_store_explicit(&b->n_sent, t->n_sent, memory_order_relaxed);
        atomic_store_explicit(&b->sent_bytes, t->sent_bytes, memory_order_relaxed);
        atomic_store_explicit(&b->n_received, t->n_received, memory_order_relaxed);
        atomic_store_explicit(&b->received_bytes, t->received_bytes, memory_order_relaxed);
    }
}
