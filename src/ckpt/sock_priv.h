// SPDX-License-Identifier: BSD-3-Clause
// The table of connections, which sock.c keeps, sock_drain.c drains and sock_reconnect.c restores.
#ifndef PLI_CKPT_SOCK_PRIV_H
#define PLI_CKPT_SOCK_PRIV_H

#include "boot/boot.h"
#include "ckpt/sock_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pli_sock_kind {
    PLI_SOCK_DIALED, // not connected yet
    PLI_SOCK_CALLER, // this process connected
    PLI_SOCK_CALLEE
};

struct pli_sock_conn {
    struct pli_caller who; // the other end, with the descriptor
    enum pli_sock_kind kind;
    int now;         // the descriptor that replaces it, -1: none
    bool is_untaken; // accepted while the process was frozen, and no lane knows it yet
    bool is_marked;  // this process has written its mark
    bool is_read;    // read to its end
    bool is_over;    // the other end did not write a mark: it is closed for good
    bool is_pending; // the other end is on its way to another host, and is connected there later
    uint32_t n_mark; // bytes of it
    uint64_t id;
    char *kept;
    size_t len, cap;
};

// A descriptor in an epoll.
struct pli_sock_watch {
    int epoll, fd;
    uint32_t events;
    uint64_t data;
};

struct pli_sock {
    struct pli_boot *boot;     // NULL: never frozen
    struct pli_sock_conn *all; // mapped: it may grow in a signal handler
    uint32_t n;
    size_t cap;
    struct pli_sock_watch *watches;
    uint32_t n_watch;
    size_t cap_watch;
    uint32_t round;
    _Atomic uint32_t n_untaken;
};

extern struct pli_sock pli_sock;

// Room for n bytes at *at, of which *cap are there; false with errno. Async-signal-safe.
bool pli_sock_room(void *at, size_t *cap, size_t n);
// Async-signal-safe. NULL: no memory.
struct pli_sock_conn *pli_sock_add(const struct pli_caller *c, enum pli_sock_kind kind);

#endif
