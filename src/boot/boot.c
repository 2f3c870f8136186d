// SPDX-License-Identifier: BSD-3-Clause
// What every bootstrap shares: the process's one instance, and what bootstraps do that lack a
// network or a launcher of ours.
#include "boot/boot.h"

#include "base/futex.h"
#include "base/log.h"
#include "boot/agree_wire.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct pli_boot pli_boot = { .control = -1, .accept_fd = -1 };

enum pli_err pli_boot_clone(uint32_t index, void (*known)(void))
{
    enum pli_err err = pli_boot.ops->clone(&pli_boot, index, known);
    if (err == PLI_OK) {
        pli_boot.opener = getpid();
        pli_log_rank((int)(pli_boot.index - pli_boot.world));
    }
    return err;
}

void pli_boot_let_launcher_judge(void)
{
    nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
}

void pli_boot_exit(int code)
{
    // A thread that holds a stream may be stuck in it: what cannot be had at once is given up.
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

int pli_boot_no_accept_fd(struct pli_boot *boot)
{
    (void)boot;
    return -1;
}

enum pli_err pli_boot_no_accept(struct pli_boot *boot, struct pli_caller *out)
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
    boot->ops->agree(
        boot, &(struct pli_agree_word){
                  .what = PLI_AGREE_SAID, .place = boot->index, .seq = version, .value = n });
}

void pli_boot_say_taken(struct pli_boot *boot, uint32_t version)
{
    boot->ops->agree(boot, &(struct pli_agree_word){
                               .what = PLI_AGREE_TOOK, .place = boot->index, .seq = version });
}

void pli_boot_no_agree(struct pli_boot *boot, const struct pli_agree_word *word)
{
    (void)boot; // no process survives there
    (void)word;
}

enum pli_err pli_boot_no_clone(struct pli_boot *boot, uint32_t index, void (*known)(void))
{
    (void)index;
    (void)known;
    return pli_boot_no_ask(boot, -1);
}
