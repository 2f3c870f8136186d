// SPDX-License-Identifier: BSD-3-Clause
// Makes and checks the messages of the handshake.
// Messages carry user data as the machine has it in memory, so two machines of different byte order
// cannot be in one job anyway; the handshake finds that out, and all numbers on the wire are in the
// machine's order.
#include "boot/handshake.h"

#include "base/sha256.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

_Static_assert(sizeof(struct pli_handshake_keys) == 2 * 32, "as in struct pli_caller");
_Static_assert((int)PLI_HANDSHAKE_MAC == (int)PLI_SHA256_SIZE, "the hash in use");

static enum pli_err draw(unsigned char nonce[PLI_HANDSHAKE_NONCE])
{
    if (getrandom(nonce, PLI_HANDSHAKE_NONCE, 0) != PLI_HANDSHAKE_NONCE) {
        return pli_fail(PLI_ERR_OTHER, "no random numbers to be had: %s", strerror(errno));
    }
    return PLI_OK;
}

static enum pli_err check_head(uint32_t magic, uint16_t version, uint16_t order)
{
    if (magic == __builtin_bswap32(PLI_HANDSHAKE_MAGIC) ||
        order == __builtin_bswap16(PLI_HANDSHAKE_ORDER)) {
        return pli_fail(PLI_ERR_OTHER, "the machine at the other end has another byte order");
    }
    if (magic != PLI_HANDSHAKE_MAGIC || order != PLI_HANDSHAKE_ORDER) {
        return pli_fail(PLI_ERR_OTHER, "what answers there is not Pliant MPI");
    }
    if (version != PLI_HANDSHAKE_VERSION) {
        return pli_fail(PLI_ERR_OTHER,
                        "the other end speaks version %u of the network protocol, this one %d; use "
                        "one version of Pliant MPI on all hosts",
                        version, PLI_HANDSHAKE_VERSION);
    }
    return PLI_OK;
}

static void put_place(const struct sockaddr_storage *a, struct pli_handshake_place *out)
{
    *out = (struct pli_handshake_place){ .port = 0 };
    if (a->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)a;
        memcpy(out->address, &six->sin6_addr, sizeof out->address);
        out->port = six->sin6_port;
    } else if (a->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)a;
        out->address[10] = out->address[11] = 0xff;
        memcpy(out->address + 12, &four->sin_addr, 4);
        out->port = four->sin_port;
    }
}

void pli_handshake_place_called(int fd, struct pli_handshake_place *out)
{
    struct sockaddr_storage a = { .ss_family = AF_UNSPEC };
    socklen_t len = sizeof a;
    getpeername(fd, (struct sockaddr *)&a, &len);
    put_place(&a, out);
}

void pli_handshake_place_here(int fd, struct pli_handshake_place *out)
{
    struct sockaddr_storage a = { .ss_family = AF_UNSPEC };
    socklen_t len = sizeof a;
    getsockname(fd, (struct sockaddr *)&a, &len);
    put_place(&a, out);
}

// The keyed hash over the place, both numbers and what is said, for one of the two sides.
static void sign(const unsigned char secret[PLI_HANDSHAKE_SECRET], char side,
                 const struct pli_handshake_place *place, const struct pli_handshake_open *open,
                 const struct pli_handshake_reply *reply, const void *said, size_t len,
                 unsigned char mac[PLI_HANDSHAKE_MAC])
{
    unsigned char text[8 + 18 + 2 * PLI_HANDSHAKE_NONCE + 16] = "pliant ";
    size_t at = 8;
    text[7] = (unsigned char)side;
    memcpy(text + at, place->address, sizeof place->address);
    at += sizeof place->address;
    memcpy(text + at, &place->port, sizeof place->port);
    at += sizeof place->port;
    memcpy(text + at, open->nonce, PLI_HANDSHAKE_NONCE);
    at += PLI_HANDSHAKE_NONCE;
    memcpy(text + at, reply->nonce, PLI_HANDSHAKE_NONCE);
    at += PLI_HANDSHAKE_NONCE;
    memcpy(text + at, said, len);
    pli_sha256_mac(secret, PLI_HANDSHAKE_SECRET, text, at + len, mac);
}

// A job without a secret accepts no process.
static bool is_secret(const unsigned char secret[PLI_HANDSHAKE_SECRET])
{
    unsigned char any = 0;
    for (int i = 0; i < PLI_HANDSHAKE_SECRET; i++) {
        any |= secret[i];
    }
    return any != 0;
}

enum pli_err pli_handshake_open(struct pli_handshake_open *out)
{
    *out = (struct pli_handshake_open){
        PLI_HANDSHAKE_MAGIC, PLI_HANDSHAKE_VERSION, PLI_HANDSHAKE_ORDER, { 0 }
    };
    return draw(out->nonce);
}

enum pli_err pli_handshake_reply(const unsigned char secret[PLI_HANDSHAKE_SECRET],
                                 const struct pli_handshake_place *place,
                                 const struct pli_handshake_open *open,
                                 struct pli_handshake_reply *out)
{
    enum pli_err err = check_head(open->magic, open->version, open->order);
    if (err == PLI_OK && !is_secret(secret)) {
        err = pli_fail(PLI_ERR_OTHER, "this job has no secret, so no process can join it");
    }
    *out = (struct pli_handshake_reply){
        PLI_HANDSHAKE_MAGIC, PLI_HANDSHAKE_VERSION, PLI_HANDSHAKE_ORDER, { 0 }, { 0 }
    };
    if (err == PLI_OK) {
        err = draw(out->nonce);
    }
    if (err == PLI_OK) {
        sign(secret, 'L', place, open, out, "", 0, out->mac);
    }
    return err;
}

enum pli_err pli_handshake_check_reply(const unsigned char secret[PLI_HANDSHAKE_SECRET],
                                       const struct pli_handshake_place *place,
                                       const struct pli_handshake_open *open,
                                       const struct pli_handshake_reply *reply)
{
    unsigned char want[PLI_HANDSHAKE_MAC];
    enum pli_err err = check_head(reply->magic, reply->version, reply->order);
    if (err != PLI_OK) {
        return err;
    }
    sign(secret, 'L', place, open, reply, "", 0, want);
    if (!is_secret(secret) || !pli_sha256_is_equal(want, reply->mac)) {
        return pli_fail(PLI_ERR_OTHER,
                        "what answers there belongs to another job, or passes calls on to another "
                        "address");
    }
    return PLI_OK;
}

void pli_handshake_make_keys(const unsigned char secret[PLI_HANDSHAKE_SECRET],
                             const struct pli_handshake_open *open,
                             const struct pli_handshake_reply *reply,
                             const struct pli_handshake_join *join, bool is_caller,
                             struct pli_handshake_keys *out)
{
    static const struct pli_handshake_place proved; // by then
    sign(secret, 'c', &proved, open, reply, join, 16, is_caller ? out->send : out->receive);
    sign(secret, 'l', &proved, open, reply, join, 16, is_caller ? out->receive : out->send);
}

void pli_handshake_join(const unsigned char secret[PLI_HANDSHAKE_SECRET],
                        const struct pli_handshake_place *place,
                        const struct pli_handshake_open *open,
                        const struct pli_handshake_reply *reply, struct pli_handshake_join *join)
{
    sign(secret, 'C', place, open, reply, join, 16, join->mac);
}

bool pli_handshake_check_join(const unsigned char secret[PLI_HANDSHAKE_SECRET],
                              const struct pli_handshake_place *place,
                              const struct pli_handshake_open *open,
                              const struct pli_handshake_reply *reply,
                              const struct pli_handshake_join *join)
{
    unsigned char want[PLI_HANDSHAKE_MAC];
    sign(secret, 'C', place, open, reply, join, 16, want);
    return is_secret(secret) && pli_sha256_is_equal(want, join->mac);
}
