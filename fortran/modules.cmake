# Which Fortran compilers there are, and the modules for each. build-modules does the work, here and for those who
# call mpifort --build-modules later.
set(PLIANT_FC "" CACHE STRING "The Fortran compiler of mpifort; empty: gfortran, or another that is found")
set(FORTRAN_FOUND "")  # "name of the folder;command" pairs, flat
set(FORTRAN_NAMES "")
foreach(candidate ${PLIANT_FC} gfortran flang-new flang flang-new-19 flang-new-16 ifx nvfortran)
    find_program(PLIANT_FC_${candidate} ${candidate})
    mark_as_advanced(PLIANT_FC_${candidate})
    if(NOT PLIANT_FC_${candidate})
        continue()
    endif()
    execute_process(COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/build-modules --name ${PLIANT_FC_${candidate}}
                    OUTPUT_VARIABLE name OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(failed OR name IN_LIST FORTRAN_NAMES)
        continue()
    endif()
    list(APPEND FORTRAN_NAMES ${name})
    set(FORTRAN_COMMAND_${name} ${PLIANT_FC_${candidate}})
endforeach()
# The first is mpifort's. Where there is none, mpifort says what to install.
set(MPIFORT_COMPILER gfortran)
set(MPIFORT_NAME "")
if(FORTRAN_NAMES)
    list(GET FORTRAN_NAMES 0 MPIFORT_NAME)
    set(MPIFORT_COMPILER ${FORTRAN_COMMAND_${MPIFORT_NAME}})
endif()
