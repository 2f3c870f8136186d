// SPDX-License-Identifier: BSD-3-Clause
// Divides an operation into a part inside each host and a part between the leaders of the hosts.
#include "coll/hier.h"

#include "coll/sched.h"
#include "coll/comm_state.h"

#include <string.h>

struct pli_hier pli_hier_make(struct pli_sched *s, const struct pli_coll_args *a, int root)
{
    const struct pli_hostmap *h = pli_comm_state_hosts(a->comm);
    struct pli_hier r = { .local = *a, .across = *a, .members = h->members };
    int *leaders = pli_sched_bytes(s, (size_t)h->n_host * sizeof *leaders);
    if (pli_sched_ok(s)) {
        memcpy(leaders, h->leaders, (size_t)h->n_host * sizeof *leaders);
        if (root >= 0) {
            leaders[h->host_of[root]] = root;
        }
        r.leaders = leaders;
    } else {
        r.leaders = h->leaders;
    }
    r.local.n = h->n_member;
    r.local.me = pli_hostmap_index(h, a->comm->rank);
    r.local.root = 0;
    for (int i = 0; i < h->n_member; i++) {
        r.local.root = h->members[i] == r.leaders[h->my_host] ? i : r.local.root;
    }
    r.is_leader = r.local.root == r.local.me;
    r.across.n = h->n_host;
    r.across.me = h->my_host;
    r.across.root = root >= 0 ? h->host_of[root] : 0;
    return r;
}
