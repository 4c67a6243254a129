# cmake -DCOMMAND=... -DREPORT=... -P nvcc.cmake: runs nvcc, and keeps what it says, with
# -Xptxas -v the registers and spills of every kernel, in the file REPORT.
file(REMOVE ${REPORT})
execute_process(COMMAND ${COMMAND} RESULT_VARIABLE status OUTPUT_VARIABLE said
                ERROR_VARIABLE said)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "nvcc failed (${status}):\n${said}")
endif()
file(WRITE ${REPORT} "${said}")
# what is not ptxas' report is a warning
string(REGEX MATCHALL "[^\n]*warning[^\n]*" warnings "${said}")
list(REMOVE_DUPLICATES warnings) # said once for each architecture
foreach(line IN LISTS warnings)
  message(STATUS "${line}")
endforeach()
