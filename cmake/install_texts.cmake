# SPDX-License-Identifier: Apache-2.0
# The program prints its own manual page and completions, so an installed copy matches its version. The files are where
# Debian's man, bash, zsh and fish look.
function(write_text file)
  get_filename_component(folder ${texts}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${program} ${ARGN} OUTPUT_FILE ${texts}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
write_text(bash-completion/completions/lockstep completion bash)
write_text(zsh/vendor-completions/_lockstep completion zsh)
write_text(fish/vendor_completions.d/lockstep.fish completion fish)
write_text(man/man1/lockstep.1 manual)
file(ARCHIVE_CREATE OUTPUT ${texts}/man/man1/lockstep.1.gz PATHS ${texts}/man/man1/lockstep.1
     FORMAT raw COMPRESSION GZip)
file(REMOVE ${texts}/man/man1/lockstep.1)
