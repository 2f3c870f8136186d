// SPDX-License-Identifier: BSD-3-Clause
// Broadcast on several hosts: over the leaders, then through the ring of each host's board. The
// root is the leader of its host. Long messages come in pieces, so that the members of a host read
// one while the next one is on its way.
#include "coll/algorithms.h"
#include "coll/board/board_hosts.h"
#include "coll/piece.h"
#include "obj/comm.h"
#include "obj/datatype.h"

#include <stdlib.h>

enum { PIECE = 128 * 1024 };

// One piece, which lies in memory as it is sent.
static enum pli_err move(const struct pli_board_hosts *v, const struct pli_coll_args *a, void *data,
                         size_t bytes)
{
    struct pli_coll_args p = *a;
    p.recv = (struct pli_blocks){ .buf = data,
                                  .count = (MPI_Count)bytes,
                                  .type = pli_datatype_basic(MPI_BYTE) };
    enum pli_err err = pli_board_hosts_between(v, &p, a->root, pli_bcast_binomial);
    return pli_board_hosts_spread(v, &p, err);
}

// Members may have other datatypes for the same data, so a piece is a number of bytes.
enum pli_err pli_bcast_board_hosts(const struct pli_coll_args *a)
{
    struct pli_board_hosts v = pli_board_hosts_view(a, a->root);
    struct pli_block b = pli_blocks_one(&a->recv);
    size_t bytes = (size_t)pli_blocks_bytes(b), most = bytes < PIECE ? bytes : PIECE, done = 0;
    bool is_root = a->comm->rank == a->root;
    bool has_holes = !pli_datatype_is_run(b.type, b.count);
    char *copy = has_holes ? malloc(most + 1) : NULL;
    if (copy == NULL && has_holes) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a piece of a broadcast");
    }
    enum pli_err err;
    do {
        size_t n = bytes - done < most ? bytes - done : most;
        if (copy != NULL && is_root) {
            pli_piece_out(&b, done, copy, n);
        }
        MPI_Count at = b.type->true_lb + (MPI_Count)done;
        err = move(&v, a, copy != NULL ? copy : pli_blocks_shift(b.buf, at), n);
        if (copy != NULL && !is_root && err == PLI_OK) {
            pli_piece_in(&b, done, copy, n);
        }
        done += n;
    } while (err == PLI_OK && done < bytes);
    free(copy);
    return err;
}
