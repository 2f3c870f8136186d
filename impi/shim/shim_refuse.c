// SPDX-License-Identifier: BSD-3-Clause
// What the protocol does not carry: on a communicator that spans clients these functions fail with
// a sentence; on any other they are the native library's.
#include "shim/shim.h"

int pli_shim_refuse(MPI_Comm comm, const char *text)
{
    return pli_shim_end(comm, pli_shim_fail(MPI_ERR_UNSUPPORTED_OPERATION, text));
}

#define REFUSE(name, params, args)                                                                 \
    PLI_SHIM_API int MPI_##name params                                                             \
    {                                                                                              \
        PLI_SHIM_ENTER;                                                                            \
        return pli_shim_span_find(comm) != NULL                                                    \
                   ? pli_shim_refuse(comm, PLI_SHIM_CANNOT("MPI_" #name))                          \
                   : PLI_SHIM_OUTSIDE(PMPI_##name args);                                           \
    }

REFUSE(Comm_idup, (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request),
       (comm, newcomm, request))
REFUSE(Dist_graph_create_adjacent,
       (MPI_Comm comm, int indegree, const int sources[], const int sourceweights[], int outdegree,
        const int destinations[], const int destweights[], MPI_Info info, int reorder,
        MPI_Comm *newcomm),
       (comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder,
        newcomm))
REFUSE(Dist_graph_create,
       (MPI_Comm comm, int n, const int nodes[], const int degrees[], const int targets[],
        const int weights[], MPI_Info info, int reorder, MPI_Comm *newcomm),
       (comm, n, nodes, degrees, targets, weights, info, reorder, newcomm))
REFUSE(Win_create,
       (void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
       (base, size, unit, info, comm, win))
REFUSE(Win_allocate,
       (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
       (size, unit, info, comm, base, win))
REFUSE(Win_allocate_shared,
       (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
       (size, unit, info, comm, base, win))
REFUSE(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win))
REFUSE(File_open, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file),
       (comm, name, mode, info, file))
REFUSE(Comm_spawn,
       (const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,
        MPI_Comm *inter, int codes[]),
       (command, argv, maxprocs, info, root, comm, inter, codes))
REFUSE(Comm_spawn_multiple,
       (int count, char *commands[], char **argvs[], const int maxprocs[], const MPI_Info infos[],
        int root, MPI_Comm comm, MPI_Comm *inter, int codes[]),
       (count, commands, argvs, maxprocs, infos, root, comm, inter, codes))
REFUSE(Comm_accept, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *inter),
       (port, info, root, comm, inter))
REFUSE(Comm_connect, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *inter),
       (port, info, root, comm, inter))
PLI_SHIM_API int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    MPI_Group native;
    if (pli_shim_span_find(comm) != NULL) {
        return pli_shim_refuse(comm, "MPI_Comm_create_group cannot be done between different MPIs; "
                                     "MPI_Comm_create can");
    }
    int rc = pli_shim_group_native(comm, group, &native);
    return rc == MPI_SUCCESS ? PLI_SHIM_OUTSIDE(PMPI_Comm_create_group(comm, native, tag, newcomm))
                             : pli_shim_end(comm, rc);
}
