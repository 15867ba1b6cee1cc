// needs: cpu reference
// Files of tensors by name.
#include "serialize/files.hpp"

namespace bp::test {
namespace {

using serialize::load_file;
using serialize::SafetensorsFile;
using serialize::save_file;

TEST(Safetensors, gives_every_dtype_back_bit_for_bit_mapped_and_read) {
  const Folder folder;
  nn::StateDict tensors;
  for (const Dtype dtype : all_dtypes)
    if (dtype != complex128) tensors.set("of." + std::string(name(dtype)), counted(dtype, {3, 5}));
  tensors.set("scalar", counted(f64, {}));
  tensors.set("nothing", counted(f32, {0, 4}));
  save_file(tensors, folder / "a.safetensors", {{"format", "pt"}, {"note", "ü \"x\"\n"}});
  for (const bool mapped : {true, false}) {
    const nn::StateDict loaded = load_file(folder / "a.safetensors", {.mapped = mapped});
    EXPECT_EQ(loaded.size(), tensors.size());
    for (const auto& [name, tensor] : tensors) expect_same(loaded.at(name), tensor);
  }
  const SafetensorsFile file(folder / "a.safetensors");
  EXPECT_EQ(file.metadata(), (serialize::Metadata{{"format", "pt"}, {"note", "ü \"x\"\n"}}));
  EXPECT_EQ(file.info("scalar").nbytes, 8u);
  EXPECT_EQ(file.info("nothing").shape, (std::vector<std::int64_t>{0, 4}));
  EXPECT_TRUE(file.contains("scalar"));
  EXPECT_FALSE(file.contains("nobody"));
  EXPECT_THAT(sentence_of([&] { file.get_tensor("nobody"); }),
              HasSubstr("no tensor 'nobody' among 18"));
}

TEST(Safetensors, writes_what_the_format_asks_for) {
  const Folder folder;
  save_file({{"b", counted(u8, {3})},
             {"a", counted(u8, {1})},
             {"wide", counted(f64, {2})},
             {"half", counted(f16, {3})}},
            folder / "a.safetensors");
  const std::string bytes = bytes_in(folder / "a.safetensors");
  const std::string header =
      R"({"wide":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},"half":{"dtype":"F16","shape":[3],"data_offsets":[16,22]},)"
      R"("a":{"dtype":"U8","shape":[1],"data_offsets":[22,23]},"b":{"dtype":"U8","shape":[3],"data_offsets":[23,26]}})";
  const std::size_t length = bytes.size() - 8 - 26;
  EXPECT_EQ(bytes.substr(0, 8), little_endian(length, 8));
  EXPECT_EQ((8 + length) % 64, 0u);
  EXPECT_EQ(bytes.substr(8, length), header + std::string(length - header.size(), ' '));
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"a.safetensors"}));
}

TEST(Safetensors, writes_strided_tensors_leaves_and_those_of_other_devices_by_their_values) {
  const Folder folder;
  const Tensor base = arange(0, 12, 1, f64), leaf = set_requires_grad(randn({3}));
  save_file({{"t", transpose(view(base, {3, 4}), 0, 1)},
             {"every_second", slice(base, 0, 0, 12, 2)},
             {"row", expand(tensor({1.5f}), {3})},
             {"leaf", leaf},
             {"there", to(base, device("reference:0"))}},
            folder / "a.safetensors");
  const nn::StateDict loaded = load_file(folder / "a.safetensors");
  expect_same(loaded.at("t"), transpose(view(base, {3, 4}), 0, 1));
  EXPECT_EQ(numbers_of(loaded.at("every_second")), (Values{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(numbers_of(loaded.at("row")), (Values{1.5, 1.5, 1.5}));
  expect_same(loaded.at("leaf"), leaf);
  EXPECT_FALSE(requires_grad(loaded.at("leaf")));
  expect_same(loaded.at("there"), base);
}

TEST(Safetensors, a_write_to_a_mapped_tensor_stays_in_the_process) {
  const Folder folder;
  save_file({{"a", ones({1000})}}, folder / "a.safetensors");
  const std::string before = bytes_in(folder / "a.safetensors");
  const SafetensorsFile file(folder / "a.safetensors", {.mapped = true});
  const Tensor a = file.get_tensor("a"), again = file.get_tensor("a");
  fill_(a, 7);
  EXPECT_EQ(numbers_of(again)[999], 7);
  EXPECT_EQ(bytes_in(folder / "a.safetensors"), before);
  EXPECT_EQ(numbers_of(load_file(folder / "a.safetensors").at("a"))[999], 1);
}

TEST(Safetensors, mapped_tensors_outlive_the_file_and_its_name) {
  const Folder folder;
  save_file({{"a", ones({1000})}}, folder / "a.safetensors");
  const Tensor a = SafetensorsFile(folder / "a.safetensors", {.mapped = true}).get_tensor("a");
  save_file({{"a", zeros({1000})}}, folder / "a.safetensors");
  fs::remove(folder / "a.safetensors");
  EXPECT_EQ(numbers_of(sum(a)), Values{1000});
}

// By default, so that a file that somebody cuts or writes over can neither end the process nor change what was loaded.
TEST(Safetensors, tensors_do_not_need_the_file_any_more) {
  const Folder folder;
  save_file({{"a", ones({100'000})}}, folder / "a.safetensors");
  const nn::StateDict loaded = load_file(folder / "a.safetensors");
  const Tensor one = SafetensorsFile(folder / "a.safetensors").get_tensor("a");
  const std::uintmax_t bytes = fs::file_size(folder / "a.safetensors");
  fs::resize_file(folder / "a.safetensors", 0);
  fs::resize_file(folder / "a.safetensors", bytes);
  EXPECT_EQ(numbers_of(sum(loaded.at("a"))), Values{100'000});
  EXPECT_EQ(numbers_of(sum(one)), Values{100'000});
}

TEST(Safetensors, of_a_file_that_was_written_since_it_was_opened_are_refused) {
  const Folder folder;
  const fs::path path = folder / "a.safetensors";
  save_file({{"flags", counted(boolean, {9000})}, {"a", ones({1000})}}, path);
  const std::string whole = bytes_in(path);
  for (const bool mapped : {true, false})
    for (const std::size_t size : {std::size_t{0}, whole.size() / 2, whole.size()}) {
      const SafetensorsFile file(written(path, whole), {.mapped = mapped});
      file.get_tensor("a");
      usleep(20'000);  // a system's clock of files ticks slowly
      written(path, whole.substr(0, size));
      for (const auto& said : {sentence_of([&] { file.get_tensor("flags"); }),
                               sentence_of([&] { file.get_tensors(); })})
        EXPECT_THAT(said, testing::AnyOf(HasSubstr("a.safetensors: was written to since"),
                                         HasSubstr("is another program writing to it?")))
            << mapped << size;
    }
}

TEST(Safetensors, copies_what_is_not_aligned_in_the_file) {
  const Folder folder;
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
  const std::string one("\x07\x00\x00\x80\x3f", 5);
  const nn::StateDict loaded =
      load_file(written(folder / "a.safetensors", safetensors_of(header, one)), {.mapped = true});
  EXPECT_EQ(to_vector<float>(loaded.at("b")), std::vector<float>{1});
  EXPECT_EQ(to_vector<std::uint8_t>(loaded.at("a")), std::vector<std::uint8_t>{7});
}

TEST(Safetensors, reads_a_model_of_several_files_by_its_index) {
  const Folder folder;
  save_file({{"a", ones({2})}, {"unlisted", ones({2})}}, folder / "m-1.safetensors");
  save_file({{"b", zeros({3})}}, folder / "m-2.safetensors");
  const auto index = [&](const std::string& text) {
    return written(folder / "m.safetensors.index.json", text);
  };
  const nn::StateDict loaded = load_file(index(
      R"({"metadata": {"total_size": 20, "more": [{}]}, "weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}})"));
  EXPECT_EQ(names_of(loaded), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(numbers_of(loaded.at("b")), (Values{0, 0, 0}));
  const std::pair<std::string, std::string> bad[] = {
      {R"({"weight_map": {"a": "../m-1.safetensors"}})", "not the name of a file beside"},
      {R"({"weight_map": {"a": "/etc/passwd"}})", "not the name of a file beside"},
      {R"({"weight_map": {"a": ".."}})", "not the name of a file beside"},
      {R"({"weight_map": {"a": 1}})", "'a' is not the name of a file"},
      {R"({"weight_map": {"a": {"a": "m-1.safetensors"}}})", "'a' is not the name of a file"},
      {R"({"weight_map": "m-1.safetensors"})", "is not the name of a file"},
      {R"({"weight_map": {"a": "m-1.safetensors", "a": "m-2.safetensors"}})", "'a' twice"},
      {R"({"weight_map": {}, "weight_map": {}})", "weight_map twice"},
      {R"({"weight_map": {"b": "m-1.safetensors"}})", "'b' is said to be in 'm-1.safetensors'"},
      {R"({"weight_map": {"b": "m-3.safetensors"}})", "m-3.safetensors: can't be opened"},
      {R"({"weights": {}})", "has no weight_map"},
      {R"(["weight_map"])", "not a JSON object"},
      {R"("weight_map")", "not a JSON object"},
      {"{\"weight_map\": {}", "not JSON at byte"},
      {std::string(100000, '['), "not a JSON object"},
      {"{\"x\": " + std::string(100000, '['), "nested deeper than 100"},
      {"", "not JSON"},
  };
  for (const auto& [text, sentence] : bad)
    EXPECT_THAT(sentence_of([&] { load_file(index(text)); }), HasSubstr(sentence))
        << text.substr(0, 80);
}

TEST(Safetensors, refuses_headers_that_lie) {
  const Folder folder;
  const std::string a = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  const auto tensor = [](const std::string& members) { return "{\"a\":{" + members + "}}"; };
  const auto placed = [&](const std::string& shape, const std::string& places) {
    return tensor(R"("dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + places);
  };
  const std::string four(4, '\0');
  const std::tuple<std::string, std::string, std::string> bad[] = {
      {"", "", "does not begin with '{'"},
      {"[]", "", "does not begin with '{'"},
      {"{", "", "not JSON at byte"},
      {"{}x", "", "not JSON at byte"},
      {"{}", "x", "end at byte 0, and the file has 1 bytes of values"},
      {a + R"(,"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", four + four,
       "has 'a' twice"},
      {a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})", four + "xx",
       "'b' begins at byte 2, before 'a' ends at byte 4"},
      {a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", four,
       "before 'a' ends at byte 4"},
      {a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[5,9]}})", four + four + "x",
       "begins at byte 5, and the bytes from 4 on belong to no tensor"},
      {placed("[1]", "[0,4]"), "xxx",
       "is at bytes 0 to 4, and there are only 3; is the file cut off?"},
      {placed("[1]", "[0,4]"), "xxxxx", "end at byte 4, and the file has 5"},
      {placed("[1]", "[4,0]"), four, "is at bytes 4 to 0"},
      {placed("[2]", "[0,4]"), four, "of shape [2] and dtype float32 needs 8 bytes, and has 4"},
      {placed("[4294967296,4294967296]", "[0,0]"), "", "more bytes than can be counted"},
      {placed("[4294967296,2147483648]", "[0,0]"), "", "more bytes than can be counted"},
      {placed("[18446744073709551615]", "[0,4]"), four, "more bytes than can be counted"},
      {placed("[99999999999999999999]", "[0,4]"), four, "'99999999999999999999'"},
      {placed("[-1]", "[0,4]"), four, "-1"},
      {placed("[1.0]", "[0,4]"), four, "'1.0'"},
      {placed("[NaN]", "[0,4]"), four, "not JSON"},
      {placed("[true]", "[0,4]"), four, "true or false"},
      {placed("[null]", "[0,4]"), four, "null"},
      {placed("[[1]]", "[0,4]"), four, "a list"},
      {placed("[{}]", "[0,4]"), four, "an object"},
      {placed("1", "[0,4]"), four, "1, which the format does not allow there"},
      {placed("[1]", "[0]"), four, "lacks some of them"},
      {placed("[1]", "[0,4,4]"), four, "has more than 2 numbers"},
      {placed("[1]", "\"0\""), four, "'0'"},
      {placed("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]"), four, "has more than 16 numbers"},
      {tensor(R"("dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4])"), four,
       "the key 'dtype' twice"},
      {tensor(R"("dtype":"F4","shape":[1],"data_offsets":[0,4])"), four,
       "dtype 'F4', which is unknown here"},
      {tensor(R"("dtype":["F32"],"shape":[1],"data_offsets":[0,4])"), four, "a list"},
      {tensor(R"("dtype":1,"shape":[1],"data_offsets":[0,4])"), four, "1, which"},
      {tensor(R"("shape":[1],"data_offsets":[0,4])"), four, "lacks some of them"},
      {tensor(R"("dtype":"F32","data_offsets":[0,4])"), four, "lacks some of them"},
      {tensor(R"("dtype":"F32","shape":[1],"offsets":[0,4])"), four, "has a key 'offsets'"},
      {tensor(R"("dtype":"BOOL","shape":[4],"data_offsets":[0,4])"), std::string("\0\1\2\0", 4),
       "neither 0 nor 1"},
      {R"({"a":1})", "", "'a' is or holds 1"},
      {R"({"a":[]})", "", "'a' is or holds a list"},
      {R"({"__metadata__":"x"})", "", "'x'"},
      {R"({"__metadata__":{"x":1}})", "", "__metadata__'s 'x' is or holds 1"},
      {R"({"__metadata__":{"x":{}}})", "", "an object"},
      {R"({"__metadata__":{"x":[]}})", "", "a list"},
      {R"({"__metadata__":{"x":"","x":""}})", "", "the key 'x' twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", "", "'__metadata__' twice"},
      {"{\"a\xff\":{}}", "", "not JSON at byte"},
      {R"({"a\u0007)" + std::string(1000, 'n') + R"(":1})", "", "'a?nnn"},
  };
  for (const auto& [header, values, sentence] : bad) {
    const fs::path file = written(folder / "a.safetensors", safetensors_of(header, values));
    const std::string said = sentence_of([&] { load_file(file); });
    EXPECT_THAT(said, HasSubstr(sentence)) << header.substr(0, 200);
    EXPECT_TRUE(said.starts_with(file.string() + ": ")) << said;
  }
  const std::string claims = little_endian(100'000'001, 8), cut = little_endian(3, 8);
  EXPECT_THAT(sentence_of([&] { load_file(written(folder / "a.safetensors", claims + "{}")); }),
              HasSubstr("claims 100000001 bytes, and the format allows 100000000"));
  EXPECT_THAT(sentence_of([&] { load_file(written(folder / "a.safetensors", cut + "{}")); }),
              HasSubstr("claims 3 bytes, and 2 follow"));
}

TEST(Safetensors, takes_what_the_format_allows) {
  const Folder folder;
  const auto load = [&](const std::string& header, const std::string& values = {}) {
    return load_file(written(folder / "a.safetensors", safetensors_of(header, values)));
  };
  EXPECT_EQ(load("{}").size(), 0u);
  EXPECT_EQ(load("{}    \n ").size(), 0u);
  const nn::StateDict out_of_order = load(
      R"({"b":{"data_offsets":[1,2],"dtype":"U8","shape":[]},"none":{"dtype":"F32","shape":[0],"data_offsets":[1,1]},)"
      R"("a":{"dtype":"U8","shape":[1,1],"data_offsets":[0,1]}})",
      "\1\2");
  EXPECT_EQ(numbers_of(out_of_order.at("a")), Values{1});
  EXPECT_EQ(numbers_of(out_of_order.at("b")), Values{2});
  EXPECT_EQ(out_of_order.at("none").numel(), 0);
}

TEST(Safetensors, refuses_a_file_cut_off_at_every_byte) {
  const Folder folder;
  save_file({{"a", counted(f32, {3})}, {"b", counted(u8, {5})}}, folder / "whole.safetensors",
            {{"k", "v"}});
  const std::string whole = bytes_in(folder / "whole.safetensors");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const fs::path file = written(folder / "cut.safetensors", whole.substr(0, size));
    for (const bool mapped : {true, false})
      EXPECT_THAT(sentence_of([&] { load_file(file, {.mapped = mapped}); }),
                  HasSubstr(file.string() + ": "))
          << size;
  }
  EXPECT_EQ(load_file(written(folder / "cut.safetensors", whole)).size(), 2u);
}

TEST(Safetensors, refuses_what_is_not_a_file) {
  const Folder folder;
  EXPECT_THAT(sentence_of([&] { load_file(folder / "nobody.safetensors"); }),
              HasSubstr("nobody.safetensors: can't be opened: No such file"));
  EXPECT_THAT(sentence_of([&] { load_file(folder.path()); }), HasSubstr("not a regular file"));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(sentence_of([&] { load_file(folder / "pipe"); }), HasSubstr("not a regular file"));
  EXPECT_THAT(sentence_of([&] {
                save_file({{"a", ones({1})}}, folder / "pipe");
              }),
              HasSubstr("not a regular file"));
  EXPECT_THAT(sentence_of([&] {
                save_file({{"a", ones({1})}}, folder.path());
              }),
              HasSubstr("not a regular file"));
  EXPECT_THAT(sentence_of([&] {
                save_file({{"a", ones({1})}}, "/dev/full");
              }),
              HasSubstr("not a regular file"));
  EXPECT_THAT(sentence_of([&] {
                save_file({{"a", ones({1})}}, folder / "no/such/a.safetensors");
              }),
              HasSubstr("can't be written after 0 bytes: No such file"));
}

TEST(Safetensors, refuses_to_write_what_the_format_lacks) {
  const Folder folder;
  const fs::path path = written(folder / "a.safetensors", "earlier");
  const auto sentence = [&](const nn::StateDict& tensors,
                            const serialize::Metadata& metadata = {}) {
    return sentence_of([&] { save_file(tensors, path, metadata); });
  };
  EXPECT_THAT(sentence({{"a", counted(complex128, {1})}}), HasSubstr("tensor 'a' is complex128"));
  EXPECT_THAT(sentence({{"__metadata__", ones({1})}}), HasSubstr("can't be called __metadata__"));
  EXPECT_THAT(sentence({{"a\xff", ones({1})}}), HasSubstr("the name 'a?' is not UTF-8"));
  EXPECT_THAT(sentence({}, {{"a", "\xff"}}), HasSubstr("is not UTF-8"));
  EXPECT_THAT(sentence({{"a", Tensor()}}), HasSubstr("'a' is undefined"));
  EXPECT_THAT(sentence({{"a", empty({1}, f32, meta_device)}}), HasSubstr("is on meta"));
  EXPECT_EQ(bytes_in(path), "earlier");
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"a.safetensors"}));
}

// So that a report in JSON can hold the sentence, and a terminal does not obey it.
TEST(Safetensors, sentences_show_a_files_text_as_printable_utf_8) {
  const Folder folder;
  save_file({{"a", ones({1})}}, folder / "a.safetensors");
  const SafetensorsFile file(folder / "a.safetensors");
  const std::pair<std::string, std::string> names[] = {
      {"\x1b[2J\n\x7f", "?[2J??"},
      {"\xc2\x9b", "??"},
      {"ü€😀\xc2\xa0", "ü€😀\xc2\xa0"},
      {"\xff\xc0\x80\xe0\x80\x80", "??????"},
      {"\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82", "???|????|??"},
      {std::string(79, 'x') + "ü!", std::string(79, 'x') + "ü..."},
      {std::string(80, 'x'), std::string(80, 'x')}};
  for (const auto& [name, said] : names)
    EXPECT_THAT(sentence_of([&] { file.get_tensor(name); }), HasSubstr("'" + said + "'"));
}

TEST(Safetensors, replaces_what_a_link_points_to) {
  const Folder folder;
  save_file({{"a", ones({1})}}, folder / "real.safetensors");
  fs::create_symlink("real.safetensors", folder / "link.safetensors");
  save_file({{"b", ones({1})}}, folder / "link.safetensors");
  EXPECT_TRUE(fs::is_symlink(folder / "link.safetensors"));
  EXPECT_TRUE(load_file(folder / "real.safetensors").contains("b"));
}

// 256 TiB, more than a process can address, of which the system stores no byte.
TEST(Safetensors, that_no_memory_holds_are_named_with_their_file) {
  const Folder folder("/dev/shm");
  const fs::path file = written(
      folder / "a.safetensors",
      safetensors_of(
          R"({"w":{"dtype":"U8","shape":[281474976710656],"data_offsets":[0,281474976710656]}})"));
  std::error_code problem;
  fs::resize_file(file, fs::file_size(file) + (1ull << 48), problem);
  if (problem) GTEST_SKIP() << problem.message();
  try {
    load_file(file);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::out_of_memory);
    EXPECT_THAT(error.what(),
                testing::StartsWith(file.string() + ": tensor 'w' does not fit into memory: "));
    EXPECT_THAT(error.what(), HasSubstr("256.00 TiB"));
  }
  EXPECT_THAT(sentence_of([&] { load_file(file, {.mapped = true}); }),
              HasSubstr("a.safetensors: can't be mapped"));
}

TEST(Safetensors, of_another_model_is_refused_by_the_modules_sentence) {
  const Folder folder;
  const Net from;
  save_file(from.state_dict(), folder / "net.safetensors");
  Net net;
  net.load_state_dict(load_file(folder / "net.safetensors"));
  expect_same(net.hidden.weight, from.hidden.weight);
  Tied other;
  EXPECT_THAT(sentence_of([&] { other.load_state_dict(load_file(folder / "net.safetensors")); }),
              testing::AllOf(HasSubstr("missing in the dict: encoder.weight"),
                             HasSubstr("unknown to the module: ")));
}

TEST(Safetensors, reads_large_files_by_several_threads) {
  const Folder folder;
  const Tensor large = randn({3 << 20}), larger = randn({5, 1 << 20});
  save_file({{"large", large}, {"larger", larger}}, folder / "a.safetensors");
  const nn::StateDict loaded = load_file(folder / "a.safetensors", {.mapped = false});
  expect_same(loaded.at("large"), large);
  expect_same(loaded.at("larger"), larger);
}

}  // namespace
}  // namespace bp::test
