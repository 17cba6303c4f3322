//===- EscapeTest.cpp - Names as they can be shown ------------------------===//
#include "artifact/Escape.h"

#include "artifact/Hexadecimal.h"
#include "artifact/Writer.h"
#include "test/unit/sample/SampleBundle.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::artifact;
using namespace nnv12::test;

TEST(Escape, ControlCharacters) {
  EXPECT_EQ(escaped("a caf\xc3\xa9"), "a caf\xc3\xa9");
  EXPECT_EQ(escaped("a\nb\tc\\d"), "a\\nb\\tc\\d");
  EXPECT_EQ(escaped("\x1b[2J\x7f\r"), "\\x1b[2J\\x7f\\x0d");
  EXPECT_EQ(escaped("\xc2\x9b"
                    "1m"),
            "\\xc2\\x9b"
            "1m");
  EXPECT_EQ(escaped("\xc2\xa9\xc2"), "\xc2\xa9\xc2");
  EXPECT_EQ(escaped(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escaped(""), "");
}

/// Four bytes at once say the same as one by one.
TEST(Escape, PlainBytes) {
  for (int value = 0; value < 256; ++value)
    for (size_t place = 0; place < 4; ++place)
      for (char around : {' ', 'a', '~'}) {
        std::string text(4, around);
        text[place] = char(value);
        bool isPlain = value >= 0x20 && value < 0x7f;
        EXPECT_EQ(arePlain(text.data()), isPlain) << value << " " << place;
      }
}

/// Tools can print names of an opened bundle without looking at them.
TEST(Escape, NoNameOfABundleHoldsControlCharacters) {
  TemporaryFolder folder;
  Sample sample;
  sample.bundle.properties.push_back({"labels", "a\nb"});
  Program &program = sample.bundle.programs[0];
  std::string *names[] = {&sample.bundle.model,
                          &sample.bundle.producer,
                          &sample.bundle.inputs[0].name,
                          &sample.bundle.outputs[0].name,
                          &sample.bundle.properties[0].key,
                          &program.target,
                          &program.architecture,
                          &program.features[0],
                          &program.revision,
                          &program.tune,
                          &program.kernels[0].name,
                          &program.kernels[0].routine,
                          &program.kernels[0].key,
                          &program.operations[0].layer};
  for (std::string *name : names)
    for (const char *text : {"\n", "\x1b[2J", "\x7f", "\xc2\x9b", "x\r",
                             "12345678\n", "1234567\xc2\x9b"}) {
      std::string before = *name;
      *name = before + text;
      // The writer verifies each bundle before it gives it a name.
      std::string error = writeBundle(sample.bundle, folder.file("a.nnv"));
      EXPECT_NE(error.find("found a control character"), std::string::npos)
          << before << ": " << error;
      *name = before;
    }
  EXPECT_EQ(writeBundle(sample.bundle, folder.file("a.nnv")), "");
}

TEST(Hexadecimal, ThereAndBack) {
  uint8_t bytes[3] = {}, wanted[3] = {0x00, 0x9a, 0xff};
  EXPECT_EQ(hexadecimal(wanted, 3), "009aff");
  EXPECT_TRUE(readHexadecimal("009AfF", bytes, 3));
  EXPECT_EQ(memcmp(bytes, wanted, 3), 0);
  for (const char *text : {"", "0", "009af", "009ag0", "00 9aff", "-09aff"})
    EXPECT_FALSE(readHexadecimal(text, bytes, 3)) << text;
}
