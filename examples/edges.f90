! A plate is cut into vertical strips; each rank swaps the edges of its strip with its neighbours until all is even.
! The edges are rows of an array, whose elements lie far apart: mpi_f08 takes such sections as they are.
program edges
  use mpi_f08
  implicit none
  integer, parameter :: width = 16, height = 32, rounds = 4000
  real(8) :: plate(0:width + 1, height), next(width, height), change, most
  type(MPI_Request) :: requests(4)
  integer :: rank, ranks, left, right, i

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = merge(MPI_PROC_NULL, rank - 1, rank == 0)
  right = merge(MPI_PROC_NULL, rank + 1, rank == ranks - 1)

  plate = 0
  if (rank == 0) plate(0, :) = 100 ! hot at the left end, cold at the right
  do i = 1, rounds
    call MPI_Irecv(plate(0, :), height, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(plate(width + 1, :), height, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, requests(2))
    call MPI_Isend(plate(1, :), height, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, requests(3))
    call MPI_Isend(plate(width, :), height, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    next = (plate(0:width - 1, :) + plate(2:width + 1, :)) / 2
    change = maxval(abs(next - plate(1:width, :)))
    plate(1:width, :) = next
    call MPI_Allreduce(change, most, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    if (most < 1d-3) exit
  end do
  do i = 0, ranks - 1
    if (i == rank) print '(a, i0, a, f6.2, a, f6.2)', 'strip ', rank, ': from ', plate(1, 1), ' to ', plate(width, 1)
    call MPI_Barrier(MPI_COMM_WORLD)
  end do
  call MPI_Finalize()
end program
