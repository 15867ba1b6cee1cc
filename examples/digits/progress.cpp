#include "progress.hpp"

#include <algorithm>
#include <cstdio>
#include <unistd.h>
#include <utility>

namespace digits {
namespace {

constexpr int bar_width = 30;
constexpr int num_plain_lines = 5;

}  // namespace

Progress::Progress(std::string title, int num_epochs)
    : title_(std::move(title)), num_epochs_(num_epochs), on_terminal_(isatty(STDOUT_FILENO) != 0) {}

void Progress::show(int epoch, double loss) {
  if (on_terminal_) {
    const std::string bar(static_cast<std::size_t>(bar_width * epoch / num_epochs_), '#');
    std::printf("\r%-12s [%-*s] epoch %d/%d  loss %.4f%s", title_.c_str(), bar_width, bar.c_str(),
                epoch, num_epochs_, loss, epoch == num_epochs_ ? "\n" : "");
    std::fflush(stdout);
  } else if (epoch % std::max(1, num_epochs_ / num_plain_lines) == 0) {
    std::printf("%-12s epoch %d/%d  loss %.4f\n", title_.c_str(), epoch, num_epochs_, loss);
  }
}

}  // namespace digits
