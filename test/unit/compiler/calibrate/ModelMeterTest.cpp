//===- ModelMeterTest.cpp - Boxes and words that two models find ----------===//

#include "compiler/calibrate/BoxMeter.h"
#include "compiler/calibrate/WordMeter.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace nnv12::calibrate;

namespace {

std::unique_ptr<ModelMeter> meterOf(MakeModelMeter &make,
                                    const ModelOutputs &outputs) {
  std::string refusal;
  auto meter = make(outputs, refusal);
  EXPECT_TRUE(meter) << refusal;
  return meter;
}

std::string refusalOf(MakeModelMeter &make, const ModelOutputs &outputs) {
  std::string refusal;
  EXPECT_FALSE(make(outputs, refusal));
  return refusal;
}

const ModelOutputs pair = {{{"boxes", {1, 3, 4}}, {"scores", {1, 3, 2}}}, {}};

/// Scores of the classes of a text, one for each step.
std::vector<float> stepsOf(const std::vector<size_t> &best, size_t classes) {
  std::vector<float> scores(best.size() * classes, 0.1f);
  for (size_t i = 0; i < best.size(); ++i)
    scores[i * classes + best[i]] = 0.9f;
  return scores;
}

} // namespace

TEST(BoxMeter, Matches) {
  float boxes[] = {0, 0, 10, 10, 20, 20, 30, 30, 5, 5, 6, 6},
        scores[] = {0.9f, 0.2f, 0.1f, 0.8f, 0.1f, 0.2f};
  auto equal = meterOf(makeBoxMeter, pair);
  equal->add({boxes, scores}, {boxes, scores});
  EXPECT_EQ(equal->refusal(), "");
  EXPECT_EQ(equal->value(), 1);
  // The first one moves by less than half of it, the second one has another
  // class: one of two is there.
  float moved[] = {1, 1, 11, 11, 20, 20, 30, 30, 5, 5, 6, 6},
        other[] = {0.6f, 0.2f, 0.8f, 0.1f, 0.1f, 0.2f};
  auto half = meterOf(makeBoxMeter, pair);
  half->add({boxes, scores}, {moved, other});
  EXPECT_EQ(half->value(), 0.5);
  // One more than there should be counts as missed, and so does one too few.
  float more[] = {0.9f, 0.2f, 0.1f, 0.8f, 0.7f, 0.2f},
        fewer[] = {0.9f, 0.2f, 0.1f, 0.4f, 0.1f, 0.2f};
  auto beyond = meterOf(makeBoxMeter, pair);
  beyond->add({boxes, scores}, {boxes, more});
  EXPECT_NEAR(beyond->value(), 2.0 / 3, 1e-12);
  beyond->add({boxes, scores}, {boxes, fewer});
  EXPECT_NEAR(beyond->value(), 3.0 / 5, 1e-12);
}

/// Two boxes of one place are not both found by one.
TEST(BoxMeter, ABoxMatchesOne) {
  float boxes[] = {0, 0, 10, 10, 0, 0, 10, 9, 5, 5, 6, 6},
        scores[] = {0.9f, 0.2f, 0.8f, 0.1f, 0.1f, 0.2f},
        one[] = {0.9f, 0.2f, 0.1f, 0.1f, 0.1f, 0.2f};
  auto meter = meterOf(makeBoxMeter, pair);
  meter->add({boxes, scores}, {boxes, one});
  EXPECT_EQ(meter->value(), 0.5);
}

/// Rows that sum up to 1 have a background: the class that most rows have.
TEST(BoxMeter, Background) {
  float boxes[] = {0, 0, 10, 10, 20, 20, 30, 30, 5, 5, 6, 6},
        scores[] = {0.9f, 0.1f, 0.2f, 0.8f, 0.7f, 0.3f},
        none[] = {0.9f, 0.1f, 0.9f, 0.1f, 0.7f, 0.3f};
  auto meter = meterOf(makeBoxMeter, pair);
  meter->add({boxes, scores}, {boxes, scores});
  EXPECT_EQ(meter->value(), 1);
  meter->add({boxes, scores}, {boxes, none});
  EXPECT_EQ(meter->value(), 0.5);
}

TEST(BoxMeter, Forms) {
  float boxes[] = {0, 0, 10, 10, 20, 20, 30, 30},
        logits[] = {3, -2, -1, 5, -4, -4}, one[] = {0.9f, 0.8f}, ids[] = {7, 8},
        otherIds[] = {7, 9};
  // Classes first, and scores that are no parts of 1.
  auto meter = meterOf(makeBoxMeter,
                       {{{"scores", {1, 3, 2}}, {"boxes", {1, 2, 4}}}, {}});
  meter->add({logits, boxes}, {logits, boxes});
  EXPECT_EQ(meter->value(), 1);
  // A class for each, as integers and by name.
  for (OutputInfo info :
       {OutputInfo{"ids", {2}, false}, OutputInfo{"the_labels", {2}, true}}) {
    meter =
        meterOf(makeBoxMeter, {{{"boxes", {2, 4}}, {"scores", {2}}, info}, {}});
    meter->add({boxes, one, ids}, {boxes, one, otherIds});
    EXPECT_EQ(meter->value(), 0.5);
  }
  // All in one, with padding behind.
  float all[] = {0, 0,    10, 10, 0.9f, 3,  0,  0,  5,
                 5, 0.6f, 1,  -1, -1,   -1, -1, -1, -1};
  meter = meterOf(makeBoxMeter, {{{"detections", {1, 3, 6}}}, {}});
  meter->add({all}, {all});
  EXPECT_EQ(meter->refusal(), "");
  EXPECT_EQ(meter->value(), 1);
}

TEST(BoxMeter, Refusals) {
  for (const ModelOutputs &outputs : std::vector<ModelOutputs>{
           {},
           {{{"y", {1, 10}}}, {}},
           {{{"boxes", {1, 3, 4}}}, {}},
           {{{"boxes", {1, 3, 4}}, {"scores", {1, 4}}}, {}},
           {{{"a", {1, 3, 6}}, {"b", {1, 2}}}, {}}})
    EXPECT_EQ(refusalOf(makeBoxMeter, outputs).substr(0, 27),
              "found no output of boxes, e");
  // Centres and sizes.
  float boxes[] = {50, 50, 10, 10, 20, 20, 30, 30, 5, 5, 6, 6},
        scores[] = {0.9f, 0.2f, 0.1f, 0.8f, 0.1f, 0.2f}, zeros[6] = {};
  auto meter = meterOf(makeBoxMeter, pair);
  meter->add({boxes, scores}, {boxes, scores});
  EXPECT_EQ(meter->refusal().substr(0, 52),
            "found rows of output 'boxes' that are no corners, ex");
  meter = meterOf(makeBoxMeter, pair);
  meter->add({boxes, zeros}, {boxes, zeros});
  EXPECT_EQ(meter->refusal().substr(0, 20), "found no box with a ");
}

/// Against the definition.
TEST(WordMeter, EditDistance) {
  using Words = std::vector<std::string>;
  std::function<size_t(const Words &, const Words &)> slow =
      [&](const Words &a, const Words &b) -> size_t {
    if (a.empty() || b.empty())
      return a.size() + b.size();
    Words shortA(a.begin() + 1, a.end()), shortB(b.begin() + 1, b.end());
    if (a[0] == b[0])
      return slow(shortA, shortB);
    return 1 +
           std::min({slow(shortA, b), slow(a, shortB), slow(shortA, shortB)});
  };
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    Words a(random() % 6), b(random() % 6);
    for (Words *words : {&a, &b})
      for (std::string &word : *words)
        word = std::string(1, char('a' + random() % 3));
    EXPECT_EQ(editDistance(a, b), slow(a, b));
  }
}

/// Repetitions count once, and blanks part them: "no no" of eight steps.
TEST(WordMeter, Words) {
  ModelOutputs outputs = {{{"y", {8, 1, 4}}}, {"n", "o", " "}};
  std::vector<float> exact = stepsOf({1, 1, 0, 2, 3, 1, 2, 0}, 4),
                     found = stepsOf({1, 0, 1, 2, 3, 1, 2, 2}, 4);
  auto meter = meterOf(makeWordMeter, outputs);
  meter->add({exact.data()}, {exact.data()});
  EXPECT_EQ(meter->value(), 0);
  // "nno no": one word of two is another one.
  meter->add({exact.data()}, {found.data()});
  EXPECT_EQ(meter->value(), 0.25);
  // Without a space each label counts: five to "nnoxno", which has one more.
  outputs.labels[2] = "x";
  meter = meterOf(makeWordMeter, outputs);
  meter->add({exact.data()}, {found.data()});
  EXPECT_EQ(meter->value(), 0.2);
}

TEST(WordMeter, Labels) {
  // The blank has a name, and parts of words begin with U+2581.
  ModelOutputs outputs = {{{"y", {1, 4, 3}}},
                          {"\xe2\x96\x81go", "<blank>", "ing"}};
  std::vector<float> exact = stepsOf({0, 2, 1, 0}, 3),
                     found = stepsOf({0, 1, 1, 0}, 3);
  auto meter = meterOf(makeWordMeter, outputs);
  meter->add({exact.data()}, {found.data()}); // "going go", "go go"
  EXPECT_EQ(meter->value(), 0.5);
  std::vector<float> nothing = stepsOf({1, 1, 1, 1}, 3);
  meter = meterOf(makeWordMeter, outputs);
  meter->add({nothing.data()}, {exact.data()});
  EXPECT_EQ(meter->refusal().substr(0, 13), "found no word");
  // Refused.
  outputs.labels.push_back("a");
  outputs.labels.push_back("b");
  EXPECT_EQ(refusalOf(makeWordMeter, outputs),
            "found 5 labels for output 'y', expected 3, or 2 without the "
            "blank");
  outputs.outputs[0].shape = {2, 2, 3};
  EXPECT_EQ(refusalOf(makeWordMeter, outputs),
            "found no output of text, expected scores [T, 1, C] or [1, T, C]");
  outputs.labels.clear();
  EXPECT_EQ(refusalOf(makeWordMeter, outputs).substr(0, 15), "found no labels");
}
