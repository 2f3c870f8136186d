// SPDX-License-Identifier: BSD-3-Clause
// Files: what one is, and what all operations on it share. [MPI-5.0 14]
#ifndef PLI_IO_FILE_H
#define PLI_IO_FILE_H

#include "base/err.h"
#include "base/list.h"
#include "io/file_hints.h"
#include "io/file_view.h"
#include "obj/handle.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_comm;
struct pli_errhandler;
struct pli_file_batch;
struct pli_file_map;
struct pli_file_ranges;
struct pli_file_window;
struct pli_file_want;
struct pli_file_worker;
struct pli_info;
struct pli_request;
struct pli_shm_mailbox;
struct pli_win;

// A split collective between its two calls.
struct pli_file_split {
    const char *begin; // the function that began it; NULL: none is open
    const void *buf;
    struct pli_request *request;
};

// With what the memory that members share begins; all of it is on one page.
struct pli_file_head {
    _Alignas(64) _Atomic MPI_Offset pos; // the shared pointer
    _Alignas(64) _Atomic uint32_t turn;  // see file_turn.h
};

// The shared file pointer.
struct pli_file_shared {
    _Atomic MPI_Offset *word; // where all members are on one host
    _Atomic uint32_t *turn;   // there too; see file_turn.h
    struct pli_win *win;      // else: rank 0 has the word in it
    void *memory;             // of the word, at rank 0
    size_t len;               // of it
    int where;                // that memory is
    bool is_clean;            // all have closed the file, and nothing but its head was used
};

// Memory in which members of one host collect what rank 0 writes; see file_ring.h.
struct pli_file_ring {
    char *at;                             // NULL: it was not made yet,
    bool is_missing;                      // or could not be
    void *memory;                         // at rank 0: what was taken
    int where;                            // that memory is
    size_t *sizes;                        // at writers: room for a number of each member
    bool has_help;                        // others copy for rank 0,
    char *part;                           // by this memory,
    const struct pli_shm_mailbox *writer; // from its own
};

// Ranges that members of one host hold in atomic mode; see file_range.h.
struct pli_file_held {
    struct pli_file_ranges *table; // NULL: none is to be had, or it was not made yet
    void *memory;                  // at rank 0: what was taken
    int where;                     // that memory is
};

// How an aggregator does its part.
enum pli_file_rounds {
    PLI_FILE_ROUNDS_WHOLE,   // a buffer in each round
    PLI_FILE_ROUNDS_SHORT,   // less, where each member has a core and the system's cache answers
    PLI_FILE_ROUNDS_OVERLAP, // half a buffer, while another half is written or read
};

struct pli_file {
    struct pli_obj obj;
    struct pli_list all;   // files of this process
    struct pli_comm *comm; // the file's alone
    struct pli_file_shared pointer;
    struct pli_file_ring ring;
    struct pli_file_held ranges;
    struct pli_file_window *window; // see file_shared_map.h; NULL: none is to be had
    struct pli_file_batch *batch;   // see file_shared_batch.h; NULL: none is to be had
    char *name;
    int fd;
    int amode;
    bool is_mixed;         // members are in clients of other MPIs, see file_span.h
    bool is_clone;         // of a file that other processes delete, if it is to be deleted
    MPI_Offset pos_shared; // in a clone: where the shared pointer was at the fork
    bool can_read;         // the descriptor can, also where the program may not
    bool is_local;         // see file_map.h
    bool has_large_pages;
    bool is_memory;   // see file_map.h
    bool is_in_place; // there too
    bool is_filled;   // views of all members together have more data than gaps
    bool has_uring;   // see file_uring.h
    bool needs_lock;  // every access locks its range: NFS keeps its cache right then
    _Atomic bool is_atomic;
    struct pli_errhandler *errhandler;
    struct pli_file_hints hints;
    pthread_mutex_t range; // held with a lock of a range of the file, which threads would share
    pthread_mutex_t lock;  // of what follows, and of changes that read first
    MPI_Offset pos;        // the individual pointer, in bytes of the view
    struct pli_file_view view;
    struct pli_file_split split;
    struct pli_file_view *peers; // where this member aggregates: the views of all members
    struct pli_file_want *wants; // of all members, in a collective access
    int *aggregators;            // ranks
    int n_aggregator;
    int my_aggregator; // -1: this member is none
    enum pli_file_rounds rounds;
    struct pli_file_worker *worker;
    _Atomic(void *) spare; // a buffer of the size of hints.buffer, kept for the next use
    _Atomic(struct pli_file_map *) kept[2]; // mappings for reading and writing; NULL: none
    _Atomic uint32_t n_open;                // nonblocking operations that are not over
};

enum { PLI_FILE_SENTENCE = 512, PLI_FILE_MOST = 4 }; // room for the reason of an error

// Whether all members are well: where one is not, all fail with its error and its sentence.
// Collective.
enum pli_err pli_file_agree(struct pli_file *f, enum pli_err err);
enum pli_err pli_file_agree_on(struct pli_comm *comm, enum pli_err err);
// The same, and each of n <= PLI_FILE_MOST values becomes the largest that a member has.
enum pli_err pli_file_agree_most(struct pli_comm *comm, enum pli_err err, MPI_Offset *values,
                                 int n);
// The last step of a collective call. In a job that survives failures, where one member hears of a
// death and another does not: all of them fail, or none. Every member calls it, whatever happened.
enum pli_err pli_file_settle(struct pli_file *f, enum pli_err err);
enum pli_err pli_file_settle_on(struct pli_comm *comm, const char *name, enum pli_err err);
// No split collective may be open.
enum pli_err pli_file_check_split(const struct pli_file *f, const char *call);
// The same, and no nonblocking operation.
enum pli_err pli_file_check_idle(const struct pli_file *f, const char *call);

// A buffer of hints.buffer bytes; NULL: no memory, noted. Given back, it is kept for the next
// caller.
void *pli_file_buffer_take(struct pli_file *f);
void pli_file_buffer_give(struct pli_file *f, void *buf);

#endif
