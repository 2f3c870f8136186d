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
    PLI_CKPT_WRITING, // copies of the ranks are written, which go on
    PLI_CKPT_COMMITTING,
    PLI_CKPT_N_PHASE
};

// What mpiexec tells all hosts to do (PLI_DLINK_CKPT_STEP). Numbers are appended and never reused.
enum pli_ckpt_step {
    PLI_CKPT_STEP_STOP = 1, // stop the ranks
    PLI_CKPT_STEP_DRAIN,    // all ranks have stopped, on all hosts: empty the connections
    PLI_CKPT_STEP_DUMP,     // all connections are empty: write the ranks to the directory that
                            // follows; an empty name: do not write them
    PLI_CKPT_STEP_RESUME,   // resume the ranks
    PLI_CKPT_STEP_RESTORE   // restore these ranks of another host (migrate_daemon.c)
};

// How far a host is (PLI_DLINK_CKPT_STAGE): an error or none, its reason, whether it would work
// later, how many ranks; with PLI_CKPT_STAGE_WRITTEN the clock and the ranks.
enum pli_ckpt_stage {
    PLI_CKPT_STAGE_ASKED = 1, // a rank wants a checkpoint
    PLI_CKPT_STAGE_STOPPED,
    PLI_CKPT_STAGE_DRAINED,
    PLI_CKPT_STAGE_WRITTEN, // or copied
    PLI_CKPT_STAGE_COPIED,  // the ranks go on, and their copies are being written
    PLI_CKPT_STAGE_RESUMED,
    PLI_CKPT_STAGE_RESTORED, // the ranks of a checkpoint are there, and wait to be resumed
    PLI_CKPT_STAGE_READY     // this daemon is ready to take the ranks of another
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
