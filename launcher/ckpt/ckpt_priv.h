// SPDX-License-Identifier: BSD-3-Clause
// What the files about checkpoints share.
#ifndef PLI_LAUNCHER_CKPT_PRIV_H
#define PLI_LAUNCHER_CKPT_PRIV_H

#include "launcher/job/job.h"
#include "launcher/base/loop.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pli_answer;
struct pli_manifest_task;

enum { PLI_CKPT_WHY = 400 };

// A program or a part of mpiexec that works beside it; dies with it.
struct pli_helper {
    struct pli_watch watch; // its pidfd; first: the loop gets it
    pid_t pid;              // 0: none
    int killed_by;          // the signal that ended it, 0: none
    int report;             // its end of a pipe; closed when it has ended, -1: there is none
    void (*done)(struct pli_helper *h, bool is_good);
};

// Runs fn(arg, report) in a copy of this process; it is good when fn returns true, and what it
// wrote to report says else why. False with errno: it cannot be started.
bool pli_helper_fork(struct pli_helper *h, bool (*fn)(void *arg, int report), void *arg);
// Runs a program. With keep, descriptors that it inherits and -1 at the end, it is our child and
// its children may become ours; else it surely dies with us.
bool pli_helper_exec(struct pli_helper *h, const char *const argv[], const int *keep);
void pli_helper_watch(struct pli_helper *h);
void pli_helper_kill(struct pli_helper *h); // and wait for it
// What it said, or that it was killed before it could say anything.
void pli_helper_reason(struct pli_helper *h, char *to, size_t cap);

// One rank in a checkpoint.
struct pli_ckpt_rank {
    struct pli_helper dump; // first
    struct pli_proc_task *task;
    int rope;        // -1: not parked
    bool is_wanted;  // takes part
    bool is_drained; // nothing is on its way to it; where there is a network
    bool is_parked;  // its socket is closed too
    bool is_called, is_back;
    bool is_dumped;
};

// What a checkpoint consists of beside the images; the text of the manifest is made of it.
struct pli_ckpt_plan {
    struct pli_job *job;
    char dir[PATH_MAX];  // of all checkpoints, absolute
    char temp[PATH_MAX]; // of this one until it is complete
    uint32_t number;
    uint32_t keep;
    uint32_t good, first; // what the job went on from, 0: nothing there; what it wrote first
    pid_t owner;          // mpiexec
    char **words;         // of the command line
    char *head;           // the manifest without the files
};

enum pli_ckpt_state {
    PLI_CKPT_IDLE,
    PLI_CKPT_WAITING,
    PLI_CKPT_PARKING,
    PLI_CKPT_DRAINING, // where there is a network
    PLI_CKPT_DUMPING,
    PLI_CKPT_MOVING, // in mpiexec: another host takes the ranks of one
    PLI_CKPT_CALLING,
    PLI_CKPT_SEALING,
    PLI_CKPT_N_STATE
};

// The one that is being made.
struct pli_ckpt {
    enum pli_ckpt_state state;
    struct pli_job *job; // NULL: none are made
    struct pli_ckpt_plan plan;
    struct pli_ckpt_rank *ranks; // by pli_job_slot
    uint32_t n_rank;
    struct pli_helper node, seal;
    bool is_node_done;
    int error; // 0: all is well so far
    char why[PLI_CKPT_WHY];
    bool has_net;    // ranks may be connected
    bool is_leaving; // they were told so
    bool is_again;   // a rank was busy: try once more
    bool is_begun;   // counted as an attempt
    bool is_asked;   // a rank has asked since the last attempt was begun
    bool may_call;   // in a daemon: mpiexec wants the ranks back
    bool is_move;    // no checkpoint: the ranks of a host go to another; in a daemon: those of mine
    uint32_t mover;  // in mpiexec: of this one
    const struct pli_ckpt_move_ops *move_ops; // of a move
    uint64_t start_ns, stop_ns, go_ns;
    struct pli_timer interval, again, park, show;
};
extern struct pli_ckpt pli_ckpt;

// ckpt.c
bool pli_ckpt_go(enum pli_ckpt_state to);
// The first reason counts.
void __attribute__((format(printf, 2, 3))) pli_ckpt_fail(int error, const char *fmt, ...);
void pli_ckpt_count(void); // an attempt is begun: who asks later means the next
void pli_ckpt_all_back(struct pli_job *job);

// ckpt_ranks.c: stop the ranks of this host; call them back as soon as none is being written.
void pli_ckpt_ranks_open(void);
void pli_ckpt_ranks_stop(void);
void pli_ckpt_ranks_drain(void);
void pli_ckpt_ranks_leave(void);
void pli_ckpt_ranks_call_back(void);
void pli_ckpt_ranks_drop(void); // the job is over: what is being written is of no use

// ckpt_net.c: a word for all ranks that stand still; whether all that are wanted stand still, have
// nothing on its way to them, or have left.
void pli_ckpt_net_say(struct pli_ckpt_rank *ranks, const struct pli_job *job, uint32_t what);
enum pli_ckpt_stage { PLI_CKPT_STOPPED, PLI_CKPT_DRAINED, PLI_CKPT_LEFT };
bool pli_ckpt_net_are(const struct pli_ckpt_rank *ranks, const struct pli_job *job,
                      enum pli_ckpt_stage stage);

// ckpt_describe.c: the ranks of this host that are written (ranks: by pli_job_slot), of the heap.
struct pli_manifest_task *pli_ckpt_list(const struct pli_job *job,
                                        const struct pli_ckpt_rank *ranks, uint32_t *n_out);
struct pli_ckpt_what {
    struct pli_manifest_task *tasks; // NULL: it is registered state
    uint32_t n;                      // of those, or ranks that have written theirs
    const uint64_t *clocks;          // of all hosts; NULL: one host
};
// Make plan->head.
bool pli_ckpt_describe(struct pli_ckpt_plan *plan, const struct pli_ckpt_what *what);

// ckpt_ready.c: why no checkpoint of this job can be made, NULL: it can; and whether now.
const char *pli_ckpt_obstacle(const struct pli_job *job);
bool pli_ckpt_is_ready(const struct pli_job *job);

// ckpt_wait.c: one more who waits, false: there are too many; and all learn how it ended.
bool pli_ckpt_wait_add(void *token);
bool pli_ckpt_wait_is_any(void);
void pli_ckpt_wait_end(struct pli_job *job, const struct pli_answer *a);

// ckpt_criu.c: whether CRIU works here; else one sentence says what to install or allow.
bool pli_criu_check(char *why);
bool pli_criu_dump(struct pli_ckpt_rank *r, const struct pli_ckpt_plan *plan);
// One whose number there is this, into a directory to be made; the process ends with it.
bool pli_criu_dump_last(struct pli_helper *h, int number, const char *dir);
// A pipe whose end `ours`, 0 or 1, never waits.
bool pli_criu_pipe(int ours, int *ours_out, int *theirs_out);
struct pli_criu_back {
    const char *dir, *work; // images; where messages go
    const char *log;        // file with these
    int fds[4];             // ends of pipes that it gets instead of those with these inodes; -1
    uint64_t inodes[4];
};
// Our child then, or one of the nest.
bool pli_criu_restore(struct pli_helper *h, const struct pli_criu_back *b);
// Why CRIU failed: a signal, 0 where it was none, or what its log says first.
void pli_criu_reason(const char *log, int killed_by, char *to, size_t cap);

// ckpt_verify.c: whether a rank can be restored from the images in this directory, as far as can be
// seen without doing so; why (of PLI_CKPT_WHY characters) says else what is wrong.
bool pli_ckpt_verify(const char *dir, char *why);

// ckpt_sockets.c: a TCP socket, or with is_any any socket, that a rank has open while it stands
// still: which descriptor, and what it is. False: it has none.
bool pli_ckpt_sockets_find(pid_t pid, bool is_any, char *to, size_t cap);

// ckpt_node.c: the node memory to a file, and back; holes stay holes.
bool pli_ckpt_node_write(int memory, const char *path, int report);
bool pli_ckpt_node_read(int memory, const char *path, char *why);

// ckpt_commit.c: checksums, manifest, rename, and the oldest go. Context: a helper.
bool pli_ckpt_commit(void *plan, int report);
// The number that a checkpoint has by its name, 0: it is none.
uint32_t pli_ckpt_number_of(const char *path);
// The highest number below another in a directory of checkpoints, 0: none.
uint32_t pli_ckpt_last(const char *dir, uint32_t below);

// ckpt_temp.c: a name in a directory for what is no checkpoint, or none yet, of this process.
void pli_ckpt_temp(char to[PATH_MAX], const char *dir, pid_t owner, const char *what);
// The number of the next checkpoint, and where it is written; remnants of attempts whose mpiexec is
// gone are removed.
void pli_ckpt_number(struct pli_ckpt_plan *plan);
void pli_ckpt_remove(const char *path); // with all that is in it

// A checksum of a file's content; false with errno.
bool pli_ckpt_sum(const char *path, uint64_t *sum_out, uint64_t *bytes_out);
// The same of one that was just written: from where it is in memory. A disk that fails is SIGBUS.
bool pli_ckpt_sum_fresh(const char *path, uint64_t *sum_out, uint64_t *bytes_out);
uint64_t pli_ckpt_hash(uint64_t seed, const void *data, size_t len);

#endif
