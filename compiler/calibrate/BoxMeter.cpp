//===- BoxMeter.cpp - Which boxes two detectors both find -----------------===//

#include "compiler/calibrate/BoxMeter.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace nnv12::calibrate;

namespace {
struct Box {
  float corners[4];
  float score;
  size_t label;
};

/// The outputs of a list of boxes.
struct BoxList {
  size_t boxes = 0, scores = 0;  ///< outputs
  std::optional<size_t> labels;  ///< output with a class for each box
  size_t count = 0, classes = 1; ///< scores of a box
  bool classesFirst = false;     ///< [C, N]
  bool isOneOutput = false;      ///< corners, score, class
};

/// How scores of a list are read, which the first sample of floats tells.
struct ScoreRule {
  float least = 0.5f;
  std::optional<size_t> background;
};

class BoxMeter final : public ModelMeter {
public:
  BoxMeter(std::vector<BoxList> lists, const ModelOutputs &outputs)
      : lists(std::move(lists)) {
    for (const BoxList &list : this->lists)
      names.push_back(outputs.outputs[list.boxes].name);
  }

  void add(const Results &exact, const Results &found) override;
  std::string refusal() const override;
  double value() const override { return matched / boxes; }

private:
  std::vector<BoxList> lists;
  std::vector<std::string> names;
  std::vector<ScoreRule> rules; ///< by list, after the first sample
  double boxes = 0, matched = 0;
  size_t isBox = 0, isNoBox = 0;
  std::string noBoxes; ///< an output with rows that are no boxes
};
} // namespace

/// The rows of a list, without a batch of one; nothing for other shapes.
static std::vector<int64_t> withoutBatch(const OutputInfo &output) {
  std::vector<int64_t> shape = output.shape;
  if (shape.size() > 1 && shape[0] == 1)
    shape.erase(shape.begin());
  return shape;
}

static bool isNamedLabels(const OutputInfo &output) {
  std::string name = output.name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return char(std::tolower(c)); });
  return name.find("class") != std::string::npos ||
         name.find("label") != std::string::npos;
}

/// The scores of the boxes of output `boxes`.
static std::optional<BoxList> listOf(const ModelOutputs &all, size_t boxes) {
  const OutputInfo &output = all.outputs[boxes];
  std::vector<int64_t> shape = withoutBatch(output);
  if (shape.size() != 2 || !output.isFloat || shape[0] < 1)
    return std::nullopt;
  BoxList list;
  list.boxes = list.scores = boxes;
  list.count = size_t(shape[0]);
  constexpr int64_t corners = 4, withScoreAndClass = 6;
  if (shape[1] == withScoreAndClass && all.outputs.size() == 1) {
    list.isOneOutput = true;
    return list;
  }
  if (shape[1] != corners)
    return std::nullopt;
  bool hasScores = false;
  for (size_t i = 0; i < all.outputs.size(); ++i) {
    const OutputInfo &other = all.outputs[i];
    std::vector<int64_t> of = withoutBatch(other);
    if (i == boxes || of.empty() || of.size() > 2)
      continue;
    bool isOneEach = of[0] == shape[0] && (of.size() == 1 || of[1] == 1),
         isFirst = of.size() == 2 && of[0] != shape[0];
    if (isOneEach && (!other.isFloat || isNamedLabels(other))) {
      if (!list.labels)
        list.labels = i;
      continue;
    }
    // Other boxes may be as many.
    bool fits = other.isFloat && of[isFirst ? 1 : 0] == shape[0] &&
                !(of.size() == 2 && of[1] == corners && of[0] == shape[0] &&
                  all.outputs.size() > 2);
    if (!fits || hasScores)
      continue;
    hasScores = true;
    list.scores = i;
    list.classesFirst = isFirst;
    list.classes = of.size() == 1 ? 1 : size_t(of[isFirst ? 0 : 1]);
  }
  if (list.classes != 1)
    list.labels.reset();
  return hasScores ? std::optional(list) : std::nullopt;
}

/// The score of a row for a class.
static float scoreOf(const BoxList &list, const Results &results, size_t row,
                     size_t label) {
  const float *scores = results[list.scores];
  if (list.isOneOutput)
    return scores[row * 6 + 4];
  return list.classesFirst ? scores[label * list.count + row]
                           : scores[row * list.classes + label];
}

static size_t bestOf(const BoxList &list, const Results &results, size_t row) {
  size_t best = 0;
  for (size_t label = 1; label < list.classes; ++label)
    if (scoreOf(list, results, row, label) > scoreOf(list, results, row, best))
      best = label;
  return best;
}

static ScoreRule ruleOf(const BoxList &list, const Results &exact) {
  constexpr float near = 1e-2f;
  ScoreRule rule;
  bool sumsToOne = list.classes > 1;
  std::vector<size_t> rows(list.classes, 0);
  for (size_t row = 0; row < list.count; ++row) {
    float sum = 0;
    for (size_t label = 0; label < list.classes; ++label) {
      float score = scoreOf(list, exact, row, label);
      sum += score;
      // Padding behind the boxes that count may be -1.
      if (score > 1 + near || (score < -near && score != -1))
        rule.least = 0;
    }
    sumsToOne &= std::fabs(sum - 1) < near;
    ++rows[bestOf(list, exact, row)];
  }
  if (sumsToOne)
    rule.background =
        size_t(std::max_element(rows.begin(), rows.end()) - rows.begin());
  return rule;
}

static void addBoxes(const BoxList &list, const ScoreRule &rule,
                     const Results &results, std::vector<Box> &boxes) {
  size_t width = list.isOneOutput ? 6 : 4;
  for (size_t row = 0; row < list.count; ++row) {
    const float *of = results[list.boxes] + row * width;
    size_t label = bestOf(list, results, row);
    float score = scoreOf(list, results, row, label);
    if (!(score >= rule.least) || rule.background == label)
      continue;
    if (list.isOneOutput)
      label = size_t(std::max(0.0f, of[5]));
    else if (list.labels)
      label = size_t(std::max(0.0f, results[*list.labels][row]));
    boxes.push_back({{of[0], of[1], of[2], of[3]}, score, label});
  }
}

/// The best ones first, and no more than anyone looks at.
static void sort(std::vector<Box> &boxes) {
  constexpr size_t most = 1000;
  std::stable_sort(boxes.begin(), boxes.end(), [](const Box &a, const Box &b) {
    return a.score > b.score;
  });
  if (boxes.size() > most)
    boxes.resize(most);
}

static double areaOf(const float *c) {
  return std::max(0.0, double(c[2]) - double(c[0])) *
         std::max(0.0, double(c[3]) - double(c[1]));
}

/// Intersection over union.
static double overlap(const Box &a, const Box &b) {
  float both[4];
  for (size_t i = 0; i < 4; ++i)
    both[i] = i < 2 ? std::max(a.corners[i], b.corners[i])
                    : std::min(a.corners[i], b.corners[i]);
  double inside = areaOf(both),
         all = areaOf(a.corners) + areaOf(b.corners) - inside;
  if (all > 0)
    return inside / all;
  return std::equal(a.corners, a.corners + 4, b.corners) ? 1 : 0;
}

void BoxMeter::add(const Results &exact, const Results &found) {
  if (rules.empty())
    for (const BoxList &list : lists)
      rules.push_back(ruleOf(list, exact));
  std::vector<Box> ours, theirs;
  for (size_t i = 0; i < lists.size(); ++i) {
    size_t begin = ours.size();
    addBoxes(lists[i], rules[i], exact, ours);
    addBoxes(lists[i], rules[i], found, theirs);
    for (size_t k = begin; k < ours.size(); ++k) {
      const float *c = ours[k].corners;
      bool hasCorners = c[0] <= c[2] && c[1] <= c[3];
      ++(hasCorners ? isBox : isNoBox);
      if (!hasCorners && noBoxes.empty())
        noBoxes = names[i];
    }
  }
  sort(ours);
  sort(theirs);
  boxes += double(std::max(ours.size(), theirs.size()));
  constexpr double leastOverlap = 0.5;
  for (const Box &box : ours) {
    auto best = theirs.end();
    double most = leastOverlap;
    for (auto it = theirs.begin(); it != theirs.end(); ++it) {
      if (it->label != box.label)
        continue;
      double part = overlap(box, *it);
      if (part >= most && (best == theirs.end() || part > most)) {
        best = it;
        most = part;
      }
    }
    if (best == theirs.end())
      continue;
    ++matched;
    theirs.erase(best); // a box is the match of one
  }
}

std::string BoxMeter::refusal() const {
  constexpr double few = 0.01;
  if (double(isNoBox) > few * double(isBox + isNoBox))
    return "found rows of output '" + noBoxes +
           "' that are no corners, expected x1 y1 x2 y2 (centres with sizes, "
           "and heads that are not decoded, are no boxes)";
  if (!(isBox > 0))
    return "found no box with a score of 0.5 or more over the set, expected "
           "samples with objects";
  return "";
}

std::unique_ptr<ModelMeter>
nnv12::calibrate::makeBoxMeter(const ModelOutputs &outputs,
                               std::string &refusal) {
  std::vector<BoxList> lists;
  for (size_t i = 0; i < outputs.outputs.size(); ++i)
    if (auto list = listOf(outputs, i))
      lists.push_back(*list);
  if (!lists.empty())
    return std::make_unique<BoxMeter>(std::move(lists), outputs);
  refusal = "found no output of boxes, expected [N, 4] or [1, N, 4] beside "
            "scores of N boxes, or one output [N, 6] or [1, N, 6]";
  return nullptr;
}
