# SPDX-License-Identifier: BSD-3-Clause
# libimpi for each other MPI that is found, and its sources for the ones that are not.
set(PLI_IMPI_OTHERS mpich openmpi)
set(PLI_IMPI_SHIM_DIR ${CMAKE_BINARY_DIR}/lib)
file(MAKE_DIRECTORY ${PLI_IMPI_SHIM_DIR})
file(GLOB shim_dep CONFIGURE_DEPENDS shim/*.[ch] shim/*.def shim/*.awk agent/*.[ch] coll/*.[ch] wire/*.[ch] engine/*.[ch]
    ../src/onesided/region_wire.h ../src/rma/win_wire.h ../src/io/file_wire.h ../src/io/file_wire.def)
foreach(mpi ${PLI_IMPI_OTHERS})
    find_program(PLI_IMPI_MPICC_${mpi} mpicc.${mpi})
    if(PLI_IMPI_MPICC_${mpi})
        set(lib ${PLI_IMPI_SHIM_DIR}/libimpi-${mpi}.so)
        add_custom_command(OUTPUT ${lib}
            COMMAND ${CMAKE_COMMAND} -E env $<$<BOOL:${PLI_IMPI_WERROR}>:CFLAGS=-Werror>
                ${CMAKE_CURRENT_SOURCE_DIR}/shim/build.sh ${PLI_IMPI_MPICC_${mpi}} ${lib}
            DEPENDS ${shim_dep} ${CMAKE_CURRENT_SOURCE_DIR}/shim/build.sh
            COMMAND_EXPAND_LISTS VERBATIM) # without a flag there is no empty word for env to run
        add_custom_target(libimpi-${mpi} ALL DEPENDS ${lib})
        install(PROGRAMS ${lib} DESTINATION lib)
    else()
        message(STATUS "no mpicc.${mpi}: libimpi for it is not built")
    endif()
endforeach()
# One for every library with the standard ABI, whose header is ours.
if(TARGET mpi_abi)
    set(lib ${PLI_IMPI_SHIM_DIR}/libimpi_abi.so)
    add_custom_command(OUTPUT ${lib}
        COMMAND ${CMAKE_COMMAND} -E env "CPATH=${CMAKE_BINARY_DIR}/gen/include" # its name may have a blank, which CFLAGS cannot
            $<$<BOOL:${PLI_IMPI_WERROR}>:CFLAGS=-Werror> CC=${CMAKE_C_COMPILER} ${CMAKE_CURRENT_SOURCE_DIR}/shim/build.sh ${CMAKE_C_COMPILER} ${lib}
        DEPENDS ${shim_dep} ${CMAKE_CURRENT_SOURCE_DIR}/shim/build.sh ${CMAKE_BINARY_DIR}/gen/stamp COMMAND_EXPAND_LISTS VERBATIM)
    add_custom_target(libimpi_abi ALL DEPENDS ${lib})
    add_dependencies(libimpi_abi gen)
    install(PROGRAMS ${lib} DESTINATION lib)
endif()
install(FILES shim/impi.h DESTINATION include)
install(FILES ../src/onesided/region_wire.h DESTINATION share/pliant/src/onesided)
install(FILES ../src/rma/win_wire.h DESTINATION share/pliant/src/rma)
install(FILES ../src/io/file_wire.h ../src/io/file_wire.def DESTINATION share/pliant/src/io)
foreach(room shim agent coll wire engine)
    install(DIRECTORY ${room} DESTINATION share/pliant/impi USE_SOURCE_PERMISSIONS
        FILES_MATCHING PATTERN "*.[ch]" PATTERN "*.def" PATTERN "*.awk" PATTERN "build.sh")
endforeach()
