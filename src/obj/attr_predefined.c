// SPDX-License-Identifier: BSD-3-Clause
// The predefined attributes of communicators. They are answered on every communicator of the world
// model, since libraries ask on duplicates of MPI_COMM_WORLD too. On one that comes from a session
// the standard has MPI_TAG_UB alone; the others describe a world that may not be there.
#include "obj/attr_predefined.h"

#include "boot/boot.h"
#include "boot/gateway_wire.h"
#include "obj/comm.h"
#include "obj/errcode.h"
#include "obj/impi_span.h"

#include <mpi.h>
#include <string.h>
#include <unistd.h>

const char *pli_attr_predefined_name(int keyval)
{
    switch (keyval) {
    case MPI_TAG_UB:
        return "MPI_TAG_UB";
    case MPI_IO:
        return "MPI_IO";
    case MPI_HOST:
        return "MPI_HOST";
    case MPI_WTIME_IS_GLOBAL:
        return "MPI_WTIME_IS_GLOBAL";
    case MPI_APPNUM:
        return "MPI_APPNUM";
    case MPI_LASTUSEDCODE:
        return "MPI_LASTUSEDCODE";
    case MPI_UNIVERSE_SIZE:
        return "MPI_UNIVERSE_SIZE";
    case IMPI_CLIENT_SIZE:
        return "IMPI_CLIENT_SIZE";
    case IMPI_CLIENT_COLOR:
        return "IMPI_CLIENT_COLOR";
    case IMPI_HOST_SIZE:
        return "IMPI_HOST_SIZE";
    case IMPI_HOST_COLOR:
        return "IMPI_HOST_COLOR";
    case MPIX_BEST_ENDPOINTS:
        return "MPIX_BEST_ENDPOINTS";
    default:
        return NULL;
    }
}

int pli_attr_predefined_best(void)
{
    const struct pli_node_header *h = pli_boot.node.header;
    int share = (int)(h->n_core / (h->n_row > 0 ? h->n_row : 1));
    return share < 1 ? 1 : share > PLI_NODE_N_LANE ? PLI_NODE_N_LANE : share;
}

// Facts of the launch; the same at every call, so that several threads may write them.
static const int *launch_fact(int keyval)
{
    static int is_global, appnum, universe, best;
    const struct pli_node_header *h = pli_boot.node.header;
    if (h == NULL) {
        return NULL;
    }
    switch (keyval) {
    case MPI_WTIME_IS_GLOBAL: // one host, one monotonic clock
        __atomic_store_n(&is_global,
                         h->n_row == h->n_world && h->gateway == 0 && (h->net & PLI_NODE_PART) == 0,
                         __ATOMIC_RELAXED);
        return &is_global;
    case MPI_APPNUM: // a program that was started alone has no number
        __atomic_store_n(&appnum, (int)pli_boot.node.rows[pli_boot.row].app, __ATOMIC_RELAXED);
        return h->launcher != (uint32_t)getpid() ? &appnum : NULL;
    case MPIX_BEST_ENDPOINTS:
        __atomic_store_n(&best, pli_attr_predefined_best(), __ATOMIC_RELAXED);
        return &best;
    default: // those of this world, and one to be spawned for every core: that is never refused
        __atomic_store_n(&universe, (int)(pli_boot.n_world + h->n_core), __ATOMIC_RELAXED);
        return &universe;
    }
}

// Those of IMPI differ from communicator to communicator.
static const int *span_fact(struct pli_comm *c, int keyval)
{
    return pli_impi_span_attr(c, keyval == IMPI_CLIENT_SIZE    ? PLI_IMPI_SPAN_CLIENT_SIZE
                                 : keyval == IMPI_CLIENT_COLOR ? PLI_IMPI_SPAN_CLIENT_COLOR
                                 : keyval == IMPI_HOST_SIZE    ? PLI_IMPI_SPAN_HOST_SIZE
                                                               : PLI_IMPI_SPAN_HOST_COLOR);
}

// Whether a key describes the world and not the communicator or the process. [MPI-5.0 9.1.2]
static bool is_of_world(int keyval)
{
    switch (keyval) {
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
        return true;
    default:
        return false;
    }
}

void pli_attr_predefined_get(struct pli_comm *c, int keyval, void *value_out, int *flag_out)
{
    static const int tag_ub = PLI_TAG_UB, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL;
    const int *value = NULL;
    if (c->session != NULL && is_of_world(keyval)) {
        *flag_out = 0;
        return;
    }
    switch (keyval) {
    case MPI_TAG_UB: // of an IMPI job: what all of its MPIs have
        value = pli_boot.gateway != NULL ? &pli_boot.gateway->tag_ub : &tag_ub;
        break;
    case IMPI_CLIENT_SIZE:
    case IMPI_CLIENT_COLOR:
    case IMPI_HOST_SIZE:
    case IMPI_HOST_COLOR:
        value = span_fact(c, keyval);
        break;
    case MPI_IO: // every process can do input and output
        value = &io;
        break;
    case MPI_HOST:
        value = &host;
        break;
    case MPI_LASTUSEDCODE:
        value = pli_errcode_last();
        break;
    default:
        value = launch_fact(keyval);
        break;
    }
    *flag_out = value != NULL;
    if (value != NULL) {
        memcpy(value_out, &value, sizeof value);
    }
}
