//===- KnownPropertiesTest.cpp - Known facts of a model's pictures --------===//

#include "compiler/import/KnownProperties.h"
#include "compiler/import/PropertyNames.h"

#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::importer;
using Strings = std::vector<std::string>;

/// The names with '|' between them, or what is wrong.
static std::string namesOf(const std::string &text) {
  Strings names;
  std::string result = parseNames(text, names);
  for (size_t i = 0; i < names.size() && result.find("found") != 0; ++i)
    result += (i ? "|" : "") + names[i];
  return result;
}

TEST(PropertyNames, DictionariesAndLists) {
  EXPECT_EQ(namesOf("{0: 'person', 1: 'bicycle'}"), "person|bicycle");
  EXPECT_EQ(namesOf(" { 1 : \"it's\" , 0 : 'a \"b\"' , } "), "a \"b\"|it's");
  EXPECT_EQ(namesOf("['cat', \"dog\"]"), "cat|dog");
  EXPECT_EQ(namesOf(R"({"0": "tench", "1": "caf\u00e9"})"),
            "tench|caf\xc3\xa9");
  EXPECT_EQ(namesOf(R"(['a\'b', 'c\\d', '\x41\U0001F600'])"),
            "a'b|c\\d|A\xf0\x9f\x98\x80");
  EXPECT_EQ(namesOf("[''] "), "");
}

TEST(PropertyNames, Faults) {
  std::string expected = ", expected a list or dictionary of names, as "
                         "['cat', 'dog'] or {0: 'cat', 1: 'dog'}";
  EXPECT_EQ(namesOf(""), "found nothing" + expected);
  EXPECT_EQ(namesOf("person"), "found 'person' at byte 0" + expected);
  EXPECT_EQ(namesOf("{0: 'a', 1: b}"), "found 'b}' at byte 12" + expected);
  EXPECT_EQ(namesOf("{0: 'a'"), "found the end of the text" + expected);
  EXPECT_EQ(namesOf("{0: 'a"), "found the end of the text" + expected);
  EXPECT_EQ(namesOf("{0: 'a'} x"), "found 'x' at byte 9" + expected);
  EXPECT_EQ(namesOf("['a' 'b']"), "found ''b']' at byte 5" + expected);
  EXPECT_EQ(namesOf("{-1: 'a'}"), "found '-1: 'a'}' at byte 1" + expected);
  EXPECT_EQ(namesOf("['\\q']").find("found 'q'"), 0u);
  EXPECT_EQ(namesOf("['\\uD800']").find("found"), 0u);
  EXPECT_EQ(namesOf("[]"), "found no name, expected one at least");
  EXPECT_EQ(namesOf("{0: 'a', 2: 'c'}"),
            "found no name for number 1, expected one for each from 0 to 2");
  EXPECT_EQ(namesOf("{0: 'a', 0: 'c'}"),
            "found two names for number 0, expected one");
  // Neither memory nor time goes by the number.
  EXPECT_EQ(namesOf("{99999999999: 'a'}"),
            "found the number 99999999999, expected less than 1048576");
  EXPECT_EQ(namesOf("{99999999999999999999999: 'a'}").find("found ': 'a'}'"),
            0u);
}

TEST(PropertyNames, CutAnywhere) {
  std::string whole = R"({"0": "a\u00e9", 1: 'b\\'})";
  for (size_t size = 0; size < whole.size(); ++size) {
    Strings names;
    std::string cut(whole, 0, size);
    EXPECT_NE(parseNames({cut.data(), cut.size()}, names), "") << size;
  }
}

/// The normal form, or the fault.
static std::string normal(const char *key, std::string value) {
  std::string fault = normalizeProperty(key, value);
  return fault.empty() ? value : fault;
}

TEST(KnownProperties, Numbers) {
  EXPECT_EQ(normal("mean", "0.485, 0.456, 0.406"), "0.485,0.456,0.406");
  EXPECT_EQ(normal("mean", "[0.485, 0.456, 0.406]"), "0.485,0.456,0.406");
  EXPECT_EQ(normal("mean", "(0.5,)"), "0.5");
  EXPECT_EQ(normal("mean", "123.7 116.3 103.5"), "123.7,116.3,103.5");
  EXPECT_EQ(normal("std", "1e-3"), "1e-3");
  EXPECT_EQ(normal("std", "0,1,1"),
            "found '0,1,1', expected numbers other than "
            "0 with commas between them");
  EXPECT_EQ(normal("mean", "nan"),
            "found 'nan', expected numbers with commas between them");
  for (const char *wrong : {"", "[]", "1,,2", "1,x", "inf", "1e999"})
    EXPECT_EQ(normal("mean", wrong).find("found '"), 0u) << wrong;
  EXPECT_EQ(normal("scale", "1"), "1");
  EXPECT_EQ(normal("scale", "0"),
            "found '0', expected one number other than 0");
  EXPECT_EQ(normal("scale", "1,2"),
            "found '1,2', expected one number other than 0");
}

TEST(KnownProperties, Words) {
  EXPECT_EQ(normal("color", "BGR"), "bgr");
  EXPECT_EQ(normal("color", "hsv"), "found 'hsv', expected one of rgb|bgr");
  EXPECT_EQ(normal("layout", " NHWC "), "nhwc");
  EXPECT_EQ(normal("fit", "fill"),
            "found 'fill', expected one of stretch|crop|pad");
}

TEST(KnownProperties, Rate) {
  EXPECT_EQ(normal("sample_rate", " 16000\n"), "16000");
  for (const char *wrong : {"", "0", "-1", "16000.5", "16 kHz", "9999999999"})
    EXPECT_EQ(normal("sample_rate", wrong).find("found '"), 0u) << wrong;
}

TEST(KnownProperties, Labels) {
  EXPECT_EQ(normal("labels", "a\nb\n"), "a\nb");
  EXPECT_EQ(normal("labels", "a\r\nb\r\n"), "a\nb");
  EXPECT_EQ(normal("labels", "a, b,c"), "a\nb\nc");
  EXPECT_EQ(normal("labels", "tench, Tinca tinca\nb"), "tench, Tinca tinca\nb");
  EXPECT_EQ(normal("labels", "['a', 'b, c']"), "a\nb, c");
  EXPECT_EQ(normal("labels", "{0: 'a'}"), "a");
  EXPECT_EQ(normal("labels", ""), "found no name, expected one a class");
  EXPECT_EQ(normal("labels", R"(['a\nb'])"),
            "found 'a\nb', expected a name of one line");
}

/// "KEY=VALUE;" for each.
static std::string textOf(const Properties &properties) {
  std::string text;
  for (const auto &[key, value] : properties)
    text += key + "=" + value + ";";
  return text;
}

/// The known properties, and behind them the reported faults.
static std::string known(const Properties &model) {
  std::string faults;
  Properties result = knownProperties(
      model, [&](llvm::StringRef key, const std::string &fault) {
        faults += "!" + key.str() + " " + fault;
      });
  return textOf(result) + faults;
}

TEST(KnownProperties, Ultralytics) {
  EXPECT_EQ(known({{"names", "{0: 'person', 1: 'bicycle'}"},
                   {"stride", "32"},
                   {"task", "classify"},
                   {"imgsz", "[224, 224]"}}),
            "labels=person\nbicycle;");
  EXPECT_EQ(known({{"names", "person"}}).find("!names found 'person' at byte"),
            0u);
}

TEST(KnownProperties, HuggingFace) {
  EXPECT_EQ(known({{"id2label", R"({"0": "a", "1": "b"})"},
                   {"image_mean", "[0.5, 0.5, 0.5]"},
                   {"image_std", "[0.5, 0.5, 0.5]"},
                   {"rescale_factor", "0.00392156862745098"}}),
            "labels=a\nb;mean=0.5,0.5,0.5;scale=0.00392156862745098;"
            "std=0.5,0.5,0.5;");
}

TEST(KnownProperties, Onnx) {
  EXPECT_EQ(known({{"Image.BitmapPixelFormat", "Bgr8"},
                   {"Image.ColorSpaceGamma", "SRGB"},
                   {"Image.NominalPixelRange", "NominalRange_0_255"}}),
            "color=bgr;mean=0;scale=1;");
  EXPECT_EQ(known({{"image.nominalpixelrange", "normalized_1_1"}}),
            "mean=1;scale=0.00784313725490196;");
  EXPECT_EQ(known({{"Image.BitmapPixelFormat", "Gray8"}}), "");
  EXPECT_EQ(known({{"Image.BitmapPixelFormat", "Yuv"}}),
            "!Image.BitmapPixelFormat found 'Yuv', expected one of "
            "Gray8|Rgb8|Bgr8|Rgba8|Bgra8");
  // Statements about the numbers themselves count more.
  EXPECT_EQ(
      known({{"Image.NominalPixelRange", "Normalized_0_1"}, {"mean", "1"}}),
      "mean=1;scale=0.00392156862745098;");
}

TEST(KnownProperties, OpenVino) {
  EXPECT_EQ(known({{"model_info labels", "cat dog"},
                   {"model_info mean_values", "123.675 116.28 103.53"},
                   {"model_info scale_values", "58.395 57.12 57.375"},
                   {"model_info reverse_input_channels", "True"},
                   {"model_info resize_type", "fit_to_window_letterbox"}}),
            "color=rgb;fit=pad;labels=cat\ndog;mean=123.675,116.28,103.53;"
            "scale=1;std=58.395,57.12,57.375;");
}

TEST(KnownProperties, OursCountMost) {
  EXPECT_EQ(known({{"labels", "a,b"}, {"names", "['c']"}, {"mean", "x"}}),
            "labels=a\nb;!mean found 'x', expected numbers with commas "
            "between them");
}

static std::string check(const Properties &properties,
                         const PropertyShapes &shapes) {
  std::string text;
  checkProperties(properties, shapes,
                  [&](llvm::StringRef key, const std::string &fault) {
                    text += key.str() + " " + fault + ";";
                  });
  return text;
}

TEST(KnownProperties, Shapes) {
  PropertyShapes shapes;
  shapes.channelsFirst = 3;
  shapes.channelsLast = 0;
  shapes.classes = 2;
  EXPECT_EQ(check({{"labels", "a\nb"},
                   {"mean", "1"},
                   {"other", "0,0"},
                   {"std", "1,2,3"}},
                  shapes),
            "");
  EXPECT_EQ(check({{"std", "1,2"}}, shapes),
            "std found '1,2', expected 1 number, or one for each of 3 "
            "channels;");
  EXPECT_EQ(check({{"labels", "a"}}, shapes),
            "labels found 1 names, expected the 2 of the first output;");
  EXPECT_EQ(check({{"layout", "nhwc"}}, shapes),
            "layout found 'nhwc', expected an input that is a picture of 1 or "
            "3 channels;");
  // By the order of dimensions it is another number.
  shapes.channelsLast = 1;
  EXPECT_EQ(check({{"layout", "nhwc"}, {"mean", "1,2,3"}}, shapes),
            "mean found '1,2,3', expected 1 number, for the one channel;");
  // Neither is known of a model of other kind.
  EXPECT_EQ(check({{"labels", "a"}}, {}), "");
  EXPECT_EQ(check({{"sample_rate", "8000"}}, {}), "");
  EXPECT_EQ(check({{"mean", "1"}}, {}),
            "mean found '1', expected an input that is a picture of 1 or 3 "
            "channels;");
}
