// SPDX-License-Identifier: BSD-3-Clause
// Packets between IMPI hosts (protocol 0.0): a big-endian header of 128 bytes, followed by pk_len
// bytes of data in the two data types only. Pure: bytes in, structs out. Context: any thread.
#ifndef PLI_IMPI_PACKET_WIRE_H
#define PLI_IMPI_PACKET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/impi_err.h"

enum {
    PLI_IMPI_PACKET_HEAD = 128,
    PLI_IMPI_HOSTID = 16, // an IPv6 address
    PLI_IMPI_HELLO = 4,   // Uint4 global host index, first bytes of the side that connects
};

enum pli_impi_packet_type {
    PLI_IMPI_PK_DATA = 0,      // data follows
    PLI_IMPI_PK_DATASYNC = 1,  // data follows, a SYNCACK is wanted
    PLI_IMPI_PK_PROTOACK = 2,  // flow-control credit
    PLI_IMPI_PK_SYNCACK = 3,   // the message was matched
    PLI_IMPI_PK_CANCEL = 4,    // please cancel
    PLI_IMPI_PK_CANCELYES = 5, // it is cancelled
    PLI_IMPI_PK_CANCELNO = 6,  // too late
    PLI_IMPI_PK_FINI = 7,      // this host sends no more
    PLI_IMPI_N_PK = 8,
};

// Names a process. Compared as 24 opaque bytes, never as an address.
struct pli_impi_proc_id {
    unsigned char host[PLI_IMPI_HOSTID];
    uint64_t pid;
};

struct pli_impi_packet {
    uint32_t type;
    uint32_t len; // data bytes in this packet; means nothing outside the data types
    struct pli_impi_proc_id src, dest;
    uint64_t srqid, drqid;
    uint64_t msglen; // bytes of the whole message
    int32_t lsrank, tag;
    uint64_t cid;
    uint64_t seqnum, count, dtype; // quality-of-service fields: no duty
    uint64_t reserved;
};

void pli_impi_packet_put(unsigned char p[PLI_IMPI_PACKET_HEAD], const struct pli_impi_packet *pk);

// Read a header. PLI_IMPI_AGAIN: fewer than 128 bytes. ERR_PROTO: a type that does not exist.
enum pli_impi_err pli_impi_packet_get(const unsigned char *p, size_t len,
                                      struct pli_impi_packet *out);

// Check a data packet against the job's data length: len <= datalen and len <= msglen, and a packet
// that is not a whole message carries data. Other types always pass. ERR_PROTO otherwise.
enum pli_impi_err pli_impi_packet_check(const struct pli_impi_packet *pk, uint32_t datalen);

// Bytes that follow the header: 0 in control packets, whatever their len says.
uint32_t pli_impi_packet_data(const struct pli_impi_packet *pk);

// Whether flow control counts it: all but PROTOACK and FINI.
bool pli_impi_packet_is_counted(uint32_t type);

// An answer to pk: src and dest swapped, envelope and srqid copied, no lengths.
struct pli_impi_packet pli_impi_packet_reply(const struct pli_impi_packet *pk, uint32_t type);

// The FINI packet: host ids zero, pids all ones.
struct pli_impi_packet pli_impi_packet_fini(void);

bool pli_impi_packet_is_same_proc(const struct pli_impi_proc_id *a,
                                  const struct pli_impi_proc_id *b);

const char *pli_impi_packet_name(uint32_t type);

#endif
