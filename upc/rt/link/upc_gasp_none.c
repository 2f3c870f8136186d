// SPDX-License-Identifier: BSD-3-Clause
// Linked where upcc -inst was given and no GASP tool is there: events go nowhere.
#include "gasp.h"
#include "gasp_upc.h"

#include <stddef.h>

gasp_context_t gasp_init(gasp_model_t model, int *argc, char ***argv)
{
    (void)model, (void)argc, (void)argv;
    return NULL; // so none of the others is called
}

void gasp_event_notify(gasp_context_t context, unsigned int tag, gasp_evttype_t type,
                       const char *file, int line, int column, ...)
{
    (void)context, (void)tag, (void)type, (void)file, (void)line, (void)column;
}

void gasp_event_notifyVA(gasp_context_t context, unsigned int tag, gasp_evttype_t type,
                         const char *file, int line, int column, va_list more)
{
    (void)context, (void)tag, (void)type, (void)file, (void)line, (void)column, (void)more;
}

int gasp_control(gasp_context_t context, int on)
{
    (void)context;
    return on;
}

unsigned int gasp_create_event(gasp_context_t context, const char *name, const char *desc)
{
    (void)context, (void)name, (void)desc;
    return GASP_UPC_USEREVT_START;
}
