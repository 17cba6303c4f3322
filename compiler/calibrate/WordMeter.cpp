//===- WordMeter.cpp - In which words two recognisers differ --------------===//

#include "compiler/calibrate/WordMeter.h"

#include <algorithm>

using namespace nnv12::calibrate;

namespace {
using Words = std::vector<std::string>;

/// Scores that are a text.
struct TextOutput {
  size_t output = 0, steps = 0, classes = 0;
  Words labels; ///< of all classes
  size_t blank = 0;
  bool hasSpaces = false;
};

class WordMeter final : public ModelMeter {
public:
  explicit WordMeter(TextOutput text) : text(std::move(text)) {}

  void add(const Results &exact, const Results &found) override {
    Words ours = wordsOf(exact[text.output]),
          theirs = wordsOf(found[text.output]);
    words += double(ours.size());
    edits += double(editDistance(ours, theirs));
  }
  std::string refusal() const override {
    return words > 0 ? ""
                     : "found no word in results of floats over the set, "
                       "expected samples with some";
  }
  double value() const override { return edits / words; }

private:
  Words wordsOf(const float *scores) const;

  TextOutput text;
  double words = 0, edits = 0;
};
} // namespace

/// U+2581, before the first part of a word.
static constexpr char wordBegin[] = "\xe2\x96\x81";

static bool beginsWord(const std::string &label) {
  return label.compare(0, sizeof wordBegin - 1, wordBegin) == 0;
}

static bool isOneOf(const std::string &label,
                    std::initializer_list<const char *> words) {
  return std::find(words.begin(), words.end(), label) != words.end();
}

static bool isSpace(const std::string &label) {
  return isOneOf(label, {" ", "|", "<space>"});
}

Words WordMeter::wordsOf(const float *scores) const {
  Words words;
  size_t before = text.classes;
  bool isNew = true;
  for (size_t step = 0; step < text.steps; ++step) {
    const float *of = scores + step * text.classes;
    auto best = size_t(std::max_element(of, of + text.classes) - of);
    bool isRepeated = best == before;
    before = best;
    if (isRepeated || best == text.blank)
      continue;
    const std::string &label = text.labels[best];
    if (isSpace(label)) {
      isNew = true;
      continue;
    }
    if (isNew || !text.hasSpaces || beginsWord(label))
      words.emplace_back();
    words.back() += label;
    isNew = false;
  }
  return words;
}

size_t nnv12::calibrate::editDistance(const Words &a, const Words &b) {
  // A row of the table: distances of the words of `a` so far to beginnings of
  // `b`.
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j)
    row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::unique_ptr<ModelMeter>
nnv12::calibrate::makeWordMeter(const ModelOutputs &outputs,
                                std::string &refusal) {
  if (outputs.labels.empty()) {
    refusal = "found no labels, expected --labels with the names of the "
              "output's classes";
    return nullptr;
  }
  refusal = "found no output of text, expected scores [T, 1, C] or [1, T, C]";
  size_t lines = outputs.labels.size();
  for (size_t i = 0; i < outputs.outputs.size(); ++i) {
    const OutputInfo &output = outputs.outputs[i];
    const std::vector<int64_t> &shape = output.shape;
    bool isText = shape.size() == 3 && output.isFloat &&
                  std::min(shape[0], shape[1]) == 1 &&
                  std::max(shape[0], shape[1]) > 1 && shape[2] > 1;
    if (!isText)
      continue;
    TextOutput text;
    text.output = i;
    text.steps = size_t(shape[0] * shape[1]);
    text.classes = size_t(shape[2]);
    text.labels = outputs.labels;
    for (size_t c = 0; c < lines; ++c)
      if (isOneOf(text.labels[c],
                  {"<blank>", "blank", "[blank]", "<blk>", "<pad>", "[PAD]"})) {
        text.blank = c;
        break;
      }
    if (text.classes == lines + 1) {
      text.blank = 0;
      text.labels.insert(text.labels.begin(), "<blank>");
    } else if (text.classes != lines) {
      refusal = "found " + std::to_string(lines) + " labels for output '" +
                output.name + "', expected " + std::to_string(text.classes) +
                ", or " + std::to_string(text.classes - 1) +
                " without the blank";
      continue;
    }
    for (const std::string &label : text.labels)
      text.hasSpaces |= isSpace(label) || beginsWord(label);
    return std::make_unique<WordMeter>(std::move(text));
  }
  return nullptr;
}
