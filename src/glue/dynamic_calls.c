// SPDX-License-Identifier: BSD-3-Clause
// Looks up what counts at the root only, and fills the error codes of spawned processes.
#include "glue/dynamic_calls.h"

#include "dynamic/join.h"
#include "dynamic/spawner.h"
#include "glue/check.h"
#include "glue/raise.h"
#include "obj/handle_predefined.h"
#include "obj/info.h"

#include <stdlib.h>

static int spawn(const char *fn, struct pli_spawner_request *request, const MPI_Info infos[],
                 int root, MPI_Comm comm, MPI_Comm *intercomm, int errcodes[])
{
    struct pli_comm *c = pli_arg_comm(comm), *made = NULL;
    if (c == NULL) {
        return pli_bad_handle(NULL, fn, "comm", PLI_KIND_COMM, comm);
    }
    if (intercomm == NULL) {
        return pli_bad_pointer(&c->obj, fn, "intercomm");
    }
    if (root < 0 || root >= c->size) {
        return pli_bad_root(&c->obj, fn, "root", c, root);
    }
    int n_part = c->rank == root ? request->n_part : 0, n_count = 0;
    struct pli_spawner_count *counts;
    struct pli_info **info_list = calloc((size_t)(n_part > 0 ? n_part : 1), sizeof *info_list);
    if (info_list == NULL) {
        return pli_raise(&c->obj, fn, pli_fail(PLI_ERR_NOMEM, "no memory for %d hints", n_part));
    }
    if (c->rank == root && request->n_part < 1) {
        request->why =
            pli_fail(PLI_ERR_ARG, "argument count is %d, but must be 1 or more", request->n_part);
    }
    for (int i = 0; i < n_part && request->why == PLI_OK; i++) {
        info_list[i] = infos[i] != MPI_INFO_NULL ? pli_arg_info(infos[i]) : NULL;
        if (info_list[i] == NULL && infos[i] != MPI_INFO_NULL) {
            request->why = pli_fail(PLI_ERR_INFO, "hints number %d %s", i,
                                    pli_handle_why(infos[i], PLI_KIND_INFO));
        }
    }
    request->infos = info_list;
    enum pli_err err = pli_spawner_start(request, root, c, &counts, &n_count, &made);
    free(info_list);
    *intercomm = err == PLI_OK ? (MPI_Comm)pli_handle_of(made, PLI_KIND_COMM) : MPI_COMM_NULL;
    for (int p = 0, at = 0; errcodes != MPI_ERRCODES_IGNORE && p < n_count; p++) {
        for (int i = 0; i < counts[p].asked; i++, at++) {
            errcodes[at] = err == PLI_OK && i < counts[p].started ? MPI_SUCCESS : MPI_ERR_SPAWN;
        }
    }
    free(counts);
    return pli_glue_return(&c->obj, fn, err);
}

int pli_dynamic_calls_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info,
                            int root, MPI_Comm comm, MPI_Comm *intercomm, int errcodes[])
{
    char *commands[] = { (char *)(uintptr_t)command };
    char **argvs[] = { argv };
    struct pli_spawner_request request = {
        .n_part = 1, .commands = commands, .argvs = argvs, .maxprocs = &maxprocs
    };
    return spawn("MPI_Comm_spawn", &request, &info, root, comm, intercomm, errcodes);
}

int pli_dynamic_calls_spawn_multiple(int count, char *commands[], char **argvs[],
                                     const int maxprocs[], const MPI_Info infos[], int root,
                                     MPI_Comm comm, MPI_Comm *intercomm, int errcodes[])
{
    struct pli_spawner_request request = {
        .n_part = count, .commands = commands, .argvs = argvs, .maxprocs = maxprocs
    };
    struct pli_comm *c = pli_arg_comm(comm);
    if (c != NULL && c->rank == root && (commands == NULL || maxprocs == NULL || infos == NULL)) {
        request.n_part = 1; // so that the others learn of it
        request.why = pli_fail(PLI_ERR_ARG, "argument %s is NULL",
                               commands == NULL   ? "array_of_commands"
                               : maxprocs == NULL ? "array_of_maxprocs"
                                                  : "array_of_info");
    }
    return spawn("MPI_Comm_spawn_multiple", &request, infos, root, comm, intercomm, errcodes);
}

int pli_dynamic_calls_join(int fd, MPI_Comm *intercomm)
{
    static const char fn[] = "MPI_Comm_join";
    struct pli_comm *self = pli_arg_comm(MPI_COMM_SELF), *made = NULL;
    if (self == NULL) {
        return pli_bad_handle(NULL, fn, "MPI_COMM_SELF", PLI_KIND_COMM, MPI_COMM_SELF);
    }
    if (intercomm == NULL) {
        return pli_bad_pointer(&self->obj, fn, "intercomm");
    }
    enum pli_err err = pli_join(self, fd, &made);
    *intercomm = err == PLI_OK ? (MPI_Comm)pli_handle_of(made, PLI_KIND_COMM) : MPI_COMM_NULL;
    return pli_glue_return(&self->obj, fn, err);
}
