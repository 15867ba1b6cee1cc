// Samples of Fourier transforms.
#include <string>
#include <string_view>

#include "draft.hpp"

namespace bp {
namespace {

void draft_norm_name(Draft& draft) {
  if (draft.is("ortho")) draft.add_value(std::string_view("ortho"));
  if (draft.is("forward")) draft.add_value(std::string_view("forward"));
}

void draft_line(Draft& draft) {
  const bool is_first = draft.is("first_dim");
  const Dims shape = draft.is("odd")             ? Dims{2, 7}
                     : draft.is("prime")         ? Dims{67}
                     : draft.is("two_factors")   ? Dims{2, 96}
                     : draft.is("no_batch")      ? Dims{12}
                     : draft.is("several_tiles") ? Dims{9, 130}
                     : draft.is("zero_size")     ? Dims{0, 5}
                     : is_first                  ? Dims{6, 4}
                                                 : draft.shape();
  draft.add(draft.tensor(shape));
  const bool is_longer = draft.is("longer"), is_shorter = draft.is("shorter");
  if (is_longer || is_shorter)
    draft.add_value(std::int64_t{is_longer ? 9 : 3});
  else if (draft.is("prime"))
    draft.add_value(std::int64_t{67});
  else if (draft.is("odd"))
    draft.add_value(std::int64_t{7});
  else
    draft.add_none();
  draft.add_value(std::int64_t{is_first ? 0 : -1});
  draft_norm_name(draft);
}

void draft_sides(Draft& draft) {
  const bool has_sizes = draft.is("given_sizes"), has_one = draft.is("one_dim");
  const bool has_chosen = draft.is("chosen_dims");
  const Dims shape = draft.is("odd")             ? Dims{3, 7}
                     : has_chosen                ? Dims{4, 3, 6}
                     : draft.is("several_tiles") ? Dims{9, 130}
                     : draft.is("zero_size")     ? Dims{0, 4, 5}
                                                 : draft.shape();
  draft.add(draft.tensor(shape));
  if (has_sizes)
    draft.add_list({4, 6});
  else
    draft.add_none();
  if (has_one)
    draft.add_list({-1});
  else if (has_chosen)
    draft.add_list({2, 0});
  else if (draft.is("zero_size"))
    draft.add_list({1, 2});
  else
    draft.add_none();
  draft_norm_name(draft);
}

void draft_frames(Draft& draft) {
  const bool is_hop = draft.is("hop"), is_short = draft.is("short_window");
  const bool is_odd = draft.is("odd"), is_windowed = draft.is("windowed") || is_short;
  const std::int64_t n = is_odd ? 7 : 8;
  const Dims shape = draft.is("several_tiles")               ? Dims{3, 400}
                     : draft.is("batched", "non_contiguous") ? Dims{2, 24}
                                                             : Dims{30};
  draft.is("same");
  draft.add(draft.tensor(shape));
  draft.add_value(n);
  if (is_hop)
    draft.add_value(std::int64_t{3});
  else
    draft.add_none();
  if (is_short)
    draft.add_value(std::int64_t{5});
  else
    draft.add_none();
  if (is_windowed)
    draft.add(draft.between({is_short ? 5 : n}, 0.25, 1));
  else
    draft.add_none();
  draft.add_value(!draft.is("no_center"));
  draft.add_value(std::string_view(draft.is("constant_padding") ? "constant" : "reflect"));
  draft.add_value(draft.is("normalized"));
  draft.add_value(!draft.is("two_sided"));
  draft.add_value(!draft.is("real_pairs"));
}

bool is_double(const Draft& draft) {
  return draft.dtype() == f64 || draft.dtype() == complex128;
}

Tensor complex_tensor(Draft& draft, IntList shape) {
  return draft.tensor(shape, is_double(draft) ? complex128 : complex64);
}

// What transforms are made of: a line's length is that of its numbers, or of half a spectrum.
void draft_one_line(Draft& draft) {
  const std::string_view name = draft.op().name();
  const bool is_half = name == "fft_c2r", is_real = name == "fft_r2c";
  const bool is_first = draft.is("first_dim"), is_middle = draft.is("middle_dim");
  const std::int64_t n = draft.is("odd")             ? 7
                         : draft.is("prime")         ? 67
                         : draft.is("two_factors")   ? 96
                         : draft.is("one_element")   ? 1
                         : draft.is("no_batch")      ? 12
                         : draft.is("several_tiles") ? 130
                                                     : 6;
  const std::int64_t size = is_half ? n / 2 + 1 : n;
  const Dims shape = is_first                        ? Dims{size, 4}
                     : is_middle                     ? Dims{2, size, 3}
                     : draft.is("prime", "no_batch") ? Dims{size}
                     : draft.is("several_tiles")     ? Dims{9, size}
                     : draft.is("zero_size")         ? Dims{0, size}
                                                     : Dims{3, size};
  draft.is("same", "non_contiguous", "transposed", "expanded");
  draft.add(is_real ? draft.tensor(shape) : complex_tensor(draft, shape));
  if (is_half) draft.add_value(n);
  draft.add_value(std::int64_t{is_first ? 0 : is_middle ? 1 : -1});
  draft.add_value(draft.is("scaled") ? 0.25 : 1.0);
  draft.add_value(!draft.is("back"));
}

// Windows are far from 0, so that what is divided by them is.
void draft_back_frames(Draft& draft) {
  const bool is_odd = draft.is("odd"), is_short = draft.is("short_window");
  const bool is_complex_signal = draft.is("complex_signal");
  const bool has_both = draft.is("two_sided") || is_complex_signal;
  const bool has_window = draft.is("windowed", "several_tiles") || is_short;
  const std::int64_t n = is_odd ? 7 : 8, size = has_both ? n : n / 2 + 1;
  const Dims shape = draft.is("several_tiles")                             ? Dims{3, size, 120}
                     : draft.is("batched", "non_contiguous", "transposed") ? Dims{2, size, 9}
                     : draft.is("zero_size")                               ? Dims{0, size, 4}
                                                                           : Dims{size, 9};
  draft.is("same");
  draft.add(complex_tensor(draft, shape));
  draft.add_value(n);
  if (draft.is("hop"))
    draft.add_value(std::int64_t{3});
  else
    draft.add_none();
  if (is_short)
    draft.add_value(std::int64_t{5});
  else
    draft.add_none();
  if (has_window)
    draft.add(draft.between({is_short ? 5 : n}, 0.25, 1, is_double(draft) ? f64 : f32));
  else
    draft.add_none();
  draft.add_value(!draft.is("no_center"));
  draft.add_value(draft.is("normalized"));
  draft.add_value(!has_both);
  if (draft.is("given_length", "longer"))
    draft.add_value(std::int64_t{draft.is("longer") ? 40 : 11});
  else
    draft.add_none();
  draft.add_value(is_complex_signal);
}

}  // namespace

void draft_fourier(Draft& draft) {
  const std::string_view name = draft.op().name();
  if (name == "fft_c2c" || name == "fft_r2c" || name == "fft_c2r") return draft_one_line(draft);
  if (name == "istft") return draft_back_frames(draft);
  if (name == "stft") return draft_frames(draft);
  if (name.ends_with("n") || name.ends_with("2")) return draft_sides(draft);
  draft_line(draft);
}

}  // namespace bp
