/* A caller of a later release: with today's library it goes on without what that lacks. An argument names a library that has
 * it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <backplane/backplane_client.h>

static int fail(const char* what) {
  fprintf(stderr, "%s\n", what);
  return 1;
}

static int with_todays(void) {
  const bp_client* bp = NULL;
  uint32_t device = 1;
  if (bp_get_client_v1(BP_CLIENT_LEVEL, &bp) != BP_UNSUPPORTED)
    return fail("an older library is not told apart");
  if (!bp) return fail("an older library gives no table");
  const char* sentence = bp->error_message();
  if (!strstr(sentence,
              "bp_get_client_v1: the caller was compiled for level 99, and this library, ") ||
      !strstr(sentence, ", has level 1;"))
    return fail(sentence);
  if (BP_HAS(bp, bp_client, later)) return fail("an older library has a later function");
  if (!BP_HAS(bp, bp_client, wait_stream)) return fail("today's library has not its own functions");
  return bp->find_device("meta", &device) == BP_OK && device == 0 ? 0 : fail("find_device fails");
}

static int with_later(const char* library) {
  const bp_client* bp = NULL;
  bp_get_client_fn entry = NULL;
  uint32_t twice = 0;
  void* opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  void* symbol = opened ? dlsym(opened, "bp_get_client_v1") : NULL;
  if (!symbol) return fail("the library does not open");
  memcpy(&entry, &symbol, sizeof entry);
  if (entry(BP_CLIENT_LEVEL, &bp) != BP_OK) return fail("its own release refuses it");
  if (!BP_HAS(bp, bp_client, later)) return fail("the later function is missing");
  return bp->later(21, &twice) == BP_OK && twice == 42 ? 0 : fail("the later function fails");
}

int main(int argc, char** argv) {
  return argc > 1 ? with_later(argv[1]) : with_todays();
}
