// SPDX-License-Identifier: BSD-3-Clause
// Measures the ways to copy a large message, and takes the fastest.
// Messages of about the same size are a class. Each way is tried with a few messages in a row; then
// the best one is used. Now and then another is tried again, and all are when the best one takes
// another time than before, because the program then does something else. What is measured is the
// time to the end of a receive from the later of two moments, when it was known and when the one
// before it was over: the latency of a single message, and the share of one in a stream of them. A
// way is changed only when no message is under way, since two ways at once would measure neither.
#include "msg/copy_select.h"

#include "base/clock.h"
#include "base/log.h"
#include "msg/lane.h"
#include "msg/request.h"

enum {
    CLASS_MIN = 14, // log2 of the smallest size
    N_CLASS = 12,
    TRY = 4,       // messages in a row with one way when it is tried
    FIRST = 24,    // in the first class, when much is in no cache and not yet mapped
    LOOK = 32,     // messages after which the best way is looked at again
    STAY = 4,      // such looks before another way is tried
    PATIENCE = 64, // messages for which a change waits until none is under way
    RARELY = 4,    // a way that is far slower is tried again every so many times
    N_SAMPLE = 8,
    FEW = 2, // samples that count for something
};

#define UNMEASURED 1e3f // where no measurement counted: a second for a megabyte

struct class
{
    float cost[PLI_N_COPY_WAY]; // ns per byte; 0: not measured
    float sample[N_SAMPLE];     // the last of the messages in a row
    uint32_t n_sample;
    uint8_t way, n_look, n_try;
    uint8_t begun;   // bits: ways that were ever tried
    bool is_staying; // with the best one
    int32_t left;    // messages in a row that are to come
};

// Guarded by the lane's lock.
static struct lane_costs {
    struct class class[N_CLASS];
    uint64_t start_ns;
    uint32_t n_open; // receives under way
    uint8_t way;     // theirs
    bool is_mixed;   // or not all of them
    bool is_warm;    // all ways were tried in some class
} all_costs[PLI_NODE_N_LANE];

static struct class *class_of(struct lane_costs *t, uint64_t size)
{
    int k = 63 - __builtin_clzll(size | 1) - CLASS_MIN;
    return &t->class[k < 0 ? 0 : k >= N_CLASS ? N_CLASS - 1 : k];
}

// The second smallest: the smallest may be luck, others may have been interrupted.
static float judge(const struct class *c)
{
    float a = c->sample[0], b = c->sample[1];
    if (b < a) {
        a = c->sample[1];
        b = c->sample[0];
    }
    for (uint32_t i = FEW; i < c->n_sample && i < N_SAMPLE; i++) {
        float x = c->sample[i];
        if (x < a) {
            b = a;
            a = x;
        } else if (x < b) {
            b = x;
        }
    }
    return b;
}

static int best_of(const struct class *c, int n_way)
{
    int best = 0;
    for (int w = 1; w < n_way; w++) {
        if (c->cost[w] < c->cost[best]) {
            best = w;
        }
    }
    return best;
}

// A way that was not measured yet, -1: none.
static int untried(const struct class *c, int n_way)
{
    for (int w = 0; w < n_way; w++) {
        if (c->cost[w] <= 0) {
            return w;
        }
    }
    return -1;
}

// The way to try again, in turn. One that is far off has its turn rarely.
static int again(struct class *c, int n_way, int best)
{
    int w = (best + 1 + c->n_try % (n_way - 1)) % n_way;
    bool is_far_off = c->cost[w] > c->cost[best] * 1.5f;
    c->n_try++;
    return is_far_off && c->n_try % RARELY != 0 ? best : w;
}

// Count the messages in a row.
static void settle(struct class *c)
{
    float was = c->cost[c->way];
    if (c->n_sample >= FEW) {
        float cost = judge(c);
        if (c->is_staying && (cost > was * 1.3f || cost < was * 0.75f)) {
            for (int w = 0; w < PLI_N_COPY_WAY; w++) {
                c->cost[w] = 0;
            }
        }
        c->cost[c->way] = cost;
    } else if (c->begun != 0 && was <= 0) {
        c->cost[c->way] = UNMEASURED;
    }
    c->n_sample = 0;
}

// Messages in a row are over: count them, and say what comes next.
static void turn(struct lane_costs *t, struct class *c, int n_way)
{
    settle(c);
    int w = untried(c, n_way);
    bool was_staying = c->is_staying;
    c->is_staying = false;
    if (w < 0) {
        int best = best_of(c, n_way);
        t->is_warm = true;
        bool is_due = was_staying && n_way > 1 && ++c->n_look % STAY == 0;
        w = is_due ? again(c, n_way, best) : best;
        c->is_staying = w == best;
        if (c->is_staying && !was_staying) {
            pli_log(PLI_DEBUG, "shm: 2^%d bytes: way %d; ps per byte: blocks %d, read %d, both %d",
                    (int)(c - t->class) + CLASS_MIN, w, (int)(c->cost[0] * 1000),
                    (int)(c->cost[1] * 1000), (int)(c->cost[2] * 1000));
        }
    }
    c->left = c->is_staying ? LOOK : t->is_warm || (c->begun & 1u << w) != 0 ? TRY : FIRST;
    c->begun |= (uint8_t)(1u << w);
    c->way = (uint8_t)w;
}

enum pli_copy_way pli_copy_select_take(struct pli_lane *lane, uint64_t size, int n_way)
{
    struct lane_costs *t = &all_costs[lane->index];
    struct class *c = class_of(t, size);
    if (c->left <= 0 && (t->n_open == 0 || c->is_staying || c->left < -PATIENCE)) {
        turn(t, c, n_way);
    }
    c->left--;
    return c->way < n_way ? (enum pli_copy_way)c->way : (enum pli_copy_way)(n_way - 1);
}

void pli_copy_select_begin(struct pli_request *recv, enum pli_copy_way way, uint64_t now_ns)
{
    struct lane_costs *t = &all_costs[recv->lane->index];
    recv->state |= PLI_REQ_COPY;
    if (t->n_open == 0) {
        t->start_ns = now_ns;
        t->way = (uint8_t)way;
        t->is_mixed = false;
    }
    t->is_mixed = t->is_mixed || t->way != way;
    t->n_open++;
}

void pli_copy_select_end(struct pli_request *recv)
{
    struct lane_costs *t = &all_costs[recv->lane->index];
    uint64_t size = recv->bytes < recv->size ? recv->bytes : recv->size;
    struct class *c = class_of(t, size);
    uint64_t now = pli_clock_ns();
    if (!t->is_mixed && c->way == t->way && size > 0) {
        c->sample[c->n_sample++ % N_SAMPLE] = (float)(now - t->start_ns + 1) / (float)size;
    }
    t->start_ns = now;
    t->n_open--;
    recv->state &= (uint16_t)~PLI_REQ_COPY;
}
