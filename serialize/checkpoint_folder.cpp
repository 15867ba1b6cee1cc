// Several checkpoints of a run, of which the newest count.
#include <algorithm>
#include <charconv>

#include <backplane/files/file_errors.hpp>
#include <backplane/files/output_file.hpp>
#include <backplane/serialize/checkpoint.hpp>

namespace bp::serialize {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view step_begins = "step-", step_ends = ".safetensors";
constexpr int step_digits = 12;

std::string name_of(std::int64_t step) {
  return fmt::format("{}{:0{}}{}", step_begins, step, step_digits, step_ends);
}

// The step of a file's name; nothing for names that save does not give.
std::optional<std::int64_t> step_in(std::string_view name) {
  if (name.size() < step_begins.size() + step_ends.size()) return {};
  std::int64_t step = -1;
  std::from_chars(name.data() + step_begins.size(), name.data() + name.size() - step_ends.size(),
                  step);
  if (step < 0 || name != name_of(step)) return {};
  return step;
}

// A link counts, even where what it names is gone.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

// Whether a file that can't be loaded is to blame itself. Where the system refuses the process, as without rights or file
// descriptors, the file may be whole, and an older one in its place would throw work away.
bool is_damage(const Error& error) {
  const auto* refused = dynamic_cast<const files::SystemError*>(&error);
  constexpr int of_the_file[] = {ENOENT, ENOTDIR, ELOOP, EIO};
  return error.error_class() == ErrorClass::bad_argument &&
         (!refused ||
          std::count(std::begin(of_the_file), std::end(of_the_file), refused->number()));
}

}  // namespace

CheckpointFolder::CheckpointFolder(fs::path folder, CheckpointFolderOptions options)
    : folder_(std::move(folder)), options_(options) {
  BP_CHECK(options_.keep >= 1, "CheckpointFolder: keep is {}; keep at least 1", options_.keep);
  files::make_folder(folder_);
}

fs::path CheckpointFolder::path_of(std::int64_t step) const {
  BP_CHECK(step >= 0, "CheckpointFolder: step {} of {}; steps count from 0", step,
           folder_.string());
  return folder_ / name_of(step);
}

std::vector<std::int64_t> CheckpointFolder::steps() const {
  std::vector<std::int64_t> found;
  std::error_code problem;
  for (fs::directory_iterator entry(folder_, problem), end; !problem && entry != end;
       entry.increment(problem))
    if (const auto step = step_in(entry->path().filename().string())) found.push_back(*step);
  if (problem) files::throw_file_error(folder_.string(), "can't be listed", problem.value());
  std::sort(found.begin(), found.end());
  return found;
}

fs::path CheckpointFolder::save(const Checkpoint& checkpoint) {
  fs::path path = path_of(checkpoint.step);
  files::remove_abandoned(folder_, fmt::format(".{}", step_begins));
  serialize::save(path, to_state(checkpoint));
  // Not this one, whatever its step: a run that went back to an earlier checkpoint goes on from there.
  std::vector<std::int64_t> all = steps();
  std::erase(all, checkpoint.step);
  const auto num_old = static_cast<std::int64_t>(all.size()) - (options_.keep - 1);
  for (std::int64_t i = 0; i < num_old; ++i) {
    std::error_code ignored;  // one that stays takes room and does no harm
    fs::remove(path_of(all[static_cast<std::size_t>(i)]), ignored);
  }
  return path;
}

Checkpoint CheckpointFolder::load(std::int64_t step) const {
  return to_checkpoint(serialize::load(path_of(step)));
}

// A writer removes old steps once it has saved a newer one: where a step is gone when it is opened, the folder is listed
// again.
std::optional<Checkpoint> CheckpointFolder::load_newest() {
  constexpr int most_lists = 100;  // a network's folder may go on listing what is gone
  for (int num_lists = 1;; ++num_lists) {
    damaged_.clear();
    const std::vector<std::int64_t> all = steps();
    bool is_gone = false;
    for (std::size_t i = all.size(); i-- > 0 && !is_gone;) {
      try {
        return load(all[i]);
      } catch (const Error& error) {
        if (!is_damage(error)) throw;
        is_gone = num_lists < most_lists && !is_there(path_of(all[i]));
        if (!is_gone) damaged_.emplace_back(error.what());
      }
    }
    if (is_gone) continue;
    BP_CHECK(all.empty(), "{}: all of its {} checkpoints are damaged; the newest: {}",
             folder_.string(), all.size(), damaged_[0]);
    return {};
  }
}

}  // namespace bp::serialize
