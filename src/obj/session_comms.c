// SPDX-License-Identifier: BSD-3-Clause
// The list of a session's communicators.
#include "obj/session_comms.h"

#include "obj/comm.h"
#include "obj/session.h"

void pli_session_comms_add(struct pli_session *s, struct pli_comm *c)
{
    if (s != NULL) {
        pthread_mutex_lock(&s->guard);
        pli_list_push(&s->comms, &c->in_session);
        pthread_mutex_unlock(&s->guard);
    }
}

void pli_session_comms_remove(struct pli_session *s, struct pli_comm *c)
{
    if (s != NULL) {
        pthread_mutex_lock(&s->guard);
        if (c->in_session.next != NULL) { // one that failed half-way never entered
            pli_list_remove(&c->in_session);
        }
        pthread_mutex_unlock(&s->guard);
    }
}

int pli_session_comms_count(struct pli_session *s, struct pli_comm **first_out)
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
