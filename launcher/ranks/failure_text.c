// SPDX-License-Identifier: BSD-3-Clause
// Explains failures to people.
#include "launcher/ranks/failure_text.h"

#include "base/glibc.h"
#include "launcher/job/role.h"
#include "boot/boot.h"
#include "launcher/job/job.h"
#include "tools/lib/job_status.h"
#include "launcher/base/say.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const struct {
    int sig;
    const char *text, *hint;
} signals[] = {
    { SIGSEGV, "an access to memory that it does not own", NULL },
    { SIGBUS, "an access to memory that is not there",
      "Either a file it had mapped became shorter, or the memory of this host (or container) is "
      "used "
      "up. " },
    { SIGABRT, "its own abort()", "What it said before (an assertion, the C library) is above. " },
    { SIGFPE, "an integer division by zero or similar", NULL },
    { SIGILL, "an instruction this processor does not know",
      "Was it built for another machine (-march=native elsewhere)? " },
    { SIGKILL, "not its own doing",
      "It was killed from outside, most likely by the system for lack of memory: see dmesg, or the "
      "memory limit of the container or batch job. " },
    { SIGTERM, "another process asked it to end", "It was not mpiexec. " },
    { SIGXCPU, "it used up its processor time", "See ulimit -t. " },
    { SIGXFSZ, "it wrote too large a file", "See ulimit -f. " },
    { SIGPIPE, "it wrote to a pipe that has no reader", NULL },
    { SIGTRAP, "a trap, as from a debugger or a failed check", NULL },
    { SIGSYS, "a forbidden system call", "A sandbox or container may be too strict. " },
};

enum { N_SIGNAL = sizeof signals / sizeof signals[0] };

static int find_signal(int sig)
{
    int i = 0;
    while (i < N_SIGNAL && signals[i].sig != sig) {
        i++;
    }
    return i;
}

const char *pli_failure_text_signal(int sig)
{
    static char name[32];
    const char *abbrev = sigabbrev_np(sig);
    snprintf(name, sizeof name, abbrev != NULL ? "SIG%s" : "signal %.0s%d",
             abbrev != NULL ? abbrev : "", sig);
    return name;
}

enum pli_failure_kind pli_failure_text_missed(const struct pli_job *job,
                                              const struct pli_proc_task *t,
                                              enum pli_failure_kind fault)
{
    bool is = fault == PLI_FAULT_NONE && job->opt.impi_server != NULL;
    for (uint32_t r = t->first; is && r < t->first + t->n; r++) {
        is = r < job->node.header->n_row &&
             atomic_load_explicit(&job->node.rows[r].state, memory_order_acquire) == PLI_NODE_EMPTY;
    }
    return is ? PLI_FAULT_NO_INIT : fault;
}

int pli_failure_text_status(const struct pli_rank_failure *c)
{
    switch (c->fault) {
    case PLI_FAULT_NONE:
        return 0;
    case PLI_FAULT_SIGNAL:
        return 128 + c->number;
    case PLI_FAULT_CODE:
        return c->number;
    case PLI_FAULT_ABORT:
        return pli_boot_exit_code(c->number);
    default:
        return 1;
    }
}

enum pli_failure_kind pli_failure_text_fault(int status, uint32_t state, int *number_out)
{
    if (WIFSIGNALED(status)) {
        *number_out = WTERMSIG(status);
        return PLI_FAULT_SIGNAL;
    }
    *number_out = WEXITSTATUS(status);
    if (*number_out != 0) {
        return PLI_FAULT_CODE;
    }
    return state == PLI_NODE_RUNNING ? PLI_FAULT_SILENT : PLI_FAULT_NONE;
}

// "was killed by signal 11, SIGSEGV (...)"
static void what(const struct pli_rank_failure *c, char *to, size_t cap)
{
    int i;
    switch (c->fault) {
    case PLI_FAULT_SIGNAL:
        i = find_signal(c->number);
        snprintf(to, cap, "was killed by signal %d, %s%s%s%s", c->number,
                 pli_failure_text_signal(c->number), i < N_SIGNAL ? " (" : "",
                 i < N_SIGNAL ? signals[i].text : "", i < N_SIGNAL ? ")" : "");
        break;
    case PLI_FAULT_CODE:
        snprintf(to, cap, "ended with exit status %d", c->number);
        break;
    case PLI_FAULT_ABORT:
        if (c->why[0] == '\0' || strcmp(c->why, "MPI_Abort") == 0) {
            snprintf(to, cap, "called MPI_Abort with code %d", c->number);
        } else if (strncmp(c->why, "MPI_Abort, called", strlen("MPI_Abort, called")) == 0) {
            snprintf(to, cap, "called MPI_Abort with code %d%s", c->number,
                     c->why + strlen("MPI_Abort, called"));
        } else {
            snprintf(to, cap, "ended the job with code %d: %s", c->number, c->why);
        }
        break;
    case PLI_FAULT_SILENT:
        snprintf(to, cap, "ended with exit status 0");
        break;
    case PLI_FAULT_NO_INIT:
        snprintf(to, cap, "ended without having called MPI_Init");
        break;
    default:
        snprintf(to, cap, "died (how, only its parent process knows)");
        break;
    }
}

static void when(const struct pli_rank_failure *c, char *to, size_t cap)
{
    const char *text = "";
    if (c->fault == PLI_FAULT_ABORT) {
        text = "";
    } else if (c->state == PLI_NODE_RUNNING) {
        text = c->fault == PLI_FAULT_SIGNAL ? ", before MPI_Finalize"
                                            : " without having called MPI_Finalize";
    } else if (c->state == PLI_NODE_FINALIZED) {
        text = ", after MPI_Finalize";
    } else if (c->fault == PLI_FAULT_CODE) {
        text = ", before MPI_Init (if it calls that at all)";
    }
    snprintf(to, cap, "%s", text);
}

// "rank 3", or "UPC thread 2 of group 0 (no rank)".
static void who(const struct pli_job *job, const struct pli_rank_failure *c, char *to, size_t cap)
{
    const struct pli_node_row *row = &job->node.rows[c->row];
    if (row->index - job->base < job->n_rank || row->version > 0) {
        snprintf(to, cap, "rank %u", row->version > 0 ? row->index - row->world : row->index);
    } else if (c->row >= job->node.header->n_row) {
        snprintf(to, cap, "rank %u of %u that %s spawned", row->index - row->world, row->n_world,
                 row->n_world == 1 ? "was" : "were");
    } else {
        char name[PLI_JOB_STATUS_NAME];
        snprintf(to, cap, "%s", pli_job_status_who(&job->node, c->row, name));
    }
}

// The kernel sends SIGKILL, too, to who has used up his processor time, if that is the hard limit.
static void hint_killed(const char *usual, char *to, size_t cap)
{
    struct rlimit time;
    int n = snprintf(to, cap, " %s", usual);
    if (getrlimit(RLIMIT_CPU, &time) == 0 && time.rlim_max != RLIM_INFINITY) {
        snprintf(to + n, cap - (size_t)n,
                 "Or it has used up its processor time, of which a process may have %llu s here "
                 "(ulimit -t).",
                 (unsigned long long)time.rlim_max);
    }
}

static void hint(const struct pli_job *job, const struct pli_rank_failure *c, char *to, size_t cap)
{
    const char *program = c->task->app->argv[0];
    to[0] = '\0';
    if (c->fault == PLI_FAULT_SILENT) {
        snprintf(
            to, cap,
            " Every process that has called MPI_Init must call MPI_Finalize before it ends: look "
            "for an early return or exit.");
    } else if (c->fault == PLI_FAULT_NO_INIT) {
        snprintf(
            to, cap,
            " The ranks of the other clients of the IMPI job would wait for it for ever. Is it a "
            "program of another MPI? Then start it with impirun --mpi mpich or --mpi openmpi.");
    } else if (c->fault == PLI_FAULT_CODE && (c->number == 127 || c->number == 126)) {
        snprintf(to, cap, " %s",
                 c->number == 127 ? "127 usually means that a command or a shared library was not "
                                    "found: see above, and try ldd on the program."
                                  : "126 usually means that a command could not be executed.");
    } else if (c->fault == PLI_FAULT_CODE && c->state == PLI_NODE_RUNNING) {
        snprintf(to, cap,
                 " To end all ranks on purpose call MPI_Abort; otherwise look for an early exit.");
    } else if (c->fault == PLI_FAULT_SIGNAL) {
        int i = find_signal(c->number);
        const char *special = i < N_SIGNAL && signals[i].hint != NULL ? signals[i].hint : "";
        if (c->number == SIGKILL && c->why[0] != '\0') {
            snprintf(to, cap,
                     " It ran in %s, which kills what it debugs when it ends itself: what %s said "
                     "before, of a crash perhaps, is above.",
                     c->why, c->why);
            return;
        }
        if (c->number == SIGKILL) {
            hint_killed(special, to, cap);
            return;
        }
        if (c->number == SIGTERM) {
            snprintf(to, cap, " %s", special);
            return;
        }
        snprintf(
            to, cap,
            " %sTo find the place: build with -g -fsanitize=address; or keep a core dump (ulimit "
            "-c unlimited) and open it with gdb %s CORE; or run the ranks in a debugger: %s -n %u "
            "gdb -batch -ex run -ex 'thread apply all bt' --args %s ...",
            special, program, pli_say_name, job->n_rank, program);
    }
}

void pli_failure_text_say(const struct pli_job *job, const struct pli_rank_failure *c, bool is_end)
{
    char what_text[512], when_text[80], hint_text[1024], others[80] = "", who_text[64];
    who(job, c, who_text, sizeof who_text);
    what(c, what_text, sizeof what_text);
    when(c, when_text, sizeof when_text);
    hint(job, c, hint_text, sizeof hint_text);
    uint32_t n_left = 0;
    for (const struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL;
         t = pli_job_next(job, t)) {
        n_left += !t->is_over && t != c->task ? t->n : 0;
    }
    if (is_end && n_left == 1) {
        snprintf(others, sizeof others, " The other rank still at work is ended.");
    } else if (is_end && n_left > 1) {
        snprintf(others, sizeof others, " The %u others still at work are ended.", n_left);
    } else if (n_left > 0) {
        bool is_early = c->state != PLI_NODE_RUNNING && c->state != PLI_NODE_FINALIZED &&
                        job->opt.on_failure != PLI_FAIL_CONTINUE;
        snprintf(others, sizeof others, " The others go on%s.",
                 is_early ? " until one of them is in MPI" : "");
    }
    pli_say("%s (process %d on host %s, program %s) %s%s.%s%s", who_text, (int)c->pid,
            pli_launcher.role->host_name(job, c->task), c->task->app->argv[0], what_text, when_text,
            others, hint_text);
}

void pli_failure_text_say_short(const struct pli_job *job, const struct pli_rank_failure *c)
{
    char what_text[512], when_text[80], who_text[64], where[300];
    who(job, c, who_text, sizeof who_text);
    what(c, what_text, sizeof what_text);
    when(c, when_text, sizeof when_text);
    pli_launcher.role->where(job, c->task, where, sizeof where);
    pli_say("%s (process %d%s) also %s%s.", who_text, (int)c->pid, where, what_text, when_text);
}

void pli_failure_text_say_states(const struct pli_job *job)
{
    static const char *const names[] = {
        [PLI_NODE_EMPTY] = "not yet in MPI_Init",
        [PLI_NODE_CLAIMED] = "in MPI_Init",
        [PLI_NODE_RUNNING] = "between MPI_Init and MPI_Finalize",
        [PLI_NODE_FINALIZED] = "after MPI_Finalize",
        [PLI_NODE_ABORTED] = "in MPI_Abort",
    };
    uint32_t count[PLI_NODE_ABORTED + 1] = { 0 }, n_over = 0;
    uint32_t n_rank = 0;
    for (const struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL;
         t = pli_job_next(job, t)) {
        n_rank += t->n;
        for (uint32_t r = t->first; r < t->first + t->n; r++) {
            uint32_t s = atomic_load_explicit(&job->node.rows[r].state, memory_order_relaxed);
            n_over += t->is_over;
            count[s <= PLI_NODE_ABORTED ? s : 0] += !t->is_over;
        }
    }
    char text[512];
    int n = snprintf(text, sizeof text, "Of %u rank%s ", n_rank, n_rank > 1 ? "s" : "");
    const char *comma = "";
    for (int s = 0; s <= PLI_NODE_ABORTED; s++) {
        if (count[s] > 0) {
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%u %s %s", comma, count[s],
                          count[s] > 1 ? "are" : "is", names[s]);
            comma = ", ";
        }
    }
    if (n_over > 0) {
        snprintf(text + n, sizeof text - (size_t)n, "%s%u ended", comma, n_over);
    }
    pli_say("%s.", text);
}

// A rank that reads from the terminal itself is stopped by it, which would look like a hang.
void pli_failure_text_stopped(void)
{
    siginfo_t info = { 0 };
    while (waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0) {
        if (info.si_status == SIGTTIN || info.si_status == SIGTTOU) {
            pli_say(
                "process %d was stopped by %s because it used the terminal directly; ranks have "
                "standard input and output for that.",
                (int)info.si_pid, pli_failure_text_signal(info.si_status));
        }
        info.si_pid = 0;
    }
}
