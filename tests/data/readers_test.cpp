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
              HasSubstr("table.csv:3: column 2 (name): \"x\ny\" is no number"));
  EXPECT_THAT(sentence_of([] { csv("a\n\"\n\"\n\n1x"); }), HasSubstr("table.csv:2: column 1"));
  EXPECT_THAT(sentence_of([] { csv("a,b\n1,"); }), HasSubstr("set `missing`"));
  EXPECT_EQ(values_of(csv("a,b\n1,", {.missing = -1.0, .dtype = f64}).values), (Values{1, -1}));
  EXPECT_THAT(sentence_of([] { csv("a,b\n1,2\n3"); }),
              HasSubstr("table.csv:3: has 1 cells, and there are 2"));
  EXPECT_THAT(sentence_of([] { csv("a\n\"1"); }),
              HasSubstr("table.csv:2: column 1: the quote does not end"));
  EXPECT_THAT(sentence_of([] { csv("a\n\"1\"2"); }), HasSubstr("text behind the closing quote"));
}

TEST(CsvFiles, may_be_empty) {
  EXPECT_EQ(csv("").values.shape(), IntList({0, 0}));
  EXPECT_EQ(csv("a,b\n").values.shape(), IntList({0, 2}));
  EXPECT_THAT(sentence_of([] { read_csv("/nowhere/table.csv"); }),
              HasSubstr("/nowhere/table.csv: can't open it: No such file"));
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
  EXPECT_THAT(sentence("no"), HasSubstr("is no .npy file"));
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

TEST(NpzFiles, that_are_damaged_or_too_large_are_refused) {
  const Folder folder;
  const std::string whole = picture_file(npz_of_two);
  const auto sentence = [&](const std::string& bytes, const NpzOptions& options = {}) {
    return sentence_of([&] { load_npz(folder.written("bad.npz", bytes), options); });
  };
  if (!has_library(sentence(whole))) GTEST_SKIP();
  EXPECT_THAT(sentence(whole, {.most_bytes = 100}),
              HasSubstr("bad.npz: b.npy: unpacks to 197 bytes, and 29 of 100 are left"));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(sentence(whole.substr(0, size)), HasSubstr("bad.npz: ")) << size;
  std::string flipped = whole;
  flipped[105] = 'q';  // the last byte of "xyz"
  EXPECT_THAT(sentence(flipped), HasSubstr("bad.npz: a.npy: is damaged"));
  std::string bomb = whole;  // b.npy claims 2 GiB in both of its headers
  for (const std::size_t at : {128u, 286u}) bomb.replace(at, 4, std::string("\0\0\0\x7f", 4));
  EXPECT_THAT(sentence(bomb), HasSubstr("bad.npz: b.npy: "));
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
  EXPECT_THAT(sentence_of([&] { lines.line(4); }), HasSubstr("a.txt: line 4 of 4"));
  EXPECT_THAT(sentence_of([&] { TextLines(folder.file("none")); }), HasSubstr("can't open it"));
  EXPECT_THAT(sentence_of([&] { TextLines(folder.file("")); }), HasSubstr("is no file of lines"));
}

}  // namespace
}  // namespace bp::test
