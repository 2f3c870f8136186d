// SPDX-License-Identifier: BSD-3-Clause
// Reads the interfaces of this host and judges addresses.
#include "boot/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_FOUND = 64, MAX_NAME = 64 };

struct found {
    struct pli_node_addr addr;
    bool is_loop;
};

static int n_bit(const struct pli_node_addr *a)
{
    return a->family == 4 ? 32 : 128;
}

// Whether the first `bits` bits of two addresses of one family are the same.
static bool has_prefix(const struct pli_node_addr *a, const struct pli_node_addr *b, int bits)
{
    if (a->family != b->family || bits > n_bit(a)) {
        return false;
    }
    int whole = bits / 8, rest = bits % 8;
    return memcmp(a->bytes, b->bytes, (size_t)whole) == 0 &&
           (rest == 0 || (a->bytes[whole] ^ b->bytes[whole]) >> (8 - rest) == 0);
}

static bool read_address(const char *text, struct pli_node_addr *out)
{
    *out = (struct pli_node_addr){ 0 };
    out->family = inet_pton(AF_INET, text, out->bytes) == 1    ? 4
                  : inet_pton(AF_INET6, text, out->bytes) == 1 ? 6
                                                               : 0;
    return out->family != 0;
}

// "eth0", "10.1.0.0/16" or "10.1.2.3". -1: it cannot be read.
static int fits_one(const char *item, const char *name, const struct pli_node_addr *addr)
{
    char text[MAX_NAME];
    struct pli_node_addr want;
    snprintf(text, sizeof text, "%s", item);
    char *slash = strchr(text, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    if (!read_address(text, &want)) {
        return slash != NULL ? -1 : strcmp(text, name) == 0;
    }
    char *end = NULL;
    long bits = slash != NULL ? strtol(slash + 1, &end, 10) : n_bit(&want);
    if (end != NULL && (*end != '\0' || end == slash + 1 || bits < 0 || bits > n_bit(&want))) {
        return -1;
    }
    return has_prefix(&want, addr, (int)bits);
}

// Whether the list allows an address of an interface; *is_bad_out: it cannot be read.
static bool is_wanted(const char *only, const char *name, const struct pli_node_addr *addr,
                      bool *is_bad_out)
{
    bool has_positive = false, is_in = false;
    for (const char *at = only; *at != '\0'; at += strspn(at, ",")) {
        char item[MAX_NAME];
        size_t len = strcspn(at, ",");
        bool is_not = *at == '!';
        snprintf(item, sizeof item, "%.*s", (int)len - is_not, at + is_not);
        int fits = item[0] == '\0' ? -1 : fits_one(item, name, addr);
        if (fits < 0 || len >= sizeof item) {
            *is_bad_out = true;
            return false;
        }
        if (is_not && fits) {
            return false;
        }
        has_positive = has_positive || !is_not;
        is_in = is_in || (!is_not && fits);
        at += len;
    }
    return is_in || !has_positive;
}

static bool take(const struct ifaddrs *i, struct found *out)
{
    *out = (struct found){ 0 };
    if (i->ifa_addr == NULL || i->ifa_netmask == NULL || (i->ifa_flags & IFF_UP) == 0) {
        return false;
    }
    const unsigned char *bytes, *mask;
    size_t len;
    if (i->ifa_addr->sa_family == AF_INET) {
        bytes = (const unsigned char *)&((const struct sockaddr_in *)i->ifa_addr)->sin_addr;
        mask = (const unsigned char *)&((const struct sockaddr_in *)i->ifa_netmask)->sin_addr;
        len = 4;
    } else if (i->ifa_addr->sa_family == AF_INET6) {
        const struct in6_addr *a = &((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr;
        if (IN6_IS_ADDR_LINKLOCAL(a) || IN6_IS_ADDR_MULTICAST(a)) {
            return false; // means nothing without the name of an interface
        }
        bytes = (const unsigned char *)a;
        mask = (const unsigned char *)&((const struct sockaddr_in6 *)i->ifa_netmask)->sin6_addr;
        len = 16;
    } else {
        return false;
    }
    out->is_loop = (i->ifa_flags & IFF_LOOPBACK) != 0;
    out->addr.family = len == 4 ? 4 : 6;
    memcpy(out->addr.bytes, bytes, len);
    for (size_t k = 0; k < len; k++) {
        out->addr.prefix = (uint8_t)(out->addr.prefix + __builtin_popcount(mask[k]));
    }
    return true;
}

static uint32_t speed_of(const char *name)
{
    char path[128];
    int speed = 0;
    snprintf(path, sizeof path, "/sys/class/net/%s/speed", name);
    FILE *f = fopen(path, "re");
    if (f != NULL) {
        if (fscanf(f, "%d", &speed) != 1 || speed < 0) {
            speed = 0;
        }
        fclose(f);
    }
    return (uint32_t)speed;
}

// Fast ones first, then IPv4, then as the system lists them.
static bool is_before(const struct found *a, const struct found *b)
{
    return a->addr.speed != b->addr.speed ? a->addr.speed > b->addr.speed
                                          : a->addr.family < b->addr.family;
}

static void insert(struct found *list, int *n, const struct found *f)
{
    int at = *n;
    while (at > 0 && is_before(f, &list[at - 1])) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = *f;
    (*n)++;
}

enum pli_err pli_address_list(const char *only, struct pli_node_addr out[PLI_NODE_N_ADDR],
                              uint16_t *n_out)
{
    struct ifaddrs *all;
    struct found list[MAX_FOUND], loop[MAX_FOUND], f;
    int n = 0, n_loop = 0;
    bool is_bad = false;
    if (getifaddrs(&all) != 0) {
        return pli_fail(PLI_ERR_OTHER, "cannot read this host's addresses: %s", strerror(errno));
    }
    for (const struct ifaddrs *i = all; i != NULL && n < MAX_FOUND && n_loop < MAX_FOUND;
         i = i->ifa_next) {
        if (!take(i, &f) || !is_wanted(only, i->ifa_name, &f.addr, &is_bad)) {
            continue;
        }
        f.addr.speed = speed_of(i->ifa_name);
        insert(f.is_loop ? loop : list, f.is_loop ? &n_loop : &n, &f);
    }
    freeifaddrs(all);
    const struct found *use = n > 0 ? list : loop;
    n = n > 0 ? n : n_loop;
    if (n == 0 && only[0] == '\0') {
        return pli_fail(PLI_ERR_OTHER, "no network interface of this host is up, not even its "
                                       "loopback; as root, 'ip link set lo up' sets that up");
    }
    if (is_bad || n == 0) {
        return pli_fail(PLI_ERR_ARG,
                        is_bad ? "PLIANT_TCP_IF=%s is not a list of interfaces, addresses and "
                                 "networks, such as eth0,10.1.0.0/16"
                               : "no interface that is up fits PLIANT_TCP_IF=%s",
                        only);
    }
    *n_out = (uint16_t)(n < PLI_NODE_N_ADDR ? n : PLI_NODE_N_ADDR);
    for (int i = 0; i < *n_out; i++) {
        out[i] = use[i].addr;
    }
    return PLI_OK;
}

struct pli_node_addr pli_address_loopback(void)
{
    return (struct pli_node_addr){ .family = 4, .prefix = 8, .bytes = { 127, 0, 0, 1 } };
}

static bool is_loopback(const struct pli_node_addr *a)
{
    static const unsigned char six[16] = { [15] = 1 };
    return a->family == 4 ? a->bytes[0] == 127 : memcmp(a->bytes, six, sizeof six) == 0;
}

bool pli_address_is_own(const struct pli_node_addr *addr)
{
    static const unsigned char none[16];
    struct ifaddrs *all;
    struct found f;
    bool is_own = is_loopback(addr) || memcmp(addr->bytes, none, sizeof none) == 0;
    if (is_own || getifaddrs(&all) != 0) {
        return is_own;
    }
    for (const struct ifaddrs *i = all; i != NULL && !is_own; i = i->ifa_next) {
        is_own = take(i, &f) && has_prefix(&f.addr, addr, n_bit(addr));
    }
    freeifaddrs(all);
    return is_own;
}

uint64_t pli_address_stack(void)
{
    char boot[64] = "";
    struct stat st;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool is_known =
        f != NULL && fgets(boot, sizeof boot, f) != NULL && stat("/proc/self/ns/net", &st) == 0;
    if (f != NULL) {
        fclose(f);
    }
    if (!is_known) {
        return 0;
    }
    uint64_t key = 0xcbf29ce484222325u; // FNV-1a
    snprintf(boot + strcspn(boot, "\n"), 24, " %llx", (unsigned long long)st.st_ino);
    for (const char *at = boot; *at != '\0'; at++) {
        key = (key ^ (unsigned char)*at) * 0x100000001b3u;
    }
    return key | 1;
}

// 2: on a network of ours; 1: some other; 0: of no use.
static int worth(const struct pli_node_host *here, const struct pli_node_addr *a, bool is_same)
{
    int best = is_same || !is_loopback(a) ? 1 : 0;
    for (int i = 0; i < here->n_addr && i < PLI_NODE_N_ADDR; i++) {
        const struct pli_node_addr *mine = &here->addr[i];
        if (!is_same && has_prefix(mine, a, n_bit(a))) {
            return 0;
        }
        if (has_prefix(mine, a, mine->prefix)) {
            best = best > 0 ? 2 : 0;
        }
    }
    return best;
}

int pli_address_order(const struct pli_node_host *here, const struct pli_node_host *there,
                      int order[PLI_NODE_N_ADDR])
{
    // Pretended hosts are one machine, and so are two that a restarted job has on one.
    bool is_same = here == there || (here->n_addr == there->n_addr &&
                                     memcmp(here->addr, there->addr, sizeof here->addr) == 0);
    int n = 0;
    for (int want = 2; want > 0; want--) {
        for (int i = 0; i < there->n_addr && i < PLI_NODE_N_ADDR; i++) {
            if (worth(here, &there->addr[i], is_same) == want) {
                order[n++] = i;
            }
        }
    }
    return n;
}

socklen_t pli_address_fill(const struct pli_node_addr *addr, uint16_t port,
                           struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (addr->family == 4) {
        struct sockaddr_in *a = (struct sockaddr_in *)out;
        a->sin_family = AF_INET;
        a->sin_port = htons(port);
        memcpy(&a->sin_addr, addr->bytes, sizeof a->sin_addr);
        return sizeof *a;
    }
    struct sockaddr_in6 *a = (struct sockaddr_in6 *)out;
    a->sin6_family = AF_INET6;
    a->sin6_port = htons(port);
    memcpy(&a->sin6_addr, addr->bytes, sizeof a->sin6_addr);
    return sizeof *a;
}

const char *pli_address_text(const struct pli_node_addr *addr, uint16_t port,
                             char to[PLI_ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "?";
    inet_ntop(addr->family == 4 ? AF_INET : AF_INET6, addr->bytes, host, sizeof host);
    snprintf(to, PLI_ADDRESS_TEXT, addr->family == 4 ? "%s:%u" : "[%s]:%u", host, port);
    return to;
}
