// SPDX-License-Identifier: BSD-3-Clause
// What all windows have: name, group, error handler, and checks of arguments.
#include "rma/win.h"

#include "obj/attr.h"
#include "obj/comm.h"
#include "obj/errhandler.h"
#include "obj/group.h"
#include "obj/impi_span.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct pli_list all = { &all, &all }; // guarded by guard

static void enter_kind(void)
{
    pli_errhandler_keep(PLI_KIND_WIN, offsetof(struct pli_win, errhandler));
    pli_attr_keep(PLI_KIND_WIN, offsetof(struct pli_win, attrs));
}

struct pli_win *pli_win_new(int flavor)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, enter_kind);
    struct pli_win *w = pli_handle_create(PLI_KIND_WIN, sizeof *w);
    if (w == NULL) {
        pli_fail(PLI_ERR_NOMEM, "no memory for a window");
        return NULL;
    }
    w->flavor = flavor;
    w->model = MPI_WIN_UNIFIED;
    w->unit = w->unit_int = 1;
    pthread_mutex_lock(&guard);
    pli_list_push(&all, &w->all);
    pthread_mutex_unlock(&guard);
    return w;
}

void pli_win_each(void (*fn)(struct pli_win *w, void *arg), void *arg)
{
    for (struct pli_list *at = all.next, *next; at != &all; at = next) {
        next = at->next;
        fn(PLI_CONTAINER(at, struct pli_win, all), arg);
    }
}

void pli_win_forget(struct pli_win *w)
{
    pthread_mutex_lock(&guard);
    pli_list_remove(&w->all);
    pthread_mutex_unlock(&guard);
}

const char *pli_win_say(const struct pli_win *w)
{
    static _Thread_local char text[MPI_MAX_OBJECT_NAME + 16];
    if (w->name[0] == '\0') {
        return "the window";
    }
    snprintf(text, sizeof text, "window %s", w->name);
    return text;
}

enum pli_err pli_win_check(MPI_Aint size, MPI_Aint unit)
{
    if (size < 0) {
        return pli_fail(PLI_ERR_SIZE, "argument size is %lld, but must not be negative",
                        (long long)size);
    }
    return unit > 0 ? PLI_OK
                    : pli_fail(PLI_ERR_DISP, "argument disp_unit is %lld, but must be 1 or more",
                               (long long)unit);
}

enum pli_err pli_win_check_comm(const struct pli_comm *comm)
{
    if (comm->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument comm is an intercommunicator, but windows need an "
                                      "intracommunicator");
    }
    return comm->is_span ? pli_impi_span_check_windows(comm) : PLI_OK;
}

enum pli_err pli_win_check_rank(const struct pli_win *w, int rank)
{
    return rank >= 0 && rank < w->comm->size
               ? PLI_OK
               : pli_fail(PLI_ERR_RANK, "rank %d is not one of %s, which has ranks 0 to %d", rank,
                          pli_win_say(w), w->comm->size - 1);
}

enum pli_err pli_win_get_group(struct pli_win *w, struct pli_group **out)
{
    return pli_group_dup(w->comm->group, w->comm->group->me, out);
}

enum pli_err pli_win_set_name(struct pli_win *w, const char *name)
{
    if (name == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument win_name is NULL");
    }
    snprintf(w->name, sizeof w->name, "%s", name);
    return PLI_OK;
}

enum pli_err pli_win_set_errhandler(struct pli_win *w, struct pli_errhandler *e)
{
    return pli_errhandler_set(&w->obj, e);
}

enum pli_err pli_win_get_errhandler(struct pli_win *w, struct pli_errhandler **out)
{
    return pli_errhandler_get(&w->obj, out);
}
