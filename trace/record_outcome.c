// SPDX-License-Identifier: BSD-3-Clause
// Reads a record from its begin to its end before it is replayed. Nonblocking receives are numbered
// as they are posted; an outcome says how many older ones are not complete, and so belongs to a
// number. A repeated event is handled as a whole, so that a count is never a loop.
#include "trace/record_outcome.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const uint8_t pli_record_file_numbers[PLI_RECORD_FILE_LIST] = {
    [PLI_RECORD_RECV] = 1,        [PLI_RECORD_RECV_TAG] = 2,        [PLI_RECORD_FIRST] = 1,
    [PLI_RECORD_FIRST_TAG] = 2,   [PLI_RECORD_LATER] = 2,           [PLI_RECORD_LATER_TAG] = 3,
    [PLI_RECORD_PROBE] = 1,       [PLI_RECORD_PROBE_TAG] = 2,       [PLI_RECORD_IPROBE] = 1,
    [PLI_RECORD_IPROBE_FROM] = 1, [PLI_RECORD_IPROBE_FROM_TAG] = 2, [PLI_RECORD_TEST] = 1,
    [PLI_RECORD_TESTALL] = 1,     [PLI_RECORD_TESTANY] = 1,         [PLI_RECORD_WAITANY] = 1,
    [PLI_RECORD_STATUS] = 1,      [PLI_RECORD_STATUS_ALL] = 1,      [PLI_RECORD_STATUS_ANY] = 1,
    [PLI_RECORD_PARRIVED] = 1,    [PLI_RECORD_WIN_TEST] = 1,
};

// Numbers of receives that are not complete, in ranges; all from `next` on are not either.
struct pending {
    struct {
        uint64_t first, end;
    } * ranges;
    size_t n, cap;
    uint64_t next;
};

static bool add_run(struct pli_record_outcomes *o, uint64_t first, uint64_t n, uint64_t source)
{
    struct pli_record_outcome *last = o->n > 0 ? &o->runs[o->n - 1] : NULL;
    if (last != NULL && last->first + last->n == first && last->source == (int32_t)source &&
        n <= UINT32_MAX - last->n) {
        last->n += (uint32_t)n;
        return true;
    }
    if (o->n == o->cap) {
        size_t cap = o->cap > 0 ? o->cap * 2 : 64;
        struct pli_record_outcome *more = realloc(o->runs, cap * sizeof *more);
        if (more == NULL) {
            return false;
        }
        o->runs = more;
        o->cap = cap;
    }
    o->runs[o->n++] = (struct pli_record_outcome){ first, (uint32_t)n, (int32_t)source };
    return true;
}

static bool insert_range(struct pending *p, size_t at, uint64_t first, uint64_t end)
{
    if (p->n == p->cap) {
        size_t cap = p->cap > 0 ? p->cap * 2 : 16;
        void *more = realloc(p->ranges, cap * sizeof *p->ranges);
        if (more == NULL) {
            return false;
        }
        p->ranges = more;
        p->cap = cap;
    }
    memmove(p->ranges + at + 1, p->ranges + at, (p->n - at) * sizeof *p->ranges);
    p->ranges[at].first = first;
    p->ranges[at].end = end;
    p->n++;
    return true;
}

// The receive before which `older` ones are not complete is, and then the next one in its place, n
// times in all.
static bool complete(struct pli_record_outcomes *o, struct pending *p, uint64_t older, uint64_t n,
                     uint64_t source)
{
    size_t at = 0;
    for (; at < p->n && older >= p->ranges[at].end - p->ranges[at].first; at++) {
        older -= p->ranges[at].end - p->ranges[at].first;
    }
    while (at < p->n && n > 0) { // of these, `older` stay in the first range
        uint64_t first = p->ranges[at].first + older, end = p->ranges[at].end;
        uint64_t take = n < end - first ? n : end - first;
        if (!add_run(o, first, take, source)) {
            return false;
        }
        if (older > 0 && first + take < end && !insert_range(p, at + 1, first + take, end)) {
            return false;
        }
        if (older > 0) {
            p->ranges[at++].end = first;
        } else if (first + take < end) {
            p->ranges[at].first = first + take;
        } else {
            memmove(p->ranges + at, p->ranges + at + 1, (p->n - at - 1) * sizeof *p->ranges);
            p->n--;
        }
        older = 0;
        n -= take;
    }
    if (n == 0) {
        return true;
    }
    if (older > UINT64_MAX / 2 - p->next || n > UINT64_MAX / 2 - p->next - older) {
        return false; // nobody has posted so many
    }
    if (older > 0 && !insert_range(p, p->n, p->next, p->next + older)) {
        return false;
    }
    p->next += older + n;
    return add_run(o, p->next - n, n, source);
}

// Where the numbers of an event have their rank and their tag; -1: nowhere.
static int place_of_rank(unsigned kind)
{
    switch (kind) {
    case PLI_RECORD_RECV:
    case PLI_RECORD_RECV_TAG:
    case PLI_RECORD_FIRST:
    case PLI_RECORD_FIRST_TAG:
    case PLI_RECORD_PROBE:
    case PLI_RECORD_PROBE_TAG:
    case PLI_RECORD_IPROBE_FROM:
    case PLI_RECORD_IPROBE_FROM_TAG:
        return 0;
    case PLI_RECORD_LATER:
    case PLI_RECORD_LATER_TAG:
        return 1;
    default:
        return -1;
    }
}

static bool has_tag(unsigned kind)
{
    return kind == PLI_RECORD_RECV_TAG || kind == PLI_RECORD_FIRST_TAG ||
           kind == PLI_RECORD_LATER_TAG || kind == PLI_RECORD_PROBE_TAG ||
           kind == PLI_RECORD_IPROBE_FROM_TAG;
}

static bool is_outcome(unsigned kind)
{
    return kind == PLI_RECORD_FIRST || kind == PLI_RECORD_FIRST_TAG || kind == PLI_RECORD_LATER ||
           kind == PLI_RECORD_LATER_TAG;
}

// Follows the tags: n times so far from the last one, and never out of what a tag can be.
static bool follow_tag(int64_t *tag, uint64_t number, uint64_t n)
{
    int64_t step = (int64_t)(number / 2);
    step = number % 2 != 0 ? -step - 1 : step;
    if (step > INT_MAX || step < -(int64_t)INT_MAX || (step != 0 && n > INT_MAX)) {
        return false;
    }
    *tag += step != 0 ? step * (int64_t)n : 0;
    return *tag >= 0 && *tag <= INT_MAX;
}

// Whether a recorder can have written the event: ranks and indices that MPI can have.
static bool is_possible(const struct pli_record_reader *r)
{
    bool is_list = r->kind >= PLI_RECORD_FILE_LIST;
    if (r->kind >= PLI_RECORD_N_KIND || (r->kind >= PLI_RECORD_N_PLAIN && !is_list)) {
        return false;
    }
    int at = place_of_rank(r->kind);
    if (at >= 0) {
        return r->numbers[at] <= INT_MAX && (r->numbers[at] > 0 || is_outcome(r->kind));
    }
    for (size_t i = 0; i < r->n_number; i++) {
        bool is_none = r->numbers[i] == 0 && is_list && r->n_number > 1;
        if (is_none || r->numbers[i] > (uint64_t)INT_MAX + 1) {
            return false;
        }
    }
    return true;
}

static bool read_events(struct pli_record_outcomes *o, struct pending *p,
                        struct pli_record_reader *r)
{
    int64_t tag = 0;
    while (pli_record_file_next(r)) {
        uint64_t more = pli_record_file_again(r), n = more + 1;
        if (more >= UINT32_MAX && is_outcome(r->kind)) {
            return false; // it would have taken years
        }
        if (!is_possible(r) || n == 0 ||
            (has_tag(r->kind) && !follow_tag(&tag, r->numbers[r->n_number - 1], n))) {
            return false;
        }
        bool is_later = r->kind == PLI_RECORD_LATER || r->kind == PLI_RECORD_LATER_TAG;
        if (is_outcome(r->kind) &&
            !complete(o, p, is_later ? r->numbers[0] : 0, n, r->numbers[is_later ? 1 : 0])) {
            return false;
        }
    }
    return !r->is_damaged && (!r->file->is_complete || r->n_read == r->file->n_event);
}

static int by_number(const void *a, const void *b)
{
    const struct pli_record_outcome *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

bool pli_record_outcomes_read(struct pli_record_outcomes *o, const struct pli_record_file *f)
{
    struct pli_record_reader r;
    struct pending p = { 0 };
    *o = (struct pli_record_outcomes){ 0 };
    pli_record_file_begin(&r, f);
    bool is_good = read_events(o, &p, &r);
    pli_record_file_end(&r);
    free(p.ranges);
    if (!is_good) {
        pli_record_outcomes_fini(o);
    } else if (o->n > 0) {
        qsort(o->runs, o->n, sizeof *o->runs, by_number);
    }
    return is_good;
}

int32_t pli_record_outcomes_find(const struct pli_record_outcomes *o, uint64_t number)
{
    size_t low = 0, high = o->n;
    while (low < high) { // the first run that begins behind it
        size_t mid = low + (high - low) / 2;
        if (o->runs[mid].first <= number) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    const struct pli_record_outcome *run = low > 0 ? &o->runs[low - 1] : NULL;
    return run != NULL && number - run->first < run->n ? run->source : PLI_RECORD_UNKNOWN;
}

void pli_record_outcomes_fini(struct pli_record_outcomes *o)
{
    free(o->runs);
    *o = (struct pli_record_outcomes){ 0 };
}
