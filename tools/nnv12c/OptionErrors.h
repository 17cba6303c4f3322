//===- OptionErrors.h - Faults of a command line ----------------*- C++ -*-===//
//
// llvm::cl says what it refuses in lines of its own, and does not say what it
// would take. So a command line is looked at before it is parsed.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12C_OPTIONERRORS_H
#define NNV12_TOOLS_NNV12C_OPTIONERRORS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"

#include <string>
#include <type_traits>

namespace nnv12 {

/// An option that does not take any text.
struct TypedOption {
  enum class Kind { Words, Whole, Real, Flag };

  template <typename T>
  TypedOption(llvm::cl::opt<T> &option) : option(&option) {
    if constexpr (std::is_enum_v<T>)
      words = &option.getParser();
    else
      kind = std::is_same_v<T, unsigned> ? Kind::Whole
             : std::is_same_v<T, double> ? Kind::Real
                                         : Kind::Flag;
    static_assert(std::is_enum_v<T> || std::is_same_v<T, unsigned> ||
                  std::is_same_v<T, double> || std::is_same_v<T, bool>);
  }

  const llvm::cl::Option *option;
  Kind kind = Kind::Words;
  const llvm::cl::generic_parser_base *words = nullptr;
};

/// The first fault of a command line in one line: the found text and the
/// allowed ones; empty where there is none. `meta` names the one argument
/// without a dash.
std::string findOptionError(llvm::ArrayRef<const char *> arguments,
                            const llvm::cl::OptionCategory &category,
                            llvm::ArrayRef<TypedOption> typed,
                            llvm::StringRef meta);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_OPTIONERRORS_H
