// SPDX-License-Identifier: BSD-3-Clause
// Opens a job of another launcher by its key-value store.
// The first rank of each host makes the node memory, and tells the others of its host where it is:
// they open it through /proc. One word per host and one fence, whatever the size of the job; where
// there are several hosts, a few words more and a second fence (kvs_listen.c).
#include "boot/kvs/kvs.h"

#include "base/conf.h"
#include "base/log.h"
#include "boot/cores.h"
#include "boot/kvs/kvs_map.h"
#include "boot/kvs/kvs_listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#define KEY_JOB "pliant-job"
#define KEY_NODE "pliant-node"

static const struct pli_kvs *store; // the one that was opened
static bool is_told;                // that MPI is over

// Cores that the processes of this host may use: a launcher that binds gives each some of its own.
static uint32_t cores_here(uint32_t n_here)
{
    uint32_t mine = pli_cores_usable();
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t together = (uint64_t)mine * n_here;
    return online > (long)mine && together <= (uint64_t)online ? (uint32_t)together : mine;
}

// Write the tables of this host's memory; the job's number is not known yet.
static void fill(const struct pli_kvs *s, const struct pli_kvs_map *m, struct pli_node *node)
{
    uint32_t mine = m->host_of[s->rank];
    struct pli_node_header *h = node->header;
    h->launcher = (uint32_t)getppid();
    h->host_index = mine;
    h->n_core = cores_here(m->n_here);
    for (uint32_t p = 0; p < s->size; p++) {
        node->procs[p] = (struct pli_node_proc){ .host = m->host_of[p], .row = m->row_of[p] };
        node->hosts[m->host_of[p]].n_proc++;
        if (m->host_of[p] == mine) {
            node->rows[m->row_of[p]].index = p;
            node->rows[m->row_of[p]].n_app = s->size;
        }
    }
    snprintf(node->hosts[mine].name, sizeof node->hosts[mine].name, "%s", h->host);
}

// As the host's first process: make the memory and say where it is.
static enum pli_err lead(const struct pli_kvs *s, const struct pli_kvs_map *m,
                         struct pli_node *node)
{
    int fd;
    const struct pli_node_plan plan = { .n_row = m->n_here,
                                        .n_world = s->size,
                                        .n_host = m->n_host };
    enum pli_err err = pli_node_create_for(&plan, node, &fd);
    if (err != PLI_OK) {
        return err;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC); // stays open for the others to find, in this process alone
    char where[64];
    snprintf(where, sizeof where, "%d:%d", (int)getpid(), fd);
    fill(s, m, node);
    if (m->n_host == 1) { // else the others' names are not known yet
        err = pli_kvs_map_sets(m, node);
    }
    return err == PLI_OK ? s->put(KEY_NODE, where) : err;
}

static enum pli_err follow(const struct pli_kvs *s, uint32_t leader, struct pli_node *node)
{
    char where[PLI_KVS_VALUE], path[64];
    int pid, descriptor;
    enum pli_err err = s->get(leader, KEY_NODE, where, sizeof where);
    if (err != PLI_OK) {
        return err;
    }
    if (sscanf(where, "%d:%d", &pid, &descriptor) != 2 || pid <= 0 || descriptor < 0) {
        return pli_fail(PLI_ERR_OTHER, "%s gave '%s' for the shared memory of rank %u", s->name,
                        where, leader);
    }
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, descriptor);
    int fd = pli_node_open(pid, descriptor);
    if (fd < 0) {
        return pli_fail(PLI_ERR_OTHER,
                        "cannot open the memory that rank %u shares on this host (%s): %s. Both "
                        "must run as one user and see each other's processes; containers must "
                        "share their process namespace",
                        leader, path, strerror(errno));
    }
    err = pli_node_map(fd, node);
    close(fd);
    return err;
}

// The job's number and secret, the same on all hosts: from rank 0.
static enum pli_err put_job(const struct pli_kvs *s)
{
    unsigned char bytes[40];
    char text[2 * sizeof bytes + 1];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return pli_fail(PLI_ERR_OTHER, "the system has no random numbers for a secret: %s",
                        strerror(errno));
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    return s->put(KEY_JOB, text);
}

static enum pli_err get_job(const struct pli_kvs *s, struct pli_node_header *h)
{
    char text[PLI_KVS_VALUE];
    unsigned char bytes[sizeof h->job + sizeof h->secret];
    enum pli_err err = s->get(0, KEY_JOB, text, sizeof text);
    if (err != PLI_OK) {
        return err;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        unsigned v;
        if (sscanf(text + 2 * i, "%2x", &v) != 1) {
            // Not quoted: the secret is in it.
            return pli_fail(PLI_ERR_OTHER,
                            "%s gave something else for the job's number than rank 0 has put there",
                            s->name);
        }
        bytes[i] = (unsigned char)v;
    }
    explicit_bzero(text, sizeof text);
    memcpy(&h->job, bytes, sizeof h->job);
    memcpy(h->secret, bytes + sizeof h->job, sizeof h->secret);
    explicit_bzero(bytes, sizeof bytes);
    h->job |= (uint64_t)1 << 63; // never 0
    return PLI_OK;
}

// Whether messages pass over a network, which is the same at all processes.
static bool has_net(const struct pli_kvs_map *m)
{
    return m->n_host > 1 || strcmp(pli_conf.net, "tcp") == 0 || strcmp(pli_conf.net, "ucx") == 0;
}

static enum pli_err meet(const struct pli_kvs *s, const struct pli_kvs_map *m,
                         struct pli_boot *boot)
{
    uint32_t leader = m->leader[m->host_of[s->rank]];
    struct pli_node *node = &boot->node;
    enum pli_err err = s->rank == 0 ? put_job(s) : PLI_OK;
    if (err == PLI_OK && s->rank == leader) {
        err = lead(s, m, node);
    }
    err = err == PLI_OK ? s->fence() : err;
    if (err == PLI_OK && s->rank != leader) {
        err = follow(s, leader, node);
    }
    // All write the same there; a reader has written before it reads.
    err = err == PLI_OK ? get_job(s, node->header) : err;
    if (err != PLI_OK) {
        return err;
    }
    boot->job = pli_node_job(node->header);
    boot->index = s->rank;
    boot->n_world = s->size;
    boot->row = m->row_of[s->rank];
    boot->host = m->host_of[s->rank];
    struct pli_node_row *row = &node->rows[boot->row];
    atomic_store_explicit(&row->pid, (uint32_t)getpid(), memory_order_relaxed);
    atomic_store_explicit(&row->state, PLI_NODE_CLAIMED, memory_order_release);
    return has_net(m) ? pli_kvs_listen_open(s, m, boot) : PLI_OK;
}

enum pli_err pli_kvs_open(const struct pli_kvs *s, struct pli_boot *boot)
{
    struct pli_kvs_map m = { 0 };
    store = s;
    if (s->size > PLI_NODE_MAX_INDEX) {
        return pli_fail(PLI_ERR_OTHER, "%s says that the job has %u processes; %u are the most",
                        s->name, s->size, (uint32_t)PLI_NODE_MAX_INDEX);
    }
    enum pli_err err = pli_kvs_map_init(&m, s);
    err = err == PLI_OK ? meet(s, &m, boot) : err;
    pli_kvs_map_fini(&m);
    if (err != PLI_OK) {
        pli_kvs_close(boot);
    }
    return err;
}

void pli_kvs_tell(struct pli_boot *boot, enum pli_node_state state)
{
    pli_node_set_state(&boot->node, boot->row, state);
    // The launcher is told at the first end of MPI: it takes an exit before that for a crash. A
    // later session needs nothing from it.
    if (state == PLI_NODE_FINALIZED && !is_told) {
        is_told = true;
        store->finish();
    }
}

// A launcher that is told of an abort may kill before it has read what was said: let it read first.
static void let_hear(void)
{
    int n;
    for (int i = 0; i < 100 && ioctl(STDERR_FILENO, FIONREAD, &n) == 0 && n > 0; i++) {
        usleep(2000);
    }
}

void pli_kvs_abort(struct pli_boot *boot, int code, const char *why)
{
    if (boot->node.rows != NULL) { // else it has not come to have a row
        boot->node.rows[boot->row].abort_code = code;
        pli_node_set_state(&boot->node, boot->row, PLI_NODE_ABORTED);
    }
    pli_log(PLI_ERROR, "process %d ends the job with code %d: %s", (int)getpid(), code, why);
    if (store != NULL && !is_told) { // else its exit status tells the launcher
        let_hear();
        store->end(pli_boot_exit_code(code), why);
    }
    pli_boot_exit(pli_boot_exit_code(code));
}

void pli_kvs_close(struct pli_boot *boot)
{
    pli_kvs_listen_close();
    pli_node_unmap(&boot->node);
}

enum pli_err pli_kvs_reach(struct pli_boot *boot, uint32_t index, struct pli_boot_way *out)
{
    const struct pli_node_proc *p = pli_node_find(&boot->node, index);
    if (p == NULL || p->port == 0) {
        return pli_fail(PLI_ERR_OTHER, "process %u cannot be reached: this job has no network",
                        index);
    }
    *out = (struct pli_boot_way){ .host = &boot->node.hosts[p->host],
                                  .port = (uint16_t)p->port,
                                  .is_direct = true };
    return PLI_OK;
}
