// SPDX-License-Identifier: BSD-3-Clause
// The tools of --tool, in the order of the command line. Which tool calls is told by the address
// that the call returns to; one that jumped (a tail call) returns to this library, and then the
// thread knows whom it called last.
#include "trace/stack.h"

#include "trace/stack_size.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_TOOL = 16 };

struct tool {
    uintptr_t begin, end;
    void *calls[PLI_STACK_N]; // its MPI_X, NULL: it has none
};

static struct tool *tools;
static int n_tool;
static uintptr_t own_begin, own_end;
static void *real[PLI_STACK_N];
static __thread int last __attribute__((tls_model("initial-exec"))) = -1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct range {
    const char *path;
    uintptr_t begin, end;
};

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    struct range *r = arg;
    if (info->dlpi_name == NULL || strcmp(info->dlpi_name, r->path) != 0) {
        return 0;
    }
    r->begin = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) != 0) {
            r->begin = at < r->begin ? at : r->begin;
            r->end = at + p->p_memsz > r->end ? at + p->p_memsz : r->end;
        }
    }
    return 1;
}

static bool find_range(const char *path, uintptr_t *begin, uintptr_t *end)
{
    struct range r = { path, 0, 0 };
    dl_iterate_phdr(look, &r);
    *begin = r.begin;
    *end = r.end;
    return r.end != 0;
}

// dlsym also finds what the libraries that a tool needs have; only its own count.
static void fill_tool(struct tool *t, void *handle)
{
    for (int i = 0; i < pli_stack_n; i++) {
        void *p = dlsym(handle, pli_stack_names[i]);
        bool is_own = (uintptr_t)p >= t->begin && (uintptr_t)p < t->end;
        t->calls[i] = is_own ? p : NULL;
    }
}

static void add_tool(const char *path)
{
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    struct link_map *map = NULL;
    if (handle == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || n_tool == N_TOOL) {
        return; // the loader has said why
    }
    struct tool *t = &tools[n_tool];
    if (find_range(map->l_name, &t->begin, &t->end)) {
        fill_tool(t, handle);
        n_tool++;
    }
}

static void prepare(void)
{
    char text[128];
    Dl_info us;
    const char *list = getenv("PLI_TOOLS");
    char *words = strdup(list != NULL ? list : ""), *rest = NULL;
    tools = calloc(N_TOOL, sizeof *tools);
    if (tools == NULL || words == NULL) {
        abort();
    }
    for (char *w = strtok_r(words, ":", &rest); w != NULL; w = strtok_r(NULL, ":", &rest)) {
        add_tool(w);
    }
    free(words);
    if (dladdr((void *)(uintptr_t)prepare, &us) != 0) {
        find_range(us.dli_fname, &own_begin, &own_end);
    }
    // What a program was linked with comes behind the tools; a library that was loaded later has to
    // be named.
    static const char *const others[] = { "libmpi_abi.so.1", "libmpi.so.12", "libmpi.so.40" };
    for (int i = 0; i < pli_stack_n; i++) {
        snprintf(text, sizeof text, "P%s", pli_stack_names[i]);
        real[i] = dlsym(RTLD_NEXT, text);
        for (size_t k = 0; k < 3 && real[i] == NULL; k++) {
            void *library = dlopen(others[k], RTLD_LAZY | RTLD_NOLOAD);
            real[i] = library != NULL ? dlsym(library, text) : NULL;
        }
    }
}

void *pli_stack_next(int n, bool is_pmpi, const void *caller)
{
    pthread_once(&once, prepare);
    uintptr_t at = (uintptr_t)caller;
    int from = -1; // the tool that calls
    for (int i = 0; i < n_tool && from < 0; i++) {
        from = at >= tools[i].begin && at < tools[i].end ? i : -1;
    }
    if (from < 0 && at >= own_begin && at < own_end) {
        from = last;
    }
    if (from < 0 && is_pmpi) { // a program that wants to pass the tools
        return real[n];
    }
    // A tool's own MPI_X enters it again, as it would if it were alone.
    for (int i = is_pmpi ? from + 1 : from < 0 ? 0 : from; i < n_tool; i++) {
        if (tools[i].calls[n] != NULL) {
            last = i;
            return tools[i].calls[n];
        }
    }
    return real[n];
}
