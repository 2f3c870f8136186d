// SPDX-License-Identifier: BSD-3-Clause
// Files that a user names for output.
#ifndef PLI_LAUNCHER_USER_FILE_H
#define PLI_LAUNCHER_USER_FILE_H

// As open(2) with O_CREAT and mode 0666, but the path may not be a symbolic link that another user
// (who is not root) has made: it could lead to a file of this user. -1: errno is ELOOP then.
int pli_user_file_open(const char *path, int flags);

// Why it could not be opened, in words, from errno.
const char *pli_user_file_why(void);

#endif
