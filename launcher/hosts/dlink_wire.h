// SPDX-License-Identifier: BSD-3-Clause
// What mpiexec and its daemons on other hosts tell each other, over TCP. Every frame is a head, in
// little-endian order, and `len` bytes after it; both are records of their own, with a tag behind
// (base/protect.h), under the keys that the handshake has made. Numbers are appended and never
// reused.
#ifndef PLI_LAUNCHER_DLINK_WIRE_H
#define PLI_LAUNCHER_DLINK_WIRE_H

#include <stdint.h>

enum {
    PLI_DLINK_VERSION = 6,
    PLI_DLINK_LEN = 64 * 1024 * 1024, // no frame is longer
    PLI_DLINK_CREDIT = 64 * 1024,     // bytes of one stream on their way at most
    PLI_DLINK_ALL = -1                // host: all below
};

enum pli_dlink_kind {
    // From a daemon up to mpiexec. `host`: the one that says it.
    PLI_DLINK_HELLO = 1, // I am there: version, name, where my ranks are reached
    PLI_DLINK_OUT,       // task `a`, descriptor `flag`: these bytes; none: its end
    PLI_DLINK_IN_DONE,   // task `a` has read so many bytes; 0: it reads no more
    PLI_DLINK_FAILURE,   // something is wrong with rank `a`; flag 1: it went with another one
    PLI_DLINK_OVER,      // task `a` is over
    PLI_DLINK_SAY,       // a message for people, as it is to be shown
    PLI_DLINK_FAILED,    // I cannot go on: exit status `a`
    PLI_DLINK_ROWS,      // states of ranks that have changed
    PLI_DLINK_STUCK,     // answer to round `a`: do all my ranks sleep?
    PLI_DLINK_STATUS,    // answer: the rows of all my ranks, with places in the source
    PLI_DLINK_LOST,      // host `a`, below me, is lost: why
    PLI_DLINK_MADE,      // process sets that ranks of mine have made
    PLI_DLINK_AGENT,     // a word of the agent here, `flag`; with PLI_NATIVE_AGENT_UP `a` is the
    // first rank
    PLI_DLINK_ASK,   // a rank's request number `a` of kind `flag`; 0: nobody waits for it any more
    PLI_DLINK_KNOWN, // order `a`: I know of its processes, or why mine cannot be started
    PLI_DLINK_BEGUN, // order `a`: mine were started, or why not
    PLI_DLINK_FREED, // rows that nobody here needs any more
    PLI_DLINK_READY, // process `a` is in MPI_Init and waits for its version of the world
    PLI_DLINK_AGREE, // a rank's word about a communicator on several hosts, see agree_wire.h
    PLI_DLINK_CKPT_STAGE,  // how far this host is with a checkpoint: `flag`, see ckpt_head.h
    PLI_DLINK_CLONE_READY, // clone `a` can come here: the number it should have, and where images go
    PLI_DLINK_CLONE_SENT, // clone `a` was sent to its host: what to know to restore it; flag 1: why not
    // From mpiexec down. `host`: for whom.
    PLI_DLINK_START = 64, // where everybody is; start your tasks
    PLI_DLINK_IN,         // input for task `a`; none: its end
    PLI_DLINK_OUT_DONE,   // so many bytes of task `a`, descriptor `flag`, are out
    PLI_DLINK_SIGNAL,     // send signal `a` to all tasks but one; flag 1: to the ranks alone
    PLI_DLINK_ROUND,      // round `a`: do all your ranks sleep?
    PLI_DLINK_GET_STATUS, // send the picture
    PLI_DLINK_QUIT,       // leave; flag 1: look for what a bad end has left
    PLI_DLINK_SETS,       // process sets that ranks elsewhere have made
    PLI_DLINK_ENDED,      // these tasks are over, wherever they were: first rank and number of each
    PLI_DLINK_TO_AGENT,   // a word for the agent there, `flag`
    PLI_DLINK_ANSWER,     // to request `a`
    PLI_DLINK_EXPECT,     // order `a`: these processes will come, and where; `flag`: pli_coming
    PLI_DLINK_START_LATER, // order `a`: start yours
    PLI_DLINK_DROP,        // order `a`: all is taken back
    PLI_DLINK_WORLD,       // this version of the world counts
    PLI_DLINK_CKPT,        // what ranks are to know of checkpoints, see ckpt_wire.h
    PLI_DLINK_CKPT_STEP,   // the next step of a checkpoint: `flag`, see ckpt_head.h
    PLI_DLINK_ADDRESS, // the ranks of host `a` are elsewhere now, or it joins: its name, and where
    PLI_DLINK_NEWS,    // a rank died, or something was agreed, see agree_wire.h
    PLI_DLINK_REPLAY,  // for a host that joins: what has become of the job, see join_replay.h
    PLI_DLINK_SEND_CLONE,    // clone `a`, of a rank of yours: what its host has said
    PLI_DLINK_RESTORE_CLONE, // clone `a` was sent to you: restore it
    // Either way, and the last one: what you sent came altered.
    PLI_DLINK_ALTERED
};

enum pli_coming { PLI_COMING_SPAWNED, PLI_COMING_RANKS, PLI_COMING_CLONES };

struct pli_dlink_head {
    uint32_t len;
    uint16_t kind, flag;
    uint32_t host, a;
};
_Static_assert(sizeof(struct pli_dlink_head) == 16, "goes from host to host");

#endif
