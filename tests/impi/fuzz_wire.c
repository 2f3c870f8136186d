// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target of the wire library. The first byte chooses a parser, the rest is its input. What is
// read is written again and must give the same bytes.
#include "wire/impi_cmd_wire.h"
#include "wire/impi_ext32.h"
#include "wire/impi_collated.h"
#include "wire/impi_job.h"
#include "wire/impi_packet_wire.h"
#include "wire/impi_token.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(int cond)
{
    if (!cond) {
        abort();
    }
}

static void fuzz_cmd(const uint8_t *p, size_t len, int from_client)
{
    struct pli_impi_cmd_head head;
    struct pli_impi_cmd cmd;
    if (pli_impi_cmd_get_head(p, len, &head) != PLI_IMPI_OK || head.len > len - 8) {
        return;
    }
    enum pli_impi_err err = from_client ? pli_impi_cmd_get_client(&head, p + 8, &cmd)
                                        : pli_impi_cmd_get_server(&head, p + 8, &cmd);
    if (err != PLI_IMPI_OK) {
        return;
    }
    unsigned char out[16];
    size_t n = 0;
    if (cmd.cmd == PLI_IMPI_CMD_AUTH) {
        n = pli_impi_cmd_put_auth(out, cmd.mask);
    } else if (cmd.cmd == PLI_IMPI_CMD_IMPI) {
        n = pli_impi_cmd_put_impi(out, cmd.value);
    } else if (cmd.cmd == PLI_IMPI_CMD_COLL) {
        n = from_client ? pli_impi_cmd_put_coll(out, cmd.label, cmd.len)
                        : pli_impi_cmd_put_collall(out, cmd.label, cmd.mask, cmd.len);
        must(n + cmd.len == 8 + head.len);
    }
    must(memcmp(out, p, n) == 0);
}

static void fuzz_packet(const uint8_t *p, size_t len)
{
    struct pli_impi_packet pk;
    unsigned char out[PLI_IMPI_PACKET_HEAD];
    if (pli_impi_packet_get(p, len, &pk) != PLI_IMPI_OK) {
        return;
    }
    pli_impi_packet_put(out, &pk);
    must(memcmp(out, p, sizeof out) == 0);
    if (pli_impi_packet_check(&pk, 1024) == PLI_IMPI_OK) {
        must(pli_impi_packet_data(&pk) <= 1024);
    }
}

static void fuzz_job(const uint8_t *p, size_t len)
{
    if (len == 0) {
        return;
    }
    struct pli_impi_collated c = { 0 };
    struct pli_impi_job *job = NULL;
    char why[100];
    (void)pli_impi_collated_get(&c, p + 1, len - 1);
    if (pli_impi_job_create(p[0] % 34, &c, why, sizeof why, &job) == PLI_IMPI_OK) {
        must(job->n_proc >= job->n_host && job->n_host >= job->n_client);
        must(job->ackmark >= 1 && job->ackmark <= job->hiwater && job->datalen >= 1);
        for (uint32_t i = 0; i < job->n_proc; i++) {
            uint32_t rank;
            must(pli_impi_job_find(job, &job->proc[i].id, &rank) == PLI_IMPI_OK && rank == i);
        }
    }
    pli_impi_job_destroy(job);
    pli_impi_collated_fini(&c);
}

// A good set of labels of one client, in which the input takes the place of one row: reaches the
// checks that random bytes do not.
static void fuzz_row(const uint8_t *p, size_t len)
{
    static const struct pli_impi_version version = { 0, 0 };
    static const struct pli_impi_host host[2] = { { { 0 }, 1, 1, 1, 2 }, { { 1 }, 2, 2, 3, 4 } };
    static const struct pli_impi_proc_id proc[3] = { { { 0 }, 1 }, { { 0 }, 2 }, { { 0 }, 3 } };
    static const struct pli_impi_client_info info = {
        .version = &version,
        .host = host,
        .proc = proc,
        .n_version = 1,
        .n_host = 2,
        .n_proc = 3,
        .datalen = 64,
        .tag_ub = 32767,
        .coll_xsize = -1,
        .coll_maxlinear = -1,
        .features = 1,
    };
    if (len < 2) {
        return;
    }
    static unsigned char all[1024];
    size_t at = 0;
    for (int i = 0; i < PLI_IMPI_N_LABEL; i++) {
        int is_it = i == p[0] % PLI_IMPI_N_LABEL;
        size_t n = is_it ? len - 2 : pli_impi_label_len(&info, i);
        n = n > 256 ? 256 : n;
        at += pli_impi_cmd_put_collall(all + 1 + at, pli_impi_label_table[i].label,
                                       is_it ? p[1] : 1, n);
        if (is_it) {
            memcpy(all + 1 + at, p + 2, n);
        } else {
            pli_impi_label_put(&info, i, all + 1 + at);
        }
        at += n;
    }
    all[0] = 1;
    fuzz_job(all, at + 1);
}

static void fuzz_ext32(const uint8_t *p, size_t len)
{
    if (len < 17 || p[0] >= PLI_IMPI_N_EXT32) {
        return;
    }
    unsigned char native[16] = { 0 }, out[16];
    enum pli_impi_ext32_kind kind = (enum pli_impi_ext32_kind)p[0];
    must(pli_impi_ext32_unpack(kind, p + 1, 1, native) == PLI_IMPI_OK);
    must(pli_impi_ext32_pack(kind, native, 1, out) == PLI_IMPI_OK);
    if (kind != PLI_IMPI_EXT32_LDOUBLE) { // which may round
        must(memcmp(out, p + 1, pli_impi_ext32_size(kind)) == 0);
    }
    uint16_t se;
    uint64_t mant;
    pli_impi_ext32_to_x87(p + 1, &se, &mant);
    pli_impi_ext32_from_x87(se, mant, out);
}

// The input as the text of a token, and as what a token says, which its text must give again.
static void fuzz_token(const uint8_t *p, size_t len)
{
    char text[512] = "impi1-", where[PLI_IMPI_TOKEN_WHERE];
    size_t n = len < sizeof text - 7 ? len : sizeof text - 7;
    struct pli_impi_token made = { .host = "h" }, got;
    memcpy(text + 6, p, n);
    if (pli_impi_token_get(text, &got) == NULL) {
        pli_impi_token_where(&got, where);
        must(memchr(got.host, '\0', sizeof got.host) != NULL);
    }
    n = len < sizeof made.host - 1 ? len : sizeof made.host - 1;
    memcpy(made.host, p, n);
    made.host[0] = made.host[0] != '\0' ? made.host[0] : 'h';
    made.port = (uint16_t)len;
    made.has_tls = len % 2 != 0;
    memcpy(made.secret, p, len < sizeof made.secret ? len : sizeof made.secret);
    pli_impi_token_put(&made, text);
    must(pli_impi_token_get(text, &got) == NULL && strcmp(got.host, made.host) == 0);
    must(got.port == made.port && got.has_tls == made.has_tls && got.key == made.key);
    must(memcmp(got.secret, made.secret, sizeof got.secret) == 0);
    pli_impi_token_where(&got, where);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0) {
        return 0;
    }
    uint32_t which, n;
    uint64_t key;
    switch (data[0] % 8) {
    case 0:
        fuzz_cmd(data + 1, len - 1, 1);
        break;
    case 1:
        fuzz_cmd(data + 1, len - 1, 0);
        break;
    case 2:
        fuzz_packet(data + 1, len - 1);
        break;
    case 3:
        fuzz_job(data + 1, len - 1);
        break;
    case 4:
        fuzz_ext32(data + 1, len - 1);
        break;
    case 5:
        fuzz_row(data + 1, len - 1);
        break;
    case 6:
        fuzz_token(data + 1, len - 1);
        break;
    default:
        (void)pli_impi_cmd_get_method(data + 1, len - 1, &which, &n);
        (void)pli_impi_cmd_get_key(data + 1, len - 1, &key);
        break;
    }
    return 0;
}
