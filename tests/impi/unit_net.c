// SPDX-License-Identifier: BSD-3-Clause
// The socket layer in one process: several hosts over loopback whose system calls are wrapped to
// move few bytes at a time, to be interrupted, or to fail - the first, then the second, and so on.
#include "engine/impi_net.h"
#include "t_node.h"
#include <dirent.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

ssize_t __real_readv(int fd, const struct iovec *iov, int n);
ssize_t __real_sendmsg(int fd, const struct msghdr *msg, int flags);
int __real_socket(int domain, int type, int protocol);
int __real_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __real_listen(int fd, int n);
int __real_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int __real_connect(int fd, const struct sockaddr *addr, socklen_t len);
int __real_epoll_create1(int flags);
int __real_epoll_ctl(int ep, int op, int fd, struct epoll_event *ev);
ssize_t __wrap_readv(int fd, const struct iovec *iov, int n);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_listen(int fd, int n);
int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_epoll_create1(int flags);
int __wrap_epoll_ctl(int ep, int op, int fd, struct epoll_event *ev);

static bool is_short;     // few bytes at a time
static long n_until_fail; // 0: never

static bool fails(int err)
{
    if (n_until_fail > 0 && --n_until_fail == 0) {
        errno = err;
        return true;
    }
    return false;
}

// Now and then nothing moves; else as much as the first piece, cut short, has.
static bool shorten(struct iovec *out, const struct iovec *iov)
{
    static const int why[] = { EINTR, EAGAIN };
    if (rand() % 8 == 0) {
        errno = why[rand() % 2];
        return false;
    }
    size_t max = 1 + (size_t)rand() % 1500;
    *out = (struct iovec){ iov->iov_base, iov->iov_len < max ? iov->iov_len : max };
    return true;
}

ssize_t __wrap_readv(int fd, const struct iovec *iov, int n)
{
    struct iovec one;
    if (fails(ECONNRESET)) {
        return -1;
    }
    if (!is_short) {
        return __real_readv(fd, iov, n);
    }
    return shorten(&one, iov) ? __real_readv(fd, &one, 1) : -1;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
    struct iovec one;
    if (fails(EPIPE)) {
        return -1;
    }
    if (!is_short) {
        return __real_sendmsg(fd, msg, flags);
    }
    struct msghdr less = { .msg_iov = &one, .msg_iovlen = 1 };
    return shorten(&one, msg->msg_iov) ? __real_sendmsg(fd, &less, flags) : -1;
}

int __wrap_socket(int domain, int type, int protocol)
{
    return fails(EMFILE) ? -1 : __real_socket(domain, type, protocol);
}

int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
    return fails(EADDRINUSE) ? -1 : __real_bind(fd, addr, len);
}

int __wrap_listen(int fd, int n)
{
    return fails(EADDRINUSE) ? -1 : __real_listen(fd, n);
}

int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
    return fails(EMFILE) ? -1 : __real_accept4(fd, addr, len, flags);
}

int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    return fails(ENETUNREACH) ? -1 : __real_connect(fd, addr, len);
}

int __wrap_epoll_create1(int flags)
{
    return fails(EMFILE) ? -1 : __real_epoll_create1(flags);
}

int __wrap_epoll_ctl(int ep, int op, int fd, struct epoll_event *ev)
{
    return fails(ENOSPC) ? -1 : __real_epoll_ctl(ep, op, fd, ev);
}

enum { MAX_NET = 6 };

struct crew {
    uint32_t n;
    struct t_shape shape;
    uint32_t n_links; // connections between two hosts; 0: as hosts that know of one only
    struct pli_impi_job *job;
    struct pli_impi_net *net[MAX_NET];
    struct t_node node[MAX_NET];
};

static bool muster(struct crew *c)
{
    c->n = c->shape.n_client * c->shape.n_host;
    c->job = t_job(&c->shape);
    c->job->features = c->n_links > 0 ? PLI_IMPI_HAS_TOKEN | PLI_IMPI_HAS_LINKS : 0;
    for (uint32_t h = 0; h < c->n; h++) {
        c->node[h] = (struct t_node){ .job = c->job, .is_auto = true, .cancel_answer = 1 };
        struct pli_impi_net_conf conf = { .bind = "127.0.0.1",
                                          .timeout_s = 5,
                                          .n_links = c->n_links,
                                          .ops = &t_ops,
                                          .arg = &c->node[h],
                                          .log = { t_log, &c->node[h] } };
        if (pli_impi_net_create(&conf, &c->net[h]) != PLI_IMPI_OK) {
            return false;
        }
        c->job->host[h].h.port = pli_impi_net_port(c->net[h]);
    }
    bool ok = true;
    for (uint32_t h = 0; h < c->n && ok; h++) {
        ok = pli_impi_net_join(c->net[h], c->job, h) == PLI_IMPI_OK;
        c->node[h].e = pli_impi_net_engine(c->net[h]);
    }
    return ok;
}

static void disband(struct crew *c)
{
    for (uint32_t h = 0; h < c->n; h++) {
        pli_impi_net_destroy(c->net[h]);
        t_forget(&c->node[h]);
    }
    pli_impi_job_destroy(c->job);
}

// Poll everybody until all have reached `want`; false: one has failed.
static bool reach(struct crew *c, enum pli_impi_net_state want)
{
    for (bool all = false; !all;) {
        all = true;
        for (uint32_t h = 0; h < c->n; h++) {
            if (pli_impi_net_poll(c->net[h], 0) != PLI_IMPI_OK) {
                return false;
            }
            all = all && pli_impi_net_state(c->net[h]) >= want;
        }
    }
    return true;
}

// All processes of different clients exchange `n_msg` messages of up to `max_len` bytes.
static bool voyage(struct crew *c, int n_msg, size_t max_len)
{
    static unsigned char data[300000];
    if (!muster(c) || !reach(c, PLI_IMPI_NET_RUN)) {
        return false;
    }
    uint32_t n_proc = c->job->n_proc;
    int n_sent = 0;
    for (uint32_t h = 0; h < c->shape.n_host; h++) { // of the first client, to the last host
        T_EQ(c->n_links > 0 ? c->n_links : 1, pli_impi_net_links(c->net[h], c->n - 1));
    }
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)(i * 7 + (i >> 9));
    }
    for (int i = 0; i < n_msg; i++) {
        uint32_t s = (uint32_t)rand() % n_proc, d = (uint32_t)rand() % n_proc;
        uint32_t hs = c->job->proc[s].host, hd = c->job->proc[d].host;
        if (c->job->host[hs].client == c->job->host[hd].client) {
            continue;
        }
        t_send(&c->node[hs], s, d, i, data + i % 100, (size_t)rand() % (max_len + 1), i % 3 == 0);
        n_sent++;
    }
    int n_got = 0;
    while (n_got < n_sent) {
        n_got = 0;
        if (!reach(c, PLI_IMPI_NET_RUN)) {
            return false;
        }
        for (uint32_t h = 0; h < c->n; h++) {
            for (struct t_msg *m = c->node[h].head; m != NULL; m = m->next) {
                n_got += m->has_all;
            }
        }
    }
    for (uint32_t h = 0; h < c->n; h++) {
        for (struct t_msg *m = c->node[h].head; m != NULL; m = m->next) {
            T_TRUE(memcmp(m->data, data + m->a.env.tag % 100, m->a.msglen) == 0);
        }
        T_EQ(PLI_IMPI_OK, pli_impi_net_finish(c->net[h]));
    }
    if (!reach(c, PLI_IMPI_NET_QUIET)) {
        return false;
    }
    for (uint32_t h = 0; h < c->n; h++) {
        T_EQ(PLI_IMPI_OK, pli_impi_net_bye(c->net[h]));
        T_EQ(PLI_IMPI_NET_DONE, pli_impi_net_state(c->net[h]));
    }
    return true;
}

static int n_open_fd(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    T_TRUE(d != NULL);
    while (readdir(d) != NULL) {
        n++;
    }
    closedir(d);
    return n;
}

// Each system call fails once; a failure is told, or was one that can be got over.
static void fail_each(uint32_t n_links, int n_fd)
{
    int n_failed = 0, n_survived = 0;
    for (long i = 1;; i++) {
        struct crew c = { .shape = { 2, 1, 1, 100, 2, 4 }, .n_links = n_links };
        n_until_fail = i;
        bool ok = voyage(&c, 10, 300);
        bool has_come = n_until_fail == 0;
        n_until_fail = 0;
        disband(&c);
        T_EQ(n_fd, n_open_fd());
        if (!has_come) {
            T_TRUE(ok);
            break;
        }
        n_failed += !ok;
        n_survived += ok;
    }
    printf("%u links: %d failures ended the job, %d did not\n", n_links, n_failed, n_survived);
    T_TRUE(n_failed > 10);
}

int main(void)
{
    srand(3);
    int before = n_open_fd();
    // large volumes through small portions: 2 clients, then 3 clients of 2 hosts
    struct crew big = { .shape = { 2, 1, 2, 4096, 3, 7 } };
    is_short = true;
    T_TRUE(voyage(&big, 300, 100000));
    disband(&big);
    struct crew mesh = { .shape = { 3, 2, 2, 500, 1, 2 } };
    T_TRUE(voyage(&mesh, 1000, 2000));
    disband(&mesh);
    // over several connections, whose stripes are longer and shorter than messages
    struct crew striped = { .shape = { 2, 1, 2, 4096, 3, 7 }, .n_links = 3 };
    T_TRUE(voyage(&striped, 300, 100000));
    disband(&striped);
    struct crew wide = { .shape = { 3, 2, 1, 500, 1, 2 }, .n_links = PLI_IMPI_MAX_LINKS };
    T_TRUE(voyage(&wide, 1000, 2000));
    disband(&wide);
    is_short = false;
    struct crew fast = { .shape = { 2, 1, 1, 65536, 64, 1024 } };
    T_TRUE(voyage(&fast, 400, 290000));
    disband(&fast);
    struct crew fast_striped = { .shape = { 2, 1, 1, 65536, 64, 1024 }, .n_links = 2 };
    T_TRUE(voyage(&fast_striped, 400, 290000));
    disband(&fast_striped);
    T_EQ(before, n_open_fd());

    fail_each(0, before);
    fail_each(3, before);
    return 0;
}
