//===- PropertyNames.cpp - Names of classes in a text ---------------------===//

#include "compiler/import/PropertyNames.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

#include <optional>

using namespace nnv12;
using namespace nnv12::importer;
using llvm::StringRef;

namespace {
/// Goes through the text once. Each step returns false at the first fault.
class NamesParser {
public:
  NamesParser(StringRef text, std::vector<std::string> &names)
      : text(text), names(names) {}

  std::string parse() {
    names.clear();
    if (!(takes('{') ? items('}', /*hasKeys=*/true)
                     : takes('[') && items(']', /*hasKeys=*/false)) ||
        (skipSpaces(), at != text.size()))
      return fault.empty() ? "found " + here() +
                                 ", expected a list or dictionary of names, "
                                 "as ['cat', 'dog'] or {0: 'cat', 1: 'dog'}"
                           : fault;
    for (const std::optional<std::string> &name : found) {
      if (!name)
        return "found no name for number " + std::to_string(names.size()) +
               ", expected one for each from 0 to " +
               std::to_string(found.size() - 1);
      names.push_back(*name);
    }
    return names.empty() ? "found no name, expected one at least" : "";
  }

private:
  /// More is no list of classes, and would cost memory.
  static constexpr uint64_t mostNames = 1 << 20;

  bool items(char end, bool hasKeys) {
    uint64_t index = 0;
    while (!takes(end)) {
      if (hasKeys && !(number(index) && takes(':')))
        return false;
      std::string name;
      if (!string(name))
        return false;
      if (index >= mostNames)
        return say("found the number " + std::to_string(index) +
                   ", expected less than " + std::to_string(mostNames));
      if (found.size() <= index)
        found.resize(index + 1);
      if (found[index])
        return say("found two names for number " + std::to_string(index) +
                   ", expected one");
      found[index] = std::move(name);
      ++index;
      if (!takes(','))
        return takes(end);
    }
    return true;
  }

  /// As itself or as a string.
  bool number(uint64_t &value) {
    skipSpaces();
    std::string quoted;
    if (at < text.size() && (text[at] == '\'' || text[at] == '"'))
      return string(quoted) && !StringRef(quoted).getAsInteger(10, value);
    StringRef digits = text.substr(at).take_while(llvm::isDigit);
    at += digits.size();
    return !digits.getAsInteger(10, value);
  }

  bool string(std::string &value) {
    skipSpaces();
    if (at == text.size() || (text[at] != '\'' && text[at] != '"'))
      return false;
    char quote = text[at++];
    for (; at < text.size(); ++at) {
      if (text[at] == quote)
        return ++at, true;
      if (text[at] != '\\')
        value += text[at];
      else if (++at == text.size() || !escape(value))
        return false;
    }
    return false;
  }

  /// Behind the backslash; stays at the last letter of it.
  bool escape(std::string &value) {
    static constexpr StringRef letters = "ntr'\"\\/", meant = "\n\t\r'\"\\/";
    size_t letter = letters.find(text[at]);
    if (letter != StringRef::npos)
      return value += meant[letter], true;
    unsigned digits = text[at] == 'x'   ? 2
                      : text[at] == 'u' ? 4
                      : text[at] == 'U' ? 8
                                        : 0;
    uint32_t code;
    if (!digits || text.substr(at + 1, digits).size() != digits ||
        text.substr(at + 1, digits).getAsInteger(16, code))
      return false;
    at += digits;
    char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT], *end = bytes;
    if (!llvm::ConvertCodePointToUTF8(code, end))
      return false;
    value.append(bytes, end);
    return true;
  }

  bool takes(char c) {
    skipSpaces();
    if (at == text.size() || text[at] != c)
      return false;
    return ++at, true;
  }

  void skipSpaces() {
    while (at < text.size() && llvm::isSpace(text[at]))
      ++at;
  }

  bool say(std::string what) {
    fault = std::move(what);
    return false;
  }

  std::string here() const {
    if (at >= text.size())
      return text.empty() ? "nothing" : "the end of the text";
    static constexpr size_t enough = 20;
    return ("'" + text.substr(at, enough) + "' at byte " + llvm::Twine(at))
        .str();
  }

  StringRef text;
  std::vector<std::string> &names;
  std::vector<std::optional<std::string>> found;
  std::string fault;
  size_t at = 0;
};
} // namespace

std::string importer::parseNames(StringRef text,
                                 std::vector<std::string> &names) {
  return NamesParser(text, names).parse();
}
