// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: what a rank receives over TCP from a process that has proved to be of its job. This
// target plays the launcher and the other processes.
#include "fuzz.h"

#include "base/fdpass.h"
#include "boot/accept_wire.h"
#include "boot/node.h"
#include "msg/lane.h"
#include "msg/progress.h"
#include "net/tcp/frame_wire.h"

#include <mpi.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N_WORLD = 40000 };

const char *const fuzz_words[] = { "\x04", NULL };

static int accept_sock;

static void start_as_rank_0(void)
{
    struct pli_node node;
    const struct pli_node_plan plan = { .n_row = 1, .n_world = N_WORLD, .n_host = 2 };
    int fd, ctl[2], way[2];
    char text[100];
    FUZZ_MUST(pli_node_create_for(&plan, &node, &fd) == PLI_OK);
    for (uint32_t i = 1; i < N_WORLD; i++) {
        node.procs[i].host = 1;
    }
    node.header->net = PLI_NODE_HAS_NET;
    node.header->n_core = 1;
    FUZZ_MUST(pli_node_check(&node) == PLI_OK);
    FUZZ_MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ctl) == 0);
    FUZZ_MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, way) == 0);
    accept_sock = way[0];
    snprintf(text, sizeof text, "fd=%d,row=0,n=1,ctl=%d,accept=%d", fd, ctl[1], way[1]);
    setenv("PLIANT_BOOT", text, 1);
    setenv("PLIANT_UNEXPECTED_MAX", "100000", 1);
    setenv("PLIANT_LOG", "error", 1); // connections are lost by the thousand
    FUZZ_MUST(MPI_Init(NULL, NULL) == MPI_SUCCESS);
}

static void poll_it(void)
{
    for (int i = 0; i < 3; i++) {
        pli_progress_once(pli_proc.lanes[0]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint32_t next = 1;
    static int is_begun;
    int pair[2];
    if (!is_begun) {
        is_begun = 1;
        start_as_rank_0();
    }
    FUZZ_MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    struct pli_accept_msg msg = { .kind = PLI_ACCEPT_CALL, .proc = next };
    FUZZ_MUST(pli_fdpass_over(accept_sock, &msg, sizeof msg, &pair[0], 1, 0) > 0);
    close(pair[0]);
    poll_it();
    if (len > 0) {
        size_t part = data[0] % len; // frames may be cut anywhere
        ssize_t n = send(pair[1], data, part, MSG_NOSIGNAL | MSG_DONTWAIT);
        poll_it();
        n += send(pair[1], data + part, len - part, MSG_NOSIGNAL | MSG_DONTWAIT);
        poll_it();
        (void)n; // a connection that was closed is right too
    }
    close(pair[1]);
    poll_it();
    fuzz_is_used_up = ++next == N_WORLD;
    next = fuzz_is_used_up ? 1 : next;
    return 0;
}
