// SPDX-License-Identifier: BSD-3-Clause
// The memory that all processes of a job on one host share: one memfd, made by the launcher and
// inherited. Sparse: untouched memory costs nothing. Everything is an offset from the start.
//
//     header | process rows | hosts | processes of the job | process sets | table of other jobs
//            | bad news | in an IMPI job the area of the agent and the gateway (gateway_wire.h)
//            | one area per process of this host: lanes, then an arena for objects
//            | one large segment per process, which is mapped apart from the rest
//
// Behind the rows of the first processes are those of processes that come later, numbered alike on
// all hosts; how many of these have an area depends on what the host may reserve: n_file, n_room.
#ifndef PLI_BOOT_NODE_WIRE_H
#define PLI_BOOT_NODE_WIRE_H

#include <stdatomic.h>
#include <stdint.h>
enum {
    PLI_NODE_MAGIC = 0x504c4931, // "PLI1"
    PLI_NODE_VERSION = 21,
    PLI_NODE_HEADER = 4096,
    PLI_NODE_SAVE = 1024,              // where in it checkpoints have their part, see ckpt_wire.h
    PLI_NODE_N_LANE = 8,               // lanes a process can have
    PLI_NODE_LANE = 1024 * 1024,       // mailbox and outbox of one lane
    PLI_NODE_ARENA = 32 * 1024 * 1024, // shared objects a process makes (collective flags, windows)
    PLI_NODE_N_ADDR = 8,               // addresses of a host
    PLI_NODE_N_LATE = 256,             // hosts that can join the job while it runs
    PLI_NODE_N_MORE = 4096,      // processes that can be there at a time beside those of the start
    PLI_NODE_MAX_INDEX = 1 << 22 // processes a job can have in all its life
};

// How the processes of the job may talk. Bits of the header's `net`.
enum {
    PLI_NODE_HAS_NET = 1,  // there is a network: the launcher listens and passes connections on
    PLI_NODE_NO_SHM = 2,   // not even the processes of a host use shared memory for messages
    PLI_NODE_PART = 4,     // this is a daemon's: one host of several
    PLI_NODE_HEAD = 8,     // and this its mpiexec's: rows of all hosts, as those tell them
    PLI_NODE_PRETENDS = 16 // its hosts are pretended: all of them have this one memory
};

// What the job does about bad news. Bits of the header's `mode`.
enum {
    PLI_NODE_SURVIVES = 1, // a process that dies does not end the job: the others are told
    PLI_NODE_RESPAWNS = 2, // and another one takes its place in the next version of the world
    PLI_NODE_TELLS = 4     // a resize is told by an error: MPI_WORLD_RESIZED
};

// Life of a process, in order; written by the process, read by the launcher.
enum pli_node_state {
    PLI_NODE_EMPTY,     // not claimed by any process yet
    PLI_NODE_CLAIMED,   // some process is this rank but has not started MPI
    PLI_NODE_RUNNING,   // between start and end of MPI
    PLI_NODE_FINALIZED, // left MPI in good order; may come back with a new session
    PLI_NODE_ABORTED,   // called MPI_Abort: see abort_code
    PLI_NODE_N_STATE
};

struct pli_node_header {
    uint32_t magic, version;
    uint32_t n_row;        // processes of the job on this host, at its start
    uint32_t n_world;      // processes of the job
    uint32_t n_core;       // cores the rows may run on, to choose how to wait
    uint32_t launcher;     // process id of mpiexec
    uint64_t job;          // random, never 0
    uint64_t rows, areas;  // offsets
    uint64_t psets;        // offset of the process sets, see pset_wire.h
    uint64_t area_size;    // of one process
    uint64_t gateway;      // offset of the gateway to other MPI jobs, 0: none
    uint64_t gateway_heap; // bytes for messages behind it
    uint64_t joint;        // what `job` is for them all together, 0: there are none
    uint32_t n_joint;      // processes of them all together
    uint32_t base;         // index of this job's first process among them
    uint32_t n_file;       // of the rows behind the first ones: how many have an area
    uint64_t agent;        // offset of the agent's area, 0: there is none
    uint64_t size;         // of the whole memory
    uint64_t epoch_ns;     // CLOCK_MONOTONIC at launch: a common zero for clocks
    _Atomic uint32_t n_running;
    char host[64];
    unsigned char secret[32];      // of the job, the same on all its hosts; all zero: there is none
    _Atomic uint32_t n_host;       // hosts of the job; others may join
    uint32_t host_index, cap_host; // which of them this is, and how many there is room for
    uint32_t net, n_more;          // see above; rows behind the first n_row
    _Atomic uint32_t n_used;       // rows that are or were in use; those of the start always are
    uint32_t memory;               // descriptor under which the launcher has this memory
    _Atomic int world;             // version of the world, from 0; waiters sleep here
    uint32_t world_size;           // ranks of that version, for people
    uint64_t jobtab;       // offset of the table of other jobs, ports and names, see jobtab_wire.h
    uint32_t n_extra;      // processes that are no ranks: the last of n_world
    uint64_t hosts, procs; // offsets of the two tables
    _Atomic int met;       // without a launcher of ours: ranks that have come, see kvs_listen.c
    uint64_t segs, seg_size;   // behind `size`: one segment per row, mapped only where it is wanted
    uint64_t late_size;        // and behind these one of this size for each of the n_file
    uint32_t n_beside;         // processes of the job on other hosts that have the same cores
    uint32_t is_nested;        // processes do not see the launcher: their parent has number 0
    _Atomic uint32_t freeze;   // the attempt at a checkpoint for which processes are to stand still
    uint32_t mode;             // see above
    _Atomic uint32_t n_news;   // grows with every piece of bad news, see failure_wire.h
    _Atomic uint32_t n_failed; // processes that died so far
    _Atomic uint64_t end;      // version << 32 | last collective before it, on several hosts
    uint64_t failures;         // offset of the table
    _Atomic uint32_t n_room;   // of the n_file: how many every process of this host has mapped
    _Atomic uint32_t question; // the launcher's last: have you looked, and found nothing?
    // not 0: processes that stand still are to be copied, and the copies dumped
    _Atomic uint32_t freeze_copy;
    uint32_t n_core_first; // n_core before the job was restarted elsewhere, 0: as it is
};
_Static_assert(sizeof(struct pli_node_header) <= PLI_NODE_SAVE, "header fits its page");

// One address of a host, as other hosts may reach it.
struct pli_node_addr {
    uint8_t family;           // 4 or 6
    uint8_t prefix, spare[2]; // bits that hosts on the same wire have in common
    uint32_t speed;           // Mbit/s, 0: not known
    unsigned char bytes[16];  // in network order; of IPv4 the first four
};
_Static_assert(sizeof(struct pli_node_addr) == 24, "shared with other processes");
// A host of the job. The launcher's process there listens for all ranks of the host.
struct pli_node_host {
    char name[64];
    uint16_t port; // 0: no process listens
    uint16_t n_addr;
    uint32_t n_proc; // processes of the job there
    uint64_t cores;  // the same number where hosts have the same cores; 0: not known
    uint64_t spare[2];
    struct pli_node_addr addr[PLI_NODE_N_ADDR]; // best first
};
_Static_assert(sizeof(struct pli_node_host) == 288, "shared with other processes");

// Where a process of the job is, and whether it is gone: launchers of all hosts tell each other.
struct pli_node_proc {
    uint32_t host, row;
    _Atomic uint32_t has_ended;
    uint32_t port;            // where it listens itself; 0: its launcher does
    _Atomic uint32_t failure; // it died: how, see failure_wire.h; written by the launcher, last
    uint32_t failed_at, pid;  // as which of all that died, and its process id
    uint32_t upc_leads;       // not 0: a UPC group begins with it
};
_Static_assert(sizeof(struct pli_node_proc) == 32, "shared with other processes");

// What a process that sleeps waits for. Numbers are appended and never reused.
enum pli_node_wait_what {
    PLI_NODE_AWAKE,
    PLI_NODE_WAIT_SEND,
    PLI_NODE_WAIT_RECV,
    PLI_NODE_WAIT_PROBE,
    PLI_NODE_WAIT_COLL, // a collective operation
    PLI_NODE_WAIT_OTHER
};

// An unexpected message.
struct pli_node_kept {
    int32_t source, tag;
    uint64_t context, size;
};
enum { PLI_NODE_N_KEPT = 4 };
// The record a process leaves when it has slept for a while; it is not written while awake.
struct pli_node_wait {
    _Atomic uint32_t seq;      // grows with every record
    _Atomic uint32_t what;     // written last; back to PLI_NODE_AWAKE first
    _Atomic uint32_t answered; // the last question after which it looked and found nothing
    char poll[28];       // "MPI_Test": it does not sleep but asks again and again; "": it sleeps
    int32_t peer, tag;   // rank in the communicator; wildcards as MPI has them; of a collective:
                         // its root, and a number that is the same in all ranks, 0: not known
    int32_t rank;        // mine in the communicator
    uint32_t peer_index; // the process meant, UINT32_MAX: any
    uint32_t n_request;  // how many requests the call waits for
    uint32_t n_kept;     // unexpected messages, all in all
    uint64_t context;    // of the communicator
    uint64_t site;       // address in the program the MPI call came from, 0: not known
    uint64_t bytes;      // to be sent, or room to receive
    uint64_t since_ns;   // when it went to sleep, by pli_clock_ns
    char comm[32];       // its name
    char call[40];       // "MPI_Bcast", where it is known
    struct pli_node_kept kept[PLI_NODE_N_KEPT];
};

struct pli_node_row {
    _Atomic uint32_t state; // enum pli_node_state
    int32_t abort_code;
    uint32_t index; // of the process in the job; MPI_COMM_WORLD rank at start
    uint32_t app;   // which part of an MPMD command line
    uint32_t n_app; // processes in that part
    _Atomic uint32_t pid;
    _Atomic uint32_t n_lane; // lanes open for others; 0: not yet
    uint32_t spare3;
    _Atomic uint32_t is_shared; // several threads may call MPI: all must sleep before it counts
    _Atomic uint32_t has_ended; // the process is gone: written by the launcher
    // Of a process that came later; written by the launcher before it starts.
    uint32_t world, n_world; // its MPI_COMM_WORLD: index of the first process, and how many
    uint32_t parent;         // index of the process that asked for it
    uint32_t parent_ep;      // and which of its endpoints
    _Atomic uint32_t n_held; // communicators of others that contain it: comm_hold.c
    uint32_t version;        // of the world it came for; 0: it was spawned, or was there first
    // The UPC threads the process belongs to: they are the processes of the job from upc_first
    // on, then, from the upc_ranks-th on, those from upc_extra on. upc_n 0: it is alone.
    uint32_t upc_first, upc_n, upc_ranks, upc_extra;
    uint32_t upc_group, upc_n_group;
    uint32_t is_quiet;       // it ends the job and has said why itself
    _Atomic uint32_t leave;  // version of the world from which it is no member; 0: it stays
    uint64_t parent_context; // where the parent waits for it
    struct pli_node_wait wait;
    uint64_t out, err;      // of a forked one: inodes of the pipes its parent prints to
    _Atomic uint64_t said;  // a version to come << 32 | collectives begun: elastic/resize_error.c
    _Atomic uint32_t works; // version that the process works in, in the same case
    _Atomic uint32_t was_held;                // n_held was above zero before
    _Atomic uint32_t claims[PLI_NODE_N_LANE]; // by lane: the mailbox it writes to, pli_shm_number
    _Atomic uint64_t slept;     // bits: lanes where threads left records: wait_record_wire.h
    _Atomic uint32_t processor; // where it was when it last waited, + 1; 0: it has not told
    uint32_t spare;
    // In the memory of a head: what the host of the process has told last, see rank_usage.h.
    uint64_t cpu_ns, memory;
    char host[48];
};
_Static_assert(sizeof(struct pli_node_row) == 512, "shared with other processes");

#endif
