// SPDX-License-Identifier: BSD-3-Clause
// The token by which a job joins a world: one word that holds the address of the server, the key of
// the protocol and the secret of TLS. Context of every function: any thread.
//
//   "impi1-" and in base64url: Uint1 flags, Uint2 port, Uint8 key, the secret, the name or address
//   of the server's host, Uint4 checksum of all before it
//
// The token of an elastic world, which mpiexec itself reads and writes, is "elastic1-" and other
// bytes in the same letters.
#ifndef PLI_IMPI_TOKEN_H
#define PLI_IMPI_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLI_IMPI_TOKEN_SECRET = 16,
    PLI_IMPI_TOKEN_HOST = 128,
    PLI_IMPI_TOKEN_TEXT = 512,  // room for a token as text
    PLI_IMPI_TOKEN_BYTES = 320, // most that a token can hold
    PLI_IMPI_TOKEN_WHERE = PLI_IMPI_TOKEN_HOST + 16,
};

struct pli_impi_token {
    char host[PLI_IMPI_TOKEN_HOST]; // a name, or an address without brackets
    uint16_t port;
    uint64_t key;
    unsigned char secret[PLI_IMPI_TOKEN_SECRET];
    bool has_tls; // all connections of the world are TLS with the secret
};

// Write the token as text.
void pli_impi_token_put(const struct pli_impi_token *token, char text_out[PLI_IMPI_TOKEN_TEXT]);

// Read a token. NULL: it is good; else what is wrong with it, to follow "the token ".
const char *pli_impi_token_get(const char *text, struct pli_impi_token *out);

#define PLI_IMPI_TOKEN_ELASTIC "elastic1-"

// Whether a token is one of an elastic world, of any version.
bool pli_impi_token_is_elastic(const char *text);

// Write how the token begins, and these bytes with a checksum in base64url behind it.
void pli_impi_token_encode(const char *begin, const unsigned char *bytes, size_t len,
                           char text_out[PLI_IMPI_TOKEN_TEXT]);
// Read the bytes behind its beginning. Returns how many; 0: there are none, or they are damaged.
size_t pli_impi_token_decode(const char *text, unsigned char bytes_out[PLI_IMPI_TOKEN_BYTES]);

// "host:port" or "[address]:port".
void pli_impi_token_where(const struct pli_impi_token *token, char where_out[PLI_IMPI_TOKEN_WHERE]);

#endif
