// SPDX-License-Identifier: BSD-3-Clause
// Which addresses are taken, and in which order they are tried.
#include "boot/address.h"

#include "t.h"

#include <arpa/inet.h>
#include <string.h>

static struct pli_node_addr addr(const char *text, int prefix)
{
    struct pli_node_addr a = { .prefix = (uint8_t)prefix };
    a.family = inet_pton(AF_INET, text, a.bytes) == 1 ? 4 : 6;
    T_MUST(a.family == 4 || inet_pton(AF_INET6, text, a.bytes) == 1);
    return a;
}

static void list(void)
{
    struct pli_node_addr got[PLI_NODE_N_ADDR];
    uint16_t n = 0;
    char text[PLI_ADDRESS_TEXT];
    T_EQ(pli_address_list("", got, &n), PLI_OK);
    T_OK(n >= 1 && n <= PLI_NODE_N_ADDR);
    T_EQ(pli_address_list("lo", got, &n), PLI_OK);
    T_OK(n >= 1);
    T_EQ(pli_address_list("127.0.0.0/8", got, &n), PLI_OK);
    T_EQ(n, 1);
    T_STR(pli_address_text(&got[0], 80, text), "127.0.0.1:80");
    T_EQ(got[0].prefix, 8);
    T_EQ(pli_address_list("127.0.0.1,nothing0", got, &n), PLI_OK);
    T_EQ(n, 1);
    T_OK(pli_address_list("nothing0", got, &n) != PLI_OK);
    T_HAS(pli_fail_take(NULL), "no interface that is up fits PLIANT_TCP_IF=nothing0");
    T_OK(pli_address_list("127.0.0.1,!lo", got, &n) != PLI_OK);
    static const char *const bad[] = { "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "eth0/8", "!,lo" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        T_OK(pli_address_list(bad[i], got, &n) != PLI_OK);
        T_HAS(pli_fail_take(NULL), "is not a list of interfaces");
    }
}

static void order(void)
{
    struct pli_node_host here = { .name = "a", .port = 1, .n_addr = 3 };
    struct pli_node_host there = { .name = "b", .port = 2, .n_addr = 5 };
    int at[PLI_NODE_N_ADDR];
    here.addr[0] = addr("10.1.0.5", 16);
    here.addr[1] = addr("172.17.0.1", 16); // what every host with containers has
    here.addr[2] = addr("2001:db8::5", 64);
    there.addr[0] = addr("172.17.0.1", 16);
    there.addr[1] = addr("192.0.2.9", 24);
    there.addr[2] = addr("2001:db8::9", 64);
    there.addr[3] = addr("10.1.200.9", 16);
    there.addr[4] = addr("127.0.0.1", 8);
    T_EQ(pli_address_order(&here, &there, at), 3);
    T_OK(at[0] == 2 && at[1] == 3 && at[2] == 1);
    T_EQ(pli_address_order(&here, &here, at), 3);
    there.n_addr = 200; // a damaged table harms nothing
    T_OK(pli_address_order(&here, &there, at) <= PLI_NODE_N_ADDR);
}

static void text(void)
{
    struct sockaddr_storage s;
    char to[PLI_ADDRESS_TEXT];
    struct pli_node_addr a = addr("2001:db8::1", 64);
    T_STR(pli_address_text(&a, 4000, to), "[2001:db8::1]:4000");
    T_EQ(pli_address_fill(&a, 4000, &s), sizeof(struct sockaddr_in6));
    T_EQ(ntohs(((struct sockaddr_in6 *)&s)->sin6_port), 4000);
    a = pli_address_loopback();
    T_EQ(pli_address_fill(&a, 4000, &s), sizeof(struct sockaddr_in));
}

static void own(void)
{
    struct pli_node_addr all[PLI_NODE_N_ADDR], a = pli_address_loopback();
    uint16_t n = 0;
    T_OK(pli_address_is_own(&a));
    T_EQ(pli_address_list("", all, &n), PLI_OK);
    for (int i = 0; i < n; i++) {
        T_OK(pli_address_is_own(&all[i]));
    }
    const char *loops[] = { "127.3.2.1", "::1", "0.0.0.0", "::" };
    for (int i = 0; i < 4; i++) {
        a = addr(loops[i], 0);
        T_OK(pli_address_is_own(&a));
    }
    a = addr("192.0.2.77", 24); // for documentation: nobody has it
    T_OK(!pli_address_is_own(&a));
    a = addr("2001:db8::77", 64);
    T_OK(!pli_address_is_own(&a));
    T_EQ(pli_address_stack(), pli_address_stack());
}

int main(void)
{
    own();
    list();
    order();
    text();
    return t_status();
}
