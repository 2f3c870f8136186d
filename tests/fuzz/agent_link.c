// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the frames between a process and the agent of its IMPI client.
#include "fuzz.h"

#include "agent/agent_link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

const char *const fuzz_words[] = { "\x48", "\xff\xff\xff\xff\xff\xff\xff\xff", NULL };

enum { MOST = 4096 };

// As the agent and the library: no more room than a message may have.
static void *room(void *arg, const struct pli_agent_frame *f)
{
    (void)arg;
    return f->len <= MOST ? malloc(f->len) : NULL;
}

static void more(void *arg, const struct pli_agent_frame *f, void *at, uint64_t got)
{
    (void)arg;
    FUZZ_MUST(at != NULL && got < f->len);
}

static void whole(void *arg, const struct pli_agent_frame *f, void *at)
{
    uint64_t *n = arg;
    FUZZ_MUST(f->type > 0 && f->type < PLI_AGENT_N_TYPE && (at != NULL) == (f->len > 0));
    *n += f->len;
    free(at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct pli_agent_link_ops ops = { room, more, whole };
    struct pli_agent_link *l;
    uint64_t n = 0;
    int pair[2];
    FUZZ_MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    FUZZ_MUST(pli_agent_link_create(pair[0], &ops, &n, &l) == PLI_IMPI_OK);
    enum pli_impi_err err = PLI_IMPI_OK;
    // In two parts, so that a frame can be cut anywhere.
    size_t part = len > 1 ? data[0] % len : len;
    for (int i = 0; i < 2 && (err == PLI_IMPI_OK || err == PLI_IMPI_AGAIN); i++) {
        size_t from = i == 0 ? 0 : part, n_part = i == 0 ? part : len - part;
        FUZZ_MUST(n_part == 0 || send(pair[1], data + from, n_part, MSG_NOSIGNAL) > 0);
        err = pli_agent_link_read(l);
    }
    FUZZ_MUST(n <= len);
    pli_agent_link_destroy(l);
    close(pair[1]);
    return 0;
}
