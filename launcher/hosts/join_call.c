// SPDX-License-Identifier: BSD-3-Clause
// Hears jobs that want to join. What one asks for is a resize like any other, of which the new host
// is not reached by ssh: it is the caller.
#include "launcher/hosts/join_call.h"

#include "boot/launcher_wire.h"
#include "launcher/base/launcher.h"
#include "launcher/base/refuse.h"
#include "launcher/base/say.h"
#include "launcher/hosts/daemon_spec.h"
#include "launcher/hosts/dlink.h"
#include "launcher/hosts/dlink_wire.h"
#include "launcher/hosts/head.h"
#include "launcher/hosts/host_join.h"
#include "launcher/hosts/join_token.h"
#include "launcher/job/environment.h"
#include "launcher/job/host_names.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/ranks/rank_request.h"
#include "launcher/ranks/world_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state {
    S_FREE,    // there is no caller
    S_CALLED,  // it has not said anything yet
    S_ASKED,   // and waits for its turn
    S_GIVEN,   // it is to be a daemon
    S_ANSWERED // it is one, or was refused
};

struct pli_join_call {
    struct pli_dlink link; // first: the loop gets it; `host` is that of its request
    struct pli_join_call *next;
    enum state state;
    char name[80];
    uint32_t host; // S_GIVEN: which it is to be
};

bool pli_join_call_open(const struct pli_job *job)
{
    struct pli_join_token token = { .place = *pli_head_addr() };
    char text[PLI_IMPI_TOKEN_TEXT];
    memcpy(token.secret, pli_head_spec()->secret, sizeof token.secret);
    pli_join_token_put(&token, text);
    explicit_bzero(&token, sizeof token);
    bool is_good = pli_world_server_tell(job, text);
    explicit_bzero(text, sizeof text);
    return is_good;
}

static struct pli_join_call *find(uint32_t host)
{
    struct pli_join_call *c = pli_launcher.join_call->calls;
    while (c != NULL && (c->state == S_FREE || c->link.host != host)) {
        c = c->next;
    }
    return c;
}

bool pli_join_call_answer(uint32_t host, const struct pli_answer *answer)
{
    if (host < PLI_JOIN_CALL_FIRST || host > PLI_JOIN_CALL_LAST) {
        return false;
    }
    struct pli_join_call *c = find(host);
    if (c != NULL) {
        struct pli_dframe f = { PLI_DLINK_ANSWER, 0, host, 0, answer, sizeof *answer };
        bool is_last = answer->error != EBUSY && answer->error != EINPROGRESS;
        c->state = is_last ? S_ANSWERED : c->state;
        c->state = is_last && c->link.watch.fd < 0 ? S_FREE : c->state;
        pli_dlink_send(&c->link, &f);
    }
    return true;
}

// A name that no host has: jobs on one machine, or on two of the same name, are told apart.
static void name_host(const struct pli_job *job, struct pli_join_call *c, const char *theirs)
{
    bool is_taken = true;
    for (unsigned i = 1; is_taken; i++) {
        snprintf(c->name, sizeof c->name, i == 1 ? "%.64s" : "%.64s~%u", theirs, i);
        is_taken = !pli_hosts_is_name(c->name, strlen(c->name)) || strpbrk(c->name, ",:[]") != NULL;
        if (is_taken) {
            theirs = "guest";
        }
        for (uint32_t h = 0; h < job->n_host; h++) {
            is_taken |= pli_hosts_is_same(c->name, job->hosts[h].name) ||
                        (job->hosts[h].is_local && pli_hosts_is_this(c->name));
        }
        for (const struct pli_join_call *o = pli_launcher.join_call->calls; o != NULL;
             o = o->next) {
            bool is_waiting = o->state == S_ASKED || o->state == S_GIVEN;
            is_taken |= o != c && is_waiting && pli_hosts_is_same(c->name, o->name);
        }
    }
}

// What the others do and this one could not take part in.
static const char *not_for(const struct pli_job *job)
{
    static const char *const names[] = { "PLI_TOOLS",  "PLI_TRACE_MODE", "PLI_CHECK",
                                         "PLI_RECORD", "PLI_REPLAY",     "PLIANT_MESSAGE_LOG" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (pli_environment_get(&job->apps[0], names[i]) != NULL) {
            return names[i];
        }
    }
    return NULL;
}

static void ask(struct pli_job *job, struct pli_join_call *c, const struct pli_dframe *f)
{
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    struct pli_answer a = { 0 };
    char *version = pli_unpack_text(&u), *name = pli_unpack_text(&u);
    if (version == NULL || name == NULL || strcmp(version, PLIANT_VERSION) != 0) {
        pli_refuse(&a, EPROTO,
                   "the world is of Pliant MPI %s, this job of %.32s; install the same "
                   "one on both sides",
                   PLIANT_VERSION, version != NULL ? version : "another");
    } else if (not_for(job) != NULL) {
        pli_refuse(&a, ENOTSUP,
                   "the world is checked or recorded, in which only ranks that its "
                   "own mpiexec starts can take part");
    }
    if (a.error != 0) {
        pli_join_call_answer(c->link.host, &a);
    } else {
        struct pli_pack p = { 0 };
        struct pli_ask_resize body = { .how = PLI_ASK_GROW, .n = f->a };
        char hosts[sizeof c->name + 16];
        name_host(job, c, name);
        c->state = S_ASKED;
        int len = snprintf(hosts, sizeof hosts, "%s:%u", c->name, f->a);
        pli_pack_bytes(&p, &body, sizeof body);
        pli_pack_bytes(&p, hosts, (size_t)len + 1);
        pli_pack_bytes(&p, "", 1); // no host is only to join
        pli_rank_request_far(job, c->link.host, 1, PLI_ASK_RESIZE | PLI_ASK_WAITS, p.data, p.len);
        pli_pack_fini(&p);
    }
    free(version);
    free(name);
}

static void hear(struct pli_dlink *l, const struct pli_dframe *f)
{
    struct pli_join_call *c = (struct pli_join_call *)l; // its first member
    if (f->kind == PLI_DLINK_JOIN && c->state == S_CALLED) {
        ask(pli_launcher.job, c, f);
    }
}

static void lost(struct pli_dlink *l, const char *why)
{
    struct pli_join_call *c = (struct pli_join_call *)l; // its first member
    (void)why;
    if (c->state == S_GIVEN) {
        pli_host_join_caller_lost(c->host);
    }
    if (c->state != S_ASKED) { // else it is answered when it is its turn
        c->state = S_FREE;
    }
}

bool pli_join_call_came(int fd, uint32_t id, const struct pli_daemon_handshake_keys *keys)
{
    struct pli_join_call_state *self = pli_launcher.join_call;
    struct pli_join_call *c = self->calls;
    if (id != PLI_JOIN_CALL_ID) {
        return false;
    }
    while (c != NULL && c->state != S_FREE) {
        c = c->next;
    }
    if (c == NULL) {
        c = pli_say_need(calloc(1, sizeof *c));
        c->next = self->calls;
        self->calls = c;
    }
    c->state = S_CALLED;
    c->link = (struct pli_dlink){ .hear = hear, .lost = lost, .watch = { .fd = -1 } };
    c->link.host =
        PLI_JOIN_CALL_FIRST + self->n_call++ % (PLI_JOIN_CALL_LAST - PLI_JOIN_CALL_FIRST);
    pli_dlink_open(&c->link, fd, keys);
    return true;
}

struct pli_join_call *pli_join_call_find(const char *name)
{
    struct pli_join_call *c = pli_launcher.join_call->calls;
    while (c != NULL && (c->state != S_ASKED || strcmp(c->name, name) != 0)) {
        c = c->next;
    }
    return c;
}

bool pli_join_call_give(struct pli_join_call *c, const struct pli_daemon_spec *spec, uint32_t host)
{
    struct pli_pack p = { 0 };
    if (c->link.watch.fd < 0) {
        errno = ECONNRESET;
        return false;
    }
    c->state = S_GIVEN;
    c->host = host;
    pli_daemon_spec_write(spec, pli_head_addr(), &p);
    struct pli_dframe f = { PLI_DLINK_SPEC, 0, c->link.host, host, p.data, p.len };
    pli_dlink_send(&c->link, &f);
    explicit_bzero(p.data, p.len);
    pli_pack_fini(&p);
    return true;
}

void pli_join_call_end(void)
{
    for (struct pli_join_call *c = pli_launcher.join_call->calls; c != NULL; c = c->next) {
        if (c->state != S_FREE) {
            pli_dlink_close(&c->link);
        }
    }
}
