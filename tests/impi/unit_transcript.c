// SPDX-License-Identifier: BSD-3-Clause
// One engine against packets written by hand: what it writes, to the byte, what it does with each
// type it reads, and that whatever does not fit ends that connection with a reason.
#include "t_node.h"

// Host 0 has process 0 (pid 1000), host 1 process 1 (pid 2000). The engine is host 0.
#define P0 "00000000 00000000 00000000 7f000001 00000000 000003e8"
#define P1 "00000000 00000000 00000000 7f000001 00000000 000007d0"
#define NIL "00000000 00000000"
#define NO_QOS NIL NIL NIL NIL
#define HEAD(type, len, src, dst, srqid, drqid, msglen, lsrank, tag, cid)                          \
    type len src dst srqid drqid msglen lsrank tag cid NO_QOS
#define ID(n) "00000000 000000" n
#define W(n) "000000" n

static const struct t_shape shape = { 2, 1, 1, 4, 2, 4 };
static struct pli_impi_job *job;
static struct t_node n;

static void begin(void)
{
    t_node_init(&n, job, 0);
    n.is_auto = false;
}

static void finish(void)
{
    t_node_fini(&n);
}

static void wrote(const char *hex)
{
    static unsigned char buf[4096];
    struct iovec iov[16];
    size_t len = 0;
    int k;
    while ((k = pli_impi_engine_out_iov(n.e, 1, iov, 16)) > 0) {
        size_t part = 0;
        for (int i = 0; i < k; i++) {
            memcpy(buf + len + part, iov[i].iov_base, iov[i].iov_len);
            part += iov[i].iov_len;
        }
        pli_impi_engine_out_done(n.e, 1, part);
        len += part;
    }
    T_HEX(hex, buf, len);
}

static enum pli_impi_err feed(const char *hex)
{
    unsigned char buf[1024];
    size_t len = t_bytes(hex, buf, sizeof buf);
    return pli_impi_engine_input(n.e, 1, buf, len);
}

static void test_out(void)
{
    begin();
    struct pli_impi_send s = { .env = { .src = 0,
                                        .dst = 1,
                                        .cid = 0x0102030405060708,
                                        .lsrank = 5,
                                        .tag = 32767,
                                        .seqnum = 1,
                                        .count = 2,
                                        .dtype = 3 },
                               .data = "abcdefghij",
                               .len = 3,
                               .ready = 3 };
    uint64_t req;
    T_EQ(PLI_IMPI_OK, pli_impi_engine_send(n.e, &s, &req));
    T_EQ(1, req);
    wrote("00000000 00000003" P0 P1 ID("01")
              NIL ID("03") "00000005 00007fff 01020304 05060708"
                           "00000000 00000001 00000000 00000002 00000000 00000003" NIL "616263");
    T_EQ(1, n.n_sent);
    // empty, synchronous
    t_send(&n, 0, 1, 1, NULL, 0, true);
    wrote(HEAD(W("01"), W("00"), P0, P1, ID("02"), NIL, NIL, W("00"), W("01"), NIL));
    T_EQ(0, n.n_matched);
    T_EQ(PLI_IMPI_OK,
         feed(HEAD(W("03"), W("80"), P1, P0, ID("02"), NIL, ID("80"), "ffffffff", "ffffffff",
                   ID("49")))); // lengths and envelope are junk, as another implementation has them
    T_EQ(1, n.n_matched);
    // long: the first packet, then the rest under the receiver's handle
    t_send(&n, 0, 1, 2, "abcdefghij", 10, false);
    wrote(
        HEAD(W("01"), W("04"), P0, P1, ID("03"), NIL, ID("0a"), W("00"), W("02"), NIL) "61626364");
    T_EQ(PLI_IMPI_OK, feed(HEAD(W("02"), W("00"), P1, P0, NIL, NIL, NIL, W("00"), W("00"), NIL)));
    T_EQ(PLI_IMPI_OK, feed(HEAD(W("03"), W("00"), P1, P0, ID("03"), "fedcba98 76543210", NIL,
                                W("00"), W("02"), NIL)));
    // their second counted packet earns a credit, which goes first
    wrote(HEAD(W("02"), W("00"), P0, P1, NIL, NIL, NIL, W("00"), W("00"), NIL) //
          HEAD(W("00"), W("04"), P0, P1, ID("03"), "fedcba98 76543210", ID("0a"), W("00"), W("02"),
               NIL) "65666768" //
          HEAD(W("00"), W("02"), P0, P1, ID("03"), "fedcba98 76543210", ID("0a"), W("00"), W("02"),
               NIL) "696a");
    T_EQ(3, n.n_sent);
    // cancel, once there is credit again
    T_EQ(PLI_IMPI_OK, feed(HEAD(W("02"), W("00"), P1, P0, NIL, NIL, NIL, W("00"), W("00"), NIL)));
    t_send(&n, 0, 1, 3, "x", 1, true);
    wrote(HEAD(W("01"), W("01"), P0, P1, ID("04"), NIL, ID("01"), W("00"), W("03"), NIL) "78");
    struct pli_impi_cancel c = { 0, 1, 4 };
    enum pli_impi_cancel_result r;
    T_EQ(PLI_IMPI_OK, pli_impi_engine_cancel(n.e, &c, &r));
    T_EQ(PLI_IMPI_CANCEL_ASKED, r);
    wrote(HEAD(W("04"), W("00"), P0, P1, ID("04"), NIL, NIL, W("00"), W("03"), NIL));
    T_EQ(PLI_IMPI_OK,
         feed(HEAD(W("05"), W("00"), P1, P0, ID("04"), NIL, NIL, W("00"), W("03"), NIL)));
    T_EQ(1, n.n_yes);
    pli_impi_engine_finish(n.e);
    wrote("00000007 00000000" NIL NIL "ffffffff ffffffff" NIL NIL
          "ffffffff ffffffff" NIL NIL NIL NIL NIL NO_QOS);
    T_EQ(PLI_IMPI_LINK_OPEN, pli_impi_engine_link(n.e, 1));
    T_EQ(PLI_IMPI_OK, feed("00000007 00000080" NIL NIL "ffffffff ffffffff" NIL NIL
                           "ffffffff ffffffff" NIL NIL ID("80") NIL NIL NO_QOS));
    T_EQ(PLI_IMPI_LINK_OVER, pli_impi_engine_link(n.e, 1));
    finish();
}

static void test_in(void)
{
    begin();
    // short: request id 0 is fine; rank and tag are the sender's business
    T_EQ(PLI_IMPI_OK, feed(HEAD(W("00"), W("03"), P1, P0, NIL, NIL, ID("03"), W("09"), "7fffffff",
                                "ffffffff ffffffff") "717273"));
    T_TRUE(n.tail->has_all && memcmp(n.tail->data, "qrs", 3) == 0);
    T_EQ(0, n.tail->a.handle);
    T_EQ(1, n.tail->a.env.src);
    T_EQ(0, n.tail->a.env.dst);
    T_EQ(9, n.tail->a.env.lsrank);
    T_EQ(INT32_MAX, n.tail->a.env.tag);
    T_EQ(-1, (int64_t)n.tail->a.env.cid);
    wrote("");
    // the second counted packet: a credit
    T_EQ(PLI_IMPI_OK, feed(HEAD(W("01"), W("04"), P1, P0, "11111111 11111111", NIL, ID("06"),
                                W("00"), W("08"), ID("02")) "61626364"));
    wrote(HEAD(W("02"), W("00"), P0, P1, NIL, NIL, NIL, W("00"), W("00"), NIL));
    T_EQ(1, n.tail->a.handle);
    T_TRUE(!n.tail->has_all);
    t_accept(&n, n.tail);
    wrote(HEAD(W("03"), W("00"), P0, P1, "11111111 11111111", ID("01"), NIL, W("00"), W("08"),
               ID("02")));
    T_EQ(PLI_IMPI_OK, feed(HEAD(W("00"), W("02"), P1, P0, "11111111 11111111", ID("01"), ID("06"),
                                W("00"), W("08"), ID("02")) "6566"));
    T_TRUE(n.tail->has_all && memcmp(n.tail->data, "abcdef", 6) == 0);
    // cancel: yes for what is unmatched, no for what is not there
    T_EQ(PLI_IMPI_OK, feed(HEAD(W("01"), W("01"), P1, P0, ID("55"), NIL, ID("01"), W("00"), W("01"),
                                ID("02")) "61"));
    wrote(HEAD(W("02"), W("00"), P0, P1, NIL, NIL, NIL, W("00"), W("00"), NIL));
    T_EQ(PLI_IMPI_OK,
         feed(HEAD(W("04"), W("80"), P1, P0, ID("55"), NIL, ID("80"), W("00"), W("01"), ID("02"))));
    wrote(HEAD(W("05"), W("00"), P0, P1, ID("55"), NIL, NIL, W("00"), W("01"), ID("02")));
    T_EQ(PLI_IMPI_OK,
         feed(HEAD(W("04"), W("00"), P1, P0, ID("56"), NIL, NIL, W("00"), W("01"), NIL)));
    wrote(HEAD(W("02"), W("00"), P0, P1, NIL, NIL, NIL, W("00"), W("00"), NIL) //
          HEAD(W("06"), W("00"), P0, P1, ID("56"), NIL, NIL, W("00"), W("00"), NIL));
    finish();
}

static void refuse(const char *hex, const char *reason)
{
    begin();
    uint64_t req = t_send(&n, 0, 1, 1, "abcdef", 6, true); // request 1: awaits SYNCACK
    T_EQ(1, req);
    struct iovec iov[4];
    T_EQ(2, pli_impi_engine_out_iov(n.e, 1, iov, 4));
    pli_impi_engine_out_done(n.e, 1, 132);
    T_TRUE(feed(hex) < 0);
    T_EQ(1, n.n_down);
    T_TRUE(n.down_err < 0);
    T_EQ(1, n.n_sent_err); // and the send is told of it
    T_EQ(PLI_IMPI_LINK_LOST, pli_impi_engine_link(n.e, 1));
    if (strstr(n.log, reason) == NULL || strstr(n.log, "lost host 1 of client 1") == NULL) {
        fprintf(stderr, "log is '%s', want '%s'\n", n.log, reason);
        exit(1);
    }
    T_EQ(PLI_IMPI_ERR_PEER, pli_impi_engine_input(n.e, 1, "x", 1));
    T_EQ(0, pli_impi_engine_out_iov(n.e, 1, iov, 4));
    struct pli_impi_send s = { .env = { .src = 0, .dst = 1 } };
    T_EQ(PLI_IMPI_ERR_PEER, pli_impi_engine_send(n.e, &s, &req));
    finish();
}

#define BARE(type, src, dst, srqid)                                                                \
    HEAD(W(type), W("00"), src, dst, srqid, NIL, NIL, W("00"), W("00"), NIL)
#define ZEROES NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL

static void test_refuse(void)
{
    static const char other[] = "00000000 00000000 0000ffff 7f000001 00000000 000007d0";
    char hex[2000];
    refuse("00000008 00000000" ZEROES, "no packet");
    refuse("47455420 2f204854" ZEROES, "no packet");
    refuse("00000000 00000000" ZEROES, "from no process of its own");
    refuse(BARE("00", P0, P0, NIL), "from no process of its own");
    refuse(BARE("00", P1, P1, NIL), "for no process of ours");
    snprintf(hex, sizeof hex, "00000000 00000000 %s " P0 NIL NIL NIL NIL NIL NO_QOS, other);
    refuse(hex, "from no process of its own"); // the other form of the address is another name
    refuse(HEAD(W("00"), W("05"), P1, P0, NIL, NIL, ID("05"), W("00"), W("00"), NIL),
           "5 bytes of a message of 5"); // above the data length
    refuse(HEAD(W("00"), W("03"), P1, P0, NIL, NIL, ID("02"), W("00"), W("00"), NIL),
           "3 bytes of a message of 2");
    refuse(HEAD(W("01"), W("00"), P1, P0, NIL, NIL, ID("02"), W("00"), W("00"), NIL),
           "0 bytes of a message of 2");
    refuse(HEAD(W("00"), W("02"), P1, P0, NIL, ID("07"), ID("09"), W("00"), W("00"), NIL),
           "continues no message (handle 7)");
    refuse(BARE("02", P1, P0, NIL), "acknowledged more packets");
    refuse(BARE("03", P1, P0, ID("09")), "acknowledged request 9");
    refuse(BARE("05", P1, P0, ID("01")), "CANCELYES of request 1 fits nothing");
    refuse(BARE("06", P1, P0, ID("02")), "CANCELNO of request 2 fits nothing");
    refuse(BARE("04", P1, P0, NIL) BARE("04", P1, P0, NIL) BARE("04", P1, P0, NIL)
               BARE("04", P1, P0, NIL) BARE("04", P1, P0, NIL),
           "more than hiwater 4");
    refuse(BARE("03", P1, P0, ID("01")) BARE("03", P1, P0, ID("01")), "acknowledged request 1");

    // data after FINI
    begin();
    T_EQ(PLI_IMPI_OK, feed(BARE("07", P1, P0, NIL)));
    T_EQ(1, n.n_fini);
    T_EQ(PLI_IMPI_OK, feed(BARE("02", P1, P0, NIL))); // a late credit is nothing to us
    T_TRUE(feed(BARE("00", P1, P0, NIL)) < 0);
    T_TRUE(strstr(n.log, "data after FINI") != NULL);
    finish();

    // the end of the stream without FINI, in the middle of a message
    begin();
    T_EQ(PLI_IMPI_OK,
         feed(HEAD(W("00"), W("04"), P1, P0, NIL, NIL, ID("04"), W("00"), W("00"), NIL) "6162"));
    pli_impi_engine_eof(n.e, 1, PLI_IMPI_OK);
    T_EQ(PLI_IMPI_ERR_PEER, n.down_err);
    T_TRUE(strstr(n.log, "ended before its FINI") != NULL);
    finish();

    // an accepted long message that will not end
    begin();
    n.is_auto = true;
    T_EQ(PLI_IMPI_OK, feed(HEAD(W("01"), W("04"), P1, P0, NIL, NIL, "00ffffff ffffffff", W("00"),
                                W("00"), NIL)));
    T_TRUE(n.head == NULL);
    finish();
    begin();
    T_EQ(PLI_IMPI_OK, feed(HEAD(W("01"), W("04"), P1, P0, NIL, NIL, ID("06"), W("00"), W("00"),
                                NIL) "61626364"));
    t_accept(&n, n.tail);
    pli_impi_engine_eof(n.e, 1, PLI_IMPI_ERR_SYS);
    T_EQ(1, n.n_recv_err);
    T_EQ(PLI_IMPI_ERR_SYS, n.down_err);
    finish();

    // no room
    begin();
    n.refuses_room = true;
    T_TRUE(feed(HEAD(W("00"), W("01"), P1, P0, NIL, NIL, ID("01"), W("00"), W("00"), NIL) "61") <
           0);
    T_EQ(PLI_IMPI_ERR_NOMEM, n.down_err);
    finish();

    // an end that comes early, but after FINI, does no harm
    begin();
    T_EQ(PLI_IMPI_OK, feed(BARE("07", P1, P0, NIL)));
    pli_impi_engine_eof(n.e, 1, PLI_IMPI_OK);
    T_EQ(PLI_IMPI_OK, n.down_err);
    T_EQ(PLI_IMPI_LINK_OVER, pli_impi_engine_link(n.e, 1));
    finish();
}

int main(void)
{
    srand(2);
    job = t_job(&shape);
    test_out();
    test_in();
    test_refuse();
    pli_impi_job_destroy(job);
    return 0;
}
