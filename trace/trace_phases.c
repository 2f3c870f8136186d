// SPDX-License-Identifier: BSD-3-Clause
// Phases of the program: MPIX_Phase_begin, MPIX_Phase_end and MPI_Pcontrol.
#include "trace/trace_sample.h"

#include <stdarg.h>
#include <string.h>

static uint32_t number_of(struct pli_trace_slot *s, const char *name)
{
    char text[PLI_TRACE_NAME] = "";
    strncpy(text, name != NULL ? name : "", sizeof text - 1);
    uint32_t i = 0;
    while (i < s->n_phase && strcmp(s->phases[i].name, text) != 0) {
        i++;
    }
    if (i == s->n_phase && i < PLI_TRACE_N_PHASE) {
        memcpy(s->phases[i].name, text, sizeof text);
        s->n_phase = i + 1;
    }
    return i < s->n_phase ? i : PLI_TRACE_N_PHASE - 1;
}

static int begin_phase(struct pli_trace_thread *self, const char *name)
{
    if (self != NULL && self->n_phase++ < PLI_TRACE_DEPTH) {
        uint32_t at = self->n_phase - 1;
        pli_trace_sample_flush(self);
        self->phases[at].number = number_of(self->slot, name);
        self->phases[at].ticks_mpi = self->slot->ticks_mpi;
        self->phases[at].begin = pli_trace_ticks();
    }
    return MPI_SUCCESS;
}

static int end_phase(struct pli_trace_thread *self)
{
    if (self == NULL || self->n_phase == 0 || --self->n_phase >= PLI_TRACE_DEPTH) {
        return MPI_SUCCESS;
    }
    pli_trace_sample_flush(self);
    uint64_t now = pli_trace_ticks(), first = self->phases[self->n_phase].begin;
    uint64_t begin = pli_trace_since(self, first, now), ticks_mpi = self->slot->ticks_mpi;
    uint32_t number = self->phases[self->n_phase].number;
    struct pli_trace_phase *p = &self->slot->phases[number];
    p->n++;
    p->ticks += now - begin;
    p->ticks_mpi += begin == first ? ticks_mpi - self->phases[self->n_phase].ticks_mpi : ticks_mpi;
    struct pli_trace_event e = {
        .begin = begin,
        .end = now,
        .kind = PLI_TRACE_EVENT_PHASE,
        .site = (uint16_t)number,
        .peer = PLI_TRACE_NOBODY,
        .source = PLI_TRACE_NOBODY,
    };
    pli_trace_put(self, &e);
    return MPI_SUCCESS;
}

static int control(struct pli_trace_thread *self, int level)
{
    if (self == NULL) {
        return MPI_SUCCESS;
    }
    if (level == 0 || level == 1) {
        self->closed &= ~(uintptr_t)PLI_TRACE_PAUSED;
        self->closed |= level == 0 ? PLI_TRACE_PAUSED : 0;
        if (self->closed > PLI_TRACE_FLAGS) { // a callback in a call that is not timed: it ends as
            self->looked = self->slot->in_call =
                pli_trace_ticks(); // a long one, and keeps the flag
        }
        return MPI_SUCCESS;
    }
    uint64_t now = pli_trace_ticks();
    struct pli_trace_event e = {
        .begin = now,
        .end = now,
        .kind = PLI_TRACE_EVENT_MARK,
        .peer = PLI_TRACE_NOBODY,
        .source = PLI_TRACE_NOBODY,
        .tag = level,
    };
    pli_trace_put(self, &e);
    return MPI_SUCCESS;
}

static struct pli_trace_thread *thread(void *site, bool is_std)
{
    struct pli_trace_thread *self = is_std ? pli_trace_enter_sampled_std(&site) : pli_trace_self;
    return self != NULL ? self : pli_trace_attach(site, is_std);
}

int MPIX_Phase_begin(const char *name)
{
    struct pli_trace_thread *self = thread(__builtin_return_address(0), false);
    return self != NULL
               ? begin_phase(self, name)
               : ((int (*)(const char *))pli_trace_next[PLI_TRACE_SYM_MPIX_Phase_begin])(name);
}

int MPIX_Phase_end(void)
{
    struct pli_trace_thread *self = thread(__builtin_return_address(0), false);
    return self != NULL ? end_phase(self)
                        : ((int (*)(void))pli_trace_next[PLI_TRACE_SYM_MPIX_Phase_end])();
}

int MPI_Pcontrol(const int level, ...)
{
    struct pli_trace_thread *self = thread(__builtin_return_address(0), false);
    return self != NULL ? control(self, level)
                        : ((int (*)(int, ...))pli_trace_next[PLI_TRACE_SYM_Pcontrol])(level);
}

int pli_std_MPIX_Phase_begin(const char *name);
int pli_std_MPIX_Phase_begin(const char *name)
{
    return begin_phase(thread(__builtin_return_address(0), true), name);
}

int pli_std_MPIX_Phase_end(void);
int pli_std_MPIX_Phase_end(void)
{
    return end_phase(thread(__builtin_return_address(0), true));
}

int pli_std_MPI_Pcontrol(const int level, ...);
int pli_std_MPI_Pcontrol(const int level, ...)
{
    return control(thread(__builtin_return_address(0), true), level);
}
