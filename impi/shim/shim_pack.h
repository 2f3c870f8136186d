// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack and MPI_Unpack on communicators that span clients. Packed data is external32, but for
// one kind: a message that was sent between processes of this client with other types than
// MPI_PACKED and received as MPI_PACKED. Nobody knows its types until it is unpacked, so it stays
// in the form of the native library, and where it lies is kept.
#ifndef PLI_SHIM_PACK_H
#define PLI_SHIM_PACK_H

#include <stdbool.h>
#include <stddef.h>

// Such a message has come to `at`.
void pli_shim_pack_note(const void *at, size_t len);
// Other data comes there.
void pli_shim_pack_forget(const void *at, size_t len);
// Whether the data there is such a message.
bool pli_shim_pack_is_native(const void *at, size_t len);

#endif
