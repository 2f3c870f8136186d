// SPDX-License-Identifier: BSD-3-Clause
// Runs the unit tests of a room one after the other in one process, so that leaks are looked for
// once. Each is a module with its own copy of the library: none sees what another has left there.
//
//     unit_room MODULE...
#include <dlfcn.h>
#include <stdio.h>

enum { SKIPPED = 77 };

int main(int argc, char **argv)
{
    int n_failed = 0;
    for (int i = 1; i < argc; i++) {
        void *module = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (module == NULL) {
            fprintf(stderr, "unit_room: %s\n", dlerror());
            return 2;
        }
        int (*test)(int, char **) = (int (*)(int, char **))dlsym(module, "main");
        fprintf(stderr, "%s\n", argv[i]);
        int status = test != NULL ? test(1, (char *[]){ argv[i], NULL }) : 1;
        n_failed += status != 0 && status != SKIPPED;
    }
    return n_failed > 0;
}
