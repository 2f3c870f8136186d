// SPDX-License-Identifier: BSD-3-Clause
// The client's side of startup: a byte-exact transcript, the same byte by byte, and servers that do
// not play by the rules.
#include "engine/impi_client.h"
#include "t_job.h"

static const struct t_shape one = { 1, 1, 2, 1024, 10, 20 };
static char last[400];

static void keep(void *arg, enum pli_impi_log_level level, const char *line)
{
    (void)arg;
    if (level != PLI_IMPI_LOG_STEP) {
        snprintf(last, sizeof last, "%s", line);
    }
}

static struct pli_impi_client *make(uint32_t rank, bool none, bool has_key)
{
    static struct t_client me;
    struct pli_impi_client *c = NULL;
    t_client(&one, 0, &me);
    struct pli_impi_client_conf conf = { .rank = rank,
                                         .has_none = none,
                                         .has_key = has_key,
                                         .key = 0x0102030405060708,
                                         .info = &me.info,
                                         .limit = 1000,
                                         .log = { keep, NULL } };
    T_EQ(PLI_IMPI_OK, pli_impi_client_create(&conf, &c));
    last[0] = '\0';
    return c;
}

static void wrote(struct pli_impi_client *c, const char *hex)
{
    const unsigned char *p;
    size_t len = pli_impi_client_output(c, &p);
    T_HEX(hex, p, len);
    pli_impi_client_wrote(c, len);
}

static enum pli_impi_err feed(struct pli_impi_client *c, const char *hex, size_t step)
{
    unsigned char buf[4096];
    size_t len = t_bytes(hex, buf, sizeof buf);
    for (size_t at = 0; at < len; at += step) {
        size_t n = len - at < step ? len - at : step;
        enum pli_impi_err err = pli_impi_client_input(c, buf + at, n);
        if (err != PLI_IMPI_OK) {
            return err;
        }
    }
    return PLI_IMPI_OK;
}

#define ADDR "00000000 00000000 00000000 7f000001"
#define COLL "434f4c4c "

static const char our_labels[] =
    COLL "0000000c 00001000 00000000 00000000" COLL "00000008 00001100 00000001" //
    COLL "00000008 00001200 00000002" COLL "00000008 00001300 00000400"          //
    COLL "00000008 00001400 7fffffff" COLL "00000008 00001500 ffffffff"          //
    COLL "00000008 00001600 ffffffff" COLL "00000014 00002000" ADDR              //
        COLL "00000008 00002100 00000001" COLL "00000008 00002200 00000002"      //
    COLL "00000008 00002300 0000000a" COLL "00000008 00002400 00000014"          //
    COLL "00000024 00003000" ADDR ADDR                                           //
        COLL "00000014 00003100 00000000000003e8 00000000000003e9";

// As the server hands them back to a job of one client, with a label and a command nobody knows.
static const char all_labels[] = COLL "00000010 00001000 00000001 00000000 00000000"       //
    COLL "0000000c 00001100 00000001 00000001" COLL "0000000c 00001200 00000001 00000002"  //
    COLL "0000000c 00001300 00000001 00000400" COLL "0000000c 00001400 00000001 7fffffff"  //
    COLL "0000000c 00001500 00000001 ffffffff" COLL "0000000c 00001600 00000001 ffffffff"  //
    COLL "00000009 00001700 00000001 aa"                                                   //
    COLL "00000018 00002000 00000001" ADDR COLL "0000000c 00002100 00000001 00000001"      //
                                      "58585858 00000003 010203"                           //
    COLL "0000000c 00002200 00000001 00000002" COLL "0000000c 00002300 00000001 0000000a"  //
    COLL "0000000c 00002400 00000001 00000014" COLL "00000028 00003000 00000001" ADDR ADDR //
        COLL "00000018 00003100 00000001 00000000000003e8 00000000000003e9";

static void test_good(size_t step)
{
    struct pli_impi_client *c = make(0, true, true);
    wrote(c, "41555448 00000004 00000003");
    T_EQ(PLI_IMPI_OK, feed(c, "00000001 00000002 ffff", step)); // KEY, and two bytes of its own
    wrote(c, "01020304 05060708 494d5049 00000004 00000000");
    T_EQ(PLI_IMPI_OK, feed(c, "494d5049 00000004 00000001", step));
    wrote(c, our_labels);
    T_EQ(PLI_IMPI_CLIENT_LABELS, pli_impi_client_state(c));
    T_EQ(PLI_IMPI_ERR_ARG, pli_impi_client_finish(c));
    T_EQ(PLI_IMPI_OK, feed(c, all_labels, step));
    wrote(c, "444f4e45 00000000"); // not before all have come back
    T_TRUE(pli_impi_client_job(c) == NULL);
    T_EQ(PLI_IMPI_OK, feed(c, "444f4e45 00000000", step));
    T_EQ(PLI_IMPI_CLIENT_RUN, pli_impi_client_state(c));
    const struct pli_impi_job *job = pli_impi_client_job(c);
    T_EQ(2, job->n_proc);
    T_EQ(1001, job->proc[1].id.pid);
    T_EQ(1024, job->datalen);
    T_TRUE(pli_impi_collated_len(pli_impi_client_collated(c)) > 0);
    T_EQ(PLI_IMPI_OK, pli_impi_client_finish(c));
    wrote(c, "46494e49 00000000");
    T_EQ(PLI_IMPI_OK, pli_impi_client_eof(c));
    pli_impi_client_destroy(c);
}

static void said(const char *what)
{
    if (strstr(last, what) == NULL) {
        fprintf(stderr, "log is '%s', want '%s'\n", last, what);
        exit(1);
    }
}

// A server that goes wrong after `n_good` of the good steps.
static void refuse(int n_good, const char *hex, const char *why)
{
    struct pli_impi_client *c = make(0, true, false);
    if (n_good > 0) {
        T_EQ(PLI_IMPI_OK, feed(c, "00000000 00000000", 8));
    }
    if (n_good > 1) {
        T_EQ(PLI_IMPI_OK, feed(c, "494d5049 00000004 00000001", 8));
    }
    T_TRUE(feed(c, hex, 5) < 0);
    T_EQ(PLI_IMPI_CLIENT_FAILED, pli_impi_client_state(c));
    said(why);
    T_TRUE(pli_impi_client_input(c, (const unsigned char *)"x", 1) < 0);
    pli_impi_client_destroy(c);
}

static void test_refuse(void)
{
    refuse(0, "00000001 00000000", "was not offered");
    refuse(0, "00000040 00000000", "makes no sense");
    refuse(1, "494d5049 00000004 00000000", "not in 1..32");
    refuse(1, "494d5049 00000004 00000021", "not in 1..32");
    refuse(1, "494d5049 00000008 0000000000000001", "of a wrong length");
    refuse(1, "434f4c4c ffffffff", "negative length");
    refuse(1, "434f4c4c 00000008 00001000 00000001", "before the number of clients");
    refuse(1, "444f4e45 00000000", "before the number of clients");
    refuse(1, "46494e49 00000000", "never sends");
    refuse(2, "494d5049 00000004 00000001", "twice");
    refuse(2, "434f4c4c 7fffffff", "above the limit");
    refuse(2, "434f4c4c 00000008 00001100 00000000 434f4c4c 00000008 00001100 00000000",
           "a label twice");
    refuse(2, "444f4e45 00000000", "did not send IMPI_C_VERSION");

    struct pli_impi_client *c = make(3, true, false);
    T_EQ(PLI_IMPI_OK, feed(c, "00000000 00000000", 8));
    T_EQ(PLI_IMPI_ERR_ARG, feed(c, "494d5049 00000004 00000003", 12));
    said("fewer clients");
    pli_impi_client_destroy(c);

    static const struct {
        const char *hex, *why;
    } eof[] = { { "", "no method in common" },
                { "00000000 00000000", "wrong key" },
                { "00000000 00000000 494d5049 00000004 00000001", "rank is taken" } };
    for (size_t i = 0; i < sizeof eof / sizeof *eof; i++) {
        c = make(0, true, false);
        T_EQ(PLI_IMPI_OK, feed(c, eof[i].hex, 3));
        T_TRUE(pli_impi_client_eof(c) < 0);
        said(eof[i].why);
        pli_impi_client_destroy(c);
    }
}

// The server chooses TLS: nothing but TLS may follow its choice, and the key is not sent.
static void test_tls(void)
{
    static struct t_client me;
    static const char *const bad[] = { "00000010 00000000 49", "00000010 00000001 49",
                                       "00000010 00000000 494d5049 00000004 00000001" };
    t_client(&one, 0, &me);
    struct pli_impi_client_conf conf = {
        .has_key = true, .may_tls = true, .key = 5, .info = &me.info, .log = { keep, NULL }
    };
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        struct pli_impi_client *c = NULL;
        T_EQ(PLI_IMPI_OK, pli_impi_client_create(&conf, &c));
        wrote(c, "41555448 00000004 00010002");
        T_TRUE(!pli_impi_client_turns_to_tls(c));
        if (i < sizeof bad / sizeof *bad) {
            T_EQ(PLI_IMPI_ERR_PROTO, feed(c, bad[i], 4096));
            said("TLS");
            T_TRUE(!pli_impi_client_turns_to_tls(c));
        } else {
            T_EQ(PLI_IMPI_OK, feed(c, "00000010 00000000", 1));
            T_TRUE(pli_impi_client_turns_to_tls(c) && !pli_impi_client_turns_to_tls(c));
            wrote(c, "494d5049 00000004 00000000");
            T_EQ(PLI_IMPI_OK, feed(c, "494d5049 00000004 00000001", 5));
            T_EQ(PLI_IMPI_CLIENT_LABELS, pli_impi_client_state(c));
        }
        pli_impi_client_destroy(c);
    }
}

static void test_conf(void)
{
    static struct t_client me;
    struct pli_impi_client *c = NULL;
    t_client(&one, 0, &me);
    struct pli_impi_client_conf conf = { .info = &me.info, .log = { keep, NULL } };
    T_EQ(PLI_IMPI_ERR_AUTH, pli_impi_client_create(&conf, &c));
    said("no authentication method");
    conf.has_none = true;
    conf.rank = 32;
    T_EQ(PLI_IMPI_ERR_ARG, pli_impi_client_create(&conf, &c));
    conf.rank = 0;
    me.host[0].hiwater = 5;
    T_EQ(PLI_IMPI_ERR_RANGE, pli_impi_client_create(&conf, &c));
    said("ackmark <= hiwater");
    T_TRUE(c == NULL);
}

int main(void)
{
    test_good(4096);
    test_good(1);
    test_good(7);
    test_refuse();
    test_tls();
    test_conf();
    return 0;
}
