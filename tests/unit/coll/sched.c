// SPDX-License-Identifier: BSD-3-Clause
// In a schedule large sends come before the large receives beside them, and nothing else moves.
#include "coll/sched.h"

#include "base/conf.h"
#include "coll/sched_priv.h"
#include "obj/datatype.h"
#include "t.h"

#include <mpi.h>

static char data[4];

static const char *order_of(const struct pli_sched *s)
{
    static char text[32];
    for (int i = 0; i < s->n_step; i++) {
        text[i] = "srcowf"[s->steps[i].kind];
        text[i] -= s->steps[i].n_in > pli_conf.coll_eager_max ? 'a' - 'A' : 0;
    }
    text[s->n_step] = '\0';
    return text;
}

int main(void)
{
    struct pli_sched *s = NULL;
    MPI_Init(NULL, NULL);
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    MPI_Count large = pli_conf.coll_eager_max + 1;
    T_MUST(pli_sched_create(PLI_COLL_ALLTOALL, PLI_SCHED_ONCE, &s) == PLI_OK);
    pli_sched_recv(s, data, large, byte, 1);
    int first = pli_sched_recv(s, data, large, byte, 2);
    int sent = pli_sched_send(s, data, large, byte, 1);
    pli_sched_send(s, data, large, byte, 2);
    T_STR(order_of(s), "SSRR");
    T_EQ(s->steps[0].child, sent); // the older of the two
    T_EQ(s->steps[3].child, first);
    pli_sched_wait(s, first);
    pli_sched_send(s, data, large, byte, 3); // may send what was received
    pli_sched_recv(s, data, 1, byte, 3);
    pli_sched_send(s, data, large, byte, 4);
    pli_sched_recv(s, data, large, byte, 4);
    pli_sched_send(s, data, 1, byte, 5);
    T_STR(order_of(s), "SSRRwSrSRs");
    pli_sched_destroy(s);
    MPI_Finalize();
    return t_status();
}
