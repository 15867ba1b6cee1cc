// What plugin.hpp makes of a device's facts, without any device.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include <backplane/plugin.hpp>

namespace {

TEST(DeviceInfo, a_pci_address_is_written_as_linux_writes_it) {
  bp::DeviceInfo info{};
  info.set_pci(0x10000, 0xAB, 0x1f, 7);
  EXPECT_STREQ(info.bus, "10000:ab:1f.7");
  info.set_pci(0, 0, 6, 0);
  EXPECT_STREQ(info.bus, "0000:00:06.0");
}

TEST(DeviceInfo, the_numa_node_of_an_address_is_the_systems) {
  EXPECT_EQ(bp::numa_node_of_pci("ffff:ff:ff.7"), -1);
  std::error_code none;
  for (const auto& each : std::filesystem::directory_iterator("/sys/bus/pci/devices", none)) {
    int node = -1;
    std::ifstream(each.path() / "numa_node") >> node;
    EXPECT_EQ(bp::numa_node_of_pci(each.path().filename().c_str()), node);
  }
}

TEST(DeviceInfo, texts_that_are_too_long_are_cut_and_end) {
  bp::DeviceInfo info{};
  const std::string text(1000, 'x');
  info.set_name(text.c_str());
  info.set_driver(text.c_str());
  EXPECT_EQ(std::strlen(info.name), sizeof info.name - 1);
  EXPECT_EQ(std::strlen(info.driver), sizeof info.driver - 1);
}

}  // namespace
