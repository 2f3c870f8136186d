// SPDX-License-Identifier: BSD-3-Clause
// The table of connections that a checkpoint would have to give up.
#include "ckpt/sock.h"

#include "ckpt/sock_priv.h"
#include "ckpt/freeze.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEAST = 64 * 1024 };

struct pli_moor pli_moor;

// Guards the table. Who has it holds the process: no checkpoint is made meanwhile.
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void take_guard(void)
{
    pli_park_hold();
    pthread_mutex_lock(&guard);
}

static void drop_guard(void)
{
    pthread_mutex_unlock(&guard);
    pli_park_let();
}

void pli_moor_open(struct pli_boot *boot, int *door)
{
    pli_moor.boot = boot;
    pli_moor.door = door;
}

uint32_t pli_moor_round(void)
{
    return pli_moor.round;
}

bool pli_moor_room(void *at, size_t *cap, size_t n)
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

struct pli_moored *pli_moor_add(const struct pli_caller *c, enum pli_moor_kind kind)
{
    if (!pli_moor_room(&pli_moor.all, &pli_moor.cap, (pli_moor.n + 1) * sizeof *pli_moor.all)) {
        return NULL;
    }
    struct pli_moored *e = &pli_moor.all[pli_moor.n++];
    *e = (struct pli_moored){ .who = *c, .kind = kind, .now = -1 };
    return e;
}

static struct pli_moored *find(int fd)
{
    for (uint32_t i = 0; i < pli_moor.n; i++) {
        if (pli_moor.all[i].who.fd == fd) {
            return &pli_moor.all[i];
        }
    }
    return NULL;
}

static void add(const struct pli_caller *c, enum pli_moor_kind kind)
{
    if (pli_moor.boot == NULL) {
        return;
    }
    take_guard();
    if (pli_moor_add(c, kind) == NULL) {
        pli_park_forbid("it has no memory for a list of its connections");
    }
    drop_guard();
}

void pli_moor_dial(int fd)
{
    add(&(struct pli_caller){ .fd = fd }, PLI_MOOR_DIALED);
}

void pli_moor_call(const struct pli_caller *c)
{
    add(c, PLI_MOOR_CALLEE);
}

void pli_moor_join(int fd, uint32_t proc, uint8_t lane, uint8_t to_lane)
{
    if (pli_moor.boot == NULL) {
        return;
    }
    take_guard();
    struct pli_moored *e = find(fd);
    if (e != NULL) {
        e->kind = PLI_MOOR_CALLER;
        e->who = (struct pli_caller){ .fd = fd, .proc = proc, .lane = lane, .to_lane = to_lane };
    }
    drop_guard();
}

void pli_moor_close(int fd)
{
    if (pli_moor.boot == NULL) {
        close(fd);
        return;
    }
    take_guard();
    struct pli_moored *e = find(fd);
    if (e != NULL) {
        if (e->now >= 0) {
            close(e->now);
        }
        pli_moor_forget(e->kept, e->cap);
        *e = pli_moor.all[--pli_moor.n];
    }
    close(fd);
    drop_guard();
}

bool pli_moor_has_untaken(void)
{
    return pli_moor.n_untaken > 0;
}

bool pli_moor_untaken(struct pli_caller *out)
{
    bool is_any = false;
    if (!pli_moor_has_untaken()) {
        return false;
    }
    take_guard();
    for (uint32_t i = 0; i < pli_moor.n && !is_any; i++) {
        struct pli_moored *e = &pli_moor.all[i];
        if (e->is_untaken) {
            e->is_untaken = false;
            pli_moor.n_untaken--;
            *out = e->who;
            is_any = true;
        }
    }
    drop_guard();
    return is_any;
}

bool pli_moor_is_moved(int fd)
{
    if (pli_moor.boot == NULL) {
        return false;
    }
    take_guard();
    const struct pli_moored *e = find(fd);
    bool is = e != NULL && e->now >= 0;
    drop_guard();
    return is;
}

int pli_moor_take(int fd, const char **kept_out, size_t *len_out, size_t *cap_out)
{
    int now = -1;
    if (pli_moor.boot == NULL) {
        return -1;
    }
    take_guard();
    struct pli_moored *e = find(fd);
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

void pli_moor_forget(const char *kept, size_t cap)
{
    if (kept != NULL) {
        munmap((char *)(uintptr_t)kept, cap);
    }
}
