// SPDX-License-Identifier: BSD-3-Clause
// A filter for system calls, as a container or the program itself may install one.
#ifndef PLI_TESTS_T_FILTER_H
#define PLI_TESTS_T_FILTER_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

// From now on the calling thread and those it makes are refused these system calls. False: this
// system has no such filters.
static inline bool t_filter(const long calls[], int n)
{
    struct sock_filter code[8] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                            offsetof(struct seccomp_data, nr)) };
    const struct sock_filter end[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM) };
    for (int i = 0; i < n; i++) { // to the second of the ends
        code[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i],
                                                   (unsigned char)(n - i), 0);
    }
    code[1 + n] = end[0];
    code[2 + n] = end[1];
    struct sock_fprog program = { .len = (unsigned short)(n + 3), .filter = code };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static inline bool t_filter_membarrier(void)
{
    return t_filter((const long[]){ SYS_membarrier }, 1);
}

#endif
