// SPDX-License-Identifier: BSD-3-Clause
// Measures the ways to copy a large message, and takes the fastest.
// Messages of about the same size are a class. Each way is tried with a few messages in a row; then
// the best one is used. Now and then another is tried again, and all are when the best one takes
// another time than before, because the program then does something else. What is measured is the
// time of the whole row by its bytes, from the later of two moments, when a receive was known and
// when the one before it was over: the latency of single messages, and the share of one in a stream
// of them, whose ends may come all at once. Time in which two ways were under way counts for none.
// A time that surprises is measured once more: others may have had the core. The first messages
// that go a way count for nothing: they meet pages that are not mapped yet.
//
// Where data goes both ways the time of a receive says little: it includes what this core does for
// the other direction, and the other core what it does for this one. There the work counts that a
// core has with a byte: to read it, or to copy it to a block and another one out of it.
#include "msg/copy_select.h"

#include "base/log.h"
#include "msg/lane.h"
#include "msg/request.h"

enum {
    CLASS_MIN = 12, // log2 of the smallest size
    N_CLASS = 14,
    TRY = 4,             // messages in a row with one way when it is tried
    FIRST = 8,           // before that, when nothing went this way yet: they do not count
    LOOK = 32,           // messages after which the best way is looked at again
    STAY = 4,            // such looks before another way is tried
    PATIENCE = 64,       // messages for which a change waits until none is under way
    RARELY = 4,          // a way that is far slower is tried again every so many times
    VAIN = 3,            // rows without a measurement before a way counts as bad
    BOTH_TRY = 8,        // messages both ways with one way when it is tried,
    BOTH_STAY = 256,     // between the first two such trials,
    BOTH_STAY_MAX = 4096 // and later on
};

#define UNMEASURED 1e3f // where no measurement counted: a second for a megabyte

struct class
{
    float cost[PLI_N_COPY_WAY]; // ns per byte; 0: not measured
    float doubted;              // what the row before this one measured; 0: it did not surprise
    uint64_t ns, bytes;         // of the row so far
    uint8_t way, n_look, n_try, n_vain;
    bool has_begun;  // some way was tried
    bool is_staying; // with the best one
    int32_t left;    // messages in a row that are to come
    // Both ways: work of this core by byte; 0: not measured.
    float work[PLI_N_COPY_WORK];
    enum pli_copy_way both_way;
    uint32_t n_both, both_stay; // messages since both were compared; how many go both_way
};

// Guarded by the lane's lock.
static struct lane_costs {
    struct class class[N_CLASS];
    uint64_t start_ns;
    uint32_t n_open[PLI_N_COPY_WAY]; // receives under way
    bool is_mixed;                   // more than one way was, since start_ns
    uint8_t warm;                    // bits: ways that messages have gone before
} all_costs[PLI_NODE_N_LANE];

static struct class *class_of(struct lane_costs *t, uint64_t size)
{
    int k = 63 - __builtin_clzll(size | 1) - CLASS_MIN;
    return &t->class[k < 0 ? 0 : k >= N_CLASS ? N_CLASS - 1 : k];
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

// Whether a measurement is another than what is known of this way, or twice that of another way.
static bool is_surprise(const struct class *c, float cost)
{
    float was = c->cost[c->way];
    if (was > 0) {
        return cost > was * 1.3f || cost < was * 0.75f;
    }
    for (int w = 0; w < PLI_N_COPY_WAY; w++) {
        if (c->cost[w] > 0 && cost > c->cost[w] * 2) {
            return true;
        }
    }
    return false;
}

// Count the messages in a row. False: the same again.
static bool settle(struct lane_costs *t, struct class *c)
{
    if (!c->has_begun) {
        return true; // nothing was tried yet
    }
    if ((t->warm & 1u << c->way) == 0) {
        t->warm |= (uint8_t)(1u << c->way);
        c->ns = c->bytes = 0;
        return false;
    }
    float was = c->cost[c->way], cost = c->bytes > 0 ? (float)c->ns / (float)c->bytes : 0;
    c->ns = c->bytes = 0;
    if (cost <= 0) {
        bool is_bad = was <= 0 && ++c->n_vain >= VAIN;
        c->cost[c->way] = is_bad ? UNMEASURED : was;
        return was > 0 || is_bad;
    }
    c->n_vain = 0;
    if (is_surprise(c, cost) && c->doubted <= 0) {
        c->doubted = cost;
        return false;
    }
    cost = c->doubted > 0 && c->doubted < cost ? c->doubted : cost;
    c->doubted = 0;
    if (c->is_staying && is_surprise(c, cost)) {
        for (int w = 0; w < PLI_N_COPY_WAY; w++) {
            c->cost[w] = 0;
        }
    }
    c->cost[c->way] = cost;
    return true;
}

// Messages in a row are over: count them, and say what comes next.
static void turn(struct lane_costs *t, struct class *c, int n_way)
{
    if (!settle(t, c)) {
        c->left = c->is_staying || c->n_vain > 0 ? LOOK : TRY;
        return;
    }
    int w = untried(c, n_way);
    bool was_staying = c->is_staying;
    c->is_staying = false;
    if (w < 0) {
        int best = best_of(c, n_way);
        bool is_due = was_staying && n_way > 1 && ++c->n_look % STAY == 0;
        w = is_due ? again(c, n_way, best) : best;
        c->is_staying = w == best;
        if (c->is_staying && !was_staying) {
            pli_log(PLI_DEBUG, "shm: 2^%d bytes: way %d; ps per byte: blocks %d, read %d, both %d",
                    (int)(c - t->class) + CLASS_MIN, w, (int)(c->cost[0] * 1000),
                    (int)(c->cost[1] * 1000), (int)(c->cost[2] * 1000));
        }
    }
    c->left = c->is_staying ? LOOK : (t->warm & 1u << w) != 0 ? TRY : FIRST;
    c->has_begun = true;
    c->way = (uint8_t)w;
}

static bool is_idle(const struct lane_costs *t)
{
    uint32_t n = 0;
    for (int w = 0; w < PLI_N_COPY_WAY; w++) {
        n += t->n_open[w];
    }
    return n == 0;
}

enum pli_copy_way pli_copy_select_take(struct pli_lane *lane, uint64_t size, int n_way)
{
    struct lane_costs *t = &all_costs[lane->index];
    struct class *c = class_of(t, size);
    if (c->left <= 0 && (c->is_staying || is_idle(t) || c->left < -PATIENCE)) {
        turn(t, c, n_way);
    }
    c->left--;
    return c->way < n_way ? (enum pli_copy_way)c->way : (enum pli_copy_way)(n_way - 1);
}

void pli_copy_select_begin(struct pli_request *recv, enum pli_copy_way way, uint64_t now_ns)
{
    struct lane_costs *t = &all_costs[recv->lane->index];
    recv->state |= (uint16_t)(PLI_REQ_COPY | (unsigned)way * PLI_REQ_COPY_WAY);
    if (is_idle(t)) {
        t->start_ns = now_ns;
        t->is_mixed = false;
    }
    t->n_open[way]++;
    for (int w = 0; w < PLI_N_COPY_WAY; w++) {
        t->is_mixed = t->is_mixed || (w != (int)way && t->n_open[w] > 0);
    }
}

void pli_copy_select_end(struct pli_request *recv, uint64_t now_ns)
{
    struct lane_costs *t = &all_costs[recv->lane->index];
    uint64_t size = recv->bytes < recv->size ? recv->bytes : recv->size;
    struct class *c = class_of(t, size);
    unsigned way = recv->state / PLI_REQ_COPY_WAY & 3;
    if (!t->is_mixed && c->way == way) {
        c->ns += now_ns - t->start_ns + 1;
        c->bytes += size;
    }
    t->start_ns = now_ns;
    t->n_open[way]--;
    int n_way = 0;
    for (int w = 0; w < PLI_N_COPY_WAY; w++) {
        n_way += t->n_open[w] > 0;
    }
    t->is_mixed = n_way > 1;
    recv->state &= (uint16_t) ~(PLI_REQ_COPY | 3 * PLI_REQ_COPY_WAY);
}

// What a byte costs each of two cores that send to each other; 0: not known.
static float both_cost(const struct class *c, enum pli_copy_way way)
{
    const float *w = c->work;
    if (way == PLI_COPY_READ) {
        return w[PLI_COPY_WORK_READ];
    }
    float in = w[PLI_COPY_WORK_IN], out = w[PLI_COPY_WORK_OUT]; // one may not be known yet
    return in > 0 && out > 0 ? in + out : 2 * (in + out);
}

static enum pli_copy_way other_of(enum pli_copy_way way)
{
    return way == PLI_COPY_READ ? PLI_COPY_BLOCKS : PLI_COPY_READ;
}

// Both ways were tried. The one in use stays unless the other one is clearly better, and what stays
// is compared ever more rarely: messages that go another way than those around them wait for the
// other core, and a window with a few of them is slower than with either way alone.
static void settle_both(struct class *c)
{
    enum pli_copy_way other = other_of(c->both_way);
    // The work with blocks leaves out what it takes to wait for them.
    float cost = both_cost(c, other);
    bool is_better = cost > 0 && cost < both_cost(c, c->both_way) * 0.85f;
    bool is_new = is_better || c->both_stay < BOTH_STAY;
    c->both_way = is_better ? other : c->both_way;
    c->both_stay = is_new                         ? BOTH_STAY
                   : c->both_stay < BOTH_STAY_MAX ? c->both_stay * 2
                                                  : BOTH_STAY_MAX;
}

enum pli_copy_way pli_copy_select_both(struct pli_lane *lane, uint64_t size)
{
    struct class *c = class_of(&all_costs[lane->index], size);
    if (c->both_stay == 0) {
        c->both_stay = BOTH_TRY;
        c->both_way = PLI_COPY_READ;
    } else if (c->n_both == c->both_stay + BOTH_TRY) {
        settle_both(c);
        c->n_both = 0;
    }
    return c->n_both++ < c->both_stay ? c->both_way : other_of(c->both_way);
}

void pli_copy_select_work(struct pli_lane *lane, enum pli_copy_work work, uint64_t size,
                          uint64_t bytes, uint64_t ns)
{
    float *w = &class_of(&all_costs[lane->index], size)->work[work];
    float now = (float)(ns + 1) / (float)bytes;
    // Time that others took does not count: what is longer than before is believed slowly.
    *w += (now - *w) * (*w <= 0 ? 1 : now < *w ? 0.5f : 0.05f);
}
