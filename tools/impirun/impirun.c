// SPDX-License-Identifier: BSD-3-Clause
// impirun: starts the server of an IMPI job, one client of it, or, for a first try, all of a job on
// this machine.
#include "impirun.h"

#include "base/text_file.h"
#include "impirun_options.h"
#include "impirun_part.h"
#include "wire/impi_token.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PART = 32, USAGE = 2, NO_NUMBER = -2 };

static volatile sig_atomic_t caught; // the signal that ends the job

void pli_impirun_bad(const char *fmt, ...)
{
    va_list args;
    fprintf(stderr, "impirun: ");
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(USAGE);
}

// The words after argv[0] are options of the server.
static _Noreturn void be_server(char **argv)
{
    argv[0] = (char *)pli_impirun_part_tool("impi-server");
    execvp(argv[0], argv);
    pli_impirun_bad("cannot run %s: %s", argv[0], strerror(errno));
}

// The words are the number of the client, the address of the server and a part.
static _Noreturn void be_client(char **word)
{
    char *end;
    if (word[0] == NULL || word[1] == NULL || word[2] == NULL) {
        pli_impirun_bad("-client needs a number, HOST:PORT and a command: impirun -client 1 "
                        "node7:4711 -n 4 ./a.out");
    }
    long k = strtol(word[0], &end, 10);
    if (*word[0] == '\0' || *end != '\0' || k < 0 || k >= MAX_PART) {
        pli_impirun_bad("-client needs a number from 0 to %d, not '%s'", MAX_PART - 1, word[0]);
    }
    setenv("IMPI_SERVER", word[1], 1);
    setenv("IMPI_CLIENT", word[0], 1);
    pli_impirun_part_exec(word + 2);
}

static void on_signal(int sig)
{
    caught = sig;
}

// Start a child that ends when impirun ends, with its standard output on `out` unless that is -1.
static pid_t start(char **part, int client, int out)
{
    char number[16];
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        pli_impirun_bad("cannot start a process: %s", strerror(errno));
    }
    if (pid > 0) {
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || (out >= 0 && dup2(out, 1) < 0)) {
        _exit(1);
    }
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    if (client == NO_NUMBER) {
        pli_impirun_part_exec(part);
    }
    if (client < 0) {
        execvp(part[0], part);
        pli_impirun_bad("cannot run %s: %s", part[0], strerror(errno));
    }
    snprintf(number, sizeof number, "%d", client);
    setenv("IMPI_CLIENT", number, 1);
    pli_impirun_part_exec(part);
}

// Start the server and read the address that it prints.
static pid_t start_server(int n, char *address, size_t cap)
{
    char count[16];
    int fds[2];
    snprintf(count, sizeof count, "%d", n);
    char *argv[] = {
        (char *)pli_impirun_part_tool("impi-server"), "-server", count, "-bind", "127.0.0.1", NULL
    };
    if (pipe(fds) != 0) {
        pli_impirun_bad("cannot make a pipe: %s", strerror(errno));
    }
    pid_t pid = start(argv, -1, fds[1]);
    close(fds[1]);
    FILE *from = fdopen(fds[0], "r");
    if (from == NULL || fgets(address, (int)cap, from) == NULL) {
        pli_impirun_bad("the server did not start");
    }
    address[strcspn(address, "\n")] = '\0';
    fclose(from); // the server prints nothing else
    return pid;
}

// Set a random key, unless the environment chooses how clients are authenticated.
static void choose_key(void)
{
    uint64_t key = 0;
    char text[32];
    if (getenv("IMPI_AUTH_KEY") != NULL || getenv("IMPI_AUTH_NONE") != NULL) {
        return;
    }
    while (key == 0) {
        if (getrandom(&key, sizeof key, 0) != (ssize_t)sizeof key) {
            pli_impirun_bad("no random numbers: %s", strerror(errno));
        }
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)key);
    setenv("IMPI_AUTH_KEY", text, 1);
}

static int status_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Wait for all processes; the first that fails ends the others. The last one is the server, which
// fails when a client does, or makes all clients fail.
static int wait_for_all(pid_t *pids, int n)
{
    int result = 0, server = 0, left = n;
    bool is_ending = false;
    while (left > 0) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);
        for (int i = 0; pid > 0 && i < n; i++) {
            if (pids[i] == pid) {
                pids[i] = 0;
                left--;
                int *to = i == n - 1 ? &server : &result;
                *to = *to != 0 ? *to : status_of(status);
            }
        }
        if ((result != 0 || caught != 0) && !is_ending) {
            is_ending = true;
            for (int i = 0; i < n; i++) {
                if (pids[i] > 0) {
                    kill(pids[i], caught != 0 ? caught : SIGTERM);
                }
            }
        }
    }
    return caught != 0 ? 128 + caught : result != 0 ? result : server;
}

static int be_all(char **argv)
{
    char **parts[MAX_PART], address[128];
    pid_t pids[MAX_PART + 1];
    int n = 0;
    for (char **at = argv; *at != NULL; n++) {
        if (n == MAX_PART) {
            pli_impirun_bad("a job has %d clients at most", MAX_PART);
        }
        parts[n] = at;
        while (*at != NULL && strcmp(*at, ":") != 0) {
            at++;
        }
        if (at == parts[n]) {
            pli_impirun_bad("a part of the command line is empty");
        }
        if (*at != NULL) {
            *at++ = NULL; // the colon
            if (*at == NULL) {
                pli_impirun_bad("nothing follows the last ':'");
            }
        }
    }
    if (n == 0) {
        pli_impirun_bad("no program is named; try impirun --local -n 2 ./a : -n 2 ./b");
    }
    for (int i = 0; i < n; i++) {
        pli_impirun_part_check(parts[i]);
    }
    struct sigaction sa = { .sa_handler = on_signal };
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    choose_key();
    pids[n] = start_server(n, address, sizeof address);
    setenv("IMPI_SERVER", address, 1);
    for (int i = 0; i < n; i++) {
        pids[i] = start(parts[i], i, -1);
    }
    return wait_for_all(pids, n + 1);
}

// Start the server of a world, and read the token that it prints.
static pid_t start_world(int n, char *token, size_t cap)
{
    char count[16];
    int fds[2];
    snprintf(count, sizeof count, "%d", n);
    char *argv[] = { (char *)pli_impirun_part_tool("impi-server"), "-server", count, "-token",
                     NULL };
    if (pipe(fds) != 0) {
        pli_impirun_bad("cannot make a pipe: %s", strerror(errno));
    }
    pid_t pid = start(argv, -1, fds[1]);
    close(fds[1]);
    FILE *from = fdopen(fds[0], "r");
    if (from == NULL || fgets(token, (int)cap, from) == NULL) {
        pli_impirun_bad("the server did not start");
    }
    token[strcspn(token, "\n")] = '\0';
    fclose(from); // the server prints nothing else
    return pid;
}

static int host_world(int n, char **part)
{
    char token[PLI_IMPI_TOKEN_TEXT], count[16];
    pid_t pids[2];
    if (part[0] == NULL) {
        snprintf(count, sizeof count, "%d", n);
        char *argv[] = { (char *)pli_impirun_part_tool("impi-server"), "-server", count, "-token",
                         NULL };
        execv(argv[0], argv);
        pli_impirun_bad("cannot run %s: %s", argv[0], strerror(errno));
    }
    pli_impirun_part_check(part);
    struct sigaction sa = { .sa_handler = on_signal };
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    pids[1] = start_world(n, token, sizeof token);
    fprintf(stderr,
            "impirun: waiting for %d more job%s to join this one; start %s with\n"
            "    impirun --join %s -n 2 ./program\n",
            n - 1, n == 2 ? "" : "s", n == 2 ? "it" : "each", token);
    setenv("IMPI_TOKEN", token, 1);
    unsetenv("IMPI_SERVER");
    unsetenv("IMPI_CLIENT");
    pids[0] = start(part, NO_NUMBER, -1);
    return wait_for_all(pids, 2);
}

static void take_host_world(struct pli_option_use *use)
{
    char **argv = (char **)use->reader->job;
    bool has_number = use->text != NULL && use->text[0] != '\0';
    exit(host_world(has_number ? (int)use->number : 2, argv + 2));
}

// The words are the token and a part.
static void take_join(struct pli_option_use *use)
{
    char **word = use->rest, line[PLI_IMPI_TOKEN_TEXT] = "";
    struct pli_impi_token token;
    if (word[0] == NULL || word[1] == NULL) {
        pli_impirun_bad("--join needs a token and a command: impirun --join TOKEN -n 2 ./a.out");
    }
    if (strchr(word[0], '/') != NULL) {
        char why[128];
        if (!pli_text_file_word(word[0], line, sizeof line, why, sizeof why)) {
            pli_impirun_bad("--join: cannot read a token from %s: %s", word[0], why);
        }
    } else {
        snprintf(line, sizeof line, "%s", word[0]);
        memset(word[0], 'x', strlen(word[0])); // others can read the words of a process
    }
    const char *why = pli_impi_token_get(line, &token);
    if (why != NULL && !pli_impi_token_is_elastic(line)) { // that is for mpiexec to read
        pli_impirun_bad("--join: the token %s", why);
    }
    setenv("IMPI_TOKEN", line, 1);
    unsetenv("IMPI_SERVER");
    unsetenv("IMPI_CLIENT");
    word += strcmp(word[1], "--") == 0 ? 2 : 1;
    if (word[0] == NULL) {
        pli_impirun_bad("--join needs a command behind the token");
    }
    pli_impirun_part_exec(word);
}

static void take_server(struct pli_option_use *use)
{
    be_server(use->reader->job);
}

static void take_client(struct pli_option_use *use)
{
    be_client(use->rest);
}

static void take_local(struct pli_option_use *use)
{
    exit(be_all(use->rest));
}

static void take_help(struct pli_option_use *use)
{
    pli_options_help(use->reader, stdout);
    exit(fflush(stdout) == 0 ? 0 : 1);
}

static void take_version(struct pli_option_use *use)
{
    printf("%s (Pliant MPI) %s\n", use->reader->tool, PLIANT_VERSION);
    exit(fflush(stdout) == 0 ? 0 : 1);
}

static const pli_option_take_fn take[PLI_IMPIRUN_N_TAKE] = {
    [PLI_IMPIRUN_HOST_WORLD] = take_host_world, [PLI_IMPIRUN_JOIN] = take_join,
    [PLI_IMPIRUN_CLIENT] = take_client,         [PLI_IMPIRUN_HELP] = take_help,
    [PLI_IMPIRUN_LOCAL] = take_local,           [PLI_IMPIRUN_SERVER] = take_server,
    [PLI_IMPIRUN_VERSION] = take_version,
};

int main(int argc, char **argv)
{
    struct pli_impirun_part_args part = { 0 }; // for options of a part that stand too early
    struct pli_option_reader r = {
        .tool = "impirun",
        .table = &pli_impirun_options,
        .take = take,
        .job = argv,
        .part = &part,
        .expected = "; the first word is --host-world, --join, -server, -client or --local",
        .bad = pli_impirun_bad
    };
    if (argc == 1) {
        pli_options_help(&r, stdout);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    if (pli_options_is_option(argv[1])) {
        pli_options_take(&r, argv + 1);
    }
    pli_impirun_bad("the first word is --host-world, --join, -server, -client or --local, not "
                    "'%s'; see impirun "
                    "--help",
                    argv[1]);
}
