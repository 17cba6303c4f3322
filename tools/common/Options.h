//===- Options.h - Command lines of the runtime's tools ---------*- C++ -*-===//
//
// CLI11 behind our messages and help. `--name VALUE` or `--name=VALUE`, and one
// dash for names of one letter.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_COMMON_OPTIONS_H
#define NNV12_TOOLS_COMMON_OPTIONS_H

#include "tools/media/Numbers.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace nnv12::tools {

using Words = std::vector<const char *>;

class Options {
public:
  /// `overview` says what the tool does; `examples` shows it.
  Options(const char *tool, const char *overview, const char *examples);
  ~Options();

  // Options whose help is empty are for the tool's own use, and not shown.
  void flag(const char *name, bool &value, const char *help);
  void text(const char *name, const char *meta, std::string &value,
            const char *help);
  /// A path that is written to; there must be one, and "-" is none.
  void output(const char *name, const char *meta, std::string &value,
              const char *help);
  /// May be given any number of times.
  void list(const char *name, const char *meta, std::vector<std::string> &value,
            const char *help);
  void number(const char *name, const char *meta, unsigned &value,
              unsigned least, unsigned most, const char *help);
  /// A double, or an optional one.
  template <typename Real>
  void real(const char *name, const char *meta, Real &value, const char *help) {
    add(name, meta, help, "a number", [&value](const std::string &text) {
      double number;
      bool isReal = parseReal(text, number);
      value = number;
      return isReal;
    });
  }
  /// Comma-separated reals.
  void reals(const char *name, const char *meta, std::vector<double> &value,
             const char *help);
  /// One of `words`. The default is one of them, or empty.
  void choice(const char *name, const Words &words, std::string &value,
              const char *help);
  /// The same; they name 0, 1, 2... of an enumeration.
  template <typename Enum>
  void choice(const char *name, const Words &words, Enum &value,
              const char *help) {
    choose(name, words, help,
           [&value](size_t number) { value = static_cast<Enum>(number); });
  }
  /// The one argument without a dash. Required.
  void positional(const char *meta, std::string &value);
  /// All arguments without a dash. At least one is required.
  void positionals(const char *meta, std::vector<std::string> &values);

  /// Ends the process on --help, --version and mistakes.
  void parse(int argc, char **argv);

private:
  struct Option {
    std::string name;
    std::string meta; ///< empty: takes no value
    std::string help;
  };
  struct Parser;

  /// `set` says whether it takes a text; `expected` says which it does.
  void add(const char *name, std::string meta, std::string help,
           std::string expected, std::function<bool(const std::string &)> set);
  void choose(const char *name, const Words &words, const char *help,
              std::function<void(size_t)> set);
  void printHelp() const;
  void checkArguments() const;
  /// The names of the options that are shown.
  std::vector<std::string> names() const;

  const char *tool_, *overview_, *examples_;
  std::unique_ptr<Parser> parser_;
  std::vector<Option> shown_;
  std::string positionalMeta_;
  std::vector<std::string> *positionalValues_ = nullptr;
  std::string *one_ = nullptr; ///< where there is but one positional
  std::vector<std::string> arguments_;
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_OPTIONS_H
