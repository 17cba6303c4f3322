//===- Options.cpp - Command lines of the runtime's tools -----------------===//
#include "tools/common/Options.h"

#include "runtime/include/nnv12.h"
#include "tools/common/Nearest.h"
#include "tools/common/Report.h"
#include "tools/common/TextFormat.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace nnv12::tools {

struct Options::Parser {
  Parser(const char *overview, const char *tool) : app(overview, tool) {
    app.allow_extras();
    app.set_help_flag("-h,--help");
  }
  CLI::App app;
  bool asksVersion = false;
};

Options::Options(const char *tool, const char *overview, const char *examples)
    : tool_(tool), overview_(overview), examples_(examples),
      parser_(std::make_unique<Parser>(overview, tool)) {
  // Beyond `ulimit -f` a write fails then, which is told, and ends nothing.
  std::signal(SIGXFSZ, SIG_IGN);
  parser_->app.add_flag("--version", parser_->asksVersion);
}

Options::~Options() = default;

void Options::add(const char *name, std::string meta, std::string help,
                  std::string expected,
                  std::function<bool(const std::string &)> set) {
  std::string flag = dashed(name);
  parser_->app
      .add_option(flag,
                  [flag, expected = std::move(expected),
                   set = std::move(set)](const CLI::results_t &values) {
                    for (const std::string &value : values)
                      if (!set(value))
                        fail(flag + ": found '" + value + "', expected " +
                             expected);
                    return true;
                  })
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name(meta);
  shown_.push_back({name, std::move(meta), std::move(help)});
}

void Options::flag(const char *name, bool &value, const char *help) {
  parser_->app.add_flag(dashed(name), value)->disable_flag_override();
  shown_.push_back({name, "", help});
}

void Options::text(const char *name, const char *meta, std::string &value,
                   const char *help) {
  add(name, meta, help, "something", [&value](const std::string &text) {
    value = text;
    return !text.empty();
  });
}

void Options::output(const char *name, const char *meta, std::string &value,
                     const char *help) {
  add(name, meta, help, meta, [&value](const std::string &text) {
    value = text;
    return !text.empty() && text != "-";
  });
}

void Options::list(const char *name, const char *meta,
                   std::vector<std::string> &value, const char *help) {
  add(name, meta, std::string(help) + " May be repeated.", "something",
      [&value](const std::string &text) {
        value.push_back(text);
        return !text.empty();
      });
}

void Options::number(const char *name, const char *meta, unsigned &value,
                     unsigned least, unsigned most, const char *help) {
  add(name, meta, help,
      "a whole number from " + std::to_string(least) + " to " +
          std::to_string(most),
      [&value, least, most](const std::string &text) {
        return isdigit(static_cast<unsigned char>(text[0])) &&
               CLI::detail::lexical_cast(text, value) && value >= least &&
               value <= most;
      });
}

void Options::reals(const char *name, const char *meta,
                    std::vector<double> &value, const char *help) {
  add(name, meta, help, "numbers with commas between them",
      [&value](const std::string &text) { return parseReals(text, value); });
}

void Options::choose(const char *name, const Words &words, const char *help,
                     std::function<void(size_t)> set) {
  std::string list = join(words, "|");
  add(name, list, help, "one of " + list,
      [words, set = std::move(set)](const std::string &text) {
        auto found = std::find(words.begin(), words.end(), text);
        if (found != words.end())
          set(size_t(found - words.begin()));
        return found != words.end();
      });
}

void Options::choice(const char *name, const Words &words, std::string &value,
                     const char *help) {
  assert((value.empty() ||
          std::find(words.begin(), words.end(), value) != words.end()) &&
         "the default is one of them or none");
  choose(name, words, help,
         [&value, words](size_t number) { value = words[number]; });
}

void Options::positional(const char *meta, std::string &value) {
  one_ = &value;
  positionals(meta, arguments_);
}

void Options::positionals(const char *meta, std::vector<std::string> &values) {
  positionalMeta_ = meta;
  positionalValues_ = &values;
  parser_->app.add_option(meta, values);
}

/// Prints `text` in lines of at most 100 columns, each indented.
static void printWrapped(const std::string &text, size_t indent) {
  size_t width = 100 - indent;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.size();
    if (end - begin > width) {
      end = text.rfind(' ', begin + width);
      if (end == std::string::npos || end <= begin)
        end = text.size();
    }
    printf("%*s%s\n", static_cast<int>(indent), "",
           text.substr(begin, end - begin).c_str());
    begin = end + 1;
  }
}

void Options::printHelp() const {
  printf("OVERVIEW: ");
  printf("%s\n\nUSAGE: %s", overview_, tool_);
  if (positionalValues_)
    printf(" %s%s", positionalMeta_.c_str(), one_ ? "" : "...");
  printf(" [options]\n\nOPTIONS:\n");
  for (const Option &option : shown_) {
    if (option.help.empty())
      continue;
    printf("  --%s%s%s\n", option.name.c_str(), option.meta.empty() ? "" : " ",
           option.meta.c_str());
    printWrapped(option.help, 8);
  }
  printf("  --help\n        Print this text.\n"
         "  --version\n        Print the version.\n\nEXAMPLES:\n%s",
         examples_);
}

std::vector<std::string> Options::names() const {
  std::vector<std::string> names = {"help", "version"};
  for (const Option &option : shown_)
    if (!option.help.empty())
      names.push_back(option.name);
  return names;
}

/// Ends the process where there is an argument that no option takes.
void Options::checkArguments() const {
  for (const std::string &argument : parser_->app.remaining())
    if (argument[0] == '-' && argument.size() > 1)
      fail(unknownOption(argument.substr(0, argument.find('=')), names(),
                         tool_));
    else
      fail("'" + argument + "': found another argument, expected options " +
           "alone");
  if (!positionalValues_)
    return;
  if (one_ && positionalValues_->size() > 1)
    fail("'" + (*positionalValues_)[1] +
         "': found another argument, expected one " + positionalMeta_);
  if (positionalValues_->empty())
    fail("found no " + positionalMeta_ + "; see " + tool_ + " --help");
  for (const std::string &value : *positionalValues_)
    if (value.empty())
      fail("'': found an empty argument, expected " + positionalMeta_);
}

void Options::parse(int argc, char **argv) {
  setToolName(tool_);
  try {
    parser_->app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    printHelp();
    exit(0);
  } catch (const CLI::ParseError &error) {
    fail(error.what());
  }
  if (parser_->asksVersion) {
    printf("%s %s\n", tool_, nnv12_version());
    exit(0);
  }
  checkArguments();
  if (one_)
    *one_ = arguments_[0];
}

} // namespace nnv12::tools
