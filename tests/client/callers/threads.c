/* Threads: each has its own last error and its own current streams; one tensor serves all. */
#include <string.h>
#include <threads.h>

#include "caller.h"

typedef struct Work {
  bp_tensor* shared;
  int number;
  int num_wrong;
} Work;

/* Counts instead of EXPECT, whose counters are the main thread's. */
static int run(void* context) {
  Work* work = context;
  char sentence[64];
  const bp_operator* op = NULL;
  work->num_wrong += bp->error_message()[0] != '\0';
  for (int i = 0; i < 50; ++i) {
    char name[32] = "row_0_of_no_table";
    name[4] = (char)('0' + work->number);
    work->num_wrong += bp->find_operator(name, &op) != BP_BAD_ARGUMENT;
    strncpy(sentence, bp->error_message(), sizeof sentence - 1);
    sentence[sizeof sentence - 1] = '\0';
    work->num_wrong += strstr(sentence, name) == NULL;
    work->num_wrong += bp->find_operator("add", &op) != BP_OK;
    bp_tensor* sum = NULL;
    work->num_wrong +=
        bp->call(op, (bp_value[]){of_tensor(work->shared), of_int(1)}, 2, &sum, 1) != BP_OK;
    work->num_wrong += !has_values(sum, (const float[]){2, 3}, 2);
    bp->retain(work->shared);
    bp->release(work->shared);
    bp->release(sum);
  }
  return 0;
}

void try_threads(uint32_t device) {
  bp_tensor* shared = made(device, 0, 2, (const float[]){1, 2});
  Work works[4];
  thrd_t threads[4];
  for (int i = 0; i < 4; ++i) {
    works[i] = (Work){.shared = shared, .number = i};
    EXPECT(thrd_create(&threads[i], run, &works[i]) == thrd_success);
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT(thrd_join(threads[i], NULL) == thrd_success);
    EXPECT(works[i].num_wrong == 0);
  }
  bp->release(shared);
}
