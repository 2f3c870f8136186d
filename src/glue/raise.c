// SPDX-License-Identifier: BSD-3-Clause
// Calling the error handler of an object, and ending the job when the handler says so.
#include "glue/raise.h"

#include "boot/boot.h"
#include "boot/boot_open.h"
#include "elastic/abort_group.h"
#include "glue/code.h"
#include "io/file_shared_batch.h"
#include "obj/comm.h"
#include "obj/errhandler.h"
#include "obj/session.h"
#include "obj/user_calls.h"
#include "rma/win.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// "communicator MPI_COMM_WORLD", "window": whose handler it was.
static const char *say_owner(const struct pli_obj *owner)
{
    if (owner == NULL) {
        return "communicator MPI_COMM_SELF";
    }
    if (atomic_load_explicit(&owner->refs, memory_order_relaxed) == 0) {
        return pli_handle_kind(owner) == PLI_KIND_COMM ? "the communicator to be made"
                                                       : "the session to be opened";
    }
    if (pli_handle_kind(owner) == PLI_KIND_COMM) {
        return pli_comm_say((const struct pli_comm *)owner);
    }
    return pli_handle_kind_name(owner->kind);
}

// NULL: it is something else.
static const struct pli_comm *comm_of(const struct pli_obj *owner)
{
    bool is_comm = owner != NULL && pli_handle_kind(owner) == PLI_KIND_COMM;
    return is_comm ? (const struct pli_comm *)owner : NULL;
}

static _Atomic bool is_orphan;

void pli_raise_orphan(void)
{
    atomic_store(&is_orphan, true);
}

static const char *say_end(const struct pli_obj *owner, bool is_abort)
{
    if (atomic_load(&is_orphan)) {
        return "this process ends";
    }
    return is_abort && pli_abort_group_applies(comm_of(owner)) ? "its members end" : "the job ends";
}

// One paragraph, one write: the lines of several failing ranks must not mix.
static void explain(const struct pli_obj *owner, const char *fn, int code, bool is_abort)
{
    char text[MPI_MAX_ERROR_STRING], line[1024], thread[48] = "";
    if (!pli_code_text(code, text)) {
        snprintf(text, sizeof text, "%s: error code %d", fn, code);
    }
    size_t name = strlen(fn);
    bool has_fn = strncmp(text, fn, name) == 0;
    bool is_question = text[0] != '\0' && text[strlen(text) - 1] == '?';
    if (owner != NULL && pli_handle_kind(owner) == PLI_KIND_COMM && gettid() != getpid()) {
        snprintf(thread, sizeof thread, " It was raised in thread %d.", (int)gettid());
    }
    int n = snprintf(line, sizeof line,
                     "pliant: %s%s%s%s%s\n"
                     "        The error handler of %s is %s, so %s here. To go on after "
                     "errors, set MPI_ERRORS_RETURN or a handler of your own.\n",
                     has_fn ? "" : fn, has_fn ? "" : ": ", text, is_question ? "" : ".", thread,
                     say_owner(owner), is_abort ? "MPI_ERRORS_ABORT" : "MPI_ERRORS_ARE_FATAL",
                     say_end(owner, is_abort));
    size_t len = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    ssize_t done = write(STDERR_FILENO, line, len);
    (void)done; // nothing sensible is left to do when standard error is gone
}

static _Noreturn void end_job(const struct pli_obj *owner, const char *fn, int code, bool is_abort)
{
    struct pli_boot *boot = &pli_boot;
    int class = MPI_ERR_OTHER;
    pli_code_class(code, &class);
    if (class == MPI_ERR_PROC_ABORTED) {
        pli_boot_let_launcher_judge();
    }
    explain(owner, fn, code, is_abort);
    pli_file_shared_batch_flush_all();
    int status = class % 256 != 0 ? class % 256 : 1; // must not look like success
    if (atomic_load(&is_orphan)) {
        boot->ops->tell(boot, PLI_NODE_RUNNING); // it has failed, and not left in good order
        pli_boot_exit(status);
    }
    if (is_abort && pli_abort_group(comm_of(owner), status)) {
        pli_boot_exit(status);
    }
    if (pli_boot.ops != NULL || pli_boot_open(&boot) == PLI_OK) {
        char why[64]; // for the launcher's own words; the reason is out already
        snprintf(why, sizeof why, "an error in %s", fn);
        boot->ops->abort(boot, status, why);
    }
    _exit(status);
}

// A handler of a program that was built with another MPI gets that MPI's handle and code.
static void run_foreign(const struct pli_errhandler *e, void *h, int *code)
{
    switch (e->on) {
    case PLI_KIND_COMM:
        pli_user_calls->comm(e->fn.comm, &(MPI_Comm){ h }, code);
        break;
    case PLI_KIND_WIN:
        pli_user_calls->win(e->fn.win, &(MPI_Win){ h }, code);
        break;
    case PLI_KIND_FILE:
        pli_user_calls->file(e->fn.file, &(MPI_File){ h }, code);
        break;
    case PLI_KIND_SESSION:
        pli_user_calls->session(e->fn.session, &(MPI_Session){ h }, code);
        break;
    default:
        break; // MPI_ERRORS_RETURN
    }
}

static int run_handler(struct pli_errhandler *e, struct pli_obj *owner, void *h, const char *fn,
                       int code)
{
    if (e == &pli_errhandler_fatal || e == &pli_errhandler_abort) {
        end_job(owner, fn, code, e == &pli_errhandler_abort);
    }
    if (pli_user_calls != NULL) {
        run_foreign(e, h, &code);
        return code;
    }
    switch (e->on) {
    case PLI_KIND_COMM:
        e->fn.comm(&(MPI_Comm){ h }, &code);
        break;
    case PLI_KIND_WIN:
        e->fn.win(&(MPI_Win){ h }, &code);
        break;
    case PLI_KIND_FILE:
        e->fn.file(&(MPI_File){ h }, &code);
        break;
    case PLI_KIND_SESSION:
        e->fn.session(&(MPI_Session){ h }, &code);
        break;
    default:
        break; // MPI_ERRORS_RETURN
    }
    return code;
}

static int call_handler(struct pli_obj *owner, const char *fn, int code)
{
    struct pli_errhandler *e = pli_errhandler_of(owner);
    void *h = owner != NULL ? pli_handle_of(owner, owner->kind) : (void *)MPI_COMM_SELF;
    code = run_handler(e, owner, h, fn, code);
    pli_errhandler_release(e);
    return code;
}

int pli_raise_code(const char *fn, enum pli_err err)
{
    return pli_code_make(fn, err);
}

int pli_raise(struct pli_obj *owner, const char *fn, enum pli_err err)
{
    return call_handler(owner, fn, pli_code_make(fn, err));
}

int pli_raise_by(struct pli_errhandler *e, enum pli_kind kind, const char *fn, enum pli_err err)
{
    struct pli_obj unborn = { .kind = (uint16_t)kind };
    return run_handler(e, &unborn, pli_handle_of(NULL, kind), fn, pli_code_make(fn, err));
}

// Libraries over MPI name their own function at the beginning of the text: it is that which failed.
int pli_raise_user(struct pli_obj *owner, const char *fn, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "", name[48];
    pli_code_text(code, text);
    size_t n = strcspn(text, ":");
    if (strncmp(text, "MPI", 3) == 0 && text[n] == ':' && n < sizeof name &&
        strcspn(text, " ") > n) {
        memcpy(name, text, n);
        name[n] = '\0';
        fn = name;
    }
    return call_handler(owner, fn, code);
}

// The call of the handler is what was asked for: it succeeded, whatever the code says.
enum pli_err pli_raise_call_comm(struct pli_comm *c, int code)
{
    pli_raise_user(&c->obj, "MPI_Comm_call_errhandler", code);
    return PLI_OK;
}

enum pli_err pli_raise_call_file(MPI_File h, int code)
{
    struct pli_obj *owner = pli_errhandler_file(h);
    if (owner == NULL) {
        return PLI_ERR_FILE;
    }
    pli_raise_user(owner, "MPI_File_call_errhandler", code);
    return PLI_OK;
}

enum pli_err pli_raise_call_session(struct pli_session *s, int code)
{
    pli_raise_user(&s->obj, "MPI_Session_call_errhandler", code);
    return PLI_OK;
}

enum pli_err pli_raise_call_win(struct pli_win *w, int code)
{
    pli_raise_user(&w->obj, "MPI_Win_call_errhandler", code);
    return PLI_OK;
}
