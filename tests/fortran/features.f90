! What this library has beyond messages, from Fortran: the argument of the program says which. tests/tool/fortran_features.py runs it.
module features_state
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer, parameter :: n = 1000
  real(8) :: grid(n) ! what a checkpoint keeps
  integer :: step = 0, n_unpacked = 0
  interface
    ! The ways out that Fortran does not have.
    integer(c_int) function c_raise(signal) bind(C, name="raise")
      import
      integer(c_int), value :: signal
    end function
  end interface
contains
  subroutine must(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (.not. ok) then
      print '(2a)', 'failed: ', what
      call MPI_Abort(MPI_COMM_WORLD, 7)
    end if
  end subroutine

  subroutine state_size(arg, bytes, ierror)
    integer(MPI_ADDRESS_KIND) :: arg
    integer(MPI_COUNT_KIND) :: bytes
    integer :: ierror
    call must(arg == 77, 'the argument of the state')
    bytes = 8 * (n + 1)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine state_pack(arg, buf, bytes, ierror)
    integer(MPI_ADDRESS_KIND) :: arg
    type(c_ptr), value :: buf
    integer(MPI_COUNT_KIND) :: bytes
    integer :: ierror
    real(8), pointer :: room(:)
    call must(arg == 77 .and. bytes == 8 * (n + 1), 'the room for the state')
    call c_f_pointer(buf, room, [n + 1])
    room(1) = step
    room(2:) = grid
    ierror = MPI_SUCCESS
  end subroutine

  subroutine state_unpack(arg, piece, n_pieces, buf, bytes, ierror)
    integer(MPI_ADDRESS_KIND) :: arg
    integer :: piece, n_pieces
    type(c_ptr), value :: buf
    integer(MPI_COUNT_KIND) :: bytes
    integer :: ierror
    real(8), pointer :: room(:)
    call must(arg == 77 .and. piece >= 0 .and. piece < n_pieces .and. bytes == 8 * (n + 1), 'a piece of the state')
    call c_f_pointer(buf, room, [n + 1])
    step = nint(room(1))
    if (n_unpacked == 0) grid = 0
    grid = grid + room(2:)
    n_unpacked = n_unpacked + 1
    ierror = MPI_SUCCESS
  end subroutine
end module

program features
  use features_state
  use omp_lib
  implicit none
  character(len=20) :: mode
  integer :: rank, ranks, provided, i
  logical :: is_up
  call get_command_argument(1, mode)
  if (mode == 'endpoint_ranks') then
    call endpoint_ranks()
    stop
  end if
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  call must(provided == MPI_THREAD_MULTIPLE, 'many threads')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  select case (mode)
  case ('threads')
    call threads()
  case ('endpoints')
    call endpoints()
  case ('sessions')
    call sessions()
  case ('world')
    call world()
  case ('fork')
    call fork()
  case ('failure')
    call failure()
  case ('state')
    call state()
  case ('image')
    call image()
  case ('files')
    call files()
  case ('mistake')
    call mistake()
  case ('hang')
    call MPI_Recv(i, 1, MPI_INTEGER, mod(rank + 1, ranks), 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ! the line of the deadlock
  case default
    call must(.false., 'no such mode')
  end select
  call MPI_Initialized(is_up)
  call MPI_Finalize()
  if (rank == 0) print '(3a)', trim(mode), ': ', 'all good'

contains
  ! Sections of one array, sent and received by four threads at once.
  subroutine threads()
    integer, parameter :: many = 200
    integer :: plate(4, 64), got(4, 64), other, me, round
    type(MPI_Request) :: requests(2)
    other = mod(rank + 1, ranks)
    plate = reshape([(i, i = 1, 256)], [4, 64]) + 1000 * rank
    got = -1
    !$omp parallel num_threads(4) private(me, round, requests)
    me = omp_get_thread_num() + 1
    do round = 1, many
      call MPI_Irecv(got(me, :), 64, MPI_INTEGER, MPI_ANY_SOURCE, me, MPI_COMM_WORLD, requests(1))
      call MPI_Isend(plate(me, :), 64, MPI_INTEGER, other, me, MPI_COMM_WORLD, requests(2)) ! sent by threads
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    end do
    !$omp end parallel
    call must(all(got == plate + 1000 * (modulo(rank - 1, ranks) - rank)), 'sections by threads')
  end subroutine

  ! Every thread is a rank; copied sections of reductions belong to their threads.
  subroutine endpoints()
    type(MPI_Comm) :: eps(3)
    integer :: me, total, matrix(2, 3), sums(2, 3), all_ranks, mine
    type(MPI_Request) :: request
    call MPI_Comm_create_endpoints(MPI_COMM_WORLD, 3, MPI_INFO_NULL, eps)
    !$omp parallel num_threads(3) private(me, total, matrix, sums, all_ranks, mine, request)
    me = omp_get_thread_num() + 1
    call MPI_Comm_rank(eps(me), mine)
    call MPI_Comm_size(eps(me), all_ranks)
    call must(all_ranks == 3 * ranks .and. mine == 3 * rank + me - 1, 'ranks of endpoints')
    matrix = mine
    sums = -1
    call MPI_Iallreduce(matrix(2, :), sums(1, :), 3, MPI_INTEGER, MPI_SUM, eps(me), request) ! reduced by threads
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    total = all_ranks * (all_ranks - 1) / 2
    call must(all(sums(1, :) == total) .and. all(sums(2, :) == -1), 'a reduction of endpoints')
    matrix = mine
    call MPI_Sendrecv_replace(matrix(1, :), 3, MPI_INTEGER, mod(mine + 1, all_ranks), 5, &
                              modulo(mine - 1, all_ranks), 5, eps(me), MPI_STATUS_IGNORE)
    call must(all(matrix(1, :) == modulo(mine - 1, all_ranks)) .and. all(matrix(2, :) == mine), 'a ring of endpoints')
    call MPI_Comm_free(eps(me))
    !$omp end parallel
  end subroutine

  ! The program itself asks for two ranks in each process.
  subroutine endpoint_ranks()
    integer :: mine, total, size
    call MPI_Init_endpoints(2, MPI_THREAD_MULTIPLE, provided)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    !$omp parallel num_threads(2) private(mine, total, size)
    call MPI_Comm_endpoint_attach(MPI_COMM_ENDPOINTS, omp_get_thread_num())
    call MPI_Comm_rank(MPI_COMM_ENDPOINTS, mine)
    call MPI_Comm_size(MPI_COMM_ENDPOINTS, size)
    call must(size == 2 * ranks .and. mine == 2 * rank + omp_get_thread_num(), 'a rank for each thread')
    call MPI_Allreduce(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_ENDPOINTS)
    call must(total == size * (size - 1) / 2, 'a sum of threads')
    call MPI_Comm_detach(MPI_COMM_ENDPOINTS)
    !$omp end parallel
    call MPI_Finalize()
    if (rank == 0) print '(a)', 'endpoint_ranks: all good'
  end subroutine

  subroutine sessions()
    type(MPI_Session) :: session
    type(MPI_Group) :: group
    type(MPI_Comm) :: comm
    type(MPI_Info) :: info
    integer :: psets, length, total, k
    logical :: flag
    character(len=MPI_MAX_PSET_NAME_LEN) :: name
    character(len=20) :: value
    do k = 1, 3 ! one after another: each cleans up
      call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
      call MPI_Session_get_num_psets(session, MPI_INFO_NULL, psets)
      call must(psets >= 2, 'process sets')
      length = MPI_MAX_PSET_NAME_LEN
      call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name)
      call must(name == 'mpi://WORLD' .or. name == 'mpi://SELF' .or. length > 0, 'the name of a set')
      call MPI_Session_get_pset_info(session, 'mpi://WORLD', info)
      length = 20
      call MPI_Info_get_string(info, 'mpi_size', length, value, flag)
      read (value, *) total
      call must(flag .and. total == ranks, 'the size of a set')
      call MPI_Info_free(info)
      call MPI_Group_from_session_pset(session, 'mpi://WORLD', group)
      call MPI_Comm_create_from_group(group, 'features', MPI_INFO_NULL, MPI_ERRORS_RETURN, comm)
      call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, comm)
      call must(total == ranks * (ranks - 1) / 2, 'a sum in a session')
      call MPI_Comm_free(comm)
      call MPI_Group_free(group)
      call MPI_Session_finalize(session)
    end do
  end subroutine

  ! The world grows from two ranks to four and shrinks to one; the numbers move with it.
  subroutine world()
    type(MPI_Comm) :: now, next
    type(MPI_Info) :: info
    integer(8), allocatable :: old(:), new(:)
    integer(MPI_COUNT_KIND) :: had, has
    integer :: plan, size
    integer(8) :: mine, total
    call MPIX_Comm_world_version(MPI_COMM_WORLD, plan)
    now = MPI_COMM_NULL
    allocate (old(0))
    if (plan == 0) then
      now = MPI_COMM_WORLD
      old = [(int(rank, 8) * (n / 2) + i, i = 1, n / 2)]
    end if
    do
      info = MPI_INFO_NULL
      if (now /= MPI_COMM_NULL) then ! a new rank asks for nothing: it goes where it was called
        call MPI_Comm_size(now, size)
        if (size == 1) exit
        call MPI_Info_create(info)
        call MPI_Info_set(info, 'size', merge('4', '1', size == 2))
      end if
      call MPIX_World_next(next, info)
      if (info /= MPI_INFO_NULL) call MPI_Info_free(info)
      call MPIX_Plan_create_block(now, next, int(n, MPI_COUNT_KIND), plan)
      call MPIX_Plan_get_count(plan, had, has)
      call must(had == ubound(old, 1), 'what a rank had')
      allocate (new(has))
      call MPIX_Plan_execute(plan, old, new, MPI_INTEGER8)
      call MPIX_Plan_free(plan)
      call move_alloc(new, old)
      now = next
      if (now == MPI_COMM_NULL) exit ! this rank is to leave
      call MPI_Comm_size(now, size)
      call MPI_Comm_rank(now, rank)
      mine = sum(old)
      call MPI_Allreduce(mine, total, 1, MPI_INTEGER8, MPI_SUM, now)
      call must(total == int(n, 8) * (n + 1) / 2, 'the numbers of a world')
      if (rank == 0) print '(a, i0)', 'world of ', size
    end do
  end subroutine

  subroutine fork()
    integer :: made, before, total
    integer, allocatable :: memory(:)
    before = ranks
    allocate (memory(n), source=rank)
    call MPI_Fork(2, made)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Allreduce(memory(n), total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call must(ranks == before + 2, 'a world after a fork')
    call must(merge(made == 2, made == 0, rank < before) .or. made >= 0, 'what a fork says')
    call must(all(memory == memory(1)) .and. total >= 1, 'memory of a clone')
  end subroutine

  ! A rank dies: the others are told, agree, and go on without it.
  subroutine failure()
    type(MPI_Comm) :: fewer, later
    type(MPI_Group) :: group
    type(MPI_Request) :: request
    integer :: ierror, class, flag, total, gone, token(4, 4)
    logical :: is_revoked
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    if (rank == 1) i = c_raise(9)
    token = 0
    call MPI_Recv(token(1, :), 4, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Error_class(ierror, class)
    call must(class == MPIX_ERR_PROC_FAILED .or. class == MPIX_ERR_REVOKED, 'the class of a failure')
    call MPIX_Comm_revoke(MPI_COMM_WORLD)
    call MPIX_Comm_is_revoked(MPI_COMM_WORLD, is_revoked)
    call must(is_revoked, 'a communicator is revoked')
    call MPIX_Comm_get_failed(MPI_COMM_WORLD, group)
    call MPI_Group_size(group, gone)
    call must(gone == 1, 'the group of the failed')
    call MPI_Group_free(group)
    flag = 6 + rank / 2 ! 6 and 7
    call MPIX_Comm_agree(MPI_COMM_WORLD, flag, ierror)
    call must(flag == 6, 'an agreement')
    call MPIX_Comm_shrink(MPI_COMM_WORLD, fewer)
    later = MPI_COMM_NULL
    call MPIX_Comm_ishrink(MPI_COMM_WORLD, later, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call must(later /= MPI_COMM_NULL, 'a handle that comes later')
    call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, later)
    call must(total == ranks - 1, 'the survivors')
    call MPI_Comm_free(later)
    call MPI_Comm_free(fewer)
  end subroutine

  ! Registered state: the first job makes a checkpoint and dies, the next begins from it, perhaps with another number of ranks.
  subroutine state()
    logical :: is_restarted, wanted
    integer :: pieces
    real(8) :: total
    call MPIX_Checkpoint_register('grid', state_size, state_pack, state_unpack, 77_MPI_ADDRESS_KIND)
    call MPIX_Checkpoint_restore(MPI_COMM_WORLD, pieces)
    call must(pieces == 0 .or. pieces == 2, 'the pieces')
    if (pieces == 0) grid = rank + 1
    call must((n_unpacked > 0) .eqv. (step > 0), 'what is restored')
    call MPI_Bcast(step, 1, MPI_INTEGER, 0, MPI_COMM_WORLD) ! a rank may have no piece
    do step = step + 1, 4
      grid = grid + 1
      call MPIX_Checkpoint_wanted(wanted)
      if (step == 2 .and. pieces == 0) then
        call MPIX_Checkpoint(MPI_COMM_WORLD, is_restarted)
        call must(.not. is_restarted, 'a checkpoint of state')
        if (rank == 0) i = c_raise(9)
        call MPI_Barrier(MPI_COMM_WORLD)
      end if
    end do
    call MPI_Allreduce(grid(n), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
    ! Two ranks with 1 and 2, two steps each, and two steps after the restart by however many there are.
    call must(nint(total) == 3 + 4 + 2 * ranks, 'the sum after a restart')
  end subroutine

  ! An image of the processes: a persistent request, a section that is being received and a unit that is open go with it.
  subroutine image()
    logical :: is_restarted
    integer :: plate(3, 8), other, unit
    type(MPI_Request) :: requests(2)
    other = mod(rank + 1, ranks)
    plate = rank
    open (newunit=unit, status='scratch')
    write (unit, *) 4711 + rank
    call MPI_Irecv(plate(2, :), 8, MPI_INTEGER, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, requests(1))
    call MPI_Send_init(plate(1, :), 8, MPI_INTEGER, other, 3, MPI_COMM_WORLD, requests(2))
    call MPIX_Checkpoint(MPI_COMM_WORLD, is_restarted)
    if (.not. is_restarted) then
      if (rank == 0) i = c_raise(9)
      call MPI_Barrier(MPI_COMM_WORLD)
    end if
    call MPI_Start(requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_Request_free(requests(2))
    call must(all(plate(2, :) == modulo(rank - 1, ranks)) .and. all(plate(1::2, :) == rank), 'a section after a restart')
    rewind (unit)
    read (unit, *) i
    close (unit)
    call must(i == 4711 + rank, 'a file of Fortran after a restart')
  end subroutine

  ! Every second column goes to the file, and comes back as a row.
  subroutine files()
    type(MPI_File) :: file
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    type(MPI_Datatype) :: filetype
    integer :: a(6, 8), b(4, 12), count
    character(len=200) :: name
    call get_command_argument(2, name)
    a = reshape([(i, i = 1, 48)], [6, 8]) + 100 * rank
    call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call MPI_Type_vector(12, 1, ranks, MPI_INTEGER, filetype)
    call MPI_Type_commit(filetype)
    call MPI_File_set_view(file, int(4 * rank, MPI_OFFSET_KIND), MPI_INTEGER, filetype, 'native', MPI_INFO_NULL)
    call MPI_File_write_all(file, a(1:6:2, 2:8:2), 12, MPI_INTEGER, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call must(count == 12, 'a section in a file')
    b = -1
    call MPI_File_iread_at(file, 0_MPI_OFFSET_KIND, b(3, :), 12, MPI_INTEGER, request)
    call MPI_Wait(request, status)
    call must(all(b(3, :) == reshape(a(1:6:2, 2:8:2), [12])) .and. all(b([1, 2, 4], :) == -1), 'a row from a file')
    b = -1
    call MPI_File_read_at_all_begin(file, 0_MPI_OFFSET_KIND, b(2, 12:1:-1), 12, MPI_INTEGER)
    call MPI_File_read_at_all_end(file, b(2, 12:1:-1), status)
    call must(all(b(2, 12:1:-1) == reshape(a(1:6:2, 2:8:2), [12])), 'a row backwards from a file')
    call MPI_Type_free(filetype)
    call MPI_File_close(file)
  end subroutine

  ! For mpiexec --check: the types differ.
  subroutine mistake()
    real :: r(2, 4)
    integer :: k(4)
    r = 1
    k = 0
    if (rank == 0) call MPI_Send(r(1, :), 4, MPI_REAL, 1, 5, MPI_COMM_WORLD) ! there: type
    if (rank == 1) call MPI_Recv(k, 4, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ! here: type
  end subroutine
end program
