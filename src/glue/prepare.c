// SPDX-License-Identifier: BSD-3-Clause
// Enters the predefined objects, once.
#include "glue/prepare.h"
#include "base/cpu.h"

#include "base/conf.h"
#include "coll/comm_state.h"
#include "msg/endpoint.h"
#include "msg/probe.h"
#include "dynamic/spawner.h"
#include "elastic/fork_comm.h"
#include "elastic/resize_error.h"
#include "elastic/elastic_world.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/errhandler.h"
#include "obj/op.h"
#include "session/session_open.h"
#include "topo/topo.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static void drop_ep(struct pli_comm *c)
{
    pli_endpoint_release(c->ep);
}

PLI_START static void prepare(void)
{
    pli_conf_load();
    pli_errhandler_init();
    pli_comm_init();
    pli_datatype_init();
    pli_op_init();
    pli_probe_init();
    pli_topo_init();
    pli_comm_state_init();
    pli_session_open_prepare();
    pli_spawner_prepare();
    pli_elastic_world_prepare();
    pli_resize_error_prepare();
    pli_fork_comm_prepare();
    pli_comm_on_end(drop_ep); // the last: the others may look at what came for it
}

// As pthread_once, whose code and word would be on pages that nothing else at the start needs.
PLI_START void pli_prepare(void)
{
    PLI_START_VAR static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    PLI_START_VAR static _Atomic bool is_ready = false;
    if (!atomic_load_explicit(&is_ready, memory_order_acquire)) {
        pthread_mutex_lock(&guard);
        if (!atomic_load_explicit(&is_ready, memory_order_relaxed)) {
            prepare();
            atomic_store_explicit(&is_ready, true, memory_order_release);
        }
        pthread_mutex_unlock(&guard);
    }
}
