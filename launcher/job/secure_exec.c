// SPDX-License-Identifier: BSD-3-Clause
// The kernel's rule: a program is secure when its user or group becomes another one, or when a user
// other than root gains capabilities from its file.
#include "launcher/job/secure_exec.h"

#include <endian.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

// Capabilities that are inherited are not looked at: users' processes have none to pass on.
static bool has_capabilities(const char *path)
{
    struct vfs_ns_cap_data caps = { 0 };
    ssize_t len = getxattr(path, "security.capability", &caps, sizeof caps);
    if (len < (ssize_t)XATTR_CAPS_SZ_1) {
        return false;
    }
    bool has_high = len >= (ssize_t)XATTR_CAPS_SZ_2;
    return (le32toh(caps.magic_etc) & VFS_CAP_FLAGS_EFFECTIVE) != 0 ||
           caps.data[0].permitted != 0 || (has_high && caps.data[1].permitted != 0);
}

const char *pli_secure_exec_reason(const char *path)
{
    struct stat st;
    struct statvfs fs;
    if (stat(path, &st) != 0 || (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID) != 0)) {
        return NULL;
    }
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
        if ((st.st_mode & S_ISUID) != 0 && st.st_uid != getuid()) {
            return "is setuid";
        }
        if ((st.st_mode & S_ISGID) != 0 && (st.st_mode & S_IXGRP) != 0 && st.st_gid != getgid()) {
            return "is setgid";
        }
    }
    return getuid() != 0 && has_capabilities(path) ? "has capabilities" : NULL;
}
