// SPDX-License-Identifier: BSD-3-Clause
// Checks by owner and mode whether other users can change a checkpoint.
#include "launcher/ckpt/restart_trust.h"

#include "launcher/base/launcher.h"
#include "launcher/ckpt/ckpt_state.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/base/say.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSTEAD "a checkpoint says which commands are run, so no other user may change it"

static bool is_safe(const char *path, char *why)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        snprintf(why, PLI_CKPT_WHY, "%.250s cannot be looked at: %s", path, strerror(errno));
        return false;
    }
    if (st.st_uid != geteuid() && st.st_uid != 0) {
        const struct passwd *who = getpwuid(st.st_uid);
        snprintf(why, PLI_CKPT_WHY,
                 "%.200s belongs to user %u%s%.60s%s; " INSTEAD
                 " (chown it, or copy it to a folder "
                 "of your own)",
                 path, (unsigned)st.st_uid, who != NULL ? " (" : "",
                 who != NULL ? who->pw_name : "", who != NULL ? ")" : "");
        return false;
    }
    bool is_guarded = S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0; // only what is theirs
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_guarded) {
        snprintf(why, PLI_CKPT_WHY,
                 "%.200s may be written by other users (mode %o); " INSTEAD
                 " (chmod go-w it, if no other user has)",
                 path, (unsigned)st.st_mode & 07777);
        return false;
    }
    return true;
}

bool pli_restart_trust(const char *checkpoint, char *why)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s", checkpoint);
    char *slash = strrchr(path, '/');
    if (slash != NULL && slash > path) {
        *slash = '\0';
        if (!is_safe(path, why)) {
            return false;
        }
    }
    snprintf(path, sizeof path, "%s/%s", checkpoint, PLI_MANIFEST);
    return is_safe(checkpoint, why) && is_safe(path, why);
}

void pli_restart_trust_warn(const char *folder, uint32_t number)
{
    char path[PATH_MAX + 32], why[PLI_CKPT_WHY];
    snprintf(path, sizeof path, "%s/%u", folder, number);
    if (!pli_launcher.ckpt->is_trust_said &&
        !(number == 0 ? is_safe(folder, why) : pli_restart_trust(path, why))) {
        pli_launcher.ckpt->is_trust_said = true;
        pli_say("mpiexec --restart will refuse these checkpoints: %s", why);
    }
}
