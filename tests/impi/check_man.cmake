# SPDX-License-Identifier: BSD-3-Clause
# The list of options in the man page is the one the program prints: SERVER and PAGE are given.
execute_process(COMMAND ${SERVER} -man-options OUTPUT_VARIABLE list RESULT_VARIABLE rc)
file(READ ${PAGE} page)
string(FIND "${page}" "checked by the tests\n${list}.\\\" options end" at)
string(LENGTH "${list}" len)
if(NOT rc EQUAL 0 OR len EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "the list of options in ${PAGE} differs from impi-server -man-options")
endif()
