# SPDX-License-Identifier: BSD-3-Clause
# Every option that the server's --help shows is in the manual page that is made from its table.
# SERVER, PYTHON, SCRIPT, TABLE, PAGE and OUT are given.
execute_process(COMMAND ${SERVER} -help OUTPUT_VARIABLE help RESULT_VARIABLE rc)
execute_process(COMMAND ${PYTHON} -B ${SCRIPT} man ${TABLE} ${PAGE} ${OUT} RESULT_VARIABLE made)
file(READ ${OUT} page)
string(REPLACE "\\-" "-" page "${page}")
string(REGEX MATCHALL "\n  -[a-z]+" options "${help}")
list(LENGTH options n)
foreach(option ${options})
    string(STRIP "${option}" option)
    string(FIND "${page}" "\\fB${option}\\fR" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "${option} of impi-server -help is not in ${OUT}")
    endif()
endforeach()
if(NOT rc EQUAL 0 OR NOT made EQUAL 0 OR n LESS 10)
    message(FATAL_ERROR "impi-server -help shows ${n} options")
endif()
