// SPDX-License-Identifier: BSD-3-Clause
// A caller is let in when it knows the secret, however its bytes arrive, and nobody else is;
// nothing behind the greeting is read.
#include "boot/handshake_accept.h"

#include "base/clock.h"
#include "t.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const unsigned char secret[PLI_HANDSHAKE_SECRET] = { 1, 2, 3 },
                           other[PLI_HANDSHAKE_SECRET] = { 9 };

static const struct pli_handshake_place nowhere; // no network

struct talk {
    int caller;
    struct pli_handshake_accept who;
    struct pli_handshake_open open;
    struct pli_handshake_reply reply;
};

static void begin(struct talk *t)
{
    int pair[2];
    T_MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    *t = (struct talk){ .caller = pair[0], .who = { .fd = pair[1] } };
    T_MUST(pli_handshake_open(&t->open) == PLI_OK);
}

static void end(struct talk *t)
{
    close(t->caller);
    close(t->who.fd);
}

// Send some bytes, so many at a time, with a step after each; what the last step said.
static enum pli_err say(struct talk *t, const void *data, size_t len, size_t piece)
{
    enum pli_err err = PLI_AGAIN;
    for (size_t at = 0; at < len && err == PLI_AGAIN; at += piece) {
        size_t n = len - at < piece ? len - at : piece;
        T_MUST(send(t->caller, (const char *)data + at, n, 0) == (ssize_t)n);
        err = pli_handshake_accept_step(&t->who, secret);
    }
    return err;
}

// The whole handshake by a caller that holds `key`.
static enum pli_err greet(struct talk *t, const unsigned char *key, size_t piece)
{
    enum pli_err err = say(t, &t->open, sizeof t->open, piece);
    if (err != PLI_AGAIN) {
        return err;
    }
    T_MUST(recv(t->caller, &t->reply, sizeof t->reply, MSG_WAITALL) == sizeof t->reply);
    T_EQ(pli_handshake_check_reply(key, &nowhere, &t->open, &t->reply) == PLI_OK, key == secret);
    struct pli_handshake_join join = { .from = 3, .to = 5, .lane = 1, .to_lane = 2 };
    pli_handshake_join(key, &nowhere, &t->open, &t->reply, &join);
    return say(t, &join, sizeof join, piece);
}

static void friends(size_t piece)
{
    struct talk t;
    char next[4] = "";
    begin(&t);
    T_EQ(greet(&t, secret, piece), PLI_OK);
    T_EQ(t.who.join.from, 3);
    T_EQ(t.who.join.to, 5);
    T_EQ(t.who.join.lane, 1);
    T_EQ(t.who.join.to_lane, 2);
    T_MUST(send(t.caller, "abc", 4, 0) == 4);
    T_EQ(recv(t.who.fd, next, sizeof next, 0), 4); // the first frame is the rank's
    T_OK(strcmp(next, "abc") == 0);
    end(&t);
}

static void strangers(void)
{
    struct talk t;
    begin(&t);
    T_EQ(pli_handshake_accept_step(&t.who, secret), PLI_AGAIN); // says nothing yet
    T_OK(greet(&t, other, 1000) < 0);
    end(&t);
    begin(&t);
    t.open.version++;
    T_OK(greet(&t, secret, 1000) < 0);
    T_EQ(recv(t.caller, &t.reply, sizeof t.reply, 0), sizeof t.reply); // it can say so
    end(&t);
    begin(&t);
    T_EQ(say(&t, &t.open, 10, 10), PLI_AGAIN);
    close(t.caller);
    t.caller = -1;
    T_OK(pli_handshake_accept_step(&t.who, secret) < 0); // hung up
    end(&t);
    static const unsigned char none[PLI_HANDSHAKE_SECRET];
    begin(&t);
    T_MUST(send(t.caller, &t.open, sizeof t.open, 0) == sizeof t.open);
    T_OK(pli_handshake_accept_step(&t.who, none) < 0); // a job without a secret
    end(&t);
}

enum { N = 4 };

struct seat {
    struct pli_handshake_accept who;
    int caller;
};

// Four callers: the last from an address of its own, all asked and in time.
static void fill(struct seat *seats)
{
    const uint64_t now = pli_clock_ns(); // a moment for all, however long the loop takes
    for (int i = 0; i < N; i++) {
        int pair[2];
        T_MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        seats[i] = (struct seat){ .caller = pair[0],
                                  .who = { .fd = pair[1],
                                           .since = now - (uint64_t)(N - i) * 1000,
                                           .is_asked = true,
                                           .from = { [15] = i == N - 1 ? 2 : 1 } } };
    }
}

static int room(struct seat *seats)
{
    struct pli_handshake_accept *s = pli_handshake_accept_room(&seats[0].who, sizeof seats[0], N);
    return s != NULL ? (int)((struct seat *)s - seats) : -1;
}

// The caller that has proved least makes room, of those from where most come; never one that said
// something which was not looked at.
static void makes_room(void)
{
    struct seat seats[N];
    const uint64_t late = (uint64_t)PLI_HANDSHAKE_ACCEPT_ROUND_MS * 2000000u;
    fill(seats);
    T_EQ(room(seats), -1); // all are about to join
    seats[2].who.is_asked = false;
    T_EQ(room(seats), 2); // has said nothing
    seats[3].who.is_asked = false;
    seats[3].who.since -= late;
    T_EQ(room(seats), 2); // the other is older, but alone
    T_MUST(send(seats[2].caller, "x", 1, 0) == 1);
    T_EQ(room(seats), 3);
    seats[3].who.is_asked = true;
    seats[2].who.is_asked = true;
    T_EQ(room(seats), 3); // too late, and the only one
    seats[0].who.since -= late;
    seats[1].who.since -= late + 100000;
    T_EQ(room(seats), 1);                          // the oldest from where most come
    T_MUST(send(seats[1].caller, "x", 1, 0) == 1); // its proof
    T_EQ(room(seats), 0);
    int fd = seats[2].who.fd;
    seats[2].who.fd = -1;
    T_EQ(room(seats), 2); // free
    close(fd);
    for (int i = 0; i < N; i++) {
        close(seats[i].caller);
        close(seats[i].who.fd);
    }
}

int main(void)
{
    makes_room();
    for (size_t piece = 1; piece < 100; piece += 7) {
        friends(piece);
    }
    strangers();
    return t_status();
}
