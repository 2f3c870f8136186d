// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: what a stranger may send to a listener before it has proved anything: to mpiexec and
// its daemons, and to ranks. The first byte chooses.
#include "fuzz.h"

#include "boot/handshake_accept.h"
#include "launcher/hosts/daemon_handshake.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

const char *const fuzz_words[] = { "PLIT", "\x02\x01", NULL };

static void fuzz_daemon(const uint8_t *data, size_t len)
{
    static const struct pli_daemon_handshake_known known = { "a secret", "an id" };
    struct pli_daemon_handshake h = { 0 };
    struct pli_daemon_handshake_keys keys;
    memcpy(&h, data, len < sizeof h ? len : sizeof h);
    FUZZ_MUST(!pli_daemon_handshake_is_joined(&h, &known, &keys));
    FUZZ_MUST(!pli_daemon_handshake_join(&h, &known, &keys));
    FUZZ_MUST(!pli_daemon_handshake_reply(&h, &known));
}

static void fuzz_rank(const uint8_t *data, size_t len)
{
    static const unsigned char secret[PLI_HANDSHAKE_SECRET] = "a secret";
    int pair[2];
    FUZZ_MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    struct pli_handshake_accept s = { .fd = pair[0] };
    FUZZ_MUST(len == 0 || send(pair[1], data, len, MSG_NOSIGNAL) > 0);
    shutdown(pair[1], SHUT_WR);
    enum pli_err err = PLI_AGAIN;
    for (int i = 0; i < 8 && err == PLI_AGAIN; i++) {
        err = pli_handshake_accept_step(&s, secret);
    }
    FUZZ_MUST(err != PLI_OK); // none can guess what is to be proved
    close(pair[0]);
    close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len > 0) {
        (data[0] % 2 == 0 ? fuzz_daemon : fuzz_rank)(data + 1, len - 1);
    }
    return 0;
}
