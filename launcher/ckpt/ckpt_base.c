// SPDX-License-Identifier: BSD-3-Clause
// Bases of incremental checkpoints. D/8/parent is a link to ../7; below it everything has the same
// name as in D/8, so images find those they are based on by relative links, also after the whole
// folder was copied or moved.
#include "launcher/ckpt/ckpt_base.h"

#include "launcher/ckpt/ckpt_commit.h"
#include "launcher/ckpt/manifest.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

bool pli_ckpt_base_link(struct pli_ckpt_plan *plan)
{
    char path[PATH_MAX + 32], to[32];
    snprintf(path, sizeof path, "%s/%u/%s", plan->dir, plan->last, PLI_MANIFEST);
    bool is_good = plan->last > 0 && plan->last_depth < plan->increments && access(path, R_OK) == 0;
    plan->base = is_good ? plan->last : 0;
    plan->depth = is_good ? plan->last_depth + 1 : 0;
    plan->pages = plan->increments == 0 ? PLI_CKPT_PAGES_PLAIN
                  : plan->base == 0     ? PLI_CKPT_PAGES_FULL
                                        : PLI_CKPT_PAGES_CHANGED;
    snprintf(plan->parent, sizeof plan->parent, "%s", plan->base > 0 ? "parent" : "");
    snprintf(path, sizeof path, "%s/parent", plan->temp);
    snprintf(to, sizeof to, "../%u", plan->base);
    return plan->base == 0 || symlink(to, path) == 0;
}
