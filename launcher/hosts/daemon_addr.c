// SPDX-License-Identifier: BSD-3-Clause
// Packs the addresses of a listener for another host, and unpacks them there.
#include "launcher/hosts/daemon_addr.h"

#include "launcher/base/pack.h"

#include <string.h>

void pli_daemon_addr_pack(const struct pli_daemon_addr *place, struct pli_pack *to)
{
    pli_pack_u32(to, place->port);
    pli_pack_u64(to, place->stack);
    pli_pack_bytes(to, place->id, sizeof place->id);
    pli_pack_u32(to, place->n_addr);
    for (uint32_t i = 0; i < place->n_addr; i++) {
        pli_pack_u32(to, place->addr[i].family);
        pli_pack_bytes(to, place->addr[i].bytes, sizeof place->addr[i].bytes);
    }
}

void pli_daemon_addr_unpack(struct pli_daemon_addr *place, struct pli_unpack *from)
{
    *place = (struct pli_daemon_addr){ .port = (uint16_t)pli_unpack_u32(from) };
    place->stack = pli_unpack_u64(from);
    const void *id = pli_unpack_bytes(from, sizeof place->id);
    if (id != NULL) {
        memcpy(place->id, id, sizeof place->id);
    }
    uint32_t n = pli_unpack_count(from, 20);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t family = pli_unpack_u32(from);
        const void *bytes = pli_unpack_bytes(from, 16);
        if (bytes != NULL && place->n_addr < sizeof place->addr / sizeof place->addr[0]) {
            struct pli_node_addr *a = &place->addr[place->n_addr++];
            a->family = family == 6 ? 6 : 4;
            memcpy(a->bytes, bytes, 16);
        }
    }
}
