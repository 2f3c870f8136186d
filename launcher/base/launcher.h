// SPDX-License-Identifier: BSD-3-Clause
// The state of this launcher process, in one place. Every part is a struct that the header of its
// owner declares; here they are only named, so that a file sees no more than its own. main.c makes
// them before anything else runs.
#ifndef PLI_LAUNCHER_LAUNCHER_H
#define PLI_LAUNCHER_LAUNCHER_H

struct pli_ckpt_hooks;
struct pli_ckpt_state;
struct pli_daemon;
struct pli_head;
struct pli_job;
struct pli_request_op;
struct pli_role;
struct pli_accept_state;
struct pli_agreement_state;
struct pli_binding_state;
struct pli_control_state;
struct pli_daemon_auth_state;
struct pli_deadlock_state;
struct pli_environment_state;
struct pli_host_join_state;
struct pli_join_call_state;
struct pli_image_transfer_state;
struct pli_impi_agent_state;
struct pli_impi_agents_state;
struct pli_io_forward_state;
struct pli_gdb_hosts_state;
struct pli_gdb_ranks_state;
struct pli_launch_state;
struct pli_leave_state;
struct pli_listener_state;
struct pli_loop_state;
struct pli_members_state;
struct pli_on_failure_state;
struct pli_output_state;
struct pli_output_lines_state;
struct pli_pidns_state;
struct pli_preempt_state;
struct pli_programs_state;
struct pli_rank_request_state;
struct pli_rank_rows_state;
struct pli_resize_state;
struct pli_resize_notify_state;
struct pli_say_state;
struct pli_singleton_state;
struct pli_spawn_daemon_state;
struct pli_spawn_head_state;
struct pli_ssh_state;
struct pli_metrics_state;
struct pli_stack_collect_state;
struct pli_status_collect_state;
struct pli_stdin_state;
struct pli_supervisor_state;
struct pli_tmpdir_state;
struct pli_observe_state;
struct pli_trace_memory_state;
struct pli_watchdog_state;

struct pli_launcher {
    const struct pli_role *role;             // what this process is: see job/role.h
    const struct pli_ckpt_hooks *ckpt_hooks; // what checkpoints do: see job/ckpt_hooks.h
    const struct pli_request_op *requests;   // what ranks may ask for: see ranks/rank_request.h
    struct pli_job *job;
    struct pli_head *head;     // hosts/head.h
    struct pli_daemon *daemon; // hosts/daemon.h

    // base/
    struct pli_accept_state *accept;
    struct pli_loop_state *loop;
    struct pli_output_state *output;
    struct pli_output_lines_state *output_lines;
    struct pli_pidns_state *pidns;
    struct pli_say_state *say;
    struct pli_tmpdir_state *tmpdir;

    // job/
    struct pli_binding_state *binding;
    struct pli_environment_state *environment;
    struct pli_members_state *members;
    struct pli_programs_state *programs;
    struct pli_rank_rows_state *rank_rows;

    // observe/
    struct pli_observe_state *observe;
    struct pli_trace_memory_state *trace_memory;

    // ranks/
    struct pli_agreement_state *agreement;
    struct pli_control_state *control;
    struct pli_deadlock_state *deadlock;
    struct pli_impi_agent_state *impi_agent;
    struct pli_world_server_state *world_server;
    struct pli_launch_state *launch;
    struct pli_gdb_ranks_state *gdb_ranks;
    struct pli_gdb_hosts_state *gdb_hosts;
    struct pli_leave_state *leave;
    struct pli_listener_state *listener;
    struct pli_on_failure_state *on_failure;
    struct pli_preempt_state *preempt;
    struct pli_rank_request_state *rank_request;
    struct pli_resize_state *resize;
    struct pli_resize_notify_state *resize_notify;
    struct pli_singleton_state *singleton;
    struct pli_stdin_state *stdin;
    struct pli_supervisor_state *supervisor;
    struct pli_watchdog_state *watchdog;

    // hosts/
    struct pli_daemon_auth_state *daemon_auth;
    struct pli_host_join_state *host_join;
    struct pli_join_call_state *join_call;
    struct pli_image_transfer_state *image_transfer;
    struct pli_impi_agents_state *impi_agents;
    struct pli_io_forward_state *io_forward;
    struct pli_spawn_daemon_state *spawn_daemon;
    struct pli_spawn_head_state *spawn_head;
    struct pli_ssh_state *ssh;
    struct pli_metrics_state *metrics;
    struct pli_stack_collect_state *stack_collect;
    struct pli_status_collect_state *status_collect;

    struct pli_ckpt_state *ckpt; // all of ckpt/: see ckpt/ckpt_state.h
};

extern struct pli_launcher pli_launcher;

#endif
