// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target: files that a user hands to mpiexec: parts of the command line (-configfile) and the
// rules of mpiinfo --tune. The first byte chooses which.
#include "fuzz.h"

#include "base/tune_rule.h"
#include "launcher/base/launcher.h"
#include "launcher/base/say.h"
#include "launcher/job/config_file.h"

const char *const fuzz_words[] = { "-n 4 ./a.out", "'",      "\"",        "\\",        "#",
                                   "\n",           ":",      "allreduce", "3-4 0-182", "ring",
                                   "1-8 16",       "bcast ", NULL };

static void say_nothing(const char *text, unsigned long len)
{
    FUZZ_MUST(text[len > 0 ? len - 1 : 0] == '\n' || len == 0);
}

static const char *take(const struct pli_tune_rule *r)
{
    FUZZ_MUST(memchr(r->operation, '\0', sizeof r->operation) != NULL);
    FUZZ_MUST(memchr(r->algorithm, '\0', sizeof r->algorithm) != NULL);
    FUZZ_MUST(r->min_rank <= r->max_rank && r->min_bytes <= r->max_bytes);
    return strcmp(r->algorithm, "none") == 0 ? "there is none" : NULL;
}

static void read_rules(const uint8_t *data, size_t len)
{
    char *text = malloc(len + 1), why[256] = "";
    FUZZ_MUST(text != NULL);
    memcpy(text, data, len);
    text[len] = '\0';
    FUZZ_MUST(pli_tune_rule_read(text, take, why, sizeof why) || why[0] != '\0');
    FUZZ_MUST(memchr(why, '\0', sizeof why) != NULL);
    free(text);
}

static void read_config(const uint8_t *data, size_t len)
{
    static char name[] = "mpiexec", option[] = "-configfile";
    char path[128];
    snprintf(path, sizeof path, "%s", fuzz_path("config", data, len));
    char *argv[] = { name, option, path, NULL };
    int argc = 3;
    char **words = argv;
    FUZZ_TRY
    {
        words = pli_config_file_expand(&argc, argv);
        FUZZ_MUST(words != argv && argc > 1 && words[argc] == NULL);
    }
    for (int i = 1; words != argv && i < argc; i++) {
        free(words[i]);
    }
    if (words != argv) {
        free(words);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct pli_say_state say = { .put = say_nothing };
    pli_launcher.say = &say;
    if (len > 0) {
        (data[0] % 2 == 0 ? read_config : read_rules)(data + 1, len - 1);
    }
    return 0;
}
