# One ctest entry per test case, so that a failure names the case.
set(NANOBRAG_TEST_ENVIRONMENT
    "NANOBRAG=$<TARGET_FILE:nanobrag_program>"
    "NANOBRAG_TEST_DATA=${PROJECT_SOURCE_DIR}/tests/data"
    "NANOBRAG_SOURCE=${PROJECT_SOURCE_DIR}")

# Common properties. Each entry runs in a directory of its own.
function(nanobrag_test_properties name)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600) # of a machine with other work; a quick case takes seconds
  endif()
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/run/${name})
  file(MAKE_DIRECTORY ${directory})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
                       SKIP_RETURN_CODE 77 WORKING_DIRECTORY ${directory}
                       ENVIRONMENT "${NANOBRAG_TEST_ENVIRONMENT}")
endfunction()

# nanobrag_cases(EXE LABELS l... CASES c... [TIMEOUT s]): an entry per case, and one that
# fails when this list and the program's --list differ.
function(nanobrag_cases exe)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;CASES" ${ARGN})
  foreach(case IN LISTS arg_CASES)
    add_test(NAME ${exe}.${case} COMMAND ${exe} ${case})
    nanobrag_test_properties(${exe}.${case} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
  endforeach()
  list(JOIN arg_CASES "\n" expected)
  add_test(NAME ${exe}.list_is_complete COMMAND ${exe} --list)
  nanobrag_test_properties(${exe}.list_is_complete LABELS meta)
  set_tests_properties(${exe}.list_is_complete PROPERTIES
                       PASS_REGULAR_EXPRESSION "^${expected}\n$")
endfunction()

# nanobrag_test(EXE [SOURCES s...] LABELS l... CASES c... [TIMEOUT s]): the program EXE
# from EXE.c and SOURCES, and its cases.
function(nanobrag_test exe)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;CASES;SOURCES" ${ARGN})
  add_executable(${exe} ${exe}.c ${arg_SOURCES})
  target_link_libraries(${exe} PRIVATE test_support)
  nanobrag_cases(${exe} LABELS ${arg_LABELS} CASES ${arg_CASES} TIMEOUT ${arg_TIMEOUT})
endfunction()

# nanobrag_script(NAME SCRIPT LABELS l... [ARGS a...] [TIMEOUT s]): a shell script, exit
# status 0, 77 or failure; $NANOBRAG is the program.
function(nanobrag_script name script)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;ARGS" ${ARGN})
  add_test(NAME ${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${arg_ARGS})
  nanobrag_test_properties(${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
endfunction()
