// SPDX-License-Identifier: BSD-3-Clause
// Packets between IMPI hosts: encoding and decoding of the header.
#include "wire/impi_packet_wire.h"
#include "wire/impi_byte.h"
#include <string.h>

enum { // offsets in the header; numbers are part of the protocol
    OFF_TYPE = 0,
    OFF_LEN = 4,
    OFF_SRC = 8,
    OFF_DEST = 32,
    OFF_SRQID = 56,
    OFF_DRQID = 64,
    OFF_MSGLEN = 72,
    OFF_LSRANK = 80,
    OFF_TAG = 84,
    OFF_CID = 88,
    OFF_SEQNUM = 96,
    OFF_COUNT = 104,
    OFF_DTYPE = 112,
    OFF_RESERVED = 120,
};
_Static_assert(OFF_RESERVED + 8 == PLI_IMPI_PACKET_HEAD, "the header is 128 bytes");

static void put_proc(unsigned char *p, const struct pli_impi_proc_id *id)
{
    memcpy(p, id->host, PLI_IMPI_HOSTID);
    pli_impi_byte_put64(p + PLI_IMPI_HOSTID, id->pid);
}

static void get_proc(const unsigned char *p, struct pli_impi_proc_id *out)
{
    memcpy(out->host, p, PLI_IMPI_HOSTID);
    out->pid = pli_impi_byte_get64(p + PLI_IMPI_HOSTID);
}

void pli_impi_packet_put(unsigned char p[PLI_IMPI_PACKET_HEAD], const struct pli_impi_packet *pk)
{
    pli_impi_byte_put32(p + OFF_TYPE, pk->type);
    pli_impi_byte_put32(p + OFF_LEN, pk->len);
    put_proc(p + OFF_SRC, &pk->src);
    put_proc(p + OFF_DEST, &pk->dest);
    pli_impi_byte_put64(p + OFF_SRQID, pk->srqid);
    pli_impi_byte_put64(p + OFF_DRQID, pk->drqid);
    pli_impi_byte_put64(p + OFF_MSGLEN, pk->msglen);
    pli_impi_byte_put32(p + OFF_LSRANK, (uint32_t)pk->lsrank);
    pli_impi_byte_put32(p + OFF_TAG, (uint32_t)pk->tag);
    pli_impi_byte_put64(p + OFF_CID, pk->cid);
    pli_impi_byte_put64(p + OFF_SEQNUM, pk->seqnum);
    pli_impi_byte_put64(p + OFF_COUNT, pk->count);
    pli_impi_byte_put64(p + OFF_DTYPE, pk->dtype);
    pli_impi_byte_put64(p + OFF_RESERVED, pk->reserved);
}

enum pli_impi_err pli_impi_packet_get(const unsigned char *p, size_t len,
                                      struct pli_impi_packet *out)
{
    if (len < PLI_IMPI_PACKET_HEAD) {
        return PLI_IMPI_AGAIN;
    }
    uint32_t type = pli_impi_byte_get32(p + OFF_TYPE);
    if (type >= PLI_IMPI_N_PK) {
        return PLI_IMPI_ERR_PROTO;
    }
    out->type = type;
    out->len = pli_impi_byte_get32(p + OFF_LEN);
    get_proc(p + OFF_SRC, &out->src);
    get_proc(p + OFF_DEST, &out->dest);
    out->srqid = pli_impi_byte_get64(p + OFF_SRQID);
    out->drqid = pli_impi_byte_get64(p + OFF_DRQID);
    out->msglen = pli_impi_byte_get64(p + OFF_MSGLEN);
    out->lsrank = (int32_t)pli_impi_byte_get32(p + OFF_LSRANK);
    out->tag = (int32_t)pli_impi_byte_get32(p + OFF_TAG);
    out->cid = pli_impi_byte_get64(p + OFF_CID);
    out->seqnum = pli_impi_byte_get64(p + OFF_SEQNUM);
    out->count = pli_impi_byte_get64(p + OFF_COUNT);
    out->dtype = pli_impi_byte_get64(p + OFF_DTYPE);
    out->reserved = pli_impi_byte_get64(p + OFF_RESERVED);
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_packet_check(const struct pli_impi_packet *pk, uint32_t datalen)
{
    if (pk->type != PLI_IMPI_PK_DATA && pk->type != PLI_IMPI_PK_DATASYNC) {
        return PLI_IMPI_OK;
    }
    if (pk->len > datalen || pk->len > pk->msglen) {
        return PLI_IMPI_ERR_PROTO;
    }
    if (pk->len == 0 && pk->msglen != 0) {
        return PLI_IMPI_ERR_PROTO; // would never end a message
    }
    return PLI_IMPI_OK;
}

uint32_t pli_impi_packet_data(const struct pli_impi_packet *pk)
{
    return pk->type <= PLI_IMPI_PK_DATASYNC ? pk->len : 0;
}

bool pli_impi_packet_is_counted(uint32_t type)
{
    return type != PLI_IMPI_PK_PROTOACK && type != PLI_IMPI_PK_FINI;
}

struct pli_impi_packet pli_impi_packet_reply(const struct pli_impi_packet *pk, uint32_t type)
{
    return (struct pli_impi_packet){ .type = type,
                                     .src = pk->dest,
                                     .dest = pk->src,
                                     .srqid = pk->srqid,
                                     .lsrank = pk->lsrank,
                                     .tag = pk->tag,
                                     .cid = pk->cid };
}

struct pli_impi_packet pli_impi_packet_fini(void)
{
    return (struct pli_impi_packet){ .type = PLI_IMPI_PK_FINI,
                                     .src.pid = UINT64_MAX,
                                     .dest.pid = UINT64_MAX };
}

bool pli_impi_packet_is_same_proc(const struct pli_impi_proc_id *a,
                                  const struct pli_impi_proc_id *b)
{
    return a->pid == b->pid && memcmp(a->host, b->host, PLI_IMPI_HOSTID) == 0;
}

const char *pli_impi_packet_name(uint32_t type)
{
    static const char *const name[PLI_IMPI_N_PK] = {
        "DATA", "DATASYNC", "PROTOACK", "SYNCACK", "CANCEL", "CANCELYES", "CANCELNO", "FINI",
    };
    return type < PLI_IMPI_N_PK ? name[type] : "unknown";
}
