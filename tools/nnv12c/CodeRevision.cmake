# cmake -DOUTPUT=FILE.cpp -DLLVM_VERSION=V -DSOURCES=LIST_FILE -DROOT=FOLDER -P
# CodeRevision.cmake Writes nnv12::codeRevision(): a digest of the files named
# in LIST_FILE, one a line.
file(STRINGS ${SOURCES} sources)
set(digests "LLVM ${LLVM_VERSION}")
foreach(source ${sources})
  file(SHA256 ${source} digest)
  file(RELATIVE_PATH name ${ROOT} ${source})
  string(APPEND digests "\n${name} ${digest}")
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 16 digest)
file(WRITE ${OUTPUT} "#include \"tools/nnv12c/CodeRevision.h\"
std::string nnv12::codeRevision() { return \"${digest}\"; }
")
