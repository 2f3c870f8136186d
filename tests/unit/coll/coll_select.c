// SPDX-License-Identifier: BSD-3-Clause
// The table of algorithms: what it prints, what a setting does, what a wrong one is told.
#include "coll/coll_select.h"
#include "base/conf.h"
#include "coll/coll_args.h"

#include "t.h"

#include <unistd.h>

int main(void)
{
    // Complaints go to standard error: catch them.
    char said[4096] = "";
    int ends[2], keep = dup(2);
    T_MUST(pipe(ends) == 0 && dup2(ends[1], 2) == 2);
    setenv("PLIANT_COLL", "allreduce:ring,bcast:bogus,fly:high,alone,,scan:linear", 1);
    pli_conf_load();
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    T_MUST(to != NULL);
    pli_coll_select_print(to);
    fclose(to);
    T_MUST(dup2(keep, 2) == 2);
    close(ends[1]);
    ssize_t got = read(ends[0], said, sizeof said - 1);
    T_MUST(got > 0);
    T_HAS(said, "no algorithm 'bogus'; there is board, nodes, hier, linear, binomial, chain");
    T_HAS(said, "no collective operation 'fly'; there is barrier, bcast");
    T_HAS(said, "'alone' is not operation:algorithm");
    for (int k = 0; k < PLI_N_COLL; k++) {
        T_HAS(text, pli_coll_kind_info[k].name);
    }
    const char *ring = strstr(text, "  ring       pieces go around twice");
    T_MUST(ring != NULL);
    char line[200];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(ring, "\n"), ring);
    T_HAS(line, "chosen by PLIANT_COLL");
    T_HAS(text, "up to 256 bytes, from 32 ranks\n"); // rounds begin later where messages are cheap
    T_HAS(text, "up to 256 bytes, from 16 ranks, on several hosts\n");
    free(text);
    return t_status();
}
