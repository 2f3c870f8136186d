// SPDX-License-Identifier: BSD-3-Clause
// Makes and frees windows that span clients, and answers what is asked about them.
#include "shim/shim_coll.h"
#include "shim/shim_plan.h"
#include "shim/shim_win.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

static struct shim_win *all;

struct shim_win *pli_shim_win_find(MPI_Win win)
{
    struct shim_win *w = all;
    while (w != NULL && w->handle != win) {
        w = w->next;
    }
    return w;
}

void pli_shim_win_progress(void)
{
    for (struct shim_win *w = all; w != NULL; w = w->next) {
        pli_shim_win_msg_progress(w);
        pli_shim_win_serve_progress(w);
    }
}

int pli_shim_win_end(struct shim_win *w, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int len = 0;
    MPI_Errhandler handler;
    if (code == MPI_SUCCESS) {
        return code;
    }
    if (PMPI_Win_get_errhandler(w->handle, &handler) == MPI_SUCCESS) {
        // some libraries print the class alone when they end a program
        if (handler == MPI_ERRORS_ARE_FATAL && MPI_Error_string(code, text, &len) == MPI_SUCCESS) {
            fprintf(stderr, "libimpi: %s\n", text);
        }
        (void)PMPI_Errhandler_free(&handler);
    }
    (void)PMPI_Win_call_errhandler(w->handle, code);
    return code;
}

static void destroy(struct shim_win *w)
{
    if (w->recv != NULL) {
        (void)pli_shim_msg_unpost(w->recv);
        pli_shim_req_done(w->recv, MPI_SUCCESS);
        pli_shim_req_destroy(w->recv);
    }
    if (w->span != NULL) {
        MPI_Comm comm = w->span->handle;
        pli_shim_span_forget(w->span);
        (void)PMPI_Comm_free(&comm);
    }
    while (w->attached != NULL) {
        struct shim_win_attached *a = w->attached;
        w->attached = a->next;
        free(a);
    }
    free(w->peer);
    free(w->in);
    free(w->own);
    free(w);
}

// All have told what they bring: the window's own communicator, and what is known of each.
static int build(struct shim_win *w, struct shim_span *s, const struct pli_win_member *told)
{
    MPI_Comm handle, local;
    int rc = MPI_SUCCESS;
    for (int i = 0; i < s->size && rc == MPI_SUCCESS; i++) {
        rc = told[i].err != 0
                 ? pli_shim_fail(MPI_ERR_OTHER, "another process could not make its window")
                 : MPI_SUCCESS;
    }
    w->peer = calloc((unsigned)s->size, sizeof *w->peer);
    rc = rc == MPI_SUCCESS && w->peer == NULL ? MPI_ERR_NO_MEM : rc;
    for (int i = 0; i < s->size && rc == MPI_SUCCESS; i++) {
        w->peer[i].size = told[i].size;
        w->peer[i].unit = told[i].unit;
    }
    rc = rc == MPI_SUCCESS ? PLI_SHIM_OUTSIDE(PMPI_Comm_dup(s->local, &handle)) : rc;
    rc = rc == MPI_SUCCESS ? PLI_SHIM_OUTSIDE(PMPI_Comm_dup(s->local, &local)) : rc;
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_span_create(handle, local, s->world, s->size, told[0].context, &w->span);
    }
    return rc == MPI_SUCCESS ? pli_shim_win_serve_open(w) : rc;
}

static int check(MPI_Aint size, int unit)
{
    return size < 0 ? MPI_ERR_SIZE : unit <= 0 ? MPI_ERR_DISP : MPI_SUCCESS;
}

// Whether this job can have windows between clients; all members see the same.
static int can(const struct shim_span *s)
{
    int rc = pli_shim_inter_refuse(s);
    if (rc == MPI_SUCCESS && (pli_shim.job->features & PLI_IMPI_HAS_WINDOWS) == 0) {
        rc =
            pli_shim_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                          "a client of this job has no windows between clients, or another form of "
                          "data; split off a communicator of one client (IMPI_CLIENT_COLOR)");
    }
    return rc;
}

// own: memory that the window frees; base: where it is. why: an error found before, which all
// members are told.
static int create(struct shim_span *s, int flavor, void *base, void *own, MPI_Aint size, int unit,
                  MPI_Info info, int why, MPI_Win *out)
{
    struct shim_win *w = calloc(1, sizeof *w);
    struct pli_win_member *told = malloc((size_t)s->size * sizeof *told);
    if (w == NULL || told == NULL) {
        pli_shim_die("out of memory for a window"); // the others wait
    }
    *w = (struct shim_win){ .flavor = flavor,
                            .model = MPI_WIN_UNIFIED,
                            .unit = unit,
                            .size = size,
                            .base = base,
                            .own = own,
                            .n_post = -1,
                            .holder = -1 };
    struct pli_win_member mine = { .base = (uintptr_t)base,
                                   .size = (uint64_t)size,
                                   .unit = unit,
                                   .err = why == MPI_SUCCESS ? 0 : PLI_REGION_REFUSED };
    mine.context = s->rank == 0 ? pli_shim_setup_number() : 0;
    int rc = pli_shim_coll_allgather(s, &mine, sizeof mine, MPI_BYTE, told, sizeof mine, MPI_BYTE);
    rc = rc == MPI_SUCCESS ? why : rc;
    rc = rc == MPI_SUCCESS ? build(w, s, told) : rc;
    free(told);
    if (rc == MPI_SUCCESS) {
        void *none; // Open MPI makes no other kind where it finds no network for it
        rc = PMPI_Win_allocate(1, 1, info, pli_shim.self, &none, &w->handle);
    }
    if (rc != MPI_SUCCESS) {
        destroy(w);
        return rc;
    }
    w->next = all;
    all = w;
    *out = w->handle;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info,
                                MPI_Comm comm, MPI_Win *win)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Win_create(base, size, disp_unit, info, comm, win));
    }
    int rc = can(s);
    if (rc == MPI_SUCCESS) {
        int why = check(size, disp_unit);
        rc = create(s, MPI_WIN_FLAVOR_CREATE, base, NULL, size, disp_unit, info, why, win);
    }
    return pli_shim_end(comm, rc);
}

PLI_SHIM_API int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Win_create_dynamic(info, comm, win));
    }
    int rc = can(s);
    if (rc == MPI_SUCCESS) {
        rc = create(s, MPI_WIN_FLAVOR_DYNAMIC, MPI_BOTTOM, NULL, 0, 1, info, MPI_SUCCESS, win);
    }
    return pli_shim_end(comm, rc);
}

PLI_SHIM_API int MPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                                  void *baseptr, MPI_Win *win)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    void *mem = NULL;
    if (s == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Win_allocate(size, disp_unit, info, comm, baseptr, win));
    }
    int rc = can(s);
    if (rc == MPI_SUCCESS) {
        int why = check(size, disp_unit);
        if (why == MPI_SUCCESS && posix_memalign(&mem, ALIGN, (size_t)size + ALIGN) != 0) {
            why = MPI_ERR_NO_MEM;
        }
        rc = create(s, MPI_WIN_FLAVOR_ALLOCATE, mem, mem, size, disp_unit, info, why, win);
    }
    if (rc == MPI_SUCCESS) {
        memcpy(baseptr, &mem, sizeof mem);
    }
    return pli_shim_end(comm, rc);
}

PLI_SHIM_API int MPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                                         void *baseptr, MPI_Win *win)
{
    PLI_SHIM_ENTER;
    return pli_shim_span_find(comm) == NULL
               ? PLI_SHIM_OUTSIDE(
                     PMPI_Win_allocate_shared(size, disp_unit, info, comm, baseptr, win))
               : pli_shim_end(comm, pli_shim_fail(MPI_ERR_RMA_SHARED,
                                                  "processes of different MPIs share no memory; "
                                                  "MPI_Comm_split_type with MPI_COMM_TYPE_SHARED "
                                                  "makes communicators that can"));
}

static int free_window(struct shim_win *w)
{
    struct shim_win **at = &all;
    if (w->access == SHIM_ACCESS_FENCE) {
        w->access = SHIM_ACCESS_NONE; // a fence came last; what followed it was nothing
    }
    if (w->access != SHIM_ACCESS_NONE || w->n_post >= 0) {
        return pli_shim_fail(MPI_ERR_RMA_SYNC, "an epoch of the window is open");
    }
    int rc = pli_shim_win_sync_flush(w, -1);
    MPI_Win handle = w->handle;
    int freed = PMPI_Win_free(&handle); // with the program's attributes
    pli_shim_win_msg_throttle(w, 0);
    int met = pli_shim_plan_barrier(w->span); // others may want something of us until they come too
    pli_shim_win_msg_throttle(w, 0);
    while (*at != w) {
        at = &(*at)->next;
    }
    *at = w->next;
    destroy(w);
    return rc != MPI_SUCCESS ? rc : freed != MPI_SUCCESS ? freed : met;
}

PLI_SHIM_API int MPI_Win_free(MPI_Win *win)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(*win);
    if (w == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Win_free(win));
    }
    if (w->access > SHIM_ACCESS_FENCE || w->n_post >= 0) {
        return pli_shim_win_end(w, free_window(w));
    }
    int rc = free_window(w);
    *win = MPI_WIN_NULL;
    return rc;
}

PLI_SHIM_API int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    if (w == NULL) {
        return PMPI_Win_attach(win, base, size);
    }
    struct shim_win_attached *a = malloc(sizeof *a);
    int rc = w->flavor != MPI_WIN_FLAVOR_DYNAMIC ? MPI_ERR_RMA_FLAVOR
             : a == NULL                         ? MPI_ERR_NO_MEM
             : size < 0                          ? MPI_ERR_SIZE
                                                 : MPI_SUCCESS;
    for (const struct shim_win_attached *b = w->attached; rc == MPI_SUCCESS && b != NULL;
         b = b->next) {
        if ((uintptr_t)base < b->at + b->len && b->at < (uintptr_t)base + (size_t)size) {
            rc = pli_shim_fail(MPI_ERR_RMA_ATTACH, "memory that is attached already");
        }
    }
    if (rc != MPI_SUCCESS) {
        free(a);
        return pli_shim_win_end(w, rc);
    }
    *a = (struct shim_win_attached){ (uintptr_t)base, (size_t)size, w->attached };
    w->attached = a;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Win_detach(MPI_Win win, const void *base)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    if (w == NULL) {
        return PMPI_Win_detach(win, base);
    }
    for (struct shim_win_attached **at = &w->attached; *at != NULL; at = &(*at)->next) {
        if ((*at)->at == (uintptr_t)base) {
            struct shim_win_attached *a = *at;
            *at = a->next;
            free(a);
            return MPI_SUCCESS;
        }
    }
    return pli_shim_win_end(w, pli_shim_fail(MPI_ERR_RMA_ATTACH, "memory that is not attached"));
}

PLI_SHIM_API int MPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, int *disp_unit,
                                      void *baseptr)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    return w == NULL
               ? PMPI_Win_shared_query(win, rank, size, disp_unit, baseptr)
               : pli_shim_win_end(w, pli_shim_fail(MPI_ERR_RMA_FLAVOR,
                                                   "a window that spans clients is not shared"));
}

PLI_SHIM_API int MPI_Win_get_group(MPI_Win win, MPI_Group *group)
{
    PLI_SHIM_ENTER;
    struct shim_win *w = pli_shim_win_find(win);
    return w == NULL ? PMPI_Win_get_group(win, group) : MPI_Comm_group(w->span->handle, group);
}

const void *pli_shim_win_attribute(MPI_Win win, int key)
{
    const struct shim_win *w = pli_shim_win_find(win);
    if (w == NULL) {
        return NULL;
    }
    return key == MPI_WIN_BASE            ? (const void *)&w->base
           : key == MPI_WIN_SIZE          ? (const void *)&w->size
           : key == MPI_WIN_DISP_UNIT     ? (const void *)&w->unit
           : key == MPI_WIN_CREATE_FLAVOR ? (const void *)&w->flavor
           : key == MPI_WIN_MODEL         ? (const void *)&w->model
                                          : NULL;
}

PLI_SHIM_API int MPI_Win_get_attr(MPI_Win win, int key, void *value, int *flag)
{
    PLI_SHIM_ENTER;
    const void *found = pli_shim_win_attribute(win, key);
    if (found == NULL) {
        return PMPI_Win_get_attr(win, key, value, flag);
    }
    // the base is an address itself, the others are behind one
    memcpy(value, key == MPI_WIN_BASE ? found : (const void *)&found, sizeof(void *));
    *flag = 1;
    return MPI_SUCCESS;
}
