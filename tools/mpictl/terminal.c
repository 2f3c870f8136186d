// SPDX-License-Identifier: BSD-3-Clause
// Plain escape sequences of ECMA-48, which every terminal and ssh passes on.
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static struct termios was;
static volatile sig_atomic_t is_ending, is_stopping;

static void put(const char *text)
{
    ssize_t n = write(STDOUT_FILENO, text, strlen(text));
    (void)n; // the terminal is gone
}

static void take(void)
{
    struct termios raw = was;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    put("\033[?1049h\033[?25l\033[2J");
}

static void give_back(void)
{
    tcsetattr(STDIN_FILENO, TCSADRAIN, &was);
    put("\033[0m\033[?25h\033[?1049l"); // last: who sees it finds the terminal as it was
}

static void note(int sig)
{
    if (sig == SIGTSTP) {
        is_stopping = 1;
    } else if (sig != SIGWINCH) {
        is_ending = 1;
    }
}

static void handle(int sig, void (*fn)(int))
{
    struct sigaction a = { .sa_handler = fn };
    sigemptyset(&a.sa_mask);
    sigaction(sig, &a, NULL);
}

int pli_terminal_run(int (*fn)(void *arg), void *arg)
{
    static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    pid_t parent = getpid();
    tcgetattr(STDIN_FILENO, &was);
    handle(SIGTTOU, SIG_IGN);
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
            handle(ends[i], note);
        }
        handle(SIGWINCH, note);
        handle(SIGTSTP, note);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) {
            _exit(1);
        }
        take();
        int status = fn(arg);
        give_back();
        _exit(status);
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        handle(ends[i], SIG_IGN); // the child gets them too, or they are for it
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (pid < 0 || !WIFEXITED(status)) {
        give_back();
        return 1;
    }
    return WEXITSTATUS(status);
}

static void stop(void)
{
    is_stopping = 0;
    give_back();
    raise(SIGSTOP);
    take();
}

// The rest of an escape sequence.
static int read_escape(void)
{
    char c[2] = { 0, 0 };
    struct pollfd p = { STDIN_FILENO, POLLIN, 0 };
    for (int i = 0; i < 2; i++) {
        if (poll(&p, 1, 20) <= 0 || read(STDIN_FILENO, &c[i], 1) != 1) {
            return PLI_KEY_NONE;
        }
    }
    return c[0] != '[' && c[0] != 'O' ? PLI_KEY_NONE
           : c[1] == 'A'              ? PLI_KEY_UP
           : c[1] == 'B'              ? PLI_KEY_DOWN
                                      : PLI_KEY_NONE;
}

int pli_terminal_key(int wait_ms)
{
    struct pollfd p = { STDIN_FILENO, POLLIN, 0 };
    int n = is_ending ? 0 : poll(&p, 1, wait_ms);
    if (is_stopping) {
        stop();
    }
    if (is_ending || (n > 0 && (p.revents & POLLIN) == 0)) {
        return PLI_KEY_END;
    }
    if (n <= 0) {
        return PLI_KEY_NONE;
    }
    unsigned char c;
    ssize_t got = read(STDIN_FILENO, &c, 1);
    if (got <= 0) {
        return got < 0 && errno == EINTR ? PLI_KEY_NONE : PLI_KEY_END;
    }
    return c == 27 ? read_escape() : c;
}

void pli_terminal_size(int *columns, int *lines)
{
    struct winsize w = { 0 };
    bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 && w.ws_row > 0;
    *columns = is_known ? w.ws_col : 80;
    *lines = is_known ? w.ws_row : 24;
}
