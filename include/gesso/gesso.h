#ifndef GESSO_GESSO_H
#define GESSO_GESSO_H
/*
 * Gesso's C interface (C99). A request is one JSON document (its schema: gesso_schema()), progress comes back as
 * events.
 *
 * Rules of every function here:
 *  - Text is UTF-8 and ends with NUL. A char* that is returned belongs to the caller, who frees it with gesso_free(); a
 *    const char* belongs to the library.
 *  - A function that can fail takes a gesso_error*, which may be NULL, and fills it in on failure only.
 *  - No C++ exception leaves the library. No function prints, and none ends the process.
 *  - An engine may be used from several threads; requests are painted one after another. A result belongs to one thread
 *    at a time.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gesso_status {
  GESSO_OK = 0,
  GESSO_USAGE = 1,         /* the request itself is wrong */
  GESSO_NOT_FOUND = 2,     /* a file or component is not there */
  GESSO_BAD_FILE = 3,      /* a file is damaged or not what it claims */
  GESSO_UNSUPPORTED = 4,   /* recognised, but this version cannot do it */
  GESSO_OUT_OF_MEMORY = 5, /* an allocation failed or the memory budget cannot hold the work */
  GESSO_CANCELLED = 6,     /* gesso_cancel() stopped it */
  GESSO_IO = 7,            /* reading or writing failed */
  GESSO_NUMERIC = 8,       /* a stage produced NaN or infinity */
  GESSO_INTERNAL = 9       /* a mistake of the library */
} gesso_status;

/* Why something failed: one line for a person. A longer message is cut on a character's border. */
typedef struct gesso_error {
  gesso_status code;
  char message[2048];
} gesso_error;

/* Stable name of a status: "ok", "usage", "not_found", ... */
const char* gesso_status_name(int status);

/* The library's version: "0.1.0". */
const char* gesso_version(void);

/* JSON schema (draft 2020-12) of a request; belongs to the library. */
const char* gesso_schema(void);

/* Frees text or bytes that the library returned; NULL is allowed. */
void gesso_free(void* memory);

/* ---- engine ---- */

typedef struct gesso_engine gesso_engine;

/* Opens an engine. `config_json` is NULL or an object with any of: "threads" (0: every physical core), "memory" ("8GiB"
 * or bytes; 0: what is free), "profile" (a file that gets, after each request, the time of every operation in Chrome's
 * trace format), "imatrix_out" (a file that gets, after each request, what quantising the model is weighed by, summed
 * over all requests; GGUF when its name ends so, else llama.cpp's older layout), "imatrix_in" (a list of such files to
 * begin with). The first two serve requests that do not say. Returns NULL on failure. */
gesso_engine* gesso_open(const char* config_json, gesso_error* error);

/* Cancels what runs, waits for it, and frees the engine; NULL is allowed. */
void gesso_close(gesso_engine* engine);

/* ---- painting ---- */

typedef enum gesso_event_kind {
  GESSO_EVENT_STARTED = 0, /* first of all: `job` is the number to cancel */
  GESSO_EVENT_STAGE = 1,   /* `stage` begins, with `steps` steps (0: unknown) */
  GESSO_EVENT_STEP = 2,    /* `step` of `steps` is done */
  GESSO_EVENT_MESSAGE = 3, /* something worth telling: `text`; `stage` is "profile" for one that was asked for */
  GESSO_EVENT_PREVIEW = 4, /* `pixels` show the picture after `step` of `steps`; comes when the request has "preview" */
  GESSO_EVENT_DONE = 5     /* everything is painted */
} gesso_event_kind;

typedef struct gesso_event {
  gesso_event_kind kind;
  uint64_t job;
  const char* stage; /* never NULL; valid during the call */
  int step;
  int steps;
  double seconds;   /* of the last step */
  double eta;       /* seconds until this stage ends */
  const char* text; /* never NULL; valid during the call */
  /* Of a preview, else NULL and 0: RGB, rows from the top, width * height * 3 bytes; valid during the call. As large as
   * the picture, or, with "preview": "proj", a pixel for each latent (8 times smaller each way). With "inpaint_area":
   * "masked" it is the part that is painted. */
  const uint8_t* pixels;
  int width;
  int height;
} gesso_event;

/* Called on the thread that paints. It must not throw, and may call gesso_cancel(). */
typedef void (*gesso_event_fn)(const gesso_event* event, void* user);

typedef struct gesso_result gesso_result;

/* Paints. `on_event` may be NULL. On success *result is a new result, to be freed with gesso_result_free(). */
gesso_status gesso_generate(gesso_engine* engine, const char* request_json, gesso_event_fn on_event, void* user,
                            gesso_result** result, gesso_error* error);

/* Makes pictures larger. `request_json` is an object: "inputs" (picture files), "model" (the file of an upscaling
 * network) or "filter" ("lanczos", "nearest": resampling alone), and any of
 *   "scale" (of the result; without it the network's own), or "width" and "height" (as large as covers them, or, where
 *     only one is given, as that) with "crop" (true: cut what goes beyond); a filter needs one of these;
 *   "repeats" (of the network; 0: as often as the scale takes, which resampling then meets exactly),
 *   "tile" (the most pixels a side that go through the network at once; 0: by memory),
 *   "second_model" or "second_filter", laid over with a share of "second_visibility" (0 to 1),
 *   "metadata" (true: write what the picture said of its making, and what was done),
 *   "precision", "threads", "memory" (as for painting).
 * On success *result has one picture for each input, in their order; gesso_result_request() gives `request_json`.
 * Events are those of painting: a stage "upscale" for each input, a step for each tile. */
gesso_status gesso_upscale(gesso_engine* engine, const char* request_json, gesso_event_fn on_event, void* user,
                           gesso_result** result, gesso_error* error);

/* GESSO_OK when gesso_upscale() would take the request as far as that can be said without its files. */
gesso_status gesso_check_upscale_request(const char* request_json, gesso_error* error);

/* Stops the job of this number within a step; 0 stops all that run or wait. From any thread, at any time (but not from
 * a signal handler). A job that is not running is none: nothing happens. */
void gesso_cancel(gesso_engine* engine, uint64_t job);

/* What gesso_generate() would do, without doing it: a JSON object with the stages, memory, operations and estimated
 * time; its "text" says the same for a person. Freed with gesso_free(); NULL on failure. */
char* gesso_plan(gesso_engine* engine, const char* request_json, gesso_error* error);

/* How the request's prompts are read: the text of each step where they are edited, and for each text encoder the
 * chunks, ids and weights; text for a person. Freed with gesso_free(); NULL on failure. */
char* gesso_explain_prompt(gesso_engine* engine, const char* request_json, gesso_error* error);

/* How long the request's prompts are for its model: a JSON object with "prompt" and "negative_prompt", each a list of
 * objects with "encoder", "tokens", "room" (tokens of a chunk, or all that the encoder sees) and "chunks"; of a prompt
 * that changes from step to step, the longest text. A blank prompt is no error here. Does not wait for what is being
 * painted. Freed with gesso_free(); NULL on failure. */
char* gesso_count_tokens(gesso_engine* engine, const char* request_json, gesso_error* error);

/* GESSO_OK when gesso_generate() would take the request as far as that can be said without its model: every field is
 * known, of its type and within its range. Takes no time worth mentioning. */
gesso_status gesso_check_request(const char* request_json, gesso_error* error);

/* ---- models ----
 * An engine keeps the models of past requests open and their weights prepared. Where a request's memory budget cannot
 * hold them beside its own work, those used least recently leave. None of these functions waits for what is being
 * painted. */

/* Opens and checks the model files that a request names ("prompt" and all else may be missing), unless they are open;
 * their weights are prepared when they are first painted with. Returns a JSON object as those of gesso_models(). Freed
 * with gesso_free(); NULL on failure. */
char* gesso_load(gesso_engine* engine, const char* request_json, gesso_error* error);

/* The open models, the one used last first: a JSON array of objects with "name", "family", "variant", "files" (as the
 * requests named them), "bytes" (of prepared weights in memory), "idle_seconds" and "in_use". Freed with gesso_free();
 * NULL on failure. */
char* gesso_models(gesso_engine* engine, gesso_error* error);

/* Closes the models that have `file` among their files (NULL: any) and were not used for `idle_seconds` (0: all). One
 * that is being painted with goes when that is done, unless `idle_seconds` is more than 0. Returns how many, or -1 on
 * failure. */
int64_t gesso_unload(gesso_engine* engine, const char* file, double idle_seconds, gesso_error* error);

/* What `count` files or folders hold together: a JSON object with family, variant, components present and missing; its
 * "text" says the same for a person. Freed with gesso_free(); NULL on failure. */
char* gesso_inspect(gesso_engine* engine, const char* const* paths, size_t count, gesso_error* error);

/* Every tensor in `count` files or folders: a JSON object whose "files" have "path" and "tensors", each with "name",
 * "dtype", "shape", "bytes" and "use", what it is for; its "text" is a table of the same. Freed with gesso_free(); NULL
 * on failure. */
char* gesso_list_tensors(const char* const* paths, size_t count, gesso_error* error);

/* Measures this machine and what the networks do on it. `options_json` is NULL or an object with any of: "names" (an
 * array; without it the usual benchmarks), "threads" (0: every physical core; at most all processors), "precision"
 * ("auto", "f32", "bf16"). `on_event` may be NULL; it gets each result as a message, a line for a person. Returns a
 * JSON object with "machine", "results" and "peak_rss_bytes", freed with gesso_free(); NULL on failure (GESSO_USAGE,
 * listing the names, for one that does not exist). */
char* gesso_bench(const char* options_json, gesso_event_fn on_event, void* user, gesso_error* error);

/* Writes models as one file, in other types. `request_json` is an object: "inputs" (files or folders), "output"
 * (*.gguf or *.safetensors), and any of "type" ("f16", "q8_0", "q4_K" ...; without it as stored), "tensor_type_rules"
 * ("REGEX=TYPE,REGEX=TYPE", later rules before earlier ones), "verify" (true: read the file back and measure it),
 * "names" ("ldm" or "diffusers": the names that those checkpoints have), "imatrix" (a file or a list of files that
 * weigh the columns of what is quantised). Events are those of painting: stages "convert" and "verify", a step a
 * tensor; gesso_cancel() stops it, and no part of the file remains. Returns a JSON object with the types written, their
 * errors, and tensors that became something else than was asked for, and why; its "text" says the same for a person.
 * Freed with gesso_free(); NULL on failure. */
char* gesso_convert(gesso_engine* engine, const char* request_json, gesso_event_fn on_event, void* user,
                    gesso_error* error);

/* ---- pictures ---- */

typedef struct gesso_picture {
  int width;
  int height;
  int channels;           /* 1: gray, 3: RGB, 4: RGBA */
  const uint8_t* pixels;  /* rows from the top; width * height * channels bytes */
  const char* parameters; /* the text that A1111 writes; empty without metadata */
  const char* request;    /* the JSON request that repeats this picture alone; empty without metadata */
  int64_t seed;
} gesso_picture;

void gesso_result_free(gesso_result* result);

size_t gesso_result_count(const gesso_result* result);

/* Fills in *picture, which points into the result. GESSO_USAGE if there is no picture of that index. */
gesso_status gesso_result_picture(const gesso_result* result, size_t index, gesso_picture* picture, gesso_error* error);

/* The request with every choice made (seed, size, sampler ...), as JSON; belongs to the result. */
const char* gesso_result_request(const gesso_result* result);

/* Encodes a picture, its recipe inside, as "png", "jpg" or "webp". `quality` is 1..100 for jpg and webp (100 is
 * lossless for webp), 0 for the default; png ignores it. *bytes is freed with gesso_free(). */
gesso_status gesso_encode_picture(const gesso_result* result, size_t index, const char* format, int quality,
                                  uint8_t** bytes, size_t* size, gesso_error* error);

/* Writes every picture of the result, each whole or not at all, in the format that the ending of `name` asks for (.png,
 * .jpg, .jpeg, .webp). Missing folders are created. One picture and a plain name: that file, replaced if it exists.
 * Several: out.png becomes out_0001.png, out_0002.png ...; or the number goes where `name` has %d or %04d. Numbering
 * starts at `first`, or, if that is negative, at 1 (with %d at 0); names that are taken are skipped. Returns the names
 * as a JSON array, freed with gesso_free(); NULL on failure, when pictures before the failing one may have been
 * written. */
char* gesso_save_pictures(const gesso_result* result, const char* name, int64_t first, int quality, gesso_error* error);

/* Encodes what a preview's event shows, as gesso_encode_picture() does, without a recipe. During the call that brings
 * the event, or later with a copy of it and of its pixels. GESSO_USAGE for an event that shows nothing. */
gesso_status gesso_encode_preview(const gesso_event* event, const char* format, int quality, uint8_t** bytes,
                                  size_t* size, gesso_error* error);

/* Writes it to the file `path`, whole or not at all, in the format that the ending asks for, in place of what is there.
 * Missing folders are created. */
gesso_status gesso_save_preview(const gesso_event* event, const char* path, int quality, gesso_error* error);

/* GESSO_OK when `name` ends as a format that gesso_save_pictures() writes. */
gesso_status gesso_check_picture_name(const char* name, gesso_error* error);

/* The request inside a picture that Gesso wrote; model files are named by their base names. Freed with gesso_free();
 * NULL on failure. */
char* gesso_read_picture_request(const char* path, gesso_error* error);

/* What a picture file (PNG, JPEG or WebP, in memory) says about itself: a JSON object with "program" ("Gesso",
 * "A1111", "ComfyUI", "InvokeAI", "NovelAI", or "" when nothing says so), "parameters" (A1111's text, "" without one),
 * "fields" (what the picture was made with, under A1111's names: "Prompt", "Negative prompt", "Steps" ...), "request"
 * (Gesso's own recipe as an object, null without a valid one; "request_error" says what is wrong with it) and "texts"
 * (all its texts, objects with "key" and "text"). Freed with gesso_free(); NULL on failure. */
char* gesso_picture_info(const uint8_t* bytes, size_t size, gesso_error* error);

#ifdef __cplusplus
}
#endif
#endif /* GESSO_GESSO_H */
