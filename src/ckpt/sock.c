// SPDX-License-Identifier: BSD-3-Clause
// The table of connections that must be drained and closed before a checkpoint.
#include "ckpt/sock.h"

#include "ckpt/sock_priv.h"
#include "ckpt/freeze_hold.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEAST = 64 * 1024 };

struct pli_sock pli_sock;

// Guards the table. No checkpoint is made while a thread has it.
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void take_guard(void)
{
    pli_freeze_hold();
    pthread_mutex_lock(&guard);
}

static void drop_guard(void)
{
    pthread_mutex_unlock(&guard);
    pli_freeze_let();
}

void pli_sock_open(struct pli_boot *boot)
{
    pli_sock.boot = boot;
}

uint32_t pli_sock_round(void)
{
    return pli_sock.round;
}

bool pli_sock_room(void *at, size_t *cap, size_t n)
{
    void *old;
    memcpy(&old, at, sizeof old);
    size_t want = *cap > 0 ? *cap : LEAST;
    while (want < n) {
        want *= 2;
    }
    if (want == *cap) {
        return true;
    }
    void *p = *cap > 0
                  ? mremap(old, *cap, want, MREMAP_MAYMOVE)
                  : mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return false;
    }
    memcpy(at, &p, sizeof p);
    *cap = want;
    return true;
}

struct pli_sock_conn *pli_sock_add(const struct pli_caller *c, enum pli_sock_kind kind)
{
    if (!pli_sock_room(&pli_sock.all, &pli_sock.cap, (pli_sock.n + 1) * sizeof *pli_sock.all)) {
        return NULL;
    }
    struct pli_sock_conn *e = &pli_sock.all[pli_sock.n++];
    *e = (struct pli_sock_conn){ .who = *c, .kind = kind, .now = -1 };
    return e;
}

static struct pli_sock_conn *find(int fd)
{
    for (uint32_t i = 0; i < pli_sock.n; i++) {
        if (pli_sock.all[i].who.fd == fd) {
            return &pli_sock.all[i];
        }
    }
    return NULL;
}

static void add(const struct pli_caller *c, enum pli_sock_kind kind)
{
    if (pli_sock.boot == NULL) {
        return;
    }
    take_guard();
    if (pli_sock_add(c, kind) == NULL) {
        pli_freeze_forbid("it has no memory for a list of its connections");
    }
    drop_guard();
}

void pli_sock_dial(int fd)
{
    add(&(struct pli_caller){ .fd = fd }, PLI_SOCK_DIALED);
}

void pli_sock_call(const struct pli_caller *c)
{
    add(c, PLI_SOCK_CALLEE);
}

void pli_sock_join(int fd, uint32_t proc, uint8_t lane, uint8_t to_lane)
{
    if (pli_sock.boot == NULL) {
        return;
    }
    take_guard();
    struct pli_sock_conn *e = find(fd);
    if (e != NULL) {
        e->kind = PLI_SOCK_CALLER;
        e->who = (struct pli_caller){ .fd = fd, .proc = proc, .lane = lane, .to_lane = to_lane };
    }
    drop_guard();
}

void pli_sock_close(int fd)
{
    if (pli_sock.boot == NULL) {
        close(fd);
        return;
    }
    take_guard();
    struct pli_sock_conn *e = find(fd);
    if (e != NULL) {
        if (e->now >= 0) {
            close(e->now);
        }
        pli_sock_forget(e->kept, e->cap);
        *e = pli_sock.all[--pli_sock.n];
    }
    close(fd);
    drop_guard();
}

bool pli_sock_has_untaken(void)
{
    return pli_sock.n_untaken > 0;
}

bool pli_sock_untaken(struct pli_caller *out)
{
    bool is_any = false;
    if (!pli_sock_has_untaken()) {
        return false;
    }
    take_guard();
    for (uint32_t i = 0; i < pli_sock.n && !is_any; i++) {
        struct pli_sock_conn *e = &pli_sock.all[i];
        if (e->is_untaken) {
            e->is_untaken = false;
            pli_sock.n_untaken--;
            *out = e->who;
            is_any = true;
        }
    }
    drop_guard();
    return is_any;
}

bool pli_sock_is_moved(int fd)
{
    if (pli_sock.boot == NULL) {
        return false;
    }
    take_guard();
    const struct pli_sock_conn *e = find(fd);
    bool is = e != NULL && e->now >= 0;
    drop_guard();
    return is;
}

bool pli_sock_is_pending(int fd)
{
    if (pli_sock.boot == NULL) {
        return false;
    }
    take_guard();
    const struct pli_sock_conn *e = find(fd);
    bool is = e != NULL && e->is_pending;
    drop_guard();
    return is;
}

int pli_sock_take(int fd, const char **kept_out, size_t *len_out, size_t *cap_out)
{
    int now = -1;
    if (pli_sock.boot == NULL) {
        return -1;
    }
    take_guard();
    struct pli_sock_conn *e = find(fd);
    if (e != NULL && e->now >= 0) {
        now = e->now;
        *kept_out = e->kept;
        *len_out = e->len;
        *cap_out = e->cap;
        e->now = -1;
        e->kept = NULL;
        e->len = e->cap = 0;
    }
    drop_guard();
    return now;
}

void pli_sock_forget(const char *kept, size_t cap)
{
    if (kept != NULL) {
        munmap((char *)(uintptr_t)kept, cap);
    }
}
