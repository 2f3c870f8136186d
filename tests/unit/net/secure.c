// SPDX-License-Identifier: BSD-3-Clause
// Bytes go through a protected connection as they are, however they are cut; what another process
// on the way has changed, repeated or left out is never handed out.
#include "net/tcp/secure.h"
#include "base/crypto.h"
#include "boot/handshake.h"
#include "t.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ALL = 1 << 20 };

static const unsigned char ours[2][32] = { "one way", "the other way" },
                           theirs[2][32] = { "the other way", "one way" };
static int fds[2];
static struct pli_secure *a, *b;
static char sent[ALL], got[ALL];

static void begin(uint8_t level)
{
    T_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    T_EQ(pli_secure_create(level, ours, &a), PLI_OK);
    T_EQ(pli_secure_create(level, theirs, &b), PLI_OK);
}

static void end(void)
{
    pli_secure_destroy(a);
    pli_secure_destroy(b);
    close(fds[0]);
    close(fds[1]);
}

static unsigned seed = 1;
static size_t draw(size_t most)
{
    seed = seed * 1103515245u + 12345u;
    return 1 + (seed >> 8) % most;
}

// Much more than the sockets hold, in pieces of all sizes at both ends.
static void test_whole(uint8_t level)
{
    begin(level);
    size_t out = 0, in = 0, part = 0;
    for (size_t i = 0; i < ALL; i++) {
        sent[i] = (char)(i * 7 + (i >> 9));
    }
    while (in < ALL) {
        part = part == 0 && out < ALL ? draw(200000) : part; // the same again after EAGAIN
        part = part < ALL - out ? part : ALL - out;
        struct iovec to[2] = { { sent + out, part / 3 },
                               { sent + out + part / 3, part - part / 3 } };
        ssize_t n = part > 0 ? pli_secure_send(a, fds[0], to, 2) : 0;
        T_MUST(n >= 0 || errno == EAGAIN);
        out += n > 0 ? (size_t)n : 0;
        part = n >= 0 ? 0 : part;
        do {
            size_t room = draw(100000);
            room = room < ALL - in ? room : ALL - in;
            struct iovec from[2] = { { got + in, room / 2 },
                                     { got + in + room / 2, room - room / 2 } };
            n = pli_secure_receive(b, fds[1], room / 2 > 0 ? from : from + 1, room / 2 > 0 ? 2 : 1);
            T_MUST(n > 0 || errno == EAGAIN);
            in += n > 0 ? (size_t)n : 0;
        } while (in < ALL && pli_secure_has_more(b));
    }
    T_EQ(memcmp(sent, got, ALL), 0);
    close(fds[0]);
    fds[0] = dup(fds[1]);
    struct iovec one = { got, 1 };
    T_EQ(pli_secure_receive(b, fds[1], &one, 1), 0); // hung up
    end();
}

// What is on the wire for one message; how many bytes.
static size_t catch (char *wire, size_t cap, const char *text)
{
    struct iovec one = { (char *)(uintptr_t)text, strlen(text) };
    T_EQ(pli_secure_send(a, fds[0], &one, 1), (ssize_t)one.iov_len);
    ssize_t n = recv(fds[1], wire, cap, 0);
    T_MUST(n > 0);
    return (size_t)n;
}

static ssize_t hear(const char *wire, size_t len)
{
    struct iovec one = { got, sizeof got };
    T_EQ(send(fds[0], wire, len, 0), (ssize_t)len);
    return pli_secure_receive(b, fds[1], &one, 1);
}

static void test_altered(uint8_t level)
{
    char wire[256], bad[256];
    size_t len = 1;
    for (size_t i = 0; i < len; i++) {
        begin(level);
        len = catch (wire, sizeof wire, "a message that nobody else is to read");
        T_EQ(memmem(wire, len, "message", 7) != NULL, level == PLI_HANDSHAKE_AUTH);
        memcpy(bad, wire, len);
        bad[i] ^= 1;
        ssize_t n = hear(bad, len);
        T_OK(n < 0 && (errno == EBADMSG || errno == EAGAIN)); // a longer one is waited for
        end();
    }
    begin(level);
    len = catch (wire, sizeof wire, "first");
    T_EQ(hear(wire, len), 5);
    T_OK(hear(wire, len) < 0 && errno == EBADMSG); // once more
    end();
    begin(level);
    catch (wire, sizeof wire, "first");
    len = catch (wire, sizeof wire, "second");
    T_OK(hear(wire, len) < 0 && errno == EBADMSG); // without the first
    end();
}

// A checkpoint keeps what was on its way.
static void test_kept(uint8_t level)
{
    char wire[512];
    begin(level);
    size_t len = catch (wire, sizeof wire, "kept in part");
    struct iovec one = { got, sizeof got };
    T_OK(hear(wire, 10) < 0 && errno == EAGAIN);
    T_OK(pli_secure_feed(b, wire + 10, len - 10));
    T_OK(pli_secure_has_more(b));
    T_EQ(pli_secure_receive(b, fds[1], &one, 1), 12);
    T_EQ(memcmp(got, "kept in part", 12), 0);
    T_OK(!pli_secure_has_more(b));
    end();
}

int main(void)
{
    if (!pli_crypto_is_there()) {
        printf("skipped: there is no OpenSSL 3 here\n");
        return 77;
    }
    for (uint8_t level = PLI_HANDSHAKE_AUTH; level <= PLI_HANDSHAKE_ENCRYPT; level++) {
        test_whole(level);
        test_altered(level);
        test_kept(level);
    }
    return t_status();
}
