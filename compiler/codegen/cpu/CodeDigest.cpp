//===- CodeDigest.cpp - Whether two kernels are the same code -------------===//

#include "compiler/codegen/cpu/CodeDigest.h"

#include "artifact/Digest.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ModuleSlotTracker.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <map>

using namespace nnv12;
using namespace nnv12::codegen;

namespace {

class Digester {
public:
  Digester(const llvm::Module &module, const llvm::TargetMachine &machine)
      : module(module), slots(&module) {
    llvm::raw_string_ostream os(platform);
    os << "LLVM " LLVM_VERSION_STRING "\n"
       << machine.getTargetTriple().str() << '\n'
       << machine.getTargetCPU() << '\n'
       << machine.getTargetFeatureString() << '\n';
  }

  std::vector<uint8_t> digest(const llvm::GlobalValue &value) {
    std::string text = platform + describe(value);
    artifact::Digest result = artifact::digestOf(text.data(), text.size());
    return {std::begin(result.bytes), std::end(result.bytes)};
  }

private:
  /// The text that stands for a name where another value refers to it.
  const std::string &reference(const llvm::GlobalValue &value) {
    auto [it, isNew] = references.try_emplace(&value);
    // Also while it is being described, where it calls itself.
    if (!isNew)
      return it->second;
    if (value.isDeclaration())
      return it->second = value.getName().str();
    std::string text = describe(value);
    artifact::Digest result = artifact::digestOf(text.data(), text.size());
    return references[&value] = llvm::toHex(llvm::ArrayRef(result.bytes));
  }

  std::string describe(const llvm::GlobalValue &value) {
    std::string printed;
    llvm::raw_string_ostream os(printed);
    // Only attributes that are no strings are printed with the function.
    if (auto *function = llvm::dyn_cast<llvm::Function>(&value))
      os << function->getAttributes().getFnAttrs().getAsString() << '\n';
    value.print(os, slots);
    return normalize(printed, value);
  }

  /// Numbers of attribute groups and metadata depend on what else is in the
  /// module, and names do.
  std::string normalize(llvm::StringRef text, const llvm::GlobalValue &self) {
    std::string result;
    for (size_t i = 0; i < text.size();) {
      char c = text[i++];
      result += c;
      if (c == '#' || c == '!') {
        while (i < text.size() && llvm::isDigit(text[i]))
          ++i;
      } else if (c == '@') {
        llvm::StringRef name = nameAt(text, i);
        auto *value = module.getNamedValue(name);
        // A text, such as a layer's name in a message, may have an @ as well.
        if (!value)
          result += name;
        else if (value != &self)
          result += reference(*value);
      }
    }
    return result;
  }

  /// The name at `i`, which moves behind it.
  static llvm::StringRef nameAt(llvm::StringRef text, size_t &i) {
    if (i < text.size() && text[i] == '"') {
      size_t end = text.find('"', i + 1);
      if (end == text.npos)
        return {};
      llvm::StringRef name = text.slice(i + 1, end);
      i = end + 1;
      return name;
    }
    size_t begin = i;
    while (i < text.size() &&
           (llvm::isAlnum(text[i]) || text[i] == '_' || text[i] == '.' ||
            text[i] == '$' || text[i] == '-'))
      ++i;
    return text.slice(begin, i);
  }

  const llvm::Module &module;
  llvm::ModuleSlotTracker slots;
  std::string platform;
  std::map<const llvm::GlobalValue *, std::string> references;
};

} // namespace

Fingerprints nnv12::codegen::digestCode(const llvm::Module &module,
                                        const llvm::TargetMachine &machine) {
  Digester digester(module, machine);
  Fingerprints result;
  for (const llvm::Function &function : module)
    if (!function.isDeclaration() && !function.hasLocalLinkage())
      result[function.getName().str()] = digester.digest(function);
  return result;
}
