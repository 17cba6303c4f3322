//===- Options.cpp - Command lines of the runtime's tools -----------------===//
#include "tools/common/Options.h"

#include "runtime/include/nnv12.h"
#include "tools/common/Report.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace nnv12::tools {

void Options::add(const char *name, std::string meta, std::string help,
                  std::function<std::string(const std::string &)> set) {
  options.push_back({name, std::move(meta), std::move(help), std::move(set)});
}

void Options::flag(const char *name, bool &value, const char *help) {
  add(name, "", help, [&value](const std::string &) {
    value = true;
    return std::string();
  });
}

void Options::text(const char *name, const char *meta, std::string &value,
                   const char *help) {
  add(name, meta, help, [&value](const std::string &text) {
    value = text;
    return std::string(text.empty() ? "something" : "");
  });
}

void Options::output(const char *name, const char *meta, std::string &value,
                     const char *help) {
  add(name, meta, help, [&value, meta](const std::string &text) {
    value = text;
    return std::string(text.empty() || text == "-" ? meta : "");
  });
}

void Options::list(const char *name, const char *meta,
                   std::vector<std::string> &value, const char *help) {
  add(name, meta, std::string(help) + " May be repeated.",
      [&value](const std::string &text) {
        value.push_back(text);
        return std::string(text.empty() ? "something" : "");
      });
}

bool parseReal(const std::string &text, double &value) {
  char *end = nullptr;
  value = strtod(text.c_str(), &end);
  return !text.empty() && *end == 0 && std::isfinite(value);
}

void Options::number(const char *name, const char *meta, unsigned &value,
                     unsigned least, unsigned most, const char *help) {
  add(name, meta, help, [&value, least, most](const std::string &text) {
    char *end = nullptr;
    errno = 0;
    unsigned long parsed = strtoul(text.c_str(), &end, 10);
    if (text.empty() || !isdigit(static_cast<unsigned char>(text[0])) || *end ||
        errno || parsed < least || parsed > most)
      return "a whole number from " + std::to_string(least) + " to " +
             std::to_string(most);
    value = static_cast<unsigned>(parsed);
    return std::string();
  });
}

void Options::real(const char *name, const char *meta, double &value,
                   const char *help) {
  add(name, meta, help, [&value](const std::string &text) {
    return std::string(parseReal(text, value) ? "" : "a number");
  });
}

void Options::reals(const char *name, const char *meta,
                    std::vector<double> &value, const char *help) {
  add(name, meta, help, [&value](const std::string &text) {
    value.clear();
    for (size_t begin = 0; begin <= text.size();) {
      size_t end = text.find(',', begin);
      if (end == std::string::npos)
        end = text.size();
      double item;
      if (!parseReal(text.substr(begin, end - begin), item))
        return std::string("numbers with commas between them");
      value.push_back(item);
      begin = end + 1;
    }
    return std::string();
  });
}

void Options::choice(const char *name, std::vector<const char *> choices,
                     std::string &value, const char *help) {
  assert(std::any_of(choices.begin(), choices.end(),
                     [&](const char *choice) { return value == choice; }) &&
         "the default is one of them");
  std::string meta;
  for (const char *choice : choices)
    meta += (meta.empty() ? "" : "|") + std::string(choice);
  add(name, meta, help, [&value, choices, meta](const std::string &text) {
    for (const char *choice : choices)
      if (text == choice) {
        value = text;
        return std::string();
      }
    return "one of " + meta;
  });
}

void Options::positional(const char *meta, std::string &value) {
  positionalMeta = meta;
  positionalValue = &value;
}

void Options::positionals(const char *meta, std::vector<std::string> &values) {
  positionalMeta = meta;
  positionalValues = &values;
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
  printf("%s\n\nUSAGE: %s", overview, tool);
  if (positionalValue || positionalValues)
    printf(" %s%s", positionalMeta.c_str(), positionalValues ? "..." : "");
  printf(" [options]\n\nOPTIONS:\n");
  for (const Option &option : options) {
    if (option.help.empty())
      continue;
    printf("  --%s%s%s\n", option.name.c_str(), option.meta.empty() ? "" : " ",
           option.meta.c_str());
    printWrapped(option.help, 8);
  }
  printf("  --help\n        Print this text.\n"
         "  --version\n        Print the version.\n\nEXAMPLES:\n%s",
         examples);
}

void Options::parse(int argc, char **argv) {
  setToolName(tool);
  bool onlyPositional = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (onlyPositional || argument.size() < 2 || argument[0] != '-') {
      if (positionalValues && !argument.empty()) {
        positionalValues->push_back(argument);
        continue;
      }
      if (!positionalValue || !positionalValue->empty() || argument.empty())
        fail("'" + argument + "': found another argument, expected " +
             (positionalValue ? "one " + positionalMeta : "options alone"));
      *positionalValue = argument;
      continue;
    }
    if (argument == "--") {
      onlyPositional = true;
      continue;
    }
    size_t dashes = argument[1] == '-' ? 2 : 1;
    size_t equals = argument.find('=');
    std::string name = argument.substr(
        dashes, equals == std::string::npos ? equals : equals - dashes);
    if (name == "help" || argument == "-h") {
      printHelp();
      exit(0);
    }
    if (name == "version") {
      printf("%s %s\n", tool, nnv12_version());
      exit(0);
    }
    const Option *found = nullptr;
    for (const Option &option : options)
      if (option.name == name)
        found = &option;
    if (!found)
      fail("--" + name + ": unknown option; see " + tool + " --help");
    std::string value;
    if (found->meta.empty()) {
      if (equals != std::string::npos)
        fail("--" + name + ": found a value, expected none");
    } else if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < argc) {
      value = argv[++i];
    } else {
      fail("--" + name + ": found nothing behind it, expected " + found->meta);
    }
    std::string expected = found->set(value);
    if (!expected.empty())
      fail((name.size() == 1 ? "-" : "--") + name + ": found '" + value +
           "', expected " + expected);
  }
  if ((positionalValue && positionalValue->empty()) ||
      (positionalValues && positionalValues->empty()))
    fail("found no " + positionalMeta + "; see " + tool + " --help");
}

} // namespace nnv12::tools
