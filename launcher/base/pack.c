// SPDX-License-Identifier: BSD-3-Clause
// Packs and unpacks; every length that was read is checked.
#include "launcher/base/pack.h"

#include "launcher/base/say.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

void pli_pack_bytes(struct pli_pack *p, const void *data, size_t len)
{
    if (p->len + len > p->cap) {
        p->cap = 2 * p->cap + len + 256;
        p->data = pli_say_need(realloc(p->data, p->cap));
    }
    if (len > 0) {
        memcpy(p->data + p->len, data, len);
        p->len += len;
    }
}

void pli_pack_u32(struct pli_pack *p, uint32_t v)
{
    v = htole32(v);
    pli_pack_bytes(p, &v, sizeof v);
}

void pli_pack_u64(struct pli_pack *p, uint64_t v)
{
    v = htole64(v);
    pli_pack_bytes(p, &v, sizeof v);
}

void pli_pack_text(struct pli_pack *p, const char *text)
{
    pli_pack_u32(p, text != NULL ? (uint32_t)strlen(text) : UINT32_MAX);
    if (text != NULL) {
        pli_pack_bytes(p, text, strlen(text));
    }
}

void pli_pack_texts(struct pli_pack *p, char *const *texts)
{
    uint32_t n = 0;
    while (texts[n] != NULL) {
        n++;
    }
    pli_pack_u32(p, n);
    for (uint32_t i = 0; i < n; i++) {
        pli_pack_text(p, texts[i]);
    }
}

void pli_pack_fini(struct pli_pack *p)
{
    free(p->data);
    *p = (struct pli_pack){ 0 };
}

const void *pli_unpack_bytes(struct pli_unpack *u, size_t len)
{
    if (u->is_bad || len > (size_t)(u->end - u->at)) {
        u->is_bad = true;
        return NULL;
    }
    const void *p = u->at;
    u->at += len;
    return p;
}

uint32_t pli_unpack_u32(struct pli_unpack *u)
{
    uint32_t v;
    const void *p = pli_unpack_bytes(u, sizeof v);
    if (p == NULL) {
        return 0;
    }
    memcpy(&v, p, sizeof v);
    return le32toh(v);
}

uint64_t pli_unpack_u64(struct pli_unpack *u)
{
    uint64_t v;
    const void *p = pli_unpack_bytes(u, sizeof v);
    if (p == NULL) {
        return 0;
    }
    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

char *pli_unpack_text(struct pli_unpack *u)
{
    uint32_t len = pli_unpack_u32(u);
    if (u->is_bad || len == UINT32_MAX) {
        return NULL;
    }
    const char *p = pli_unpack_bytes(u, len);
    return p != NULL ? pli_say_need(strndup(p, len)) : NULL;
}

uint32_t pli_unpack_count(struct pli_unpack *u, size_t least)
{
    uint32_t n = pli_unpack_u32(u);
    if (n > (size_t)(u->end - u->at) / least) {
        u->is_bad = true;
        n = 0;
    }
    return n;
}

char **pli_unpack_texts(struct pli_unpack *u)
{
    uint32_t n = pli_unpack_count(u, 4);
    char **texts = pli_say_need(calloc((size_t)n + 1, sizeof *texts));
    for (uint32_t i = 0; i < n; i++) {
        texts[i] = pli_unpack_text(u);
    }
    return texts;
}
