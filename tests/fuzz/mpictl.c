// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: what comes back from a socket that mpictl takes for an mpiexec.
#include "fuzz.h"

#include "tools/mpictl/ctl_request.h"
#include "tools/mpictl/mpictl.h"

#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

const char *const fuzz_words[] = { "; try again", "\x10", NULL };

_Noreturn void pli_mpictl_bad(const char *fmt, ...)
{
    (void)fmt;
    abort(); // not reached by an exchange over an open connection
}

// Of the rest of mpictl: no job is found.
bool pli_mpictl_map(long pid, struct pli_node *out)
{
    (void)pid;
    (void)out;
    return false;
}

double pli_mpictl_seconds(const struct pli_node *node)
{
    (void)node;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct pli_answer answer;
    int pair[2];
    FUZZ_MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    FUZZ_MUST(len == 0 || send(pair[1], data, len, MSG_NOSIGNAL) > 0);
    shutdown(pair[1], SHUT_WR);
    bool is_good = pli_ctl_request_exchange(pair[0], PLI_ASK_LOOK, "body", 4, &answer);
    FUZZ_MUST(is_good == (len >= sizeof answer));
    if (is_good) {
        FUZZ_MUST(memchr(answer.text, '\0', sizeof answer.text) != NULL);
    }
    close(pair[1]);
    return 0;
}
