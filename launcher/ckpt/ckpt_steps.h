// SPDX-License-Identifier: BSD-3-Clause
// The steps of a checkpoint: as a launcher process counts them, and as mpiexec and its daemons tell
// each other of them.
#ifndef PLI_LAUNCHER_CKPT_STEPS_H
#define PLI_LAUNCHER_CKPT_STEPS_H

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

#endif
