#include <upc.h>
#include <mpi.h>

#define N 100*THREADS
shared double v1[N], v2[N];

int main(int argc, char **argv) {
int i, rank, size;
double sum = 0.0, dotp;
MPI_Comm hybrid_comm;

MPI_Init(&argc, &argv);
MPI_Comm_split(MPI_COMM_WORLD, 0,
               MYTHREAD, &hybrid_comm);
MPI_Comm_rank(hybrid_comm, &rank);
MPI_Comm_size(hybrid_comm, &size);

upc_forall(i = 0; i < N; i++; i)
  sum += v1[i]*v2[i];

MPI_Reduce(&sum, &dotp, 1, MPI_DOUBLE,
           MPI_SUM, 0, hybrid_comm);

if (rank == 0) printf("Dot = %f\n", dotp);

MPI_Finalize();
return 0;
}
