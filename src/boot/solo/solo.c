// SPDX-License-Identifier: BSD-3-Clause
// A world of one: the node memory is private and has a single row.
#include "boot/solo/solo.h"

#include "base/log.h"
#include "boot/cores.h"
#include "boot/ctl.h"
#include "boot/pset.h"
#include "boot/solo/singleton_launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int control = -1; // to an mpiexec that was started for this program; guarded by lock
static int memory = -1;

static bool solo_is_mine(void)
{
    return true;
}

// The sets a launcher would have written.
static enum pli_err add_sets(struct pli_node *node)
{
    char host[PLI_PSET_NAME];
    const uint32_t me = 0;
    snprintf(host, sizeof host, "mpi://host/%s", node->header->host);
    enum pli_err err = pli_pset_add(node, host, &me, 1, 1, PLI_PSET_HOST, UINT32_MAX);
    if (err == PLI_OK) {
        err = pli_pset_add(node, "mpi://hw/node/0", &me, 1, 1, PLI_PSET_HARDWARE, UINT32_MAX);
    }
    return err == PLI_OK ? pli_pset_add(node, "mpi://app/0", &me, 1, 1, PLI_PSET_APP, UINT32_MAX)
                         : err;
}

// srun that offers no way to meet starts as many worlds as tasks, which is never wanted. (A program
// that a rank starts has other variables of PMI left.)
static void warn_of_srun(void)
{
    const char *n = getenv("SLURM_STEP_NUM_TASKS"), *me = getenv("SLURM_PROCID");
    bool has_pmi = getenv("PMI_JOBID") != NULL || getenv("PMIX_SERVER_TMPDIR") != NULL;
    if (n != NULL && me != NULL && strtol(n, NULL, 10) > 1 && strcmp(me, "0") == 0 && !has_pmi) {
        pli_log(PLI_WARN,
                "srun has started %s processes and offers neither PMI-1 nor PMIx, so each is a "
                "world of its own; use srun --mpi=pmi2 or --mpi=pmix, or mpiexec",
                n);
    }
}

static enum pli_err solo_open(struct pli_boot *boot)
{
    int fd;
    warn_of_srun();
    enum pli_err err = pli_node_create(1, &boot->node, &fd);
    if (err != PLI_OK) {
        return err;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC); // kept: other jobs find this one by it, a child does not
    memory = fd;
    struct pli_node_header *h = boot->node.header;
    h->n_core = pli_cores_usable();
    boot->job = pli_node_job(h);
    boot->index = boot->row = 0;
    boot->n_world = 1;
    struct pli_node_row *row = &boot->node.rows[0];
    atomic_store_explicit(&row->pid, (uint32_t)getpid(), memory_order_relaxed);
    atomic_store_explicit(&row->state, PLI_NODE_CLAIMED, memory_order_release);
    return add_sets(&boot->node);
}

static void solo_tell(struct pli_boot *boot, enum pli_node_state state)
{
    pli_node_set_state(&boot->node, boot->row, state);
}

static _Noreturn void solo_abort(struct pli_boot *boot, int code, const char *why)
{
    pli_log(PLI_ERROR, "process %d ends with code %d: %s", (int)getpid(), code, why);
    if (boot->node.rows != NULL) { // else it has not come so far
        pli_node_set_state(&boot->node, boot->row, PLI_NODE_ABORTED);
    }
    pli_boot_exit(pli_boot_exit_code(code));
}

static enum pli_err solo_ask(struct pli_boot *boot, int fd)
{
    enum pli_err err = PLI_OK;
    pthread_mutex_lock(&lock);
    if (control < 0) {
        err = pli_singleton_launcher_start(memory, &control);
        if (err == PLI_OK) {
            err = pli_ctl_guard(control);
        }
    }
    pthread_mutex_unlock(&lock);
    if (err == PLI_OK && !pli_ctl_say(control, PLI_CTL_ASK, boot->row, &fd, 1)) {
        err = pli_fail(PLI_ERR_OTHER, "mpiexec does not answer: %s", strerror(errno));
    }
    return err;
}

static void solo_close(struct pli_boot *boot)
{
    pli_node_unmap(&boot->node);
}

const struct pli_boot_ops pli_solo_ops = {
    .name = "solo",
    .is_mine = solo_is_mine,
    .open = solo_open,
    .tell = solo_tell,
    .abort = solo_abort,
    .close = solo_close,
    .ask = solo_ask,
    .clone = pli_boot_no_clone,
    .ready = pli_boot_no_ready,
    .agree = pli_boot_no_agree,
    .reach = pli_boot_no_reach,
    .accept_fd = pli_boot_no_accept_fd,
    .accept = pli_boot_no_accept,
};
