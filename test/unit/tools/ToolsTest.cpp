//===- ToolsTest.cpp - The common parts of the runtime's tools ------------===//
#include "test/unit/tools/TensorInfo.h"
#include "tools/common/Compare.h"
#include "tools/common/Json.h"
#include "tools/common/Npy.h"
#include "tools/common/OtherPrograms.h"
#include "tools/common/Statistics.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace nnv12::test;
using namespace nnv12::tools;

TEST(Tensor, RoundTripsNumbersOfEachType) {
  uint8_t bytes[8];
  for (int type = NNV12_F32; type <= NNV12_U2; ++type)
    for (double value : {0.0, 1.0}) {
      if (type == NNV12_F8E8M0 && value == 0)
        continue; // has no zero
      setElement(nnv12_type(type), bytes, 0, value);
      EXPECT_EQ(elementAt(nnv12_type(type), bytes, 0), value) << type;
    }
}

TEST(Tensor, ClampsAndRounds) {
  uint8_t bytes[8];
  auto through = [&](nnv12_type type, double value) {
    setElement(type, bytes, 0, value);
    return elementAt(type, bytes, 0);
  };
  EXPECT_EQ(through(NNV12_U8, 300), 255);
  EXPECT_EQ(through(NNV12_U8, -1), 0);
  EXPECT_EQ(through(NNV12_I8, 1.6), 2);
  EXPECT_EQ(through(NNV12_I8, NAN), -128);
  EXPECT_EQ(through(NNV12_F16, 65504), 65504);
  EXPECT_EQ(through(NNV12_F16, 1e9), INFINITY);
  EXPECT_EQ(through(NNV12_F16, -0x1p-24), -0x1p-24);
  EXPECT_EQ(through(NNV12_F16, 0x1.ffcp-15 + 0x1p-26), 0x1p-14);
  EXPECT_EQ(through(NNV12_F16, 2049), 2048);
  EXPECT_EQ(through(NNV12_F16, 2051), 2052);
  EXPECT_EQ(through(NNV12_BF16, 1.0 + 0x1p-9), 1.0);
  EXPECT_TRUE(std::isnan(through(NNV12_F16, NAN)));
  EXPECT_GT(through(NNV12_I64, 1e300), 9e18);
  EXPECT_EQ(through(NNV12_F8E4M3FN, 1e9), 448);
  EXPECT_EQ(through(NNV12_F8E5M2FNUZ, -0x1p-17), -0x1p-17);
  EXPECT_EQ(through(NNV12_F8E8M0, 0.75), 1);
  EXPECT_EQ(through(NNV12_F4E2M1, -2.5), -2);
  EXPECT_EQ(through(NNV12_I4, -9), -8);
  EXPECT_EQ(through(NNV12_U4, 15.4), 15);
  EXPECT_EQ(through(NNV12_I2, 1e9), 1);
  EXPECT_EQ(through(NNV12_U2, -1), 0);
}

TEST(Tensor, BitsAboveAnElementDoNotMatter) {
  const uint8_t bytes[] = {0x78, 0xf7};
  EXPECT_EQ(elementAt(NNV12_I4, bytes, 0), -8);
  EXPECT_EQ(elementAt(NNV12_U4, bytes, 0), 8);
  EXPECT_EQ(elementAt(NNV12_I2, bytes, 1), -1);
  EXPECT_EQ(elementAt(NNV12_U2, bytes, 1), 3);
  EXPECT_EQ(elementAt(NNV12_F4E2M1, bytes, 1), 6);
}

TEST(Tensor, NamesAndSizes) {
  EXPECT_STREQ(nnv12_type_name(NNV12_BOOL), "bool");
  EXPECT_STREQ(nnv12_type_name(NNV12_F8E4M3FN), "f8e4m3fn");
  EXPECT_STREQ(nnv12_type_name(NNV12_F4E2M1), "f4e2m1");
  EXPECT_STREQ(nnv12_type_name(NNV12_U2), "u2");
  EXPECT_STREQ(nnv12_type_name(nnv12_type(NNV12_U2 + 1)), "unknown type");
  for (int type = NNV12_BOOL; type <= NNV12_U2; ++type)
    EXPECT_EQ(elementSize(nnv12_type(type)), 1u);
}

TEST(Npy, RoundTrip) {
  TemporaryFolder folder;
  const std::string path = folder.file("a.npy");
  for (int type = NNV12_F32; type <= NNV12_U2; ++type)
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{}, {3}, {2, 3}, {0, 5}}) {
      nnv12_tensor_info info = infoOf(nnv12_type(type), shape);
      std::vector<uint8_t> data(info.byte_size);
      for (size_t i = 0; i < data.size(); ++i)
        data[i] = uint8_t(i % 2);
      ASSERT_EQ(writeNpy(path, info, data.data()), "");
      EXPECT_TRUE(isNpy(path));
      Tensor tensor;
      ASSERT_EQ(readNpy(path, info.type, tensor), "");
      EXPECT_EQ(tensor.type, info.type);
      EXPECT_EQ(tensor.shape, shape);
      EXPECT_TRUE(std::equal(data.begin(), data.end(), tensor.data.data()));
    }
}

static std::string readText(const std::string &header, const std::string &data,
                            Tensor &tensor, nnv12_type expected = NNV12_F32) {
  TemporaryFolder folder;
  std::string file("\x93NUMPY\1\0", 8);
  file += {char(header.size()), 0};
  file += header + data;
  writeFile(folder.file("a.npy"), file.data(), file.size());
  std::string error = readNpy(folder.file("a.npy"), expected, tensor);
  return error.empty() ? error : error.substr(folder.path.size() + 8);
}

TEST(Npy, FortranOrder) {
  Tensor tensor;
  ASSERT_EQ(readText("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}",
                     std::string("\0\3\1\4\2\5", 6), tensor),
            "");
  for (uint8_t i = 0; i < 6; ++i)
    EXPECT_EQ(tensor.data.data()[i], i);
}

TEST(Npy, StandIns) {
  auto read = [](const std::string &descr, const std::string &data,
                 nnv12_type expected) {
    Tensor tensor;
    std::string error = readText(
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2,)}",
        data, tensor, expected);
    return !error.empty() ? error
           : tensor.type != expected
               ? std::string("of ") + nnv12_type_name(tensor.type)
               : std::string(tensor.data.data(), tensor.data.data() + 2);
  };
  EXPECT_EQ(read("|V1", "\x7f\x80", NNV12_F8E4M3FN), "\x7f\x80");
  EXPECT_EQ(read("|u1", "\x7f\x80", NNV12_F8E8M0), "\x7f\x80");
  EXPECT_EQ(read("<f1", "\x7f\x80", NNV12_F8E5M2), "\x7f\x80");
  EXPECT_EQ(read("|i1", "\x7f\x80", NNV12_F8E5M2), "of i8");
  EXPECT_EQ(read("|V1", "\x7f\x80", NNV12_I4), "\x7f\x80");
  EXPECT_EQ(read("|i1", "\xf8\x07", NNV12_I4), "\xf8\x07");
  EXPECT_EQ(read("|i1", "\xf8\x08", NNV12_I4),
            "data: found 8, expected -8 to 7 for i4");
  EXPECT_EQ(read("|u1", "\x03\xff", NNV12_U2),
            "data: found 255, expected 0 to 3 for u2");
  EXPECT_EQ(
      read("|V1", "12", NNV12_F32),
      "descr: found '|V1', expected a little-endian number such as '<f4'");
}

TEST(Npy, RefusesBadHeaders) {
  Tensor tensor;
  auto error = [&](const std::string &header) {
    return readText(header, "1234", tensor);
  };
  EXPECT_EQ(
      error("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}"),
      "descr: found '>f4', expected a little-endian number such as '<f4'");
  EXPECT_EQ(error("{'descr': [('a', '<f4')], 'shape': (1,)}"),
            "descr: found no simple type");
  EXPECT_EQ(error("{'descr': '<f4', 'shape': (1,)}"),
            "fortran_order: not found");
  EXPECT_EQ(error("{'descr': '<f4', 'fortran_order': False}"),
            "shape: not found");
  EXPECT_EQ(error("{'descr': '<f4', 'fortran_order': False, 'shape': (1}"),
            "shape: not a list of extents");
  EXPECT_EQ(error("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"),
            "shape: not a list of extents");
  EXPECT_EQ(error("{'descr': '<f4', 'fortran_order': False, 'shape': "
                  "(99999999, 99999999)}"),
            "shape: found more than 2^40 elements");
  EXPECT_EQ(error("{'descr': '<f4', 'fortran_order': False, 'shape': "
                  "(999999999,)}"),
            "data: found 4 bytes, expected 3999999996");
  EXPECT_EQ(error("{}"), "descr: found no simple type");
  // A header that was cut, whatever is left of it.
  for (const char *header :
       {"", " ", "{", "}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
        "'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"})
    EXPECT_EQ(error(header),
              "header: found no braces around it, expected a Python dictionary")
        << header;
}

static Tensor tensorOf(std::vector<float> values) {
  Tensor tensor;
  tensor.shape = {int64_t(values.size())};
  tensor.data = Buffer(values.size() * 4);
  for (size_t i = 0; i < values.size(); ++i)
    setElement(NNV12_F32, tensor.data.data(), i, values[i]);
  return tensor;
}

TEST(Compare, ToleranceFollowsTheLargestValue) {
  Tensor expected = tensorOf({0, 100});
  EXPECT_TRUE(compare(tensorOf({0.01f, 100}), expected, Tolerance()).within);
  Difference difference =
      compare(tensorOf({0.02f, 100}), expected, Tolerance());
  EXPECT_FALSE(difference.within);
  EXPECT_EQ(difference.index, 0u);
  EXPECT_NEAR(difference.relative, 2e-4, 1e-8);
  EXPECT_TRUE(compare(tensorOf({9e-6f}), tensorOf({0}), Tolerance()).within);
}

TEST(Compare, HalvesInUnitsOfTheirLastPlace) {
  auto halves = [](std::vector<double> values) {
    Tensor tensor;
    tensor.type = NNV12_F16;
    tensor.shape = {int64_t(values.size())};
    tensor.data = Buffer(values.size() * 2);
    for (size_t i = 0; i < values.size(); ++i)
      setElement(NNV12_F16, tensor.data.data(), i, values[i]);
    return tensor;
  };
  // From 1 to 2 the halves are 2^-10 apart.
  double unit = 1.0 / 1024;
  Tensor expected = halves({1.5, 0.25});
  Difference near = compare(halves({1.5, 0.25 + 4 * unit}), expected, {});
  EXPECT_TRUE(near.within);
  EXPECT_EQ(near.units, 4);
  Difference far = compare(halves({1.5 + 5 * unit, 0.25}), expected, {});
  EXPECT_FALSE(far.within);
  EXPECT_EQ(far.units, 5);
  EXPECT_TRUE(
      compare(halves({1.5 + 5 * unit, 0.25}), expected, {1e-4, 5}).within);
  EXPECT_TRUE(
      compare(halves({1.5 + 5 * unit, 0.25}), expected, {1e-2, 4}).within);
  // The smallest halves are 2^-24 apart.
  EXPECT_EQ(compare(halves({0x1p-24}), halves({0x1p-20}), {}).units, 15);
  EXPECT_EQ(compare(halves({0x1p-24}), halves({0}), {}).units, 1);
  EXPECT_EQ(compare(tensorOf({1}), tensorOf({2}), {}).units, 0);
}

TEST(Compare, NotANumberAndInfinity) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(
      compare(tensorOf({NAN, inf, 1}), tensorOf({NAN, inf, 1}), Tolerance())
          .within);
  EXPECT_FALSE(compare(tensorOf({NAN}), tensorOf({1}), Tolerance()).within);
  EXPECT_FALSE(compare(tensorOf({1}), tensorOf({NAN}), Tolerance()).within);
  EXPECT_FALSE(compare(tensorOf({inf}), tensorOf({-inf}), Tolerance()).within);
  EXPECT_TRUE(compare(tensorOf({}), tensorOf({}), Tolerance()).within);
}

TEST(OtherPrograms, BusyTime) {
  EXPECT_EQ(busyTime("cpu  100 20 3 5000 600 4 5 6 7 8", 100), 1.38e9);
  EXPECT_EQ(busyTime("cpu0 1 2 3 4 5 6 7 8", 100), -1);
  EXPECT_EQ(busyTime("cpu 1 2", 100), -1);
  EXPECT_EQ(busyTime("", 100), -1);
  EXPECT_EQ(OtherPrograms().cpuTime(), -1); // no time has passed
}

TEST(OtherPrograms, IsSaidWhereItMatters) {
  EXPECT_EQ(busyText(0.94, 2),
            "the machine was busy: other programs took 0.9 of 2 CPUs, so that "
            "times are longer");
  EXPECT_EQ(busyText(0.05, 2), "");
  EXPECT_EQ(busyText(-1, 2), ""); // not known
}

TEST(Statistics, NearestRank) {
  Statistics s({5, 1, 4, 2, 3});
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.p90, 5);
  EXPECT_EQ(s.p95, 5);
  EXPECT_EQ(Statistics({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}).p90, 9);
  EXPECT_EQ(Statistics({1, 2}).median, 1.5);
}

// U+FFFD
#define REPLACED "\xef\xbf\xbd"

TEST(Json, ReplacesWhatIsNoUtf8) {
  auto quoted = [](const char *text) {
    Json json;
    json.value(text);
    return json.text();
  };
  EXPECT_EQ(quoted("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
            "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"\n");
  EXPECT_EQ(quoted("a\xff"
                   "b"),
            "\"a" REPLACED "b\"\n");
  // Cut short, too long a form of '/', a surrogate, beyond Unicode.
  EXPECT_EQ(quoted("\xe2\x82"), "\"" REPLACED "\"\n");
  EXPECT_EQ(quoted("\xc0\xaf"), "\"" REPLACED REPLACED "\"\n");
  EXPECT_EQ(quoted("\xed\xa0\x80"), "\"" REPLACED REPLACED REPLACED "\"\n");
  EXPECT_EQ(quoted("\xf4\x90\x80\x80"),
            "\"" REPLACED REPLACED REPLACED REPLACED "\"\n");
}

TEST(Json, Escapes) {
  Json json;
  json.beginObject().member("a\"\n", "b\\").key("c").beginArray();
  json.value(uint32_t(1)).value(0.1 * 3).value(NAN).endArray();
  json.key("d").beginArray().endArray().endObject();
  EXPECT_EQ(json.text(), "{\n  \"a\\\"\\n\": \"b\\\\\",\n  \"c\": [\n    "
                         "1,\n    0.3,\n    null\n  ],\n  \"d\": []\n}\n");
}
