// SPDX-License-Identifier: BSD-3-Clause
// Finds the libraries and writes the variables by which the loader of a rank takes them in.
#include "launcher/job/tool_path.h"

#include "launcher/base/say.h"
#include "launcher/job/abi_path.h"
#include "launcher/job/job.h"
#include "trace/trace_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_traced(const struct pli_options *opt)
{
    return opt->profile != NULL || opt->timeline != NULL;
}

// A layer that is used alone: its library, and the options that ask for it. NULL: none.
static const char *find_lone(const struct pli_options *opt, const char **option_out)
{
    bool is_recorded = opt->record != NULL || opt->replay != NULL;
    *option_out = opt->check != NULL ? "--check" : opt->record != NULL ? "--record" : "--replay";
    if (opt->check != NULL && is_recorded) {
        pli_say_bad("--check does not work together with --record or --replay: run the program "
                    "once with each");
    }
    return opt->check != NULL ? "libpliant_check.so" : is_recorded ? "libpliant_record.so" : NULL;
}

// Whether the working directory has a library of this name that is to be taken: another user may
// have put one there for whoever means the system's.
static bool is_own_here(const char *word)
{
    struct stat st;
    return stat(word, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0) &&
           (st.st_mode & S_IWOTH) == 0 && access(word, R_OK) == 0;
}

// One tool: a path becomes absolute, because ranks may run in another directory.
static char *full_path(const char *word)
{
    char *path;
    if (strchr(word, '/') == NULL && !is_own_here(word)) {
        return pli_say_need(strdup(word)); // the loader looks for it where libraries are
    }
    path = realpath(word, NULL);
    if (path == NULL) {
        pli_say_bad("--tool: there is no library %s here; give its path, or a name without a slash "
                    "that the loader finds",
                    word);
    }
    if (strpbrk(path, ": ") != NULL) {
        pli_say_bad("--tool: the loader cannot take %s, as its path has a blank or a colon in it; "
                    "move the library, or make a link to it",
                    path);
    }
    return path;
}

char *pli_tool_path_list(const struct pli_options *opt)
{
    char *all = NULL, *rest = NULL;
    if (opt->tools == NULL) {
        return NULL;
    }
    char *words = pli_say_need(strdup(opt->tools));
    for (char *w = strtok_r(words, ",", &rest); w != NULL; w = strtok_r(NULL, ",", &rest)) {
        char *path = full_path(w), *longer;
        int n = asprintf(&longer, "%s%s%s", all != NULL ? all : "", all != NULL ? ":" : "", path);
        pli_say_need(n >= 0 ? longer : NULL);
        free(path);
        free(all);
        all = longer;
    }
    free(words);
    if (all == NULL) {
        pli_say_bad("--tool needs the path of a library, or several with commas between them");
    }
    return all;
}

// The loader of a rank would only complain and go on without it.
static void need_library(const char *base, const char *name)
{
    char path[3264];
    if (name == NULL) {
        return;
    }
    snprintf(path, sizeof path, "%s/%s", base, name);
    if (access(path, R_OK) != 0) {
        pli_say_bad("%s is not there: build all of Pliant MPI (make), or install it as a whole",
                    path);
    }
}

char *pli_tool_path_preload(const struct pli_options *opt, const char *tools, const char *old)
{
    char base[3200], *all = NULL;
    const char *option, *lone = find_lone(opt, &option);
    if (tools == NULL && !is_traced(opt) && lone == NULL) {
        return NULL;
    }
    if (lone != NULL && (tools != NULL || is_traced(opt))) {
        pli_say_bad("%s does not work together with --profile, --timeline or --tool: run the "
                    "program once with each",
                    option);
    }
    if (!pli_abi_path_base(base, sizeof base)) {
        pli_say_bad(
            "the folder lib/pliant beside this mpiexec, which has the libraries of --tool, "
            "--check, --record, --profile and --timeline, is not there: install it as a whole");
    }
    if (strpbrk(base, ": ") != NULL) {
        pli_say_bad(
            "--tool, --check, --record, --replay, --profile and --timeline do not work from "
            "%s: the loader takes no path with a blank or a colon",
            base);
    }
    need_library(base, lone != NULL ? lone : is_traced(opt) ? "libpliant_trace.so" : NULL);
    need_library(base, tools != NULL ? "libpliant_tools.so" : NULL);
    if (lone != NULL) {
        bool is_more = old != NULL && *old != '\0';
        int len = asprintf(&all, "%s/%s%s%s", base, lone, is_more ? ":" : "", is_more ? old : "");
        return pli_say_need(len >= 0 ? all : NULL);
    }
    // The recorder comes first: it sees the calls of the program, and not those of tools.
    int n = asprintf(&all, "%s%s%s%s%s%s%s%s", is_traced(opt) ? base : "",
                     is_traced(opt) ? "/libpliant_trace.so" : "",
                     is_traced(opt) && tools != NULL ? ":" : "", tools != NULL ? base : "",
                     tools != NULL ? "/libpliant_tools.so:" : "", tools != NULL ? tools : "",
                     old != NULL && *old != '\0' ? ":" : "", old != NULL ? old : "");
    return pli_say_need(n >= 0 ? all : NULL);
}

bool pli_tool_path_trace(const struct pli_options *opt, char *to, size_t cap)
{
    uint32_t flags = (opt->profile != NULL ? PLI_TRACE_PROFILE : 0) |
                     (opt->timeline != NULL ? PLI_TRACE_TIMELINE : 0);
    uint32_t wanted = opt->timeline_events > 0 ? opt->timeline_events : PLI_TOOL_PATH_EVENTS, n = 1;
    while (n < wanted) {
        n *= 2;
    }
    snprintf(to, cap, "%u,%u", flags, opt->timeline != NULL ? n : 0);
    return flags != 0;
}
