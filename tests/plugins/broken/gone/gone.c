/* A library that missing_dependency is linked to, and that then lies where nobody looks for it. */
int from_a_library_that_is_gone(void);
int from_a_library_that_is_gone(void) {
  return 0;
}
