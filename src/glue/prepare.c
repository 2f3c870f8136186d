// SPDX-License-Identifier: BSD-3-Clause
// Enters the predefined objects, once.
#include "glue/prepare.h"
#include "base/cpu.h"

#include "base/conf.h"
#include "coll/shape.h"
#include "core/ep.h"
#include "core/probe.h"
#include "dynamic/spawner.h"
#include "elastic/fork.h"
#include "elastic/resize.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/errhandler.h"
#include "obj/op.h"
#include "session/session_open.h"
#include "topo/topo.h"

#include <pthread.h>

static void drop_ep(struct pli_comm *c)
{
    pli_ep_release(c->ep);
}

PLI_START static void prepare(void)
{
    pli_conf_load();
    pli_errhandler_init();
    pli_datatype_init();
    pli_op_init();
    pli_probe_init();
    pli_comm_on_end(drop_ep);
    pli_topo_init();
    pli_shape_init();
    pli_session_open_prepare();
    pli_spawner_prepare();
    pli_resize_prepare();
    pli_fork_prepare();
}

void pli_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
}
