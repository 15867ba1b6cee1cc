/* The extension "bp.tuner", version 1, of the host, since level 2: finds out which of several ways to do the same work is
 * the fastest on this machine. Each question is measured once; the answer is kept on disk, by plugin, device and driver,
 * and all threads of a process get the same one. Offered through bp_host.extension; with a host that lacks it, use way 0.
 *
 * While the application asks for the same bits each time (bp_host.deterministic), or has switched tuning off
 * (BACKPLANE_TUNE=0), nothing is measured and the answer is 0. */
#ifndef BACKPLANE_EXTENSIONS_TUNER_H
#define BACKPLANE_EXTENSIONS_TUNER_H

#include <backplane/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BP_TUNER "bp.tuner"
#define BP_TUNER_VERSION 1u

/* Measure only if the user asked for it (`backplane tune`, BACKPLANE_TUNE=all); otherwise use the stored answer, or way 0.
 * For ways whose results differ in the last bits, since programs expect the same results in every process. */
#define BP_TUNER_ON_REQUEST 1u

typedef struct bp_tuner_question {
  bp_header h; /* type BP_TYPE_TUNER_QUESTION */

  /* `what` says what is decided, with the version of the list of ways and the class of shapes ("matmul 1; f32 1024 512
   * 512"); `identity` says on what: the device, its driver, the number of threads. Put everything that may change the
   * answer into one of the two; the host adds the plugin's name and version. One line each; only valid during the call. */
  const char* what;
  const char* identity;

  uint32_t num_ways; /* at least 1; way 0 should be the best on most machines */
  uint32_t flags;    /* BP_TUNER_ON_REQUEST, or 0 */

  /* Another way wins only if it takes less than this fraction of way 0's time; 0: the host's default, 0.97. */
  double least_gain;
  /* How long to measure, approximately, in seconds; 0: the host's default, 1. */
  double budget;

  /* Provide one of the two and leave the other NULL. `measure` does the work once in the given way, waits for it, and
   * returns the seconds it took; any code but BP_OK eliminates the way or, for way 0, leaves the question open. `decide`
   * compares the ways by itself and returns the winner; any code but BP_OK leaves the question open. Called within ask(),
   * on its thread, and never while another thread is in either of them for the same question. */
  bp_code (*measure)(void* context, uint32_t way, double* seconds);
  bp_code (*decide)(void* context, uint32_t* way);
  void* context;
} bp_tuner_question;

typedef struct bp_tuner {
  bp_header h; /* type BP_TYPE_EXTENSION */

  /* Required. Returns the number of the way to use. May be called within run and plan. Keep the answer, since asking takes
   * a microsecond, but only until bp_host.deterministic changes. A thread waits while another one is finding out the same
   * answer. Threads: any. */
  uint32_t (*ask)(const bp_host* host, const bp_tuner_question* question);
} bp_tuner;

#ifdef __cplusplus
}
#endif

#endif /* BACKPLANE_EXTENSIONS_TUNER_H */
