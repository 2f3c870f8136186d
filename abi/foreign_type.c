// SPDX-License-Identifier: BSD-3-Clause
// Datatypes in arrays: how many there are, and what a datatype was made of.
#include "foreign_type.h"

#include "foreign_calls.h"

int pli_foreign_type_blocks(F_Comm comm, bool is_neighbor, bool is_send)
{
    MPI_Comm c = pli_foreign_comm_in(comm);
    int n = 0, is_inter = 0, topology = MPI_UNDEFINED, in = 0, out = 0;
    if (!is_neighbor) {
        if (pli_std_MPI_Comm_test_inter(c, &is_inter) != 0) {
            return 0;
        }
        int err = is_inter ? pli_std_MPI_Comm_remote_size(c, &n) : pli_std_MPI_Comm_size(c, &n);
        return err == 0 ? n : 0;
    }
    if (pli_std_MPI_Topo_test(c, &topology) != 0) {
        return 0;
    }
    if (topology == MPI_CART) {
        return pli_std_MPI_Cartdim_get(c, &n) == 0 ? 2 * n : 0;
    }
    if (topology == MPI_GRAPH) {
        int rank = 0;
        pli_std_MPI_Comm_rank(c, &rank);
        return pli_std_MPI_Graph_neighbors_count(c, rank, &n) == 0 ? n : 0;
    }
    if (topology != MPI_DIST_GRAPH ||
        pli_std_MPI_Dist_graph_neighbors_count(c, &in, &out, &is_inter) != 0) {
        return 0;
    }
    return is_send ? out : in;
}

// Where the constants are among the integers that describe a datatype. [MPI-5.0 5.1.13]
static void convert_integers(int combiner, int *v)
{
    if (combiner == MPI_COMBINER_SUBARRAY) {
        v[1 + 3 * v[0]] = pli_foreign_order_out(v[1 + 3 * v[0]]);
    } else if (combiner == MPI_COMBINER_DARRAY) {
        int n = v[2];
        for (int i = 0; i < n; i++) {
            v[3 + n + i] = pli_foreign_distribution_out(v[3 + n + i]);
            v[3 + 2 * n + i] = pli_foreign_darg_out(v[3 + 2 * n + i]);
        }
        v[3 + 4 * n] = pli_foreign_order_out(v[3 + 4 * n]);
    }
}

static MPI_Count convert_types(const MPI_Datatype *from, MPI_Count n, F_Datatype *to)
{
    for (MPI_Count i = 0; i < n; i++) {
        to[i] = pli_foreign_datatype_out(from[i]);
    }
    return n;
}

int pli_foreign_type_contents(F_Datatype datatype, int max_integers, int max_addresses,
                              int max_datatypes, int array_of_integers[],
                              MPI_Aint array_of_addresses[], F_Datatype array_of_datatypes[])
{
    int n_integer, n_address, n_type = 0, combiner = 0;
    MPI_Datatype d = pli_foreign_datatype_in(datatype);
    MPI_Datatype few[PLI_FOREIGN_FEW];
    int err = pli_std_MPI_Type_get_envelope(d, &n_integer, &n_address, &n_type, &combiner);
    if (err != 0) {
        return pli_foreign_error_out(err);
    }
    MPI_Datatype *types = pli_foreign_env_room(few, max_datatypes, sizeof *types);
    err = pli_std_MPI_Type_get_contents(d, max_integers, max_addresses, max_datatypes,
                                        array_of_integers, array_of_addresses, types);
    if (err == 0) {
        convert_integers(combiner, array_of_integers);
        convert_types(types, n_type, array_of_datatypes);
    }
    pli_foreign_env_leave(types, few);
    return err == 0 ? 0 : pli_foreign_error_out(err);
}

int pli_foreign_type_contents_large(F_Datatype datatype, MPI_Count max_integers,
                                    MPI_Count max_addresses, MPI_Count max_large_counts,
                                    MPI_Count max_datatypes, int array_of_integers[],
                                    MPI_Aint array_of_addresses[],
                                    MPI_Count array_of_large_counts[],
                                    F_Datatype array_of_datatypes[])
{
    MPI_Count n_integer, n_address, n_large = 0, n_type = 0;
    int combiner = 0;
    MPI_Datatype d = pli_foreign_datatype_in(datatype);
    MPI_Datatype few[PLI_FOREIGN_FEW];
    int err =
        pli_std_MPI_Type_get_envelope_c(d, &n_integer, &n_address, &n_large, &n_type, &combiner);
    if (err != 0) {
        return pli_foreign_error_out(err);
    }
    MPI_Datatype *types = pli_foreign_env_room(few, max_datatypes, sizeof *types);
    err = pli_std_MPI_Type_get_contents_c(d, max_integers, max_addresses, max_large_counts,
                                          max_datatypes, array_of_integers, array_of_addresses,
                                          array_of_large_counts, types);
    if (err == 0) {
        if (n_large == 0) { // with large counts, the integers are others
            convert_integers(combiner, array_of_integers);
        }
        convert_types(types, n_type, array_of_datatypes);
    }
    pli_foreign_env_leave(types, few);
    return err == 0 ? 0 : pli_foreign_error_out(err);
}
