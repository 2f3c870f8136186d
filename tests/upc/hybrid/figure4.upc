#include <upc.h>
#include <mpi.h>

#define N 100*THREADS
shared double v1[N], v2[N];
shared int r0;

int main(int argc, char **argv) {
int i, me, np;
double sum = 0.0, dotp;
MPI_Comm hybrid_comm;

MPI_Init(&argc, &argv);
MPI_Comm_rank(MPI_COMM_WORLD, &me);
MPI_Comm_size(MPI_COMM_WORLD, &np);

if (MYTHREAD == 0) r0 = me;
upc_barrier;
MPI_Comm_split(MPI_COMM_WORLD, 0,
  r0*THREADS+MYTHREAD, &hybrid_comm);

MPI_Comm_rank(hybrid_comm, &me);
MPI_Comm_size(hybrid_comm, &np);

int B = N/(np/THREADS); // Block size

upc_forall(i=me*B;i<(me+1)*B;i++; &v1[i])
  sum += v1[i]*v2[i];

MPI_Reduce(&sum, &dotp, 1, MPI_DOUBLE,
           MPI_SUM, 0, hybrid_comm);

if (me == 0) printf("Dot = %f\n", dotp);

MPI_Finalize();
return 0;
}
