# Puts the version, and the date of its chapter in CHANGELOG.md, into the headings of the installed manual pages.
# Called at the end of their installation with VERSION and CHANGES.
file(STRINGS ${CHANGES} line REGEX "^## ${VERSION}, " LIMIT_COUNT 1)
string(REGEX MATCH "[0-9]+-[0-9]+-[0-9]+$" date "${line}") # empty where it is not yet released
foreach(page ${CMAKE_INSTALL_MANIFEST_FILES})
    if(page MATCHES "/man[137]/")
        file(READ "$ENV{DESTDIR}${page}" text)
        string(REPLACE "\"\" \"Pliant MPI\"" "\"${date}\" \"Pliant MPI ${VERSION}\"" stamped "${text}")
        if(NOT stamped STREQUAL text)
            file(WRITE "$ENV{DESTDIR}${page}" "${stamped}")
        endif()
    endif()
endforeach()
