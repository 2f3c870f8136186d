C     mpif.h in fixed form: messages, strings, special addresses, statuses, removed functions. Two ranks.
      program main
      implicit none
      include 'mpif.h'
      integer ierr, rank, size, failed, i, n
      integer status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE,4)
      integer requests(4), numbers(8), index, indices(4)
      integer comm, group, info, code, class, dims(2), coords(2)
      integer newtype, extent, address, lengths(2), places(2)
      integer types(2), ranges(3,1)
      integer request
      logical flag, periods(2), seen(2)
      character*(MPI_MAX_OBJECT_NAME) name
      character*20 value
      character*6 short
      integer(kind=MPI_ADDRESS_KIND) wide, base
      double precision t
      common /counts/ failed
      failed = 0
      call mpi_init(ierr)
      call check(ierr .eq. MPI_SUCCESS, 'mpi_init')
      call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
      call mpi_comm_size(MPI_COMM_WORLD, size, ierr)
      call check(size .eq. 2, 'two ranks')
      call mpi_initialized(flag, ierr)
      call check(flag, 'initialized is true')
      call mpi_finalized(flag, ierr)
      call check(.not. flag, 'finalized is false')
      t = mpi_wtime()
      call check(mpi_wtime() .ge. t .and. mpi_wtick() .gt. 0d0, 'time')
C     A message, its status, a count.
      do i = 1, 8
         numbers(i) = 0
      end do
      if (rank .eq. 0) then
         do i = 1, 8
            numbers(i) = i
         end do
         call mpi_send(numbers, 5, MPI_INTEGER, 1, 7,
     &                 MPI_COMM_WORLD, ierr)
      else
         call mpi_recv(numbers, 8, MPI_INTEGER, MPI_ANY_SOURCE,
     &                 MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
         call mpi_get_count(status, MPI_INTEGER, n, ierr)
         call check(n .eq. 5, 'count of a message')
         call check(status(MPI_SOURCE) .eq. 0, 'source')
         call check(status(MPI_TAG) .eq. 7, 'tag')
         call check(numbers(5) .eq. 5 .and. numbers(6) .eq. 0, 'data')
      end if
      call mpi_barrier(MPI_COMM_WORLD, ierr)
C     Indices count from 1; statuses may be ignored.
      do i = 1, 4
         call mpi_irecv(numbers(i), 1, MPI_INTEGER, 1 - rank, i,
     &                  MPI_COMM_WORLD, requests(i), ierr)
      end do
      n = 40 + rank
      call mpi_send(n, 1, MPI_INTEGER, 1 - rank, 3, MPI_COMM_WORLD,
     &              ierr)
      call mpi_waitany(4, requests, index, status, ierr)
      call check(index .eq. 3, 'index of mpi_waitany')
      call check(requests(3) .eq. MPI_REQUEST_NULL, 'request is null')
      call check(numbers(3) .eq. 41 - rank, 'data of mpi_waitany')
      call mpi_testany(4, requests, index, flag, status, ierr)
      call check(.not. flag, 'mpi_testany has none')
      call mpi_barrier(MPI_COMM_WORLD, ierr)
      n = 50
      call mpi_send(n, 1, MPI_INTEGER, 1 - rank, 4, MPI_COMM_WORLD,
     &              ierr)
      call mpi_waitsome(4, requests, n, indices, statuses, ierr)
      call check(n .eq. 1 .and. indices(1) .eq. 4, 'mpi_waitsome')
      call check(statuses(MPI_TAG,1) .eq. 4, 'status of mpi_waitsome')
      call mpi_barrier(MPI_COMM_WORLD, ierr)
      n = 60
      call mpi_send(n, 1, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD,
     &              ierr)
      call mpi_send(n, 1, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD,
     &              ierr)
      call mpi_waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
      call check(ierr .eq. MPI_SUCCESS, 'mpi_waitall')
      call mpi_waitany(4, requests, index, MPI_STATUS_IGNORE, ierr)
      call check(index .eq. MPI_UNDEFINED, 'none is active')
C     In place, and absolute addresses.
      n = rank + 1
      call mpi_allreduce(MPI_IN_PLACE, n, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      call check(n .eq. 3, 'MPI_IN_PLACE')
      n = 0
      if (rank .eq. 0) n = 77
      call mpi_get_address(n, wide, ierr)
      call mpi_get_address(MPI_BOTTOM, base, ierr)
      call check(base .eq. 0, 'the address of MPI_BOTTOM')
      call mpi_type_create_hindexed(1, 1, wide, MPI_INTEGER, newtype,
     &                              ierr)
      call mpi_type_commit(newtype, ierr)
      call mpi_bcast(MPI_BOTTOM, 1, newtype, 0, MPI_COMM_WORLD, ierr)
      call check(n .eq. 77, 'MPI_BOTTOM')
      call mpi_type_free(newtype, ierr)
      call check(newtype .eq. MPI_DATATYPE_NULL, 'type is null')
C     Strings: trailing blanks do not count, short ones are cut.
      call mpi_comm_dup(MPI_COMM_WORLD, comm, ierr)
      call mpi_comm_set_name(comm, ' my name  ', ierr)
      call mpi_comm_get_name(comm, name, n, ierr)
      call check(name .eq. ' my name' .and. n .eq. 8, 'name')
      call mpi_comm_get_name(comm, short, n, ierr)
      call check(short .eq. ' my na', 'a name that is cut')
      call mpi_info_create(info, ierr)
      call mpi_info_set(info, '  key ', '  the value ', ierr)
      call mpi_info_get(info, 'key', 20, value, flag, ierr)
      call check(flag .and. value .eq. 'the value', 'info value')
      value = 'as before'
      call mpi_info_get(info, 'none', 20, value, flag, ierr)
      call check(.not. flag .and. value .eq. 'as before', 'no value')
      n = 0
      call mpi_info_get_string(info, 'key', n, value, flag, ierr)
      call check(flag .and. n .eq. 9, 'length of a value')
      call check(value .eq. 'as before', 'length 0 writes nothing')
      call mpi_info_get_string(info, 'key', n, value, flag, ierr)
      call check(value .eq. 'the value', 'value by its length')
      call mpi_info_free(info, ierr)
C     LOGICALs.
      dims(1) = 2
      dims(2) = 1
      periods(1) = .true.
      periods(2) = .false.
      call mpi_cart_create(comm, 2, dims, periods, .false., group,
     &                     ierr)
      seen(1) = .false.
      seen(2) = .true.
      call mpi_cart_get(group, 2, dims, seen, coords, ierr)
      call check(seen(1) .and. .not. seen(2), 'periods')
      call check(coords(1) .eq. rank, 'coordinates')
      call mpi_comm_free(group, ierr)
C     Groups by ranges of three.
      call mpi_comm_group(comm, group, ierr)
      ranges(1,1) = 1
      ranges(2,1) = 0
      ranges(3,1) = -1
      call mpi_group_range_incl(group, 1, ranges, n, ierr)
      call mpi_group_rank(n, i, ierr)
      call check(i .eq. 1 - rank, 'mpi_group_range_incl')
      call mpi_group_free(n, ierr)
      call mpi_group_free(group, ierr)
C     Errors.
      call mpi_comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierr)
      call mpi_send(n, -1, MPI_INTEGER, 0, 0, comm, code)
      call mpi_error_class(code, class, ierr)
      call check(class .eq. MPI_ERR_COUNT, 'class of an error')
      call mpi_comm_free(comm, ierr)
C     A request that outlives its call; a null status in all of them.
      call mpi_isend(n, 1, MPI_INTEGER, MPI_PROC_NULL, 0,
     &               MPI_COMM_WORLD, request, ierr)
      call mpi_wait(request, MPI_STATUS_IGNORE, ierr)
      call check(request .eq. MPI_REQUEST_NULL, 'mpi_wait')
C     What MPI 3.0 took out has default INTEGERs.
      lengths(1) = 1
      lengths(2) = 2
      places(1) = 0
      places(2) = 8
      types(1) = MPI_INTEGER
      types(2) = MPI_REAL
      call mpi_type_struct(2, lengths, places, types, newtype, ierr)
      call mpi_type_extent(newtype, extent, ierr)
      call check(extent .eq. 16, 'extent of a structure')
      call mpi_type_free(newtype, ierr)
      call mpi_type_hvector(2, 1, 12, MPI_INTEGER, newtype, ierr)
      call mpi_type_ub(newtype, address, ierr)
      call check(address .eq. 16, 'mpi_type_ub')
      call mpi_type_free(newtype, ierr)
      call pmpi_finalize(ierr)
      call check(ierr .eq. MPI_SUCCESS, 'pmpi_finalize')
      if (failed .gt. 0) stop 1
      if (rank .eq. 0) print '(a)', 'all good'
      end

      subroutine check(ok, what)
      implicit none
      logical ok
      character*(*) what
      integer failed
      common /counts/ failed
      if (.not. ok) then
         failed = failed + 1
         print '(2a)', 'failed: ', what
      end if
      end
