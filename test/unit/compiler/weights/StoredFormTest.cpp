//===- StoredFormTest.cpp - Forms of weights as text ----------------------===//

#include "dialects/plan/StoredForm.h"

#include <gtest/gtest.h>
#include <set>

using namespace nnv12::plan;

TEST(StoredForm, TextAndBack) {
  for (const char *text :
       {"raw", "packed+zstd", "transformed", "packed+q8", "packed+f16+zstd",
        "packed+f16o", "packed+f16i", "packed+rounded"})
    EXPECT_EQ(StoredForm::parse(text)->text(), text);
  for (const char *text :
       {"", "zstd", "raw+", "packed+lz4", "packed+zstd+zstd", "raw+q8",
        "transformed+f16", "packed+q8+f16", "packed+zstd+q8", "q8", "+zstd"})
    EXPECT_FALSE(StoredForm::parse(text)) << text;
}

TEST(StoredForm, EveryPartTellsFormsApart) {
  std::set<StoredForm> forms;
  for (Storage storage : {Storage::raw, Storage::packed, Storage::transformed})
    for (Codec codec : {Codec::stored, Codec::zstd})
      for (const char *name : {"", "winograd2", "winograd4"})
        for (std::optional<Narrowing> narrow :
             {std::optional<Narrowing>(), std::optional(Narrowing::q8),
              std::optional(Narrowing::f16),
              std::optional(Narrowing::f16Outputs),
              std::optional(Narrowing::f16Inputs),
              std::optional(Narrowing::rounded)}) {
          StoredForm form{storage, narrow, codec, name};
          EXPECT_TRUE(forms.insert(form).second);
          EXPECT_FALSE(forms.insert(form).second);
          EXPECT_TRUE(form == form);
        }
  EXPECT_EQ(forms.size(), 108u);
}

TEST(StoredForm, KernelsReadWhatIsReady) {
  EXPECT_TRUE(StoredForm().isReady());
  EXPECT_TRUE(transformed("winograd4").isReady());
  EXPECT_TRUE(StoredForm::parse("packed+f16")->isReady());
  for (const char *text : {"raw", "packed+f16+zstd", "packed+zstd"})
    EXPECT_FALSE(StoredForm::parse(text)->isReady()) << text;
}
