// SPDX-License-Identifier: BSD-3-Clause
// Creates and destroys session objects.
#include "obj/session.h"
#include "base/cpu.h"

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
