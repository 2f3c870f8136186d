// SPDX-License-Identifier: BSD-3-Clause
// <pupc.h>: events of the program itself, for tools (GASP 1.5). They are phases of mpiexec
// --profile and --timeline, and a GASP tool that is linked by upcc -inst is told of them.
#ifndef PLI_UPC_PUPC_H
#define PLI_UPC_PUPC_H

// Stop and resume what is recorded of the calling thread; returns what held before.
int pupc_control(int on);
// desc describes the values that an event has, as printf would; NULL: none.
unsigned int pupc_create_event(const char *name, const char *desc);
void pupc_event_startg(unsigned int evttag, const char *file, int line, ...);
void pupc_event_endg(unsigned int evttag, const char *file, int line, ...);
void pupc_event_atomicg(unsigned int evttag, const char *file, int line, ...);

#define pupc_event_start(evttag, ...) pupc_event_startg(evttag, __FILE__, __LINE__, ##__VA_ARGS__)
#define pupc_event_end(evttag, ...) pupc_event_endg(evttag, __FILE__, __LINE__, ##__VA_ARGS__)
#define pupc_event_atomic(evttag, ...) pupc_event_atomicg(evttag, __FILE__, __LINE__, ##__VA_ARGS__)

#endif
