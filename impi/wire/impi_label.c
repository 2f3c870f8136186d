// SPDX-License-Identifier: BSD-3-Clause
// Startup labels of IMPI: the table, and the bytes of each.
#include "wire/impi_label_wire.h"
#include "wire/impi_byte.h"
#include <string.h>

const struct pli_impi_label_row pli_impi_label_table[PLI_IMPI_N_LABEL] = {
    { PLI_IMPI_C_VERSION, 8, PLI_IMPI_PER_VERSION, "C_VERSION" },
    { PLI_IMPI_C_NHOSTS, 4, PLI_IMPI_PER_CLIENT, "C_NHOSTS" },
    { PLI_IMPI_C_NPROCS, 4, PLI_IMPI_PER_CLIENT, "C_NPROCS" },
    { PLI_IMPI_C_DATALEN, 4, PLI_IMPI_PER_CLIENT, "C_DATALEN" },
    { PLI_IMPI_C_TAGUB, 4, PLI_IMPI_PER_CLIENT, "C_TAGUB" },
    { PLI_IMPI_C_COLL_XSIZE, 4, PLI_IMPI_PER_CLIENT, "C_COLL_XSIZE" },
    { PLI_IMPI_C_COLL_MAXLINEAR, 4, PLI_IMPI_PER_CLIENT, "C_COLL_MAXLINEAR" },
    { PLI_IMPI_H_IPV6, 16, PLI_IMPI_PER_HOST, "H_IPV6" },
    { PLI_IMPI_H_PORT, 4, PLI_IMPI_PER_HOST, "H_PORT" },
    { PLI_IMPI_H_NPROCS, 4, PLI_IMPI_PER_HOST, "H_NPROCS" },
    { PLI_IMPI_H_ACKMARK, 4, PLI_IMPI_PER_HOST, "H_ACKMARK" },
    { PLI_IMPI_H_HIWATER, 4, PLI_IMPI_PER_HOST, "H_HIWATER" },
    { PLI_IMPI_P_IPV6, 16, PLI_IMPI_PER_PROC, "P_IPV6" },
    { PLI_IMPI_P_PID, 8, PLI_IMPI_PER_PROC, "P_PID" },
    { PLI_IMPI_X_PLIANT, 8 + PLI_IMPI_TOKEN, PLI_IMPI_PER_CLIENT, "X_PLIANT" },
};

int pli_impi_label_find(uint32_t label)
{
    for (int i = 0; i < PLI_IMPI_N_LABEL; i++) {
        if (pli_impi_label_table[i].label == label) {
            return i;
        }
    }
    return -1;
}

static const char *check_hosts(const struct pli_impi_client_info *info)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < info->n_host; i++) {
        const struct pli_impi_host *h = &info->host[i];
        if (h->port == 0 || h->port > 65535) {
            return "a host's port is not in 1..65535";
        }
        if (h->n_proc == 0) {
            return "a host has no procs";
        }
        if (h->ackmark == 0 || h->ackmark > h->hiwater) {
            return "1 <= ackmark <= hiwater does not hold";
        }
        sum += h->n_proc;
    }
    return sum == info->n_proc ? NULL : "the hosts' procs do not add up to the client's";
}

static const char *check_versions(const struct pli_impi_client_info *info)
{
    if (info->n_version == 0 || info->version[0].major != 0 || info->version[0].minor != 0) {
        return "the list of versions does not begin with 0.0";
    }
    for (uint32_t i = 1; i < info->n_version; i++) {
        const struct pli_impi_version *a = &info->version[i - 1], *b = &info->version[i];
        if (b->major < a->major || (b->major == a->major && b->minor <= a->minor)) {
            return "the list of versions is not ascending";
        }
    }
    return NULL;
}

enum pli_impi_err pli_impi_label_check(const struct pli_impi_client_info *info,
                                       const char **why_out)
{
    const char *why = check_versions(info);
    if (why == NULL && info->n_host == 0) {
        why = "a client needs a host";
    }
    if (why == NULL && info->datalen == 0) {
        why = "the data length is zero";
    }
    if (why == NULL && info->tag_ub < PLI_IMPI_MIN_TAGUB) {
        why = "the largest tag is below 32767";
    }
    if (why == NULL && (info->coll_xsize < -1 || info->coll_maxlinear < -1)) {
        why = "a collective threshold is below -1";
    }
    if (why == NULL) {
        why = check_hosts(info);
    }
    if (why != NULL) {
        *why_out = why;
        return PLI_IMPI_ERR_RANGE;
    }
    return PLI_IMPI_OK;
}

static size_t n_element(const struct pli_impi_client_info *info, int row)
{
    switch (pli_impi_label_table[row].per) {
    case PLI_IMPI_PER_VERSION:
        return info->n_version;
    case PLI_IMPI_PER_HOST:
        return info->n_host;
    case PLI_IMPI_PER_PROC:
        return info->n_proc;
    case PLI_IMPI_PER_CLIENT:
        break;
    }
    return pli_impi_label_table[row].label != PLI_IMPI_X_PLIANT || info->features != 0;
}

size_t pli_impi_label_len(const struct pli_impi_client_info *info, int row)
{
    return n_element(info, row) * pli_impi_label_table[row].size;
}

static uint32_t word_of_client(const struct pli_impi_client_info *info, uint32_t label)
{
    switch (label) {
    case PLI_IMPI_C_NHOSTS:
        return info->n_host;
    case PLI_IMPI_C_NPROCS:
        return info->n_proc;
    case PLI_IMPI_C_DATALEN:
        return info->datalen;
    case PLI_IMPI_C_TAGUB:
        return (uint32_t)info->tag_ub;
    case PLI_IMPI_C_COLL_XSIZE:
        return (uint32_t)info->coll_xsize;
    default:
        return (uint32_t)info->coll_maxlinear;
    }
}

static uint32_t word_of_host(const struct pli_impi_host *h, uint32_t label)
{
    switch (label) {
    case PLI_IMPI_H_PORT:
        return h->port;
    case PLI_IMPI_H_NPROCS:
        return h->n_proc;
    case PLI_IMPI_H_ACKMARK:
        return h->ackmark;
    default:
        return h->hiwater;
    }
}

static void put_element(const struct pli_impi_client_info *info, uint32_t label, size_t i,
                        unsigned char *p)
{
    switch (label) {
    case PLI_IMPI_C_VERSION:
        pli_impi_byte_put32(p, info->version[i].major);
        pli_impi_byte_put32(p + 4, info->version[i].minor);
        break;
    case PLI_IMPI_H_IPV6:
        memcpy(p, info->host[i].addr, PLI_IMPI_HOSTID);
        break;
    case PLI_IMPI_H_PORT:
    case PLI_IMPI_H_NPROCS:
    case PLI_IMPI_H_ACKMARK:
    case PLI_IMPI_H_HIWATER:
        pli_impi_byte_put32(p, word_of_host(&info->host[i], label));
        break;
    case PLI_IMPI_P_IPV6:
        memcpy(p, info->proc[i].host, PLI_IMPI_HOSTID);
        break;
    case PLI_IMPI_P_PID:
        pli_impi_byte_put64(p, info->proc[i].pid);
        break;
    case PLI_IMPI_X_PLIANT:
        pli_impi_byte_put32(p, info->features);
        pli_impi_byte_put32(p + 4, info->machine);
        memcpy(p + 8, info->token, PLI_IMPI_TOKEN);
        break;
    default:
        pli_impi_byte_put32(p, word_of_client(info, label));
        break;
    }
}

void pli_impi_label_put(const struct pli_impi_client_info *info, int row, unsigned char *p)
{
    const struct pli_impi_label_row *r = &pli_impi_label_table[row];
    size_t n = n_element(info, row);
    for (size_t i = 0; i < n; i++) {
        put_element(info, r->label, i, p + i * r->size);
    }
}

enum pli_impi_err pli_impi_label_get(int row, const unsigned char *data, size_t len, size_t i,
                                     struct pli_impi_label_value *out)
{
    const struct pli_impi_label_row *r = &pli_impi_label_table[row];
    if (len % r->size != 0 || i >= len / r->size) {
        return PLI_IMPI_ERR_PROTO;
    }
    const unsigned char *p = data + i * r->size;
    struct pli_impi_label_value v = { 0 };
    if (r->label == PLI_IMPI_C_VERSION) {
        v.version.major = pli_impi_byte_get32(p);
        v.version.minor = pli_impi_byte_get32(p + 4);
    } else if (r->label == PLI_IMPI_X_PLIANT) {
        v.features = pli_impi_byte_get32(p);
        v.machine = pli_impi_byte_get32(p + 4);
        memcpy(v.token, p + 8, PLI_IMPI_TOKEN);
    } else if (r->size == PLI_IMPI_HOSTID) {
        memcpy(v.addr, p, PLI_IMPI_HOSTID);
    } else if (r->size == 8) {
        v.u64 = pli_impi_byte_get64(p);
    } else {
        v.u32 = pli_impi_byte_get32(p);
    }
    *out = v;
    return PLI_IMPI_OK;
}

void pli_impi_label_put_ipv4(const unsigned char ip[4], unsigned char addr[PLI_IMPI_HOSTID])
{
    memset(addr, 0, PLI_IMPI_HOSTID);
    memcpy(addr + 12, ip, 4);
}

bool pli_impi_label_is_ipv4(const unsigned char addr[PLI_IMPI_HOSTID])
{
    static const unsigned char zero[10];
    if (memcmp(addr, zero, sizeof zero) != 0) {
        return false;
    }
    if (addr[10] == 0xff && addr[11] == 0xff) {
        return true;
    }
    // ::1 and :: are IPv6, every other address after twelve zeros is a compatible one
    return addr[10] == 0 && addr[11] == 0 && (addr[12] != 0 || addr[13] != 0 || addr[14] != 0);
}

bool pli_impi_label_is_same_address(const unsigned char a[PLI_IMPI_HOSTID],
                                    const unsigned char b[PLI_IMPI_HOSTID])
{
    bool are_ipv4 = pli_impi_label_is_ipv4(a) && pli_impi_label_is_ipv4(b);
    return are_ipv4 ? memcmp(a + 12, b + 12, 4) == 0 : memcmp(a, b, PLI_IMPI_HOSTID) == 0;
}
