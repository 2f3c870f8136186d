// SPDX-License-Identifier: BSD-3-Clause
// The wake socket of a mailbox: a datagram socket whose name and key are in the mailbox. A filter
// in the kernel drops every datagram that does not bear the key, so processes of other users, which
// can guess the name but cannot read the mailbox, neither wake its owner nor fill the socket.
#include "net/shm/wake_sock.h"

#include "base/log.h"
#include "net/shm/shm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static _Atomic int sender = -1; // the socket that this process sends from

// Load both words of the key, compare; a datagram that is too short ends in the first load.
static bool set_filter(int fd, uint64_t key)
{
    uint32_t word[2];
    memcpy(word, &key, sizeof word);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(word[0]), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof word[0]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(word[1]), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = { .len = sizeof code / sizeof code[0], .filter = code };
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

// Tell writers the name and the key.
static bool tell(struct pli_shm_mailbox *box, int fd, uint64_t key)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    socklen_t len = sizeof a;
    if (getsockname(fd, (struct sockaddr *)&a, &len) != 0) {
        return false;
    }
    size_t n = len - offsetof(struct sockaddr_un, sun_path);
    if (n > sizeof box->wake_name) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(box->wake_name, a.sun_path, n);
    box->n_wake_name = (uint32_t)n;
    box->wake_key = key;
    return true;
}

int pli_wake_sock_open(struct pli_shm *s)
{
    static _Atomic int has_said;
    struct sockaddr_un any = { .sun_family = AF_UNIX }; // the system chooses the name
    uint64_t key;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && getrandom(&key, sizeof key, 0) == (ssize_t)sizeof key) {
        if (!set_filter(fd, key) && atomic_exchange(&has_said, 1) == 0) {
            pli_log(PLI_WARN,
                    "shm: this system has no filters for sockets (%s); other users of "
                    "the host can wake sleeping ranks",
                    strerror(errno));
        }
        if (bind(fd, (struct sockaddr *)&any, sizeof any.sun_family) == 0 &&
            tell(s->box, fd, key)) {
            int none = -1;
            atomic_compare_exchange_strong(&sender, &none, fd);
            return fd;
        }
    }
    if (fd >= 0) {
        int error = errno;
        close(fd);
        errno = error;
    }
    return -1;
}

void pli_wake_sock_drop(int fd)
{
    atomic_compare_exchange_strong(&sender, &fd, -1);
}

// A process without a wake socket, such as an agent, sends from a socket made for it.
static int sender_fd(void)
{
    int fd = atomic_load_explicit(&sender, memory_order_relaxed), none = -1;
    if (fd >= 0) {
        return fd;
    }
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && !atomic_compare_exchange_strong(&sender, &none, fd)) {
        close(fd);
        fd = none;
    }
    return fd;
}

static bool send_wake(int fd, const struct sockaddr_un *to, size_t n_name, uint64_t key)
{
    return sendto(fd, &key, sizeof key, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)to,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n_name)) >= 0;
}

// A socket whose owner is gone needs no datagram, and neither does one that is full of them. But
// the kernel returns the same error when too many datagrams of this process lie unread in the
// sockets of others, which may be stopped. A socket that has sent nothing tells the two apart. When
// none can be made the datagram is lost, and the sleeper looks by itself after PLI_WAKE_SOCK_NS.
void pli_wake_sock_send(const struct pli_shm_mailbox *box)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    uint32_t n = box->n_wake_name;
    if (n > sizeof box->wake_name) {
        return;
    }
    memcpy(a.sun_path, box->wake_name, n);
    if (send_wake(sender_fd(), &a, n, box->wake_key) || (errno != EAGAIN && errno != ENOBUFS)) {
        return;
    }
    int fresh = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fresh >= 0) {
        send_wake(fresh, &a, n, box->wake_key);
        close(fresh);
    }
}
