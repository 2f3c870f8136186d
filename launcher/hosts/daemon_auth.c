// SPDX-License-Identifier: BSD-3-Clause
// Listens for daemons. A caller that has not proved anything costs a descriptor, so there are
// limits: on how many have not sent a valid hello, for one source and for all, and on how long they
// take. A caller that has sent one is of the job, and is never dropped in favour of others.
#include "launcher/hosts/daemon_auth.h"

#include "launcher/base/launcher.h"
#include "launcher/base/accept.h"
#include "base/clock.h"
#include "base/conf.h"
#include "boot/address.h"
#include "boot/listen.h"
#include "launcher/base/loop.h"
#include "launcher/base/say.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SILENT_MS = 5000, // until the hello has come
    JOIN_MS = 20000,  // and then the join
    MAX_SILENT = 256, // callers without a valid hello
    MAX_SOURCE = 64,  // of one address
    AT_ONCE = 64,     // calls to take between two looks at other events
    TICK_MS = 500,    // how often it is looked at how long callers take
    N_ADDR = PLI_NODE_N_ADDR + 1
};

// A caller that has proved nothing yet.
struct pli_daemon_auth_caller {
    struct pli_watch watch;
    struct pli_daemon_auth_caller *next;
    uint64_t since;
    unsigned char source[16]; // its address, of IPv6 the network
    bool is_greeted;          // a valid hello has come, and the reply was sent
    struct pli_daemon_handshake h;
    size_t len; // bytes of the next message
};

static void listener_fire(struct pli_watch *w, uint32_t events);
static void tick(struct pli_timer *t);

static void drop(struct pli_daemon_auth_caller *k)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    if (k->watch.fd >= 0) {
        self->n_silent -= !k->is_greeted;
        pli_loop_close(&k->watch);
    }
}

static void tick(struct pli_timer *t)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    uint64_t now = pli_clock_ns();
    bool is_any = false;
    for (struct pli_daemon_auth_caller *k = self->callers; k != NULL; k = k->next) {
        uint64_t most = (uint64_t)(k->is_greeted ? JOIN_MS : SILENT_MS) * PLI_MS;
        if (k->watch.fd >= 0 && now - k->since > most) {
            drop(k);
        }
        is_any |= k->watch.fd >= 0;
    }
    if (is_any) {
        pli_loop_timer(t, (uint64_t)TICK_MS * PLI_MS);
    }
}

static unsigned count_source(const unsigned char *source)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    unsigned n = 0;
    for (const struct pli_daemon_auth_caller *k = self->callers; k != NULL; k = k->next) {
        n += k->watch.fd >= 0 && !k->is_greeted && memcmp(k->source, source, 16) == 0;
    }
    return n;
}

// Drop the oldest caller that has not sent a valid hello: of this source, or of the source that has
// the most. False: there is none.
static bool drop_oldest(const unsigned char *source)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    struct pli_daemon_auth_caller *oldest = NULL;
    unsigned most = 0;
    for (struct pli_daemon_auth_caller *k = self->callers; k != NULL; k = k->next) {
        if (k->watch.fd < 0 || k->is_greeted ||
            (source != NULL && memcmp(k->source, source, 16) != 0)) {
            continue;
        }
        bool is_same = oldest != NULL && memcmp(oldest->source, k->source, 16) == 0;
        unsigned n = source != NULL || is_same ? most : count_source(k->source);
        if (oldest == NULL || n > most || (n == most && k->since < oldest->since)) {
            oldest = k;
            most = n;
        }
    }
    if (oldest != NULL) {
        drop(oldest);
    }
    return oldest != NULL;
}

// An address that was called must be one of ours; the loopback is only that from this host. So a
// handshake that is passed on from elsewhere is known by where it was meant to go.
static bool is_ours(const struct pli_daemon_auth_caller *k)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    struct pli_node_addr a = { .family = k->h.hello.family }, here = { .family = 4 };
    memcpy(a.bytes, k->h.hello.address, sizeof a.bytes);
    bool is_listed = false;
    for (uint32_t i = 0; i < self->ours.n_addr; i++) {
        is_listed |= self->ours.addr[i].family == a.family &&
                     memcmp(self->ours.addr[i].bytes, a.bytes, sizeof a.bytes) == 0;
    }
    if (!is_listed || le16toh(k->h.hello.port) != self->ours.port ||
        getsockname(k->watch.fd, (struct sockaddr *)&at, &len) != 0) {
        return false;
    }
    struct pli_node_addr loop = pli_address_loopback();
    if (a.family != 4 || memcmp(a.bytes, loop.bytes, sizeof a.bytes) != 0) {
        return true;
    }
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&at;
    const unsigned char *bytes =
        at.ss_family == AF_INET6
            ? six->sin6_addr.s6_addr + 12
            : (const unsigned char *)&((const struct sockaddr_in *)&at)->sin_addr;
    memcpy(here.bytes, bytes, 4);
    return memcmp(here.bytes, loop.bytes, sizeof here.bytes) == 0;
}

// No other caller has sent the same hello, which may have been overheard.
static bool is_first(const struct pli_daemon_auth_caller *me)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    for (const struct pli_daemon_auth_caller *k = self->callers; k != NULL; k = k->next) {
        if (k != me && k->watch.fd >= 0 && k->is_greeted &&
            memcmp(k->h.hello.nonce, me->h.hello.nonce, PLI_DAEMON_HANDSHAKE_NONCE) == 0) {
            return false;
        }
    }
    return true;
}

static void let_in(struct pli_daemon_auth_caller *k)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    struct pli_daemon_handshake_keys keys;
    if (!pli_daemon_handshake_is_joined(&k->h, &self->known, &keys)) {
        drop(k);
        return;
    }
    self->on_came(pli_loop_release(&k->watch), le32toh(k->h.hello.host), &keys);
    explicit_bzero(&keys, sizeof keys);
}

// Read what has come. Exactly the bytes of the handshake: what follows is for the code that gets
// the connection.
static void handshake_fire(struct pli_watch *w, uint32_t events)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    (void)events;
    struct pli_daemon_auth_caller *k = (struct pli_daemon_auth_caller *)w; // its first member
    char *to = k->is_greeted ? (char *)&k->h.join : (char *)&k->h.hello;
    size_t size = k->is_greeted ? sizeof k->h.join : sizeof k->h.hello;
    ssize_t n = recv(w->fd, to + k->len, size - k->len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        drop(k);
        return;
    }
    k->len += (size_t)n;
    if (k->len < size) {
        return;
    }
    k->len = 0;
    if (k->is_greeted) {
        let_in(k);
    } else if (!pli_daemon_handshake_reply(&k->h, &self->known)) {
        const char no = PLI_DAEMON_AUTH_NO;
        ssize_t sent = send(w->fd, &no, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        (void)sent; // it has hung up itself
        drop(k);
    } else if (!is_ours(k) || !is_first(k) ||
               send(w->fd, &k->h.reply, sizeof k->h.reply, MSG_DONTWAIT | MSG_NOSIGNAL) !=
                   (ssize_t)sizeof k->h.reply) {
        drop(k);
    } else {
        k->is_greeted = true;
        k->since = pli_clock_ns();
        self->n_silent--;
    }
}

static struct pli_daemon_auth_caller *new_caller(void)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    struct pli_daemon_auth_caller *k = self->callers;
    while (k != NULL && k->watch.fd >= 0) {
        k = k->next;
    }
    if (k == NULL && (k = calloc(1, sizeof *k)) != NULL) {
        k->watch.fd = -1;
        k->next = self->callers;
        self->callers = k;
    }
    return k;
}

static void source_of(int fd, unsigned char out[16])
{
    struct sockaddr_storage a = { 0 };
    socklen_t len = sizeof a;
    memset(out, 0, 16);
    if (getpeername(fd, (struct sockaddr *)&a, &len) == 0 && a.ss_family == AF_INET6) {
        const struct in6_addr *six = &((struct sockaddr_in6 *)&a)->sin6_addr;
        memcpy(out, six, IN6_IS_ADDR_V4MAPPED(six) ? 16 : 8);
    } else if (a.ss_family == AF_INET) {
        memcpy(out, &((struct sockaddr_in *)&a)->sin_addr, 4);
    }
}

static void begin(int fd)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    unsigned char source[16];
    source_of(fd, source);
    if (count_source(source) >= MAX_SOURCE) {
        drop_oldest(source);
    } else if (self->n_silent >= MAX_SILENT) {
        drop_oldest(NULL);
    }
    struct pli_daemon_auth_caller *k = new_caller();
    if (k == NULL) {
        close(fd);
        return;
    }
    k->watch = (struct pli_watch){ .fd = fd, .fire = handshake_fire };
    memcpy(k->source, source, sizeof source);
    k->since = pli_clock_ns();
    k->is_greeted = false;
    k->len = 0;
    self->n_silent++;
    if (self->timer.at == 0) {
        pli_loop_timer(&self->timer, (uint64_t)TICK_MS * PLI_MS);
    }
    pli_loop_watch(&k->watch, EPOLLIN);
    handshake_fire(&k->watch, EPOLLIN); // a caller of ours speaks at once, and often has by now
}

static void listener_fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    for (int i = 0; i < AT_ONCE; i++) {
        int fd = pli_accept_one(w);
        if (fd < 0) {
            if (pli_loop_events(w) == 0 &&
                drop_oldest(NULL)) { // for want of a descriptor: there is one again
                pli_loop_watch(w, EPOLLIN);
            }
            return;
        }
        begin(fd);
    }
}

// All addresses that others may use; then the loopback, for daemons on this host.
static bool list_addresses(struct pli_daemon_addr *place)
{
    uint16_t n = 0;
    pli_conf_load();
    if (pli_address_list(pli_conf.tcp_if, place->addr, &n) != PLI_OK) {
        pli_say("%s", pli_fail_take(NULL));
        return false;
    }
    place->addr[n] = pli_address_loopback();
    place->n_addr = n + 1u;
    place->stack = pli_address_stack();
    return true;
}

bool pli_daemon_auth_open(const unsigned char *secret, pli_daemon_auth_came_fn came,
                          struct pli_daemon_addr *out)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    if (self->listener.fd >= 0) {
        *out = self->ours;
        return true;
    }
    self->on_came = came;
    memcpy(self->known.secret, secret, sizeof self->known.secret);
    if (getrandom(self->known.id, sizeof self->known.id, 0) != (ssize_t)sizeof self->known.id) {
        pli_say("this system gives no random numbers, without which no other host can be trusted");
        return false;
    }
    memcpy(self->ours.id, self->known.id, sizeof self->ours.id);
    pli_conf_load();
    if (pli_listen_open(true, &self->listener.fd, &self->ours.port) != PLI_OK) {
        pli_say("%s", pli_fail_take(NULL));
        return false;
    }
    bool is_good = list_addresses(&self->ours) && pli_loop_watch(&self->listener, EPOLLIN);
    *out = self->ours;
    return is_good;
}

void pli_daemon_auth_close(void)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    pli_loop_close(&self->listener);
    for (struct pli_daemon_auth_caller *k = self->callers; k != NULL; k = k->next) {
        drop(k);
    }
}

bool pli_daemon_auth_inherit(pli_daemon_auth_came_fn came)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    self->on_came = came;
    self->callers = NULL; // their connections were not kept
    self->n_silent = 0;
    self->timer = (struct pli_timer){ .fire = tick };
    self->listener.key = 0;
    return pli_loop_watch(&self->listener, EPOLLIN);
}

void pli_daemon_auth_init(void)
{
    struct pli_daemon_auth_state *self = pli_launcher.daemon_auth;
    self->listener = (struct pli_watch){ .fd = -1, .fire = listener_fire };
    self->timer.fire = tick;
}
