// needs: cpu
// CSV, NumPy's and MNIST's files, lines of text: what is read, and how it is refused.
#include "data/datasets.hpp"
#include "data/picture_files.hpp"

namespace bp::test {
namespace {

Csv csv(std::string_view text, const CsvOptions& options = {}) {
  return parse_csv(text, "table.csv", options);
}
CsvText csv_text(std::string_view text, const CsvOptions& options = {}) {
  return parse_csv_text(text, "table.csv", options);
}

TEST(CsvFiles, become_a_matrix_of_numbers) {
  const Csv table = csv("x,y\n1,2.5\n-3e2, 4 \r\n\n+5,6");
  EXPECT_EQ(table.columns, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(table.values.dtype(), f32);
  EXPECT_EQ(values_of(to(table.values, f64)), (Values{1, 2.5, -300, 4, 5, 6}));
}

TEST(CsvFiles, have_quoted_cells) {
  const CsvText table = csv_text("\"a,b\",\"c\"\"d\"\n\"line\nbreak\",\"\"\nplain,\" x \"\n");
  EXPECT_EQ(table.columns, (std::vector<std::string>{"a,b", "c\"d"}));
  EXPECT_EQ(table.rows,
            (std::vector<std::vector<std::string>>{{"line\nbreak", ""}, {"plain", " x "}}));
}

TEST(CsvFiles, give_chosen_columns_in_their_order) {
  EXPECT_EQ(values_of(csv("a,b,c\n1,2,3\n4,5,6", {.columns = {"c", "a"}, .dtype = f64}).values),
            (Values{3, 1, 6, 4}));
  EXPECT_EQ(
      values_of(csv("1;2\n3;4", {.header = false, .delimiter = ';', .columns = {"1"}, .dtype = f64})
                    .values),
      (Values{2, 4}));
  EXPECT_THAT(sentence_of([] { csv("a,b\n1,2", {.columns = {"z"}}); }),
              HasSubstr("table.csv: has no column \"z\"; its 2 columns are: a, b"));
}

TEST(CsvFiles, name_line_and_column_of_a_bad_cell) {
  EXPECT_THAT(sentence_of([] { csv("age,name\n1,2\n3,\"x\ny\"\n"); }),
              HasSubstr("table.csv:3: column 2 (name): \"x\ny\" is not a number"));
  EXPECT_THAT(sentence_of([] { csv("a\n\"\n\"\n\n1x"); }), HasSubstr("table.csv:2: column 1"));
  EXPECT_THAT(sentence_of([] { csv("a,b\n1,"); }), HasSubstr("set `missing`"));
  EXPECT_EQ(values_of(csv("a,b\n1,", {.missing = -1.0, .dtype = f64}).values), (Values{1, -1}));
  EXPECT_THAT(sentence_of([] { csv("a,b\n1,2\n3"); }),
              HasSubstr("table.csv:3: has 1 cells, and there are 2"));
  EXPECT_THAT(sentence_of([] { csv("a\n\"1"); }),
              HasSubstr("table.csv:2: column 1 (a): the quote does not end"));
  EXPECT_THAT(sentence_of([] { csv("a\n\"1\"2"); }), HasSubstr("text after the closing quote"));
}

TEST(CsvFiles, number_columns_as_the_file_does) {
  EXPECT_THAT(sentence_of([] {
                csv("a,b,c\n1,2,x", {.columns = {"c", "a"}});
              }),
              HasSubstr("table.csv:2: column 3 (c): \"x\" is not a number"));
  EXPECT_THAT(sentence_of([] { csv("1,x", {.header = false}); }),
              HasSubstr("table.csv:1: column 2: \"x\" is not a number"));
  EXPECT_THAT(sentence_of([] { csv("a,b,c\n1,2"); }),
              HasSubstr("table.csv:2: has 2 cells, and there are 3 columns; column 3 (c) is"));
  EXPECT_THAT(sentence_of([] { csv("a,b\n1,\"2"); }),
              HasSubstr("table.csv:2: column 2 (b): the quote does not end"));
}

TEST(CsvFiles, may_have_any_line_end) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const CsvText table =
        csv_text("a,b" + end + "1,2" + end + end + "\"x" + end + "y\",\"4\"" + end);
    EXPECT_EQ(table.columns, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(table.rows,
              (std::vector<std::vector<std::string>>{{"1", "2"}, {"x" + end + "y", "4"}}));
    EXPECT_THAT(sentence_of([&] { csv("a" + end + "\"" + end + "\"" + end + "1" + end + "z"); }),
                HasSubstr("table.csv:2: column 1 (a)"));
    EXPECT_THAT(sentence_of([&] { csv("a" + end + "1" + end + "2" + end + "z" + end); }),
                HasSubstr("table.csv:4: column 1 (a): \"z\""));
  }
}

// Each integral dtype: its ends, and what is just beyond them.
TEST(CsvFiles, keep_every_digit_of_integers_and_refuse_what_does_not_fit) {
  const std::map<Dtype, std::pair<std::string, std::string>> ends = {
      {i8, {"-128", "127"}},
      {u8, {"0", "255"}},
      {i16, {"-32768", "32767"}},
      {u16, {"0", "65535"}},
      {i32, {"-2147483648", "2147483647"}},
      {u32, {"0", "4294967295"}},
      {i64, {"-9223372036854775808", "9223372036854775807"}},
      {u64, {"0", "18446744073709551615"}}};
  for (const auto& [dtype, range] : ends) {
    const auto& [least, most] = range;
    const Tensor found = csv("x\n" + least + "\n+" + most + "\n1e1\n", {.dtype = dtype}).values;
    EXPECT_EQ(found.dtype(), dtype);
    if (dtype == u64)
      EXPECT_EQ(to_vector<std::uint64_t>(found)[1], ~std::uint64_t{0});
    else
      EXPECT_EQ(whole_of(found),
                (std::vector<std::int64_t>{std::stoll(least), std::stoll(most), 10}));
    std::string above = most, below = least == "0" ? "-1" : least;
    ++above.back();
    if (below != "-1") ++below.back();
    for (const std::string& each : {above, below, std::string("2.5"), std::string("1e30"),
                                    std::string("nan"), std::string("99999999999999999999")})
      EXPECT_THAT(sentence_of([&] { csv("x\n" + each, {.dtype = dtype}); }),
                  HasSubstr(fmt::format("table.csv:2: column 1 (x): {} does not fit {}", each,
                                        name(dtype))));
    EXPECT_THAT(sentence_of([&] { csv("x\nb", {.dtype = dtype}); }), HasSubstr("is not a number"));
    EXPECT_THAT(sentence_of([&] { csv("x\n1", {.missing = 0.5, .dtype = dtype}); }),
                HasSubstr("`missing` is 0.5"));
  }
  EXPECT_EQ(whole_of(csv("x\n9007199254740993", {.dtype = i64}).values)[0], 9007199254740993);
}

TEST(CsvFiles, take_numbers_of_any_size) {
  EXPECT_EQ(values_of(csv("x\n1e-400\n-1e-400\n4.9e-324", {.dtype = f64}).values),
            (Values{0, 0, 4.9e-324}));
  EXPECT_THAT(sentence_of([] { csv("x\n1e400", {.dtype = f64}); }),
              HasSubstr("column 1 (x): 1e400 does not fit float64: it is too large"));
}

TEST(CsvFiles, may_be_empty) {
  EXPECT_EQ(csv("").values.shape(), IntList({0, 0}));
  EXPECT_EQ(csv("a,b\n").values.shape(), IntList({0, 2}));
  EXPECT_THAT(sentence_of([] { read_csv("/nowhere/table.csv"); }),
              HasSubstr("/nowhere/table.csv: can't be opened: No such file"));
}

TEST(NumpyFiles, come_back_as_they_were_saved) {
  const Folder folder;
  for (const Dtype dtype :
       {boolean, u8, i8, i16, i32, i64, u16, u32, u64, f16, f32, f64, complex64, complex128})
    for (const Dims& shape : {Dims{}, Dims{3}, Dims{2, 3}, Dims{0, 4}}) {
      const Tensor saved =
          to(add(mul(to(arange(0, checked_numel("", shape)), f32), 0.5), 1), dtype);
      save_npy(folder.file("a.npy"), reshape(saved, shape));
      const Tensor loaded = load_npy(folder.file("a.npy"));
      EXPECT_EQ(loaded.dtype(), dtype);
      EXPECT_EQ(loaded.shape(), IntList(shape));
      EXPECT_TRUE(equal(loaded, reshape(saved, shape))) << name(dtype);
    }
  EXPECT_THAT(sentence_of([&] { save_npy(folder.file("b.npy"), ones({2}, bf16)); }),
              HasSubstr("NumPy has no bfloat16"));
}

TEST(NumpyFiles, written_by_several_threads_are_one_of_theirs) {
  const Folder folder;
  const std::string path = folder.file("a.npy");
  const auto write = [&](double value) {
    for (int i = 0; i < 30; ++i) save_npy(path, full({1 + static_cast<int>(value), 50000}, value));
  };
  std::thread one([&] { write(1); }), two([&] { write(2); });
  one.join();
  two.join();
  const Tensor found = load_npy(path);
  EXPECT_TRUE(equal(found, full(found.shape(), static_cast<double>(found.size(0) - 1))));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.file("")), {}), 1);
}

std::string npy(const std::string& header, const std::string& data) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  return bytes + header + data;
}

TEST(NumpyFiles, may_be_big_endian_and_of_fortran_order) {
  const Folder folder;
  const std::string header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n";
  const std::string data("\0\1\0\4\0\2\0\5\0\3\1\6", 12);
  const Tensor loaded = load_npy(folder.written("f.npy", npy(header, data)));
  EXPECT_EQ(loaded.dtype(), i16);
  EXPECT_EQ(whole_of(loaded), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 262}));
}

TEST(NumpyFiles, that_are_damaged_are_refused) {
  const Folder folder;
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n";
  const auto sentence = [&](const std::string& bytes) {
    return sentence_of([&] { load_npy(folder.written("bad.npy", bytes)); });
  };
  EXPECT_THAT(sentence(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "12345678")),
              HasSubstr("its dtype is \"|O\""));
  EXPECT_THAT(
      sentence(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}",
                   "1234")),
      HasSubstr("bad.npy"));
  EXPECT_THAT(sentence(npy("{'descr': __import__('os'), 'shape': ()}", "")),
              HasSubstr("has no text at"));
  EXPECT_THAT(sentence(npy("{'shape': (1,)}", "1234")), HasSubstr("lacks one of"));
  EXPECT_THAT(sentence("no"), HasSubstr("not an .npy file"));
  const std::string whole = npy(good, "1234");
  EXPECT_EQ(sentence(whole), "no error");
  EXPECT_THAT(sentence(whole + "5"), HasSubstr("has 5 bytes of numbers"));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(sentence(whole.substr(0, size)), HasSubstr("bad.npy: ")) << size;
}

bool has_library(const std::string& sentence) {
  return sentence.find("was built without") == std::string::npos;
}

TEST(NpzFiles, have_stored_and_deflated_arrays) {
  const Folder folder;
  const std::string path = folder.written("two.npz", picture_file(npz_of_two));
  const std::string sentence = sentence_of([&] { load_npz(path); });
  if (!has_library(sentence)) GTEST_SKIP() << sentence;
  const auto arrays = load_npz(path);
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].first, "a");
  EXPECT_EQ(whole_of(arrays[0].second), (std::vector<std::int64_t>{'x', 'y', 'z'}));
  EXPECT_EQ(arrays[1].first, "b");
  EXPECT_TRUE(equal(arrays[1].second, ones({64}, i16)));
}

TEST(NpzFiles, come_back_as_they_were_saved) {
  const Folder folder;
  const std::string path = folder.file("a.npz");
  const std::string sentence = sentence_of([&] { save_npz(path, {}); });
  if (!has_library(sentence)) GTEST_SKIP() << sentence;
  EXPECT_EQ(load_npz(path).size(), 0u);
  std::vector<std::pair<std::string, Tensor>> arrays = {
      {"scalar", tensor(2.5)},
      {"none", ones({0, 3})},
      {"in/a folder", transpose(rand({3, 5}), 0, 1)},
      {"\xc3\xa4.npy", ones({2, 2}, f16)},
      {"large", zeros({300, 300}, i64)}};
  for (const Dtype dtype : {boolean, u8, i8, i16, i32, i64, u16, u32, u64, f32, f64, complex64})
    arrays.emplace_back(name(dtype), to(tensor({0.0, 1.0, 2.0}), dtype));
  for (const bool compressed : {false, true}) {
    save_npz(path, arrays, {.compressed = compressed});
    const auto found = load_npz(path);
    ASSERT_EQ(found.size(), arrays.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      EXPECT_EQ(found[i].first, arrays[i].first);
      EXPECT_EQ(found[i].second.dtype(), arrays[i].second.dtype());
      EXPECT_TRUE(equal(found[i].second, arrays[i].second)) << arrays[i].first;
    }
    const std::string bytes = bytes_of(path);
    EXPECT_EQ(bytes.size() < 300 * 300, compressed);
    save_npz(path, arrays, {.compressed = compressed});
    EXPECT_EQ(bytes_of(path), bytes);
  }
  const auto refused = [&](const std::vector<std::pair<std::string, Tensor>>& bad) {
    return sentence_of([&] { save_npz(path, bad); });
  };
  const std::string before = bytes_of(path);
  EXPECT_THAT(refused({{"a", ones({1})}, {"a", ones({1})}}), HasSubstr("two arrays are called"));
  EXPECT_THAT(refused({{"", ones({1})}}), HasSubstr("array 0 is called \"\""));
  EXPECT_THAT(refused({{"a", Tensor()}}), HasSubstr("\"a\" is an undefined tensor"));
  EXPECT_THAT(refused({{"a", ones({1}, bf16)}}), HasSubstr("NumPy has no bfloat16"));
  EXPECT_THAT(refused({{"\xff", ones({1})}}), HasSubstr("can't hold"));
  EXPECT_EQ(bytes_of(path), before);
  EXPECT_THAT(sentence_of([&] { save_npz("/nowhere/a.npz", arrays); }),
              HasSubstr("/nowhere/a.npz: can't be written after 0 bytes: No such file"));
}

TEST(NpzFiles, that_are_damaged_or_too_large_are_refused) {
  const Folder folder;
  const std::string whole = picture_file(npz_of_two);
  const auto sentence = [&](const std::string& bytes, const NpzOptions& options = {}) {
    return sentence_of([&] { load_npz(folder.written("bad.npz", bytes), options); });
  };
  if (!has_library(sentence(whole))) GTEST_SKIP();
  EXPECT_THAT(sentence(whole, {.most_bytes = 100}),
              HasSubstr("bad.npz: member 'b.npy' unpacks to 197 bytes, and 29 of 100 are left"));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(sentence(whole.substr(0, size)), HasSubstr("bad.npz: ")) << size;
  std::string flipped = whole;
  flipped[105] = 'q';  // the last byte of "xyz"
  EXPECT_THAT(sentence(flipped),
              AllOf(HasSubstr("bad.npz: member 'a.npy' has "), HasSubstr("is it damaged?")));
  std::string bomb = whole;  // b.npy claims 2 GiB in both of its headers
  for (const std::size_t at : {128u, 286u}) bomb.replace(at, 4, std::string("\0\0\0\x7f", 4));
  EXPECT_THAT(sentence(bomb), HasSubstr("bad.npz: member 'b.npy' "));
}

TEST(IdxFiles, may_be_packed) {
  const Folder folder;
  const std::string path = folder.written("a.gz", picture_file(idx_of_three));
  const std::string sentence = sentence_of([&] { load_idx(path); });
  if (!has_library(sentence)) GTEST_SKIP() << sentence;
  EXPECT_EQ(whole_of(load_idx(path)), (std::vector<std::int64_t>{'a', 'b', 'c'}));
  EXPECT_THAT(sentence_of([&] {
                load_idx(folder.written("b.gz", picture_file(idx_of_three).substr(0, 20)));
              }),
              HasSubstr("b.gz: can't be unpacked"));
}

TEST(IdxFiles, are_read_big_endian) {
  const Folder folder;
  const Tensor bytes =
      load_idx(folder.written("a.idx", std::string("\0\0\x08\2\0\0\0\2\0\0\0\3abcdef", 18)));
  EXPECT_EQ(bytes.dtype(), u8);
  EXPECT_EQ(bytes.shape(), IntList({2, 3}));
  EXPECT_EQ(whole_of(bytes)[5], 'f');
  const Tensor words =
      load_idx(folder.written("b.idx", std::string("\0\0\x0b\1\0\0\0\2\0\1\xff\xfe", 12)));
  EXPECT_EQ(whole_of(words), (std::vector<std::int64_t>{1, -2}));
}

TEST(IdxFiles, that_are_damaged_are_refused) {
  const Folder folder;
  const std::string whole("\0\0\x08\1\0\0\0\3abc", 11);
  const auto sentence = [&](const std::string& bytes) {
    return sentence_of([&] { load_idx(folder.written("bad.idx", bytes)); });
  };
  EXPECT_EQ(sentence(whole), "no error");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(sentence(whole.substr(0, size)), HasSubstr("bad.idx: ")) << size;
  EXPECT_THAT(sentence(std::string("\0\0\x07\1\0\0\0\0", 8)), HasSubstr("its type is 0x07"));
  EXPECT_THAT(
      sentence(std::string("\0\0\x0e\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16)),
      HasSubstr("bad.idx"));
  EXPECT_THAT(sentence("\x1f\x8b damaged"), HasSubstr("bad.idx"));
  EXPECT_THAT(sentence_of([&] { load_idx(folder.written("a.idx", whole), 5); }),
              HasSubstr("has 11 bytes, and at most 5"));
}

TEST(LinesOfText, are_found_by_index) {
  const Folder folder;
  const TextLines lines(folder.written("a.txt", "one\ntwo\r\n\nfour"));
  ASSERT_EQ(lines.size(), 4);
  EXPECT_EQ(lines.line(0), "one");
  EXPECT_EQ(lines.line(1), "two");
  EXPECT_EQ(lines.line(2), "");
  EXPECT_EQ(lines.get(3).as_text(), "four");
  EXPECT_EQ(TextLines(folder.written("b.txt", "x\n")).size(), 1);
  EXPECT_EQ(TextLines(folder.written("c.txt", "")).size(), 0);
  std::filesystem::resize_file(folder.file("a.txt"), 0);
  EXPECT_EQ(lines.line(3), "four") << "what was read stays, whatever becomes of the file";
  EXPECT_THAT(sentence_of([&] { lines.line(4); }), HasSubstr("a.txt: line 4 of 4"));
  EXPECT_THAT(sentence_of([&] { TextLines(folder.file("none")); }), HasSubstr("can't be opened"));
  EXPECT_THAT(sentence_of([&] { TextLines(folder.file("")); }),
              HasSubstr("is a folder, not a file"));
}

}  // namespace
}  // namespace bp::test
