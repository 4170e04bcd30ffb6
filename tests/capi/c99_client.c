/* Uses the interface as a C99 program would. Returns 0, or the line of the first check that fails. */
#include <stdio.h>
#include <string.h>

#include "gesso/gesso.h"

#define CHECK(condition) \
  if (!(condition)) return __LINE__

static void count_steps(const gesso_event* event, void* user) {
  if (event->kind == GESSO_EVENT_STEP) ++*(int*)user;
}

int run_c99_client(void);

int run_c99_client(void) {
  gesso_error error = {GESSO_OK, ""};
  gesso_engine* engine = gesso_open("{\"threads\": 1}", &error);
  gesso_result* result = NULL;
  gesso_picture picture;
  int steps = 0;
  CHECK(engine);
  CHECK(gesso_generate(engine, "{\"prompt\": \"a cat\", \"steps\": 3}", count_steps, &steps, &result, &error) ==
        GESSO_OK);
  CHECK(steps == 3);
  CHECK(gesso_result_count(result) == 1);
  CHECK(gesso_result_picture(result, 0, &picture, &error) == GESSO_OK);
  CHECK(picture.width == 64 && picture.channels == 3 && picture.seed == 42);
  CHECK(strstr(picture.request, "\"a cat\""));
  CHECK(gesso_result_picture(result, 1, &picture, &error) == GESSO_USAGE);
  CHECK(strcmp(error.message, "no picture 1: the result has 1") == 0);
  gesso_result_free(result);
  gesso_close(engine);
  return 0;
}
