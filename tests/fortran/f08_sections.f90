! Array sections as buffers of mpi_f08, in each way of communicating. Two ranks.
module check
  implicit none
  integer :: failed = 0
contains
  subroutine must(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      failed = failed + 1
      print '(2a)', 'failed: ', what
    end if
  end subroutine
end module

program f08_sections
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer, c_int, c_intptr_t
  use check
  implicit none
  type pair
    integer :: n
    real(8) :: x
  end type
  interface ! what C code has
    integer(c_intptr_t) function c_request(f) bind(C, name="MPI_Request_fromint")
      import
      integer(c_int), value :: f
    end function
    integer(c_int) function c_wait(request, status) bind(C, name="MPI_Wait")
      import
      integer(c_intptr_t) :: request
      type(MPI_Status) :: status
    end function
  end interface
  integer :: rank, size_, other, i, ie
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size_, ie)
  call must(ie == MPI_SUCCESS .and. size_ == 2, 'two ranks')
  other = 1 - rank
  call must(MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING, 'constants')
  call blocking()
  call nonblocking()
  call persistent()
  call partitioned()
  call collective()
  call reductions()
  call copied()
  call type_for_each_rank()
  call persistent_copies()
  call one_sided()
  call files()
  call kinds_of_arrays()
  call special_addresses()
  call datatypes()
  call refused()
  call MPI_Allreduce(MPI_IN_PLACE, failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (failed > 0) call MPI_Abort(MPI_COMM_WORLD, 1)
  call MPI_Finalize()
  if (rank == 0) print '(a)', 'sections: all good'
contains

  subroutine fill(a)
    integer, intent(out) :: a(:, :)
    integer :: k, j
    do j = 1, size(a, 2)
      do k = 1, size(a, 1)
        a(k, j) = 1000 * rank + 10 * j + k
      end do
    end do
  end subroutine

  ! What fill wrote on the other rank.
  elemental integer function theirs(k, j)
    integer, intent(in) :: k, j
    theirs = 1000 * other + 10 * j + k
  end function

  subroutine check_rows(b, what)
    integer, intent(in) :: b(:, :)
    character(len=*), intent(in) :: what
    integer :: j, k
    logical :: ok
    ok = .true.
    do j = 1, 4
      do k = 1, 6
        if (mod(k, 2) == 1 .and. mod(j, 2) == 0) then
          ok = ok .and. b(k, j) == theirs(k, j)
        else
          ok = ok .and. b(k, j) == -1
        end if
      end do
    end do
    call must(ok, what)
  end subroutine

  subroutine blocking()
    integer :: a(6, 4), b(6, 4)
    type(MPI_Status) :: st
    integer :: n
    call fill(a)
    b = -1
    if (rank == 0) then
      call MPI_Send(a(1::2, 2::2), 6, MPI_INTEGER, 1, 1, MPI_COMM_WORLD)
      call MPI_Recv(b(1::2, 2::2), 6, MPI_INTEGER, 1, 2, MPI_COMM_WORLD, st)
    else
      call MPI_Recv(b(1::2, 2::2), 6, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, st)
      call MPI_Ssend(a(1::2, 2::2), 6, MPI_INTEGER, 0, 2, MPI_COMM_WORLD)
    end if
    call check_rows(b, 'send and receive')
    call MPI_Get_count(st, MPI_INTEGER, n)
    call must(n == 6 .and. st%MPI_SOURCE == other, 'status')
    b = -1
    call MPI_Sendrecv(a(1::2, 2::2), 6, MPI_INTEGER, other, 3, b(1::2, 2::2), 6, MPI_INTEGER, other, 3, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check_rows(b, 'sendrecv')
    b = -1
    b(1::2, 2::2) = a(1::2, 2::2)
    call MPI_Sendrecv_replace(b(1::2, 2::2), 6_MPI_COUNT_KIND, MPI_INTEGER, other, 3, other, 3, MPI_COMM_WORLD, st)
    call check_rows(b, 'sendrecv_replace, large count')
    ! In reverse, received in order; part of the section only.
    b = -1
    call MPI_Sendrecv(a(6:1:-1, 1), 4, MPI_INTEGER, other, 4, b(:, 1), 4, MPI_INTEGER, other, 4, MPI_COMM_WORLD, st)
    call must(all(b(1:4, 1) == theirs([6, 5, 4, 3], 1)) .and. all(b(5:6, 1) == -1), 'reverse')
    ! Rows, one behind the other.
    b = -1
    call MPI_Sendrecv(a(3, :), 4, MPI_INTEGER, other, 5, b(2, :), 4, MPI_INTEGER, other, 5, MPI_COMM_WORLD, st)
    call must(all(b(2, :) == theirs(3, [1, 2, 3, 4])) .and. count(b == -1) == 20, 'row')
  end subroutine

  subroutine nonblocking()
    integer, asynchronous :: a(6, 4), b(6, 4)
    type(MPI_Request) :: reqs(2)
    logical :: flag
    call fill(a)
    b = -1
    call MPI_Irecv(b(1::2, 2::2), 6, MPI_INTEGER, other, 1, MPI_COMM_WORLD, reqs(1))
    call MPI_Isend(a(1::2, 2::2), 6, MPI_INTEGER, other, 1, MPI_COMM_WORLD, reqs(2))
    call MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE)
    call must(all([(reqs(i) == MPI_REQUEST_NULL, i = 1, 2)]), 'requests are null')
    call check_rows(b, 'isend and irecv')
    b = -1
    call MPI_Isendrecv(a(1::2, 2::2), 6, MPI_INTEGER, other, 1, b(1::2, 2::2), 6, MPI_INTEGER, other, 1, &
                       MPI_COMM_WORLD, reqs(1))
    flag = .false.
    do while (.not. flag)
      call MPI_Test(reqs(1), flag, MPI_STATUS_IGNORE)
    end do
    call check_rows(b, 'isendrecv')
    b = -1
    if (rank == 0) b = a
    call MPI_Ibcast(b(1::2, 2::2), 6, MPI_INTEGER, 0, MPI_COMM_WORLD, reqs(1))
    call MPI_Wait(reqs(1), MPI_STATUS_IGNORE)
    if (rank == 1) call check_rows(b, 'ibcast')
  end subroutine

  subroutine persistent()
    integer, asynchronous :: a(6, 4), b(6, 4)
    type(MPI_Request) :: reqs(2)
    integer :: round
    call MPI_Recv_init(b(1::2, 2::2), 6, MPI_INTEGER, other, 1, MPI_COMM_WORLD, reqs(1))
    call MPI_Send_init(a(1::2, 2::2), 6_MPI_COUNT_KIND, MPI_INTEGER, other, 1, MPI_COMM_WORLD, reqs(2))
    do round = 1, 3
      call fill(a)
      b = -1
      call MPI_Startall(2, reqs)
      call MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE)
      call check_rows(b, 'persistent')
    end do
    call MPI_Request_free(reqs(1))
    call MPI_Request_free(reqs(2))
    call MPI_Bcast_init(b(1::2, 2::2), 6, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, reqs(1))
    b = -1
    if (rank == 0) b = a
    call MPI_Start(reqs(1))
    call MPI_Wait(reqs(1), MPI_STATUS_IGNORE)
    if (rank == 1) call check_rows(b, 'bcast_init')
    call MPI_Request_free(reqs(1))
  end subroutine

  subroutine partitioned()
    integer, asynchronous :: a(6, 4), b(6, 4)
    type(MPI_Request) :: req
    integer :: p
    call fill(a)
    b = -1
    ! Two partitions of three elements, each in a column of its own.
    if (rank == 0) then
      call MPI_Psend_init(a(1::2, 2::2), 2, 3_MPI_COUNT_KIND, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, req)
      call MPI_Start(req)
      do p = 1, 0, -1
        call MPI_Pready(p, req)
      end do
    else
      call MPI_Precv_init(b(1::2, 2::2), 2, 3, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, req)
      call MPI_Start(req)
    end if
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    if (rank == 1) call check_rows(b, 'partitioned')
    call MPI_Request_free(req)
  end subroutine

  subroutine collective()
    integer :: a(6, 4), b(6, 4), v(20), n
    integer, asynchronous :: w(20)
    type(MPI_Request) :: req
    call fill(a)
    b = -1
    if (rank == 0) b = a
    call MPI_Bcast(b(1::2, 2::2), 6, MPI_INTEGER, 0, MPI_COMM_WORLD)
    if (rank == 1) call check_rows(b, 'bcast')
    ! A stride on each side.
    v = -1
    call MPI_Allgather(a(2::2, 1), 3, MPI_INTEGER, v(1:16:3), 3, MPI_INTEGER, MPI_COMM_WORLD)
    call must(all(v(1:16:3) == [12, 14, 16, 1012, 1014, 1016]) .and. count(v == -1) == 14, 'allgather')
    v = -1
    call MPI_Gatherv(a(2::2, 1), 2 + rank, MPI_INTEGER, v(1:19:3), [2, 3], [4, 0], MPI_INTEGER, 0, MPI_COMM_WORLD)
    if (rank == 0) call must(all(v(1:16:3) == [1012, 1014, 1016, -1, 12, 14]), 'gatherv')
    w = -1
    call MPI_Igatherv(a(2::2, 1), 2 + rank, MPI_INTEGER, w(1:19:3), [2, 3], [4, 0], MPI_INTEGER, 0, MPI_COMM_WORLD, req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    if (rank == 0) call must(all(w(1:16:3) == [1012, 1014, 1016, -1, 12, 14]), 'igatherv')
    ! Blocks that lie in two columns: the blocking call copies.
    b = -1
    call MPI_Alltoall(a(1:3, :), 6, MPI_INTEGER, b(2:4, :), 6, MPI_INTEGER, MPI_COMM_WORLD)
    do i = 1, 4
      n = 1000 * ((i - 1) / 2) + 10 * (2 * rank + mod(i - 1, 2) + 1)
      call must(all(b(2:4, i) == n + [1, 2, 3]), 'alltoall over columns')
    end do
    call must(count(b == -1) == 12, 'alltoall leaves the rest alone')
    b = -1
    call MPI_Alltoallv(a(1:3, :), [5, 6], [0, 5], MPI_INTEGER, b(2:4, :), [5 + rank, 5 + rank], [0, 5 + rank], &
                       MPI_INTEGER, MPI_COMM_WORLD, ie)
    call must(ie == MPI_SUCCESS, 'alltoallv over columns')
    call must(b(2, 1) == merge(11, 10 * 2 + 3, rank == 0) .and. count(b(2:4, :) /= -1) == merge(10, 12, rank == 0), &
              'alltoallv over columns: values')
    v = -1
    call MPI_Scatter(a(1::2, 2::2), 3, MPI_INTEGER, v(2:10:4), 3, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call must(all(v(2:10:4) == merge([21, 23, 25], [41, 43, 45], rank == 0)), 'scatter')
  end subroutine

  subroutine reductions()
    integer :: a(6, 4), b(6, 4)
    call fill(a)
    b = -1
    call MPI_Allreduce(a(1::2, 2::2), b(1::2, 2::2), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call must(b(1, 2) == 1042 .and. b(5, 4) == 1090 .and. count(b == -1) == 18, 'allreduce')
    b = a
    call MPI_Allreduce(MPI_IN_PLACE, b(:, 2), 6, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
    call must(all(b(:, 2) == [(1020 + i, i = 1, 6)]), 'in place')
    b = a
    call MPI_Reduce_local(a(1::2, 1), b(2::2, 1), 3, MPI_INTEGER, MPI_SUM)
    call must(all(b(2::2, 1) == a(1::2, 1) + a(2::2, 1)), 'reduce_local')
    call MPI_Scan(a(2::2, 1), b(2::2, 1), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call must(b(2, 1) == merge(12, 1024, rank == 0), 'scan')
  end subroutine

  ! The results come to their places when the requests are complete, by whatever call.
  subroutine copied()
    integer, asynchronous :: a(6, 4), b(6, 4), c(6, 4), d(3, 4)
    type(MPI_Request) :: reqs(3)
    logical :: flag
    integer :: which, n, places(3)
    call fill(a)
    b = -1
    c = -1
    call MPI_Iallreduce(a(1::2, 2::2), b(1::2, 2::2), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, reqs(1))
    call MPI_Iallreduce(a(2::2, 2::2), c(2::2, 2::2), 6_MPI_COUNT_KIND, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, reqs(2))
    d = -1
    call MPI_Ialltoall(a(1:3, :), 6, MPI_INTEGER, d, 6, MPI_INTEGER, MPI_COMM_WORLD, reqs(3))
    call MPI_Wait(reqs(1), MPI_STATUS_IGNORE)
    call must(b(1, 2) == 1042 .and. b(5, 4) == 1090 .and. count(b == -1) == 18, 'iallreduce and wait')
    call MPI_Waitall(3, reqs, MPI_STATUSES_IGNORE)
    call must(c(2, 2) == 1022 .and. c(6, 4) == 1046 .and. count(c == -1) == 18, 'iallreduce and waitall')
    call must(all(d(:, 4) == 1000 + 10 * (2 * rank + 2) + [1, 2, 3]), 'ialltoall over columns')
    b = -1
    call MPI_Iscan(a(1::2, 2::2), b(1::2, 2::2), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, reqs(1))
    flag = .false.
    do while (.not. flag)
      call MPI_Testany(3, reqs, which, flag, MPI_STATUS_IGNORE)
    end do
    call must(which == 1 .and. b(1, 2) == merge(21, 1042, rank == 0), 'iscan and testany')
    b = -1
    call MPI_Iallreduce(MPI_IN_PLACE, b(2, :), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, reqs(2))
    call MPI_Waitsome(3, reqs, n, places, MPI_STATUSES_IGNORE)
    call must(n == 1 .and. places(1) == 2 .and. all(b(2, :) == -2) .and. count(b == -1) == 20, 'in place and waitsome')
  end subroutine

  ! Parts of a section that begin and end within columns, each with its own datatype: nothing is copied, so the result is there whoever
  ! completes the request.
  subroutine type_for_each_rank()
    integer, asynchronous :: a(6, 4), b(6, 4), want(12)
    type(MPI_Request) :: req
    type(MPI_Status) :: st
    type(MPI_Datatype) :: types(2), ints(2), pair_type
    type(MPI_Comm) :: ring
    integer(c_intptr_t) :: c_req
    integer :: k, out(2), in(2)
    integer(MPI_ADDRESS_KIND) :: out_at(2), in_at(2)
    ints = MPI_INTEGER
    out = [2, 5]
    out_at = [4, 28]
    in = 4 + rank
    in_at = [0, 20]
    call MPI_Type_contiguous(2, MPI_INTEGER, pair_type)
    call MPI_Type_commit(pair_type)
    types = [pair_type, MPI_INTEGER]
    do k = 1, 5
      call fill(a)
      b = -1
      ! To rank 0 the elements 2 to 5 of the twelve, to rank 1 the elements 8 to 12; they come to the beginning and to element 6.
      want = -1
      want(1:4 + rank) = pick(0)
      want(6:9 + rank) = pick(1)
      select case (k)
      case (1)
        call MPI_Alltoallw(a(1::2, :), out, int(out_at), types, b(2::2, :), in, int(in_at), ints, MPI_COMM_WORLD)
      case (2)
        call MPI_Ialltoallw(a(1::2, :), out, int(out_at), types, b(2::2, :), in, int(in_at), ints, MPI_COMM_WORLD, req)
        c_req = c_request(req%MPI_VAL)
        call must(c_wait(c_req, st) == MPI_SUCCESS, 'C code waits')
        call MPI_F_sync_reg(b)
      case (3)
        call MPI_Alltoallw_init(a(1::2, :), int(out, MPI_COUNT_KIND), out_at, types, b(2::2, :), int(in, MPI_COUNT_KIND), in_at, &
                                ints, MPI_COMM_WORLD, MPI_INFO_NULL, req)
        do i = 1, 2
          b = -1
          call MPI_Start(req)
          call MPI_Wait(req, MPI_STATUS_IGNORE)
        end do
        call MPI_Request_free(req)
      case (4)
        ! In place: the blocks of the other rank take their turn.
        call fill(b)
        b(2::2, :) = -1
        b(2, 1) = 100 * rank + 1
        b(4, 1) = 100 * rank + 2
        call MPI_Alltoallw(MPI_IN_PLACE, [0, 0], [0, 0], types, b(2::2, :), [1, 1], [0, 4], ints, MPI_COMM_WORLD)
        call must(b(2, 1) == 1 + rank .and. b(4, 1) == 101 + rank .and. count(b == -1) == 10, 'alltoallw in place')
        cycle
      case (5)
        call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [0, 1], MPI_UNWEIGHTED, 2, [0, 1], MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                            .false., ring)
        call MPI_Neighbor_alltoallw(a(1::2, :), out, out_at, types, b(2::2, :), in, in_at, ints, ring)
        call MPI_Comm_free(ring)
      end select
      call must(all(reshape(b(2::2, :), [12]) == want) .and. all(b(1::2, :) == -1), 'a datatype for each rank')
    end do
    call MPI_Type_free(pair_type)
  end subroutine

  ! What a rank sends to this one.
  function pick(from) result(values)
    integer, intent(in) :: from
    integer :: values(4 + rank), all_values(12), k, j
    all_values = [((1000 * from + 10 * j + 2 * k - 1, k = 1, 3), j = 1, 4)]
    values = all_values(merge(2, 8, rank == 0):merge(5, 12, rank == 0))
  end function

  subroutine one_sided()
    integer, asynchronous :: mem(24)
    integer, asynchronous :: a(6, 4), b(6, 4)
    integer :: x, y
    type(MPI_Win) :: win
    mem = 0
    call fill(a)
    b = -1
    call MPI_Win_create(mem, 96_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Put(a(1::2, 2::2), 6, MPI_INTEGER, other, 0_MPI_ADDRESS_KIND, 6, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call must(all(mem(1:6) == [theirs([1, 3, 5], 2), theirs([1, 3, 5], 4)]), 'put')
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Accumulate(a(1::2, 2::2), 6, MPI_INTEGER, other, 0_MPI_ADDRESS_KIND, 6, MPI_INTEGER, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call must(all(mem(1:6) == 2 * [theirs([1, 3, 5], 2), theirs([1, 3, 5], 4)]), 'accumulate')
    call MPI_Barrier(MPI_COMM_WORLD)
    mem(1:6) = a([1, 3, 5, 1, 3, 5], 2)
    mem(4:6) = a([1, 3, 5], 4)
    call MPI_Win_fence(0, win)
    call MPI_Get(b(1::2, 2::2), 6, MPI_INTEGER, other, 0_MPI_ADDRESS_KIND, 6, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call check_rows(b, 'get')
    x = 5
    call MPI_Fetch_and_op(x, y, MPI_INTEGER, other, 10_MPI_ADDRESS_KIND, MPI_SUM, win)
    call MPI_Win_fence(0, win)
    call must(y == 0 .and. mem(11) == 5, 'fetch_and_op')
    call MPI_Win_free(win)
  end subroutine

  subroutine files()
    integer, asynchronous :: a(6, 4), b(6, 4)
    type(MPI_File) :: fh
    type(MPI_Request) :: req
    type(MPI_Status) :: st
    integer :: n
    call fill(a)
    b = -1
    call MPI_File_open(MPI_COMM_WORLD, 'f08_sections.out', MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                       MPI_INFO_NULL, fh)
    call MPI_File_write_at_all(fh, 24_MPI_OFFSET_KIND * rank, a(1::2, 2::2), 6, MPI_INTEGER, st)
    call MPI_Get_count(st, MPI_INTEGER, n)
    call must(n == 6, 'count of write_at_all')
    call MPI_File_sync(fh)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_read_at(fh, 24_MPI_OFFSET_KIND * other, b(1::2, 2::2), 6, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check_rows(b, 'read_at')
    b = -1
    call MPI_File_iread_at(fh, 24_MPI_OFFSET_KIND * other, b(1::2, 2::2), 6, MPI_INTEGER, req)
    call MPI_Wait(req, MPI_STATUS_IGNORE)
    call check_rows(b, 'iread_at')
    b = -1
    call MPI_File_read_at_all_begin(fh, 24_MPI_OFFSET_KIND * other, b(1::2, 2::2), 6, MPI_INTEGER)
    call MPI_File_read_at_all_end(fh, b(1::2, 2::2), st)
    call check_rows(b, 'read_at_all_begin')
    call MPI_File_close(fh)
  end subroutine

  subroutine kinds_of_arrays()
    integer, allocatable :: al(:, :)
    integer, pointer :: pt(:, :)
    integer, target :: t(6, 4)
    integer :: x, empty(0)
    character(len=5) :: words(4), got(4)
    type(pair) :: p(3), q(3)
    type(c_ptr) :: where
    integer, pointer :: mem(:)
    allocate (al(6, 4))
    call fill(al)
    t = -1
    pt => t(1::2, 2::2)
    call MPI_Sendrecv(al(1::2, 2::2), 6, MPI_INTEGER, other, 1, pt, 6, MPI_INTEGER, other, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call check_rows(t, 'pointer to a section')
    x = -1
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, other, 1, x, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call must(x == other, 'scalar')
    call MPI_Sendrecv(empty, 0, MPI_INTEGER, other, 1, al(1:0, :), 0, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    words = ['alpha', 'beta ', 'gamma', 'delta']
    got = '-----'
    call MPI_Sendrecv(words(1::2), 10, MPI_CHARACTER, other, 1, got(2::2), 10, MPI_CHARACTER, other, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call must(all(got == ['-----', 'alpha', '-----', 'gamma']), 'characters')
    call MPI_Sendrecv(words(1)(2:3), 2, MPI_CHARACTER, other, 1, got(1)(1:2), 2, MPI_CHARACTER, other, 1, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
    call must(got(1) == 'lp---', 'part of a string')
    ! Components of an array of structures are a section too.
    do i = 1, 3
      p(i) = pair(10 * rank + i, real(rank, 8))
    end do
    q = pair(0, -1d0)
    call MPI_Sendrecv(p%n, 3, MPI_INTEGER, other, 1, q%n, 3, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call must(all(q%n == [(10 * other + i, i = 1, 3)]) .and. all(q%x == -1d0), 'component')
    call assumed_size(al)
    call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, where)
    call c_f_pointer(where, mem, [10])
    mem = rank
    call MPI_Bcast(mem(2::2), 5, MPI_INTEGER, 1, MPI_COMM_WORLD)
    call must(all(mem(2::2) == 1) .and. all(mem(1::2) == rank), 'memory of MPI_Alloc_mem')
    call MPI_Free_mem(mem)
    call MPI_Sizeof(p, x)
    call must(x == storage_size(p) / 8, 'sizeof')
    call MPI_Sizeof(1d0, x)
    call must(x == 8, 'sizeof of a constant')
  end subroutine

  subroutine assumed_size(a)
    integer :: a(*)
    integer :: got(3)
    call MPI_Sendrecv(a, 3, MPI_INTEGER, other, 1, got, 3, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call must(all(got == theirs([1, 2, 3], 1)), 'assumed size')
  end subroutine

  subroutine special_addresses()
    integer :: a(4), b(4)
    integer(MPI_ADDRESS_KIND) :: at
    type(MPI_Datatype) :: absolute
    a = [(rank + i, i = 1, 4)]
    b = -1
    call MPI_Get_address(a(2), at)
    call MPI_Type_create_hindexed(1, [2], [at], MPI_INTEGER, absolute)
    call MPI_Type_commit(absolute)
    call MPI_Sendrecv(MPI_BOTTOM, 1, absolute, other, 1, b, 2, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call must(all(b == [other + 2, other + 3, -1, -1]), 'MPI_BOTTOM')
    call MPI_Type_free(absolute)
    call must(absolute == MPI_DATATYPE_NULL, 'null after free')
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 2, MPI_INTEGER, MPI_COMM_WORLD)
    call must(a(3 - 2 * rank) == other + 3 - 2 * rank, 'MPI_IN_PLACE')
  end subroutine

  subroutine datatypes()
    real :: r(12), s(12)
    complex :: c(6), d(6)
    type(MPI_Datatype) :: three, gaps
    integer :: pos, n
    character(len=1) :: bytes(200)
    r = [(real(100 * rank + i), i = 1, 12)]
    s = -1
    ! The datatype is longer than an element, and the section is cut by it.
    call MPI_Type_contiguous(3, MPI_REAL, three)
    call MPI_Type_commit(three)
    call MPI_Sendrecv(r(1:11:2), 2, three, other, 1, s(2:12:2), 2, three, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call must(all(s(2:12:2) == [(100. * other + i, i = 1, 11, 2)]) .and. all(s(1::2) == -1), 'datatype of three elements')
    ! One with gaps: every second element of every second element.
    call MPI_Type_vector(3, 1, 2, MPI_REAL, gaps)
    call MPI_Type_commit(gaps)
    s = -1
    call MPI_Sendrecv(r(1::2), 1, gaps, other, 1, s, 3, MPI_REAL, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call must(all(s(1:3) == 100 * other + [1., 5., 9.]), 'datatype with gaps')
    ! Parts of elements.
    c = [(cmplx(rank, i), i = 1, 6)]
    d = (-1., -1.)
    call MPI_Sendrecv(c(1::2), 5, MPI_REAL, other, 1, d(2::2), 5, MPI_REAL, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call must(d(2) == cmplx(other, 1) .and. d(6) == cmplx(real(other), -1.), 'half an element')
    pos = 0
    call MPI_Pack(r(1::2), 6, MPI_REAL, bytes(1:199), 199, pos, MPI_COMM_WORLD)
    call must(pos == 24, 'pack')
    n = pos
    pos = 0
    s = -1
    call MPI_Unpack(bytes, n, pos, s(2::2), 6, MPI_REAL, MPI_COMM_WORLD)
    call must(all(s(2::2) == r(1::2)) .and. all(s(1::2) == -1), 'unpack')
    call MPI_Type_free(three)
    call MPI_Type_free(gaps)
  end subroutine

  ! A copy for each start of a persistent request.
  subroutine persistent_copies()
    integer, asynchronous :: a(6, 4), b(6, 4)
    type(MPI_Request) :: req
    integer :: round
    logical :: flag
    call MPI_Allreduce_init(a(1::2, 2::2), b(1::2, 2::2), 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, req)
    do round = 1, 3
      a = round
      b = -1
      call MPI_Start(req)
      flag = .false.
      if (round == 2) then
        do while (.not. flag)
          call MPI_Test(req, flag, MPI_STATUS_IGNORE)
        end do
      else
        call MPI_Wait(req, MPI_STATUS_IGNORE)
      end if
      call must(all(b(1::2, 2::2) == 2 * round) .and. count(b == -1) == 18, 'persistent reduction')
    end do
    b = -1
    call MPI_Request_free(req)
    call must(all(b == -1), 'nothing comes after the request is freed')
  end subroutine

  ! Memory of a window must be contiguous; what is not is refused with a reason, and nothing is harmed.
  ! Whether the text of the last error begins so.
  logical function names(beginning)
    character(len=*), intent(in) :: beginning
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: n
    names = .false.
    if (ie == MPI_SUCCESS) return
    call MPI_Error_string(ie, text, n)
    names = index(text(1:n), beginning) == 1
  end function

  subroutine refused()
    integer, asynchronous :: a(6, 4)
    type(MPI_Win) :: win
    type(MPI_Request) :: req
    type(MPI_Comm) :: comm
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: class, n
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call fill(a)
    call MPI_Win_create(a(1::2, :), 48_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, comm, win, ie)
    call MPI_Error_class(ie, class)
    call MPI_Error_string(ie, text, n)
    call must(class == MPI_ERR_BUFFER .and. index(text(1:n), 'not contiguous') > 0, 'reason')
    ! Partitions that lie in two columns: the program fills them after the start, so there can be no copy.
    call MPI_Psend_init(a(1:3, :), 3, 4_MPI_COUNT_KIND, MPI_INTEGER, other, 0, comm, MPI_INFO_NULL, req, ie)
    call MPI_Error_class(ie, class)
    call must(class == MPI_ERR_BUFFER, 'partitions over columns')
    call MPI_Send(a(1::2, 1), 4, MPI_INTEGER, other, 0, comm, ie)
    call MPI_Error_class(ie, class)
    call must(class == MPI_ERR_COUNT, 'more elements than the section has')
    call MPI_Error_string(ie, text, n)
    call must(text(1:n) == 'MPI_Send: argument buf is an array section of 12 bytes, but count and datatype ask for more', &
              'what is wrong')
    ! What is copied is not read beyond its end; elsewhere than at the root the result does not count.
    call MPI_Allreduce(a(1::2, 1), a(2::2, 1), 4, MPI_INTEGER, MPI_SUM, comm, ie)
    call must(names('MPI_Allreduce: argument sendbuf'), 'a reduction of more')
    if (rank == 0) call MPI_Reduce(a(:, 1), a(:, 2), 4, MPI_INTEGER, MPI_SUM, 0, comm, ie)
    if (rank == 1) call MPI_Reduce(a(:, 1), a(2::2, 2), 4, MPI_INTEGER, MPI_SUM, 0, comm, ie)
    call must(ie == MPI_SUCCESS, 'a short section elsewhere than at the root')
    call MPI_Reduce_scatter(a(1::2, 1), a(:, 2), [4], MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, ie)
    call must(names('MPI_Reduce_scatter: argument sendbuf'), 'parts of a reduction')
    call MPI_Alltoall(a(1::2, 1), 2, MPI_INTEGER, a(:, 2), 2, MPI_INTEGER, comm, ie)
    call must(names('MPI_Alltoall: argument sendbuf'), 'blocks beyond the end')
    call MPI_Allgatherv(a(:, 1), 1, MPI_INTEGER, a(1::2, 2), [1, 1], [0, 3], MPI_INTEGER, comm, ie)
    call must(names('MPI_Allgatherv: argument recvbuf'), 'places beyond the end')
    call MPI_Alltoallw(a(:, 1), [1, 1], [0, 4], [MPI_INTEGER, MPI_INTEGER], a(1::2, 2), [1, 1], [0, 12], &
                       [MPI_INTEGER, MPI_INTEGER], comm, ie)
    call must(names('MPI_Alltoallw: argument recvbuf'), 'datatypes beyond the end')
    call MPI_Alltoall(a(1::2, 1), 1, MPI_INTEGER, a(2::2, 2), 1, MPI_INTEGER, MPI_COMM_NULL, ie)
    call must(ie /= MPI_SUCCESS, 'no communicator')
    call MPI_Send(a(1::2, 1), -1, MPI_INTEGER, other, 0, comm, ie)
    call MPI_Error_class(ie, class)
    call must(class == MPI_ERR_COUNT, 'negative count')
    call MPI_Comm_free(comm)
  end subroutine
end program
