// SPDX-License-Identifier: BSD-3-Clause
// Events of UPC programs: <pupc.h>, and a GASP tool where one is linked (upcc -inst). Those of the
// program are phases of mpiexec --profile and --timeline too.
#include "gasp.h"
#include "gasp_upc.h"
#include "pli_upc.h"
#include "pupc.h"
#include "upc_link.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#pragma weak gasp_init
#pragma weak gasp_event_notify
#pragma weak gasp_event_notifyVA
#pragma weak gasp_control
#pragma weak gasp_create_event

// What the thread has created.
struct event {
    struct event *next;
    unsigned tag;
    char name[];
};

static PLI_UPC_TLS gasp_context_t context;
static PLI_UPC_TLS struct event *events;
static PLI_UPC_TLS unsigned n_event;
static PLI_UPC_TLS int is_off;

void *pli_upc_gasp_context(void)
{
    return context;
}

void pli_upc_gasp_begin(int *argc, char ***argv)
{
    if (gasp_init != NULL) {
        context = gasp_init(GASP_MODEL_UPC, argc, argv);
    }
}

int pupc_control(int on)
{
    int was = gasp_control != NULL && context != NULL ? gasp_control(context, on) : !is_off;
    is_off = !on;
    MPI_Pcontrol(on ? 1 : 0);
    return was;
}

unsigned int pupc_create_event(const char *name, const char *desc)
{
    const char *text = name != NULL ? name : "";
    struct event *e = malloc(sizeof *e + strlen(text) + 1);
    unsigned tag = GASP_UPC_USEREVT_START + n_event++;
    if (gasp_create_event != NULL && context != NULL) {
        tag = gasp_create_event(context, name, desc);
    }
    if (e != NULL) {
        e->next = events;
        e->tag = tag;
        strcpy(e->name, text);
        events = e;
    }
    return tag;
}

static const char *name_of(unsigned tag)
{
    const struct event *e = events;
    while (e != NULL && e->tag != tag) {
        e = e->next;
    }
    return e != NULL ? e->name : "an event that was not created";
}

static void tell(unsigned tag, gasp_evttype_t type, const char *file, int line, va_list more)
{
    if (gasp_event_notifyVA != NULL && context != NULL) {
        gasp_event_notifyVA(context, tag, type, file, line, 0, more);
    }
}

void pupc_event_startg(unsigned int tag, const char *file, int line, ...)
{
    va_list more;
    va_start(more, line);
    tell(tag, GASP_START, file, line, more);
    va_end(more);
    MPIX_Phase_begin(name_of(tag));
}

void pupc_event_endg(unsigned int tag, const char *file, int line, ...)
{
    va_list more;
    MPIX_Phase_end();
    va_start(more, line);
    tell(tag, GASP_END, file, line, more);
    va_end(more);
}

void pupc_event_atomicg(unsigned int tag, const char *file, int line, ...)
{
    va_list more;
    va_start(more, line);
    tell(tag, GASP_ATOMIC, file, line, more);
    va_end(more);
    MPIX_Phase_begin(name_of(tag));
    MPIX_Phase_end();
}

void pli_upc_gasp_end(int status)
{
    if (gasp_event_notify != NULL && context != NULL) {
        gasp_event_notify(context, GASP_UPC_COLLECTIVE_EXIT, GASP_START, NULL, 0, 0, status);
        gasp_event_notify(context, GASP_UPC_COLLECTIVE_EXIT, GASP_END, NULL, 0, 0, status);
    }
    while (events != NULL) {
        struct event *e = events;
        events = e->next;
        free(e);
    }
}
