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
      : text_(text), names_(names) {}

  std::string parse() {
    names_.clear();
    if (!(takes('{') ? items('}', /*hasKeys=*/true)
                     : takes('[') && items(']', /*hasKeys=*/false)) ||
        (skipSpaces(), at_ != text_.size()))
      return fault_.empty() ? "found " + here() +
                                  ", expected a list or dictionary of names, "
                                  "as ['cat', 'dog'] or {0: 'cat', 1: 'dog'}"
                            : fault_;
    for (const std::optional<std::string> &name : found_) {
      if (!name)
        return "found no name for number " + std::to_string(names_.size()) +
               ", expected one for each from 0 to " +
               std::to_string(found_.size() - 1);
      names_.push_back(*name);
    }
    return names_.empty() ? "found no name, expected one at least" : "";
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
      if (found_.size() <= index)
        found_.resize(index + 1);
      if (found_[index])
        return say("found two names for number " + std::to_string(index) +
                   ", expected one");
      found_[index] = std::move(name);
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
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"'))
      return string(quoted) && !StringRef(quoted).getAsInteger(10, value);
    StringRef digits = text_.substr(at_).take_while(llvm::isDigit);
    at_ += digits.size();
    return !digits.getAsInteger(10, value);
  }

  bool string(std::string &value) {
    skipSpaces();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"'))
      return false;
    char quote = text_[at_++];
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == quote)
        return ++at_, true;
      if (text_[at_] != '\\')
        value += text_[at_];
      else if (++at_ == text_.size() || !escape(value))
        return false;
    }
    return false;
  }

  /// Behind the backslash; stays at the last letter of it.
  bool escape(std::string &value) {
    static constexpr StringRef letters = "ntr'\"\\/", meant = "\n\t\r'\"\\/";
    size_t letter = letters.find(text_[at_]);
    if (letter != StringRef::npos)
      return value += meant[letter], true;
    unsigned digits = text_[at_] == 'x'   ? 2
                      : text_[at_] == 'u' ? 4
                      : text_[at_] == 'U' ? 8
                                          : 0;
    uint32_t code;
    if (!digits || text_.substr(at_ + 1, digits).size() != digits ||
        text_.substr(at_ + 1, digits).getAsInteger(16, code))
      return false;
    at_ += digits;
    char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT], *end = bytes;
    if (!llvm::ConvertCodePointToUTF8(code, end))
      return false;
    value.append(bytes, end);
    return true;
  }

  bool takes(char c) {
    skipSpaces();
    if (at_ == text_.size() || text_[at_] != c)
      return false;
    return ++at_, true;
  }

  void skipSpaces() {
    while (at_ < text_.size() && llvm::isSpace(text_[at_]))
      ++at_;
  }

  bool say(std::string what) {
    fault_ = std::move(what);
    return false;
  }

  std::string here() const {
    if (at_ >= text_.size())
      return text_.empty() ? "nothing" : "the end of the text";
    static constexpr size_t enough = 20;
    return ("'" + text_.substr(at_, enough) + "' at byte " + llvm::Twine(at_))
        .str();
  }

  StringRef text_;
  std::vector<std::string> &names_;
  std::vector<std::optional<std::string>> found_;
  std::string fault_;
  size_t at_ = 0;
};
} // namespace

std::string importer::parseNames(StringRef text,
                                 std::vector<std::string> &names) {
  return NamesParser(text, names).parse();
}
