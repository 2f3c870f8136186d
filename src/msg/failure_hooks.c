// SPDX-License-Identifier: BSD-3-Clause
// The hooks of a process that handles no failures.
#include "msg/failure_hooks.h"

static void nothing(void)
{
}

static bool is_due(void)
{
    return false;
}

static void look(struct pli_lane *lane)
{
    (void)lane;
}

static bool is_blocked(struct pli_lane *lane)
{
    (void)lane;
    return false;
}

static void meet(struct pli_conn *c)
{
    (void)c;
}

static enum pli_err judge(struct pli_lane *lane, const struct pli_request *r, int peer)
{
    (void)lane;
    (void)r;
    (void)peer;
    return PLI_OK;
}

static enum pli_err explain(enum pli_err err, const char *what, const struct pli_comm *c)
{
    (void)c;
    return pli_fail(err, "%s failed: %s", what, pli_err_text(err));
}

static const struct pli_failure_hooks none = { nothing,    nothing, is_due, look,
                                               is_blocked, meet,    judge,  explain };
const struct pli_failure_hooks *pli_failure_hooks = &none;
