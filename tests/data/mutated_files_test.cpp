// needs: cpu
// Files of every format with random damage: each becomes a tensor, or a sentence that begins with its name. What is found
// by fuzzing (tests/fuzz) is about the readers' insides; this is about the whole way to a tensor.
#include <random>

#include "data/datasets.hpp"
#include "data/picture_files.hpp"

namespace bp::test {
namespace {

struct Format {
  std::string name;
  std::string whole;
  std::function<void(const std::string& path)> read;
};

std::vector<Format> formats() {
  const Folder folder;
  const auto saved = [&](const auto& save) {
    save(folder.file("saved"));
    return bytes_of(folder.file("saved"));
  };
  const auto numbers = [](Dtype dtype) { return to(reshape(arange(0, 12), {3, 4}), dtype); };
  const auto image = [](const std::string& path) {
    const Tensor read = read_image(path, {.most_pixels = 10000});
    static_cast<void>(item<double>(sum(to(read, f64))));
  };
  const auto npy = [](const std::string& path) { load_npy(path); };
  const auto npz = [](const std::string& path) { load_npz(path, {.most_bytes = 100000}); };
  const auto csv = [](Dtype dtype) {
    return [dtype](const std::string& path) { read_csv(path, {.dtype = dtype}); };
  };
  std::vector<Format> all = {
      {"a.npy", saved([&](const auto& path) { save_npy(path, numbers(f32)); }), npy},
      {"b.npy", saved([&](const auto& path) { save_npy(path, numbers(boolean)); }), npy},
      {"a.csv", "age,\"the name\"\n1,2.5\r\n-3e2,\"4\"\n5,6\r7,8", csv(f64)},
      {"b.csv", "age,weight\n1,2\n-300,\"4\"\n9007199254740993,6\n", csv(i64)},
      {"a.idx", std::string("\0\0\x0b\2\0\0\0\2\0\0\0\2\0\1\0\2\0\3\0\4", 20),
       [](const std::string& path) { load_idx(path, 100000); }},
      {"lines.txt", "one\ntwo\r\n\nthree", [](const std::string& path) {
         const TextLines lines(path);
         for (std::int64_t i = 0; i < lines.size(); ++i) lines.get(i);
       }}};
  const auto add_if_built = [&](const std::string& name, const std::function<std::string()>& make,
                                const std::function<void(const std::string&)>& read) {
    const std::string sentence = sentence_of([&] {
      all.push_back({name, make(), read}), read(folder.written(name, make()));
    });
    if (sentence == "no error") return;
    EXPECT_THAT(sentence, HasSubstr("was built without"));
    if (all.back().name == name) all.pop_back();
  };
  add_if_built(
      "a.npz", [] { return picture_file(npz_of_two); }, npz);
  add_if_built(
      "b.npz",
      [&] {
        return saved([&](const auto& path) {
          save_npz(path, {{"a", numbers(f32)}, {"b", numbers(i8)}});
        });
      },
      npz);
  add_if_built(
      "a.idx.gz", [] { return picture_file(idx_of_three); },
      [](const std::string& path) { load_idx(path, 100000); });
  add_if_built(
      "a.png", [&] { return encode_png(to(numbers(f32), u8)); }, image);
  add_if_built(
      "b.png", [] { return picture_file(png_palette_halves); }, image);
  add_if_built(
      "c.png", [] { return picture_file(png_sixteen_bits); }, image);
  add_if_built(
      "a.jpg", [] { return picture_file(jpeg_halves); }, image);
  add_if_built(
      "a.webp", [] { return picture_file(webp_halves); }, image);
  return all;
}

// A few bytes replaced, left out or said twice, or the rest cut off.
std::string mutated(std::string bytes, std::mt19937& random) {
  for (unsigned left = 1 + random() % 4; left > 0 && !bytes.empty(); --left) {
    const std::size_t at = random() % bytes.size();
    const std::size_t length = std::min<std::size_t>(1 + random() % 8, bytes.size() - at);
    const std::string part = bytes.substr(at, length);
    switch (random() % 6) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
      case 2: bytes[at] = random() % 2 ? '\xff' : '\0'; break;
      case 3: bytes.erase(at, length); break;
      case 4: bytes.insert(at, part); break;
      default: bytes.resize(at); break;
    }
  }
  return bytes;
}

TEST(MutatedFiles, are_read_or_refused_by_name) {
  const Folder folder;
  std::mt19937 random(1);
  for (const Format& format : formats()) {
    int num_refused = 0;
    for (int i = 0; i < 150; ++i) {
      const std::string path = folder.written(format.name, mutated(format.whole, random));
      const std::string sentence = sentence_of([&] { format.read(path); });
      if (sentence == "no error") continue;
      ++num_refused;
      EXPECT_THAT(sentence, testing::StartsWith(path)) << "mutation " << i;
    }
    EXPECT_EQ(sentence_of([&] { format.read(folder.written(format.name, format.whole)); }),
              "no error");
    EXPECT_TRUE(num_refused > 0 || format.name == "lines.txt") << format.name;
  }
}

}  // namespace
}  // namespace bp::test
