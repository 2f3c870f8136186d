// SPDX-License-Identifier: BSD-3-Clause
// <gasp.h>, plain C: the interface between this compiler and a tool that is told of events (GASP
// 1.5). The tool defines these functions and is linked by upcc -inst.
#ifndef PLI_UPC_GASP_H
#define PLI_UPC_GASP_H
#include <stdarg.h>

#define GASP_VERSION 20060914

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    GASP_MODEL_UPC,
    GASP_MODEL_TITANIUM,
    GASP_MODEL_CAF,
    GASP_MODEL_MPI,
    GASP_MODEL_SHMEM
} gasp_model_t;

typedef enum { GASP_START, GASP_END, GASP_ATOMIC } gasp_evttype_t;

struct _gasp_context_S;
typedef struct _gasp_context_S *gasp_context_t;

// Called by each UPC thread before main; what it returns is given back with all its events.
gasp_context_t gasp_init(gasp_model_t srcmodel, int *argc, char ***argv);
void gasp_event_notify(gasp_context_t context, unsigned int evttag, gasp_evttype_t evttype,
                       const char *filename, int linenum, int colnum, ...);
void gasp_event_notifyVA(gasp_context_t context, unsigned int evttag, gasp_evttype_t evttype,
                         const char *filename, int linenum, int colnum, va_list varargs);
int gasp_control(gasp_context_t context, int on);
unsigned int gasp_create_event(gasp_context_t context, const char *name, const char *desc);

#ifdef __cplusplus
}
#endif
#endif
