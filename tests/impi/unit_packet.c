// SPDX-License-Identifier: BSD-3-Clause
// Byte-exact transcripts of every packet type, written and read.
#include "t.h"
#include "wire/impi_packet_wire.h"

#define HOST_A "00000000 00000000 00000000 0a000001"
#define HOST_B "00000000 00000000 0000ffff 0a000002"
#define FROM_A HOST_A "0000000000000065"
#define FROM_B HOST_B "ffffffffffffff9b"
#define ENVELOPE "00000003 fffffffe 1122334455667788"
#define QOS "0000000000000009 0000000000000004 00000000000000ff 0000000000000000"
#define ZERO8 "0000000000000000"

static const struct pli_impi_packet data = {
    .type = PLI_IMPI_PK_DATA,
    .len = 5,
    .src = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1 }, 101 },
    .dest = { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2 }, (uint64_t)-101 },
    .srqid = 0x0102030405060708,
    .drqid = 0x1112131415161718,
    .msglen = 0x2122232425262728,
    .lsrank = 3,
    .tag = -2,
    .cid = 0x1122334455667788,
    .seqnum = 9,
    .count = 4,
    .dtype = 255,
};

static void both_ways(const char *hex, const struct pli_impi_packet *pk)
{
    unsigned char out[PLI_IMPI_PACKET_HEAD], again[PLI_IMPI_PACKET_HEAD];
    pli_impi_packet_put(out, pk);
    T_HEX(hex, out, sizeof out);
    struct pli_impi_packet got;
    T_EQ(PLI_IMPI_OK, pli_impi_packet_get(out, sizeof out, &got));
    T_EQ(pk->type, got.type);
    T_EQ(pk->len, got.len);
    T_TRUE(pli_impi_packet_is_same_proc(&pk->src, &got.src));
    T_TRUE(pli_impi_packet_is_same_proc(&pk->dest, &got.dest));
    T_EQ(pk->srqid, got.srqid);
    T_EQ(pk->drqid, got.drqid);
    T_EQ(pk->msglen, got.msglen);
    T_EQ(pk->lsrank, got.lsrank);
    T_EQ(pk->tag, got.tag);
    T_EQ(pk->cid, got.cid);
    pli_impi_packet_put(again, &got);
    T_TRUE(memcmp(out, again, sizeof out) == 0);
}

int main(void)
{
    both_ways("00000000 00000005" FROM_A FROM_B "0102030405060708 1112131415161718"
              "2122232425262728" ENVELOPE QOS,
              &data);
    struct pli_impi_packet pk = data;
    pk.type = PLI_IMPI_PK_DATASYNC;
    both_ways("00000001 00000005" FROM_A FROM_B "0102030405060708 1112131415161718"
              "2122232425262728" ENVELOPE QOS,
              &pk);
    pk = pli_impi_packet_reply(&data, PLI_IMPI_PK_SYNCACK);
    pk.drqid = 0x77;
    both_ways("00000003 00000000" FROM_B FROM_A
              "0102030405060708 0000000000000077" ZERO8 ENVELOPE ZERO8 ZERO8 ZERO8 ZERO8,
              &pk);
    pk = pli_impi_packet_reply(&data, PLI_IMPI_PK_PROTOACK);
    pk.srqid = 0;
    both_ways("00000002 00000000" FROM_B FROM_A ZERO8 ZERO8 ZERO8 ENVELOPE ZERO8 ZERO8 ZERO8 ZERO8,
              &pk);
    static const char *const cancel[] = { "00000004", "00000005", "00000006" };
    for (uint32_t i = 0; i < 3; i++) {
        char hex[600];
        pk = pli_impi_packet_reply(&data, PLI_IMPI_PK_CANCEL + i);
        snprintf(hex, sizeof hex, "%s%s", cancel[i],
                 "00000000" FROM_B FROM_A
                 "0102030405060708" ZERO8 ZERO8 ENVELOPE ZERO8 ZERO8 ZERO8 ZERO8);
        both_ways(hex, &pk);
    }
    pk = pli_impi_packet_fini();
    both_ways("00000007 00000000 00000000 00000000 00000000 00000000 ffffffffffffffff"
              "00000000 00000000 00000000 00000000 ffffffffffffffff" ZERO8 ZERO8 ZERO8 ZERO8 ZERO8
                  ZERO8 ZERO8 ZERO8 ZERO8,
              &pk);

    // what a reader must refuse
    unsigned char raw[PLI_IMPI_PACKET_HEAD] = { 0, 0, 0, 8 };
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_packet_get(raw, sizeof raw, &pk));
    raw[0] = 0x80;
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_packet_get(raw, sizeof raw, &pk));
    T_EQ(PLI_IMPI_AGAIN, pli_impi_packet_get(raw, sizeof raw - 1, &pk));
    pk = data;
    pk.len = 100, pk.msglen = 100;
    T_EQ(PLI_IMPI_OK, pli_impi_packet_check(&pk, 100));
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_packet_check(&pk, 99));
    pk.msglen = 99;
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_packet_check(&pk, 100));
    pk.len = 0;
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_packet_check(&pk, 100));
    pk.msglen = 0;
    T_EQ(PLI_IMPI_OK, pli_impi_packet_check(&pk, 1));

    // a control packet has no data, whatever it says; other implementations say 128
    pk.type = PLI_IMPI_PK_SYNCACK, pk.len = 128, pk.msglen = 128;
    T_EQ(0, pli_impi_packet_data(&pk));
    T_EQ(PLI_IMPI_OK, pli_impi_packet_check(&pk, 1));
    for (uint32_t t = 0; t < PLI_IMPI_N_PK; t++) {
        T_EQ(t != 2 && t != 7, pli_impi_packet_is_counted(t));
    }
    return 0;
}
