# cmake -DSOURCE=DIR -DFLAGS=TEXT -DCOMPILER=NAME -DOUTPUT=FILE [-DKEEP=1] -P digest.cmake:
# a header with the compiler and a digest of the flags and of all that kernels are made
# from, by content, so that the same sources give the same header anywhere.
file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/src/nanobrag/kernels/*
     ${SOURCE}/src/nanobrag/physics/* ${SOURCE}/cmake/isa.cmake)
list(SORT files)
set(all "${COMPILER}\n${FLAGS}\n")
foreach(name IN LISTS files)
  file(SHA256 ${SOURCE}/${name} digest)
  string(APPEND all "${digest} ${name}\n")
endforeach()
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 32 digest)
set(header "/* build_digest.h - made by cmake/digest.cmake */
#define BUILD_COMPILER \"${COMPILER}\"
#define BUILD_DIGEST \"${digest}\"
")
# at configuring it stays as it is when it says the same
set(old "")
if(KEEP AND EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL header)
  file(WRITE ${OUTPUT} "${header}")
endif()
