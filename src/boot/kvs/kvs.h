// SPDX-License-Identifier: BSD-3-Clause
// Starts ranks under a launcher that is not Pliant's. It gives each a number and keeps words for
// all of them; the node memory they make among themselves, and on several hosts each listens
// itself.
#ifndef PLI_BOOT_KVS_H
#define PLI_BOOT_KVS_H

#include "boot/boot.h"

#include <stddef.h>

enum { PLI_KVS_VALUE = 256 }; // longest value, with the zero; no blank in it

// What the launcher offers.
struct pli_kvs {
    const char *name; // of the launcher's protocol, for messages
    uint32_t rank, size;
    enum pli_err (*put)(const char *key, const char *value);
    // Wait until every process of the job is here; what they have put can be read after that.
    enum pli_err (*fence)(void);
    // What process `owner` has put under the key. An error when there is nothing.
    enum pli_err (*get)(uint32_t owner, const char *key, char *value_out, size_t room);
    // The host of each process, as numbers of any kind. PLI_AGAIN: the launcher does not tell.
    enum pli_err (*hosts)(uint32_t *host_of);
    // MPI is over in this process; nothing is asked of the launcher afterwards. Called once.
    void (*finish)(void);
    // End the job with this exit status, if the launcher can still be told.
    void (*end)(int status, const char *why);
};

// Fill in *boot. Waits for the others: such launchers have no other way. Context: once; the store
// stays.
enum pli_err pli_kvs_open(const struct pli_kvs *store, struct pli_boot *boot);

// The other operations of a bootstrap of this kind.
void pli_kvs_tell(struct pli_boot *boot, enum pli_node_state state);
void pli_kvs_abort(struct pli_boot *boot, int code, const char *why);
void pli_kvs_close(struct pli_boot *boot);
enum pli_err pli_kvs_reach(struct pli_boot *boot, uint32_t index, struct pli_boot_way *out);

#endif
