//===- FlatLink.cpp - Links an object into a flat blob --------------------===//

#include "compiler/codegen/cpu/CodeBlob.h"

#include "compiler/codegen/common/TemporaryFolder.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cassert>
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using llvm::object::ELFObjectFileBase;
using llvm::object::SymbolRef;

/// Code and constants become one section at address 0. Sections that would need
/// the loader's help (writable data, tables of absolute addresses) are refused.
static constexpr char linkerScript[] = R"(SECTIONS {
  . = 0;
  .code : { *(.text .text.*) . = ALIGN(64); *(.rodata .rodata.*) }
  .bad : { *(.data .data.*) *(.bss .bss.*) *(.got .got.*) *(.plt .plt.*) }
  /DISCARD/ : { *(.eh_frame*) *(.comment) *(.note*) *(.llvm_addrsig) }
  ASSERT(SIZEOF(.bad) == 0,
         "kernels must have neither writable data nor absolute addresses")
}
)";

static LogicalResult checkDefined(ModuleOp module, ArrayRef<char> object) {
  llvm::MemoryBufferRef buffer(StringRef(object.data(), object.size()),
                               "kernels");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!file)
    return module.emitError("kernels' object file: ")
           << llvm::toString(file.takeError());
  SmallVector<std::string> undefined;
  for (const SymbolRef &symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (llvm::Error error =
            llvm::joinErrors(flags.takeError(), name.takeError()))
      return module.emitError("kernels' object file: ")
             << llvm::toString(std::move(error));
    if ((*flags & SymbolRef::SF_Undefined) && !name->empty())
      undefined.push_back(name->str());
  }
  if (undefined.empty())
    return success();
  llvm::sort(undefined);
  return module.emitError(
             "kernels call functions that do not exist at run time: ")
         << llvm::join(undefined, ", ");
}

static std::error_code writeFile(StringRef path, ArrayRef<char> bytes) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (error)
    return error;
  os.write(bytes.data(), bytes.size());
  os.close();
  error = os.error();
  os.clear_error();
  return error;
}

/// Takes the section and the entry points out of the linked file.
static FailureOr<CodeBlob> extract(ModuleOp module, StringRef path) {
  auto fail = [&](llvm::Error error) -> FailureOr<CodeBlob> {
    module.emitError("linked kernels: ") << llvm::toString(std::move(error));
    return failure();
  };
  auto file = llvm::object::ObjectFile::createObjectFile(path);
  if (!file)
    return fail(file.takeError());
  CodeBlob blob;
  for (const auto &section : file->getBinary()->sections()) {
    auto name = section.getName();
    if (!name)
      return fail(name.takeError());
    if (*name != ".code")
      continue;
    auto contents = section.getContents();
    if (!contents)
      return fail(contents.takeError());
    blob.bytes.assign(contents->begin(), contents->end());
  }
  for (const SymbolRef &symbol : file->getBinary()->symbols()) {
    auto type = symbol.getType();
    auto flags = symbol.getFlags();
    auto address = symbol.getAddress();
    auto name = symbol.getName();
    if (llvm::Error error = llvm::joinErrors(
            llvm::joinErrors(type.takeError(), flags.takeError()),
            llvm::joinErrors(address.takeError(), name.takeError())))
      return fail(std::move(error));
    if (*type == SymbolRef::ST_Function && (*flags & SymbolRef::SF_Global)) {
      assert(*address < blob.bytes.size() && "entry points lie in the code");
      blob.entries[name->str()] = uint32_t(*address);
    }
  }
  return blob;
}

FailureOr<CodeBlob> nnv12::codegen::linkFlat(ModuleOp module,
                                             const Target &target,
                                             ArrayRef<char> object) {
  if (failed(checkDefined(module, object)))
    return failure();
  TemporaryFolder folder;
  if (!folder.error.empty())
    return module.emitError("cannot make a temporary folder: ") << folder.error,
           failure();
  std::string objectPath = folder.file("kernels.o"),
              scriptPath = folder.file("flat.ld"),
              outputPath = folder.file("kernels.elf");
  std::error_code error = writeFile(objectPath, object);
  if (!error)
    error = writeFile(scriptPath,
                      ArrayRef<char>(linkerScript, sizeof(linkerScript) - 1));
  if (error)
    return module.emitError(objectPath)
               << ": cannot write: " << error.message(),
           failure();
  const char *emulation =
      target.architecture == "aarch64" ? "aarch64linux" : "elf_x86_64";
  const char *args[] = {"ld.lld",
                        "-m",
                        emulation,
                        "-static",
                        "--threads=1",
                        "--build-id=none",
                        "--color-diagnostics=never",
                        "-T",
                        scriptPath.c_str(),
                        "-e",
                        "0",
                        objectPath.c_str(),
                        "-o",
                        outputPath.c_str()};
  std::string messages;
  llvm::raw_string_ostream os(messages);
  {
    static std::mutex lldIsGlobal;
    std::lock_guard<std::mutex> lock(lldIsGlobal);
    lld::Result result =
        lld::lldMain(args, os, os, {{lld::Gnu, &lld::elf::link}});
    if (result.retCode != 0)
      return module.emitError("linking kernels failed: ") << messages,
             failure();
  }
  return extract(module, outputPath);
}
