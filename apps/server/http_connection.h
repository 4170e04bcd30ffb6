#pragma once
// Of http_server.cpp and http_connection.cpp alone: everything that sees Boost.
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <optional>
#include <set>

#include "server/http.h"

namespace server {

namespace net = boost::asio;
namespace beast = boost::beast;
using ErrorCode = boost::system::error_code;

class Connection;

struct HttpServer::State : std::enable_shared_from_this<HttpServer::State> {
  State(const HttpLimits& given_limits, HttpHandler given_handler)
      : limits(given_limits), handler(std::move(given_handler)) {}

  void accept();
  void closed(Connection* connection);
  void stop_when_idle();

  const HttpLimits limits;
  const HttpHandler handler;
  std::atomic<int> count = 0;
  bool stopping = false;
  size_t bodies = 0;  ///< bytes that bodies now being read may come to
  std::set<Connection*> open;
  std::function<void()> signalled;
  uint16_t port = 0;
  net::io_context io{1};  // last: what waits in it refers to the members above
  net::ip::tcp::acceptor acceptor{io};
  net::signal_set signals{io};
  net::steady_timer timer{io};
  net::steady_timer retry{io};
};

/// One client: reads a request, hands it on, writes the answer, reads the next. Everything runs on the network thread.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpServer::State& state, net::ip::tcp::socket socket);

  void start();
  /// Answers with this and closes; for a client that cannot be served.
  void turn_away(int status, const std::string& message) { fail(status, message); }
  /// Closes at once when no request is being served.
  void close_if_idle() {
    if (waiting_) close();
  }
  void close();

  // The answer number `serial`; another one is over.
  void send(uint64_t serial, Response response);
  void begin(uint64_t serial, Response head);
  void write(uint64_t serial, std::string part);
  void end(uint64_t serial);
  void abandon(uint64_t serial);
  void on_disconnect(uint64_t serial, std::function<void()> callback);

 private:
  using Parser = beast::http::request_parser<beast::http::string_body>;
  enum class Deadline { kNone, kClose, kRequest };

  void watch();
  void await_request();
  void read_header();
  void header_is_read();
  void read_body();
  void dispatch();
  void read_failed(const ErrorCode& error);
  void fail(int status, const std::string& message);
  void queue(std::string bytes);
  void write_next();
  void answered();
  void linger();
  void deadline(std::chrono::milliseconds after, Deadline kind);
  void release_body();
  bool streams_to(uint64_t serial) const { return serial == serial_ && streaming_; }
  std::string head_of(const Response& response, bool stream);

  HttpServer::State& state_;
  net::ip::tcp::socket socket_;
  net::steady_timer timer_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  Request request_;
  std::deque<std::string> outbox_;
  size_t written_ = 0;   ///< bytes of the outbox's first part
  size_t lingered_ = 0;  ///< bytes that came after the last answer
  std::function<void()> disconnected_;
  uint64_t serial_ = 0;  ///< of the answer that is due
  uint64_t deadline_id_ = 0;
  size_t reserved_ = 0;  ///< bytes of State::bodies
  bool open_ = true;
  bool waiting_ = false;    ///< for the first byte of a request
  bool watching_ = false;   ///< a read is under way that takes bytes before they are wanted, to notice the end
  bool answering_ = false;  ///< a request was handed on, its answer is not complete
  bool streaming_ = false;
  bool writing_ = false;
  bool complete_ = false;  ///< everything of the answer is in the outbox
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool http10_ = false;
  bool timed_out_ = false;
  bool lingering_ = false;
  char scratch_[4096];
};

}  // namespace server
