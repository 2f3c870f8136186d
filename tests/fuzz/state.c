// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: the file of a checkpoint in which a program finds its registered state again.
#include "fuzz.h"

#include "boot/boot.h"
#include "boot/ckpt_wire.h"
#include "elastic/registered.h"
#include "msg/lane.h"
#include "obj/handle.h"
#include "obj/handle_predefined.h"

#include <mpi.h>

const char *const fuzz_words[] = { "x", "table", NULL };

static int take(void *arg, int piece, int n_piece, const void *from, MPI_Count n)
{
    uint64_t *sum = arg;
    FUZZ_MUST(piece < n_piece && n >= 0);
    for (MPI_Count i = 0; i < n; i++) {
        *sum += ((const unsigned char *)from)[i];
    }
    return MPI_SUCCESS;
}

static int measure(void *arg, MPI_Count *n)
{
    (void)arg;
    *n = 0;
    return MPI_SUCCESS;
}

static int give(void *arg, void *to, MPI_Count n)
{
    (void)arg;
    (void)to;
    (void)n;
    return MPI_SUCCESS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint64_t sum;
    static int is_begun;
    int n_piece;
    if (!is_begun) {
        is_begun = 1;
        FUZZ_MUST(MPI_Init(NULL, NULL) == MPI_SUCCESS);
        FUZZ_MUST(pli_registered_register("x", measure, give, take, &sum) == PLI_OK);
        struct pli_node_save *save = pli_node_save(pli_proc.boot->node.header);
        snprintf(save->from, sizeof save->from, "%s", fuzz_dir());
        save->n_piece = 1;
    }
    fuzz_path("state.0", data, len);
    struct pli_comm *world = pli_handle_get(MPI_COMM_WORLD, PLI_KIND_COMM);
    if (pli_registered_restore(world, &n_piece) != PLI_OK) {
        FUZZ_MUST(pli_fail_take(NULL)[0] != '\0');
    }
    return 0;
}
