# nanobrag_isa(TARGET SOURCE): compile SOURCE once per instruction set of the machine and
# add the objects to TARGET. In the source KERNEL_ISA is the set's name: v2, v3, v4 on
# x86-64 (run-time choice in kernels/dispatch.c), base elsewhere.
function(nanobrag_isa target source)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(sets v2 v3 v4)
  else()
    set(sets base)
  endif()
  set(flags_v2 -march=x86-64-v2)
  set(flags_v3 -march=x86-64-v2 -mavx2 -mfma -mbmi -mbmi2)
  set(flags_v4 ${flags_v3} -mavx512f -mavx512dq -mavx512bw -mavx512vl -mavx512cd
      -mprefer-vector-width=512)
  foreach(set IN LISTS sets)
    set(objects ${target}_${set})
    add_library(${objects} OBJECT ${source})
    target_link_libraries(${objects} PRIVATE nanobrag_flags)
    target_compile_definitions(${objects} PRIVATE KERNEL_ISA=${set})
    target_compile_options(${objects} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3> -fopenmp-simd
                           -fno-math-errno -fno-trapping-math -ffp-contract=fast
                           ${flags_${set}})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
endfunction()
