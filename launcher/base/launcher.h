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

struct pli_launcher {
    const struct pli_role *role;             // what this process is: see job/role.h
    const struct pli_ckpt_hooks *ckpt_hooks; // what checkpoints do: see job/ckpt_hooks.h
    const struct pli_request_op *requests;   // what ranks may ask for: see ranks/rank_request.h
    struct pli_job *job;
    struct pli_head *head;       // hosts/head.h
    struct pli_daemon *daemon;   // hosts/daemon.h
    struct pli_ckpt_state *ckpt; // ckpt/ckpt_state.h
};

extern struct pli_launcher pli_launcher;

#endif
