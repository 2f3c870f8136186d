// SPDX-License-Identifier: BSD-3-Clause
// What the command line of upcc asks for.
#ifndef PLI_UPC_DRIVER_UPCC_ARGS_H
#define PLI_UPC_DRIVER_UPCC_ARGS_H

#include "cmd.h"

enum stage { STAGE_LINK, STAGE_OBJECT, STAGE_C, STAGE_PREPROCESS };

enum kind {
    KIND_LINK,  // an object, a library, a word for the linker
    KIND_UPC,   // a source
    KIND_C,     // a source in which the words of UPC are ordinary names
    KIND_TRANS, // C that was translated before
    KIND_OTHER  // what the C compiler itself knows: assembly, preprocessed C
};

struct job {
    enum stage stage;
    const char *output;
    int threads;  // -T, 0: dynamic
    int pthreads; // -1: processes; else threads per process, 0: chosen at launch
    bool verbose, keep, no_lines, no_warn, warn_error, extern_main, inst, debug, help, version;
    bool is_check;   // -fsyntax-only
    const char *ask; // a question, and what about
    const char *ask_value;
    const char *linker;   // NULL: the C compiler
    struct cmd inputs;    // sources, objects and libraries in their order
    const char *language; // of those that follow
    struct cmd langs;     // of each of them what -x said: upc, c or none
    struct cmd cpp;       // options for the preprocessor alone
    struct cmd both;      // for the preprocessor and the C compiler
    struct cmd cc;        // for the C compiler alone
    struct cmd link;      // for the linker alone
};

// Fill in a job from the words of the command line, NULL behind the last. A mistake ends the
// process with a sentence and status 2.
void pli_upcc_args_read(struct job *j, char **argv);

// Print what --help prints.
void pli_upcc_args_help(void);

// What the input of this index is.
enum kind pli_upcc_args_kind(const struct job *j, size_t input);
// The folder of a source, in which <...> is looked for after all others; NULL: it has none, or it
// is named by -I, and cc would move it to the end. The caller frees it.
char *pli_upcc_args_folder(const struct job *j, const char *src);

#endif
