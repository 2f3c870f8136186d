// SPDX-License-Identifier: BSD-3-Clause
// Every reader that sleeps by its wake socket is woken, however many datagrams of one process lie
// unread; a process without the key neither wakes the owner nor keeps others from doing so.
#include "net/shm/shm.h"
#include "net/shm/shm_sleep.h"
#include "net/shm/wake_sock.h"

#include "t.h"

#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MANY = 400 }; // more than the kernel lets one socket have unread, 277 or so

struct sleeper {
    struct pli_shm shm;
    int fd;
};

static void open_one(struct sleeper *s)
{
    struct pli_shm_mailbox *box = aligned_alloc(128, sizeof *box);
    T_MUST(box != NULL);
    memset(box, 0, sizeof *box);
    s->shm = (struct pli_shm){ .box = box };
    s->fd = pli_wake_sock_open(&s->shm);
    T_MUST(s->fd >= 0);
}

static void close_one(struct sleeper *s)
{
    pli_wake_sock_drop(s->fd);
    close(s->fd);
    free(s->shm.box);
}

static bool is_rung(const struct sleeper *s)
{
    struct pollfd p = { .fd = s->fd, .events = POLLIN };
    return poll(&p, 1, 0) == 1;
}

static void wake(struct sleeper *s)
{
    pli_shm_announce(&s->shm, PLI_SHM_BY_SOCKET);
    pli_shm_wake(s->shm.box);
}

static void wakes_many(void)
{
    static struct sleeper all[MANY];
    int n = 0;
    for (int i = 0; i < MANY; i++) {
        open_one(&all[i]);
    }
    for (int i = 0; i < MANY; i++) {
        wake(&all[i]);
    }
    for (int i = 0; i < MANY; i++) {
        n += is_rung(&all[i]);
        close_one(&all[i]);
    }
    T_EQ(n, MANY);
}

// A socket that is not read takes no more datagrams than it can hold, and stays readable.
static void stays_rung(void)
{
    struct sleeper s;
    open_one(&s);
    for (int i = 0; i < 3000; i++) {
        wake(&s);
    }
    T_OK(is_rung(&s));
    close_one(&s);
}

static void ignores_strangers(void)
{
    struct sleeper s;
    open_one(&s);
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    memcpy(a.sun_path, s.shm.box->wake_name, s.shm.box->n_wake_name);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + s.shm.box->n_wake_name);
    uint64_t key = s.shm.box->wake_key;
    for (int i = 0; i < 3000; i++) {
        uint64_t guess = key ^ (uint64_t)1 << i % 64;
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        sendto(fd, &guess, i % 3 == 0 ? sizeof guess : (size_t)(i % 8), MSG_DONTWAIT,
               (struct sockaddr *)&a, len);
        close(fd);
    }
    T_OK(!is_rung(&s));
    wake(&s);
    T_OK(is_rung(&s));
    close_one(&s);
}

int main(void)
{
    wakes_many();
    stays_rung();
    ignores_strangers();
    return t_status();
}
