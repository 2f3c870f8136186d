// SPDX-License-Identifier: BSD-3-Clause
// A forest of quadtrees: refined, balanced, spread over the ranks, with ghosts and nodes.
#include <p4est.h>
#include <p4est_bits.h>
#include <p4est_extended.h>
#include <p4est_ghost.h>
#include <p4est_lnodes.h>
#include <stdio.h>

static int refine(p4est_t *forest, p4est_topidx_t tree, p4est_quadrant_t *q)
{
    (void)forest;
    return q->level < (tree == 0 ? 7 : 3) && p4est_quadrant_child_id(q) % 3 != 1;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    sc_init(MPI_COMM_WORLD, 1, 1, NULL, SC_LP_ESSENTIAL);
    p4est_init(NULL, SC_LP_ESSENTIAL);
    p4est_connectivity_t *shape = p4est_connectivity_new_moebius();
    p4est_t *forest = p4est_new_ext(MPI_COMM_WORLD, shape, 0, 2, 1, 0, NULL, NULL);
    p4est_refine(forest, 1, refine, NULL);
    p4est_balance(forest, P4EST_CONNECT_FULL, NULL);
    p4est_partition(forest, 0, NULL);
    p4est_ghost_t *ghost = p4est_ghost_new(forest, P4EST_CONNECT_FULL);
    p4est_lnodes_t *nodes = p4est_lnodes_new(forest, ghost, 1);
    long mine = nodes->owned_count, all = 0;
    MPI_Reduce(&mine, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    unsigned sum = p4est_checksum(forest);
    p4est_save("forest.p4est", forest, 0);
    if (forest->mpirank == 0)
        printf("answer %08x %ld %ld\n", sum, (long)forest->global_num_quadrants, all);
    p4est_lnodes_destroy(nodes);
    p4est_ghost_destroy(ghost);
    p4est_destroy(forest);
    p4est_connectivity_destroy(shape);
    sc_finalize();
    MPI_Finalize();
    return 0;
}
