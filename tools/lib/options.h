// SPDX-License-Identifier: BSD-3-Clause
// Reads the options of a command line from a table. The tables are written by options.py from the
// .opt files of the tools; the manual pages and the shell completions come from the same files.
// One dash or two makes no difference on the command line.
#ifndef PLI_TOOLS_OPTIONS_H
#define PLI_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum pli_option_kind {
    PLI_OPTION_FLAG,
    PLI_OPTION_TEXT,
    PLI_OPTION_NUMBER,   // from min to max
    PLI_OPTION_DURATION, // 30, 1.5s, 500ms, 5m, 2h: seconds
    PLI_OPTION_CHOICE,   // one of the words of `choices`, in any case
    PLI_OPTION_PAIR,     // two words, or both in one: NAME=VALUE
    PLI_OPTION_REST      // all words that follow
};

// How a value may be written after the name.
enum pli_option_form {
    PLI_FORM_NEXT = 1,   // --name VALUE
    PLI_FORM_EQUALS = 2, // --name=VALUE
    PLI_FORM_JOINED = 4, // -nameVALUE
    PLI_FORM_NONE = 8    // --name: the value may be left out
};

struct pli_option {
    const char *names;   // with their dashes, as --help shows them, separated by blanks
    const char *aliases; // names of other tools that --help does not show, as above; or ""
    const char *value;   // what --help and messages call the value; "" for a flag
    enum pli_option_kind kind;
    unsigned forms; // bits of enum pli_option_form
    long min, max;
    const char *choices; // separated by blanks
    const char *group;   // heading of --help that it stands below
    const char *topics;  // words for that group, separated by blanks; or ""
    const char *help;    // NULL: --help does not show it
    const char *advice;  // of an option of other tools: what to use instead; "" for all others
    bool is_rare;        // --help-all shows it, --help does not
    int take;            // which function takes it; -1: the value is stored at `at`
    bool is_part;        // in the struct of the part of the command line, not of the job
    size_t at, size;
};

struct pli_option_command {
    const char *name, *operands, *help;
    int min, max; // number of operands
};

struct pli_option_table {
    const char *usage, *closing; // text of --help after "usage: TOOL", and after the list
    const struct pli_option *option;
    int n_option;
    const struct pli_option_command *command;
    int n_command;
};

struct pli_option_reader;

// One use of an option on a command line.
struct pli_option_use {
    const struct pli_option_reader *reader;
    const struct pli_option *option;
    char *word;    // as it was typed
    char name[64]; // the same without a value
    char *text;    // the value; NULL: it has none
    char *second;  // PLI_OPTION_PAIR: the second word
    char **rest;   // the words that follow
    bool is_next;  // the value is a word of its own
    long number;
    double seconds;
    int choice; // index of the word
};

typedef void (*pli_option_take_fn)(struct pli_option_use *use);

struct pli_option_reader {
    const char *tool; // name of the program in messages
    const struct pli_option_table *table;
    const pli_option_take_fn *take; // indexed by `take` of the options
    void *job, *part;               // structs in which values are stored
    const char *expected;           // what is said about an unknown option besides; may be NULL
    // Prints a sentence about a wrong command line, and ends the process: it must not return.
    void (*bad)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

// Whether a word is to be read as an option: it begins with a dash and is more than that.
bool pli_options_is_option(const char *word);

// The option that argv[0] names, with its value, without taking it; *use says what was found.
// Returns the number of words it has, 0: there is no such option, -1: its value is missing.
int pli_options_match(const struct pli_option_table *table, char **argv,
                      struct pli_option_use *use);

// Take the option at argv[0] and return the number of words that it has. A value that is wrong or
// missing, and a name that the table does not have, end the process with a sentence.
int pli_options_take(const struct pli_option_reader *r, char **argv);

// Take the options up to the first word that is none, or up to "--". Returns the number of words.
int pli_options_take_leading(const struct pli_option_reader *r, char **argv);

// The command of this name; NULL: there is none.
const struct pli_option_command *pli_options_command(const struct pli_option_table *table,
                                                     const char *name);

// Say that there is no such command, and which one may be meant.
_Noreturn void pli_options_no_command(const struct pli_option_reader *r, const char *name);

// Whether one of the option's names, without dashes, is this one.
bool pli_options_is_named(const struct pli_option *o, const char *name);

// Print what --help prints. A table with rare options is printed on one screen without them.
void pli_options_help(const struct pli_option_reader *r, FILE *to);

// Print what --help-all prints, in tools that have it: the rare options too.
void pli_options_help_all(const struct pli_option_reader *r, FILE *to);

// Print the options of the groups that have this topic; "topics" prints which there are. A topic
// that does not exist goes to `bad` of the reader, with those that do.
void pli_options_help_topic(const struct pli_option_reader *r, FILE *to, const char *topic);

#endif
