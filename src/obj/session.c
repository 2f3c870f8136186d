// SPDX-License-Identifier: BSD-3-Clause
// Life of session objects, and which communicators belong to them.
#include "obj/session.h"
#include "base/cpu.h"

#include "obj/comm.h"
#include "obj/errhandler.h"

PLI_START enum pli_err pli_session_create(struct pli_session **out)
{
    struct pli_session *s = pli_handle_create(PLI_KIND_SESSION, sizeof *s);
    if (s == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a session");
    }
    pli_list_init(&s->comms);
    pthread_mutex_init(&s->guard, NULL);
    *out = s;
    return PLI_OK;
}

struct pli_session *pli_session_retain(struct pli_session *s)
{
    return s != NULL ? pli_handle_retain(s) : NULL;
}

void pli_session_release(struct pli_session *s)
{
    if (s != NULL && pli_handle_release(s)) {
        pli_errhandler_release(s->errhandler);
        pthread_mutex_destroy(&s->guard);
        pli_handle_destroy(s, sizeof *s);
    }
}

void pli_session_enter(struct pli_session *s, struct pli_comm *c)
{
    if (s != NULL) {
        pthread_mutex_lock(&s->guard);
        pli_list_push(&s->comms, &c->in_session);
        pthread_mutex_unlock(&s->guard);
    }
}

void pli_session_leave(struct pli_session *s, struct pli_comm *c)
{
    if (s != NULL) {
        pthread_mutex_lock(&s->guard);
        if (c->in_session.next != NULL) { // one that failed half-way never entered
            pli_list_remove(&c->in_session);
        }
        pthread_mutex_unlock(&s->guard);
    }
}

int pli_session_n_comm(struct pli_session *s, struct pli_comm **first_out)
{
    int n = 0;
    *first_out = NULL;
    pthread_mutex_lock(&s->guard);
    for (struct pli_list *at = s->comms.next; at != &s->comms; at = at->next) {
        struct pli_comm *c = PLI_CONTAINER(at, struct pli_comm, in_session);
        if (!c->is_freed) {
            *first_out = *first_out != NULL ? *first_out : pli_comm_retain(c);
            n++;
        }
    }
    pthread_mutex_unlock(&s->guard);
    return n;
}
