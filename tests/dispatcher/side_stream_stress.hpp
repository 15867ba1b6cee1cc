// Threads that compute on streams of their own, ordered by events alone, with memory that changes hands all the time:
// what they find must be what they computed.
#pragma once

#include <mutex>
#include <random>
#include <thread>

#include "dispatcher/calls.hpp"

namespace bp::test {

class SideStreamStress {
 public:
  struct Place {
    Device device;
    bool copies_only = false;   // it has no kernel of its own
    std::int64_t most = 20000;  // elements, which take the device a while
  };
  explicit SideStreamStress(std::vector<Place> places) : places_(std::move(places)) {
    mailboxes_.resize(places_.size());
  }

  // Runs `num_steps` on each thread. Returns how many tensors had other values than their computation gives.
  int run(int num_threads, int num_steps) {
    std::vector<std::thread> threads;
    for (int i = 0; i < num_threads; ++i)
      threads.emplace_back([this, i, num_steps] {
        try {
          Worker(*this, static_cast<unsigned>(i)).run(num_steps);
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const Place& place : places_) synchronize(place.device);
    return num_wrong_;
  }

 private:
  // A tensor whose elements are all one number, once `written` is reached.
  struct Item {
    Tensor tensor;
    float value = 0;
    std::shared_ptr<Event> written;
    std::vector<std::shared_ptr<Event>> readers;
  };

  class Worker {
   public:
    Worker(SideStreamStress& all, unsigned seed) : all_(all), random_(seed) {
      for (const Place& place : all.places_) {
        items_.emplace_back();
        streams_.push_back(
            {Stream::default_of(place.device), Stream(place.device), Stream(place.device)});
      }
    }

    void run(int num_steps) {
      for (int i = 0; i < num_steps; ++i) step();
      for (at_ = 0; at_ < items_.size(); ++at_)
        for (Item& item : items_[at_]) check(item, streams_[at_][0]);
    }

   private:
    void step() {
      at_ = pick(items_.size());
      const Stream stream = streams_[at_][pick(3)];
      const StreamGuard guard(stream);
      auto& items = items_[at_];
      if (items.size() < 4) return make();
      if (items.size() > 24) return drop();
      switch (pick(12)) {
        case 0: return make();
        case 1: return drop();
        case 2: return check(items[pick(items.size())], stream);
        case 3: return exchange();
        case 4: return write(stream);
        case 5: return send(stream);
        default: return compute(stream);
      }
    }

    std::size_t pick(std::size_t count) { return random_() % count; }

    void make() {
      // Few sizes, so that a block that is given back is the next tensor's.
      const std::int64_t sizes[] = {100, 100, 3000, all_.places_[at_].most};
      const auto value = static_cast<float>(pick(1000));
      const auto numel = static_cast<std::size_t>(sizes[pick(4)]);
      keep(at_, given(std::vector<float>(numel, value), all_.places_[at_].device), value,
           Stream::current(all_.places_[at_].device));
    }

    void keep(std::size_t place, Tensor tensor, float value, const Stream& stream) {
      Item item{std::move(tensor), value, std::make_shared<Event>(all_.places_[place].device), {}};
      item.written->record(stream);
      items_[place].push_back(std::move(item));
    }

    void drop() {
      auto& items = items_[at_];
      std::swap(items[pick(items.size())], items.back());
      items.pop_back();
    }

    // Makes the stream wait until it may read the tensor.
    void await(const Item& item, const Stream& stream) { item.written->wait(stream); }
    void note_read(Item& item, const Stream& stream) {
      item.readers.push_back(std::make_shared<Event>(stream.device()));
      item.readers.back()->record(stream);
    }

    void compute(const Stream& stream) {
      auto& items = items_[at_];
      Item& a = items[pick(items.size())];
      await(a, stream);
      if (all_.places_[at_].copies_only) {
        const Tensor copy = empty_tensor(a.tensor.shape(), f32, stream.device());
        copy_into(copy, a.tensor);
        note_read(a, stream);
        return keep(at_, copy, a.value, stream);
      }
      Item& b = items[pick(items.size())];
      if (!(b.tensor.shape() == a.tensor.shape())) return;
      await(b, stream);
      const bool adds = a.value + b.value < 1e6f;
      const Tensor result = adds ? add(a.tensor, b.tensor) : sub(a.tensor, b.tensor);
      const float value = adds ? a.value + b.value : a.value - b.value;
      note_read(a, stream);
      note_read(b, stream);
      // Often the last one to know an argument: its memory is free for its own stream from here on.
      if (pick(2)) drop();
      keep(at_, result, value, stream);
    }

    void write(const Stream& stream) {
      auto& items = items_[at_];
      Item& target = items[pick(items.size())];
      Item& source = items[pick(items.size())];
      if (&target == &source || !(target.tensor.shape() == source.tensor.shape())) return;
      await(target, stream);
      await(source, stream);
      for (const auto& reader : target.readers) reader->wait(stream);
      copy_into(target.tensor, source.tensor);
      target.value = source.value;
      target.readers.clear();
      target.written = std::make_shared<Event>(stream.device());
      target.written->record(stream);
      note_read(source, stream);
      if (pick(2)) drop();
    }

    // To another device.
    void send(const Stream& stream) {
      const std::size_t to_place = pick(all_.places_.size());
      if (to_place == at_) return;
      auto& items = items_[at_];
      Item& item = items[pick(items.size())];
      await(item, stream);
      const Stream target = streams_[to_place][pick(3)];
      const StreamGuard guard(target);
      const Tensor sent = to_device(item.tensor, target.device());
      note_read(item, stream);
      keep(to_place, sent, item.value, target);
      if (pick(2)) drop();
    }

    // With another thread, which may be the one to drop it.
    void exchange() {
      auto& items = items_[at_];
      Item& item = items[pick(items.size())];
      const std::lock_guard lock(all_.mutex_);
      auto& mailbox = all_.mailboxes_[at_];
      if (mailbox.size() < 4) {
        mailbox.push_back(std::move(item));
        item = std::move(items.back());
        items.pop_back();
      } else {
        std::swap(item, mailbox[pick(mailbox.size())]);
      }
    }

    void check(Item& item, const Stream& stream) {
      await(item, stream);
      const StreamGuard guard(stream);
      for (const float found : values(item.tensor))
        if (found != item.value) {
          ++all_.num_wrong_;
          break;
        }
    }

    SideStreamStress& all_;
    std::mt19937 random_;
    std::size_t at_ = 0;  // the present place
    std::vector<std::vector<Item>> items_;
    std::vector<std::vector<Stream>> streams_;
  };

  std::vector<Place> places_;
  std::mutex mutex_;  // of the mailboxes
  std::vector<std::vector<Item>> mailboxes_;
  std::atomic<int> num_wrong_{0};
};

}  // namespace bp::test
