// SPDX-License-Identifier: BSD-3-Clause
// MPI_Init, MPI_Finalize, MPI_Abort, and errors.
#include "shim/shim.h"
#include "shim/shim_plan.h"
#include "agent/agent_wire.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct shim pli_shim = { .agent = -1 };

enum { MAX_TEXT = 256 };

static struct {
    const char *text;
    int code;
} known[MAX_TEXT]; // sentences, each with its code
static int n_known;

int pli_shim_fail(int class, const char *text)
{
    int code;
    for (int i = 0; i < n_known; i++) {
        if (known[i].text == text) {
            return known[i].code;
        }
    }
    if (n_known == MAX_TEXT || PMPI_Add_error_code(class, &code) != MPI_SUCCESS) {
        return class;
    }
    known[n_known].text = text;
    known[n_known++].code = code;
    return code;
}

// A code of ours has its sentence from here: some libraries have none for a code of their classes.
static int say(int code, char *text, int *len)
{
    for (int i = 0; i < n_known; i++) {
        if (known[i].code == code) {
            *len = snprintf(text, MPI_MAX_ERROR_STRING, "IMPI: %s", known[i].text);
            return MPI_SUCCESS;
        }
    }
    return PMPI_Error_string(code, text, len);
}

PLI_SHIM_API int MPI_Error_string(int code, char *text, int *len)
{
    PLI_SHIM_ENTER;
    return say(code, text, len);
}

int pli_shim_end(MPI_Comm comm, int code)
{
    if (code != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int len = 0;
        MPI_Errhandler handler;
        if (PMPI_Comm_get_errhandler(comm, &handler) == MPI_SUCCESS) {
            // some libraries print the class alone when they end a program
            if (handler == MPI_ERRORS_ARE_FATAL && say(code, text, &len) == MPI_SUCCESS) {
                fprintf(stderr, "libimpi: %s\n", text);
            }
            (void)PMPI_Errhandler_free(&handler);
        }
        (void)PMPI_Comm_call_errhandler(comm, code);
    }
    return code;
}

enum { SAID_US = 20000 };

_Noreturn void pli_shim_die(const char *line)
{
    fprintf(stderr, "libimpi: process %u: %s\n", pli_shim.first + (unsigned)pli_shim.me, line);
    usleep(SAID_US); // Hydra drops what it has not read when a process aborts
    (void)PMPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

// impirun is to know that a process has called MPI_Init: it has a file without a name for that. On
// another machine its name leads to another file, or to none.
static void tell_impirun(void)
{
    const char *path = getenv("IMPI_BEGUN");
    char name[64];
    ssize_t n = path != NULL ? readlink(path, name, sizeof name - 1) : -1;
    name[n > 0 ? n : 0] = '\0';
    if (strncmp(name, "/memfd:impi-begun", strlen("/memfd:impi-begun")) == 0) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        ssize_t done = fd >= 0 ? write(fd, "", 1) : 0;
        (void)done; // then it is not known
        if (fd >= 0) {
            close(fd);
        }
    }
}

static bool is_asked(void)
{
    return getenv("IMPI_SERVER") != NULL || getenv("IMPI_TOKEN") != NULL;
}

// Before the native library is up. Open MPI is not to read gaps of a view and write them back:
// processes of other clients write there (shim_file.h). MPICH is told so with the file.
static void prepare(void)
{
    if (is_asked()) {
        (void)setenv("OMPI_MCA_fbtl_posix_write_datasieving", "0", 0);
    }
}

// The native library is up: join the job if there is one to join.
static int join(void)
{
    if (!is_asked()) {
        return MPI_SUCCESS;
    }
    tell_impirun();
    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &pli_shim.me);
    (void)PMPI_Comm_size(MPI_COMM_WORLD, &pli_shim.n_local);
    int flag = 0, *ub = NULL;
    (void)PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &ub, &flag);
    pli_shim.tag_ub = pli_shim.native_tag_ub = flag != 0 ? *ub : 32767; // the least there may be
    int rc = pli_shim_link_open();
    if (rc != MPI_SUCCESS) {
        return pli_shim_end(MPI_COMM_WORLD, rc);
    }
    int n = (int)pli_shim.job->n_proc;
    uint32_t *world = malloc((size_t)n * sizeof *world);
    struct shim_span *s;
    if (world == NULL) {
        return pli_shim_end(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    }
    for (int i = 0; i < n; i++) {
        world[i] = (uint32_t)i;
    }
    pli_shim.tag_ub = pli_shim.job->tag_ub; // the least of all clients
    rc = PMPI_Comm_dup(MPI_COMM_SELF, &pli_shim.self);
    rc = rc == MPI_SUCCESS ? PMPI_Comm_dup(MPI_COMM_WORLD, &pli_shim.setup) : rc;
    if (rc != MPI_SUCCESS) {
        free(world);
        return rc;
    }
    pli_shim.max_cid = 1; // 0 and 1 are the world's
    pli_shim.is_on = true;
    rc = pli_shim_span_create(MPI_COMM_WORLD, MPI_COMM_NULL, world, n, 0, &s);
    free(world);
    return rc == MPI_SUCCESS ? rc : pli_shim_end(MPI_COMM_WORLD, rc);
}

PLI_SHIM_API int MPI_Init(int *argc, char ***argv)
{
    prepare();
    int rc = PMPI_Init(argc, argv);
    return rc == MPI_SUCCESS ? join() : rc;
}

PLI_SHIM_API int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    prepare();
    int rc = PMPI_Init_thread(argc, argv, required, provided);
    pli_shim.has_threads = rc == MPI_SUCCESS && *provided == MPI_THREAD_MULTIPLE;
    return rc == MPI_SUCCESS ? join() : rc;
}

PLI_SHIM_API int MPI_Finalize(void)
{
    if (!pli_shim.is_on) {
        return PMPI_Finalize();
    }
    struct shim_span *world = pli_shim_span_find(MPI_COMM_WORLD);
    int rc = pli_shim_plan_barrier(world);
    if (rc != MPI_SUCCESS) {
        return pli_shim_end(MPI_COMM_WORLD, rc);
    }
    struct pli_agent_frame f = { .type = PLI_AGENT_FINAL };
    pli_shim_link_put(&f, NULL, NULL);
    pli_shim_link_flush();
    pli_shim_link_close();
    pli_shim.is_on = false;
    (void)PMPI_Comm_free(&pli_shim.self);
    (void)PMPI_Comm_free(&pli_shim.setup);
    rc = PMPI_Finalize();
    if (pli_shim.agent > 0) { // it has only to hear the others' last word
        int status = 0;
        (void)waitpid(pli_shim.agent, &status, 0);
        pli_shim.agent = -1;
    }
    return rc;
}

PLI_SHIM_API int MPI_Abort(MPI_Comm comm, int code)
{
    // the agent sees this process end without MPI_Finalize, and ends the whole job
    return PMPI_Abort(pli_shim.is_on && pli_shim_span_find(comm) != NULL ? MPI_COMM_WORLD : comm,
                      code);
}
