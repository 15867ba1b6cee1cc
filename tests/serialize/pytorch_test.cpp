// needs: cpu
// PyTorch's checkpoints, by hand: what torch.save itself writes is compared in tests/pytorch.
#include "serialize/zip_writer.hpp"

namespace bp::test {
namespace {

using serialize::load_pytorch;

const std::string begin_pickle = "\x80\x02", no_hooks = "ccollections\nOrderedDict\n)R";

std::string text(const std::string& value) {
  return "X" + little_endian(value.size(), 4) + value;
}
std::string integer(std::int64_t value) {
  return "\x8a\x08" + little_endian(static_cast<std::uint64_t>(value), 8);
}
std::string tuple(const std::vector<std::int64_t>& values) {
  std::string items = "(";
  for (const std::int64_t value : values) items += integer(value);
  return items + "t";
}
std::string storage(const std::string& key, std::int64_t numel,
                    const std::string& type = "FloatStorage") {
  return "(" + text("storage") + "ctorch\n" + type + "\n" + text(key) + text("cpu") +
         integer(numel) + "tQ";
}
std::string rebuilt(const std::string& storage, std::int64_t offset,
                    const std::vector<std::int64_t>& sizes,
                    const std::vector<std::int64_t>& strides, const std::string& rest = "") {
  return "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + integer(offset) + tuple(sizes) +
         tuple(strides) + "\x89" + no_hooks + rest + "tR";
}

// "archive/data.pkl" with storage "0" of the four floats 1, 2, 3, 4 and "1" of two bools.
std::vector<Member> members_of(const std::string& pickle) {
  std::string floats, bools("\0\1", 2);
  for (const float value : {1.f, 2.f, 3.f, 4.f})
    floats.append(reinterpret_cast<const char*>(&value), 4);
  return {{"archive/data.pkl", begin_pickle + pickle + "."},
          {"archive/byteorder", "little"},
          {"archive/data/0", floats},
          {"archive/data/1", bools},
          {"archive/version", "3\n"}};
}

struct Checkpoints : testing::Test {
  Folder folder;
  State load(const std::vector<Member>& members) {
    return load_pytorch(written(folder / "a.pt", zip_of(members)));
  }
  State load(const std::string& pickle) { return load(members_of(pickle)); }
  std::string sentence(const std::vector<Member>& members) {
    const std::string said = sentence_of([&] { load(members); });
    EXPECT_TRUE(said.starts_with((folder / "a.pt").string() + ": ")) << said;
    return said;
  }
  std::string sentence(const std::string& pickle) { return sentence(members_of(pickle)); }
};
using PyTorchFile = Checkpoints;

TEST_F(PyTorchFile, gives_plain_values) {
  EXPECT_TRUE(load("N").is_none());
  EXPECT_TRUE(load("\x88").as_bool());
  EXPECT_EQ(load("J\xff\xff\xff\xff").as_int(), -1);
  EXPECT_EQ(load("K\xff").as_int(), 255);
  EXPECT_EQ(load("M\x01\x02").as_int(), 0x201);
  EXPECT_EQ(load(std::string("\x8a\x00", 2)).as_int(), 0);
  EXPECT_EQ(load("\x8a\x01\xff").as_int(), -1);
  EXPECT_EQ(load("\x8a\x02\xff\x7f").as_int(), 32767);
  EXPECT_EQ(load(integer(INT64_MIN)).as_int(), INT64_MIN);
  EXPECT_EQ(load(std::string("G\x3f\xf8\0\0\0\0\0\0", 9)).as_double(), 1.5);
  EXPECT_EQ(load(text("ü")).as_text(), "ü");
  EXPECT_EQ(load("ctorch\nfloat32\n").as_text(), "torch.float32");
  EXPECT_EQ(load("ctorch\ndevice\n" + text("cuda") + "K\x01\x86R").as_text(), "cuda:1");
  EXPECT_EQ(load("ctorch\nSize\n" + tuple({2, 3}) + "\x85R").as_list()[1].as_int(), 3);
  const State dict = load("}(" + text("a") + "](" + integer(7) + "NeK\x05K\x06" + text("a") + "Nu");
  EXPECT_EQ(dict.entries()[0].first, "a");
  EXPECT_TRUE(dict.at("a").is_none());
  EXPECT_EQ(dict.at("5").as_int(), 6);
  EXPECT_EQ(load("]q\x05h\x05h\x05\x86").as_list()[1].size(), 0u);
  EXPECT_EQ(load("ccollections\nCounter\n}K\x1eK\x01s\x85R").at("30").as_int(), 1);
}

TEST_F(PyTorchFile, gives_tensors_that_share_their_storages) {
  const std::string four = storage("0", 4);
  const State loaded =
      load("(" + rebuilt(four, 0, {2, 2}, {2, 1}) + rebuilt(four, 0, {2, 2}, {1, 2}) +
           rebuilt(four, 2, {3, 2}, {0, 1}) + rebuilt(four, 4, {0}, {1}) +
           rebuilt(storage("1", 2, "BoolStorage"), 1, {}, {}) + "t");
  const State::List& all = loaded.as_list();
  EXPECT_EQ(numbers_of(all[0].as_tensor()), (Values{1, 2, 3, 4}));
  EXPECT_EQ(numbers_of(all[1].as_tensor()), (Values{1, 3, 2, 4}));
  EXPECT_EQ(numbers_of(all[2].as_tensor()), (Values{3, 4, 3, 4, 3, 4}));
  EXPECT_EQ(all[3].as_tensor().numel(), 0);
  EXPECT_EQ(all[4].as_tensor().dtype(), boolean);
  EXPECT_TRUE(all[0].as_tensor().shares_storage(all[1].as_tensor()));
  fill_(all[1].as_tensor(), 9);
  EXPECT_EQ(numbers_of(all[2].as_tensor())[0], 9);
}

TEST_F(PyTorchFile, a_tensor_that_is_in_two_places_is_one) {
  const State loaded = load(rebuilt(storage("0", 4), 0, {4}, {1}) + "q\x01h\x01\x86");
  EXPECT_TRUE(loaded.as_list()[0].as_tensor().is_same(loaded.as_list()[1].as_tensor()));
}

TEST_F(PyTorchFile, gives_a_tensor_alone_on_its_storage_its_memory) {
  Net net;
  net.hidden.weight = nn::Parameter(load(rebuilt(storage("0", 4), 0, {1, 4}, {4, 1})).as_tensor());
  net.to(f64);  // which a view would not be able to do
  EXPECT_EQ(numbers_of(net.hidden.weight), (Values{1, 2, 3, 4}));
}

TEST_F(PyTorchFile, names_functions_and_runs_none) {
  const std::string marker = (folder / "ran").string();
  EXPECT_THAT(sentence("cos\nsystem\n" + text("touch " + marker) + "\x85R"),
              HasSubstr("names 'os.system', which is not loaded here"));
  EXPECT_THAT(sentence("\x8c\x05posix\x8c\x06system\x93" + text("touch " + marker) + "\x85R"),
              HasSubstr("names 'posix.system'"));
  EXPECT_THAT(sentence("cbuiltins\neval\n" + text("1") + "\x85R"), HasSubstr("'builtins.eval'"));
  EXPECT_THAT(sentence("ctorch.nn.modules.linear\nLinear\n)\x81"),
              HasSubstr("'torch.nn.modules.linear.Linear'"));
  EXPECT_THAT(sentence("c__main__\nNet\n)\x81}b"), HasSubstr("save the state_dict() of modules"));
  EXPECT_THAT(sentence("ctorch\nload\n" + text("x") + "\x85R"), HasSubstr("'torch.load'"));
  EXPECT_THAT(sentence("i__main__\nNet\n"),
              HasSubstr("opcode 0x69, which torch.save does not write"));
  EXPECT_THAT(sentence("c__builtin__\nset\n]\x85R"), HasSubstr("'__builtin__.set'"));
  EXPECT_FALSE(fs::exists(marker));
}

TEST_F(PyTorchFile, refuses_tensors_that_leave_their_storage) {
  const auto said = [&](std::int64_t offset, const std::vector<std::int64_t>& sizes,
                        const std::vector<std::int64_t>& strides) {
    return sentence(rebuilt(storage("0", 4), offset, sizes, strides));
  };
  const std::string storage_has = "and its storage has 4 elements";
  EXPECT_THAT(said(0, {5}, {1}),
              HasSubstr("a tensor of sizes [5], strides [1] and offset 0, " + storage_has));
  EXPECT_THAT(said(1, {4}, {1}), HasSubstr(storage_has));
  EXPECT_THAT(said(0, {2}, {4}), HasSubstr(storage_has));
  EXPECT_THAT(said(4, {}, {}), HasSubstr(storage_has));
  EXPECT_THAT(said(5, {0}, {1}), HasSubstr(storage_has));
  EXPECT_THAT(said(-1, {1}, {1}), HasSubstr(storage_has));
  EXPECT_THAT(said(3, {2}, {-1}), HasSubstr(storage_has));
  EXPECT_THAT(said(0, {-1}, {1}), HasSubstr(storage_has));
  EXPECT_THAT(said(0, {2}, {}), HasSubstr(storage_has));
  EXPECT_THAT(said(0, {2, INT64_MAX}, {INT64_MAX, 2}), HasSubstr(storage_has));
  EXPECT_THAT(said(INT64_MAX, {2}, {1}), HasSubstr(storage_has));
  EXPECT_THAT(said(0, {INT64_MAX, INT64_MAX}, {0, 0}), HasSubstr(storage_has));
  EXPECT_THAT(said(0, std::vector<std::int64_t>(17, 1), std::vector<std::int64_t>(17, 1)),
              HasSubstr(storage_has));
  EXPECT_THAT(sentence(rebuilt(storage("0", 4), 0, std::vector<std::int64_t>(65, 1), {})),
              HasSubstr("more than 64 sizes"));
  EXPECT_THAT(sentence(rebuilt(storage("0", 5), 0, {5}, {1})),
              HasSubstr("storage '0' has 5 elements of float32, 20 bytes, and its member has 16"));
  EXPECT_THAT(sentence(rebuilt(storage("0", INT64_MAX / 16), 0, {5}, {1})),
              HasSubstr("and its member has 16"));
  EXPECT_THAT(sentence(rebuilt(storage("0", INT64_MAX), 0, {5}, {1})),
              HasSubstr("is called with 9223372036854775807 elements"));
  EXPECT_THAT(sentence(rebuilt(storage("9", 4), 0, {4}, {1})),
              HasSubstr("no member 'archive/data/9'"));
  EXPECT_THAT(sentence(rebuilt(storage("../data.pkl", 4), 0, {4}, {1})),
              HasSubstr("no member 'archive/data/../data.pkl'"));
  EXPECT_THAT(sentence(rebuilt(storage("0", 16, "BoolStorage"), 0, {4}, {1})),
              HasSubstr("neither 0 nor 1"));
  EXPECT_THAT(sentence(rebuilt(storage("0", 4), 0, {4}, {1}) +
                       rebuilt(storage("0", 4, "IntStorage"), 0, {4}, {1}) + "\x86"),
              HasSubstr("storage '0' is used as float32 and as int32"));
  EXPECT_THAT(sentence(rebuilt(storage("0", 4), 0, {4}, {1}, "}" + text("conj") + "\x88s")),
              HasSubstr("a conjugated or negated view"));
}

TEST_F(PyTorchFile, refuses_pickles_that_mean_harm) {
  const std::string deep = std::string(300, ']') + std::string(299, 'a');
  std::string laughs = "]q" + std::string(1, '\0');  // each level holds the one before ten times
  for (char level = 1; level < 40; ++level)
    laughs += "](" +
              [&] {
                std::string ten;
                for (int i = 0; i < 10; ++i) ten += std::string("h") + static_cast<char>(level - 1);
                return ten;
              }() +
              "eq" + level;
  std::string copies =
      "ccollections\nOrderedDict\nq\x01](";  // one long list, made a dict again and again
  for (int i = 0; i < 20000; ++i) copies += ")";
  copies += "e\x85q\x02";
  for (int i = 0; i < 1000; ++i) copies += "h\x01h\x02R0";
  std::string pairs = "ccollections\nOrderedDict\nq\x01](";
  for (int i = 0; i < 20000; ++i) pairs += "NN\x86";
  pairs += "e\x85q\x02";
  for (int i = 0; i < 1000; ++i) pairs += "h\x01h\x02R0";
  const std::pair<std::string, std::string> bad[] = {
      {"", "use of the empty stack"},
      {"(", "use of the empty stack"},
      {"0", "use of the empty stack"},
      {"a", "use of the empty stack"},
      {"t", "an end without its beginning"},
      {"h\x01", "memo 1, which was not put"},
      {"j\xff\xff\xff\xff", "memo 4294967295"},
      {"NNa", "items for None"},
      {"NNNs", "items for None"},
      {"}(Nu", "a key without a value"},
      {"}NNs", "None as a key"},
      {"})Ns", "a tuple as a key"},
      {"}K\x01NsX\x01" + std::string(3, '\0') + "1Ns", "'1' both as a number and as text"},
      {"X\xff\xff\xff\x7f", "needs 2147483647 more"},
      {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "needs 18446744073709551615 more"},
      {"\x8a\x09" + std::string(9, '\0'), "a number of 9 bytes"},
      {"ctorch\n", "a name without an end"},
      {"U\x01x", "has bytes"},
      {"C\x01x", "has bytes"},
      {"P1\n", "opcode 0x50"},
      {"\xff", "opcode 0xff"},
      {"\x80\x06N", "protocol 6; 2 to 5 can be read"},
      {"NNR", "a call of None with None"},
      {"ctorch\nFloatStorage\n)R", "calls 'torch.FloatStorage'"},
      {"ctorch\nSize\n", "a function 'torch.Size' as a value"},
      {storage("0", 4), "has a storage"},
      {"N}b", "gives attributes to None"},
      {"NQ", "a persistent id is None"},
      {")Q", "called with 0 arguments"},
      {"ctorch._utils\n_rebuild_tensor_v2\n)R",
       "torch._utils._rebuild_tensor_v2 is called with 0 arguments"},
      {"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._tensor\n_rebuild_from_type_"
       "v2\nctorch\nTensor\n)NtR",
       "is called with itself"},
      {"]q\x01h\x01"
       "a",
       "nested deeper than 200"},
      {deep, "nested deeper than 200"},
      {laughs, "more than 1000000 values"},
      {copies, "for a pair"},
      {pairs, "puts more than 4000000 values"},
      {std::string(1'000'001, 'N'), "more than 1000000 values"},
      {"N" + std::string(2'000'002, '2'), "too many values at once"},
  };
  for (const auto& [pickle, said] : bad)
    EXPECT_THAT(sentence(pickle), HasSubstr(said)) << pickle.substr(0, 60);
}

TEST_F(PyTorchFile, takes_deflated_members_and_refuses_bombs) {
  std::vector<Member> members = members_of(rebuilt(storage("0", 4), 0, {4}, {1}));
  members[0] = deflated(members[0].name, members[0].bytes);
  members[2] = deflated(members[2].name, members[2].bytes);
  EXPECT_EQ(numbers_of(load(members).as_tensor()), (Values{1, 2, 3, 4}));
  members[2].claimed_bytes = 4'000'000'000;
  EXPECT_THAT(sentence(members), HasSubstr("claims to be 4000000000 unpacked"));
  members[2].claimed_bytes = 17;
  EXPECT_THAT(sentence(members), HasSubstr("its member has 17"));
  members = members_of("N");
  members[2].claimed_bytes = 17;
  EXPECT_THAT(sentence(members), HasSubstr("archive/data/0"));
}

TEST_F(PyTorchFile, takes_members_with_sizes_of_eight_bytes) {
  std::vector<Member> members = members_of(rebuilt(storage("0", 4), 0, {4}, {1}));
  for (Member& member : members) member.is_zip64 = true;
  EXPECT_EQ(numbers_of(load(members).as_tensor()), (Values{1, 2, 3, 4}));
  members[2].claimed_bytes = INT64_MAX;
  EXPECT_THAT(sentence(members), HasSubstr("claims to be 9223372036854775807 unpacked"));
  members[2].claimed_bytes = UINT64_MAX;
  EXPECT_THAT(sentence(members), HasSubstr("archive"));
}

TEST_F(PyTorchFile, refuses_archives_that_are_not_its_own) {
  std::vector<Member> members = members_of("N");
  members[1].bytes = members[1].unpacked = "big";
  members[1].claimed_bytes = 3;
  EXPECT_THAT(sentence(members), HasSubstr("its byteorder is 'big', and only little can be read"));
  members = members_of(rebuilt(storage("0", 4), 0, {4}, {1}));
  members[2].unpacked[3] ^= 1;
  EXPECT_THAT(sentence(members), HasSubstr("member 'archive/data/0'"));
  members = members_of("N");
  members.push_back(members[0]);
  EXPECT_NE(sentence(members), "no error");
  members = members_of("N");
  members[0].name = "data.pkl";
  EXPECT_THAT(sentence(members), HasSubstr("has 0 members FOLDER/data.pkl"));
  members = members_of("N");
  members[3].name = "other/data.pkl";
  EXPECT_THAT(sentence(members), HasSubstr("has 2 members FOLDER/data.pkl"));
  members = members_of("N");
  members[2].method = 12;
  EXPECT_THAT(sentence(members), HasSubstr("packed by method 12"));
  members = members_of("N");
  members[2].flags = 1;
  EXPECT_THAT(sentence(members), HasSubstr("is encrypted"));
  EXPECT_THAT(sentence(std::vector<Member>{}), HasSubstr("has 0 members FOLDER/data.pkl"));
  EXPECT_THAT(
      sentence_of([&] {
        load_pytorch(written(folder / "a.pt", "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."));
      }),
      HasSubstr("is not a whole zip archive"));
  EXPECT_THAT(sentence_of([&] { load_pytorch(folder.path()); }), HasSubstr("not a regular file"));
}

TEST_F(PyTorchFile, cut_off_or_changed_at_every_byte_is_a_sentence) {
  const std::string pickle =
      "}(" + text("w") + rebuilt(storage("0", 4), 0, {2, 2}, {2, 1}) + text("n") + "K\x07u";
  const std::string whole = zip_of(members_of(pickle));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const fs::path file = written(folder / "a.pt", whole.substr(0, size));
    EXPECT_THAT(sentence_of([&] { load_pytorch(file); }), HasSubstr(file.string() + ": ")) << size;
  }
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int change : {1, 0x80}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      const fs::path file = written(folder / "a.pt", changed);
      const std::string said = sentence_of([&] { load_pytorch(file); });
      EXPECT_TRUE(said == "no error" || said.starts_with(file.string() + ": ")) << i << said;
    }
  std::string cut = begin_pickle + pickle;
  for (std::size_t size = 0; size <= cut.size(); ++size) {
    std::vector<Member> members = members_of("N");
    members[0] = {members[0].name, cut.substr(0, size)};
    sentence(members);
  }
}

}  // namespace
}  // namespace bp::test
