// SPDX-License-Identifier: BSD-3-Clause
// Lists the kinds of requests from ranks and mpictl, with the functions that do what they ask.
#include "launcher/request_table.h"

#include "boot/launcher_wire.h"
#include "launcher/base/refuse.h"
#include "launcher/ckpt/ckpt.h"
#include "launcher/ckpt/ckpt_registered.h"
#include "launcher/ckpt/ckpt_wait.h"
#include "launcher/ckpt/migrate_ranks.h"
#include "launcher/hosts/spawn_head.h"
#include "launcher/hosts/status_collect.h"
#include "launcher/job/role.h"
#include "launcher/ranks/job_ports.h"
#include "launcher/ranks/leave.h"
#include "launcher/ranks/on_failure.h"
#include "launcher/ranks/rank_request.h"
#include "launcher/ranks/resize.h"
#include "launcher/ranks/spawn_fail.h"

#include <errno.h>
#include <string.h>

static bool spawn(struct pli_job *job, const char *body, size_t len, void *token,
                  struct pli_answer *a)
{
    return pli_launcher.role->spawn(job, body, len, token, a);
}

static bool unspawn(struct pli_job *job, const char *body, size_t len, void *token,
                    struct pli_answer *a)
{
    (void)token;
    pli_spawn_fail_clear(job, body, len, a);
    return true;
}

static bool end_some(struct pli_job *job, const char *body, size_t len, void *token,
                     struct pli_answer *a)
{
    (void)token;
    pli_on_failure_abort(job, body, len, a);
    return true;
}

static bool serve_ports(struct pli_job *job, const char *body, size_t len, void *token,
                        struct pli_answer *a)
{
    (void)token;
    pli_job_ports_serve(job, body, len, a);
    return true;
}

static bool checkpoint(struct pli_job *job, const char *body, size_t len, void *token,
                       struct pli_answer *a)
{
    (void)job;
    (void)body;
    (void)len;
    return pli_ckpt_ask(token, a);
}

static bool begin_state(struct pli_job *job, const char *body, size_t len, void *token,
                        struct pli_answer *a)
{
    (void)job;
    (void)body;
    (void)len;
    (void)token;
    pli_ckpt_registered_begin(a);
    return true;
}

static bool seal_state(struct pli_job *job, const char *body, size_t len, void *token,
                       struct pli_answer *a)
{
    (void)job;
    return pli_ckpt_registered_commit(token, body, len, a);
}

static bool show_status(struct pli_job *job, const char *body, size_t len, void *token,
                        struct pli_answer *a)
{
    struct pli_ask_look look = { PLI_LOOK_PLACES, UINT32_MAX };
    if (len == sizeof look) {
        memcpy(&look, body, sizeof look);
    }
    if ((len != 0 && len != sizeof look) || look.what > PLI_LOOK_STACKS) {
        pli_refuse(a, EINVAL, "the request makes no sense; mpictl is of another version");
        return true;
    }
    return pli_launcher.role->collect_status(job, &look, token, a);
}

static bool migrate(struct pli_job *job, const char *body, size_t len, void *token,
                    struct pli_answer *a)
{
    return pli_launcher.role->migrate(job, body, len, token, a);
}

static void forget_nothing(const void *token)
{
    (void)token; // it is answered at once, or what is forgotten is the same for another kind
}

const struct pli_request_op pli_request_table[] = {
    { PLI_ASK_SPAWN, true, false, false, spawn, pli_spawn_head_forget },
    { PLI_ASK_UNSPAWN, true, false, false, unspawn, forget_nothing },
    { PLI_ASK_ABORT, true, false, false, end_some, forget_nothing },
    { PLI_ASK_PORT, true, false, false, serve_ports, forget_nothing },
    { PLI_ASK_RESIZE, true, false, true, pli_resize_begin, pli_resize_forget },
    { PLI_ASK_FORK, true, false, false, pli_resize_fork, forget_nothing },
    { PLI_ASK_FORKED, true, false, false, pli_resize_forked, forget_nothing },
    { PLI_ASK_LEFT, true, false, false, pli_leave_ask, pli_leave_forget },
    { PLI_ASK_CHECKPOINT, false, true, false, checkpoint, pli_ckpt_forget },
    { PLI_ASK_STATE, true, false, false, begin_state, forget_nothing },
    { PLI_ASK_SEAL, true, false, false, seal_state, forget_nothing },
    { PLI_ASK_MIGRATE, true, true, false, migrate, pli_migrate_ranks_forget },
    { PLI_ASK_LOOK, false, false, false, show_status, pli_status_collect_forget },
    { 0, false, false, false, NULL, forget_nothing },
};
