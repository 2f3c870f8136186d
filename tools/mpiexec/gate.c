// SPDX-License-Identifier: BSD-3-Clause
// Listening and calling, with a proof of the job's secret from both sides: whoever listens sends a
// random number, the caller one of its own with a keyed hash of both, and gets another in return.
#include "gate.h"

#include "base/clock.h"
#include "base/conf.h"
#include "base/sha256.h"
#include "boot/address.h"
#include "boot/listen.h"
#include "loop.h"
#include "say.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NONCE = 32, PROOF = 32, PATIENCE_MS = 5000, MAX_KNOCK = 1024, N_ADDR = PLI_NODE_N_ADDR + 1 };

static const char greeting[8] = "PLIANT\0\1";

struct opening { // from who listens
    char greeting[8];
    unsigned char nonce[NONCE];
};
struct answer { // from the caller
    uint32_t host;
    unsigned char nonce[NONCE], proof[PROOF];
};

// Somebody who has connected and proved nothing yet.
struct knock {
    struct pli_watch watch;
    struct pli_timer timer;
    struct knock *next;
    struct opening sent;
    struct answer got;
    size_t len;
};

static void gate_fire(struct pli_watch *w, uint32_t events);

static struct pli_watch gate = { .fd = -1, .fire = gate_fire };
static unsigned char key[PLI_GATE_SECRET];
static void (*on_came)(int fd, uint32_t host);
static struct knock *knocks;
static unsigned n_knock;
static struct pli_gate_place ours; // once it is open

// The keyed hash one side shows the other.
static void prove(const unsigned char *secret, const char *who, uint32_t host,
                  const unsigned char *theirs, const unsigned char *mine, unsigned char *out)
{
    unsigned char text[16 + 4 + 2 * NONCE] = { 0 };
    host = htole32(host);
    memcpy(text, who, strlen(who));
    memcpy(text + 16, &host, sizeof host);
    memcpy(text + 20, theirs, NONCE);
    memcpy(text + 20 + NONCE, mine, NONCE);
    pli_sha256_mac(secret, PLI_GATE_SECRET, text, sizeof text, out);
}

static void drop(struct knock *k)
{
    if (k->watch.fd >= 0) {
        pli_loop_close(&k->watch);
        n_knock--;
    }
}

static void too_slow(struct pli_timer *t)
{
    drop((struct knock *)((char *)t - offsetof(struct knock, timer)));
}

static void knock_fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    struct knock *k = (struct knock *)w; // its first member
    ssize_t n = recv(w->fd, (char *)&k->got + k->len, sizeof k->got - k->len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        drop(k);
        return;
    }
    k->len += (size_t)n;
    if (k->len < sizeof k->got) {
        return;
    }
    unsigned char proof[PROOF];
    uint32_t host = le32toh(k->got.host);
    prove(key, "daemon", host, k->sent.nonce, k->got.nonce, proof);
    if (!pli_sha256_is_equal(proof, k->got.proof)) {
        drop(k); // not one of ours
        return;
    }
    prove(key, "mpiexec", host, k->got.nonce, k->sent.nonce, proof);
    int fd = dup(w->fd);
    bool is_sent = fd >= 0 && send(fd, proof, PROOF, MSG_DONTWAIT | MSG_NOSIGNAL) == PROOF;
    drop(k);
    if (is_sent) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        on_came(fd, host);
    } else if (fd >= 0) {
        close(fd);
    }
}

// A slot that is free again is used again, for timers stay in their list for ever.
static struct knock *new_knock(void)
{
    for (struct knock *k = knocks; k != NULL; k = k->next) {
        if (k->watch.fd < 0) {
            return k;
        }
    }
    struct knock *k = calloc(1, sizeof *k);
    if (k != NULL) {
        k->watch.fd = -1;
        k->next = knocks;
        knocks = k;
    }
    return k;
}

static void gate_fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return;
    }
    struct knock *k = n_knock < MAX_KNOCK ? new_knock() : NULL;
    if (k == NULL) {
        close(fd);
        return;
    }
    k->watch = (struct pli_watch){ .fd = fd, .fire = knock_fire };
    k->len = 0;
    n_knock++;
    memcpy(k->sent.greeting, greeting, sizeof greeting);
    if (getrandom(k->sent.nonce, NONCE, 0) != NONCE ||
        send(fd, &k->sent, sizeof k->sent, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof k->sent) {
        drop(k);
        return;
    }
    k->timer.fire = too_slow;
    pli_loop_timer(&k->timer, (uint64_t)PATIENCE_MS * PLI_MS);
    pli_loop_watch(&k->watch, EPOLLIN);
}

// All addresses that others may use; then the loopback, for daemons on this host.
static bool list_addresses(struct pli_gate_place *place)
{
    uint16_t n = 0;
    pli_conf_load();
    if (pli_address_list(pli_conf.tcp_if, place->addr, &n) != PLI_OK) {
        pli_say("%s", pli_fail_take(NULL));
        return false;
    }
    place->addr[n] = pli_address_loopback();
    place->n_addr = n + 1u;
    return true;
}

bool pli_gate_open(const unsigned char *secret, void (*came)(int fd, uint32_t host),
                   struct pli_gate_place *out)
{
    if (gate.fd >= 0) {
        *out = ours;
        return true;
    }
    memcpy(key, secret, sizeof key);
    on_came = came;
    pli_conf_load();
    if (pli_listen_open(true, &gate.fd, &ours.port) != PLI_OK) {
        pli_say("%s", pli_fail_take(NULL));
        return false;
    }
    bool is_good = list_addresses(&ours) && pli_loop_watch(&gate, EPOLLIN);
    *out = ours;
    return is_good;
}

void pli_gate_close(void)
{
    pli_loop_close(&gate);
    for (struct knock *k = knocks; k != NULL; k = k->next) {
        drop(k);
    }
}

// Calling.

static bool move_all(int fd, bool is_send, void *data, size_t len, uint64_t until)
{
    for (size_t done = 0; done < len;) {
        uint64_t now = pli_clock_ns();
        struct pollfd p = { .fd = fd, .events = is_send ? POLLOUT : POLLIN };
        if (now >= until || poll(&p, 1, (int)((until - now) / PLI_MS) + 1) <= 0) {
            return false;
        }
        ssize_t n = is_send ? send(fd, (char *)data + done, len - done, MSG_NOSIGNAL)
                            : recv(fd, (char *)data + done, len - done, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

// Whether who listens there is of our job, and has been shown that we are.
static bool shake_hands(int fd, const unsigned char *secret, uint32_t host, uint64_t until)
{
    struct opening theirs;
    struct answer mine = { .host = htole32(host) };
    unsigned char proof[PROOF], want[PROOF];
    if (!move_all(fd, false, &theirs, sizeof theirs, until) ||
        memcmp(theirs.greeting, greeting, sizeof greeting) != 0 ||
        getrandom(mine.nonce, NONCE, 0) != NONCE) {
        return false;
    }
    prove(secret, "daemon", host, theirs.nonce, mine.nonce, mine.proof);
    prove(secret, "mpiexec", host, mine.nonce, theirs.nonce, want);
    return move_all(fd, true, &mine, sizeof mine, until) &&
           move_all(fd, false, proof, sizeof proof, until) && pli_sha256_is_equal(proof, want);
}

struct attempt {
    int fd;
    const char *what; // happened, NULL: nothing yet
};

static void begin(struct attempt *a, const struct pli_node_addr *addr, uint16_t port)
{
    struct sockaddr_storage to;
    socklen_t len = pli_address_fill(addr, port, &to);
    a->what = NULL;
    a->fd =
        socket(((struct sockaddr *)&to)->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (a->fd < 0 || (connect(a->fd, (struct sockaddr *)&to, len) != 0 && errno != EINPROGRESS)) {
        a->what = strerrordesc_np(errno);
    }
}

static void explain(const struct pli_gate_place *place, const struct attempt *tries, char *why,
                    size_t cap)
{
    size_t n = 0;
    for (uint32_t i = 0; i < place->n_addr && n < cap; i++) {
        char text[PLI_ADDRESS_TEXT];
        n += (size_t)snprintf(why + n, cap - n, "%s%s: %s", i > 0 ? "; " : "",
                              pli_address_text(&place->addr[i], place->port, text),
                              tries[i].what != NULL ? tries[i].what : "no answer in 5 s");
    }
}

int pli_gate_call(const struct pli_gate_place *place, const unsigned char *secret, uint32_t host,
                  char *why, size_t cap)
{
    struct attempt tries[N_ADDR] = { 0 };
    struct pollfd polls[N_ADDR];
    uint64_t until = pli_clock_ns() + (uint64_t)PATIENCE_MS * PLI_MS;
    int found = -1;
    for (uint32_t i = 0; i < place->n_addr; i++) {
        begin(&tries[i], &place->addr[i], place->port);
    }
    for (bool is_open = true; found < 0 && is_open && pli_clock_ns() < until;) {
        is_open = false;
        for (uint32_t i = 0; i < place->n_addr; i++) {
            polls[i] = (struct pollfd){ tries[i].what == NULL ? tries[i].fd : -1, POLLOUT, 0 };
            is_open |= polls[i].fd >= 0;
        }
        int n =
            is_open ? poll(polls, place->n_addr, (int)((until - pli_clock_ns()) / PLI_MS) + 1) : 0;
        for (uint32_t i = 0; n > 0 && i < place->n_addr && found < 0; i++) {
            int error = 0;
            socklen_t len = sizeof error;
            if (polls[i].revents == 0) {
                continue;
            }
            getsockopt(tries[i].fd, SOL_SOCKET, SO_ERROR, &error, &len);
            if (error != 0) {
                tries[i].what = strerrordesc_np(error);
            } else if (shake_hands(tries[i].fd, secret, host, until)) {
                found = tries[i].fd;
            } else {
                tries[i].what = "who listens there is not of this job";
            }
        }
    }
    for (uint32_t i = 0; i < place->n_addr; i++) {
        if (tries[i].fd >= 0 && tries[i].fd != found) {
            close(tries[i].fd);
        }
    }
    if (found < 0) {
        explain(place, tries, why, cap);
    }
    return found;
}

void pli_gate_pack(const struct pli_gate_place *place, struct pli_pack *to)
{
    pli_pack_u32(to, place->port);
    pli_pack_u32(to, place->n_addr);
    for (uint32_t i = 0; i < place->n_addr; i++) {
        pli_pack_u32(to, place->addr[i].family);
        pli_pack_bytes(to, place->addr[i].bytes, sizeof place->addr[i].bytes);
    }
}

void pli_gate_unpack(struct pli_gate_place *place, struct pli_unpack *from)
{
    *place = (struct pli_gate_place){ .port = (uint16_t)pli_unpack_u32(from) };
    uint32_t n = pli_unpack_count(from, 20);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t family = pli_unpack_u32(from);
        const void *bytes = pli_unpack_bytes(from, 16);
        if (bytes != NULL && place->n_addr < N_ADDR) {
            struct pli_node_addr *a = &place->addr[place->n_addr++];
            a->family = family == 6 ? 6 : 4;
            memcpy(a->bytes, bytes, 16);
        }
    }
}
