// SPDX-License-Identifier: BSD-3-Clause
// What launchers write into PMI_process_mapping, and what they never should.
#include "boot/pmi/pmi_map.h"

#include "t.h"

static void reads(const char *text, uint32_t n, const char *want)
{
    uint32_t host[64];
    char got[256] = "";
    T_OK(pli_pmi_map_read(text, host, n));
    for (uint32_t i = 0; i < n; i++) {
        snprintf(got + strlen(got), sizeof got - strlen(got), "%u ", host[i]);
    }
    T_STR(got, want);
}

int main(void)
{
    reads("(vector,(0,1,4))", 4, "0 0 0 0 ");
    reads("(vector,(0,2,2))", 4, "0 0 1 1 ");
    reads("(vector,(0,3,1))", 7, "0 1 2 0 1 2 0 ");
    reads("(vector,(0,1,3),(1,2,1))", 5, "0 0 0 1 2 ");
    reads("(vector,(5,1,1),(0,1,2))", 3, "5 0 0 ");
    static const char *const bad[] = { "",
                                       "(vector,",
                                       "(vector,)",
                                       "(vector,(0,1,1)",
                                       "(vector,(0,1))",
                                       "(vector,(0,0,1))",
                                       "(vector,(0,1,0))",
                                       "(vector,(0,-1,1))",
                                       "(vector,(0,1,99999999999))",
                                       "(vector,(0,1,1)x",
                                       "(vector,(0,1,1))x",
                                       "vector" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint32_t host[64];
        T_OK(!pli_pmi_map_read(bad[i], host, 64));
    }
    return t_status();
}
