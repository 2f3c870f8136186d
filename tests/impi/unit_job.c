// SPDX-License-Identifier: BSD-3-Clause
// The job built from collated labels: order, negotiation, and what must be refused.
#include "t.h"
#include "wire/impi_collated.h"
#include "wire/impi_job.h"

static struct pli_impi_collated c;
static char why[200];

static void add(uint32_t label, uint32_t mask, const char *hex)
{
    static unsigned char buf[4096];
    struct pli_impi_cmd cmd = {
        .cmd = PLI_IMPI_CMD_COLL, .label = label, .mask = mask, .data = buf
    };
    cmd.len = t_bytes(hex, buf, sizeof buf);
    int row = pli_impi_label_find(label);
    free(c.row[row].data); // a later one replaces an earlier one here
    c.row[row].data = NULL;
    T_EQ(PLI_IMPI_OK, pli_impi_collated_add(&c, &cmd));
}

#define ADDR(last) "00000000 00000000 00000000 7f0000" last

// Two clients: the first with hosts of 1 and 2 procs, the second with one host of 2.
static void good(void)
{
    pli_impi_collated_fini(&c);
    add(0x1000, 3, "00000000 00000000 00000000 00000000 00000001 00000000");
    add(0x1100, 3, "00000002 00000001");
    add(0x1200, 3, "00000003 00000002");
    add(0x1300, 3, "00010000 00000400");
    add(0x1400, 3, "7fffffff 00007fff");
    add(0x1500, 3, "ffffffff 00000400");
    add(0x1600, 3, "00000004 ffffffff");
    add(0x2000, 3, ADDR("01") ADDR("02") ADDR("03"));
    add(0x2100, 3, "00001001 00001002 abcd1003");
    add(0x2200, 3, "00000001 00000002 00000002");
    add(0x2300, 3, "0000000a 00000005 00000014");
    add(0x2400, 3, "00000014 00000064 00000015");
    add(0x3000, 3, ADDR("01") ADDR("02") ADDR("02") ADDR("03") ADDR("03"));
    add(0x3100, 3,
        "0000000000000001 0000000000000001 0000000000000002"
        "0000000000000001 0000000000000002");
}

static void test_good(void)
{
    struct pli_impi_job *job = NULL;
    good();
    T_EQ(PLI_IMPI_OK, pli_impi_job_create(2, &c, why, sizeof why, &job));
    T_EQ(3, job->n_host);
    T_EQ(5, job->n_proc);
    T_EQ(0x400, job->datalen);
    T_EQ(32767, job->tag_ub);
    T_EQ(1024, job->coll_xsize);
    T_EQ(4, job->coll_maxlinear);
    T_EQ(5, job->ackmark); // the minima come from different hosts
    T_EQ(20, job->hiwater);
    T_EQ(0, job->client[0].first_host);
    T_EQ(2, job->client[1].first_host);
    T_EQ(3, job->client[1].first_rank);
    T_EQ(0, job->client[0].version.major);
    T_EQ(1, job->client[1].version.major);
    T_EQ(1, job->host[1].first_rank);
    T_EQ(3, job->host[2].first_rank);
    T_EQ(1, job->host[2].client);
    T_EQ(0x1003, job->host[2].h.port); // the low 16 bits count
    static const uint32_t host_of[] = { 0, 1, 1, 2, 2 };
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t rank = 99;
        T_EQ(host_of[i], job->proc[i].host);
        T_EQ(PLI_IMPI_OK, pli_impi_job_find(job, &job->proc[i].id, &rank));
        T_EQ(i, rank);
    }
    struct pli_impi_proc_id other = job->proc[0].id;
    uint32_t rank;
    other.pid = 7;
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_job_find(job, &other, &rank));
    other = job->proc[0].id;
    other.host[10] = other.host[11] = 0xff; // the same address in its other form is another proc
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_job_find(job, &other, &rank));
    pli_impi_job_destroy(job);
}

static void refuse(const char *reason)
{
    struct pli_impi_job *job = NULL;
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_job_create(2, &c, why, sizeof why, &job));
    T_TRUE(job == NULL);
    if (strstr(why, reason) == NULL) {
        fprintf(stderr, "got reason '%s', want one with '%s'\n", why, reason);
        exit(1);
    }
}

static void test_refuse(void)
{
    static const struct {
        uint32_t label, mask;
        const char *hex, *reason;
    } bad[] = {
        { 0x1000, 3, "00000000 00000000 00000001 00000000", "1 lists for 2 clients" },
        { 0x1000, 3, "00000001 00000000 00000000 00000000", "does not speak version 0.0" },
        { 0x1000, 3, "0000000000000000 0000000000000000 0000000000000000", "more lists" },
        { 0x1000, 3, "0000000000000000 0000000000000001 0000000000000001", "out of order" },
        { 0x1000, 3, "00000000", "not a multiple" },
        { 0x1100, 3, "00000002", "1 elements for 2" },
        { 0x1100, 3, "00000002 00000000", "client 1 has 0 hosts" },
        { 0x1100, 3, "ffffffff 00000001", "client 0 has 4294967295 hosts" },
        { 0x1100, 3, "00000001 00000001", "IMPI_H_IPV6 has 3 elements for 2" },
        { 0x1200, 3, "08000000 0fffffff", "client 1 has 1 hosts and 268435455 procs" },
        { 0x1200, 3, "00000002 00000003", "do not add up" },
        { 0x1300, 3, "00000000 00000001", "DATALEN is 0" },
        { 0x1300, 3, "00000001", "DATALEN has 4 bytes for 2" },
        { 0x1400, 3, "00007ffe 7fffffff", "below 32767" },
        { 0x1400, 1, "7fffffff", "client 1 did not send IMPI_C_TAGUB" },
        { 0x1500, 3, "ffffffff 00000401", "another than client 0" },
        { 0x1600, 3, "fffffffe 00000004", "COLL_MAXLINEAR -2" },
        { 0x2100, 3, "00001001 00000000 00001003", "port 0" },
        { 0x2200, 3, "00000000 00000003 00000002", "0 procs" },
        { 0x2300, 3, "0000000a 00000000 00000014", "ackmark 0" },
        { 0x2300, 3, "0000000a 00000005 00000016", "ackmark 22 and hiwater 21" },
        { 0x3100, 3,
          "0000000000000001 0000000000000001 0000000000000001"
          "0000000000000001 0000000000000002",
          "procs 1 and 2 have the same" },
        { 0x3000, 3, ADDR("01"), "IMPI_P_IPV6 has 1 elements for 5" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        good();
        add(bad[i].label, bad[i].mask, bad[i].hex);
        refuse(bad[i].reason);
    }
    good();
    free(c.row[5].data);
    c.row[5].data = NULL;
    refuse("server did not send IMPI_C_COLL_XSIZE");
    struct pli_impi_job *job = NULL;
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_job_create(0, &c, why, sizeof why, &job));
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_job_create(33, &c, why, sizeof why, &job));
}

// A client that sent no data length makes it 1.
static void test_no_datalen(void)
{
    struct pli_impi_job *job = NULL;
    good();
    add(0x1300, 2, "00001000");
    T_EQ(PLI_IMPI_OK, pli_impi_job_create(2, &c, why, sizeof why, &job));
    T_EQ(1, job->datalen);
    pli_impi_job_destroy(job);
}

static void test_pass_on(void)
{
    static unsigned char buf[4096];
    struct pli_impi_collated d = { 0 };
    good();
    size_t len = pli_impi_collated_len(&c);
    T_TRUE(len <= sizeof buf);
    pli_impi_collated_put(&c, buf);
    T_HEX("434f4c4c 00000020 00001000 00000003", buf, 16);
    T_EQ(PLI_IMPI_OK, pli_impi_collated_get(&d, buf, len));
    for (int i = 0; i < PLI_IMPI_N_LABEL; i++) {
        T_EQ(c.row[i].mask, d.row[i].mask);
        T_EQ(c.row[i].len, d.row[i].len);
        T_TRUE(c.row[i].len == 0 || memcmp(c.row[i].data, d.row[i].data, c.row[i].len) == 0);
    }
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_collated_get(&d, buf, len)); // a label twice
    pli_impi_collated_fini(&d);
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_collated_get(&d, buf, len - 1));
    pli_impi_collated_fini(&d);
}

int main(void)
{
    test_good();
    test_refuse();
    test_no_datalen();
    test_pass_on();
    pli_impi_collated_fini(&c);
    return 0;
}
