// SPDX-License-Identifier: BSD-3-Clause
// Memory of another process is read when it is the process that the mailbox names, and not when
// another one has its number, when it is gone, or when the memory cannot be read.
#include "net/shm/peer_memory.h"

#include "net/shm/shm_wire.h"
#include "t.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 100000 };

static struct pli_shm_mailbox *box; // of the child
static unsigned char *data;         // at the same address in both, with different bytes

static pid_t start_child(void)
{
    int gate[2];
    T_MUST(pipe(gate) == 0);
    pid_t child = fork();
    if (child == 0) {
        pli_peer_memory_publish(box, 1234, 1);
        memset(data, 7, N);
        T_MUST(write(gate[1], "x", 1) == 1);
        for (;;) {
            pause();
        }
    }
    char c;
    T_MUST(read(gate[0], &c, 1) == 1);
    close(gate[0]);
    close(gate[1]);
    return child;
}

static bool reads(size_t at, size_t len, unsigned char *to)
{
    struct iovec local = { to, len }, remote = { data + at, len };
    return pli_peer_memory_read(box, &local, 1, &remote, 1, len);
}

int main(void)
{
    static unsigned char got[2 * N];
    box = mmap(NULL, sizeof *box, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    data = mmap(NULL, 2 * N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    T_MUST(box != MAP_FAILED && data != MAP_FAILED);
    T_OK(!pli_peer_memory_probe(box)); // its owner has said nothing
    pid_t child = start_child();
    T_EQ(box->pid, child);
    if (!pli_peer_memory_probe(box)) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        fprintf(stderr, "skipped: this system lets no process read another's memory\n");
        return 77;
    }
    T_OK(reads(0, N, got));
    T_EQ(got[0], 7);
    T_EQ(got[N - 1], 7);
    memset(got, 9, N);
    T_OK(pli_peer_memory_write(box, (uint64_t)(uintptr_t)data, got, N / 2));
    T_OK(reads(0, N, got));
    T_EQ(got[N / 2 - 1], 9);
    T_EQ(got[N / 2], 7);
    T_EQ(data[0], 0); // mine is another memory
    // The process that has the number is not the one that was meant.
    uint64_t cookie = box->cookie;
    box->cookie++;
    T_OK(!pli_peer_memory_is_owner(box));
    T_OK(!pli_peer_memory_probe(box));
    box->cookie = cookie;
    box->pid = (uint32_t)getpid();
    T_OK(!pli_peer_memory_is_owner(box));
    box->pid = (uint32_t)child;
    T_OK(pli_peer_memory_is_owner(box));
    // An address where nothing is.
    struct iovec local = { got, 8 }, nowhere = { (void *)(uintptr_t)4096, 8 };
    T_OK(!pli_peer_memory_read(box, &local, 1, &nowhere, 1, 8));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    T_OK(!pli_peer_memory_is_owner(box));
    T_OK(!reads(0, N, got));
    return t_status();
}
