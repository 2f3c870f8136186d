// SPDX-License-Identifier: BSD-3-Clause
// A handshake between two processes that know the secret succeeds; every single bit that is changed
// on the way, another secret, no secret, another address, an old recording, another version or byte
// order make it fail.
#include "boot/handshake.h"

#include "t.h"

static const unsigned char secret[PLI_HANDSHAKE_SECRET] = "thirty-two bytes of some secret";
static const unsigned char other[PLI_HANDSHAKE_SECRET] = "thirty-two bytes of other secret";
static const unsigned char none[PLI_HANDSHAKE_SECRET] = { 0 };

static const struct pli_handshake_place place = { "an address", 4000 };

static struct pli_handshake_open open_it;
static struct pli_handshake_reply reply;
static struct pli_handshake_join join;

static void good(void)
{
    T_EQ(pli_handshake_open(&open_it), PLI_OK);
    T_EQ(pli_handshake_reply(secret, &place, &open_it, &reply), PLI_OK);
    T_EQ(pli_handshake_check_reply(secret, &place, &open_it, &reply), PLI_OK);
    join = (struct pli_handshake_join){ .from = 3, .to = 70000, .lane = 1, .to_lane = 7 };
    pli_handshake_join(secret, &place, &open_it, &reply, &join);
    T_OK(pli_handshake_check_join(secret, &place, &open_it, &reply, &join));
}

static void keys(void)
{
    struct pli_handshake_keys a, b, c;
    pli_handshake_make_keys(secret, &open_it, &reply, &join, true, &a);
    pli_handshake_make_keys(secret, &open_it, &reply, &join, false, &b);
    T_EQ(memcmp(a.send, b.receive, sizeof a.send), 0);
    T_EQ(memcmp(a.receive, b.send, sizeof a.send), 0);
    T_OK(memcmp(a.send, a.receive, sizeof a.send) != 0);
    T_OK(memcmp(a.send, join.mac, sizeof a.send) != 0 && memcmp(a.send, reply.mac, 32) != 0);
    struct pli_handshake_join changed = join;
    changed.protect = PLI_HANDSHAKE_ENCRYPT;
    pli_handshake_make_keys(secret, &open_it, &reply, &changed, true, &c);
    T_OK(memcmp(a.send, c.send, sizeof a.send) != 0);
}

static void flipped(void)
{
    for (size_t bit = 0; bit < 8 * sizeof reply; bit++) {
        struct pli_handshake_reply bad = reply;
        ((unsigned char *)&bad)[bit / 8] ^= (unsigned char)(1 << bit % 8);
        T_OK(pli_handshake_check_reply(secret, &place, &open_it, &bad) != PLI_OK);
    }
    for (size_t bit = 0; bit < 8 * sizeof join; bit++) {
        struct pli_handshake_join bad = join;
        ((unsigned char *)&bad)[bit / 8] ^= (unsigned char)(1 << bit % 8);
        T_OK(!pli_handshake_check_join(secret, &place, &open_it, &reply, &bad));
    }
}

static void strangers(void)
{
    T_OK(pli_handshake_check_reply(other, &place, &open_it, &reply) != PLI_OK);
    T_HAS(pli_fail_take(NULL), "another job");
    T_OK(!pli_handshake_check_join(other, &place, &open_it, &reply, &join));
    struct pli_handshake_reply out;
    T_OK(pli_handshake_reply(none, &place, &open_it, &out) != PLI_OK);
    T_OK(!pli_handshake_check_join(none, &place, &open_it, &reply, &join));
    // What was said in one conversation is worth nothing in the next.
    struct pli_handshake_reply again;
    T_EQ(pli_handshake_reply(secret, &place, &open_it, &again), PLI_OK);
    T_OK(!pli_handshake_check_join(secret, &place, &open_it, &again, &join));
    // Nor is the listener's own hash good as a caller's.
    memcpy(join.mac, reply.mac, sizeof join.mac);
    T_OK(!pli_handshake_check_join(secret, &place, &open_it, &reply, &join));
}

// Who passes all on has been called at another address, or at another port, than the listener.
static void passed_on(void)
{
    struct pli_handshake_place elsewhere = place;
    elsewhere.address[15] ^= 1;
    T_OK(pli_handshake_check_reply(secret, &elsewhere, &open_it, &reply) != PLI_OK);
    T_HAS(pli_fail_take(NULL), "passes calls on");
    T_OK(!pli_handshake_check_join(secret, &elsewhere, &open_it, &reply, &join));
    elsewhere = place;
    elsewhere.port++;
    T_OK(pli_handshake_check_reply(secret, &elsewhere, &open_it, &reply) != PLI_OK);
    T_OK(!pli_handshake_check_join(secret, &elsewhere, &open_it, &reply, &join));
}

static void heads(void)
{
    struct pli_handshake_open bad = open_it;
    bad.version++;
    T_OK(pli_handshake_reply(secret, &place, &bad, &reply) != PLI_OK);
    T_HAS(pli_fail_take(NULL), "version");
    bad = open_it;
    bad.magic = __builtin_bswap32(bad.magic);
    bad.order = __builtin_bswap16(bad.order);
    T_OK(pli_handshake_reply(secret, &place, &bad, &reply) != PLI_OK);
    T_HAS(pli_fail_take(NULL), "byte order");
    memcpy(&bad, "GET / HTTP/1.1\r\nHost: example\r\n\r\n", 34);
    T_OK(pli_handshake_reply(secret, &place, &bad, &reply) != PLI_OK);
    T_HAS(pli_fail_take(NULL), "not Pliant MPI");
}

int main(void)
{
    good();
    keys();
    flipped();
    passed_on();
    strangers();
    heads();
    return t_status();
}
