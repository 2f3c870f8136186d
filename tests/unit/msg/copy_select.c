// SPDX-License-Identifier: BSD-3-Clause
// The way to copy is chosen by what rows of messages take, also where their ends come all at once,
// and by the work of this core where data goes both ways.
#include "msg/copy_select.h"

#include "msg/lane.h"
#include "msg/request.h"
#include "t.h"

static struct pli_lane lane;
static struct pli_request recv[64];
static uint64_t now = 1000;

static void begin(struct pli_request *r, uint64_t size, int n_way)
{
    r->lane = &lane;
    r->bytes = r->size = size;
    pli_copy_select_begin(r, pli_copy_select_take(&lane, size, n_way), now);
}

static unsigned way_of(const struct pli_request *r)
{
    return r->state / PLI_REQ_COPY_WAY & 3;
}

// A window of n messages, each of which takes what its way does. The ends of the third way come
// together when all are done, as those of others do one by one.
static unsigned window(uint64_t size, int n, const uint64_t cost[PLI_N_COPY_WAY])
{
    unsigned way = 0;
    int n_late = 0;
    for (int i = 0; i < n; i++) {
        begin(&recv[n_late], size, PLI_N_COPY_WAY);
        way = way_of(&recv[n_late]);
        now += cost[way] * size / 1024;
        if (way == PLI_COPY_TOGETHER) {
            n_late++;
        } else {
            pli_copy_select_end(&recv[n_late], now);
        }
    }
    while (n_late > 0) {
        pli_copy_select_end(&recv[--n_late], now);
    }
    return way;
}

// How many of so many windows go this way.
static int share(uint64_t size, unsigned way, const uint64_t cost[PLI_N_COPY_WAY])
{
    int n = 0;
    for (int i = 0; i < 100; i++) {
        n += window(size, 32, cost) == way;
    }
    return n;
}

static void one_way(void)
{
    static const uint64_t read_best[] = { 90, 50, 70 }, both_best[] = { 60, 90, 30 };
    static const uint64_t blocks_best[] = { 40, 90, 80 };
    share(1 << 18, 0, read_best);
    T_OK(share(1 << 18, PLI_COPY_READ, read_best) > 80);
    share(1 << 19, 0, both_best);
    T_OK(share(1 << 19, PLI_COPY_TOGETHER, both_best) > 80);
    share(1 << 19, 0, blocks_best); // the program does something else
    T_OK(share(1 << 19, PLI_COPY_BLOCKS, blocks_best) > 80);
}

// The first messages that go a way meet pages that are not mapped: that does not count against it.
static void cold(void)
{
    static const uint64_t cost[] = { 40, 60 };
    uint64_t size = 1 << 15;
    int n_gone = 0, n_best = 0;
    lane.index = 1;
    for (int i = 0; i < 200; i++) {
        begin(&recv[0], size, 2);
        unsigned way = way_of(&recv[0]);
        bool is_cold = way == PLI_COPY_BLOCKS && n_gone++ < 8;
        now += (is_cold ? 10 : 1) * cost[way] * size / 1024;
        pli_copy_select_end(&recv[0], now);
        n_best += i >= 100 && way == PLI_COPY_BLOCKS;
    }
    T_OK(n_best > 80);
    lane.index = 0;
}

// A row in which another process had the core changes nothing.
static void interrupted(void)
{
    static const uint64_t cost[] = { 90, 50, 70 };
    uint64_t size = 1 << 20;
    share(size, 0, cost);
    for (int i = 0; i < 20; i++) {
        begin(&recv[0], size, PLI_N_COPY_WAY);
        now += 4000000;
        pli_copy_select_end(&recv[0], now);
        for (int k = 0; k < 4; k++) {
            window(size, 32, cost);
        }
    }
    T_OK(share(size, PLI_COPY_READ, cost) > 80);
}

static int share_both(uint64_t size, enum pli_copy_way want, uint64_t read, uint64_t in,
                      uint64_t out)
{
    int n = 0;
    for (int i = 0; i < 1024; i++) {
        enum pli_copy_way way = pli_copy_select_both(&lane, size);
        n += way == want;
        if (way == PLI_COPY_READ) {
            pli_copy_select_work(&lane, PLI_COPY_WORK_READ, size, size, read * size / 1024);
        } else {
            pli_copy_select_work(&lane, PLI_COPY_WORK_OUT, size, 32768, out * 32);
        }
        pli_copy_select_work(&lane, PLI_COPY_WORK_IN, size, 32768, in * 32);
    }
    return n;
}

static void both_ways(void)
{
    T_OK(share_both(1 << 17, PLI_COPY_READ, 60, 50, 50) > 980);
    T_OK(share_both(1 << 21, PLI_COPY_BLOCKS, 100, 40, 40) > 980);
    T_OK(share_both(1 << 20, PLI_COPY_READ, 84, 40, 40) > 980); // hardly any difference
    // What is in use stays while the other way is no better: a lane that changes is slow.
    for (int i = 0; i < 4; i++) {
        share_both(1 << 18, PLI_COPY_BLOCKS, 100, 40, 40);
    }
    T_OK(share_both(1 << 18, PLI_COPY_BLOCKS, 84, 40, 40) > 980);
    T_OK(share_both(1 << 18, PLI_COPY_BLOCKS, 84, 40, 40) > 980);
}

// A way that no message went is not taken for one that costs nothing.
static void unknown_cost(void)
{
    uint64_t size = 1 << 16;
    int n = 0;
    for (int i = 0; i < 1024; i++) {
        n += pli_copy_select_both(&lane, size) == PLI_COPY_READ;
        pli_copy_select_work(&lane, PLI_COPY_WORK_READ, size, size, 60 * size / 1024);
    }
    T_OK(n > 980);
}

int main(void)
{
    cold();
    one_way();
    interrupted();
    both_ways();
    unknown_cost();
    return t_status();
}
