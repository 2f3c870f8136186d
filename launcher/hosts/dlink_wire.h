// SPDX-License-Identifier: BSD-3-Clause
// What mpiexec and its daemons on other hosts tell each other, over TCP. Every frame is a head, in
// little-endian order, and `len` bytes after it; both are records of their own, with a tag after
// them (base/protect.h), under the keys that the handshake has made. Numbers are appended and never
// reused.
#ifndef PLI_LAUNCHER_DLINK_WIRE_H
#define PLI_LAUNCHER_DLINK_WIRE_H

#include <stdint.h>

enum {
    PLI_DLINK_VERSION = 11,
    PLI_DLINK_LEN = 64 * 1024 * 1024, // no frame is longer
    PLI_DLINK_CREDIT = 64 * 1024,     // bytes of one stream on their way at most
    PLI_DLINK_ALL = -1                // host: all below
};

enum pli_dlink_kind {
    // From a daemon up to mpiexec. `host`: the one that sends it.
    PLI_DLINK_HELLO = 1, // the daemon is up: version, name, addresses of its ranks
    PLI_DLINK_OUT,       // task `a`, descriptor `flag`: these bytes; none: end of file
    PLI_DLINK_IN_DONE,   // task `a` has read so many bytes; 0: it reads no more
    PLI_DLINK_FAILURE,   // rank `a` has failed; flag 1: together with another one
    PLI_DLINK_OVER,      // task `a` is over
    PLI_DLINK_SAY,       // a message for the user, as it is to be shown
    PLI_DLINK_FAILED,    // the daemon cannot go on: exit status `a`
    PLI_DLINK_ROWS,      // states of ranks that have changed
    PLI_DLINK_STUCK,     // whether all ranks of the host wait; `a`: the round it answers, 0: news
    PLI_DLINK_STATUS,    // answer: the rows of all ranks of the host; `flag` as in the question
    PLI_DLINK_LOST,      // host `a`, below the sender, is lost: why
    PLI_DLINK_MADE,      // process sets that ranks of the host have made, or freed
    PLI_DLINK_AGENT,     // a message of the agent, `flag`; with PLI_NATIVE_AGENT_UP `a` is the
                         // first rank
    PLI_DLINK_ASK,       // a rank's request number `a` of kind `flag`; 0: the rank waits no more
    PLI_DLINK_KNOWN,     // order `a`: its processes are noted, or why they cannot be started here
    PLI_DLINK_BEGUN,     // order `a`: the processes of the host were started, or why not
    PLI_DLINK_FREED,     // rows that no process of the host needs any more
    PLI_DLINK_READY,     // process `a` is in MPI_Init and waits for its version of the world
    PLI_DLINK_AGREE,     // a rank's message about a communicator on several hosts, see agree_wire.h
    PLI_DLINK_CKPT_STAGE,  // how far the host is with a checkpoint: `flag`, see ckpt_phase.h
    PLI_DLINK_CLONE_READY, // clone `a` can come to the host: its process number, and the address
                           // for its images
    PLI_DLINK_CLONE_SENT,  // clone `a` was sent to its host: what is needed to restore it; flag 1:
                           // why it was not sent
    PLI_DLINK_TRACE, // what a thread of the host recorded; flag 1: the last, without any; flag 2: a
                     // sentence; flag 3: of the other clients of an IMPI job
    PLI_DLINK_CLOCK, // answer to PLI_DLINK_GET_CLOCK: the question, and this host's clock
    PLI_DLINK_STARTED, // the tasks of the command line are started: number and process of each
    // From mpiexec down. `host`: for which.
    PLI_DLINK_START = 64,    // addresses of all hosts: start the tasks
    PLI_DLINK_IN,            // input for task `a`; none: end of file
    PLI_DLINK_OUT_DONE,      // so many bytes of task `a`, descriptor `flag`, were printed
    PLI_DLINK_SIGNAL,        // send signal `a` to all tasks but one; flag 1: to the ranks alone
    PLI_DLINK_ROUND,         // round `a`: do all ranks of the host wait, now that they have looked?
    PLI_DLINK_GET_STATUS,    // answer with PLI_DLINK_STATUS; `flag`: enum pli_look, of process `a`
    PLI_DLINK_QUIT,          // leave; flag 1: look for processes that a bad end has left
    PLI_DLINK_SETS,          // process sets that ranks of host `a` have made, or have been freed
                             // on all hosts; flag 1: all that there are
    PLI_DLINK_ENDED,         // these tasks are over, on any host: first rank and number of each
    PLI_DLINK_TO_AGENT,      // a message for the agent, `flag`
    PLI_DLINK_ANSWER,        // to request `a`
    PLI_DLINK_EXPECT,        // order `a`: these processes will be started, and where; `flag`:
                             // pli_coming
    PLI_DLINK_START_LATER,   // order `a`: start those of this host
    PLI_DLINK_DROP,          // order `a` is cancelled
    PLI_DLINK_WORLD,         // this version of the world counts
    PLI_DLINK_CKPT,          // what ranks are to know of checkpoints, see ckpt_wire.h
    PLI_DLINK_CKPT_STEP,     // the next step of a checkpoint: `flag`, see ckpt_phase.h
    PLI_DLINK_ADDRESS,       // host `a` joins, or its ranks have moved: its name and addresses
    PLI_DLINK_NEWS,          // a rank died, or something was agreed, see agree_wire.h
    PLI_DLINK_REPLAY,        // for a host that joins: what has become of the job, see join_replay.h
    PLI_DLINK_SEND_CLONE,    // clone `a`, of a rank of this host: what PLI_DLINK_CLONE_READY said
    PLI_DLINK_RESTORE_CLONE, // clone `a` was sent to this host: restore it
    // Either way, and the last one on a link: a frame of the receiver came altered.
    PLI_DLINK_ALTERED,
    // From mpiexec down again.
    PLI_DLINK_GET_CLOCK, // the head's clock is this: answer at once
    PLI_DLINK_GET_TRACE, // the job is over: send what was recorded
    // A job that wants to join an elastic world, on a link of its own: see join_call.h.
    PLI_DLINK_JOIN, // to mpiexec: version, name of the host, `a` ranks
    PLI_DLINK_SPEC, // from mpiexec: be host `a`, as this specification says
    // From mpiexec down once more.
    PLI_DLINK_RESCUE, // where to call when mpiexec was killed: see head_watchdog.h
    // Both ways: the terminal of task `a`, which runs under gdb, see gdb_hosts.h. flag 0: bytes
    // that are shown or typed, none: it is over; flag 1: that so many were shown; flag 2: its size.
    PLI_DLINK_TERMINAL
};

enum pli_coming { PLI_COMING_SPAWNED, PLI_COMING_RANKS, PLI_COMING_CLONES };

struct pli_dlink_head {
    uint32_t len;
    uint16_t kind, flag;
    uint32_t host, a;
};
_Static_assert(sizeof(struct pli_dlink_head) == 16, "goes from host to host");

#endif
