// SPDX-License-Identifier: BSD-3-Clause
// Memory for others to see: pieces do not overlap, come back, join, and run out in good order.
#include "msg/arena.h"
#include "boot/node_wire.h"
#include "ft/failure.h"
#include "msg/process.h"
#include "net/list/net_list.h"

#include "t.h"

enum { N = 200, BIG = 1000003 };

static void lives(void)
{
    unsigned char *p[N];
    size_t size[N];
    for (int i = 0; i < N; i++) {
        size[i] = (size_t)(i * 37 % 3000 + 1);
        p[i] = pli_arena_take(size[i]);
        T_MUST(p[i] != NULL);
        T_EQ((uintptr_t)p[i] % 128, 0);
        for (size_t k = 0; k < size[i]; k++) {
            T_MUST(p[i][k] == 0);
        }
        memset(p[i], i + 1, size[i]);
        T_OK(pli_arena_at(pli_arena_offset(p[i])) == p[i]);
        T_OK(pli_arena_offset(p[i]) != 0);
        if (i % 3 == 2) { // holes to be filled
            pli_arena_give(p[i - 1]);
            p[i - 1] = NULL;
        }
    }
    for (int i = 0; i < N; i++) {
        for (size_t k = 0; p[i] != NULL && k < size[i]; k++) {
            T_MUST(p[i][k] == (unsigned char)(i + 1));
        }
        pli_arena_give(p[i]);
    }
    T_EQ(pli_arena_used(), 0);
}

static void exhaust(void)
{
    void *p[64];
    int n = 0;
    while (n < 64 && (p[n] = pli_arena_take(BIG)) != NULL) {
        n++;
    }
    T_EQ(n, PLI_NODE_ARENA / ((BIG + 127) / 128 * 128));
    T_OK(pli_arena_take(BIG) == NULL);
    for (int i = 0; i < n; i += 2) {
        pli_arena_give(p[i]);
    }
    for (int i = 1; i < n; i += 2) {
        pli_arena_give(p[i]);
    }
    T_EQ(pli_arena_used(), 0);
    void *all = pli_arena_take(PLI_NODE_ARENA); // everything has joined again
    T_OK(all != NULL);
    pli_arena_give(all);
}

int main(void)
{
    T_MUST(pli_process_open(false, pli_net_list, &pli_failure_handlers) == PLI_OK);
    lives();
    exhaust();
    lives();
    pli_arena_give(NULL);
    pli_process_close();
    return t_status();
}
