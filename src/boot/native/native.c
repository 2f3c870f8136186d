// SPDX-License-Identifier: BSD-3-Clause
// The rank's side of our mpiexec: maps the inherited memory and takes one of its task's rows.
#include "boot/native/native.h"
#include "base/call_site.h"
#include "base/cpu.h"

#include "base/conf.h"
#include "base/fault.h"
#include "base/nofile.h"
#include "boot/ctl.h"
#include "boot/accept_wire.h"
#include "base/fdpass.h"
#include "boot/agree_wire.h"
#include "boot/ckpt_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// What mpiexec wrote into PLIANT_BOOT: "fd=5,row=3,n=1,ctl=6,accept=7,line=1,own=1,gateway=8".
struct invitation {
    int fd, row, n, ctl;
    int accept_fd;      // -1: no network
    int line;           // the user watches: show each line when it is complete
    int own;            // others have the same sockets, though the row is this process's alone
    int extra, n_extra; // for upcrun: rows of processes without a rank
    int n_upc;          // for upcrun: threads of its group, here and on other hosts
    int gateway;        // wakes the agent, 0: there is none
};

static bool native_is_mine(void)
{
    return pli_conf.boot[0] != '\0';
}

static enum pli_err parse(const char *text, struct invitation *out)
{
    struct invitation inv = { -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0 };
    const struct {
        const char *key;
        int *value;
    } keys[] = {
        { "fd=", &inv.fd },           { "row=", &inv.row },          { "n=", &inv.n },
        { "ctl=", &inv.ctl },         { "accept=", &inv.accept_fd }, { "line=", &inv.line },
        { "own=", &inv.own },         { "extra=", &inv.extra },      { "nextra=", &inv.n_extra },
        { "gateway=", &inv.gateway }, { "upc=", &inv.n_upc },
    };
    for (const char *s = text; *s != '\0';) {
        size_t i = 0;
        while (i < sizeof keys / sizeof keys[0] &&
               strncmp(s, keys[i].key, strlen(keys[i].key)) != 0) {
            i++;
        }
        if (i == sizeof keys / sizeof keys[0]) {
            break;
        }
        int64_t v = 0;
        s += strlen(keys[i].key);
        while (*s >= '0' && *s <= '9' && v <= INT_MAX) {
            v = v * 10 + (*s++ - '0');
        }
        if (v > INT_MAX || (*s != ',' && *s != '\0')) {
            break;
        }
        *keys[i].value = (int)v;
        s += *s == ',';
    }
    if (inv.fd < 0 || inv.row < 0 || inv.n < 1 || inv.ctl < 0) {
        return pli_fail(PLI_ERR_OTHER,
                        "PLIANT_BOOT=%s was not written by this version's mpiexec; unset it to run "
                        "without a launcher",
                        text);
    }
    *out = inv;
    return PLI_OK;
}

static enum pli_err no_room(const struct pli_node_header *h)
{
    return pli_fail(PLI_ERR_NOMEM,
                    "host %s has room for %u processes that come later, because one of the job "
                    "runs there under valgrind or with a limit on address space (ulimit -v)",
                    h->host, atomic_load(&h->n_room));
}

// Take the first free row of the task.
static enum pli_err claim(struct pli_boot *boot, const struct invitation *inv)
{
    struct pli_node *node = &boot->node;
    uint32_t n_row = node->header->n_row + node->header->n_more;
    if ((uint32_t)inv->row >= n_row || (uint32_t)inv->n > n_row - (uint32_t)inv->row) {
        return pli_fail(PLI_ERR_OTHER, "PLIANT_BOOT=%s names ranks that the job does not have",
                        pli_conf.boot);
    }
    if (!pli_node_has_room(node->header, (uint32_t)(inv->row + inv->n - 1))) {
        return no_room(node->header);
    }
    for (uint32_t r = (uint32_t)inv->row; r < (uint32_t)(inv->row + inv->n); r++) {
        uint32_t empty = PLI_NODE_EMPTY;
        if (atomic_compare_exchange_strong_explicit(&node->rows[r].state, &empty, PLI_NODE_CLAIMED,
                                                    memory_order_acq_rel, memory_order_relaxed)) {
            atomic_store_explicit(&node->rows[r].pid, (uint32_t)getpid(), memory_order_release);
            boot->row = r;
            return PLI_OK;
        }
    }
    uint32_t pid = atomic_load_explicit(&node->rows[inv->row].pid, memory_order_relaxed);
    if (inv->n == 1) {
        return pli_fail(PLI_ERR_OTHER,
                        "process %u has already been rank %u of this job; a rank starts MPI once. "
                        "To start several from one task use mpiexec --ranks-per-proc",
                        pid, node->rows[inv->row].index);
    }
    return pli_fail(PLI_ERR_OTHER,
                    "all %d ranks of this task are taken (the first by process %u); raise mpiexec "
                    "--ranks-per-proc",
                    inv->n, pid);
}

// Say that this row's process is not mpiexec's child, so that it watches the process itself.
static void hello(int ctl, uint32_t row, const int *own, size_t n_own)
{
    // When this fails mpiexec is gone, and pli_ctl_guard is about to see it.
    pli_ctl_say(ctl, PLI_CTL_HELLO, row, own, n_own);
}

// The signal's owner belongs to the socket, not to the process: processes that share a task's
// socket make one each and send the other end to mpiexec. So they do with the accept socket,
// because a packet for one of them must not be read by another.
static enum pli_err own_sockets(struct pli_boot *boot, const struct invitation *inv)
{
    int pair[2][2] = { { -1, -1 }, { -1, -1 } };
    size_t n = inv->accept_fd >= 0 ? 2 : 1;
    for (size_t i = 0; i < n; i++) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair[i]) != 0) {
            close(pair[0][0]);
            close(pair[0][1]);
            return pli_fail(PLI_ERR_OTHER, "cannot make a control socket: %s", strerror(errno));
        }
    }
    const int theirs[2] = { pair[0][1], pair[1][1] };
    hello(inv->ctl, boot->row, theirs, n);
    for (size_t i = 0; i < n; i++) {
        close(theirs[i]);
    }
    boot->control = pair[0][0];
    boot->accept_fd = pair[1][0];
    return PLI_OK;
}

// The MPI_COMM_WORLD this process belongs to, and the host it is on.
PLI_START static void know_world(struct pli_boot *boot, const struct pli_node_row *row)
{
    const struct pli_node_header *h = boot->node.header;
    if (boot->row < h->n_row) {
        boot->n_world = h->n_joint != 0 ? h->n_joint : h->n_world - h->n_extra;
    } else {
        boot->world = row->world;
        boot->n_world = row->n_world;
        boot->version = row->version;
    }
    const struct pli_node_proc *me = pli_node_find(&boot->node, boot->index);
    boot->host = me != NULL ? me->host : h->host_index;
}

static enum pli_err join(struct pli_boot *boot, const struct invitation *inv)
{
    enum pli_err err = claim(boot, inv);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_node_row *row = &boot->node.rows[boot->row];
    boot->control = inv->ctl;
    boot->accept_fd = inv->accept_fd;
    if (inv->n > 1 || inv->own) {
        err = own_sockets(boot, inv);
    } else if ((uint32_t)getppid() != boot->node.header->launcher &&
               (boot->node.header->is_nested == 0 || getppid() != 0)) {
        hello(inv->ctl, boot->row, NULL, 0);
    }
    if (err == PLI_OK) {
        err = pli_ctl_guard(boot->control);
    }
    if (err == PLI_OK && boot->accept_fd >= 0 && fcntl(boot->accept_fd, F_SETFD, FD_CLOEXEC) != 0) {
        err = pli_fail(PLI_ERR_OTHER,
                       "descriptor %d from mpiexec cannot be used (%s); a wrapper between mpiexec "
                       "and this program must pass its descriptors on",
                       boot->accept_fd, strerror(errno));
    }
    if (err != PLI_OK) {
        atomic_store_explicit(&row->state, PLI_NODE_EMPTY, memory_order_release);
        return err;
    }
    boot->job = pli_node_job(boot->node.header);
    boot->index = row->index;
    know_world(boot, row);
    boot->gateway_fd = inv->gateway;
    if (boot->row < boot->node.header->n_row) { // other MPIs know nothing of ranks that come later
        boot->gateway = pli_node_gateway(&boot->node);
    }
    return inv->gateway > 0 && fcntl(inv->gateway, F_SETFD, inv->n == 1 ? FD_CLOEXEC : 0) != 0
               ? pli_fail(PLI_ERR_OTHER, "descriptor %d from mpiexec is closed", inv->gateway)
               : PLI_OK;
}

// Checkpoints are made of this process: it must find its node memory among its mappings.
static enum pli_err know_memory(struct pli_boot *boot, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return pli_fail(PLI_ERR_OTHER, "cannot prepare for checkpoints: %s", strerror(errno));
    }
    boot->node_dev = st.st_dev;
    boot->node_ino = st.st_ino;
    return PLI_OK;
}

PLI_START static enum pli_err native_open(struct pli_boot *boot)
{
    struct invitation inv = { 0 };
    enum pli_err err = parse(pli_conf.boot, &inv);
    if (err != PLI_OK) {
        return err;
    }
    if (fcntl(inv.fd, F_GETFD) < 0) {
        return pli_fail(PLI_ERR_OTHER,
                        "descriptor %d from mpiexec is closed; a wrapper between mpiexec and this "
                        "program must pass its descriptors on (Python: close_fds=False)",
                        inv.fd);
    }
    err = pli_node_map(inv.fd, &boot->node);
    if (err != PLI_OK) {
        return err;
    }
    err = join(boot, &inv);
    uint32_t how = pli_node_save(boot->node.header)->how;
    if (err == PLI_OK && (how == PLI_NODE_SAVE_IMAGE || how == PLI_NODE_SAVE_MOVE) && inv.n == 1) {
        err = know_memory(boot, inv.fd);
    }
    if (err != PLI_OK) {
        pli_node_unmap(&boot->node);
        return err;
    }
    if (inv.n == 1) {
        // The invitation is used up: a program that this rank starts is a world of its own.
        close(inv.fd);
        unsetenv("PLIANT_BOOT");
    }
    if (inv.line) {
        setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    }
    return PLI_OK;
}

static void native_tell(struct pli_boot *boot, enum pli_node_state state)
{
    pli_node_set_state(&boot->node, boot->row, state);
}

static _Noreturn void native_abort(struct pli_boot *boot, int code, const char *why)
{
    if (boot->node.rows == NULL) {
        pli_boot_exit(pli_boot_exit_code(code)); // it has not come to have a row
    }
    struct pli_ctl_msg msg = { .kind = PLI_CTL_ABORT, .row = boot->row, .code = code };
    int n = snprintf(msg.text, sizeof msg.text, "%s", why);
    size_t end = n < 0 ? 0 : (size_t)n < sizeof msg.text ? (size_t)n : sizeof msg.text - 1;
    if (pli_call_site_write(msg.text + end + 1, sizeof msg.text - end - 1) > 0) {
        msg.text[end] = '\n';
    }
    boot->node.rows[boot->row].abort_code = code;
    pli_node_set_state(&boot->node, boot->row, PLI_NODE_ABORTED);
    // mpiexec ends the others at once and leaves this process a moment for its last words.
    ssize_t sent = send(boot->control, &msg, sizeof msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent; // the state is in the row: mpiexec reads it when this process is gone
    pli_boot_exit(pli_boot_exit_code(code));
}

static enum pli_err native_ask(struct pli_boot *boot, int fd)
{
    return pli_ctl_say(boot->control, PLI_CTL_ASK, boot->row, &fd, 1)
               ? PLI_OK
               : pli_fail(PLI_ERR_OTHER, "mpiexec does not answer: %s", strerror(errno));
}

// Print to a pipe of this process's own where the other one prints to that of mpiexec; *theirs_out
// is the other end. A file that the program opened itself stays shared.
static bool own_pipe(int fd, uint64_t inode, int *theirs_out)
{
    struct stat st;
    int p[2];
    if (pipe2(p, O_CLOEXEC) != 0) {
        return false;
    }
    bool is_ours = fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && (uint64_t)st.st_ino == inode;
    bool is_done = !is_ours || dup2(p[1], fd) >= 0;
    close(p[1]); // a pipe that is not needed ends here
    *theirs_out = p[0];
    return is_done;
}

static void close_all(const int *fds, int n)
{
    for (int i = 0; i < n; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

// A socket like one that another process has, under the same number; *theirs_out is the other end.
static bool own_socket(int fd, int *theirs_out)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        return false;
    }
    bool is_done = dup3(pair[0], fd, O_CLOEXEC) == fd;
    close(pair[0]);
    *theirs_out = pair[1];
    return is_done;
}

// A control socket, pipes and, where there is a network, an accept socket of this process's own;
// their other ends go to mpiexec over the socket of the process it was forked from.
static enum pli_err own_ends(const struct pli_boot *boot, uint32_t at)
{
    enum { MOST = 4 };
    const struct pli_node_row *row = &boot->node.rows[at];
    int theirs[MOST] = { -1, -1, -1, -1 }, parent = dup(boot->control);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int n = boot->accept_fd >= 0 ? MOST : MOST - 1;
    bool is_made = null >= 0 && parent >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
                   own_socket(boot->control, &theirs[0]) &&
                   own_pipe(STDOUT_FILENO, row->out, &theirs[1]) &&
                   own_pipe(STDERR_FILENO, row->err, &theirs[2]) &&
                   (boot->accept_fd < 0 || own_socket(boot->accept_fd, &theirs[3])) &&
                   pli_ctl_say(parent, PLI_CTL_CLONE, at, theirs, (size_t)n);
    int error = errno;
    close_all(&null, 1);
    close_all(&parent, 1);
    close_all(theirs, MOST);
    return is_made
               ? PLI_OK
               : pli_fail(PLI_ERR_OTHER, "a forked rank cannot reach mpiexec: %s", strerror(error));
}

// Make a pipe to wait at, pipes to print to, and one that ends when all else is given up; their
// other ends go to mpiexec. *resume_out and *busy_out stay here.
static bool make_pipes(const struct pli_boot *boot, uint32_t at, int *resume_out, int *busy_out)
{
    enum { MOST = 4 };
    const struct pli_node_row *row = &boot->node.rows[at];
    int theirs[MOST] = { -1, -1, -1, -1 }, resume[2] = { -1, -1 }, busy[2] = { -1, -1 };
    struct pli_ctl_msg msg = { .kind = PLI_CTL_FAR, .row = at, .code = (int32_t)getpid() };
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool is_made = null >= 0 && dup2(null, STDIN_FILENO) >= 0 && pipe2(resume, O_CLOEXEC) == 0 &&
                   pipe2(busy, O_CLOEXEC) == 0 && own_pipe(STDOUT_FILENO, row->out, &theirs[1]) &&
                   own_pipe(STDERR_FILENO, row->err, &theirs[2]);
    theirs[0] = resume[1];
    theirs[3] = busy[0];
    is_made = is_made && pli_ctl_send(boot->control, &msg, theirs, MOST);
    close_all(&null, 1);
    close_all(theirs, MOST);
    *resume_out = resume[0];
    *busy_out = busy[1];
    return is_made;
}

// Go to another host, as an image that the launcher makes of this process. The launcher and the
// process this one was forked from are told first.
static enum pli_err go_there(struct pli_boot *boot, uint32_t row, void (*known)(void),
                             struct pli_boot_place *out)
{
    int resume_fd, busy;
    uint32_t index = boot->node.rows[row].index;
    if (atomic_load(&boot->is_linked)) {
        return pli_fail(PLI_ERR_UNSUPPORTED, "it is connected with another job");
    }
    if (!make_pipes(boot, row, &resume_fd, &busy)) {
        return pli_fail(PLI_ERR_OTHER, "a forked rank cannot reach mpiexec: %s", strerror(errno));
    }
    known();
    if (!boot->freeze->unmap(&boot->node)) {
        return pli_fail(PLI_ERR_OTHER, "its mappings cannot be listed: %s", strerror(errno));
    }
    close(boot->control);
    close(boot->accept_fd);
    pli_fault("fork_left", index);
    close(busy);
    enum pli_err err = boot->freeze->resume_elsewhere(resume_fd, &boot->node, out);
    pli_fault("fork_arrived", index);
    return err;
}

// A place on another host, from where this process goes on.
static enum pli_err move_to(struct pli_boot *boot, uint32_t *row_io, void (*known)(void))
{
    struct pli_boot_place there = { 0 };
    enum pli_err err = go_there(boot, *row_io, known, &there);
    if (err == PLI_OK) {
        boot->control = there.control;
        boot->accept_fd = there.accept_fd;
        *row_io = there.row;
    }
    return err;
}

static enum pli_err native_clone(struct pli_boot *boot, uint32_t index, void (*known)(void))
{
    uint32_t row = pli_node_row_of(&boot->node, index);
    bool is_here = pli_node_find(&boot->node, index)->host == boot->host;
    setpgid(0, 0); // as every process that mpiexec starts
    enum pli_err err = !is_here                                    ? move_to(boot, &row, known)
                       : pli_node_has_room(boot->node.header, row) ? own_ends(boot, row)
                                                                   : no_room(boot->node.header);
    if (err == PLI_OK) {
        err = pli_ctl_guard(boot->control);
    }
    if (err != PLI_OK) {
        return err;
    }
    struct pli_node_row *r = &boot->node.rows[row];
    boot->row = row;
    boot->index = r->index;
    know_world(boot, r);
    atomic_store_explicit(&r->pid, (uint32_t)getpid(), memory_order_release);
    atomic_store_explicit(&r->state, PLI_NODE_CLAIMED, memory_order_release);
    return PLI_OK;
}

static void native_ready(struct pli_boot *boot)
{
    pli_fault("init_ready", boot->index);
    pli_ctl_say(boot->control, PLI_CTL_READY, boot->row, NULL, 0);
    pli_fault("init_told", boot->index);
}

static void native_agree(struct pli_boot *boot, const struct pli_agree_word *word)
{
    struct pli_ctl_msg msg = { .kind = PLI_CTL_AGREE, .row = boot->row };
    _Static_assert(sizeof *word < sizeof msg.text, "fits");
    memcpy(msg.text, word, sizeof *word);
    pli_ctl_send(boot->control, &msg, NULL, 0); // when it fails mpiexec is gone, and we soon are
}

static enum pli_err native_reach(struct pli_boot *boot, uint32_t index, struct pli_boot_way *out)
{
    const struct pli_node_proc *p = pli_node_find(&boot->node, index);
    const struct pli_node_host *h =
        p != NULL && p->host < boot->node.header->n_host ? &boot->node.hosts[p->host] : NULL;
    if (h == NULL || h->port == 0 || h->n_addr == 0 || h->n_addr > PLI_NODE_N_ADDR) {
        return pli_fail(PLI_ERR_OTHER,
                        "process %u cannot be reached: the job was started without a "
                        "network (see PLIANT_NET)",
                        index);
    }
    *out = (struct pli_boot_way){ .host = h, .port = h->port };
    return PLI_OK;
}

static int native_accept_fd(struct pli_boot *boot)
{
    return boot->accept_fd;
}

// Context: the process is held, so that no checkpoint comes between the connection and its note.
static enum pli_err take_held(struct pli_boot *boot, struct pli_caller *out)
{
    struct pli_accept_msg msg;
    if (boot->freeze->untaken(out)) {
        return PLI_OK;
    }
    if (pli_nofile_is_reached(boot->accept_fd)) {
        return PLI_ERR_NO_SPACE; // the connection stays in the socket
    }
    ssize_t n = pli_fdpass_take(boot->accept_fd, &msg, sizeof msg, &out->fd, MSG_DONTWAIT);
    if (n < 0 && errno == EMFILE) {
        native_abort(boot, 1,
                     "a connection was lost: other threads opened the last descriptors "
                     "that this process may have (see ulimit -n)");
    }
    if (out->fd < 0) {
        return PLI_AGAIN;
    }
    if (n != (ssize_t)sizeof msg || msg.kind != PLI_ACCEPT_CALL ||
        pli_node_find(&boot->node, msg.proc) == NULL || msg.lane >= PLI_NODE_N_LANE ||
        msg.to_lane >= PLI_NODE_N_LANE || msg.is_again != 0) {
        close(out->fd);
        return PLI_AGAIN;
    }
    out->proc = msg.proc;
    out->lane = msg.lane;
    out->to_lane = msg.to_lane;
    out->protect = msg.protect;
    memcpy(out->keys, &msg.keys, sizeof out->keys);
    boot->freeze->accepted(out);
    return PLI_OK;
}

static enum pli_err native_accept(struct pli_boot *boot, struct pli_caller *out)
{
    if (boot->accept_fd < 0) {
        return PLI_AGAIN;
    }
    boot->freeze->hold();
    enum pli_err err = take_held(boot, out);
    boot->freeze->let();
    return err;
}

static void native_close(struct pli_boot *boot)
{
    if (boot->control >= 0) {
        close(boot->control);
        boot->control = -1;
    }
    if (boot->accept_fd >= 0) {
        close(boot->accept_fd);
        boot->accept_fd = -1;
    }
    pli_node_unmap(&boot->node);
}

const struct pli_boot_ops pli_native_ops = {
    .name = "native",
    .is_mine = native_is_mine,
    .open = native_open,
    .tell = native_tell,
    .abort = native_abort,
    .close = native_close,
    .ask = native_ask,
    .clone = native_clone,
    .ready = native_ready,
    .agree = native_agree,
    .reach = native_reach,
    .accept_fd = native_accept_fd,
    .accept = native_accept,
};
