// SPDX-License-Identifier: BSD-3-Clause
// Notes that wait for the workers to meet when UCX is left: answers go over the connection, and
// questions about UCX itself nowhere.
#include "core/ucxlink.h"

#include "core/link.h"
#include "core/wire.h"
#include "t.h"

static struct pli_netlane net;
static struct pli_ucxlane lane;
static struct pli_ucxlink ucx;
static struct pli_conn conn;
static struct pli_link l;

// A link that is being connected: what is said is kept.
static void make_link(void)
{
    lane.net = &net;
    ucx.lane = &lane;
    l = (struct pli_link){ .conn = &conn, .net = &net, .ucx = &ucx, .state = PLI_LINK_DIALING };
    struct pli_list *const lists[] = { &net.busy, &lane.streams, &lane.free,
                                       &ucx.ops,  &ucx.notes,    &l.busy,
                                       &l.notes,  &conn.pending, &l.streams };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        pli_list_init(lists[i]);
    }
}

static size_t count(const struct pli_list *list)
{
    size_t n = 0;
    for (const struct pli_list *at = list->next; at != list; at = at->next) {
        n++;
    }
    return n;
}

int main(void)
{
    make_link();
    ucx.phase = PLI_UCXLINK_IN;
    l.by_ucx = true;
    pli_ucxlink_note(&l, PLI_WIRE_SURED, 7, 0, 0);
    pli_ucxlink_note(&l, PLI_WIRE_ACK, 1, 0, 0);
    pli_ucxlink_note(&l, PLI_WIRE_SURE, 9, 0, 0);
    T_EQ(count(&ucx.notes), 3);
    ucx.phase = PLI_UCXLINK_LEAVING;
    pli_ucxlink_leave(&l);
    T_EQ(count(&ucx.notes), 0);
    T_EQ(count(&l.notes), 1); // the answer
    pli_ucxlink_note(&l, PLI_WIRE_SURE, 9, 0, 0);
    ucx.phase = PLI_UCXLINK_OUT;
    pli_ucxlink_note(&l, PLI_WIRE_SURED, 9, 0, 0);
    T_EQ(count(&ucx.notes), 0); // or the next meeting would begin with it
    T_EQ(count(&l.notes), 1);
    pli_link_forget(&l);
    T_EQ(count(&l.notes), 0);
    return t_status();
}
