// needs: cpu opencl
// No driver, or a broken one among good ones: told, never fatal. Each case is a process of its own, since a process
// looks for drivers once.
#include <array>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

struct Answer {
  int status;
  std::string text;
};

// The command `backplane`, with this folder as the only place of drivers.
Answer run_with_drivers(const std::string& folder, const std::string& arguments) {
  const std::string command =
      "OCL_ICD_VENDORS='" + folder + "' '" BP_BUILD_BIN_DIR "/backplane' " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  Answer answer{-1, {}};
  std::array<char, 4096> buffer;
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) answer.text += buffer.data();
  const int status = pclose(pipe);
  if (WIFEXITED(status)) answer.status = WEXITSTATUS(status);
  return answer;
}

// A folder of drivers, deleted with the object.
class Drivers {
 public:
  Drivers() {
    std::string place = (fs::temp_directory_path() / "backplane-icd-XXXXXX").string();
    folder_ = mkdtemp(place.data());
  }
  ~Drivers() { fs::remove_all(folder_); }

  // A driver's entry with this first line.
  void add(const std::string& name, const std::string& library) {
    std::ofstream(folder_ / (name + ".icd")) << library << "\n";
  }
  std::string add_file(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name) << content;
    return (folder_ / name).string();
  }
  // False if none is installed in the usual place.
  bool add_installed() {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/etc/OpenCL/vendors", error)) {
      fs::copy(entry.path(), folder_ / entry.path().filename());
      found_ = true;
    }
    return found_;
  }
  std::string folder() const { return folder_.string(); }

 private:
  fs::path folder_;
  bool found_ = false;
};

TEST(OpenClDiscovery, without_a_driver_the_other_devices_work) {
  const Answer answer = run_with_drivers("/nonexistent", "devices");
  EXPECT_EQ(answer.status, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("cpu:0"));
  EXPECT_THAT(answer.text, Not(HasSubstr("opencl:0")));
}

TEST(OpenClDiscovery, the_doctor_says_that_no_driver_is_there) {
  const Answer answer = run_with_drivers("/nonexistent", "doctor");
  EXPECT_THAT(answer.text, HasSubstr("no OpenCL driver is installed here"));
}

TEST(OpenClDiscovery, a_folder_of_broken_drivers_is_no_driver) {
  Drivers drivers;
  drivers.add("junk", drivers.add_file("libjunk.so", "this is not a library"));
  drivers.add("missing", "/nonexistent/libopencl.so");
  drivers.add("empty", "");
  const Answer answer = run_with_drivers(drivers.folder(), "devices");
  EXPECT_EQ(answer.status, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("cpu:0"));
  EXPECT_THAT(answer.text, Not(HasSubstr("opencl:0")));
}

TEST(OpenClDiscovery, broken_drivers_take_nothing_from_a_good_one) {
  Drivers drivers;
  if (!drivers.add_installed()) GTEST_SKIP() << "no driver in /etc/OpenCL/vendors";
  drivers.add("0-junk", drivers.add_file("libjunk.so", "this is not a library"));
  drivers.add("zz-missing", "/nonexistent/libopencl.so");
  // A library that loads and is not a driver.
  drivers.add("1-no-driver", BP_PLUGIN_DIR "/libbackplane_reference.so");
  const Answer answer = run_with_drivers(drivers.folder(), "devices");
  EXPECT_EQ(answer.status, 0) << answer.text;
  EXPECT_THAT(answer.text, HasSubstr("opencl:0"));
}

}  // namespace
