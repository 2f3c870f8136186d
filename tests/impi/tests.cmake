# SPDX-License-Identifier: BSD-3-Clause
# The tests of IMPI, included by impi/CMakeLists.txt. They take half a minute together on an idle
# machine; the timeouts are for a busy one. Unit programs are found by pattern:
# unit_x.c becomes the test impi.x.

# The leak check of the sanitizer costs seconds a program on some machines. impi.nomem counts what
# is allocated and freed instead, in every build.
# libimpi_abi is loaded before our library, which is the other MPI in one test.
set(no_leak_check "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0")

file(GLOB unit_src CONFIGURE_DEPENDS ${PLI_IMPI_TESTS}/unit_*.c)
foreach(src ${unit_src})
    get_filename_component(name ${src} NAME_WE)
    string(REPLACE "unit_" "" short ${name})
    add_executable(impi_${name} ${src})
    target_include_directories(impi_${name} PRIVATE ${PLI_IMPI_TESTS})
    target_link_libraries(impi_${name} PRIVATE pli_impi_coll pli_impi_engine pli_impi_server)
    add_test(NAME impi.${short} COMMAND impi_${name})
    set_tests_properties(impi.${short} PROPERTIES TIMEOUT 120 ENVIRONMENT "${no_leak_check}")
endforeach()
target_link_options(impi_unit_nomem PRIVATE
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free)

# Fuzz targets, fuzz_x.c: with clang's libFuzzer where there is one, whatever compiler builds the
# rest; else with a small driver of our own that mutates at random.
find_program(PLI_IMPI_CLANG NAMES clang clang-14 clang-15 clang-16 clang-17 clang-18)
set(fuzz_probe ${CMAKE_CURRENT_BINARY_DIR}/fuzz_probe)
set(has_libfuzzer FALSE)
if(PLI_IMPI_CLANG)
    file(WRITE ${fuzz_probe}.c "#include <stddef.h>\n#include <stdint.h>\n"
        "int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { return d == 0 && n == 1; }\n")
    execute_process(COMMAND ${PLI_IMPI_CLANG} -fsanitize=fuzzer,address ${fuzz_probe}.c
        -o ${fuzz_probe} RESULT_VARIABLE probe OUTPUT_QUIET ERROR_QUIET)
    if(probe EQUAL 0)
        set(has_libfuzzer TRUE)
    endif()
endif()

file(GLOB fuzz_src CONFIGURE_DEPENDS ${PLI_IMPI_TESTS}/fuzz_*.c)
list(FILTER fuzz_src EXCLUDE REGEX "fuzz_main\\.c$")
file(GLOB fuzzed_src CONFIGURE_DEPENDS wire/*.c engine/*.c)
list(APPEND fuzzed_src ${server_src})
foreach(src ${fuzz_src})
    get_filename_component(name ${src} NAME_WE)
    string(REPLACE "fuzz_" "" short ${name})
    set(exe ${CMAKE_CURRENT_BINARY_DIR}/impi_${name})
    if(has_libfuzzer)
        add_custom_command(OUTPUT ${exe}
            COMMAND ${PLI_IMPI_CLANG} -std=c17 -g -O1 -D_GNU_SOURCE
                -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
                -I ${CMAKE_CURRENT_SOURCE_DIR} -I ${PLI_IMPI_TESTS}
                ${src} ${fuzzed_src} -o ${exe}
            DEPENDS ${src} ${fuzzed_src} VERBATIM)
        add_custom_target(build_impi_${name} ALL DEPENDS ${exe})
    else()
        add_executable(impi_${name} ${src} ${PLI_IMPI_TESTS}/fuzz_main.c ${fuzzed_src})
        target_link_libraries(impi_${name} PRIVATE pli_impi_flags)
        set_target_properties(impi_${name} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    endif()
    file(MAKE_DIRECTORY ${exe}_corpus)
    add_test(NAME impi.fuzz_${short}
        COMMAND ${exe} -max_total_time=${PLI_IMPI_FUZZ_SECONDS} -max_len=8192 -timeout=10
            -rss_limit_mb=1024 -print_final_stats=0 -verbosity=0 ${exe}_corpus)
    set_tests_properties(impi.fuzz_${short} PROPERTIES TIMEOUT 120 ENVIRONMENT "${no_leak_check}")
endforeach()

# The server, with fake clients.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME impi.server
    COMMAND Python3::Interpreter ${PLI_IMPI_TESTS}/test_server.py $<TARGET_FILE:impi-server>)
set_tests_properties(impi.server PROPERTIES TIMEOUT 300
    ENVIRONMENT "${no_leak_check};PYTHONDONTWRITEBYTECODE=1")
add_test(NAME impi.man COMMAND ${CMAKE_COMMAND} -D SERVER=$<TARGET_FILE:impi-server>
    -D PYTHON=${Python3_EXECUTABLE} -D SCRIPT=${PLI_IMPI_TESTS}/../../tools/lib/options.py
    -D TABLE=${CMAKE_CURRENT_SOURCE_DIR}/server/impi-server.opt
    -D PAGE=${PLI_IMPI_TESTS}/../../docs/man/impi-server.1.in
    -D OUT=${CMAKE_CURRENT_BINARY_DIR}/impi-server.1 -P ${PLI_IMPI_TESTS}/check_man.cmake)
set_tests_properties(impi.man PROPERTIES TIMEOUT 120 ENVIRONMENT "${no_leak_check}")

# A host with real sockets, among its like and with fake ones.
add_executable(impi_node ${PLI_IMPI_TESTS}/node.c)
target_include_directories(impi_node PRIVATE ${PLI_IMPI_TESTS})
target_link_libraries(impi_node PRIVATE pli_impi_engine)
add_test(NAME impi.node COMMAND Python3::Interpreter ${PLI_IMPI_TESTS}/test_node.py
    $<TARGET_FILE:impi-server> $<TARGET_FILE:impi_node>)
set_tests_properties(impi.node PROPERTIES TIMEOUT 300
    ENVIRONMENT "${no_leak_check};PYTHONDONTWRITEBYTECODE=1")
target_link_options(impi_unit_net PRIVATE -Wl,--wrap=readv,--wrap=sendmsg,--wrap=socket,--wrap=bind
    -Wl,--wrap=listen,--wrap=accept4,--wrap=connect,--wrap=epoll_create1,--wrap=epoll_ctl)
add_test(NAME impi.agent COMMAND Python3::Interpreter ${PLI_IMPI_TESTS}/test_agent.py
    $<TARGET_FILE:impi-server> $<TARGET_FILE:impi-agent>)
set_tests_properties(impi.agent PROPERTIES TIMEOUT 300
    ENVIRONMENT "${no_leak_check};PYTHONDONTWRITEBYTECODE=1")
add_test(NAME impi.tls COMMAND Python3::Interpreter ${PLI_IMPI_TESTS}/test_tls.py
    $<TARGET_FILE:impi-server> $<TARGET_FILE:impi_node>)
set_tests_properties(impi.tls PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "${no_leak_check};PYTHONDONTWRITEBYTECODE=1")

# Ordinary MPI programs, built for each other MPI that is there and, in the whole tree, for ours: one
# world over all of them, and one rank against the letter of the protocol. What an absent MPI leaves
# out is skipped and said.
foreach(program world letter)
    file(GLOB source CONFIGURE_DEPENDS ${PLI_IMPI_TESTS}/${program}*.c)
    file(GLOB header CONFIGURE_DEPENDS ${PLI_IMPI_TESTS}/${program}*.h)
    set(${program}_args --server $<TARGET_FILE:impi-server> --agent $<TARGET_FILE:impi-agent>)
    foreach(mpi ${PLI_IMPI_OTHERS})
        if(PLI_IMPI_MPICC_${mpi})
            set(exe ${CMAKE_CURRENT_BINARY_DIR}/impi_${program}.${mpi})
            add_custom_command(OUTPUT ${exe}
                COMMAND ${PLI_IMPI_MPICC_${mpi}} -O1 -g -w -I ${CMAKE_CURRENT_SOURCE_DIR}/shim ${source} -o ${exe} -pthread
                DEPENDS ${source} ${header} VERBATIM)
            add_custom_target(build_impi_${program}_${mpi} ALL DEPENDS ${exe})
            list(APPEND ${program}_args --other ${mpi} ${PLI_IMPI_SHIM_DIR}/libimpi-${mpi}.so ${exe})
        endif()
    endforeach()
    if(TARGET mpi_abi AND TARGET mpiexec)
        add_executable(impi_${program} ${source})
        target_include_directories(impi_${program} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/shim)
        target_link_libraries(impi_${program} PRIVATE mpi_abi)
        list(APPEND ${program}_args --ours $<TARGET_FILE:mpiexec> $<TARGET_FILE:impi_${program}>)
    endif()
endforeach()
if(TARGET mpi_abi AND TARGET mpiexec)
    list(APPEND world_args --abi ${PLI_IMPI_SHIM_DIR}/libimpi_abi.so)
endif()
# The library's lock, seen by the thread sanitizer: library and program are built once more. MPICH is
# clean under it; Open MPI's own threads are not, so it would say nothing there.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
check_c_source_compiles("int main(void) { return 0; }" PLI_IMPI_HAS_TSAN)
unset(CMAKE_REQUIRED_FLAGS)
if(PLI_IMPI_MPICC_mpich AND PLI_IMPI_HAS_TSAN)
    file(GLOB source CONFIGURE_DEPENDS ${PLI_IMPI_TESTS}/world*.c)
    set(lib ${CMAKE_CURRENT_BINARY_DIR}/libimpi-mpich-thread.so)
    set(exe ${CMAKE_CURRENT_BINARY_DIR}/impi_world.thread)
    add_custom_command(OUTPUT ${lib}
        COMMAND ${CMAKE_COMMAND} -E env CFLAGS=-fsanitize=thread
            ${CMAKE_CURRENT_SOURCE_DIR}/shim/build.sh ${PLI_IMPI_MPICC_mpich} ${lib}
        DEPENDS ${shim_dep} VERBATIM)
    add_custom_command(OUTPUT ${exe}
        COMMAND ${PLI_IMPI_MPICC_mpich} -fsanitize=thread -O1 -g -w -I ${CMAKE_CURRENT_SOURCE_DIR}/shim
            ${source} ${lib} -o ${exe} -pthread
        DEPENDS ${source} ${PLI_IMPI_TESTS}/world.h ${lib} VERBATIM)
    add_custom_target(build_impi_world_thread ALL DEPENDS ${exe})
    list(APPEND world_args --sanitized ${exe})
endif()
foreach(mpi ${PLI_IMPI_OTHERS})
    find_program(PLI_IMPI_MPIFORT_${mpi} mpifort.${mpi})
    set(has_fortran FALSE)
    if(PLI_IMPI_MPIFORT_${mpi}) # which may be there without the compiler it calls
        execute_process(COMMAND ${PLI_IMPI_MPIFORT_${mpi}} --version RESULT_VARIABLE rc
            OUTPUT_QUIET ERROR_QUIET)
        if(rc EQUAL 0)
            set(has_fortran TRUE)
        endif()
    endif()
    if(PLI_IMPI_MPICC_${mpi} AND has_fortran)
        set(exe ${CMAKE_CURRENT_BINARY_DIR}/impi_fortran.${mpi})
        add_custom_command(OUTPUT ${exe} COMMAND ${PLI_IMPI_MPIFORT_${mpi}} ${PLI_IMPI_TESTS}/world.f90 -o ${exe}
            DEPENDS ${PLI_IMPI_TESTS}/world.f90 VERBATIM)
        add_custom_target(build_impi_fortran_${mpi} ALL DEPENDS ${exe})
        list(APPEND world_args --fortran ${mpi} ${exe})
    endif()
endforeach()
foreach(case alone two ours abi strict three many own threads sanitized fortran tls nat lost)
    add_test(NAME impi.world_${case}
        COMMAND Python3::Interpreter ${PLI_IMPI_TESTS}/test_world.py ${world_args} ${case})
    set_tests_properties(impi.world_${case} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
        ENVIRONMENT "${no_leak_check};PYTHONDONTWRITEBYTECODE=1")
endforeach()
add_test(NAME impi.letter
    COMMAND Python3::Interpreter ${PLI_IMPI_TESTS}/test_letter.py ${letter_args})
set_tests_properties(impi.letter PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "${no_leak_check};PYTHONDONTWRITEBYTECODE=1")
