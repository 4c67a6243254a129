# cmake -DSOURCE=DIR -DROOTS="NAME NAME..." -DOUTPUT=FILE -P embed.cmake: the texts of the
# files NAME in DIR, and of all that they include by "..." in turn, as the table of
# compile/jit/sources.h.
cmake_minimum_required(VERSION 3.22)
separate_arguments(open UNIX_COMMAND "${ROOTS}")
set(names "")
while(open)
  list(POP_FRONT open name)
  if(name IN_LIST names)
    continue()
  endif()
  list(APPEND names ${name})
  get_filename_component(folder ${name} DIRECTORY)
  file(STRINGS ${SOURCE}/${name} includes REGEX "^[ \t]*#[ \t]*include[ \t]*\"")
  foreach(line IN LISTS includes)
    string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*$" "\\1" included "${line}")
    if(EXISTS ${SOURCE}/${folder}/${included})
      list(APPEND open ${folder}/${included})
    elseif(EXISTS ${SOURCE}/${included})
      list(APPEND open ${included})
    else()
      message(FATAL_ERROR "${name} includes ${included}, which is not there")
    endif()
  endforeach()
endwhile()
list(SORT names)

set(short_names "")
set(texts "")
set(table "")
set(number 0)
foreach(name IN LISTS names)
  # files of one folder include each other without it, so that NVRTC knows both names
  get_filename_component(short_name ${name} NAME)
  if(short_name IN_LIST short_names)
    message(FATAL_ERROR "two files that kernels include are named ${short_name}")
  endif()
  list(APPEND short_names ${short_name})
  file(READ ${SOURCE}/${name} bytes HEX)
  string(LENGTH "${bytes}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND texts "static const char text_${number}[] = {${bytes}0};\n")
  string(APPEND table "    {\"${name}\", text_${number}, ${size}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "/* made by cmake/embed.cmake */
#include \"compile/jit/sources.h\"

${texts}
const struct source sources[] = {
${table}};
const size_t sources_count = ${number};
")
