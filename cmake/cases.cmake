# One ctest entry per test case, so that a failure names the case. The cases of a program are
# those that it prints when asked (cmake/list_cases.cmake), after each time that it is linked.
set(NANOBRAG_TEST_ENVIRONMENT
    "NANOBRAG=$<TARGET_FILE:nanobrag_program>"
    "NANOBRAG_TEST_DATA=${PROJECT_SOURCE_DIR}/tests/data"
    "NANOBRAG_SOURCE=${PROJECT_SOURCE_DIR}")
set(NANOBRAG_TEST_TIMEOUT 600) # of a machine with other work; a quick case takes seconds

# Common properties. Each entry runs in a directory of its own.
function(nanobrag_test_properties name)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${NANOBRAG_TEST_TIMEOUT})
  endif()
  set(directory ${CMAKE_CURRENT_BINARY_DIR}/run/${name})
  file(MAKE_DIRECTORY ${directory})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
                       SKIP_RETURN_CODE 77 WORKING_DIRECTORY ${directory}
                       ENVIRONMENT "${NANOBRAG_TEST_ENVIRONMENT}")
endfunction()

# An entry NAME.CASE for each case of the program EXE, which its directory has made; those of
# SLOW have the label slow too, those of ALONE run with no other beside them; those of BUT have
# none. With WHOLE a case that skips itself fails. NAME_NOT_BUILT fails in their place until
# EXE has been built.
function(nanobrag_cases name exe)
  cmake_parse_arguments(arg "WHOLE" "" "LABELS;SLOW;ALONE;BUT;ENVIRONMENT" ${ARGN})
  set(skip 77)
  if(arg_WHOLE)
    set(skip "")
  endif()
  set(environment ${NANOBRAG_TEST_ENVIRONMENT} ${arg_ENVIRONMENT})
  set(script ${PROJECT_SOURCE_DIR}/cmake/list_cases.cmake)
  set(entries ${CMAKE_CURRENT_BINARY_DIR}/cases/${name})
  add_custom_command(TARGET ${exe} POST_BUILD
    BYPRODUCTS ${entries}.cmake
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DPROGRAM=$<TARGET_FILE:${exe}>
            -DOUTPUT=${entries}.cmake -DRUN=${CMAKE_CURRENT_BINARY_DIR}/run
            "-DLABELS=${arg_LABELS}" "-DSLOW=${arg_SLOW}" "-DALONE=${arg_ALONE}" "-DBUT=${arg_BUT}"
            -DTIMEOUT=${NANOBRAG_TEST_TIMEOUT} -DSKIP=${skip}
            "-DENVIRONMENT=${environment}" -P ${script}
    VERBATIM)
  set_property(TARGET ${exe} APPEND PROPERTY LINK_DEPENDS ${script})
  file(CONFIGURE OUTPUT ${entries}_or_not_built.cmake @ONLY CONTENT
"if(EXISTS \"@entries@.cmake\")
  include(\"@entries@.cmake\")
else()
  add_test(@name@_NOT_BUILT @name@_NOT_BUILT)
  set_tests_properties(@name@_NOT_BUILT PROPERTIES LABELS \"@arg_LABELS@\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${entries}_or_not_built.cmake)
endfunction()

# nanobrag_test(DIR/EXE [SOURCES s...] LABELS l... [SLOW c...] [ALONE c...]): the program EXE
# from DIR/EXE.c and SOURCES, and an entry for each of its cases.
function(nanobrag_test main)
  cmake_parse_arguments(arg "" "" "LABELS;SOURCES;SLOW;ALONE" ${ARGN})
  get_filename_component(exe ${main} NAME)
  add_executable(${exe} ${main}.c ${arg_SOURCES})
  target_link_libraries(${exe} PRIVATE test_support)
  nanobrag_cases(${exe} ${exe} LABELS ${arg_LABELS} SLOW ${arg_SLOW} ALONE ${arg_ALONE})
endfunction()

# nanobrag_script(NAME SCRIPT LABELS l... [ARGS a...] [TIMEOUT s]): a shell script, exit
# status 0, 77 or failure; $NANOBRAG is the program.
function(nanobrag_script name script)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;ARGS" ${ARGN})
  add_test(NAME ${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${arg_ARGS})
  nanobrag_test_properties(${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
endfunction()
