// SPDX-License-Identifier: BSD-3-Clause
// Chooses the bootstrap that started this process and opens it once.
#include "boot/boot.h"

#include "base/futex.h"
#include "base/cpu.h"

#include "base/conf.h"
#include "base/log.h"
#include "boot/agree_wire.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct pli_boot pli_boot;

PLI_START_VAR static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
PLI_START_VAR static pid_t opener; // guarded by lock; 0: not open yet

static enum pli_err open_first(void)
{
    pli_conf_load();
    for (int i = 0; pli_boot_list[i] != NULL; i++) {
        if (!pli_boot_list[i]->is_mine()) {
            continue;
        }
        pli_boot.ops = pli_boot_list[i];
        enum pli_err err = pli_boot.ops->open(&pli_boot);
        if (err == PLI_OK && pli_boot.n_world > 1) {
            pli_log_rank((int)(pli_boot.index - pli_boot.world));
        }
        return err;
    }
    return pli_fail(PLI_ERR_INTERN, "no bootstrap fits this process");
}

PLI_START enum pli_err pli_boot_open(struct pli_boot **out)
{
    enum pli_err err = PLI_OK;
    pthread_mutex_lock(&lock);
    if (opener == 0) {
        err = open_first();
        if (err == PLI_OK) {
            opener = getpid();
        }
    } else if (opener != getpid()) {
        err = pli_fail(PLI_ERR_OTHER,
                       "process %d was forked from rank %u (process %d) after that one had started "
                       "MPI; fork first, or exec a new program",
                       (int)getpid(), pli_boot.index, (int)opener);
    }
    pthread_mutex_unlock(&lock);
    if (err == PLI_OK) {
        *out = &pli_boot;
    }
    return err;
}

enum pli_err pli_boot_clone(uint32_t index, void (*known)(void))
{
    enum pli_err err = pli_boot.ops->clone(&pli_boot, index, known);
    if (err == PLI_OK) {
        opener = getpid();
        pli_log_rank((int)(pli_boot.index - pli_boot.world));
    }
    return err;
}

void pli_boot_exit(int code)
{
    // Whoever holds a stream may be stuck in it: what cannot be had at once is given up.
    if (ftrylockfile(stdout) == 0) {
        fflush(stdout);
        funlockfile(stdout);
    }
    _exit(code);
}

enum pli_err pli_boot_no_reach(struct pli_boot *boot, uint32_t index, struct pli_boot_way *out)
{
    (void)out;
    return pli_fail(PLI_ERR_OTHER, "process %u cannot be reached: bootstrap '%s' knows no network",
                    index, boot->ops->name);
}

int pli_boot_no_door(struct pli_boot *boot)
{
    (void)boot;
    return -1;
}

enum pli_err pli_boot_no_take(struct pli_boot *boot, struct pli_caller *out)
{
    (void)boot;
    (void)out;
    return PLI_AGAIN;
}

enum pli_err pli_boot_no_ask(struct pli_boot *boot, int fd)
{
    (void)fd;
    return pli_fail(PLI_ERR_UNSUPPORTED,
                    "the job was started through %s, and only our own mpiexec can start more "
                    "processes",
                    boot->ops->name);
}

void pli_boot_no_ready(struct pli_boot *boot)
{
    (void)boot; // such a process was there from the start
}

void pli_boot_join_world(struct pli_boot *boot)
{
    _Atomic int *world = &boot->node.header->world;
    int version = (int)boot->version, now = atomic_load_explicit(world, memory_order_acquire);
    if (now >= version) {
        return;
    }
    boot->ops->ready(boot);
    for (; now < version; now = atomic_load_explicit(world, memory_order_acquire)) {
        pli_futex_wait(world, now, false, 0);
    }
}

void pli_boot_say_begun(struct pli_boot *boot, uint32_t version, uint32_t n)
{
    boot->ops->pact(boot,
                    &(struct pli_agree_word){
                        .what = PLI_AGREE_SAID, .place = boot->index, .seq = version, .value = n });
}

void pli_boot_say_taken(struct pli_boot *boot, uint32_t version)
{
    boot->ops->pact(boot, &(struct pli_agree_word){
                              .what = PLI_AGREE_TOOK, .place = boot->index, .seq = version });
}

void pli_boot_no_pact(struct pli_boot *boot, const struct pli_agree_word *word)
{
    (void)boot; // nobody survives there
    (void)word;
}

enum pli_err pli_boot_no_clone(struct pli_boot *boot, uint32_t index, void (*known)(void))
{
    (void)index;
    (void)known;
    return pli_boot_no_ask(boot, -1);
}
