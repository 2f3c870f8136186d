// SPDX-License-Identifier: BSD-3-Clause
// All that the files of this folder keep in memory, each in a struct of its own.
#ifndef PLI_LAUNCHER_CKPT_STATE_H
#define PLI_LAUNCHER_CKPT_STATE_H

#include "ckpt/freeze_wire.h"
#include "launcher/base/helper.h"
#include "launcher/base/loop.h"
#include "launcher/base/pack.h"
#include "launcher/ckpt/ckpt_phase.h"
#include "launcher/ckpt/ckpt_commit.h"
#include "launcher/base/say.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pli_ckpt_move_ops;
struct pli_ckpt_role;
struct pli_job;
struct pli_manifest_task;
struct pli_proc_task;

// ckpt_copy.c: the copy of a rank.
struct pli_ckpt_copy {
    pid_t pid;                      // here, 0: there is none
    int number;                     // as which it knows itself
    int pidfd;                      // -1: none
    int resume_fd;                  // its resume pipe; it ends when that is closed
    struct pli_freeze_copied *said; // about its threads and files, of the heap
    const struct pli_freeze_thread *threads;
    const int32_t *files; // descriptors
    int64_t *sizes;       // how long each was when all ranks stood still, of the heap
};

#define PLI_CKPT_COPY_NONE                                                                         \
    {                                                                                              \
        .pidfd = -1, .resume_fd = -1                                                               \
    }

// ckpt_ranks.c: one rank in a checkpoint.
struct pli_ckpt_rank {
    struct pli_helper dump;     // first
    struct pli_helper pages;    // takes its memory from CRIU, where hashes of it are kept
    struct pli_proc_task *task; // until it goes on: one that has ended may have none
    uint32_t row, rank;
    uint32_t number; // as which it knows itself
    struct pli_ckpt_copy copy;
    int resume_fd;   // the pipe by which it is told to resume, -1: it does not stand still
    bool has_begun;  // it ran when the attempt began
    bool is_wanted;  // takes part
    bool is_drained; // nothing is on its way to it; where there is a network
    bool is_frozen;  // its socket is closed too
    bool is_dumped;
    bool is_failed; // CRIU or what takes the memory from it has failed
};

// ckpt_head.c: how far a host is.
struct pli_ckpt_part {
    enum pli_ckpt_stage stage;
    uint32_t n_rank;
    struct pli_manifest_task *tasks;
    uint32_t n_task;
};
// The ranks of the hosts whose ranks do not move, in a move.
enum pli_ckpt_others {
    PLI_CKPT_OTHERS_STOPPED,  // with those that move
    PLI_CKPT_OTHERS_GO_ON,    // or are about to
    PLI_CKPT_OTHERS_STOPPING, // once more, to connect with those that have moved
    PLI_CKPT_OTHERS_DRAINING,
    PLI_CKPT_OTHERS_LEAVING
};
struct pli_ckpt_head {
    struct pli_ckpt_part *parts; // by host; NULL: no checkpoints are made
    uint32_t n_part;             // hosts that take part in this one
    uint64_t *clocks;
    struct pli_pack said; // by the host whose ranks move, of them
    enum pli_ckpt_others others;
    bool is_gathering;  // they are to stop once more,
    bool is_gather_bad; // and one could not: try again
    struct pli_timer gather;
    uint64_t others_ns, others_from_ns; // how long they have stood still, and since when they do
};

// ckpt_daemon.c: the ranks as the manifest describes them.
struct pli_ckpt_daemon {
    struct pli_manifest_task *tasks;
    uint32_t n;
};

// ckpt_resume.c
struct pli_ckpt_caller;
struct pli_ckpt_resume {
    struct pli_watch listener;
    struct pli_job *job;
    struct pli_freeze_word word;
    bool *is_called; // by slot
    uint32_t n_called;
    bool is_held; // no rank gets an accept socket yet
    void (*all_back)(struct pli_job *job);
    struct pli_ckpt_caller *spare; // not freed: an event of this turn may name one
};

// ckpt_registered.c: checkpoints of registered state.
struct pli_ckpt_registered {
    enum { PLI_CKPT_S_IDLE, PLI_CKPT_S_WRITING, PLI_CKPT_S_COMMITTING } state;
    struct pli_ckpt_plan plan;
    struct pli_helper commit;
    struct pli_timer interval;
    uint64_t start_ns;
    uint32_t n_piece;
};

// ckpt_commit.c, in a helper: the files of a checkpoint.
struct pli_ckpt_file {
    char *path;
    uint64_t sum, bytes;
    int error; // 0: it is on the disk
};
struct pli_ckpt_files {
    struct pli_ckpt_file *all;
    uint32_t n;
    _Atomic uint32_t n_taken;
    char failed[PATH_MAX];
};

// auto_restart.c
struct pli_ckpt_auto {
    bool has_failed, is_unrestored;
    char dir[PATH_MAX]; // empty: no checkpoints are made
};

// restart_run.c, restart_files.c, restart_hosts.c
struct pli_ckpt_restored;
struct pli_ckpt_restart {
    struct pli_ckpt_restored *restored;
    uint32_t n_restored;
    char work[PATH_MAX];
    bool is_left;    // the user does not want it any more
    bool is_waiting; // the ranks are there, and not all hosts are ready
    bool has_replay; // in mpiexec: what the job was has been learned from a host
    char first_truncated[PATH_MAX];
    uint32_t n_truncated; // files that were cut back to their size of the checkpoint
};

// migrate_ranks.c, migrate_daemon.c, fork_migrate.c have their own; NULL: nothing was moved yet.
struct pli_migrate_ranks_state;
struct pli_migrate_daemon_state;
struct pli_fork_migrate_clone;

enum { PLI_CKPT_N_WAIT = 16 };

struct pli_ckpt_state {
    const struct pli_ckpt_role *role;

    // The checkpoint that is being made.
    enum pli_ckpt_phase state;
    struct pli_job *job; // NULL: none are made
    struct pli_ckpt_plan plan;
    int error; // 0: all is well so far
    char why[PLI_CKPT_WHY];
    uint32_t n_rank;
    bool is_again; // a rank was busy: try once more
    bool is_begun; // counted as an attempt
    bool is_asked; // a rank has asked since the last attempt was begun
    bool is_move;  // no checkpoint: the ranks of a host go to another; in a daemon: those of mine
    uint32_t moved_host;                      // in mpiexec: of this one
    const struct pli_ckpt_move_ops *move_ops; // of a move
    uint64_t start_ns, stop_ns, go_ns;
    struct pli_timer interval, again;
    struct pli_helper commit;
    void *tokens[PLI_CKPT_N_WAIT]; // ckpt_wait.c

    // The ranks of this host in it.
    struct pli_ckpt_rank *ranks; // by pli_job_slot
    size_t n_slot;
    struct pli_helper node;
    bool is_node_done;
    bool has_copies;  // the ranks resume before they are written: their copies are
    bool is_copy_bad; // a copy could not be written: none are made any more
    bool has_net;     // ranks may be connected
    bool is_leaving;  // they were told so
    bool may_call;    // in a daemon: mpiexec wants the ranks to resume
    struct pli_timer deadline, show;

    struct pli_ckpt_head head;
    struct pli_ckpt_daemon daemon;
    struct pli_ckpt_resume resume;
    struct pli_ckpt_registered registered;
    struct pli_ckpt_files files;
    struct pli_ckpt_auto auto_restart;
    struct pli_ckpt_restart restart;
    struct pli_migrate_ranks_state *migrate_ranks;
    struct pli_migrate_daemon_state *migrate_daemon;
    struct pli_fork_migrate_clone *clones;
    char mark[PATH_MAX]; // ckpt_hosts.c: directory, empty: there is none
    bool is_trust_said;  // restart_trust.c: the user was warned
};

// What it is before anything runs. Context: main.c.
#define PLI_CKPT_STATE_NONE                                                                        \
    {                                                                                              \
        .node = PLI_HELPER_NONE, .commit = PLI_HELPER_NONE,                                        \
        .resume = { .listener = { .fd = -1 } }, .registered = {                                    \
            .commit = PLI_HELPER_NONE                                                              \
        }                                                                                          \
    }

#endif
