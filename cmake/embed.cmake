# gesso_embed(TARGET NAME FILE): puts the bytes of FILE into the library TARGET and defines
#   std::span<const std::byte> gesso::embedded_NAME();
# which the source that reads them declares. The assembler includes the file: no megabytes of C++ to compile.
set(GESSO_EMBED_TEMPLATE ${CMAKE_CURRENT_LIST_DIR}/embedded.cpp.in)
function(gesso_embed target name file)
  set(GESSO_EMBED_NAME ${name})
  get_filename_component(GESSO_EMBED_FILE ${file} ABSOLUTE)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cpp)
  configure_file(${GESSO_EMBED_TEMPLATE} ${source} @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${GESSO_EMBED_FILE})
  target_sources(${target} PRIVATE ${source})
endfunction()
