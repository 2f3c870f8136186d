// SPDX-License-Identifier: BSD-3-Clause
// Two networks on this machine, far from each other, for bench/impi.py: each is a network namespace
// with a tun device, and every packet that goes from one to the other is held back for a while. So
// the system's own TCP sees the distance: its windows, its acknowledgements, its start.
//   impi_distance MS   prints the process ids of the two namespaces, 10.77.0.1 and 10.77.0.2, and
//                      runs until its input ends
#include "impi_tools.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    PACKET = 66 * 1024, // of 64 KiB at most, as the system hands them to a device that cuts them
    N_PACKET = 8192,    // that are under way
    QUEUE = 4096,       // that wait for us to take them
    BATCH = 64,         // taken from one side before the other has its turn
};

static void set_address(int s, struct ifreq *r, unsigned long what, const char *address)
{
    struct sockaddr_in a = { .sin_family = AF_INET };
    must(inet_pton(AF_INET, address, &a.sin_addr) == 1, address);
    memcpy(&r->ifr_addr, &a, sizeof a);
    must(ioctl(s, what, r) == 0, "address");
}

static void bring_up(int s, struct ifreq *r)
{
    must(ioctl(s, SIOCGIFFLAGS, r) == 0, "flags");
    r->ifr_flags |= IFF_UP;
    must(ioctl(s, SIOCSIFFLAGS, r) == 0, "up");
}

// A new network namespace for this process, with a device whose packets come to us.
static int open_network(const char *address)
{
    must(unshare(CLONE_NEWNET) == 0, "a network namespace");
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    struct ifreq r = { .ifr_name = "far", .ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR };
    must(fd >= 0 && ioctl(fd, TUNSETIFF, &r) == 0, "/dev/net/tun");
    must(ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) == 0, "offload"); // large packets
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    set_address(s, &r, SIOCSIFADDR, address);
    set_address(s, &r, SIOCSIFNETMASK, "255.255.255.0");
    r.ifr_qlen = QUEUE;
    must(ioctl(s, SIOCSIFTXQLEN, &r) == 0, "queue");
    bring_up(s, &r);
    struct ifreq lo = { .ifr_name = "lo" };
    bring_up(s, &lo);
    close(s);
    return fd;
}

struct way { // one direction: packets that wait for their time
    int from, to;
    struct packet {
        double due;
        size_t len;
        char *data;
    } packet[N_PACKET];
    unsigned first, n;
};

static void take(struct way *w, double delay)
{
    for (int i = 0; i < BATCH && w->n < N_PACKET; i++) {
        struct packet *k = &w->packet[(w->first + w->n) % N_PACKET];
        if (k->data == NULL) {
            k->data = malloc(PACKET);
            must(k->data != NULL, "memory");
        }
        ssize_t n = read(w->from, k->data, PACKET);
        if (n <= 0) {
            return;
        }
        k->len = (size_t)n;
        k->due = now() + delay;
        w->n++;
    }
}

static void give(struct way *w)
{
    while (w->n > 0 && w->packet[w->first].due <= now()) {
        const struct packet *k = &w->packet[w->first];
        if (write(w->to, k->data, k->len) < 0 && errno == EAGAIN) {
            return;
        }
        w->first = (w->first + 1) % N_PACKET;
        w->n--;
    }
}

// The packet that is due first; poll counts milliseconds, which is too coarse for it.
static void set_alarm(int timer, const struct way way[2])
{
    double due = 0;
    for (int i = 0; i < 2; i++) {
        double d = way[i].n > 0 ? way[i].packet[way[i].first].due : 0;
        due = d > 0 && (due == 0 || d < due) ? d : due;
    }
    struct itimerspec at = { .it_value = { (time_t)due,
                                           (long)((due - (double)(time_t)due) * 1e9) } };
    must(timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL) == 0, "timer");
}

static void carry(int a, int b, double delay)
{
    static struct way way[2];
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    way[0].from = way[1].to = a;
    way[1].from = way[0].to = b;
    for (;;) {
        struct pollfd w[4] = { { .fd = timer, .events = POLLIN }, { .fd = 0, .events = POLLIN } };
        for (int i = 0; i < 2; i++) {
            w[2 + i] =
                (struct pollfd){ .fd = way[i].n < N_PACKET ? way[i].from : -1, .events = POLLIN };
        }
        set_alarm(timer, way);
        (void)poll(w, 4, -1);
        if (w[1].revents != 0) {
            return;
        }
        for (int i = 0; i < 2; i++) {
            if (w[2 + i].revents != 0) {
                take(&way[i], delay);
            }
            give(&way[i]);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        return 2;
    }
    int a = open_network("10.77.0.1"), held[2];
    must(pipe(held) == 0, "pipe");
    pid_t first = fork(); // holds the first namespace
    if (first == 0) {
        char c;
        prctl(PR_SET_PDEATHSIG, SIGKILL); // a bench that is killed leaves nothing behind
        close(held[1]);
        return read(held[0], &c, 1) == 0 ? 0 : 1;
    }
    int b = open_network("10.77.0.2");
    printf("%d %d\n", (int)first, (int)getpid());
    fflush(stdout);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpriority(PRIO_PROCESS, 0, -20); // who computes beside us must not make the way longer
    carry(a, b, atof(argv[1]) / 1e3);
    return 0;
}
