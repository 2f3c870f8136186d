// SPDX-License-Identifier: BSD-3-Clause
// What glibc has from 2.32 on, for programs that are built with an earlier one.
#ifndef PLI_BASE_GLIBC_H
#define PLI_BASE_GLIBC_H

#include <features.h>
#include <string.h>
#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 32)
#include <sys/single_threaded.h>
#define PLI_GLIBC_HAS_NAMES 1
#endif
#endif

#ifndef PLI_GLIBC_HAS_NAMES
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

static const bool __libc_single_threaded; // not known: there may be others

static inline const char *sigabbrev_np(int sig)
{
    static const char *const names[] = {
        [SIGHUP] = "HUP",   [SIGINT] = "INT",   [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
        [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT", [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
        [SIGKILL] = "KILL", [SIGUSR1] = "USR1", [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
        [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM", [SIGTERM] = "TERM", [SIGCHLD] = "CHLD",
        [SIGCONT] = "CONT", [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP", [SIGTTIN] = "TTIN",
        [SIGTTOU] = "TTOU", [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ", [SIGSYS] = "SYS",
    };
    return sig > 0 && (size_t)sig < sizeof names / sizeof *names ? names[sig] : NULL;
}

static inline const char *strerrordesc_np(int error)
{
    return strerror(error);
}
#endif

#endif
