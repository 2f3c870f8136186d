// SPDX-License-Identifier: BSD-3-Clause
// Unwinds the threads of a process. libdw is loaded when it is first needed: those who never look
// at a stack need not have it.
#include "tools/lib/stack_trace.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { MOST_FRAMES = 64 };

// What is used of <elfutils/libdwfl.h>, whose interface does not change.
struct dwfl_callbacks {
    void *find_elf, *find_debuginfo, *section_address;
    char **debuginfo_path;
};
typedef int (*frame_fn)(void *frame, void *arg);
typedef int (*thread_fn)(void *thread, void *arg);

static struct {
    void *(*begin)(const struct dwfl_callbacks *callbacks);
    void (*end)(void *dwfl);
    int (*linux_proc_report)(void *dwfl, pid_t pid);
    int (*report_end)(void *dwfl, void *fn, void *arg);
    int (*linux_proc_attach)(void *dwfl, pid_t pid, bool is_stopped);
    int (*getthreads)(void *dwfl, thread_fn fn, void *arg);
    pid_t (*thread_tid)(void *thread);
    int (*thread_getframes)(void *thread, frame_fn fn, void *arg);
    bool (*frame_pc)(void *frame, uint64_t *pc, bool *is_activation);
    void *(*addrmodule)(void *dwfl, uint64_t address);
    const char *(*module_addrname)(void *module, uint64_t address);
    void *(*module_getsrc)(void *module, uint64_t address);
    const char *(*lineinfo)(void *line, uint64_t *address, int *line_out, int *column,
                            uint64_t *mtime, uint64_t *length);
    const char *(*module_info)(void *module, void ***user, uint64_t *start, uint64_t *end,
                               uint64_t *dwbias, uint64_t *symbias, const char **main_file,
                               const char **debug_file);
    const char *(*errmsg)(int error);
    struct dwfl_callbacks callbacks;
} dw;

static const struct {
    const char *name;
    void *to;
} symbols[] = {
    { "dwfl_begin", &dw.begin },
    { "dwfl_end", &dw.end },
    { "dwfl_linux_proc_report", &dw.linux_proc_report },
    { "dwfl_report_end", &dw.report_end },
    { "dwfl_linux_proc_attach", &dw.linux_proc_attach },
    { "dwfl_getthreads", &dw.getthreads },
    { "dwfl_thread_tid", &dw.thread_tid },
    { "dwfl_thread_getframes", &dw.thread_getframes },
    { "dwfl_frame_pc", &dw.frame_pc },
    { "dwfl_addrmodule", &dw.addrmodule },
    { "dwfl_module_addrname", &dw.module_addrname },
    { "dwfl_module_getsrc", &dw.module_getsrc },
    { "dwfl_lineinfo", &dw.lineinfo },
    { "dwfl_module_info", &dw.module_info },
    { "dwfl_errmsg", &dw.errmsg },
    { "dwfl_linux_proc_find_elf", &dw.callbacks.find_elf },
    { "dwfl_standard_find_debuginfo", &dw.callbacks.find_debuginfo },
};

static bool load(void)
{
    void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library != NULL && i < sizeof symbols / sizeof *symbols; i++) {
        void *p = dlsym(library, symbols[i].name);
        if (p == NULL) {
            return false;
        }
        memcpy(symbols[i].to, &p, sizeof p);
    }
    return library != NULL;
}

struct print {
    void *dwfl;
    FILE *to;
    int n_frame, n_thread;
    uint32_t pid;
};

static const char *base_name(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL ? slash + 1 : path != NULL ? path : "?";
}

static int print_frame(void *frame, void *arg)
{
    struct print *p = arg;
    uint64_t pc = 0;
    bool is_exact = true;
    if (p->n_frame >= MOST_FRAMES || !dw.frame_pc(frame, &pc, &is_exact)) {
        return 1;
    }
    uint64_t at = pc - !is_exact; // a return address is behind the call
    void *module = dw.addrmodule(p->dwfl, at);
    const char *name = module != NULL ? dw.module_addrname(module, at) : NULL;
    void *line = module != NULL ? dw.module_getsrc(module, at) : NULL;
    int number = 0;
    const char *file = line != NULL ? dw.lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    fprintf(p->to, "    #%-2d %s", p->n_frame++, name != NULL ? name : "?");
    if (file != NULL) {
        fprintf(p->to, " at %s:%d\n", base_name(file), number);
    } else {
        const char *of = module != NULL
                             ? dw.module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
                             : NULL;
        fprintf(p->to, " in %s\n", base_name(of));
    }
    return 0;
}

static int print_thread(void *thread, void *arg)
{
    struct print *p = arg;
    char path[64], name[64] = "";
    pid_t tid = dw.thread_tid(thread);
    snprintf(path, sizeof path, "/proc/%u/task/%d/comm", p->pid, (int)tid);
    FILE *f = fopen(path, "re");
    if (f != NULL && fgets(name, sizeof name, f) != NULL) {
        name[strcspn(name, "\n")] = '\0';
    }
    if (f != NULL) {
        fclose(f);
    }
    fprintf(p->to, "  thread %d (%s)\n", (int)tid, name);
    p->n_frame = 0;
    p->n_thread++;
    dw.thread_getframes(thread, print_frame, p);
    return 0;
}

// Whether the kernel lets processes look at their own children only.
static bool is_yama(void)
{
    char c = '0';
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, &c, 1) == 1 && c != '0' && geteuid() != 0;
    if (fd >= 0) {
        close(fd);
    }
    return is;
}

bool pli_stack_trace_print(uint32_t pid, FILE *to)
{
    static int is_loaded = -1;
    is_loaded = is_loaded < 0 ? load() : is_loaded;
    if (!is_loaded) {
        fputs("  its stack cannot be shown: this host has no libdw.so.1 (Debian's package is "
              "libdw1)\n",
              to);
        return false;
    }
    unsetenv("DEBUGINFOD_URLS"); // the answer is not to wait for a server
    struct print p = { .dwfl = dw.begin(&dw.callbacks), .to = to, .pid = pid };
    int error = p.dwfl == NULL ? -1 : dw.linux_proc_report(p.dwfl, (pid_t)pid);
    error = error == 0 ? dw.report_end(p.dwfl, NULL, NULL) : error;
    error = error == 0 ? dw.linux_proc_attach(p.dwfl, (pid_t)pid, false) : error;
    if (error == 0) {
        dw.getthreads(p.dwfl, print_thread, &p);
    }
    if (p.n_thread == 0) {
        fprintf(to, "  its stack cannot be shown: %s\n",
                error > 0   ? strerror(error)
                : is_yama() ? "the kernel lets no other process look (kernel.yama.ptrace_scope)"
                            : dw.errmsg(-1));
    }
    if (p.dwfl != NULL) {
        dw.end(p.dwfl);
    }
    return p.n_thread > 0;
}
