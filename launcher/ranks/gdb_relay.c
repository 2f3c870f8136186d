// SPDX-License-Identifier: BSD-3-Clause
// A process of its own, so that a user who types has mpiexec's whole attention, and the terminal is
// put right again whatever happens to mpiexec. Where several debuggers share one terminal, Ctrl-]
// goes to the next one.
#include "launcher/ranks/gdb_relay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { NEXT_KEY = 0x1d, CHUNK = 4096, MAX_KEPT = 1 << 18, LOOK_MS = 500 };

static struct {
    struct termios before;
    int terminal; // -1: each has a pane
    volatile sig_atomic_t is_asked;
} state = { .terminal = -1 };

static void restore(void)
{
    if (state.terminal >= 0) {
        tcsetattr(state.terminal, TCSADRAIN, &state.before);
    }
}

static void on_signal(int sig)
{
    (void)sig;
    state.is_asked = 1;
}

static void put_all(int fd, const char *from, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, from, n);
        if (done < 0 && errno != EINTR) {
            return;
        }
        from += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
}

// Keys go through as they are; what is shown still gets its line ends.
static void set_raw(int fd)
{
    struct termios t;
    if (tcgetattr(fd, &t) != 0) {
        return;
    }
    cfmakeraw(&t);
    t.c_oflag |= OPOST | ONLCR;
    tcsetattr(fd, TCSADRAIN, &t);
}

static void copy_size(const struct pli_gdb_link *l)
{
    struct winsize now, has;
    if (ioctl(l->outer, TIOCGWINSZ, &now) == 0 && ioctl(l->inner, TIOCGWINSZ, &has) == 0 &&
        (now.ws_col != has.ws_col || now.ws_row != has.ws_row)) {
        ioctl(l->inner, TIOCSWINSZ, &now);
    }
}

static void show(struct pli_gdb_link *l, uint32_t n)
{
    char text[160];
    int len = snprintf(text, sizeof text, "\n[gdb of rank %u%s]\n", l->rank,
                       n > 1 ? "; Ctrl-] goes to that of the next rank" : "");
    put_all(l->outer, text, (size_t)len);
    put_all(l->outer, l->kept, l->n_kept);
    l->n_kept = 0;
    copy_size(l);
}

static void close_pane(struct pli_gdb_link *l)
{
    if (l->pane[0] == '\0') {
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        execlp("tmux", "tmux", "kill-pane", "-t", l->pane, (char *)NULL);
        _exit(127);
    }
    if (pid > 0) {
        waitpid(pid, NULL, 0);
    }
    l->pane[0] = '\0';
}

static void end_link(struct pli_gdb_link *l)
{
    close(l->inner);
    l->inner = -1;
    close_pane(l);
}

static uint32_t next_of(const struct pli_gdb_link *links, uint32_t n, uint32_t now)
{
    for (uint32_t i = 1; i <= n; i++) {
        if (links[(now + i) % n].inner >= 0) {
            return (now + i) % n;
        }
    }
    return n;
}

// What the debugger shows, now or when it has the terminal again. False: it has ended.
static bool pass_out(struct pli_gdb_link *l, bool is_shown)
{
    char text[CHUNK];
    ssize_t n = read(l->inner, text, sizeof text);
    if (n <= 0) {
        return n < 0 && errno == EINTR;
    }
    if (is_shown) {
        put_all(l->outer, text, (size_t)n);
    } else if (l->n_kept + (uint32_t)n <= MAX_KEPT) {
        memcpy(l->kept + l->n_kept, text, (size_t)n);
        l->n_kept += (uint32_t)n;
    }
    return true;
}

// What the user types. Returns whom it goes to from now on.
static uint32_t pass_in(struct pli_gdb_link *links, uint32_t n, uint32_t now)
{
    char text[CHUNK];
    struct pli_gdb_link *l = &links[now];
    ssize_t got = read(l->outer, text, sizeof text);
    if (got <= 0) {
        if (got == 0 || errno != EINTR) {
            end_link(l); // its pane, or the terminal, is gone
        }
        return now;
    }
    char *key = state.terminal >= 0 && n > 1 ? memchr(text, NEXT_KEY, (size_t)got) : NULL;
    put_all(l->inner, text, key != NULL ? (size_t)(key - text) : (size_t)got);
    if (key == NULL) {
        return now;
    }
    uint32_t to = next_of(links, n, now);
    show(&links[to], n);
    put_all(links[to].inner, key + 1, (size_t)(text + got - key - 1));
    return to;
}

// One round: wait, pass on. Returns who has the terminal, n: all have ended.
static uint32_t step(struct pli_gdb_link *links, uint32_t n, uint32_t now, struct pollfd *fds)
{
    bool is_shared = state.terminal >= 0;
    for (uint32_t i = 0; i < n; i++) {
        bool has_keys = links[i].inner >= 0 && (!is_shared || i == now);
        bool has_room = is_shared && i != now ? links[i].n_kept + CHUNK <= MAX_KEPT : true;
        fds[2 * i] = (struct pollfd){ has_room ? links[i].inner : -1, POLLIN, 0 };
        fds[2 * i + 1] = (struct pollfd){ has_keys ? links[i].outer : -1, POLLIN, 0 };
    }
    if (poll(fds, 2 * n, LOOK_MS) < 0) {
        return now;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (links[i].inner >= 0) {
            copy_size(&links[i]);
        }
        if (fds[2 * i].revents != 0 && links[i].inner >= 0 &&
            !pass_out(&links[i], !is_shared || i == now)) {
            end_link(&links[i]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (fds[2 * i + 1].revents != 0 && links[i].inner >= 0) {
            uint32_t to = pass_in(links, n, is_shared ? now : i);
            now = is_shared ? to : now;
        }
    }
    if (links[now].inner < 0) {
        uint32_t to = next_of(links, n, now);
        if (to < n && is_shared) {
            show(&links[to], n);
        }
        return to;
    }
    return now;
}

void pli_gdb_relay_run(struct pli_gdb_link *links, uint32_t n)
{
    struct sigaction act = { .sa_handler = on_signal };
    struct pollfd *fds = calloc(2 * (size_t)n, sizeof *fds);
    sigset_t none;
    sigemptyset(&none);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    sigprocmask(SIG_SETMASK, &none, NULL);
    bool is_shared = n == 0 || links[0].pane[0] == '\0';
    if (is_shared && n > 0 && tcgetattr(links[0].outer, &state.before) == 0) {
        state.terminal = links[0].outer;
    }
    for (uint32_t i = 0; i < n; i++) {
        links[i].kept = malloc(MAX_KEPT);
        if (i == 0 || !is_shared) {
            set_raw(links[i].outer);
        }
        if (links[i].kept == NULL || fds == NULL) {
            restore();
            _exit(1);
        }
    }
    uint32_t now = 0;
    if (is_shared && n > 0) {
        show(&links[0], n);
    }
    while (now < n && !state.is_asked) {
        now = step(links, n, now, fds);
    }
    for (uint32_t i = 0; i < n; i++) { // the last words
        while (links[i].inner >= 0 &&
               poll(&(struct pollfd){ links[i].inner, POLLIN, 0 }, 1, 0) > 0 &&
               pass_out(&links[i], true)) {
        }
        close_pane(&links[i]);
    }
    restore();
    _exit(0);
}
