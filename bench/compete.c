// SPDX-License-Identifier: BSD-3-Clause
// Competitors for the cores: so many processes that compute, until standard input is closed. They
// end with this process, and this process with the one that holds the other end of the pipe.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MOST = 1024 };

// As high as the job that is measured (bench.h, b_shield), so that both share the cores evenly
// and nothing else has a part in it. Without root neither is raised.
static void rise(void)
{
    int fd = open("/proc/self/autogroup", O_WRONLY);
    if (fd >= 0) {
        ssize_t n = write(fd, "-20", 3);
        (void)n;
        close(fd);
    }
}

static _Noreturn void compute(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1); // it ended before the line above
    }
    for (volatile unsigned long i = 0;; i++) {
    }
}

int main(int argc, char **argv)
{
    int n = argc == 2 ? atoi(argv[1]) : -1;
    if (n < 0 || n > MOST) {
        fprintf(stderr, "compete: the argument is a number of processes, 0 to %d\n", MOST);
        return 2;
    }
    pid_t me = getpid();
    rise();
    for (int i = 0; i < n; i++) {
        pid_t child = fork();
        if (child == 0) {
            compute(me);
        }
        if (child < 0) {
            perror("compete: fork");
            return 1; // those that were started end with us
        }
    }
    printf("ready\n");
    fflush(stdout);
    char c;
    while (read(0, &c, 1) > 0) {
    }
    return 0;
}
