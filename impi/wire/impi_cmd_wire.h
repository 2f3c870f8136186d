// SPDX-License-Identifier: BSD-3-Clause
// Commands between an IMPI client and the server (protocol 0.0). Bytes in, structs out: nothing
// here allocates, waits or touches a socket. Context of every function: any thread.
//
//   Int4 cmd, Int4 len, then len bytes of payload
//
// Two exchanges have no such head: the server's choice of a method (8 bytes) and the key (8 bytes).
#ifndef PLI_IMPI_CMD_WIRE_H
#define PLI_IMPI_CMD_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/impi_err.h"

enum {
    PLI_IMPI_VERSION_MAJOR = 0,
    PLI_IMPI_VERSION_MINOR = 0,
    PLI_IMPI_MAX_CLIENT = 32, // client_mask has 32 bits
};

enum pli_impi_cmd_kind { // the ASCII letters of the name
    PLI_IMPI_CMD_AUTH = 0x41555448,
    PLI_IMPI_CMD_IMPI = 0x494D5049,
    PLI_IMPI_CMD_COLL = 0x434F4C4C,
    PLI_IMPI_CMD_DONE = 0x444F4E45,
    PLI_IMPI_CMD_FINI = 0x46494E49,
    // in a world that is joined by a token, and no part of IMPI 0.0:
    PLI_IMPI_CMD_JOIN = 0x4A4F494E, // in place of IMPI
    PLI_IMPI_CMD_BEAT = 0x42454154, // each second, both ways: a client adds what is wrong with it
    PLI_IMPI_CMD_SAYS = 0x53415953, // from the server: a sentence for the user
    PLI_IMPI_CMD_RLAY = 0x524C4159, // a host cannot reach another: the server passes bytes on
    PLI_IMPI_CMD_OVER = 0x4F564552, // both ways: the job ends, and the sentence that says why
};

enum pli_impi_auth { // a method; bit 1 << method in a mask
    PLI_IMPI_AUTH_NONE = 0,
    PLI_IMPI_AUTH_KEY = 1,
    PLI_IMPI_N_AUTH = 2,
    // No part of IMPI 0.0, and far from what it may add: the key is not sent but proved, by TLS
    // from the server's choice on. Offered beside KEY; others do not know it and choose KEY.
    PLI_IMPI_AUTH_TLS = 16,
};

enum { // lengths on the wire, in bytes
    PLI_IMPI_CMD_HEAD = 8,
    PLI_IMPI_CMD_WORD = 12,         // a head and one Int4: AUTH, IMPI
    PLI_IMPI_CMD_METHOD = 8,        // the server's choice
    PLI_IMPI_CMD_KEY = 8,           // the client's key
    PLI_IMPI_CMD_COLL_HEAD = 12,    // head and label, client to server
    PLI_IMPI_CMD_COLLALL_HEAD = 16, // head, label and mask, server to client
    PLI_IMPI_CMD_JOINED = 24,       // head, version, rank, size, clients that have joined
    PLI_IMPI_CMD_RELAY = 24,        // head, calling host, called host, its client, who this is
    PLI_IMPI_CMD_RELAYED = 16,      // head, calling host, called host
    PLI_IMPI_CMD_TEXT = 500,        // the most bytes of a name or a sentence
    PLI_IMPI_CMD_TEXT_CAP = PLI_IMPI_CMD_HEAD + 8 + PLI_IMPI_CMD_TEXT
};

// Ranks of JOIN: any; none, since the job has ended before any of its processes wanted to join.
enum { PLI_IMPI_JOIN_VERSION = 1, PLI_IMPI_RANK_ANY = -1, PLI_IMPI_RANK_ENDED = -2 };

struct pli_impi_cmd_head {
    uint32_t cmd; // may be unknown: skip len bytes then
    uint32_t len; // never above INT32_MAX
};

// Two hosts whose bytes the server is to pass on. Each opens a connection for it and says this in
// place of JOIN; the client of the called host is told by the server to do so. When both are there
// the server says it on both connections, and from then on what one writes the other reads.
struct pli_impi_relay {
    uint32_t from, to; // hosts
    uint32_t client;   // of `to`; not from the server
    bool is_called;    // this side; not from the server
};

// A decoded command. Which fields count depends on cmd; the others are zero.
struct pli_impi_cmd {
    uint32_t cmd;
    int32_t value;               // IMPI: rank from a client, size from the server; JOIN: the rank
    uint32_t version;            // JOIN
    int32_t size, n_joined;      // JOIN from the server
    struct pli_impi_relay relay; // RLAY
    uint32_t mask;               // AUTH: methods offered. COLL from the server: who contributed
    uint32_t label;              // COLL
    const unsigned char *data;   // COLL, and the text of the others: points into the payload
    size_t len;                  // bytes at data
};

// Read a head. PLI_IMPI_AGAIN: fewer than 8 bytes. ERR_PROTO: negative length.
enum pli_impi_err pli_impi_cmd_get_head(const unsigned char *p, size_t len,
                                        struct pli_impi_cmd_head *out);

// Read the payload of a command a client sent, or the server sent. `payload` holds head->len bytes.
// ERR_PROTO: a length that does not fit the command. An unknown command gives only cmd.
enum pli_impi_err pli_impi_cmd_get_client(const struct pli_impi_cmd_head *head,
                                          const unsigned char *payload, struct pli_impi_cmd *out);
enum pli_impi_err pli_impi_cmd_get_server(const struct pli_impi_cmd_head *head,
                                          const unsigned char *payload, struct pli_impi_cmd *out);

// Read the server's choice of a method, 8 bytes: `len_out` bytes of method data follow it.
enum pli_impi_err pli_impi_cmd_get_method(const unsigned char *p, size_t len, uint32_t *which_out,
                                          uint32_t *len_out);
// Read a key, 8 bytes.
enum pli_impi_err pli_impi_cmd_get_key(const unsigned char *p, size_t len, uint64_t *key_out);

// Writers: fill p and return the bytes written. A COLL head is followed by len bytes of data, which
// the caller sends; len is at most INT32_MAX - 8.
size_t pli_impi_cmd_put_auth(unsigned char p[PLI_IMPI_CMD_WORD], uint32_t mask);
size_t pli_impi_cmd_put_method(unsigned char p[PLI_IMPI_CMD_METHOD], uint32_t which, uint32_t len);
size_t pli_impi_cmd_put_key(unsigned char p[PLI_IMPI_CMD_KEY], uint64_t key);
size_t pli_impi_cmd_put_impi(unsigned char p[PLI_IMPI_CMD_WORD], int32_t value);
size_t pli_impi_cmd_put_coll(unsigned char p[PLI_IMPI_CMD_COLL_HEAD], uint32_t label, size_t len);
size_t pli_impi_cmd_put_collall(unsigned char p[PLI_IMPI_CMD_COLLALL_HEAD], uint32_t label,
                                uint32_t mask, size_t len);
size_t pli_impi_cmd_put_done(unsigned char p[PLI_IMPI_CMD_HEAD]);
size_t pli_impi_cmd_put_fini(unsigned char p[PLI_IMPI_CMD_HEAD]);
// From a client: its rank, or RANK_ANY, and what it is in words. From the server: how it stands.
size_t pli_impi_cmd_put_join(unsigned char p[PLI_IMPI_CMD_TEXT_CAP], int32_t rank,
                             const char *name);
size_t pli_impi_cmd_put_joined(unsigned char p[PLI_IMPI_CMD_JOINED], int32_t rank, int32_t size,
                               int32_t n_joined);
size_t pli_impi_cmd_put_relay(unsigned char p[PLI_IMPI_CMD_RELAY], const struct pli_impi_relay *r);
size_t pli_impi_cmd_put_relayed(unsigned char p[PLI_IMPI_CMD_RELAYED],
                                const struct pli_impi_relay *r);
// BEAT, SAYS or OVER. A text that is too long is cut.
size_t pli_impi_cmd_put_text(unsigned char p[PLI_IMPI_CMD_TEXT_CAP], uint32_t cmd,
                             const char *text);

#endif
