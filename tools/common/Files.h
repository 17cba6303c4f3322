//===- Files.h - Files that a tool reads and writes -------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_FILES_H
#define NNV12_TOOLS_COMMON_FILES_H

#include "artifact/MappedFile.h"

#include <string>
#include <vector>

namespace nnv12::tools {

/// Notes a file that this process reads, now or later: no output may replace
/// it. "" is none.
void noteInput(const std::string &path);

/// Ends the process if `path` names a file that was noted; "-" and "" name
/// none. Each tool asks for all that it writes, once it knows what it reads and
/// before it works for long.
void checkOutput(const std::string &path);

/// Opens a regular file and notes it. Empty, or one line that starts with the
/// path.
std::string openInput(const std::string &path, artifact::MappedFile &file);

/// All of such a file. Ends the process when it cannot be read.
std::string readText(const std::string &path);

/// Lists the entries of a folder, by name, without those that are hidden and
/// notes about the others (.txt, .md, .json). Empty, or one line that starts
/// with the path.
std::string listFolder(const std::string &path,
                       std::vector<std::string> &entries);

/// The message about a file that is no bundle: `fault`, or the kind of the
/// file, where that is known.
std::string explainBundle(const std::string &path, const std::string &fault);

/// Writes to a file, which appears whole or not at all. "-" is standard output.
/// Ends the process when it cannot.
void writeText(const std::string &path, const std::string &text);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_FILES_H
