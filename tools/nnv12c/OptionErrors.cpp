//===- OptionErrors.cpp - Faults of a command line ------------------------===//

#include "tools/nnv12c/OptionErrors.h"

#include "tools/common/Nearest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <vector>

using namespace nnv12;
using llvm::StringRef;
namespace cl = llvm::cl;

namespace {
class OptionChecker {
public:
  OptionChecker(const cl::OptionCategory &category,
                llvm::ArrayRef<TypedOption> typed, StringRef meta)
      : category(category), typed(typed), meta(meta) {}

  /// The first fault; empty: none is found.
  std::string check(llvm::ArrayRef<const char *> arguments) {
    bool areAllPositional = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      StringRef argument = arguments[i];
      if (argument == "--" && !areAllPositional) {
        areAllPositional = true;
        continue;
      }
      if (areAllPositional || argument == "-" || !argument.starts_with("-")) {
        if (!argument.starts_with("@") && ++positionals > 1)
          return ("'" + argument + "': found another argument, expected one " +
                  meta)
              .str();
        continue;
      }
      std::string fault = checkOption(argument, arguments, i);
      if (!fault.empty())
        return fault;
    }
    return "";
  }

private:
  /// Moves `i` to the option's value where that is an argument of its own.
  std::string checkOption(StringRef argument,
                          llvm::ArrayRef<const char *> arguments, size_t &i) {
    auto [given, text] = argument.split('=');
    bool hasValue = argument.contains('=');
    const cl::Option *option =
        cl::getRegisteredOptions().lookup(given.ltrim('-'));
    if (!option)
      return tools::unknownOption(given.str(), names(), "nnv12c");
    std::string name = tools::dashed(option->ArgStr.str());
    cl::ValueExpected takes = option->getValueExpectedFlag();
    if (takes == cl::ValueDisallowed)
      return hasValue ? name + ": found the value '" + text.str() +
                            "', expected none"
                      : "";
    if (takes == cl::ValueRequired && !hasValue) {
      if (i + 1 == arguments.size())
        return name + ": found no value, expected " + valueOf(option);
      text = arguments[++i];
      hasValue = true;
    }
    return hasValue ? checkValue(name, text, option) : "";
  }

  /// As llvm::cl takes values.
  std::string checkValue(const std::string &name, StringRef text,
                         const cl::Option *option) const {
    const TypedOption *known = typeOf(option);
    if (!known || isGood(*known, text))
      return "";
    return name + ": found '" + text.str() + "', expected " +
           expectedOf(*known);
  }

  static bool isGood(const TypedOption &known, StringRef text) {
    unsigned whole;
    double real;
    switch (known.kind) {
    case TypedOption::Kind::Words:
      for (unsigned i = 0; i < known.words->getNumOptions(); ++i)
        if (known.words->getOption(i) == text)
          return true;
      return false;
    case TypedOption::Kind::Whole:
      return !text.getAsInteger(0, whole);
    case TypedOption::Kind::Real:
      return !text.getAsDouble(real);
    case TypedOption::Kind::Flag:
      return text.empty() || text.equals_insensitive("true") ||
             text.equals_insensitive("false") || text == "0" || text == "1";
    }
    llvm_unreachable("a kind of option");
  }

  static std::string expectedOf(const TypedOption &known) {
    switch (known.kind) {
    case TypedOption::Kind::Words: {
      std::string list;
      for (unsigned i = 0; i < known.words->getNumOptions(); ++i)
        list += (i ? "|" : "") + known.words->getOption(i).str();
      return "one of " + list;
    }
    case TypedOption::Kind::Whole:
      return "a whole number";
    case TypedOption::Kind::Real:
      return "a number";
    case TypedOption::Kind::Flag:
      return "no value, or 0 or 1";
    }
    llvm_unreachable("a kind of option");
  }

  std::string valueOf(const cl::Option *option) const {
    if (const TypedOption *known = typeOf(option))
      return expectedOf(*known);
    return option->ValueStr.empty() ? "one" : option->ValueStr.str();
  }

  const TypedOption *typeOf(const cl::Option *option) const {
    for (const TypedOption &known : typed)
      if (known.option == option)
        return &known;
    return nullptr;
  }

  /// The names of the tool's own options.
  std::vector<std::string> names() const {
    std::vector<std::string> names = {"help", "version"};
    for (const auto &[name, option] : cl::getRegisteredOptions())
      if (llvm::is_contained(option->Categories, &category))
        names.push_back(name.str());
    llvm::sort(names);
    return names;
  }

  const cl::OptionCategory &category;
  llvm::ArrayRef<TypedOption> typed;
  StringRef meta;
  unsigned positionals = 0;
};
} // namespace

std::string nnv12::findOptionError(llvm::ArrayRef<const char *> arguments,
                                   const cl::OptionCategory &category,
                                   llvm::ArrayRef<TypedOption> typed,
                                   StringRef meta) {
  return OptionChecker(category, typed, meta).check(arguments);
}
