// SPDX-License-Identifier: BSD-3-Clause
// The table by which the folders below call checkpoints, restarts and moves.
#include "launcher/ckpt/ckpt_hook_table.h"

#include "launcher/job/ckpt_hooks.h"

#include "launcher/ckpt/auto_restart.h"
#include "launcher/ckpt/ckpt.h"
#include "launcher/ckpt/ckpt_daemon.h"
#include "launcher/ckpt/ckpt_head.h"
#include "launcher/ckpt/ckpt_hosts.h"
#include "launcher/ckpt/ckpt_lock.h"
#include "launcher/ckpt/ckpt_open.h"
#include "launcher/ckpt/ckpt_phase.h"
#include "launcher/ckpt/ckpt_ranks.h"
#include "launcher/ckpt/fork_migrate.h"
#include "launcher/ckpt/migrate_daemon.h"
#include "launcher/ckpt/migrate_ranks.h"
#include "launcher/ckpt/restart.h"
#include "launcher/ckpt/restart_run.h"

const struct pli_ckpt_hooks pli_ckpt_hook_table = {
    .check_options = pli_restart_check,
    .read_auto_restart = pli_auto_restart_read,
    .is_image = pli_restart_is_image,
    .lock_dir = pli_ckpt_lock_take,
    .begin = pli_ckpt_begin,
    .is_stopping = pli_ckpt_is_stopping,
    .cancel = pli_ckpt_cancel,
    .end = pli_ckpt_end,
    .restart = pli_auto_restart_run,
    .frozen = pli_ckpt_frozen,
    .copied = pli_ckpt_copied,
    .drained = pli_ckpt_drained,
    .save = pli_ckpt_save,
    .hung_up = pli_ckpt_hung_up,
    .gone = pli_ckpt_gone,
    .failed = pli_auto_restart_note,
    .clone_departs = pli_fork_migrate_depart,
    .hosts_begin = pli_ckpt_hosts_begin,
    .host_lost = pli_ckpt_head_lose,
    .hosts_lost = pli_ckpt_head_go_on,
    .job_lost = pli_auto_restart_lost,
    .hear_daemon = pli_ckpt_head_hear,
    .mark_dir = pli_ckpt_hosts_mark_dir,
    .unmark_dir = pli_ckpt_hosts_unmark,
    .daemon_came = pli_migrate_ranks_came,
    .is_moving = pli_migrate_ranks_is_on,
    .end_moves = pli_migrate_ranks_end,
    .check_dir = pli_ckpt_hosts_check,
    .read_restart = pli_restart_take,
    .map_restart = pli_restart_node,
    .open_daemon = pli_ckpt_open_daemon,
    .run_restart = pli_restart_run,
    .await_move = pli_migrate_daemon_ready,
    .hear_save = pli_ckpt_hosts_hear,
    .hear_step = pli_ckpt_daemon_hear,
    .hear_clone = pli_fork_migrate_hear,
    .expect_outgoing = pli_fork_migrate_expect_outgoing,
    .expect_incoming = pli_fork_migrate_expect_incoming,
    .drop_clones = pli_fork_migrate_drop,
    .commit_clones = pli_fork_migrate_commit,
};
