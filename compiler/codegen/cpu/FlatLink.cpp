//===- FlatLink.cpp - Links objects into a flat blob ---------------------===//

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

static LogicalResult checkDefined(ModuleOp module, StringRef path) {
  auto file = llvm::object::ObjectFile::createObjectFile(path);
  if (!file)
    return module.emitError("kernels' object file: ")
           << llvm::toString(file.takeError());
  SmallVector<std::string> undefined;
  for (const SymbolRef &symbol : file->getBinary()->symbols()) {
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
                                             ArrayRef<std::string> objects) {
  uint64_t room = 1 << 14;
  for (const std::string &object : objects) {
    if (failed(checkDefined(module, object)))
      return failure();
    uint64_t size = 0;
    if (!llvm::sys::fs::file_size(object, size))
      room += size;
  }
  TemporaryFolder folder;
  if (!folder.error.empty())
    return module.emitError("cannot make a temporary folder: ") << folder.error,
           failure();
  std::string scriptPath = folder.file("flat.ld"),
              outputPath = folder.file("kernels.elf");
  // lld ends the process where its output has no room.
  for (auto [path, bytes] :
       {std::pair<const std::string &, std::string>(scriptPath, linkerScript),
        {outputPath, std::string(room, 0)}})
    if (std::error_code error = writeTemporary(path, bytes)) {
      module.emitError(path) << ": cannot write: " << error.message();
      return failure();
    }
  const char *emulation =
      target.architecture == "aarch64" ? "aarch64linux" : "elf_x86_64";
  SmallVector<const char *> args = {"ld.lld",
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
                                    "-o",
                                    outputPath.c_str()};
  for (const std::string &object : objects)
    args.push_back(object.c_str());
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
