# SPDX-License-Identifier: Apache-2.0
# lockstep_isa(NAME sources..): compiles sources for one kind of processor, which is detected at run time (isa.h).
set(flags_of_avx2 -mavx2 -mfma)
set(flags_of_avx512 -mavx512f)
set(flags_of_avx512_bf16 -mavx512bw -mavx512bf16)
set(flags_of_amx -mamx-tile -mamx-bf16 -mavx512bw -mavx512vl -mavx512bf16)
function(lockstep_isa isa)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${flags_of_${isa}}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()
