// SPDX-License-Identifier: BSD-3-Clause
// Guesses from exit statuses and the last output what is wrong between two hosts.
#include "launcher/hosts/ssh_error.h"

#include "launcher/hosts/daemon_auth.h"
#include "launcher/hosts/ssh.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const struct {
    const char *words; // in the output of ssh
    const char *hint;
} hints[] = {
    { "Permission denied", "It must be possible to log in without a password: ssh-keygen makes a "
                           "key, ssh-copy-id takes it "
                           "there." },
    { "Host key verification failed",
      "Log in once by hand, so that the key of the host becomes known." },
    { "Could not resolve", "Is the name spelled as the network knows it?" },
    { "Name or service not known", "Is the name spelled as the network knows it?" },
    { "Connection refused", "The host is up, but no ssh server listens there." },
    { "timed out", "Is the host up, and may this one reach it?" },
    { "No route to host", "Is the host up, and may this one reach it?" },
    { "unreachable", "Is the host up, and may this one reach it?" },
};

#define BY_HAND                                                                                    \
    "Try by hand what mpiexec -v shows; the login there must read no input and say nothing."

// The last output on one line.
static void clean(const char *said, char *to, size_t cap)
{
    size_t len = 0;
    bool is_gap = false;
    for (; *said != '\0' && len + 2 < cap; said++) {
        bool is_space = *said == '\n' || *said == '\r' || *said == '\t' || *said == ' ';
        if (!is_space) {
            if (is_gap && len > 0) {
                to[len++] = ' ';
            }
            to[len++] = *said;
        }
        is_gap = is_space;
    }
    to[len] = '\0';
}

static const char *hint_for(const char *said)
{
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        if (strcasestr(said, hints[i].words) != NULL) {
            return hints[i].hint;
        }
    }
    return BY_HAND;
}

static int count(const char *text, const char *piece)
{
    int n = 0;
    for (const char *at = strstr(text, piece); at != NULL; at = strstr(at + 1, piece)) {
        n++;
    }
    return n;
}

// What may help a daemon that cannot call, by what has happened at the addresses it has tried.
static const char *call_hint(const char *said)
{
    return strstr(said, PLI_DAEMON_AUTH_NOT_OURS) != NULL
               ? "Another program answers at an address of mpiexec: a proxy, or a port that is "
                 "forwarded? PLIANT_TCP_IF chooses other addresses, PLIANT_TCP_PORTS other ports."
           : strstr(said, PLI_DAEMON_AUTH_HUNG_UP) != NULL ||
                   strstr(said, PLI_DAEMON_AUTH_SILENT) != NULL
               ? "Something between the two takes connections and passes nothing on (a firewall, a "
                 "proxy?), or mpiexec is too busy; PLIANT_TCP_IF chooses other addresses."
           : count(said, PLI_DAEMON_AUTH_OWN) == count(said, ";") + 1
               ? "Both hosts have the same addresses; PLIANT_TCP_IF chooses others."
               : "A firewall between the two must let TCP connections through.";
}

void pli_ssh_error_write(const char *host, const char *tool, const char *agent, int status,
                         const char *said, char *to, size_t cap)
{
    char words[1024], who[320];
    clean(said, words, sizeof words);
    const char *quote = words[0] != '\0' ? words : "(nothing)";
    snprintf(who, sizeof who, host != NULL ? "host %s" : "a host of the allocation%.0s",
             host != NULL ? host : "");
    int code = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (status < 0) {
        snprintf(to, cap, "%s has not answered for 30 s; %s said: %s. %s", who, tool, quote,
                 BY_HAND);
    } else if (code == PLI_SSH_NO_CALL) {
        snprintf(to, cap, "%s was reached, but its daemon cannot connect to mpiexec here (%s). %s",
                 who, quote, call_hint(words));
    } else if (code == PLI_SSH_VERSION) {
        snprintf(
            to, cap,
            "%s has another version of Pliant MPI at %s (%s); all hosts of a job need the same.",
            who, agent, quote);
    } else if (code == PLI_SSH_SPEC) {
        snprintf(to, cap, "the daemon on %s did not understand what to do (%s)", who, quote);
    } else if (strncmp(words, "cannot run ", 11) == 0 && code == 127) {
        snprintf(to, cap, "%s cannot be reached: %s; --launcher names another command", who, quote);
    } else if (code == 127 || code == 126) {
        snprintf(to, cap,
                 "%s was reached, but there is no mpiexec of Pliant MPI at %s (%s said: %s). "
                 "Install it at "
                 "the same place on all hosts, or say where it is with --prefix or --launch-agent.",
                 who, agent, tool, quote);
    } else if (code < 0) {
        snprintf(to, cap, "%s cannot be reached: %s was killed by signal %d; it said: %s", who,
                 tool, WTERMSIG(status), quote);
    } else {
        const char *hint = hint_for(words);
        bool is_closed = strchr(".!?", quote[strlen(quote) - 1]) != NULL;
        snprintf(to, cap, "%s cannot be reached: %s ended with status %d and said: %s%s %s", who,
                 tool, code, quote, is_closed ? "" : ".", hint);
    }
}
