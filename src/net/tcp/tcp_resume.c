// SPDX-License-Identifier: BSD-3-Clause
// After a checkpoint the connections of a process are other ones. The reader of each finds out when
// it reads, and goes on where it was: first with what was on its way.
#include "base/conf.h"
#include "base/fault.h"
#include "boot/boot.h"
#include "ckpt/sock.h"
#include "ckpt/freeze_hold.h"
#include "net/tcp/tcp_conn.h"
#include "net/tcp/dial.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

enum found { NOTHING, FAILED, FOUND };

// Put the new connection where the old one was. Meanwhile the process is held: the next checkpoint
// would give up the old descriptor alone, and the new one would stay open.
static enum found replace(struct pli_tcp_sock *s, const char **kept_out, size_t *len_out,
                          size_t *cap_out)
{
    enum found found = NOTHING;
    pli_freeze_hold();
    int now = pli_sock_take(s->eye.fd, kept_out, len_out, cap_out);
    if (now >= 0) {
        pli_tcp_lane_unwatch(s->link->net, &s->eye); // what it is now has copies in other places
        found = dup3(now, s->eye.fd, O_CLOEXEC) >= 0 ? FOUND : FAILED;
        pli_fault_hold("tcp_resume", pli_boot.index);
        close(now);
    }
    pli_freeze_let();
    return found;
}

bool pli_tcp_resume(struct pli_tcp_sock *s)
{
    struct pli_tcp_conn *l = s->link;
    const char *kept = NULL;
    size_t len = 0, cap = 0;
    bool is_bare = s->eye.is_bare;
    enum found found = replace(s, &kept, &len, &cap);
    if (found == NOTHING) {
        return false;
    }
    if (pli_dial_tune(s->eye.fd, (int)pli_conf.tcp_timeout) != PLI_OK) {
        pli_fail_take(NULL); // what has ended for good is no connection
    }
    uint32_t events = s->rest != NULL ? 0 : s->is_armed ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (found == FAILED || (!is_bare && !pli_tcp_lane_watch(l->net, &s->eye, events))) {
        pli_tcp_conn_lose(l, "the connection cannot be watched");
    } else {
        s->eye.is_bare = is_bare;
        l->is_deaf = s == l->out ? false : l->is_deaf;
        pli_tcp_recv_feed(s, kept, len);
    }
    pli_sock_forget(kept, cap);
    pli_tcp_conn_push(l);
    return true;
}
