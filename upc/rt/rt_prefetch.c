// SPDX-License-Identifier: BSD-3-Clause
// Reads far data ahead, so that gets of elements side by side become one transfer.
// The translator marks gets of stretches in which this thread passes no fence, strict access, label
// or call: there a relaxed read may have happened at any time since the stretch began. What was
// read ahead is dropped where the thread itself writes, and serves a few reads of each element
// only, so that a loop that looks at a word until it changes sees the change. Of no byte there are
// two copies, so no older value follows a newer one.
#include "rt_prefetch.h"
#include "rt.h"
#include "rt_copy.h"
#include "upc_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAMS = 4,    // that are followed at once
    FIRST = 64,     // bytes read when a stream is found, doubled each time it goes on
    STRAIGHT = 256, // bytes read at once in statements without a loop
    MOST = 4096,    // bytes; and never beyond this boundary, behind which may be no memory yet
    GAP = 64,       // bytes that may be left out between two reads
    READS = 4       // of an element, on the average, before it is fetched again
};

struct stream {
    int thread;        // -1: none
    size_t begin, end; // of the data, where it is at that thread
    size_t ahead;      // bytes to read next, 0: only what is asked for
    size_t n_read;     // that it may still serve
    char data[MOST];
};

struct rt_prefetch {
    bool is_straight, is_used;
    unsigned turn; // the stream that is given up next
    struct stream streams[STREAMS];
};

static void forget(struct rt_prefetch *f)
{
    for (int i = 0; i < STREAMS; i++) {
        f->streams[i].thread = -1;
    }
    f->is_used = false;
}

void pli_upc_ahead_begin(int is_straight)
{
    struct rt_prefetch *f = rt_me()->far;
    if (f == NULL) {
        f = malloc(sizeof *f);
        if (f == NULL) {
            return; // gets are single then
        }
        f->turn = 0;
        f->is_used = true;
        rt_me()->far = f;
    }
    if (f->is_used) {
        forget(f);
    }
    f->is_straight = is_straight != 0;
}

static void drop(struct rt_prefetch *f, int thread, size_t at, size_t len)
{
    for (int i = 0; i < STREAMS; i++) {
        struct stream *s = &f->streams[i];
        if (s->thread == thread && at < s->end && at + len > s->begin) {
            s->thread = -1;
        }
    }
}

void pli_rt_prefetch_drop(pli_upc_pts to, size_t len)
{
    struct rt_prefetch *f = rt_me()->far;
    if (f != NULL && f->is_used) {
        drop(f, (int)pli_upc_threadof(to), pli_upc_addrfield(to), len);
    }
}

// The stream that has these bytes, or goes on with them.
static struct stream *find(struct rt_prefetch *f, int thread, size_t at)
{
    for (int i = 0; i < STREAMS; i++) {
        struct stream *s = &f->streams[i];
        if (s->thread == thread && at >= s->begin && at < s->end + GAP) {
            return s;
        }
    }
    return NULL;
}

static struct stream *begin(struct rt_prefetch *f, size_t at)
{
    struct stream *s = &f->streams[f->turn++ % STREAMS];
    s->ahead = f->is_straight ? STRAIGHT : 0;
    s->begin = s->end = at;
    return s;
}

static void fetch(struct rt_prefetch *f, struct stream *s, pli_upc_pts from, size_t len)
{
    size_t at = pli_upc_addrfield(from), room = MOST - at % MOST;
    bool goes_on = at >= s->end && s->end > s->begin;
    s->ahead = !goes_on ? s->ahead : s->ahead == 0 ? FIRST : s->ahead < MOST ? 2 * s->ahead : MOST;
    size_t n = s->ahead < room ? s->ahead : room;
    n = n < len ? len : n;
    drop(f, (int)pli_upc_threadof(from), at, n);
    pli_upc_get(s->data, from, n);
    s->thread = (int)pli_upc_threadof(from);
    s->begin = at;
    s->end = at + n;
    s->n_read = n > len ? READS * (n / len) : 1;
    f->is_used = true;
}

void pli_upc_get_ahead(void *to, pli_upc_pts from, size_t len)
{
    struct rt_prefetch *f = rt_me()->far;
    size_t at = pli_upc_addrfield(from);
    if (f == NULL || len > FIRST) {
        pli_upc_get(to, from, len);
        return;
    }
    struct stream *s = find(f, (int)pli_upc_threadof(from), at);
    if (s == NULL) {
        s = begin(f, at);
    }
    if (at + len > s->end || s->n_read == 0) {
        fetch(f, s, from, len);
    }
    memcpy(to, s->data + (at - s->begin), len);
    s->n_read--;
}
