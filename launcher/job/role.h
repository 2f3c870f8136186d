// SPDX-License-Identifier: BSD-3-Clause
// What a launcher process does, by its role. There are three: solo (mpiexec of a job on one host),
// head (mpiexec of a job on several hosts, whose daemons start the ranks) and daemon (starts the
// ranks of one host for a head elsewhere). Code that would ask which one it is calls a slot.
#ifndef PLI_LAUNCHER_ROLE_H
#define PLI_LAUNCHER_ROLE_H

#include "boot/launcher_wire.h"
#include "launcher/base/launcher.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct pli_agree_word;
struct pli_answer;
struct pli_app;
struct pli_ask_look;
struct pli_rank_failure;
struct pli_job;
struct pli_job_status_stuck;
struct pli_news;
struct pli_node_row;
struct pli_proc_task;
struct pli_rank_rows_ops;
struct pli_world_version;

// Flags of a signal: only for ranks, not for helpers of scripts; the job ends for it.
enum { PLI_SIGNAL_RANKS = 1, PLI_SIGNAL_ENDING = 2 };

// Clones of the processes with these indices, numbered from `rank` on, for a version of the world;
// names and add: hosts that the request named, "": none.
struct pli_role_clones {
    const uint32_t *parents;
    uint32_t n, rank, version;
    const char *names, *add;
};

enum pli_host_join { PLI_HOST_JOIN_DONE, PLI_HOST_JOIN_LATER };

// Whether all ranks of the job wait inside MPI.
enum pli_role_stuck {
    PLI_ROLE_STUCK_NOT,   // a rank does not
    PLI_ROLE_STUCK_ASKED, // it seems so, and they were asked
    PLI_ROLE_STUCK_SURE   // all have answered the last question; they were asked the next
};

typedef void (*pli_host_join_fn)(void *arg, const struct pli_answer *a);

struct pli_role {
    // The life of the job.
    void (*plan)(struct pli_job *job); // what has to be known before anything starts
    int (*run)(struct pli_job *job, char **argv, int signals); // the exit status
    // Where a task will run, for --dry-run.
    void (*print_place)(const struct pli_job *job, const struct pli_proc_task *t, FILE *to);
    bool (*has_begun)(void);                        // ranks are being started, everywhere
    void (*all_started)(const struct pli_job *job); // those of the command line, on this host
    void (*cannot_go_on)(int status);               // this process cannot: the job has to end
    void (*clean_up)(const struct pli_job *job, bool is_bad); // the job is over

    // Processes.
    void (*signal)(struct pli_job *job, int sig, const struct pli_proc_task *but, uint16_t flags);
    void (*end_process)(struct pli_job *job, uint32_t row);
    void (*open_output)(struct pli_job *job, struct pli_proc_task *t, int out, int err);
    int (*open_input)(struct pli_job *job, struct pli_proc_task *t, int null_fd);
    void (*task_gone)(struct pli_proc_task *t);       // its process has ended, why is not known yet
    void (*task_over)(const struct pli_proc_task *t); // and all has been done about it
    const char *(*host_name)(const struct pli_job *job, const struct pli_proc_task *t);
    // " on host NAME" where messages have to say it, else "".
    void (*where)(const struct pli_job *job, const struct pli_proc_task *t, char *to, size_t cap);
    bool (*watches_host)(const struct pli_job *job, uint32_t host); // its processes are ours
    const struct pli_rank_rows_ops *rows;
    void (*base_env)(const struct pli_job *job, struct pli_app *out); // of spawned programs
    // Which of the processes of its world on one host a spawned process is, and of how many.
    void (*local_rank)(const struct pli_job *job, const struct pli_node_row *row,
                       uint32_t *rank_out, uint32_t *size_out);

    // Failures.
    void (*report)(const struct pli_rank_failure *c); // something happened to a rank
    bool (*take_failure)(struct pli_job *job,
                         const struct pli_rank_failure *c); // the job goes on without
    void (*replace_failed)(
        struct pli_job *job); // ranks died; with --on-failure=respawn others come
    void (*send_news)(const struct pli_news *n); // what was written here counts on all hosts
    void (*agree)(struct pli_job *job, const struct pli_agree_word *word);
    enum pli_role_stuck (*is_stuck)(struct pli_job *job,
                                    struct pli_job_status_stuck *out); // see deadlock.h
    bool (*show_ranks)(enum pli_look what,
                       void (*done)(void)); // get what they do; false: later, it is under way

    // Requests of ranks.
    bool (*forward_request)(uint16_t kind, uint32_t id, const void *body, size_t len);
    void (*drop_request)(uint32_t id); // one that was forwarded
    void (*answer_request)(uint32_t host, uint32_t id, const struct pli_answer *answer);
    bool (*collect_status)(const struct pli_job *job, const struct pli_ask_look *look, void *token,
                           struct pli_answer *a);
    bool (*migrate)(struct pli_job *job, const char *body, size_t len, void *token,
                    struct pli_answer *a);

    // Processes that are started later. Where a bool is returned: true, the answer is there; false,
    // it comes later, by pli_rank_request_answer(token).
    bool (*spawn)(struct pli_job *job, const char *body, size_t len, void *token,
                  struct pli_answer *a);
    void (*spawn_ranks)(struct pli_job *job, uint32_t n, uint32_t rank, uint32_t version,
                        const char *hosts, struct pli_answer *a);
    // One rank for a dead one.
    void (*spawn_successor)(struct pli_job *job, uint32_t rank, uint32_t dead, uint32_t version,
                            struct pli_answer *a);
    void (*spawn_drop)(struct pli_job *job, uint32_t first, uint32_t n); // kill these
    void (*spawn_undo)(struct pli_job *job, uint32_t first, uint32_t n); // and those not there yet
    bool (*spawn_clones)(struct pli_job *job, const struct pli_role_clones *c, void *token,
                         struct pli_answer *a);
    bool (*add_clone)(struct pli_proc_task *from, uint32_t row, pid_t pid, const int fds[4]);
    void (*rank_ready)(struct pli_job *job, uint32_t row); // a new rank waits in MPI_Init
    enum pli_host_join (*join_hosts)(struct pli_job *job, const char *list, uint32_t n_own,
                                     pli_host_join_fn done, void *arg, struct pli_answer *a);
    void (*announce_world)(const struct pli_world_version *w); // it is about to count
    bool (*may_work)(const struct pli_job *job, const struct pli_node_row *r); // in the world

    // The agent of an IMPI client.
    bool (*open_agent_stderr)(int err[2]);            // read end -1: it has ours
    void (*agent_said)(const char *text, size_t len); // there
    void (*agent_up)(struct pli_job *job);
    void (*agent_message)(char word, const void *data, size_t len);
    void (*agent_over)(void);
    bool (*end_agents)(struct pli_job *job); // all ranks have ended; true: the agents too
};

extern const struct pli_role pli_role_solo, pli_role_head, pli_role_daemon;

#endif
