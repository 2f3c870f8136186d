// SPDX-License-Identifier: BSD-3-Clause
// The board of a communicator whose members share a host: where blocking collectives exchange data.
// Context of all: the thread in the collective; no lock held.
#ifndef PLI_COLL_BOARD_H
#define PLI_COLL_BOARD_H

#include "base/err.h"
#include "coll/board/board_life.h"
#include "coll/board/board_wire.h"
#include "coll/coll_args.h"
#include "net/shm/shm.h"

#include <stdbool.h>
#include <stddef.h>

struct pli_board_cma;
struct pli_comm;
struct pli_lane;
struct pli_shm_mailbox;

// One member's view.
struct pli_board {
    struct pli_board_wire *w;
    struct pli_board_member *members;
    struct pli_lane *lane;
    const struct pli_comm *comm;
    const int *ranks; // of the members in comm
    int n, me;
    uint32_t n_group, group, n_together; // groups, mine, and the members in it; 0: there are none
    uint32_t what;                       // the operation under way, for the record of a sleeper
    const struct pli_coll_args *whole;   // of all hosts, which it is a part of; NULL: it is none
    bool is_flat;           // few members with a core each: each looks at the slots of all others
    bool is_oversubscribed; // the ranks of this host outnumber its cores
    bool is_unfinished;     // the last operation was left without waiting for the others,
    bool was_wrong;         // and they had called something else
    bool is_taker;          // since the last meeting it last took what others gave
    bool is_led;            // the member that gives next has just been let out of a barrier first
    bool gives_way;         // so it was when the meeting under way began
    int giver, leader;      // the only one it took from, then and before that meeting; -1: none
    uint64_t seq;           // of the last operation that all members take part in
    uint64_t ring_at, ring_room;        // next entry of the ring; entries below may be written
    uint64_t ring_mine[PLI_BOARD_RING]; // seq that I gave each entry last
    unsigned char *window;              // mine, to show data that does not fit a slot
    size_t window_half;                 // it has two halves of this size, used in turn
    bool turn;                          // which half was shown last
    bool has_no_window;                 // a member had no memory for it
    unsigned char *stream;              // mine, a chunk for every entry of the ring
    struct pli_board_slot *posts;       // PLI_BOARD_POSTS of each member; NULL: too many members
    uint64_t post_at, post_room; // the next operation with postings; those below may be written
    bool has_posted;             // in the operation with postings that is under way
    uint64_t parts_room;         // operations below may be written to the slots of all
    unsigned char *part;         // room for blocks of the operation under way that is left
    size_t part_room;
    int post_reader[PLI_BOARD_POSTS];                  // who reads my last ones (board_post.h)
    unsigned char *chunks;                             // mine, for postings that do not fit a slot
    bool has_no_chunks;                                // there was no memory for them
    unsigned char *large;                              // mine, for postings that do not fit a chunk
    bool has_no_large;                                 // there was no memory for them
    uint64_t n_large, large_at[PLI_BOARD_LARGE_POSTS]; // written so far; operations of the last
    uint32_t post_calls;       // all operations with postings and their roots, as a hash
    bool has_read;             // a posting since it last woke those who wait for room
    bool has_agreed;           // on the sizes of the operation under way (board_post.h)
    struct pli_board_cma *cma; // of board_cma.c; NULL: not used yet
    int only; // member to wake at the end of a meeting, when the others are woken later; -1: all
    int last_woken;                   // member, -1: none
    struct pli_shm_mailbox *last_box; // its
    int n_box;
    struct pli_shm_mailbox *boxes[]; // at which the other members sleep, each once
};

// The operation and its root in one word, by which members see that they mean the same. Those
// without a root have 0 there.
enum { PLI_BOARD_KINDS = 256 };

static inline uint32_t pli_board_what(const struct pli_coll_args *a)
{
    return (uint32_t)a->kind + (uint32_t)a->root * PLI_BOARD_KINDS;
}

// PLI_ERR_OTHER, noted: a member, as it wrote, is in another operation than this rank.
enum pli_err pli_board_other_call(const struct pli_board *b, const struct pli_coll_args *a,
                                  int member, uint32_t what);

// Wait until the word has at least this value. The lane moves on meanwhile. False: it never will,
// because a member died or the communicator was revoked.
bool pli_board_wait_slow(struct pli_board *b, const _Atomic uint64_t *word, uint64_t want);

static inline bool pli_board_wait(struct pli_board *b, const _Atomic uint64_t *word, uint64_t want)
{
    return atomic_load_explicit(word, memory_order_acquire) >= want ||
           pli_board_wait_slow(b, word, want);
}

// The same for any of two words.
bool pli_board_wait_any(struct pli_board *b, const _Atomic uint64_t *word,
                        const _Atomic uint64_t *other, uint64_t want);

// The same where no member is sure to wake this one: sleeps are short.
bool pli_board_wait_short(struct pli_board *b, const _Atomic uint64_t *word, uint64_t want);

// Begin an operation of all members: my slot for it, to be filled but for seq.
struct pli_board_slot *pli_board_begin(struct pli_board *b, const struct pli_coll_args *a,
                                       uint64_t bytes);
// The slot is full. True: I am the last, and pli_board_release must follow; never when flat.
bool pli_board_arrive(struct pli_board *b);
void pli_board_release(struct pli_board *b, enum pli_board_error error);
// Wait until all have arrived, and judge whether they mean the same operation.
enum pli_err pli_board_finish(struct pli_board *b, const struct pli_coll_args *a, uint64_t bytes);
// Arrive and wait: nothing but a meeting.
enum pli_err pli_board_meet(struct pli_board *b, const struct pli_coll_args *a, uint64_t bytes);
// The same in a barrier where members share cores: the one that the last to come took from before
// is the first to leave.
enum pli_err pli_board_meet_led(struct pli_board *b, const struct pli_coll_args *a);
// Leave without waiting; the next operation does.
void pli_board_leave(struct pli_board *b);

// Whether all slots agree; for the last to arrive.
enum pli_board_error pli_board_judge(const struct pli_board *b);

static inline struct pli_board_slot *pli_board_slot(struct pli_board *b, int member)
{
    return &b->members[member].slot[b->seq & 1];
}

// Of postings (board_post.h).
static inline struct pli_board_slot *pli_board_post_slot(const struct pli_board *b, int member)
{
    return &b->posts[(size_t)member * PLI_BOARD_POSTS + b->post_at % PLI_BOARD_POSTS];
}

// What this member last did between two meetings, on the board or by messages: it only took what
// others gave, or not. Where members share cores one that took lets the others go first when it
// ends the next meeting. giver: the only one it took from, -1: it took from several or not at all.
static inline void pli_board_note_part(struct pli_board *b, bool is_taker, int giver)
{
    b->is_taker = is_taker;
    b->giver = giver;
}

// Wake a member that may sleep, or all, after something it waits for was written.
static inline void pli_board_wake(struct pli_board *b, int member)
{
    if (__builtin_expect(b->last_woken != member, 0)) {
        b->last_box = pli_board_life_box(b->comm, b->ranks[member]);
        b->last_woken = member;
    }
    pli_shm_wake(b->last_box);
}
void pli_board_wake_all(struct pli_board *b);

// A window of two halves of at least `half` bytes at every member; PLI_AGAIN: not to be had. All
// members call it with the same size; fails where they do not.
enum pli_err pli_board_widen(struct pli_board *b, const struct pli_coll_args *a, size_t half);
// The other half of my window, to show data in the operation that was begun; the slot's offset is
// set to it. Others may look at it until they arrive at the second meeting from here that follows
// another pli_board_show.
unsigned char *pli_board_show(struct pli_board *b);

#endif
