// SPDX-License-Identifier: BSD-3-Clause
// Opens ports and publishes names. A job on one host, or on several that are pretended, has them
// only in the table of the node's memory. In a job on several hosts mpiexec has the table; ports
// and names that were made on this host are in the node's memory too, where other jobs on this host
// find them.
#include "dynamic/ports.h"

#include "boot/boot.h"
#include "boot/jobtab.h"
#include "msg/lane.h"
#include "dynamic/launcher_call.h"
#include "obj/group.h"

#include <stdio.h>
#include <string.h>

static const struct pli_node *this_node(void)
{
    return &pli_proc.boot->node;
}

// Whether the table in the node's memory is that of the whole job, which mpiexec serves from too. A
// part of a job that runs on one host so far has a table of its own: other hosts may join.
static bool has_whole_table(void)
{
    const struct pli_node_header *h = this_node()->header;
    return (h->net & PLI_NODE_PART) == 0 && (h->n_host == 1 || (h->net & PLI_NODE_PRETENDS) != 0);
}

static enum pli_err call_launcher(struct pli_ask_port *what, struct pli_answer *a)
{
    enum pli_err err = pli_launcher_call(NULL, PLI_ASK_PORT, what, sizeof *what, a);
    a->text[sizeof a->text - 1] = '\0';
    return err != PLI_OK || a->error == 0 ? err : pli_fail((enum pli_err)a->error, "%s", a->text);
}

static enum pli_err call_for_port(enum pli_ask_port_what what, uint64_t cookie, struct pli_id who,
                                  struct pli_answer *a)
{
    struct pli_ask_port t = {
        .what = what, .owner = (uint32_t)who.proc, .ep = who.ep, .cookie = cookie
    };
    return call_launcher(&t, a);
}

static enum pli_err call_for_name(enum pli_ask_port_what what, const char *service,
                                  const char *port, struct pli_answer *a)
{
    struct pli_ask_port t = { .what = what, .owner = pli_proc.boot->index };
    if (port != NULL && strlen(port) >= sizeof t.port) {
        return pli_fail(PLI_ERR_ARG,
                        "argument port_name is longer than the %zu characters that a job on "
                        "several hosts can publish",
                        sizeof t.port - 1);
    }
    snprintf(t.service, sizeof t.service, "%s", service);
    snprintf(t.port, sizeof t.port, "%s", port != NULL ? port : "");
    return call_launcher(&t, a);
}

enum pli_err pli_ports_open(uint32_t *slot_out, uint64_t *cookie_out)
{
    struct pli_answer a = { 0 };
    *cookie_out = 0;
    enum pli_err err =
        pli_jobtab_open_port(this_node(), pli_proc.boot->index, slot_out, cookie_out);
    if (err != PLI_OK || has_whole_table()) {
        return err;
    }
    err = call_for_port(PLI_ASK_PORT_OPEN, *cookie_out,
                        (struct pli_id){ .proc = pli_proc.boot->index }, &a);
    if (err != PLI_OK) {
        pli_jobtab_close_port(this_node(), *slot_out, *cookie_out);
    }
    return err;
}

enum pli_err pli_ports_close(uint32_t slot, uint64_t cookie)
{
    struct pli_answer a = { 0 };
    enum pli_err err = pli_jobtab_close_port(this_node(), slot, cookie);
    return has_whole_table() ? err
                             : call_for_port(PLI_ASK_PORT_CLOSE, cookie, (struct pli_id){ 0 }, &a);
}

enum pli_err pli_ports_own(uint32_t slot, uint64_t cookie, struct pli_id me)
{
    struct pli_answer a = { 0 };
    bool is_here = pli_jobtab_own_port(this_node(), slot, cookie, (uint32_t)me.proc, me.ep);
    if (has_whole_table()) {
        return is_here ? PLI_OK : pli_fail(PLI_ERR_PORT, "the port is not open");
    }
    return call_for_port(PLI_ASK_PORT_OWN, cookie, me, &a);
}

enum pli_err pli_ports_owner(uint32_t slot, uint64_t cookie, struct pli_id *owner_out)
{
    struct pli_answer a = { 0 };
    enum pli_err err = PLI_OK;
    if (!has_whole_table()) {
        err = call_for_port(PLI_ASK_PORT_OWNER, cookie, (struct pli_id){ 0 }, &a);
    } else if (!pli_jobtab_port_owner(this_node(), slot, cookie, &a.first, &a.n)) {
        err = pli_fail(PLI_ERR_PORT, "the port is not open");
    }
    *owner_out = (struct pli_id){ .proc = pli_proc.boot->job | a.first, .ep = a.n };
    return err;
}

enum pli_err pli_ports_publish(const char *service, const char *port)
{
    struct pli_answer a = { 0 };
    enum pli_err err =
        has_whole_table() ? PLI_OK : call_for_name(PLI_ASK_PORT_PUBLISH, service, port, &a);
    if (err != PLI_OK) {
        return err;
    }
    if (!has_whole_table() && pli_jobtab_unpublish(this_node(), service) != PLI_OK) {
        pli_fail_take(NULL); // else a rank of another host had taken it back there
    }
    err = pli_jobtab_publish(this_node(), pli_proc.boot->index, service, port);
    if (err != PLI_OK && !has_whole_table()) {
        call_for_name(PLI_ASK_PORT_UNPUBLISH, service, NULL, &a);
    }
    return err;
}

enum pli_err pli_ports_unpublish(const char *service)
{
    struct pli_answer a = { 0 };
    enum pli_err err = pli_jobtab_unpublish(this_node(), service);
    if (!has_whole_table()) {
        pli_fail_take(NULL); // it may have been published on another host
        err = call_for_name(PLI_ASK_PORT_UNPUBLISH, service, NULL, &a);
    }
    return err;
}

enum pli_err pli_ports_lookup(const char *service, char *port_out)
{
    struct pli_answer a = { 0 };
    if (has_whole_table()) {
        return pli_jobtab_lookup(this_node(), service, port_out)
                   ? PLI_OK
                   : pli_fail(PLI_ERR_NAME, "no rank of this job has published it");
    }
    enum pli_err err = call_for_name(PLI_ASK_PORT_LOOKUP, service, NULL, &a);
    snprintf(port_out, PLI_JOBTAB_PORT, "%s", a.text);
    return err;
}
