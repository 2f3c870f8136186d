// SPDX-License-Identifier: BSD-3-Clause
// Ids of requests: found for the connection they were given for, and for no other; never valid
// twice.
#include "net/tcp/reqid.h"

#include "t.h"

enum { N = 1000 };

static struct pli_conn *conn(uintptr_t i)
{
    return (struct pli_conn *)(i * 64);
}

static struct pli_request *request(uintptr_t i)
{
    return (struct pli_request *)(i * 256);
}

int main(void)
{
    struct pli_reqid_table t = { 0 };
    static uint64_t id[N + 1];
    T_OK(pli_reqid_find(&t, 0, conn(1), PLI_REQID_SEND) == NULL);
    T_OK(pli_reqid_find(&t, 1, conn(1), PLI_REQID_SEND) == NULL);
    for (uintptr_t i = 1; i <= N; i++) {
        id[i] = pli_reqid_give(&t, request(i), conn(1 + i % 3),
                               i % 2 ? PLI_REQID_SEND : PLI_REQID_RECV);
        T_OK(id[i] != 0);
    }
    for (uintptr_t i = 1; i <= N; i++) {
        enum pli_reqid_kind kind = i % 2 ? PLI_REQID_SEND : PLI_REQID_RECV;
        enum pli_reqid_kind not = i % 2 ? PLI_REQID_RECV : PLI_REQID_SEND;
        T_OK(pli_reqid_find(&t, id[i], conn(1 + i % 3), kind) == request(i));
        T_OK(pli_reqid_find(&t, id[i], conn(1 + i % 3), not ) == NULL);
        T_OK(pli_reqid_find(&t, id[i], conn(1 + (i + 1) % 3), kind) == NULL);
        T_OK(pli_reqid_find(&t, id[i] + ((uint64_t)1 << 32), conn(1 + i % 3), kind) == NULL);
    }
    pli_reqid_end(&t, id[7]);
    pli_reqid_end(&t, id[7]); // once more does nothing
    T_OK(pli_reqid_find(&t, id[7], conn(2), PLI_REQID_SEND) == NULL);
    uint64_t again = pli_reqid_give(&t, request(7), conn(2), PLI_REQID_SEND);
    T_OK(again != id[7]);
    T_OK(pli_reqid_find(&t, id[7], conn(2), PLI_REQID_SEND) == NULL);
    T_OK(pli_reqid_find(&t, again, conn(2), PLI_REQID_SEND) == request(7));
    enum pli_reqid_kind kind;
    int n = 0;
    T_OK(pli_reqid_has(&t, conn(2)));
    while (pli_reqid_reclaim(&t, conn(2), &kind) != NULL) {
        n++;
    }
    T_EQ(n, 334);
    T_OK(!pli_reqid_has(&t, conn(2)) && pli_reqid_has(&t, conn(1)));
    pli_reqid_fini(&t);
    return t_status();
}
