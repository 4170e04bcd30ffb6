#include "server/http_connection.h"

#include <malloc.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <cstdio>

namespace server {
namespace {

namespace http = beast::http;

constexpr size_t kSlice = 64 << 10;  // bytes that a client must take within the write time
constexpr size_t kMostParts = 4096;  // of a stream, that a client may leave lying
constexpr std::chrono::milliseconds kLinger{1000};
constexpr size_t kLargeBody = 16 << 20;
constexpr size_t kLingerBytes = 16 << 20;  // that a client may still send after its answer

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

/// The answer to one request, from any thread.
class ConnectionReply final : public Reply {
 public:
  ConnectionReply(std::shared_ptr<HttpServer::State> state, std::shared_ptr<Connection> connection, uint64_t serial)
      : state_(std::move(state)), connection_(std::move(connection)), serial_(serial) {}
  ~ConnectionReply() override {
    post([](Connection& c, uint64_t serial) { c.abandon(serial); });
  }

  void send(Response response) override {
    post([r = std::move(response)](Connection& c, uint64_t serial) mutable { c.send(serial, std::move(r)); });
  }
  void begin(Response head) override {
    post([r = std::move(head)](Connection& c, uint64_t serial) mutable { c.begin(serial, std::move(r)); });
  }
  void write(std::string part) override {
    post([p = std::move(part)](Connection& c, uint64_t serial) mutable { c.write(serial, std::move(p)); });
  }
  void end() override {
    post([](Connection& c, uint64_t serial) { c.end(serial); });
  }
  void on_disconnect(std::function<void()> callback) override {
    post([f = std::move(callback)](Connection& c, uint64_t serial) mutable { c.on_disconnect(serial, std::move(f)); });
  }

 private:
  template <typename Action>
  void post(Action action) {
    net::post(state_->io, [connection = connection_, serial = serial_, action = std::move(action)]() mutable {
      action(*connection, serial);
    });
  }

  const std::shared_ptr<HttpServer::State> state_;  // first: the connection needs its network
  const std::shared_ptr<Connection> connection_;
  const uint64_t serial_;
};

}  // namespace

Connection::Connection(HttpServer::State& state, net::ip::tcp::socket socket)
    : state_(state), socket_(std::move(socket)), timer_(state.io), buffer_(2 * (state.limits.header_bytes + kSlice)) {
  ErrorCode ignored;
  socket_.set_option(net::ip::tcp::no_delay(true), ignored);
  const auto client = socket_.remote_endpoint(ignored);
  if (!ignored) request_.address = client.address().to_string();
}

void Connection::start() {
  await_request();
  deadline(state_.limits.header_time, Deadline::kClose);
}

void Connection::close() {
  if (!open_) return;
  open_ = false;
  deadline({}, Deadline::kNone);
  ErrorCode ignored;
  socket_.close(ignored);
  release_body();
  outbox_.clear();
  if (const auto callback = std::exchange(disconnected_, nullptr); callback && answering_) callback();
  answering_ = false;
  state_.closed(this);
}

void Connection::release_body() {
  state_.bodies -= std::exchange(reserved_, 0);
}

/// Sets what happens when this time is over; an earlier deadline is forgotten.
void Connection::deadline(std::chrono::milliseconds after, Deadline kind) {
  const uint64_t id = ++deadline_id_;
  timer_.cancel();
  if (kind == Deadline::kNone) return;
  timer_.expires_after(after);
  timer_.async_wait([this, self = shared_from_this(), id, kind](const ErrorCode& error) {
    if (error || id != deadline_id_ || !open_) return;
    if (kind == Deadline::kClose) return close();
    timed_out_ = true;
    ErrorCode ignored;
    socket_.cancel(ignored);
  });
}

// ---- reading ----

/// Reads ahead, so that the end of the connection is noticed while an answer is due.
void Connection::watch() {
  if (watching_ || buffer_.size() > 0) return;  // the next request is here already
  watching_ = true;
  socket_.async_read_some(buffer_.prepare(4096),
                          [this, self = shared_from_this()](const ErrorCode& error, size_t bytes) {
                            watching_ = false;
                            if (!open_ || lingering_) return;
                            if (error) return close();
                            buffer_.commit(bytes);
                            if (waiting_) read_header();
                          });
}

void Connection::await_request() {
  waiting_ = true;
  if (buffer_.size() > 0 && !watching_) return read_header();
  watch();
}

void Connection::read_header() {
  waiting_ = false;
  deadline(state_.limits.header_time, Deadline::kRequest);
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(state_.limits.header_bytes));
  parser_->body_limit(boost::none);  // set by the route, once it is known
  http::async_read_header(socket_, buffer_, *parser_,
                          [this, self = shared_from_this()](const ErrorCode& error, size_t) {
                            if (!open_) return;
                            if (error) return read_failed(error);
                            header_is_read();
                          });
}

void Connection::read_failed(const ErrorCode& error) {
  using E = http::error;
  if (timed_out_) return fail(408, "the request did not arrive in time");
  if (error == E::body_limit) return fail(413, "the body is larger than this route takes");
  if (error == E::header_limit || error == E::buffer_overflow) return fail(431, "the header is too large");
  if (error == E::end_of_stream || error.category() != http::make_error_code(E::end_of_stream).category())
    return close();
  if (error == E::partial_message) return close();
  fail(400, "this is not HTTP: " + error.message());
}

void Connection::header_is_read() {
  const auto& message = parser_->get();
  const std::string address = std::move(request_.address);
  request_ = {};
  request_.address = address;
  request_.method = view(message.method_string());
  http10_ = request_.http10 = message.version() < 11;
  head_only_ = request_.method == "HEAD";
  keep_alive_ = message.keep_alive();
  int hosts = 0;
  for (const auto& field : message) {
    request_.headers.emplace_back(lower(view(field.name_string())), view(field.value()));
    hosts += field.name() == http::field::host;
  }
  const bool sized = message.find(http::field::content_length) != message.end();
  if (hosts > 1) return fail(400, "the header Host is given twice");
  if (hosts == 0 && !http10_) return fail(400, "the header Host is missing");
  if (parser_->chunked() && sized) return fail(400, "Content-Length and chunks exclude each other");
  if (!parse_target(view(message.target()), request_)) return fail(400, "the target is not a path of this server");

  Response refusal;
  if (state_.handler.refuse(request_, refusal)) {
    keep_alive_ = false;  // the body is not read
    answering_ = true;
    return send(++serial_, std::move(refusal));
  }
  const size_t limit = state_.handler.body_limit(request_);
  if (const auto length = parser_->content_length(); length && *length > limit)
    return fail(413, "the body has " + std::to_string(*length) + " bytes where this route takes at most " +
                         std::to_string(limit));
  parser_->body_limit(limit);
  if (parser_->is_done()) return dispatch();
  reserved_ = static_cast<size_t>(parser_->content_length().value_or(limit));
  state_.bodies += reserved_;
  if (state_.bodies > state_.limits.bodies_in_flight) return fail(503, "too many large requests at once");
  deadline(state_.limits.body_time, Deadline::kRequest);
  if (lower(request_.header("expect")) != "100-continue" || http10_) return read_body();
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  net::async_write(socket_, net::buffer(kContinue), [this, self = shared_from_this()](const ErrorCode& error, size_t) {
    if (!open_) return;
    if (error) return read_failed(error);
    read_body();
  });
}

void Connection::read_body() {
  http::async_read(socket_, buffer_, *parser_, [this, self = shared_from_this()](const ErrorCode& error, size_t) {
    if (!open_) return;
    if (error) return read_failed(error);
    dispatch();
  });
}

void Connection::dispatch() {
  deadline({}, Deadline::kNone);
  release_body();
  request_.body = std::move(parser_->get().body());
  parser_.reset();
  answering_ = true;
  const uint64_t serial = ++serial_;
  watch();
  Request request = request_;
  request_.body.clear();
  request.body.shrink_to_fit();
  state_.handler.handle(std::move(request),
                        std::make_shared<ConnectionReply>(state_.shared_from_this(), shared_from_this(), serial));
}

/// Answers a connection that cannot go on, and closes it.
void Connection::fail(int status, const std::string& message) {
  parser_.reset();  // with what came of the body: the client may take its time until it goes
#ifdef __GLIBC__
  if (reserved_ >= kLargeBody) ::malloc_trim(0);  // glibc keeps up to 64 MiB of such blocks for the next ones
#endif
  release_body();
  waiting_ = false;
  keep_alive_ = false;
  answering_ = true;
  send(++serial_, state_.handler.error(status, message));
}

// ---- answering ----

std::string Connection::head_of(const Response& response, bool stream) {
  if (state_.stopping || (stream && http10_)) keep_alive_ = false;
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head.append(reason(response.status)).append("\r\nServer: gesso\r\nX-Content-Type-Options: nosniff\r\n");
  if (!response.content_type.empty()) head += "Content-Type: " + response.content_type + "\r\n";
  for (const auto& [name, value] : response.headers) {
    head += name + ": ";
    for (const char c : value) head += c == '\r' || c == '\n' ? ' ' : c;  // no value ends its line
    head += "\r\n";
  }
  if (!stream)
    head += "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  else if (!http10_)
    head += "Transfer-Encoding: chunked\r\n";
  head += keep_alive_ ? (http10_ ? "Connection: keep-alive\r\n\r\n" : "\r\n") : "Connection: close\r\n\r\n";
  return head;
}

void Connection::send(uint64_t serial, Response response) {
  if (!open_ || serial != serial_ || !answering_ || streaming_ || complete_) return;
  complete_ = true;
  queue(head_of(response, false));
  if (!head_only_ && !response.body.empty()) queue(std::move(response.body));
  write_next();
}

void Connection::begin(uint64_t serial, Response head) {
  if (!open_ || serial != serial_ || !answering_ || streaming_ || complete_) return;
  streaming_ = true;
  queue(head_of(head, true));
  if (!head.body.empty()) write(serial, std::move(head.body));
  if (head_only_) end(serial);
  write_next();
}

void Connection::write(uint64_t serial, std::string part) {
  if (!open_ || !streams_to(serial) || complete_ || head_only_ || part.empty()) return;
  if (outbox_.size() > kMostParts) return close();
  if (http10_) {
    queue(std::move(part));
  } else {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", part.size());
    queue(size + std::move(part) + "\r\n");
  }
  write_next();
}

void Connection::end(uint64_t serial) {
  if (!open_ || !streams_to(serial) || complete_) return;
  complete_ = true;
  if (!http10_ && !head_only_) queue("0\r\n\r\n");
  if (outbox_.empty()) return answered();
  write_next();
}

/// Nobody is left who could answer.
void Connection::abandon(uint64_t serial) {
  if (!open_ || serial != serial_ || !answering_ || complete_) return;
  if (streaming_) return close();
  send(serial, state_.handler.error(500, "the server lost track of this request"));
}

void Connection::on_disconnect(uint64_t serial, std::function<void()> callback) {
  if (serial == serial_ && open_ && answering_ && !complete_)
    disconnected_ = std::move(callback);
  else if (!open_ || serial != serial_)
    callback();
}

void Connection::queue(std::string bytes) {
  outbox_.push_back(std::move(bytes));
}

void Connection::write_next() {
  if (writing_ || outbox_.empty()) return;
  writing_ = true;
  deadline(state_.limits.write_time, Deadline::kClose);
  const std::string& part = outbox_.front();
  const size_t size = std::min(part.size() - written_, kSlice);
  net::async_write(socket_, net::buffer(part.data() + written_, size),
                   [this, self = shared_from_this()](const ErrorCode& error, size_t bytes) {
                     writing_ = false;
                     if (!open_) return;
                     if (error) return close();
                     written_ += bytes;
                     if (written_ == outbox_.front().size()) {
                       outbox_.pop_front();
                       written_ = 0;
                     }
                     if (!outbox_.empty()) return write_next();
                     deadline({}, Deadline::kNone);
                     if (complete_) answered();
                   });
}

void Connection::answered() {
  answering_ = streaming_ = complete_ = false;
  disconnected_ = nullptr;
  if (!keep_alive_ || state_.stopping) return linger();
  deadline(state_.limits.idle_time, Deadline::kClose);
  await_request();
}

/// Takes what the client still sends, for a moment: closing with bytes unread would take the answer from it.
void Connection::linger() {
  ErrorCode ignored;
  socket_.shutdown(net::ip::tcp::socket::shutdown_send, ignored);
  if (!std::exchange(lingering_, true)) {
    deadline(kLinger, Deadline::kClose);
    if (watching_) socket_.cancel(ignored);
  }
  socket_.async_read_some(net::buffer(scratch_), [this, self = shared_from_this()](const ErrorCode& error, size_t n) {
    if (!open_) return;
    lingered_ += n;
    if (error || lingered_ > kLingerBytes) return close();
    linger();
  });
}

}  // namespace server
