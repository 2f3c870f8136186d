// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes memory of another process, after it is sure which process that is.
#include "net/shm/peer_memory.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "net/shm/shm_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// What others look for in my memory.
static struct {
    uint64_t cookie;
    pid_t pid; // whose it is: a forked process draws another one
} mine;

// Mixes the bits of a number (the finalizer of MurmurHash3).
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

void pli_peer_memory_publish(struct pli_shm_mailbox *box, uint64_t job, uint32_t row)
{
    pid_t me = getpid();
    if (mine.pid != me) {
        mine.cookie = mix(job ^ mix((uint64_t)row << 32 ^ (uint32_t)me) ^ pli_clock_ns()) | 1;
        mine.pid = me;
    }
    box->pid = (uint32_t)me;
    box->cookie_at = (uint64_t)(uintptr_t)&mine.cookie;
    // valgrind does not see what others write, and would take it for never written.
    box->cookie = pli_limits_is_valgrind() ? 0 : mine.cookie;
}

bool pli_peer_memory_is_owner(const struct pli_shm_mailbox *box)
{
    uint64_t seen = 0;
    struct iovec to = { &seen, sizeof seen };
    struct iovec from = { (void *)(uintptr_t)box->cookie_at, sizeof seen };
    errno = 0;
    return process_vm_readv((pid_t)box->pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof seen &&
           seen == box->cookie;
}

bool pli_peer_memory_probe(const struct pli_shm_mailbox *box)
{
    bool is_there = box->cookie != 0 && pli_peer_memory_is_owner(box);
    if (is_there) {
        pli_log(PLI_INFO, "shm: large messages from process %u are read from its memory", box->pid);
    } else {
        pli_log(PLI_INFO,
                "shm: cannot read the memory of process %u (%s); messages are copied twice",
                box->pid,
                box->cookie == 0 ? "it does not say where to look, as under valgrind"
                : errno != 0     ? strerror(errno)
                                 : "another process has this number here");
    }
    return is_there;
}

bool pli_peer_memory_read(const struct pli_shm_mailbox *box, const struct iovec *to, int n_to,
                          const struct iovec *from, int n_from, size_t len)
{
    return process_vm_readv((pid_t)box->pid, to, (unsigned long)n_to, from, (unsigned long)n_from,
                            0) == (ssize_t)len;
}

bool pli_peer_memory_write_pieces(const struct pli_shm_mailbox *box, const struct iovec *to,
                                  int n_to, const struct iovec *from, int n_from, size_t len)
{
    return process_vm_writev((pid_t)box->pid, from, (unsigned long)n_from, to, (unsigned long)n_to,
                             0) == (ssize_t)len;
}

bool pli_peer_memory_write(const struct pli_shm_mailbox *box, uint64_t to, const void *from,
                           size_t len)
{
    struct iovec local = { (void *)(uintptr_t)from, len };
    struct iovec remote = { (void *)(uintptr_t)to, len };
    return pli_peer_memory_write_pieces(box, &remote, 1, &local, 1, len);
}
