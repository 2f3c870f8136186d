// SPDX-License-Identifier: BSD-3-Clause
// Finds the libraries and writes the variables by which the loader of a rank takes them in.
#include "launcher/job/tool_path.h"

#include "launcher/base/say.h"
#include "launcher/job/abi_path.h"
#include "launcher/job/job.h"
#include "trace/trace_wire.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_traced(const struct pli_options *opt)
{
    return opt->profile != NULL || opt->timeline != NULL;
}

static bool is_recorded(const struct pli_options *opt)
{
    return opt->record != NULL || opt->replay != NULL;
}

// Whether the working directory has a library of this name that is to be taken: another user may
// have put one there for whoever means the system's.
static bool is_own_here(const char *word)
{
    struct stat st;
    return stat(word, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0) &&
           (st.st_mode & S_IWOTH) == 0 && access(word, R_OK) == 0;
}

// The loader would only complain of another file, in each rank, and go on without the tool.
static bool is_library(const char *path)
{
    Elf64_Ehdr head = { 0 };
    FILE *f = fopen(path, "re");
    bool is = f != NULL && fread(&head, sizeof head, 1, f) == 1 &&
              memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_type == ET_DYN;
    if (f != NULL) {
        fclose(f);
    }
    return is;
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
    if (!is_library(path)) {
        pli_say_bad("--tool: %s is not a shared library that can be read", path);
    }
    if (strpbrk(path, ": ") != NULL) {
        pli_say_bad("--tool: the loader cannot take %s, as its path has a blank or a colon in it; "
                    "move the library, or make a link to it",
                    path);
    }
    return path;
}

// Grow a list with colons, of the heap.
static void append(char **list, const char *dir, const char *name)
{
    char *longer;
    int n = asprintf(&longer, "%s%s%s%s", *list != NULL ? *list : "", *list != NULL ? ":" : "", dir,
                     name);
    pli_say_need(n >= 0 ? longer : NULL);
    free(*list);
    *list = longer;
}

// The folder of our own libraries.
static void find_base(char *base, size_t cap)
{
    if (!pli_abi_path_base(base, cap)) {
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
}

// One of our own libraries. The loader of a rank would only complain and go on without it.
static void append_own(char **list, const char *base, const char *name)
{
    char *path = NULL;
    append(&path, base, name);
    if (access(path, R_OK) != 0) {
        pli_say_bad("%s is not there: build all of Pliant MPI (make), or install it as a whole",
                    path);
    }
    append(list, path, "");
    free(path);
}

char *pli_tool_path_list(const struct pli_options *opt)
{
    char base[3200], *all = NULL, *rest = NULL;
    if (opt->tools == NULL) {
        return NULL;
    }
    char *words = pli_say_need(strdup(opt->tools));
    for (char *w = strtok_r(words, ",", &rest); w != NULL; w = strtok_r(NULL, ",", &rest)) {
        char *path = full_path(w);
        append(&all, path, "");
        free(path);
    }
    free(words);
    if (all == NULL) {
        pli_say_bad("--tool needs the path of a library, or several with commas between them");
    }
    if (is_recorded(opt)) { // tools see the calls of the program, and the outcomes as they were
        find_base(base, sizeof base);
        append_own(&all, base, "/libpliant_record.so");
    }
    return all;
}

// The runtime of a sanitizer, which refuses to work behind other libraries.
static bool is_sanitizer(const char *path)
{
    static const char *const names[] = { "libasan.", "libhwasan.", "libtsan.", "libclang_rt." };
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strncmp(name, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

// Those words of a list of the loader that are such runtimes, or those that are none.
static void append_words(char **to, const char *list, bool is_wanted)
{
    char *rest = NULL, *words = pli_say_need(strdup(list));
    for (char *w = strtok_r(words, ": ", &rest); w != NULL; w = strtok_r(NULL, ": ", &rest)) {
        if (is_sanitizer(w) == is_wanted) {
            append(to, w, "");
        }
    }
    free(words);
}

char *pli_tool_path_preload(const struct pli_options *opt, const char *tools, const char *old)
{
    char base[3200], *all = NULL;
    if (tools == NULL && !is_traced(opt) && opt->check == NULL && !is_recorded(opt)) {
        return NULL;
    }
    find_base(base, sizeof base);
    old = old != NULL ? old : "";
    append_words(&all, old, true);
    // What names lines comes before the tools, and sees the calls of the program and not theirs.
    if (is_traced(opt)) {
        append_own(&all, base, "/libpliant_trace.so");
    }
    if (opt->check != NULL) {
        append_own(&all, base, "/libpliant_check.so");
    }
    if (tools != NULL) {
        append_own(&all, base, "/libpliant_tools.so");
        append(&all, tools, "");
    } else if (is_recorded(opt)) {
        append_own(&all, base, "/libpliant_record.so");
    }
    append_words(&all, old, false);
    return all;
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
