// SPDX-License-Identifier: BSD-3-Clause
// Reads the environment that batch systems leave to a job.
#include "launcher/job/allocation.h"

#include "base/conf.h"
#include "launcher/job/hostlist.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"

#include <stdlib.h>
#include <string.h>

// Whether this is a Slurm allocation, so that srun reaches its hosts.
static bool is_slurm(void)
{
    return getenv("SLURM_JOB_NODELIST") != NULL || getenv("SLURM_NODELIST") != NULL;
}

struct allocation {
    struct pli_job *job;
    const char *list, *per;
    struct pli_hostlist_counts counts;
};

static bool add(const char *name, void *arg)
{
    struct allocation *a = arg;
    uint32_t slots;
    if (!pli_hosts_is_name(name, strlen(name))) {
        pli_say_bad("the list of hosts in SLURM_JOB_NODELIST, '%.200s', names '%.80s', which is "
                    "not the name of a host",
                    a->list, name);
    }
    if (!pli_hostlist_count(&a->counts, &slots)) {
        pli_say_bad("the tasks per node, '%.200s', that Slurm gives are not understood; name the "
                    "hosts with --hosts",
                    a->per);
    }
    pli_hosts_add(a->job, name, strlen(name), slots, 0);
    return true;
}

static void read_slurm(struct pli_job *job, const char *list)
{
    const char *per = getenv("SLURM_TASKS_PER_NODE");
    per = per != NULL ? per : getenv("SLURM_JOB_CPUS_PER_NODE");
    struct allocation a = { .job = job, .list = list, .per = per, .counts = { .at = per } };
    const char *why = pli_hostlist_each(list, add, &a);
    if (why != NULL) {
        pli_say_bad("the list of hosts in SLURM_JOB_NODELIST, '%.200s', %s; name the hosts with "
                    "--hosts",
                    list, why);
    }
}

void pli_allocation_read(struct pli_job *job)
{
    const char *list = getenv("SLURM_JOB_NODELIST");
    list = list != NULL ? list : getenv("SLURM_NODELIST");
    const char *file = getenv("PBS_NODEFILE");
    if (list != NULL && list[0] != '\0') {
        read_slurm(job, list);
    } else if (file != NULL && file[0] != '\0') {
        pli_hosts_take_file(job, "PBS_NODEFILE", file);
    }
}

const char *pli_allocation_launcher(const struct pli_job *job)
{
    pli_conf_load();
    return job->opt.launcher != NULL ? job->opt.launcher
           : pli_conf.rsh[0] != '\0' ? pli_conf.rsh
           : is_slurm()              ? "slurm"
                                     : "ssh";
}

bool pli_allocation_is_by_srun(const struct pli_job *job)
{
    const char *text = pli_allocation_launcher(job);
    bool is_srun = strcmp(text, "slurm") == 0 || strcmp(text, "srun") == 0;
    if (is_srun && !is_slurm()) {
        pli_say_bad("--launcher %s needs an allocation of Slurm: run mpiexec inside salloc or "
                    "sbatch",
                    text);
    }
    return is_srun;
}
