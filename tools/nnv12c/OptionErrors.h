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

#include <functional>
#include <string>

namespace nnv12 {

/// An option that does not take any text.
struct TypedOption {
  template <typename T, bool isExternal>
  TypedOption(llvm::cl::opt<T, isExternal> &option)
      : TypedOption(option, option.getParser()) {}

  const llvm::cl::Option *option;
  std::string expected; ///< which texts it takes
  std::function<bool(llvm::StringRef)> takes;

private:
  TypedOption(const llvm::cl::Option &option,
              const llvm::cl::generic_parser_base &words);
  TypedOption(const llvm::cl::Option &option,
              const llvm::cl::parser<unsigned> &);
  TypedOption(const llvm::cl::Option &option, const llvm::cl::parser<double> &);
  TypedOption(const llvm::cl::Option &option, const llvm::cl::parser<bool> &);
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
