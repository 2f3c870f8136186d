// SPDX-License-Identifier: BSD-3-Clause
// A process of the nest is found by its number there, whoever of ours has that number outside.
#include "launcher/base/launcher.h"
#include "launcher/base/pidns.h"
#include "t.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// A child that waits to be killed, with this number if it is not 0.
static pid_t sleeper(pid_t number)
{
    struct clone_args a = { .exit_signal = SIGCHLD,
                            .set_tid = number != 0 ? (uint64_t)(uintptr_t)&number : 0,
                            .set_tid_size = number != 0 };
    pid_t pid = (pid_t)syscall(SYS_clone3, &a, sizeof a);
    while (pid == 0) {
        pause();
    }
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    T_EQ(waitpid(pid, NULL, 0), pid);
}

enum { LAST = 20000 };

int main(void)
{
    static struct pli_pidns_state state;
    pli_launcher.pidns = &state;
    pli_pidns_init();
    pid_t outside = sleeper(0);
    T_MUST(outside > 0);
    if (!pli_pidns_open(LAST)) {
        printf("skipped: a pid namespace cannot be had here: %s\n", strerror(errno));
        end(outside);
        return 0;
    }
    T_EQ(pli_pidns_find(outside), 0);
    pid_t next = sleeper(0);
    T_EQ(pli_pidns_find(LAST + 1), next); // low numbers are free for those who had them
    end(next);
    pid_t inside = sleeper(outside);
    T_MUST(inside > 0 && inside != outside);
    T_EQ(pli_pidns_find(outside), inside);
    kill(inside, SIGKILL);
    siginfo_t info;
    T_EQ(waitid(P_PID, (id_t)inside, &info, WEXITED | WNOWAIT), 0);
    T_EQ(pli_pidns_find(outside), inside); // a restored rank that has ended and is not waited for
    T_EQ(waitpid(inside, NULL, 0), inside);
    T_EQ(pli_pidns_find(outside), 0);
    pli_pidns_close();
    end(outside);
    return t_failed != 0;
}
