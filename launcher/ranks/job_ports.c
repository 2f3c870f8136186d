// SPDX-License-Identifier: BSD-3-Clause
// Serves ports and published names from the table in mpiexec's memory, which has a row for every
// process of the job.
#include "launcher/ranks/job_ports.h"

#include "base/err.h"
#include "boot/launcher_wire.h"
#include "boot/jobtab.h"
#include "launcher/job/job.h"
#include "launcher/base/refuse.h"

#include <stdio.h>
#include <string.h>

static enum pli_err is_open(bool is)
{
    return is ? PLI_OK : pli_fail(PLI_ERR_PORT, "the port is not open");
}

static enum pli_err serve(const struct pli_node *node, const struct pli_ask_port *ask,
                          struct pli_answer *a)
{
    uint64_t cookie = ask->cookie;
    uint32_t place;
    char port[PLI_JOBTAB_PORT];
    switch (ask->what) {
    case PLI_ASK_PORT_OPEN:
        return pli_jobtab_open_port(node, ask->owner, &place, &cookie);
    case PLI_ASK_PORT_CLOSE:
        return pli_jobtab_close_port(node, pli_jobtab_find_port(node, cookie), cookie);
    case PLI_ASK_PORT_OWN:
        place = pli_jobtab_find_port(node, cookie);
        return is_open(pli_jobtab_own_port(node, place, cookie, ask->owner, ask->ep));
    case PLI_ASK_PORT_OWNER:
        place = pli_jobtab_find_port(node, cookie);
        return is_open(pli_jobtab_port_owner(node, place, cookie, &a->first, &a->n));
    case PLI_ASK_PORT_PUBLISH:
        return pli_jobtab_publish(node, ask->owner, ask->service, ask->port);
    case PLI_ASK_PORT_UNPUBLISH:
        return pli_jobtab_unpublish(node, ask->service);
    case PLI_ASK_PORT_LOOKUP:
        if (pli_jobtab_lookup(node, ask->service, port)) {
            snprintf(a->text, sizeof a->text, "%.*s", (int)sizeof a->text - 1, port); // as it came
            return PLI_OK;
        }
        return pli_fail(PLI_ERR_NAME, "no rank of this job has published it");
    default:
        return pli_fail(PLI_ERR_INTERN, "mpiexec does not know what %u is", ask->what);
    }
}

void pli_job_ports_serve(const struct pli_job *job, const char *body, size_t len,
                         struct pli_answer *a)
{
    struct pli_ask_port ask;
    if (len != sizeof ask) {
        pli_refuse(a, PLI_ERR_INTERN, "a request of %zu bytes was not understood", len);
        return;
    }
    memcpy(&ask, body, sizeof ask);
    ask.service[sizeof ask.service - 1] = ask.port[sizeof ask.port - 1] = '\0';
    enum pli_err err = serve(&job->node, &ask, a);
    if (err != PLI_OK) {
        pli_refuse(a, (int)err, "%s", pli_fail_take(NULL));
    }
}
