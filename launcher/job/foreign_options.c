// SPDX-License-Identifier: BSD-3-Clause
// Says which options of other MPIs have no effect, and what has the effect that they had there.
#include "launcher/job/foreign_options.h"

#include "launcher/base/say.h"
#include "launcher/job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Parameters of Open MPI that there is something for. A key ends with * when all that begin so are
// meant; a value is what must be among the words of the parameter, NULL: any; an advice that ends
// with = is followed by the value.
static const struct {
    const char *key, *value, *advice;
} parameters[] = {
    { "btl", "^", "no transport needs to be left out" },
    { "btl", "vader", "processes of one host share memory always" },
    { "btl", "sm", "processes of one host share memory always" },
    { "btl", "tcp", "use -x PLIANT_NET=tcp" },
    { "btl", "ucx", "use -x PLIANT_NET=ucx" },
    { "pml", "ucx", "use -x PLIANT_NET=ucx" },
    { "pml", "ob1", "use -x PLIANT_NET=tcp to do without UCX" },
    { "btl_tcp_if_include", NULL, "use -x PLIANT_TCP_IF=" },
    { "btl_tcp_if_exclude", NULL, "use -x PLIANT_TCP_IF=!" },
    { "oob_tcp_if_include", NULL, "use -x PLIANT_TCP_IF=" },
    { "oob_tcp_if_exclude", NULL, "use -x PLIANT_TCP_IF=!" },
    { "btl_tcp_port_*", NULL, "use -x PLIANT_TCP_PORTS=40000-40100" },
    { "btl_tcp_eager_limit", NULL, "use -x PLIANT_TCP_EAGER_MAX=" },
    { "btl_vader_eager_limit", NULL, "use -x PLIANT_EAGER_MAX=" },
    { "btl_sm_eager_limit", NULL, "use -x PLIANT_EAGER_MAX=" },
    { "btl_vader_single_copy_mechanism", "none", "use -x PLIANT_ONECOPY=off" },
    { "btl_vader_single_copy_mechanism", "cma", "use -x PLIANT_ONECOPY=cma" },
    { "plm_rsh_agent", NULL, "use --launcher " },
    { "orte_tag_output", NULL, "use -l" },
    { "hwloc_base_binding_policy", NULL, "use --bind-to " },
    { "rmaps_base_mapping_policy", NULL, "use --map-by " },
    { "hwloc_base_report_bindings", NULL, "use --report-bindings" },
    { "rmaps_base_oversubscribe", NULL, "more ranks than cores are always allowed" },
    { "mpi_yield_when_idle", NULL, "waiting ranks always give way" },
    { "coll_*", NULL, "mpiinfo --collectives lists the algorithms here" },
};

static bool is_key(const char *pattern, const char *key)
{
    size_t len = strcspn(pattern, "*");
    return pattern[len] == '*' ? strncmp(pattern, key, len) == 0 : strcmp(pattern, key) == 0;
}

// Whether a word is in a list with commas; ^ at its beginning says which are left out.
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    if (word[0] == '^' || list[0] == '^') {
        return word[0] == list[0];
    }
    for (const char *w = list; *w != '\0'; w += strspn(w, ",")) {
        size_t n = strcspn(w, ",");
        if (n == len && strncmp(w, word, len) == 0) {
            return true;
        }
        w += n;
    }
    return false;
}

void pli_foreign_options_ignore(struct pli_job *job, const char *name, const char *advice)
{
    struct pli_options *o = &job->opt;
    for (int i = 0; i < o->n_ignored; i++) {
        if (strcmp(o->ignored[i].advice, advice) == 0) {
            return;
        }
    }
    o->ignored = pli_say_need(realloc(o->ignored, (size_t)(o->n_ignored + 1) * sizeof *o->ignored));
    o->ignored[o->n_ignored++] = (struct pli_ignored){ pli_say_need(strdup(name)), advice };
}

void pli_foreign_options_mca(struct pli_job *job, const char *key, const char *value)
{
    char *all, *before = job->opt.mca;
    const char *advice = "", *with = "";
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        if (is_key(parameters[i].key, key) &&
            (parameters[i].value == NULL || has_word(value, parameters[i].value))) {
            advice = parameters[i].advice;
            with = strchr("=! ", advice[strlen(advice) - 1]) != NULL ? value : "";
            break;
        }
    }
    bool is_known = advice[0] != '\0';
    int n = asprintf(&all, "%s%s%s %s%s%s%s%s", before != NULL ? before : "",
                     before != NULL ? ", " : "", key, value, is_known ? " (" : "", advice, with,
                     is_known ? ")" : "");
    pli_say_need(n >= 0 ? all : NULL);
    free(before);
    job->opt.mca = all;
}

void pli_foreign_options_say(const struct pli_job *job)
{
    for (int i = 0; i < job->opt.n_ignored; i++) {
        pli_say("%s has no effect: %s", job->opt.ignored[i].name, job->opt.ignored[i].advice);
    }
    if (job->opt.mca != NULL) {
        pli_say("--mca sets parameters of Open MPI, which have no effect here: %s. "
                "pliant-settings(7) lists the settings of Pliant MPI",
                job->opt.mca);
    }
}
