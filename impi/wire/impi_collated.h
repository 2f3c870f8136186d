// SPDX-License-Identifier: BSD-3-Clause
// The labels as the server sent them, kept until the job is built from them.
// Context: start-up only.
#ifndef PLI_IMPI_COLLATED_H
#define PLI_IMPI_COLLATED_H

#include <stddef.h>
#include <stdint.h>
#include "wire/impi_cmd_wire.h"
#include "wire/impi_err.h"
#include "wire/impi_label_wire.h"

// What the server sent for each label, copied.
struct pli_impi_collated {
    struct {
        unsigned char *data;
        size_t len;
        uint32_t mask;
    } row[PLI_IMPI_N_LABEL];
};

// Keep a COLL command of the server. Unknown labels are skipped; a second copy of a label is
// ERR_PROTO.
enum pli_impi_err pli_impi_collated_add(struct pli_impi_collated *c,
                                        const struct pli_impi_cmd *cmd);
void pli_impi_collated_fini(struct pli_impi_collated *c);

// The same as bytes: the COLL commands one after another, as the server sends them. A client with
// several hosts passes them on to the others. `p` has room for pli_impi_collated_len bytes.
size_t pli_impi_collated_len(const struct pli_impi_collated *c);
void pli_impi_collated_put(const struct pli_impi_collated *c, unsigned char *p);
enum pli_impi_err pli_impi_collated_get(struct pli_impi_collated *c, const unsigned char *p,
                                        size_t len);

#endif
