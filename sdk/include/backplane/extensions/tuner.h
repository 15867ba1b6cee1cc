/* The extension "bp.tuner", version 1, of the host, since level 2: which of several ways to do the same work is the fastest
 * on this machine. A question is measured once and its answer kept on disk, by plugin, device and driver; all threads of a process get
 * the same. Offered through bp_host.extension; with a host that has none of it, take way 0.
 *
 * Nothing is measured, and the answer is 0, while the application asks for the same bits each time (bp_host.deterministic) or has
 * switched it off (BACKPLANE_TUNE=0). */
#ifndef BACKPLANE_EXTENSIONS_TUNER_H
#define BACKPLANE_EXTENSIONS_TUNER_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_TUNER "bp.tuner"
#define BP_TUNER_VERSION 1u

/* Measure only where a person asked for it (`backplane tune`, BACKPLANE_TUNE=all); else what is kept counts, or way 0. For ways
 * whose results differ in their last bits, where programs expect the same in every process. */
#define BP_TUNER_ON_REQUEST 1u

typedef struct bp_tuner_question {
  bp_header h; /* type BP_TYPE_TUNER_QUESTION */

  /* What is decided, with the version of the list of ways and the class of shapes ("matmul 1; f32 1024 512 512"), and on what:
   * the device, its driver, the number of threads. Whatever may change the answer is in one of the two. The host adds the
   * plugin's name and version. Text of one line; gone when the call returns. */
  const char* what;
  const char* identity;

  uint32_t num_ways; /* at least 1; way 0 is the one that is right on most machines */
  uint32_t flags;    /* BP_TUNER_ON_REQUEST, or 0 */

  /* Another way is taken if it takes less than this share of way 0's time; 0: the host's own, 0.97. */
  double least_gain;
  /* About so long is measured, in seconds; 0: the host's own, 1. */
  double budget;

  /* One of the two, the other NULL. `measure` does the work the given way once, waits for it, and says in how many seconds it was
   * done; another code than BP_OK takes the way out of the race, or leaves the question open if it was way 0. `decide` compares the
   * ways by itself and says which is taken; another code than BP_OK leaves the question open. Called within ask(), on its
   * thread, and not while another thread is in either for the same question. */
  bp_code (*measure)(void* context, uint32_t way, double* seconds);
  bp_code (*decide)(void* context, uint32_t* way);
  void* context;
} bp_tuner_question;

typedef struct bp_tuner {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. The number of the way to take. May be called within run and plan; remember the answer, since asking takes a microsecond,
   * but not beyond a change of bp_host.deterministic. A thread waits while another finds out the same. Threads: any. */
  uint32_t (*ask)(const bp_host* host, const bp_tuner_question* question);
} bp_tuner;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_TUNER_H */
