// SPDX-License-Identifier: BSD-3-Clause
// What files of job, ranks and hosts tell or ask those of ckpt, which are above them. ckpt fills
// the one table (ckpt/ckpt_hook_table.c), main.c puts it into pli_launcher.
#ifndef PLI_LAUNCHER_CKPT_HOOKS_H
#define PLI_LAUNCHER_CKPT_HOOKS_H

#include "launcher/base/launcher.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pli_answer;
struct pli_auto_restart;
struct pli_rank_failure;
struct pli_ctl_msg;
struct pli_daemon_handshake_keys;
struct pli_dframe;
struct pli_job;
struct pli_proc_task;
struct pli_unpack;

struct pli_ckpt_hooks {
    // The command line. Both end with a message when it makes no sense.
    void (*check_options)(const struct pli_job *job);
    void (*read_auto_restart)(struct pli_auto_restart *a, const char *text);

    // The life of the job.
    bool (*is_image)(const struct pli_job *job);       // it goes on from images of its processes
    int (*lock_dir)(const char *dir);                  // a descriptor, -1: it cannot be locked
    void (*begin)(void);                               // the ranks are being started
    bool (*is_stopping)(void);                         // ranks stand still, or are about to
    void (*cancel)(void);                              // the ranks are told to end
    void (*end)(void);                                 // the job is over
    void (*restart)(struct pli_job *job, bool is_bad); // if it is to be, after that

    // What ranks say, and what becomes of them.
    void (*frozen)(struct pli_proc_task *t, const struct pli_ctl_msg *msg, int fd);
    // its copy says so: its process number here, as which it knows itself, its resume pipe, and a
    // file in which it says what it has
    void (*copied)(struct pli_proc_task *t, pid_t pid, int number, int fd, int said);
    void (*drained)(struct pli_proc_task *t);
    void (*save)(void);                       // a rank wants a checkpoint
    void (*hung_up)(struct pli_proc_task *t); // its control socket is closed
    void (*gone)(struct pli_proc_task *t);    // its process has ended
    void (*failed)(const struct pli_rank_failure *c, bool is_end);
    void (*clone_departs)(struct pli_proc_task *parent, uint32_t row, pid_t pid, int number,
                          const int fds[4]);

    // In a head: about its hosts.
    void (*hosts_begin)(struct pli_job *job); // all daemons are there, or more than there were
    void (*host_lost)(struct pli_job *job, uint32_t host, bool has_ranks);
    void (*hosts_lost)(struct pli_job *job); // all have been named that were lost
    void (*job_lost)(void);                  // and the job ends for it
    void (*hear_daemon)(struct pli_job *job, uint32_t host, const struct pli_dframe *f);
    bool (*mark_dir)(struct pli_job *job); // by which daemons know the directory of checkpoints
    void (*unmark_dir)(void);
    bool (*daemon_came)(int fd, uint32_t host, const struct pli_daemon_handshake_keys *keys);
    bool (*is_moving)(void); // ranks are being moved to another host
    void (*end_moves)(void);

    // In a daemon.
    void (*check_dir)(const struct pli_job *job, uint64_t job_id);
    void (*read_restart)(struct pli_job *job);
    bool (*map_restart)(struct pli_job *job); // the node memory as it was
    bool (*open_daemon)(struct pli_job *job);
    bool (*run_restart)(struct pli_job *job, int signals);
    void (*await_move)(void); // ranks of another host will come here
    void (*hear_save)(struct pli_job *job, struct pli_unpack *from);
    void (*hear_step)(struct pli_job *job, const struct pli_dframe *f);
    void (*hear_clone)(struct pli_job *job, const struct pli_dframe *f);
    void (*expect_outgoing)(struct pli_job *job, uint32_t index, struct pli_answer *a);
    void (*expect_incoming)(struct pli_job *job, uint32_t index, struct pli_answer *a);
    void (*drop_clones)(uint32_t first, uint32_t n);
    void (*commit_clones)(void);
};

#endif
