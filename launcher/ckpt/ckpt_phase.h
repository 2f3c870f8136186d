// SPDX-License-Identifier: BSD-3-Clause
// The steps of the checkpoint that is being made, and how it failed.
#ifndef PLI_LAUNCHER_CKPT_PHASE_H
#define PLI_LAUNCHER_CKPT_PHASE_H

#include <stdbool.h>

enum pli_ckpt_phase {
    PLI_CKPT_IDLE,
    PLI_CKPT_WAITING,
    PLI_CKPT_STOPPING,
    PLI_CKPT_DRAINING, // where there is a network
    PLI_CKPT_DUMPING,
    PLI_CKPT_MOVING, // in mpiexec: another host takes the ranks of one
    PLI_CKPT_RESUMING,
    PLI_CKPT_COMMITTING,
    PLI_CKPT_N_PHASE
};

// What mpiexec says to all hosts (PLI_DLINK_STEP). Numbers are appended and never reused.
enum pli_part_step {
    PLI_PART_STOP = 1, // let the ranks stand still
    PLI_PART_DRAIN,    // all do everywhere: empty the connections
    PLI_PART_LEAVE,    // all are empty: write the ranks; where follows, empty: do not
    PLI_PART_BACK,     // call them back
    PLI_PART_TAKE      // to a daemon that is to have the ranks of another: these (migrate_daemon.c)
};

// How far a host is (PLI_DLINK_PART): an error or none, its reason, whether it would work later,
// how many ranks; with PLI_PART_WRITTEN the clock and the ranks.
enum pli_part_stage {
    PLI_PART_ASKED = 1, // a rank wants a checkpoint
    PLI_PART_STOPPED,
    PLI_PART_DRAINED,
    PLI_PART_WRITTEN,
    PLI_PART_HOME,
    PLI_PART_RESTORED, // the ranks of a checkpoint are there, and wait to be called
    PLI_PART_THERE     // this daemon is ready to take the ranks of another
};

// Go on to a step. False: it does not follow the one that was reached.
bool pli_ckpt_go(enum pli_ckpt_phase to);
// The first reason counts.
void __attribute__((format(printf, 2, 3))) pli_ckpt_fail(int error, const char *fmt, ...);
// Begin anew without one.
void pli_ckpt_clear(void);
// An attempt is begun: a rank that asks later means the next.
void pli_ckpt_count(void);
// Whether ranks stand still or are about to: none may be started now.
bool pli_ckpt_is_stopping(void);

#endif
