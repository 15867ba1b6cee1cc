// A program that a person named behind a subcommand.
#pragma once

#include <string>
#include <vector>

namespace bp::tools {

// Runs it with one more variable and returns its wait status. What a person types to end it reaches the program, and not
// this process. Throws if it cannot be started; `command` is the subcommand's name.
int run_program(const char* command, std::vector<std::string> words, const char* variable,
                const std::string& value);

// As a shell would say it.
int exit_code_of(int status);

}  // namespace bp::tools
