// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: requests to mpiexec --metrics, as they come piece by piece.
#include "fuzz.h"

#include "launcher/metrics.h"

const char *const fuzz_words[] = { "GET ", "HEAD ",    "/metrics", "?", " HTTP/1.1",
                                   "\r\n", "\r\n\r\n", "\n\n",     NULL };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    size_t n = len < PLI_METRICS_REQUEST - 1 ? len : PLI_METRICS_REQUEST - 1;
    char *request = malloc(n + 1); // no more than that may be read
    FUZZ_MUST(request != NULL);
    memcpy(request, data, n);
    request[n] = '\0';
    enum pli_metrics_verdict v = pli_metrics_judge(request, n);
    bool is_asked = v == PLI_METRICS_GET || v == PLI_METRICS_HEAD;
    FUZZ_MUST(v != PLI_METRICS_MORE || n < PLI_METRICS_REQUEST - 1);
    FUZZ_MUST(!is_asked || (memchr(request, '\0', n) == NULL &&
                            strstr(request, " /metrics") == strchr(request, ' ')));
    FUZZ_MUST((v == PLI_METRICS_BAD) == (memchr(request, '\0', n) != NULL));
    free(request);
    return 0;
}
