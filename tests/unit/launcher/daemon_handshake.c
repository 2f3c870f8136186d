// SPDX-License-Identifier: BSD-3-Clause
// Two ends that know the secret come to the same keys, other ones each time; nobody else gets
// anywhere, and no byte can be another than it was.
#include "launcher/hosts/daemon_handshake.h"
#include "t.h"

#include <string.h>

static const struct pli_daemon_handshake_known known = { "the secret of the job", "one listener" };
static const struct pli_node_addr addr = { .family = 4, .bytes = { 10, 1, 2, 3 } };

// Both ends; what one has sent, the other has got.
static struct pli_daemon_handshake caller, listener;
static struct pli_daemon_handshake_keys caller_keys, listener_keys;

// How far it goes when `change` of the bytes that travel (counted over all messages) is another.
// 3: to the end.
static int shake(const struct pli_daemon_handshake_known *c,
                 const struct pli_daemon_handshake_known *l, int change)
{
    caller = listener = (struct pli_daemon_handshake){ 0 };
    T_OK(pli_daemon_handshake_call(&caller, c, 7, &addr, 4000));
    listener.hello = caller.hello;
    if (change >= 0 && change < (int)sizeof caller.hello) {
        ((unsigned char *)&listener.hello)[change] ^= 4;
    }
    change -= (int)sizeof caller.hello;
    if (!pli_daemon_handshake_reply(&listener, l)) {
        return 0;
    }
    caller.reply = listener.reply;
    if (change >= 0 && change < (int)sizeof caller.reply) {
        ((unsigned char *)&caller.reply)[change] ^= 4;
    }
    change -= (int)sizeof caller.reply;
    if (!pli_daemon_handshake_join(&caller, c, &caller_keys)) {
        return 1;
    }
    listener.join = caller.join;
    if (change >= 0 && change < (int)sizeof caller.join) {
        ((unsigned char *)&listener.join)[change] ^= 4;
    }
    return pli_daemon_handshake_is_joined(&listener, l, &listener_keys) ? 3 : 2;
}

static void test_good(void)
{
    unsigned char before[PLI_PROTECT_KEY];
    T_EQ(shake(&known, &known, -1), 3);
    T_EQ(listener.hello.host, 7);
    T_EQ(caller_keys.suite, listener_keys.suite);
    T_EQ(caller_keys.suite, pli_protect_choose(pli_protect_suites(), pli_protect_suites()));
    T_EQ(memcmp(caller_keys.send, listener_keys.receive, PLI_PROTECT_KEY), 0);
    T_EQ(memcmp(caller_keys.receive, listener_keys.send, PLI_PROTECT_KEY), 0);
    T_OK(memcmp(caller_keys.send, caller_keys.receive, PLI_PROTECT_KEY) != 0);
    memcpy(before, caller_keys.send, sizeof before);
    T_EQ(shake(&known, &known, -1), 3);
    T_OK(memcmp(caller_keys.send, before, sizeof before) != 0);
}

static void test_altered(void)
{
    // Which suites a caller has, too: nobody makes two ends do with less than both can.
    int n = (int)(sizeof caller.hello + sizeof caller.reply + sizeof caller.join);
    for (int i = 0; i < n; i++) {
        int want = i < (int)sizeof caller.hello ? 0 : i < n - (int)sizeof caller.join ? 1 : 2;
        T_EQ(shake(&known, &known, i), want);
    }
}

static void test_strangers(void)
{
    struct pli_daemon_handshake_known other = known;
    other.secret[3] ^= 1;
    T_EQ(shake(&other, &known, -1), 0);
    T_EQ(shake(&known, &other, -1), 0);
    other = known;
    other.id[0] ^= 1; // the same job, another listener
    T_EQ(shake(&known, &other, -1), 0);
    // An old hello gets a reply, and an old join is not for it.
    T_EQ(shake(&known, &known, -1), 3);
    struct pli_daemon_handshake old = listener;
    T_OK(pli_daemon_handshake_reply(&listener, &known));
    listener.join = old.join;
    T_OK(!pli_daemon_handshake_is_joined(&listener, &known, &listener_keys));
    // An old reply is not for a new hello.
    T_OK(pli_daemon_handshake_call(&caller, &known, 7, &addr, 4000));
    caller.reply = old.reply;
    T_OK(!pli_daemon_handshake_join(&caller, &known, &caller_keys));
}

int main(void)
{
    test_good();
    test_altered();
    test_strangers();
    return t_status();
}
