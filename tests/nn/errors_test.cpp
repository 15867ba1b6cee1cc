// needs: cpu
// Errors within forward say where in the network they arose.
#include <thread>

#include <backplane/nn/attention.hpp>

#include "nn/networks.hpp"

namespace bp::test {
namespace {

struct Block : nn::Module {
  nn::Linear query;
  explicit Block(std::int64_t features) : query(features, 3) {}
  void list_parts(nn::Parts& parts) override { parts.module("query", query); }
  Tensor forward(const Tensor& x) const override { return query(x); }
};

struct Encoder : nn::Module {
  nn::ModuleList layer{Block(3), Block(3), Block(7)};
  void list_parts(nn::Parts& parts) override { parts.module("layer", layer); }
  Tensor forward(const Tensor& x) const override {
    Tensor result = x;
    for (std::size_t i = 0; i < layer.size(); ++i) result = layer[i](result);
    return result;
  }
};

struct Model : nn::Module {
  Encoder encoder;
  void list_parts(nn::Parts& parts) override { parts.module("encoder", encoder); }
  Tensor forward(const Tensor& x) const override { return encoder(x); }
};

struct Throwing : nn::Module {
  std::function<void()> act;
  explicit Throwing(std::function<void()> act) : act(std::move(act)) {}
  Tensor forward(const Tensor& x) const override {
    act();
    return x;
  }
};

TEST(Errors, begin_with_the_path_of_the_innermost_module_once) {
  const Model model;
  const Tensor x = rand({2, 3});
  const std::string plain = sentence_of([&] { Block(7).query.forward(x); });
  EXPECT_THAT(plain, testing::StartsWith("linear: "));
  EXPECT_EQ(sentence_of([&] { model(x); }), "encoder.layer.2.query: " + plain);
  EXPECT_EQ(sentence_of([&] { model.encoder(x); }), "layer.2.query: " + plain);
  EXPECT_EQ(sentence_of([&] { model.encoder.layer[2](x); }), "query: " + plain);
  // Of a module alone there is no path.
  EXPECT_EQ(sentence_of([&] { Block(7).query(x); }), plain);
}

TEST(Errors, of_a_module_itself_name_that_and_not_one_that_ran_before) {
  nn::Sequential net(nn::Linear(3, 3), Throwing([] { throw_error(ErrorClass::retry, "later"); }));
  EXPECT_EQ(sentence_of([&] { net(rand({2, 3})); }), "1: later");
}

TEST(Errors, that_forward_caught_leave_no_trace_in_the_next) {
  struct Trying : nn::Module {
    nn::Linear wide{7, 3};
    void list_parts(nn::Parts& parts) override { parts.module("wide", wide); }
    Tensor forward(const Tensor& x) const override {
      try {
        return wide(x);
      } catch (const Error&) {
      }
      throw_error(ErrorClass::bad_argument, "another");
    }
  };
  EXPECT_EQ(sentence_of([] {
              nn::Sequential net(Trying{});
              net(rand({2, 3}));
            }),
            "0: another");
}

TEST(Errors, keep_their_class_and_whether_they_are_late) {
  const nn::Sequential net(
      Relu{},
      nn::Sequential(Throwing([] { throw Error(ErrorClass::out_of_memory, "full", true); })));
  try {
    net(ones({1}));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.error_class(), ErrorClass::out_of_memory);
    EXPECT_TRUE(error.is_late());
    EXPECT_STREQ(error.what(), "1.0: full");
  }
}

TEST(Errors, of_other_classes_pass_as_they_are) {
  struct Mine : Error {
    int number = 3;
    Mine() : Error(ErrorClass::internal, "mine") {}
  };
  const nn::Sequential net(Throwing([] { throw Mine(); }));
  EXPECT_THROW(net(ones({1})), Mine);
  const nn::Sequential other(Throwing([] { throw std::out_of_range("no bp::Error"); }));
  EXPECT_THROW(other(ones({1})), std::out_of_range);
}

TEST(Errors, say_the_path_through_hooks_and_modules_of_several_tensors) {
  nn::Sequential net(Relu{}, nn::Sequential(Relu{}));
  auto& inner = nn::module_as<nn::Sequential>(net[1]);
  inner[0].register_forward_hook([](const nn::Module&, auto, auto) -> std::vector<Tensor> {
    throw_error(ErrorClass::bad_argument, "hooked");
  });
  EXPECT_EQ(sentence_of([&] { net(ones({1})); }), "1.0: hooked");

  struct Attending : nn::Module {
    nn::MultiheadAttention attention{4, 2};
    void list_parts(nn::Parts& parts) override { parts.module("attention", attention); }
    Tensor forward(const Tensor& x) const override { return attention(x, x, x).output; }
  } attending;
  attending.attention.out_proj = nn::MultiheadAttention(6, 2).out_proj;
  EXPECT_THAT(sentence_of([&] {
                attending(rand({3, 1, 4}));
              }),
              testing::StartsWith("attention.out_proj: linear: "));
  EXPECT_THAT(sentence_of([&] {
                attending(rand({3, 1, 5}));
              }),
              testing::StartsWith("attention: MultiheadAttention: the query has 5 features"));
}

TEST(Errors, of_a_module_that_is_not_listed_name_the_part_that_is_known) {
  struct Secret : nn::Module {
    Block block{7};
    Tensor forward(const Tensor& x) const override { return block(x); }
  };
  const nn::Sequential net(Secret{});
  EXPECT_THAT(sentence_of([&] { net(rand({2, 3})); }), testing::StartsWith("query: linear: "));
}

std::string this_thread() {
  return std::to_string(std::hash<std::thread::id>()(std::this_thread::get_id()));
}

TEST(Errors, in_threads_do_not_meet) {
  const nn::Sequential net(Throwing([] { throw_error(ErrorClass::bad_argument, this_thread()); }));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const std::string expected = "0: " + this_thread();
      for (int call = 0; call < 50; ++call)
        EXPECT_EQ(sentence_of([&] { net(ones({1})); }), expected);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Errors, from_a_thread_that_forward_began_keep_their_path) {
  struct Parallel : nn::Module {
    Block block{7};
    void list_parts(nn::Parts& parts) override { parts.module("block", block); }
    Tensor forward(const Tensor& x) const override {
      std::exception_ptr error;
      std::thread([&] {
        try {
          block(x);
        } catch (...) {
          error = std::current_exception();
        }
      }).join();
      std::rethrow_exception(error);
    }
  };
  EXPECT_THAT(sentence_of([] {
                nn::Sequential net(Parallel{});
                net(rand({2, 3}));
              }),
              testing::StartsWith("0.block.query: linear: "));
}

}  // namespace
}  // namespace bp::test
