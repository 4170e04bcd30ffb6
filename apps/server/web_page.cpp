// The page: files of apps/server/web, inside the program.
#include <cstddef>
#include <span>

#include "server/service.h"

#define GESSO_WEB_FILE(name)                        \
  namespace gesso {                                 \
  std::span<const std::byte> embedded_web_##name(); \
  }
GESSO_WEB_FILE(index_html)
GESSO_WEB_FILE(style_css)
GESSO_WEB_FILE(app_js)
GESSO_WEB_FILE(api_js)
GESSO_WEB_FILE(form_js)
GESSO_WEB_FILE(gallery_js)
GESSO_WEB_FILE(grid_js)
GESSO_WEB_FILE(over_js)
GESSO_WEB_FILE(settings_js)
GESSO_WEB_FILE(store_js)
GESSO_WEB_FILE(theme_js)
GESSO_WEB_FILE(tokens_js)
GESSO_WEB_FILE(work_js)
GESSO_WEB_FILE(icon_svg)
#undef GESSO_WEB_FILE

namespace server {
namespace {

struct File {
  const char* path;
  const char* type;
  std::span<const std::byte> (*bytes)();
};
constexpr File kFiles[] = {{"/", "text/html; charset=utf-8", gesso::embedded_web_index_html},
                           {"/style.css", "text/css; charset=utf-8", gesso::embedded_web_style_css},
                           {"/app.js", "text/javascript; charset=utf-8", gesso::embedded_web_app_js},
                           {"/api.js", "text/javascript; charset=utf-8", gesso::embedded_web_api_js},
                           {"/form.js", "text/javascript; charset=utf-8", gesso::embedded_web_form_js},
                           {"/gallery.js", "text/javascript; charset=utf-8", gesso::embedded_web_gallery_js},
                           {"/grid.js", "text/javascript; charset=utf-8", gesso::embedded_web_grid_js},
                           {"/over.js", "text/javascript; charset=utf-8", gesso::embedded_web_over_js},
                           {"/settings.js", "text/javascript; charset=utf-8", gesso::embedded_web_settings_js},
                           {"/store.js", "text/javascript; charset=utf-8", gesso::embedded_web_store_js},
                           {"/theme.js", "text/javascript; charset=utf-8", gesso::embedded_web_theme_js},
                           {"/tokens.js", "text/javascript; charset=utf-8", gesso::embedded_web_tokens_js},
                           {"/work.js", "text/javascript; charset=utf-8", gesso::embedded_web_work_js},
                           {"/icon.svg", "image/svg+xml", gesso::embedded_web_icon_svg}};

/// The page runs its own files alone, talks to this server alone, and is nobody's frame.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

void send_file(const File& file, const Call& call) {
  const std::span<const std::byte> bytes = file.bytes();
  call.send(
      {.content_type = file.type,
       .body = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
       .headers = {
           {"Content-Security-Policy", kPolicy}, {"Referrer-Policy", "no-referrer"}, {"Cache-Control", "no-cache"}}});
}

}  // namespace

void add_web_routes(Router& router) {
  for (const File& file : kFiles)
    router.add(
        {"GET", file.path, "The page", [&file](const Call& call) { send_file(file, call); }, Body::kNone, false, true});
}

}  // namespace server
