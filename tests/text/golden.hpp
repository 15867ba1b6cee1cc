// Texts that people read, compared with the files beside this one. `./dev test --accept` writes them.
#pragma once

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>

namespace bp::test {

// `name` is a path below tests/text.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(BP_SOURCE_DIR "/tests/text/") + name;
  if (std::getenv("BP_ACCEPT")) std::ofstream(path) << text;
  std::ifstream file(path);
  std::stringstream accepted;
  accepted << file.rdbuf();
  EXPECT_EQ(text, accepted.str()) << path << ": if the new text is better, ./dev test --accept";
}

}  // namespace bp::test
