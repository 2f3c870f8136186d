// SPDX-License-Identifier: BSD-3-Clause
// What the kernel tells of a process in /proc/PID/stat. Context: any thread.
#ifndef PLI_BASE_PROCESS_STAT_H
#define PLI_BASE_PROCESS_STAT_H

#include <stdint.h>

// The fields by the numbers that proc(5) gives them.
enum pli_process_stat_field { PLI_PROCESS_STAT_START = 22, PLI_PROCESS_STAT_PROCESSOR = 39 };

// One of them; -1: there is no such process, or the kernel does not tell.
int64_t pli_process_stat(uint32_t pid, enum pli_process_stat_field field);

#endif
