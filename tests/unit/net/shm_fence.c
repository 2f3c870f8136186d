// SPDX-License-Identifier: BSD-3-Clause
// A process to which a filter for system calls forbids membarrier has its writers and those to whom
// it writes use fences; one to which that happens while it runs does not sleep for long.
#include "net/shm/shm.h"
#include "net/shm/shm_sleep.h"

#include "boot/boot.h"
#include "boot/node.h"
#include "t.h"
#include "t_filter.h"

#include <mpi.h>
#include <sys/wait.h>
#include <unistd.h>

static int fences(int lane)
{
    struct pli_shm_peer peer;
    pli_shm_peer_init(&peer, &pli_boot.node, pli_boot.row, lane);
    return atomic_load(&peer.box->needs_fence);
}

static void forbidden_before(void)
{
    T_MUST(t_filter_membarrier());
    MPI_Init(NULL, NULL);
    T_OK(pli_shm_must_fence);
    T_EQ(fences(0), 1); // its own: others write to it with fences
    T_EQ(fences(3), 1); // any that it writes to
    T_OK(pli_shm_order());
    MPI_Finalize();
}

static void forbidden_later(void)
{
    MPI_Init(NULL, NULL);
    if (!pli_shm_must_fence) { // this kernel has it
        T_EQ(fences(0), 0);
        T_OK(pli_shm_order());
        T_MUST(t_filter_membarrier());
        T_OK(!pli_shm_order());
        T_OK(pli_shm_must_fence);
        T_EQ(fences(3), 1);
    }
    MPI_Finalize();
}

static void in_child(void (*test)(void))
{
    int status = -1;
    pid_t pid = fork();
    T_MUST(pid >= 0);
    if (pid == 0) {
        test();
        _exit(t_status());
    }
    T_MUST(waitpid(pid, &status, 0) == pid);
    T_EQ(status, 0);
}

int main(void)
{
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        _exit(t_filter_membarrier() ? 0 : 77);
    }
    T_MUST(waitpid(pid, &status, 0) == pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        printf("this system has no filters for system calls\n");
        return 77;
    }
    in_child(forbidden_before);
    in_child(forbidden_later);
    return t_status();
}
