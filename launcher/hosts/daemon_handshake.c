// SPDX-License-Identifier: BSD-3-Clause
// Makes and checks the messages of the handshake: HMAC-SHA256 under the secret of the job, over a
// label of the message and all messages so far.
#include "launcher/hosts/daemon_handshake.h"

#include "base/sha256.h"

#include <endian.h>
#include <string.h>
#include <sys/random.h>

_Static_assert((int)PLI_DAEMON_HANDSHAKE_MAC == (int)PLI_SHA256_SIZE, "the hash in use");
_Static_assert((int)PLI_PROTECT_KEY == (int)PLI_SHA256_SIZE, "a key is a hash");

enum {
    HELLO_LEN = sizeof(struct pli_daemon_handshake_hello) - PLI_DAEMON_HANDSHAKE_MAC,
    REPLY_LEN = sizeof(struct pli_daemon_handshake_reply) - PLI_DAEMON_HANDSHAKE_MAC
};

static const char magic[9] = PLI_DAEMON_HANDSHAKE_MAGIC;

// The label keeps hashes of one purpose from being used for another; all labels have one length.
static void sign(const struct pli_daemon_handshake_known *k, const char *word,
                 const struct pli_daemon_handshake *h, size_t reply_len, unsigned char *out)
{
    char padded[32] = "pliant control: ";
    strncat(padded, word, sizeof padded - strlen(padded) - 1);
    const struct pli_sha256_part parts[] = { { padded, sizeof padded },
                                             { k->id, sizeof k->id },
                                             { &h->hello, HELLO_LEN },
                                             { &h->reply, reply_len } };
    pli_sha256_mac_parts(k->secret, sizeof k->secret, parts, 4, out);
}

static bool is_signed(const struct pli_daemon_handshake_known *k, const char *word,
                      const struct pli_daemon_handshake *h, size_t reply_len,
                      const unsigned char *mac)
{
    unsigned char want[PLI_SHA256_SIZE];
    sign(k, word, h, reply_len, want);
    return pli_sha256_is_equal(want, mac);
}

static void make_keys(const struct pli_daemon_handshake *h,
                      const struct pli_daemon_handshake_known *k, bool is_caller,
                      struct pli_daemon_handshake_keys *out)
{
    out->suite = (enum pli_protect_suite)le32toh(h->reply.suite);
    sign(k, "key up", h, REPLY_LEN, is_caller ? out->send : out->receive);
    sign(k, "key down", h, REPLY_LEN, is_caller ? out->receive : out->send);
}

bool pli_daemon_handshake_call(struct pli_daemon_handshake *h,
                               const struct pli_daemon_handshake_known *k, uint32_t host,
                               const struct pli_node_addr *to, uint16_t port)
{
    h->hello = (struct pli_daemon_handshake_hello){ .host = htole32(host),
                                                    .suites = htole32(pli_protect_suites()),
                                                    .port = htole16(port),
                                                    .family = (uint8_t)to->family };
    memcpy(h->hello.magic, magic, sizeof h->hello.magic);
    memcpy(h->hello.address, to->bytes, sizeof h->hello.address);
    if (getrandom(h->hello.nonce, PLI_DAEMON_HANDSHAKE_NONCE, 0) != PLI_DAEMON_HANDSHAKE_NONCE) {
        return false;
    }
    sign(k, "hello", h, 0, h->hello.mac);
    return true;
}

bool pli_daemon_handshake_reply(struct pli_daemon_handshake *h,
                                const struct pli_daemon_handshake_known *k)
{
    uint32_t suite = pli_protect_choose(pli_protect_suites(), le32toh(h->hello.suites));
    if (memcmp(h->hello.magic, magic, sizeof h->hello.magic) != 0 || suite == PLI_PROTECT_NONE ||
        !is_signed(k, "hello", h, 0, h->hello.mac)) {
        return false;
    }
    h->reply = (struct pli_daemon_handshake_reply){ .suite = htole32(suite) };
    memcpy(h->reply.magic, magic, sizeof h->reply.magic);
    if (getrandom(h->reply.nonce, PLI_DAEMON_HANDSHAKE_NONCE, 0) != PLI_DAEMON_HANDSHAKE_NONCE) {
        return false;
    }
    sign(k, "reply", h, REPLY_LEN, h->reply.mac);
    return true;
}

bool pli_daemon_handshake_join(struct pli_daemon_handshake *h,
                               const struct pli_daemon_handshake_known *k,
                               struct pli_daemon_handshake_keys *keys_out)
{
    uint32_t suite = le32toh(h->reply.suite);
    if (memcmp(h->reply.magic, magic, sizeof h->reply.magic) != 0 ||
        !is_signed(k, "reply", h, REPLY_LEN, h->reply.mac) ||
        (suite != PLI_PROTECT_HMAC && suite != PLI_PROTECT_GCM) ||
        (suite & pli_protect_suites()) == 0) {
        return false;
    }
    sign(k, "join", h, REPLY_LEN, h->join.mac);
    make_keys(h, k, true, keys_out);
    return true;
}

bool pli_daemon_handshake_is_joined(const struct pli_daemon_handshake *h,
                                    const struct pli_daemon_handshake_known *k,
                                    struct pli_daemon_handshake_keys *keys_out)
{
    if (!is_signed(k, "join", h, REPLY_LEN, h->join.mac)) {
        return false;
    }
    make_keys(h, k, false, keys_out);
    return true;
}
