//===- OptionErrors.cpp - Faults of a command line ------------------------===//

#include "tools/nnv12c/OptionErrors.h"

#include "tools/common/Nearest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <vector>

using namespace nnv12;
using llvm::StringRef;
namespace cl = llvm::cl;

// Values are taken as llvm::cl takes them.

static std::vector<StringRef> wordsOf(const cl::generic_parser_base &parser) {
  std::vector<StringRef> words;
  for (unsigned i = 0; i < parser.getNumOptions(); ++i)
    words.push_back(parser.getOption(i));
  return words;
}

TypedOption::TypedOption(const cl::Option &option,
                         const cl::generic_parser_base &words)
    : option(&option), expected("one of " + llvm::join(wordsOf(words), "|")),
      takes([words = wordsOf(words)](StringRef text) {
        return llvm::is_contained(words, text);
      }) {}

TypedOption::TypedOption(const cl::Option &option, const cl::parser<unsigned> &)
    : option(&option), expected("a whole number"), takes([](StringRef text) {
        unsigned value;
        return !text.getAsInteger(0, value);
      }) {}

TypedOption::TypedOption(const cl::Option &option, const cl::parser<double> &)
    : option(&option), expected("a number"), takes([](StringRef text) {
        double value;
        return !text.getAsDouble(value);
      }) {}

TypedOption::TypedOption(const cl::Option &option, const cl::parser<bool> &)
    : option(&option), expected("no value, or 0 or 1"),
      takes([](StringRef text) {
        return text.empty() || text.equals_insensitive("true") ||
               text.equals_insensitive("false") || text == "0" || text == "1";
      }) {}

namespace {
struct OptionChecker {
  const cl::OptionCategory &category;
  llvm::ArrayRef<TypedOption> typed;
  StringRef meta;
  unsigned positionals = 0;

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
    const TypedOption *known = typeOf(option);
    if (!hasValue || !known || known->takes(text))
      return "";
    return name + ": found '" + text.str() + "', expected " + known->expected;
  }

  std::string valueOf(const cl::Option *option) const {
    if (const TypedOption *known = typeOf(option))
      return known->expected;
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
};
} // namespace

std::string nnv12::findOptionError(llvm::ArrayRef<const char *> arguments,
                                   const cl::OptionCategory &category,
                                   llvm::ArrayRef<TypedOption> typed,
                                   StringRef meta) {
  return OptionChecker{category, typed, meta}.check(arguments);
}
