// SPDX-License-Identifier: BSD-3-Clause
// What mpiexec itself says to people, on standard error.
#ifndef PLI_LAUNCHER_SAY_H
#define PLI_LAUNCHER_SAY_H

#include <stddef.h>

// One paragraph, wrapped to 80 columns and begun with "mpiexec: ".
void pli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// The room that a caller provides for a sentence that says what is wrong.
enum { PLI_CKPT_WHY = 400 };

enum { PLI_USAGE = 2 }; // exit status of a command line that cannot be run

// Say what is wrong with the command line and end. Context: before anything was started.
_Noreturn void pli_say_bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// Returns p, or ends when it is NULL: there is no memory. Context: as above.
void *pli_say_need(void *p);

// The same for a table: the lines stay as they are.
void pli_say_plain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// From now on through this function, so that it does not mix with the output of ranks.
void pli_say_through(void (*put)(const char *text, unsigned long len));

// From now on this function gets every message too, on one line, and what pli_say_note says.
void pli_say_record(void (*note)(const char *text));

// For the record alone: something happened that the user need not read now.
void pli_say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

// Messages about the command line begin with this host; NULL: with none.
void pli_say_where(const char *host);

// Called with the exit status before a message about the command line ends the process.
void pli_say_at_exit(void (*fn)(int status));

// The name people call this program by: mpiexec or mpirun.
extern const char *pli_say_name;

// What a message that was shown says, on one line and without our name.
void pli_say_bare(const char *text, size_t len, char *to, size_t cap);

// How messages leave: pli_launcher.say.
struct pli_say_state {
    void (*put)(const char *text, unsigned long len); // NULL: to standard error
    void (*note)(const char *text);                   // NULL: they are not recorded
    void (*at_exit)(int status);                      // before pli_say_bad ends the process
    const char *where;                                // the host they come from, NULL: not said
};

#endif
