// SPDX-License-Identifier: BSD-3-Clause
// What can be asked of mpiexec, and what it answers, over a socket made for the one request: by a
// rank (PLI_CTL_ASK brings the socket) or by mpictl. Same host, so numbers are as they are.
#ifndef PLI_BOOT_LAUNCHER_WIRE_H
#define PLI_BOOT_LAUNCHER_WIRE_H

#include <stdint.h>

enum {
    PLI_ASK_MOST = 64 * 1024 * 1024, // bytes of a request
    // Beside the kind: while the job is busy, what is asked for waits its turn, after all that came
    // before. Meanwhile there are answers with EBUSY, which say why; one with EINPROGRESS says that
    // it was begun.
    PLI_ASK_WAITS = 1 << 15
};

// Numbers are appended and never reused.
enum pli_ask_kind {
    PLI_ASK_SPAWN = 1,  // start processes: pli_ask_spawn, then its parts
    PLI_ASK_RESIZE = 2, // another version of the world: pli_ask_resize
    PLI_ASK_FORK = 3,   // rows for clones of ranks: pli_ask_fork; the answer's `first` is the first
    PLI_ASK_LEFT = 5,   // wait until ranks that are to leave have ended: pli_ask_left
    PLI_ASK_FORKED = 4, // they were made, or not: pli_ask_forked; answered as PLI_ASK_RESIZE is
    // A checkpoint; the answer comes when it is complete: `first` is its number, `n` its ranks
    PLI_ASK_CHECKPOINT = 16,
    PLI_ASK_STATE = 17, // the ranks want to write their state: the node memory says where
    PLI_ASK_SEAL = 18,  // they have: pli_ask_seal; the answer is that of a checkpoint
    // A rank goes to another host: pli_ask_migrate; answered when it is there: `n` ranks went, from
    // `first` on, and `text` says which
    PLI_ASK_MIGRATE = 19,
    PLI_ASK_LOOK = 20, // have what all ranks do in the memory of mpiexec, also those of other hosts
    // Spawned processes are not wanted: pli_ask_unspawn. With one that has ended before MPI_Init
    // `first` says which, counted from 0, and `text` how
    PLI_ASK_UNSPAWN = 24,
    PLI_ASK_ABORT = 26, // end some processes: pli_ask_abort; an error: end the job instead
    PLI_ASK_PORT = 25,  // ports and names of a job on several hosts: pli_ask_port
};

enum pli_ask_resize_how {
    PLI_ASK_TO = 1,
    PLI_ASK_GROW = 2,
    PLI_ASK_SHRINK = 3,
    PLI_ASK_DROP = 4 // without those that have failed, also in a job of a fixed size
};

// The answer comes when the new version counts, or the attempt was given up: `first` is then the
// version that counts and `n` its size. The names of hosts may follow, "a:2,b" with its zero: new
// ranks go there, and those that are not of the job join it; then those that are only to join.
struct pli_ask_resize {
    uint32_t how; // enum pli_ask_resize_how
    uint32_t n;   // ranks: in all, more, fewer
};
_Static_assert(sizeof(struct pli_ask_resize) == 8, "shared with other processes");

// What PLI_ASK_LOOK is for; without a body: PLI_LOOK_PLACES.
enum pli_look {
    PLI_LOOK_PLACES, // what ranks do, and from which line of their programs
    PLI_LOOK_USAGE,  // the same without the lines, which take a while
    PLI_LOOK_STACKS  // texts with stacks, of one process or all
};

struct pli_ask_look {
    uint32_t what;  // enum pli_look
    uint32_t index; // of the process whose stack is wanted; UINT32_MAX: all
};
_Static_assert(sizeof(struct pli_ask_look) == 8, "shared with other processes");

// Where the memory of a head has the text of a process's stack: in its area, with its zero.
enum { PLI_LOOK_TEXT_AT = 1024 * 1024, PLI_LOOK_TEXT = 64 * 1024 };

enum {
    PLI_MIGRATE_TOGETHER = 1,  // else not when others would have to go with it
    PLI_MIGRATE_BY_PROCESS = 2 // rank is the index of a process, and the answer comes before the
                               // ranks stop: the one that asks has to stop, too
};
struct pli_ask_migrate {
    uint32_t rank;
    uint32_t together; // PLI_MIGRATE_*
    char host[256];
};
_Static_assert(sizeof(struct pli_ask_migrate) == 264, "shared with other processes");

// Followed by the indices of the processes to end, as uint32_t.
struct pli_ask_abort {
    int32_t code;
    uint32_t index; // a rank that wants it, one of them
};
_Static_assert(sizeof(struct pli_ask_abort) == 8, "shared with other processes");

struct pli_ask_seal {
    uint32_t is_good; // 0: throw it away
    uint32_t n_piece; // files of ranks
};
_Static_assert(sizeof(struct pli_ask_seal) == 8, "shared with other processes");

// `n` of the answer is how many are still there, and `text` says which.
struct pli_ask_left {
    uint32_t wait_ms; // no longer than this
    uint32_t spare;
};
_Static_assert(sizeof(struct pli_ask_left) == 8, "shared with other processes");

struct pli_ask_fork {
    uint32_t version; // of the world that is to be more
    uint32_t n;       // ranks 0 to n - 1 of it are cloned
    uint32_t asker;   // index of the process that asks
    uint32_t spare;
}; // two strings follow: names of hosts for the clones in turn, empty: any; and an empty one
_Static_assert(sizeof(struct pli_ask_fork) == 16, "shared with other processes");

struct pli_ask_forked {
    uint32_t is_good; // else all is taken back
    uint32_t spare;
};
_Static_assert(sizeof(struct pli_ask_forked) == 8, "shared with other processes");

struct pli_ask_head {
    uint32_t kind; // enum pli_ask_kind
    uint32_t len;  // bytes that follow
};
_Static_assert(sizeof(struct pli_ask_head) == 8, "shared with other processes");

struct pli_ask_spawn {
    uint64_t context;   // where the parent waits for the new ones
    uint32_t parent;    // index of the process that asks
    uint32_t parent_ep; // and which of its endpoints
    uint32_t n_part;
    uint32_t spare;
};
_Static_assert(sizeof(struct pli_ask_spawn) == 24, "shared with other processes");

struct pli_ask_unspawn {
    uint32_t first, n; // as the answer to PLI_ASK_SPAWN had them
    uint32_t is_known; // others may have a communicator with them
    uint32_t spare;
};
_Static_assert(sizeof(struct pli_ask_unspawn) == 16, "shared with other processes");

enum pli_ask_port_what {
    PLI_ASK_PORT_OPEN = 1,
    PLI_ASK_PORT_CLOSE,
    PLI_ASK_PORT_OWN,
    PLI_ASK_PORT_OWNER, // `first` of the answer is the process, `n` which of its endpoints
    PLI_ASK_PORT_PUBLISH,
    PLI_ASK_PORT_UNPUBLISH,
    PLI_ASK_PORT_LOOKUP // `text` of the answer is the port
};

// `error` of the answer is an enum pli_err.
struct pli_ask_port {
    uint32_t what; // enum pli_ask_port_what
    uint32_t owner, ep;
    uint32_t spare;
    uint64_t cookie; // of a port
    char service[256];
    char port[240]; // as much as an answer can say
};
_Static_assert(sizeof(struct pli_ask_port) == 520, "shared with other processes");

// Strings follow, each with its zero: the program's file, its directory, the hosts it is to be on
// and hosts that are to join the job (these three may be empty; "a:2,b"), n_arg arguments beginning
// with its name, n_env settings NAME=VALUE. Then the next part.
struct pli_ask_part {
    uint32_t n; // processes
    uint32_t n_arg, n_env;
    uint32_t len; // of the strings, rounded up to 8
};
_Static_assert(sizeof(struct pli_ask_part) == 16, "shared with other processes");

struct pli_answer {
    int32_t error;  // errno, 0: done
    uint32_t n;     // processes concerned
    uint32_t first; // index of the first, the others follow
    uint32_t part;  // with an error: which part it is about
    char text[240]; // with an error: the reason
};
_Static_assert(sizeof(struct pli_answer) == 256, "shared with other processes");

#endif
