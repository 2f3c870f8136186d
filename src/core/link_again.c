// SPDX-License-Identifier: BSD-3-Clause
// After a checkpoint the connections of a process are other ones. The reader of each finds out when
// it reads, and goes on where it was: first with what was on its way.
#include "base/conf.h"
#include "base/fault.h"
#include "boot/boot.h"
#include "boot/moor.h"
#include "boot/park.h"
#include "core/link.h"
#include "net/tcp/dial.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

enum found { NOTHING, FAILED, FOUND };

// Put the new connection where the old one was. Meanwhile the process is held: the next checkpoint
// would give up the old descriptor alone, and the new one would stay open.
static enum found replace(struct pli_sock *s, const char **kept_out, size_t *len_out,
                          size_t *cap_out)
{
    enum found found = NOTHING;
    pli_park_hold();
    int now = pli_moor_take(s->eye.fd, kept_out, len_out, cap_out);
    if (now >= 0) {
        pli_netlane_unwatch(s->link->net, &s->eye); // what it is now has copies in other places
        found = dup3(now, s->eye.fd, O_CLOEXEC) >= 0 ? FOUND : FAILED;
        pli_fault_hold("link_again", pli_boot.index);
        close(now);
    }
    pli_park_let();
    return found;
}

bool pli_link_again(struct pli_sock *s)
{
    struct pli_link *l = s->link;
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
    if (found == FAILED || (!is_bare && !pli_netlane_watch(l->net, &s->eye, events))) {
        pli_link_lose(l, "the connection cannot be watched");
    } else {
        s->eye.is_bare = is_bare;
        l->is_deaf = s == l->out ? false : l->is_deaf;
        pli_intake_feed(s, kept, len);
    }
    pli_moor_forget(kept, cap);
    pli_link_push(l);
    return true;
}
