#include <upc.h>
#include <mpi.h>

#define N 100*THREADS
shared double v1[N], v2[N];
shared double our_sum = 0.0;
shared double my_sum[THREADS];
shared int me, np;

int main(int argc, char **argv) {
int i, B;
double dotp;

if (MYTHREAD == 0) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD,(int*)&me);
  MPI_Comm_size(MPI_COMM_WORLD,(int*)&np);
}
upc_barrier;

B = N/np;
my_sum[MYTHREAD] = 0.0;
upc_forall(i=me*B;i<(me+1)*B;i++; &v1[i])
  my_sum[MYTHREAD] += v1[i]*v2[i];

upc_all_reduceD(&our_sum,&my_sum[MYTHREAD],
                UPC_ADD, 1, 0, NULL,
                UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);

if (MYTHREAD == 0) {
  MPI_Reduce(&our_sum, &dotp, 1, MPI_DOUBLE,
             MPI_SUM, 0, MPI_COMM_WORLD);
  if (me == 0) printf("Dot = %f\n", dotp);
  MPI_Finalize();
}

return 0;
}
