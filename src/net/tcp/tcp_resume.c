// SPDX-License-Identifier: BSD-3-Clause
// After a checkpoint the connections of a process are other ones. The reader of each finds out when
// it reads, and goes on where it was: first with what was on its way.
#include "base/conf.h"
#include "net/tcp/dial.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

{
    struct pli_tcp_conn *l = s->link;
    const char *kept = NULL;
    size_t len = 0, cap = 0;
    if (pli_dial_tune(s->eye.fd, (int)pli_conf.tcp_timeout) != PLI_OK) {
        pli_fail_take(NULL); // what has ended for good is no connection
    }
    uint32_t events = s->rest != NULL ? 0 : s->is_armed ? EPOLLIN | EPOLLOUT : EPOLLIN;
    } else {
        s->eye.is_bare = is_bare;
        l->is_deaf = s == l->out ? false : l->is_deaf;
        pli_tcp_recv_feed(s, kept, len);
    }
    pli_sock_forget(kept, cap);
    pli_tcp_conn_push(l);
    return true;
}
