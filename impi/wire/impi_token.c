// SPDX-License-Identifier: BSD-3-Clause
// Tokens as bytes and as text.
#include "wire/impi_token.h"
#include "wire/impi_byte.h"
#include <stdio.h>
#include <string.h>

enum {
    HAS_TLS = 1,
    AT_KEY = 3,
    AT_SECRET = AT_KEY + 8,
    AT_HOST = AT_SECRET + PLI_IMPI_TOKEN_SECRET,
    SUM = 4,
    MAX_BYTES = AT_HOST + PLI_IMPI_TOKEN_HOST,
};

static const char prefix[] = "impi1-";
static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// It finds a letter that was lost or changed; it is no proof of anything.
static uint32_t checksum(const unsigned char *p, size_t len)
{
    uint32_t h = 0x811c9dc5u;
    for (size_t i = 0; i < len; i++) {
        h = (h ^ p[i]) * 0x01000193u;
    }
    return h;
}

void pli_impi_token_encode(const char *begin, const unsigned char *bytes, size_t len,
                           char text_out[PLI_IMPI_TOKEN_TEXT])
{
    unsigned char b[PLI_IMPI_TOKEN_BYTES + SUM + 2] = { 0 };
    memcpy(b, bytes, len);
    pli_impi_byte_put32(b + len, checksum(b, len));
    len += SUM;
    char *to = text_out + snprintf(text_out, PLI_IMPI_TOKEN_TEXT, "%s", begin);
    for (size_t at = 0; at < len; at += 3) {
        uint32_t v = (uint32_t)b[at] << 16 | (uint32_t)b[at + 1] << 8 | b[at + 2];
        for (size_t k = 0; k < 4 && at + k <= len; k++) { // k + 1 digits hold k bytes
            *to++ = digits[v >> (18 - 6 * k) & 63];
        }
    }
    *to = '\0';
}

void pli_impi_token_put(const struct pli_impi_token *token, char text_out[PLI_IMPI_TOKEN_TEXT])
{
    unsigned char b[MAX_BYTES] = { 0 };
    size_t n_host = strnlen(token->host, sizeof token->host - 1);
    b[0] = token->has_tls ? HAS_TLS : 0;
    b[1] = (unsigned char)(token->port >> 8);
    b[2] = (unsigned char)token->port;
    pli_impi_byte_put64(b + AT_KEY, token->key);
    memcpy(b + AT_SECRET, token->secret, sizeof token->secret);
    memcpy(b + AT_HOST, token->host, n_host);
    pli_impi_token_encode(prefix, b, AT_HOST + n_host, text_out);
}

// The bytes of base64url; 0: it is none, or is too long.
static size_t get_bytes(const char *text, unsigned char b[PLI_IMPI_TOKEN_BYTES + SUM + 2])
{
    size_t n = strlen(text), len = n / 4 * 3 + (n % 4 > 0 ? n % 4 - 1 : 0);
    if (n % 4 == 1 || len > PLI_IMPI_TOKEN_BYTES + SUM) {
        return 0;
    }
    for (size_t at = 0; at < n; at += 4) {
        uint32_t v = 0;
        for (size_t k = 0; k < 4; k++) {
            const char *d = at + k < n ? strchr(digits, text[at + k]) : digits;
            if (d == NULL) {
                return 0;
            }
            v = v << 6 | (uint32_t)(d - digits);
        }
        for (size_t k = 0; k < 3 && at / 4 * 3 + k < len; k++) {
            b[at / 4 * 3 + k] = (unsigned char)(v >> (16 - 8 * k));
        }
    }
    return len;
}

size_t pli_impi_token_decode(const char *text, unsigned char bytes_out[PLI_IMPI_TOKEN_BYTES])
{
    unsigned char b[PLI_IMPI_TOKEN_BYTES + SUM + 2];
    size_t len = get_bytes(text, b);
    if (len <= SUM || pli_impi_byte_get32(b + len - SUM) != checksum(b, len - SUM)) {
        return 0;
    }
    memcpy(bytes_out, b, len - SUM);
    return len - SUM;
}

bool pli_impi_token_is_elastic(const char *text)
{
    size_t n = sizeof "elastic" - 1;
    size_t n_version = strncmp(text, "elastic", n) == 0 ? strspn(text + n, "0123456789") : 0;
    return n_version > 0 && text[n + n_version] == '-';
}

const char *pli_impi_token_get(const char *text, struct pli_impi_token *out)
{
    unsigned char b[PLI_IMPI_TOKEN_BYTES];
    if (pli_impi_token_is_elastic(text)) {
        return "is one of an elastic world, which only jobs of Pliant MPI join, by mpiexec --join";
    }
    size_t n_version = strspn(text + (strncmp(text, "impi", 4) == 0 ? 4 : 0), "0123456789");
    if (strncmp(text, "impi", 4) != 0 || n_version == 0 || text[4 + n_version] != '-') {
        return "does not begin with 'impi1-': it is the word that mpiexec --host-world has printed";
    }
    if (strncmp(text, prefix, sizeof prefix - 1) != 0) {
        return "is of another version of Pliant MPI; install the same one on both sides";
    }
    size_t len = pli_impi_token_decode(text + sizeof prefix - 1, b);
    if (len <= AT_HOST || len > MAX_BYTES - 1) {
        return "is damaged: a letter of it was lost or changed; copy the whole word again";
    }
    *out = (struct pli_impi_token){ .port = (uint16_t)(b[1] << 8 | b[2]),
                                    .key = pli_impi_byte_get64(b + AT_KEY),
                                    .has_tls = (b[0] & HAS_TLS) != 0 };
    memcpy(out->secret, b + AT_SECRET, sizeof out->secret);
    memcpy(out->host, b + AT_HOST, len - AT_HOST);
    return NULL;
}

void pli_impi_token_where(const struct pli_impi_token *token, char where_out[PLI_IMPI_TOKEN_WHERE])
{
    bool is_v6 = strchr(token->host, ':') != NULL;
    snprintf(where_out, PLI_IMPI_TOKEN_WHERE, is_v6 ? "[%s]:%u" : "%s:%u", token->host,
             token->port);
}
