// SPDX-License-Identifier: BSD-3-Clause
// Startup labels of IMPI 0.0: what a client tells the others through the server, and the bytes of
// it. Numbers are part of the protocol. Pure, allocates nothing. Context: any thread.
#ifndef PLI_IMPI_LABEL_WIRE_H
#define PLI_IMPI_LABEL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/impi_err.h"
#include "wire/impi_packet_wire.h"

enum pli_impi_label {
    PLI_IMPI_NO_LABEL = 0x0000, // reserved, never sent
    PLI_IMPI_C_VERSION = 0x1000,
    PLI_IMPI_C_NHOSTS = 0x1100,
    PLI_IMPI_C_NPROCS = 0x1200,
    PLI_IMPI_C_DATALEN = 0x1300,
    PLI_IMPI_C_TAGUB = 0x1400,
    PLI_IMPI_C_COLL_XSIZE = 0x1500,
    PLI_IMPI_C_COLL_MAXLINEAR = 0x1600,
    PLI_IMPI_H_IPV6 = 0x2000,
    PLI_IMPI_H_PORT = 0x2100,
    PLI_IMPI_H_NPROCS = 0x2200,
    PLI_IMPI_H_ACKMARK = 0x2300,
    PLI_IMPI_H_HIWATER = 0x2400,
    PLI_IMPI_P_IPV6 = 0x3000,
    PLI_IMPI_P_PID = 0x3100,
    // Not of IMPI 0.0: what clients of Pliant MPI, libimpi included, tell each other. It counts if
    // all clients have sent it; servers that do not know it drop it, ours then too.
    PLI_IMPI_X_PLIANT = 0x504c4954,
};

enum pli_impi_feature { // of X_PLIANT
    PLI_IMPI_HAS_TOKEN =
        1, // a host that connects says the token of the called client behind its index
    PLI_IMPI_HAS_LONG8 = 2, // a long has 8 bytes and not the 4 of external32
    // 4 was HAS_LATER with other tags
    PLI_IMPI_HAS_LATER = 8, // nonblocking and neighborhood collectives, groups without the parent
    PLI_IMPI_HAS_TLS = 16,  // hosts connect by TLS, with the tokens of all clients as the secret
    // Windows. Data in memory is little-endian with 8-byte longs, and a long double has 64 digits
    // (as on x86-64), or 113 (as on aarch64).
    PLI_IMPI_HAS_WINDOWS_64 = 32,
    PLI_IMPI_HAS_WINDOWS_113 = 64,
    PLI_IMPI_HAS_MADE = 128,   // numbers of communicators are made by one process, never counted up
    PLI_IMPI_HAS_FILES = 256,  // files, where there are windows
    PLI_IMPI_HAS_CLOCK = 512,  // its first host answers questions for its clock
    PLI_IMPI_HAS_LINKS = 1024, // several connections between two hosts; the caller says which it is
    PLI_IMPI_HAS_ATOMIC = 2048, // files in atomic mode, by locks of one range for all MPIs
};

#define PLI_IMPI_HAS_WINDOWS (PLI_IMPI_HAS_WINDOWS_64 | PLI_IMPI_HAS_WINDOWS_113) // one of them

enum {
    PLI_IMPI_N_STANDARD = 14, // rows of the table that are of IMPI 0.0: all but NO_LABEL
    PLI_IMPI_N_LABEL = 15,    // and X_PLIANT
    PLI_IMPI_TOKEN = 16,      // bytes
    PLI_IMPI_MIN_TAGUB = 32767,
    PLI_IMPI_DEFAULT_XSIZE = 1024,  // what -1 stands for
    PLI_IMPI_DEFAULT_MAXLINEAR = 4, // what -1 stands for
    PLI_IMPI_LABEL_DEFAULT = -1,
};

enum pli_impi_label_per { // how many elements a client contributes
    PLI_IMPI_PER_VERSION, // one or more
    PLI_IMPI_PER_CLIENT,  // one
    PLI_IMPI_PER_HOST,    // its number of hosts
    PLI_IMPI_PER_PROC,    // its number of procs
};

struct pli_impi_label_row {
    uint32_t label;
    uint8_t size; // bytes of one element
    enum pli_impi_label_per per;
    const char *name;
};

// In ascending order of label.
extern const struct pli_impi_label_row pli_impi_label_table[PLI_IMPI_N_LABEL];

// Index of a label in the table, or -1 for one that IMPI 0.0 does not know.
int pli_impi_label_find(uint32_t label);

struct pli_impi_version {
    uint32_t major, minor;
};

struct pli_impi_host {
    unsigned char addr[PLI_IMPI_HOSTID];
    uint32_t port, n_proc, ackmark, hiwater;
};

// What one client tells. The arrays belong to the caller.
struct pli_impi_client_info {
    const struct pli_impi_version *version; // strictly ascending, 0.0 first
    const struct pli_impi_host *host;
    const struct pli_impi_proc_id *proc; // in the order of the hosts
    uint32_t n_version, n_host, n_proc;
    uint32_t datalen;
    int32_t tag_ub, coll_xsize, coll_maxlinear;
    uint32_t features; // enum pli_impi_feature; 0: X_PLIANT is not sent
    uint32_t machine;  // equal for clients on one machine and network; 0: several hosts, or unknown
    unsigned char token[PLI_IMPI_TOKEN];
};

// Refuse what the protocol does not allow; `why_out` then names the field. ERR_RANGE otherwise.
enum pli_impi_err pli_impi_label_check(const struct pli_impi_client_info *info,
                                       const char **why_out);

// Bytes client `info` contributes to row `row` of the table, and those bytes.
size_t pli_impi_label_len(const struct pli_impi_client_info *info, int row);
void pli_impi_label_put(const struct pli_impi_client_info *info, int row, unsigned char *p);

// One element, read.
struct pli_impi_label_value {
    struct pli_impi_version version; // C_VERSION
    uint32_t u32;                    // four-byte labels; cast to int32_t for the signed ones
    uint64_t u64;                    // P_PID
    unsigned char addr[PLI_IMPI_HOSTID];
    uint32_t features, machine; // X_PLIANT, with the token
    unsigned char token[PLI_IMPI_TOKEN];
};

// Read element `i` of `len` bytes of row `row`. ERR_PROTO: len is no whole number of elements, or
// it has no element i.
enum pli_impi_err pli_impi_label_get(int row, const unsigned char *data, size_t len, size_t i,
                                     struct pli_impi_label_value *out);

// Addresses: an IPv4 address is carried in bytes 12 to 15 after zeros (the form other
// implementations send) or after the mapped prefix; both are read.
void pli_impi_label_put_ipv4(const unsigned char ip[4], unsigned char addr[PLI_IMPI_HOSTID]);
bool pli_impi_label_is_ipv4(const unsigned char addr[PLI_IMPI_HOSTID]);
bool pli_impi_label_is_same_address(const unsigned char a[PLI_IMPI_HOSTID],
                                    const unsigned char b[PLI_IMPI_HOSTID]);

#endif
