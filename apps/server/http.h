#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace server {

/// A request as it came in, its target taken apart. Nothing here has been checked beyond HTTP itself.
struct Request {
  std::string method;
  std::string path;                                          ///< percent-decoded, begins with '/'
  std::vector<std::pair<std::string, std::string>> query;    ///< percent-decoded
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in lower case
  std::string body;
  std::string address;  ///< of the client, without its port
  bool http10 = false;

  /// The first header of this name (lower case), or empty.
  std::string_view header(std::string_view name) const;
  /// The first query parameter of this name, or empty.
  std::string_view parameter(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// Where the answer goes. Any thread may call it, at any time; what comes after the end or after the client left is
/// dropped. Either send() once, or begin(), write() any number of times, end().
class Reply {
 public:
  virtual ~Reply() = default;
  virtual void send(Response response) = 0;
  /// Starts an answer of unknown length; the body of `head` is its first part.
  virtual void begin(Response head) = 0;
  virtual void write(std::string part) = 0;
  virtual void end() = 0;
  /// Called once, on the network thread, when the client leaves before its answer is complete; at once if it has left.
  virtual void on_disconnect(std::function<void()> callback) = 0;
};
using ReplyPointer = std::shared_ptr<Reply>;

struct HttpLimits {
  size_t header_bytes = 16 << 10;
  size_t body_bytes = 1 << 20;          ///< of most routes
  size_t picture_bytes = 32 << 20;      ///< of routes that take pictures
  size_t bodies_in_flight = 256 << 20;  ///< of all connections together
  int connections = 256;
  std::chrono::milliseconds header_time{10000};  ///< from its first byte to its last
  std::chrono::milliseconds body_time{60000};
  std::chrono::milliseconds idle_time{60000};   ///< of a kept connection, between requests
  std::chrono::milliseconds write_time{30000};  ///< in which a client must take what it was sent
};

/// What the server does with requests. All functions run on the network thread and must not block.
struct HttpHandler {
  /// Before a body is read: an answer that refuses the request, or nothing. The body is empty yet.
  std::function<bool(const Request&, Response& refusal)> refuse;
  /// The largest body of this request, in bytes.
  std::function<size_t(const Request&)> body_limit;
  std::function<void(Request, ReplyPointer)> handle;
  /// An error of the connection itself (408, 413, 431, 400, 503), as the body of an answer.
  std::function<Response(int status, const std::string& message)> error;
};

/// Speaks HTTP/1.1 on one thread, that of run().
class HttpServer {
 public:
  /// Listens. `port` 0 takes a free one. Throws std::runtime_error with the reason.
  HttpServer(const std::string& host, uint16_t port, const HttpLimits& limits, HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  /// Serves until stop().
  void run();
  /// On SIGINT and SIGTERM, calls back on the network thread, each time.
  void on_signal(std::function<void()> callback);
  /// Takes no new connections; those that are kept without a request are closed. From any thread.
  void close_listener();
  /// Ends run() as soon as every answer begun is sent, at the latest after `grace`. From any thread.
  void stop(std::chrono::milliseconds grace);
  int connections() const;

  struct State;  ///< of http_connection.h

 private:
  std::shared_ptr<State> state_;
};

/// The reason phrase of a status.
std::string_view reason(int status);

/// "a%20b" becomes "a b"; with `plus`, '+' is a blank too. False where the text is not properly encoded or holds NUL.
bool percent_decode(std::string_view text, bool plus, std::string& out);

/// Takes the target ("/path?a=b") apart. False if it is no path.
bool parse_target(std::string_view target, Request& request);

}  // namespace server
