// SPDX-License-Identifier: BSD-3-Clause
// The place of this process in its job, and the other processes. One bootstrap is chosen at start
// and answers for the process.
#ifndef PLI_BOOT_BOOT_H
#define PLI_BOOT_BOOT_H

#include "base/err.h"
#include "boot/node.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

struct pli_boot_freeze;
struct pli_boot_ops;
struct pli_agree_word;

// A process id is the job in the upper half and the index in the job in the lower.
struct pli_boot {
    const struct pli_boot_ops *ops;
    uint64_t job;         // upper half of the ids of this job's processes, shifted into place
    uint32_t index;       // mine in the job
    uint32_t world;       // index of the first process of MPI_COMM_WORLD
    uint32_t n_world;     // and how many they are at start
    uint32_t version;     // of the world this process came for
    uint32_t row;         // mine on this host
    uint32_t host;        // this host's number in the job
    struct pli_node node; // always there; of one row when there is no launcher
    struct pli_gateway *gateway; // to other MPI jobs; NULL: there are none
    int gateway_fd;              // wakes the agent behind it
    // This process has to do with other jobs: contexts that it counts could be theirs too.
    _Atomic bool is_linked;
    pid_t opener;  // the process that has opened it, 0: none has
    int control;   // socket to the launcher, kept for the life of the process; -1: none
    int accept_fd; // where connections of other processes arrive from the launcher; -1: none
    uint64_t node_dev, node_ino; // the file of the node memory; 0: this process is never frozen
    const struct pli_boot_freeze *freeze; // NULL until src/ckpt has set it
};

// A connection that another process has opened to this one, authenticated.
struct pli_caller {
    int fd;                    // now the taker's
    uint32_t proc;             // an index in the job
    uint8_t lane;              // which of its lanes
    uint8_t to_lane;           // which of mine it wants
    uint8_t protect;           // enum pli_handshake_protect, and by which keys
    unsigned char keys[2][32]; // to send, to receive: see struct pli_handshake_keys
};

// What a process that was frozen finds on the host where it goes on.
struct pli_boot_place {
    uint32_t row;
    int control, accept_fd;
};

// What a bootstrap asks of src/ckpt, which sees to it that a process can be frozen and dumped.
struct pli_boot_freeze {
    // Between the two the process is not frozen. Context: any thread.
    void (*hold)(void);
    void (*let)(void);
    // A connection that arrived while the process was frozen, and that no lane has. Held.
    bool (*untaken)(struct pli_caller *out);
    // A connection was taken that must be given up when the process is frozen. Held.
    void (*accepted)(const struct pli_caller *c);
    // For a process that goes to another host as an image. Give up the node memory, wherever it is
    // mapped; false: nothing was changed. Context: the only thread.
    bool (*unmap)(const struct pli_node *node);
    // Wait at the resume pipe, be dumped and restored, and get the memory of the host it is on
    // then. Does not return when the launcher is gone.
    enum pli_err (*resume_elsewhere)(int resume_fd, struct pli_node *node_out,
                                     struct pli_boot_place *out);
};

// Where a process can be called.
struct pli_boot_way {
    const struct pli_node_host *host; // its addresses
    uint16_t port;
    bool is_direct; // the process itself answers, when it comes to it; else its launcher does
};

struct pli_boot_ops {
    const char *name;
    // Whether this bootstrap is the one that started us. Looks at the environment only.
    bool (*is_mine)(void);
    // Fill in *boot. Local: never waits for another process.
    enum pli_err (*open)(struct pli_boot *boot);
    // Make a change of my row known (started, finalised).
    void (*tell)(struct pli_boot *boot, enum pli_node_state state);
    // End the whole job with this code; does not return.
    void (*abort)(struct pli_boot *boot, int code, const char *why);
    void (*close)(struct pli_boot *boot);
    // Give the launcher a socket, on which a request follows (launcher_wire.h). The socket stays
    // the caller's. May start a launcher where there is none.
    enum pli_err (*ask)(struct pli_boot *boot, int fd);
    // This process was forked from a rank: become another process of the job, for which the
    // launcher has filled in a row. When that is on another host this process first goes there;
    // known is called when the launcher knows of it, before. Context: the only thread.
    enum pli_err (*clone)(struct pli_boot *boot, uint32_t index, void (*known)(void));
    // This process waits for the version of the world it came for.
    void (*ready)(struct pli_boot *boot);
    // A word about a communicator whose members are on several hosts (agree_wire.h).
    void (*agree)(struct pli_boot *boot, const struct pli_agree_word *word);
    // Where a process listens for connections, or its launcher does for it. Fails with a sentence
    // when it cannot be reached from here. Never waits.
    enum pli_err (*reach)(struct pli_boot *boot, uint32_t index, struct pli_boot_way *out);
    // A descriptor that is readable when another process has connected, -1: none ever will.
    int (*accept_fd)(struct pli_boot *boot);
    // Take one such connection. PLI_AGAIN: there is none; PLI_ERR_PENDING: too many are, try again
    // soon; PLI_ERR_NO_SPACE: no descriptor is free, and the caller waits. Never waits itself.
    // Context: any thread.
    enum pli_err (*accept)(struct pli_boot *boot, struct pli_caller *out);
};

// Whether a process is on this host, and which row it is. Context: any thread.
static inline bool pli_boot_is_here(const struct pli_boot *boot, uint64_t proc, uint32_t *row_out)
{
    uint32_t index = (uint32_t)(proc - boot->job);
    const struct pli_node_proc *p =
        pli_node_job_of(proc) == boot->job ? pli_node_find(&boot->node, index) : NULL;
    if (p == NULL || p->host != boot->host) {
        return false;
    }
    *row_out = p->row;
    return true;
}

// Whether a process is on this host and has neither died nor ended. Rows are used again.
static inline bool pli_boot_is_live(const struct pli_boot *boot, uint64_t proc)
{
    uint32_t row = 0;
    bool is_here = pli_boot_is_here(boot, proc, &row);
    const struct pli_node_row *r = &boot->node.rows[row];
    return is_here && r->index == (uint32_t)proc && pli_node_failure(&boot->node, r->index) == 0 &&
           atomic_load(&r->has_ended) == 0;
}

// Whether messages to a process go through shared memory, and which row it is.
static inline bool pli_boot_shares(const struct pli_boot *boot, uint64_t proc, uint32_t *row_out)
{
    return pli_boot_is_here(boot, proc, row_out) &&
           ((boot->node.header->net & PLI_NODE_NO_SHM) == 0 || *row_out == boot->row);
}

// A process that comes for a version of the world waits until that counts: all processes that come
// for it are there then, or none. Nothing for others.
void pli_boot_join_world(struct pli_boot *boot);

// Tell the launcher how many collectives this process has begun in the version of the world before
// this one; and that it works in one.
void pli_boot_say_begun(struct pli_boot *boot, uint32_t version, uint32_t n);
void pli_boot_say_taken(struct pli_boot *boot, uint32_t version);

// For bootstraps without a network.
enum pli_err pli_boot_no_reach(struct pli_boot *boot, uint32_t index, struct pli_boot_way *out);
int pli_boot_no_accept_fd(struct pli_boot *boot);
enum pli_err pli_boot_no_accept(struct pli_boot *boot, struct pli_caller *out);
// For launchers that are not ours.
enum pli_err pli_boot_no_ask(struct pli_boot *boot, int fd);
void pli_boot_no_ready(struct pli_boot *boot);
void pli_boot_no_agree(struct pli_boot *boot, const struct pli_agree_word *word);
enum pli_err pli_boot_no_clone(struct pli_boot *boot, uint32_t index, void (*known)(void));

// The process's one bootstrap, see boot_open.h.
extern struct pli_boot pli_boot;

// This process was forked from a rank: it becomes another one of the job, see pli_boot_ops.clone.
// Context: the only thread.
enum pli_err pli_boot_clone(uint32_t index, void (*known)(void));

// Before this process ends the job because it cannot reach a peer. Connections of a process that
// dies are closed before the launcher can see that it is dead: it gets the time to see it, to say
// why, and to end this process. Context: any thread.
void pli_boot_let_launcher_judge(void);

// Leave the process at once but not without what it printed. Context: any thread.
_Noreturn void pli_boot_exit(int code);

// The exit status for an MPI_Abort code: only 8 bits arrive, and a failure must not look like 0.
static inline int pli_boot_exit_code(int code)
{
    return code != 0 && (code & 255) == 0 ? 1 : code & 255;
}

#endif
