//===- Numbers.h - Numbers of options and properties ------------*- C++ -*-===//
#ifndef NNV12_TOOLS_MEDIA_NUMBERS_H
#define NNV12_TOOLS_MEDIA_NUMBERS_H

#include <string>
#include <vector>

namespace nnv12::tools {

/// Parses all of `text` as a finite number.
bool parseReal(const std::string &text, double &value);

/// Parses numbers with commas between them.
bool parseReals(const std::string &text, std::vector<double> &values);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_MEDIA_NUMBERS_H
