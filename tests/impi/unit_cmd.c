// SPDX-License-Identifier: BSD-3-Clause
// Byte-exact transcripts of the commands between client and server, written and read.
#include "t.h"
#include "wire/impi_cmd_wire.h"
#include "wire/impi_label_wire.h"

static unsigned char buf[256];

static struct pli_impi_cmd read_cmd(const char *hex, bool from_client)
{
    struct pli_impi_cmd_head head;
    struct pli_impi_cmd cmd;
    size_t n = t_bytes(hex, buf, sizeof buf);
    T_EQ(PLI_IMPI_OK, pli_impi_cmd_get_head(buf, n, &head));
    T_EQ(n, head.len + 8);
    T_EQ(PLI_IMPI_OK, from_client ? pli_impi_cmd_get_client(&head, buf + 8, &cmd)
                                  : pli_impi_cmd_get_server(&head, buf + 8, &cmd));
    return cmd;
}

static void refuse(const char *hex, bool from_client)
{
    struct pli_impi_cmd_head head;
    struct pli_impi_cmd cmd;
    size_t n = t_bytes(hex, buf, sizeof buf);
    enum pli_impi_err err = pli_impi_cmd_get_head(buf, n, &head);
    if (err == PLI_IMPI_OK) {
        err = from_client ? pli_impi_cmd_get_client(&head, buf + 8, &cmd)
                          : pli_impi_cmd_get_server(&head, buf + 8, &cmd);
    }
    T_EQ(PLI_IMPI_ERR_PROTO, err);
}

static void test_write(void)
{
    T_HEX("41555448 00000004 00000001", buf, pli_impi_cmd_put_auth(buf, 1));
    T_HEX("41555448 00000004 00000003", buf, pli_impi_cmd_put_auth(buf, 3));
    T_HEX("00000000 00000000", buf, pli_impi_cmd_put_method(buf, PLI_IMPI_AUTH_NONE, 0));
    T_HEX("00000001 00000000", buf, pli_impi_cmd_put_method(buf, PLI_IMPI_AUTH_KEY, 0));
    T_HEX("0123456789abcdef", buf, pli_impi_cmd_put_key(buf, 0x0123456789abcdef));
    T_HEX("494d5049 00000004 00000000", buf, pli_impi_cmd_put_impi(buf, 0));
    T_HEX("494d5049 00000004 0000001f", buf, pli_impi_cmd_put_impi(buf, 31));
    T_HEX("494d5049 00000004 ffffffff", buf, pli_impi_cmd_put_impi(buf, -1));
    T_HEX("434f4c4c 0000000c 00001000", buf, pli_impi_cmd_put_coll(buf, 0x1000, 8));
    T_HEX("434f4c4c 00000018 00001000 00000003", buf, pli_impi_cmd_put_collall(buf, 0x1000, 3, 16));
    T_HEX("434f4c4c 00000008 00001500 00000000", buf, pli_impi_cmd_put_collall(buf, 0x1500, 0, 0));
    T_HEX("444f4e45 00000000", buf, pli_impi_cmd_put_done(buf));
    T_HEX("46494e49 00000000", buf, pli_impi_cmd_put_fini(buf));
}

static void test_read_client(void)
{
    struct pli_impi_cmd c = read_cmd("41555448 00000004 00000002", true);
    T_EQ(PLI_IMPI_CMD_AUTH, c.cmd);
    T_EQ(2, c.mask);
    c = read_cmd("494d5049 00000004 00000007", true);
    T_EQ(PLI_IMPI_CMD_IMPI, c.cmd);
    T_EQ(7, c.value);
    c = read_cmd("494d5049 00000004 fffffffe", true);
    T_EQ(-2, c.value);
    c = read_cmd("434f4c4c 00000014 00003100 000000000000000b 000000000000000c", true);
    T_EQ(PLI_IMPI_CMD_COLL, c.cmd);
    T_EQ(0x3100, c.label);
    T_HEX("000000000000000b 000000000000000c", c.data, c.len);
    c = read_cmd("434f4c4c 00000004 00001000", true);
    T_EQ(0, c.len);
    T_EQ(PLI_IMPI_CMD_DONE, read_cmd("444f4e45 00000000", true).cmd);
    T_EQ(PLI_IMPI_CMD_FINI, read_cmd("46494e49 00000000", true).cmd);
    T_EQ(0x58585858, read_cmd("58585858 00000003 010203", true).cmd); // unknown: to be skipped
}

static void test_read_server(void)
{
    struct pli_impi_cmd c = read_cmd("494d5049 00000004 00000002", false);
    T_EQ(2, c.value);
    c = read_cmd("434f4c4c 00000010 00001100 00000003 00000001 00000001", false);
    T_EQ(0x1100, c.label);
    T_EQ(3, c.mask);
    T_HEX("00000001 00000001", c.data, c.len);
    c = read_cmd("434f4c4c 00000008 00001500 00000000", false);
    T_EQ(0, c.mask);
    T_EQ(0, c.len);
    T_EQ(PLI_IMPI_CMD_DONE, read_cmd("444f4e45 00000000", false).cmd);
    uint32_t which, len;
    uint64_t key;
    t_bytes("00000001 00000010", buf, sizeof buf);
    T_EQ(PLI_IMPI_OK, pli_impi_cmd_get_method(buf, 8, &which, &len));
    T_EQ(1, which);
    T_EQ(16, len);
    T_EQ(PLI_IMPI_AGAIN, pli_impi_cmd_get_method(buf, 7, &which, &len));
    t_bytes("ffffffff fffffff6", buf, sizeof buf);
    T_EQ(PLI_IMPI_OK, pli_impi_cmd_get_key(buf, 8, &key));
    T_EQ(-10, (int64_t)key);
    T_EQ(PLI_IMPI_AGAIN, pli_impi_cmd_get_key(buf, 7, &key));
}

static void test_refuse(void)
{
    static const char *const client[] = {
        "41555448 00000005 0000000100", // AUTH with five bytes
        "41555448 00000000",            // AUTH with none
        "494d5049 00000003 000000",     // IMPI with three
        "434f4c4c 00000003 000010",     // COLL without a whole label
        "444f4e45 00000001 00",         // DONE with a payload
        "46494e49 00000004 00000000",   // FINI with a payload
        "434f4c4c ffffffff",            // a negative length
        "58585858 80000000",            // of an unknown command too
    };
    static const char *const server[] = {
        "41555448 00000004 00000001",         // a server sends no AUTH
        "46494e49 00000000",                  // and no FINI
        "494d5049 00000008 0000000000000000", // IMPI with eight bytes
        "434f4c4c 00000007 00001000 000000",  // COLL without a whole mask
        "444f4e45 00000004 00000000",
        "444f4e45 fffffffc",
    };
    for (size_t i = 0; i < sizeof client / sizeof *client; i++) {
        refuse(client[i], true);
    }
    for (size_t i = 0; i < sizeof server / sizeof *server; i++) {
        refuse(server[i], false);
    }
    struct pli_impi_cmd_head head;
    uint32_t which, len;
    T_EQ(PLI_IMPI_AGAIN, pli_impi_cmd_get_head(buf, 7, &head));
    T_EQ(PLI_IMPI_AGAIN, pli_impi_cmd_get_head(NULL, 0, &head));
    t_bytes("00000020 00000000", buf, sizeof buf); // there are 32 methods at most
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_cmd_get_method(buf, 8, &which, &len));
    t_bytes("00000000 80000000", buf, sizeof buf);
    T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_cmd_get_method(buf, 8, &which, &len));
}

// Every label of a client with two hosts and three procs, to the byte.
static void test_labels(void)
{
    static const struct pli_impi_version version[] = { { 0, 0 }, { 1, 2 } };
    static const struct pli_impi_host host[] = {
        { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1 }, 5000, 1, 10, 20 },
        { { 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2 }, 65535, 2, 8, 30 },
    };
    static const struct pli_impi_proc_id proc[] = {
        { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1 }, 11 },
        { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2 }, 12 },
        { { 0 }, UINT64_MAX },
    };
    struct pli_impi_client_info info = { .version = version,
                                         .n_version = 2,
                                         .host = host,
                                         .n_host = 2,
                                         .proc = proc,
                                         .n_proc = 3,
                                         .datalen = 65536,
                                         .tag_ub = INT32_MAX,
                                         .coll_xsize = -1,
                                         .coll_maxlinear = 7,
                                         .features = PLI_IMPI_HAS_TOKEN,
                                         .token = "0123456789abcde" };
    static const struct {
        uint32_t label;
        const char *hex;
    } want[PLI_IMPI_N_LABEL] = {
        { 0x1000, "00000000 00000000 00000001 00000002" },
        { 0x1100, "00000002" },
        { 0x1200, "00000003" },
        { 0x1300, "00010000" },
        { 0x1400, "7fffffff" },
        { 0x1500, "ffffffff" },
        { 0x1600, "00000007" },
        { 0x2000, "00000000 00000000 00000000 0a000001 20010db8 00000000 00000000 00000002" },
        { 0x2100, "00001388 0000ffff" },
        { 0x2200, "00000001 00000002" },
        { 0x2300, "0000000a 00000008" },
        { 0x2400, "00000014 0000001e" },
        { 0x3000, "00000000 00000000 00000000 0a000001 00000000 00000000 0000ffff 0a000002"
                  "00000000 00000000 00000000 00000000" },
        { 0x3100, "000000000000000b 000000000000000c ffffffffffffffff" },
        { 0x504c4954, "00000001 00000000 30313233 34353637 38396162 63646500" },
    };
    const char *why = NULL;
    T_EQ(PLI_IMPI_OK, pli_impi_label_check(&info, &why));
    for (int i = 0; i < PLI_IMPI_N_LABEL; i++) {
        T_EQ(i, pli_impi_label_find(want[i].label));
        size_t len = pli_impi_label_len(&info, i);
        T_TRUE(len <= sizeof buf);
        pli_impi_label_put(&info, i, buf);
        T_HEX(want[i].hex, buf, len);
        struct pli_impi_label_value v;
        T_EQ(PLI_IMPI_OK, pli_impi_label_get(i, buf, len, 0, &v));
        size_t n = len / pli_impi_label_table[i].size;
        T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_label_get(i, buf, len, n, &v));
        T_EQ(PLI_IMPI_ERR_PROTO, pli_impi_label_get(i, buf, len - 1, 0, &v));
    }
    T_EQ(-1, pli_impi_label_find(PLI_IMPI_NO_LABEL));
    T_EQ(-1, pli_impi_label_find(0x1700));
    struct pli_impi_label_value v;
    pli_impi_label_put(&info, 13, buf);
    T_EQ(PLI_IMPI_OK, pli_impi_label_get(13, buf, 24, 1, &v));
    T_EQ(12, v.u64);
    T_TRUE(pli_impi_label_is_ipv4(host[0].addr) && !pli_impi_label_is_ipv4(host[1].addr));
    T_TRUE(pli_impi_label_is_ipv4(proc[1].host) && !pli_impi_label_is_ipv4(proc[2].host));
    info.n_proc = 2;
    T_EQ(PLI_IMPI_ERR_RANGE, pli_impi_label_check(&info, &why));
    T_TRUE(strstr(why, "add up") != NULL);
}

int main(void)
{
    test_write();
    test_read_client();
    test_read_server();
    test_refuse();
    test_labels();
    return 0;
}
