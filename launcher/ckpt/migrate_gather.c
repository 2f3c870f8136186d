// SPDX-License-Identifier: BSD-3-Clause
// Lets the ranks that do not move go on as soon as all connections are empty, without those to the
// ranks that move. When these are where they go, or stay where they were, the others stop once
// more, for the moment in which the connections with them are made again.
#include "launcher/ckpt/migrate_gather.h"

#include "base/clock.h"
#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_head.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"

enum { AGAIN_MS = 20 }; // until another attempt, when a rank was not ready

static struct pli_ckpt_head *head(void)
{
    return &pli_launcher.ckpt->head;
}

static bool is_other(uint32_t host)
{
    return host != pli_launcher.ckpt->moved_host && !pli_launcher.ckpt->job->hosts[host].is_lost;
}

bool pli_migrate_gather_are(enum pli_ckpt_stage stage)
{
    for (uint32_t h = 0; h < head()->n_part; h++) {
        if (is_other(h) && head()->parts[h].stage < stage) {
            return false;
        }
    }
    return true;
}

static void say(enum pli_ckpt_step step)
{
    for (uint32_t h = 0; h < head()->n_part; h++) {
        if (is_other(h)) {
            pli_ckpt_head_say(h, step);
        }
    }
}

static void go(enum pli_ckpt_others to, enum pli_ckpt_step step)
{
    head()->others = to;
    for (uint32_t h = 0;
         h < head()->n_part && step != PLI_CKPT_STEP_DRAIN && step != PLI_CKPT_STEP_DUMP; h++) {
        if (h != pli_launcher.ckpt->moved_host) {
            head()->parts[h].stage = 0;
        }
    }
    say(step);
}

static void stop_again(void)
{
    head()->is_gather_bad = false;
    head()->others_from_ns = pli_clock_ns();
    go(PLI_CKPT_OTHERS_STOPPING, PLI_CKPT_STEP_STOP);
}

// They go on: now, or they are to stop again already.
static void went_on(void)
{
    if (head()->others_from_ns != 0) {
        head()->others_ns += pli_clock_ns() - head()->others_from_ns;
        head()->others_from_ns = 0;
    }
    if (head()->is_gathering && head()->is_gather_bad) {
        pli_loop_timer(&head()->gather, (uint64_t)AGAIN_MS * PLI_MS);
    } else if (head()->is_gathering) {
        stop_again();
    }
}

static void step(void)
{
    switch (head()->others) {
    case PLI_CKPT_OTHERS_GO_ON:
        if (pli_migrate_gather_are(PLI_CKPT_STAGE_RESUMED) && head()->gather.at == 0) {
            went_on();
        }
        break;
    case PLI_CKPT_OTHERS_STOPPING:
        if (pli_migrate_gather_are(PLI_CKPT_STAGE_STOPPED) && head()->is_gather_bad) {
            go(PLI_CKPT_OTHERS_GO_ON, PLI_CKPT_STEP_RESUME);
        } else if (pli_migrate_gather_are(PLI_CKPT_STAGE_STOPPED)) {
            go(PLI_CKPT_OTHERS_DRAINING, PLI_CKPT_STEP_DRAIN);
        }
        break;
    case PLI_CKPT_OTHERS_DRAINING:
        if (pli_migrate_gather_are(PLI_CKPT_STAGE_DRAINED)) {
            go(PLI_CKPT_OTHERS_LEAVING, PLI_CKPT_STEP_DUMP);
        }
        break;
    case PLI_CKPT_OTHERS_LEAVING:
        if (pli_migrate_gather_are(PLI_CKPT_STAGE_WRITTEN)) {
            head()->others = PLI_CKPT_OTHERS_STOPPED;
            head()->is_gathering = false;
            pli_loop_timer(&head()->gather, 0);
        }
        break;
    default:
        break;
    }
}

// Where no other host has ranks, steps follow each other without an answer.
static void advance(void)
{
    enum pli_ckpt_others before;
    do {
        before = head()->others;
        step();
    } while (head()->others != before);
}

static void fire(struct pli_timer *t)
{
    (void)t;
    if (!pli_launcher.ckpt->is_move) {
        return;
    }
    if (head()->others == PLI_CKPT_OTHERS_STOPPED) {
        pli_ckpt_head_gathered();
    } else if (head()->others == PLI_CKPT_OTHERS_GO_ON && head()->is_gathering) {
        stop_again();
        advance();
    }
}

void pli_migrate_gather_begin(void)
{
    head()->others = PLI_CKPT_OTHERS_STOPPED;
    head()->is_gathering = head()->is_gather_bad = false;
    head()->gather.at = 0;
    head()->gather.fire = fire;
    head()->others_ns = 0;
    head()->others_from_ns = pli_clock_ns();
}

void pli_migrate_gather_part(void)
{
    go(PLI_CKPT_OTHERS_GO_ON, PLI_CKPT_STEP_RESUME);
    advance();
}

bool pli_migrate_gather_is_done(void)
{
    return head()->others == PLI_CKPT_OTHERS_STOPPED;
}

void pli_migrate_gather_want(void)
{
    if (!head()->is_gathering) {
        head()->is_gathering = true;
        advance();
    }
}

bool pli_migrate_gather_hear(uint32_t host, enum pli_ckpt_stage stage, bool is_bad)
{
    if (head()->others == PLI_CKPT_OTHERS_STOPPED || host == pli_launcher.ckpt->moved_host) {
        return false;
    }
    head()->parts[host].stage = stage;
    // What happens later ends the job, not the move.
    head()->is_gather_bad = head()->is_gather_bad || (is_bad && stage == PLI_CKPT_STAGE_STOPPED);
    advance();
    return true;
}

uint64_t pli_migrate_gather_ns(void)
{
    uint64_t from = head()->others_from_ns;
    return head()->others_ns + (from != 0 ? pli_clock_ns() - from : 0);
}
