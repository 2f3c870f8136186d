// SPDX-License-Identifier: BSD-3-Clause
// mpiexec: reads the command line, makes the plan of the job, and runs it in the role that fits.
#include "base/clock.h"
#include "launcher/base/launcher.h"
#include "launcher/base/say.h"
#include "launcher/ckpt/ckpt_lock.h"
#include "launcher/ckpt/manifest.h"
#include "launcher/ckpt/restart.h"
#include "launcher/hosts/join_client.h"
#include "launcher/job/job.h"
#include "launcher/job/psets.h"
#include "launcher/job/role.h"
#include "launcher/observe/recording.h"
#include "launcher/ranks/launch.h"
#include "launcher/ranks/output_files.h"
#include "launcher/ranks/world_server.h"
#include "launcher/run.h"
#include "launcher/mpiexec_setup.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    pli_mpiexec_setup_launcher();
    struct pli_job *job = pli_launcher.job;
    const char *slash = strrchr(argv[0], '/');
    if (strcmp(slash != NULL ? slash + 1 : argv[0], "mpirun") == 0) {
        pli_say_name = "mpirun";
    }
    if (argc >= 2 && strcmp(argv[1], "--as-daemon") == 0) {
        pli_launcher.role = &pli_role_daemon;
        return pli_launcher.role->run(job, argv, -1);
    }
    job->start_ns = pli_clock_ns();
    argv = pli_mpiexec_setup_read(job, argc, argv);
    if (job->opt.elastic_token != NULL) {
        pli_launcher.role = &pli_role_daemon;
        return pli_join_client_run(job, argv);
    }
    pli_mpiexec_setup_plan(job);
    if (job->opt.is_dry) {
        pli_run_show(job, true);
        pli_psets_show(job);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    pli_output_files_make(job);
    pli_recording_begin(job);
    job->opt.is_line = isatty(STDOUT_FILENO);
    int signals = pli_launch_init();
    if (signals < 0 || (pli_restart_is_image(job) && !pli_ckpt_lock_wait(job->from->dir))) {
        return 1;
    }
    if (!pli_world_server_start(job)) {
        return 1;
    }
    return pli_world_server_finish(pli_launcher.role->run(job, argv, signals));
}
