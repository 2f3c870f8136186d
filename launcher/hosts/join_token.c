// SPDX-License-Identifier: BSD-3-Clause
// Writes and reads the token of an elastic world.
#include "launcher/hosts/join_token.h"

#include "launcher/base/pack.h"

#include <string.h>

void pli_join_token_put(const struct pli_join_token *token, char text_out[PLI_IMPI_TOKEN_TEXT])
{
    struct pli_pack p = { 0 };
    pli_pack_bytes(&p, token->secret, sizeof token->secret);
    pli_daemon_addr_pack(&token->place, &p);
    pli_impi_token_encode(PLI_IMPI_TOKEN_ELASTIC, p.data, p.len, text_out);
    explicit_bzero(p.data, p.len);
    pli_pack_fini(&p);
}

const char *pli_join_token_get(const char *text, struct pli_join_token *out)
{
    unsigned char bytes[PLI_IMPI_TOKEN_BYTES];
    size_t n = sizeof PLI_IMPI_TOKEN_ELASTIC - 1;
    if (strncmp(text, PLI_IMPI_TOKEN_ELASTIC, n) != 0) {
        return "is of another version of Pliant MPI; install the same one on both sides";
    }
    size_t len = pli_impi_token_decode(text + n, bytes);
    struct pli_unpack u = { bytes, bytes + len, false };
    const void *secret = pli_unpack_bytes(&u, sizeof out->secret);
    if (secret != NULL) {
        memcpy(out->secret, secret, sizeof out->secret);
        pli_daemon_addr_unpack(&out->place, &u);
    }
    explicit_bzero(bytes, sizeof bytes);
    return secret == NULL || u.is_bad || out->place.n_addr == 0
               ? "is damaged: a letter of it was lost or changed; copy the whole word again"
               : NULL;
}
