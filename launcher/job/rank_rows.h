// SPDX-License-Identifier: BSD-3-Clause
// Manages the rows after those of the command line, for processes that are started later. They are
// used in turn, and again when all of a world have ended and no process can look at what they left.
// On several hosts every host has a row for each of them, which is a note where the process is
// elsewhere; mpiexec hands the numbers out and learns from its daemons when no process needs a row
// any more.
#ifndef PLI_LAUNCHER_RANK_ROWS_H
#define PLI_LAUNCHER_RANK_ROWS_H

#include "boot/node_wire.h"
#include <stdbool.h>
#include <stdint.h>

struct pli_answer;
struct pli_job;
struct pli_node_row;
struct pli_pack;
struct pli_unpack;

// What differs by role: see role.h. i: of the row, counted after those of the command line.
struct pli_rank_rows_ops {
    bool (*is_free)(const struct pli_job *job, uint32_t i, int least); // for another process
    void (*tidy)(const struct pli_job *job); // give back memory that no process needs
    void (*clear)(const struct pli_job *job, uint32_t row);         // give back that of one row
    void (*filled)(struct pli_job *job, uint32_t i, uint32_t host); // it is a process's now
};
extern const struct pli_rank_rows_ops pli_rank_rows_solo, pli_rank_rows_head, pli_rank_rows_daemon;

// Whether there can ever be room for n more processes at a time. False with a refusal.
bool pli_rank_rows_check(const struct pli_job *job, uint32_t n, struct pli_answer *a);
// Numbers for n processes: *index_out is the first. False with a refusal.
bool pli_rank_rows_take(const struct pli_job *job, uint32_t n, uint32_t *index_out,
                        struct pli_answer *a);
// The row of the process as->index, which is on this host of the job, becomes as `as` is.
void pli_rank_rows_fill(struct pli_job *job, uint32_t host, const struct pli_node_row *as);
// Where that is.
uint32_t pli_rank_rows_at(const struct pli_job *job, uint32_t index);

// No task of this host has the row any more; its process is gone, or never was.
void pli_rank_rows_release(const struct pli_job *job, uint32_t row);
void pli_rank_rows_cancel(struct pli_job *job, uint32_t row);
// A process elsewhere has ended. Context: a daemon.
void pli_rank_rows_ended(struct pli_job *job, uint32_t index);

// Whether ranks of the job are on their way to another host.
bool pli_rank_rows_are_moving(const struct pli_job *job);

// In a daemon: rows that no process here needs any more, for mpiexec. False: no news.
bool pli_rank_rows_pack_free(struct pli_job *job, struct pli_pack *to);
bool pli_rank_rows_are_used(const struct pli_job *job); // some are, or are not free yet
// In mpiexec: what a daemon packed.
void pli_rank_rows_unpack_free(const struct pli_job *job, struct pli_unpack *from);

// For checkpoints: how many have come so far, and to go on from there; a row is in use again.
uint32_t pli_rank_rows_count(void);
void pli_rank_rows_pack(const struct pli_job *job, struct pli_pack *to); // of a daemon, to another
void pli_rank_rows_unpack(struct pli_unpack *from);
void pli_rank_rows_restore(const struct pli_job *job, uint32_t count);
void pli_rank_rows_adopt(const struct pli_job *job, uint32_t row);

// Those in use, for a host that joins; and there.
void pli_rank_rows_pack_replay(const struct pli_job *job, struct pli_pack *to);
void pli_rank_rows_take_replay(struct pli_job *job, struct pli_unpack *from);

enum { PLI_RANK_ROWS_N_LEVEL = 3 };

// Rows of processes that were started later: pli_launcher.rank_rows.
struct pli_rank_rows_state {
    uint32_t next;       // number of the next process, from the first that was started later
    struct {             // of each row after the first ones
        bool is_taken;   // by a process that is not forgotten
        bool is_dirty;   // its memory was used
        bool is_counted; // in a daemon: among the processes of its host
        int told;        // in a daemon: its level as mpiexec knows it
        uint32_t n_host[PLI_RANK_ROWS_N_LEVEL]; // in mpiexec: hosts that have said so, or more
        uint32_t n_need;                        // and those that were there when it was taken
    } rows[PLI_NODE_N_MORE];
};

#endif
