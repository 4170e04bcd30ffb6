#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <stdexcept>

#include "server/http_connection.h"

namespace server {
namespace {

using net::ip::tcp;

constexpr int kTurnedAway = 32;  // connections over the limit that still get an answer
constexpr std::chrono::milliseconds kRetry{100};

tcp::endpoint resolve(net::io_context& io, const std::string& host, uint16_t port) {
  ErrorCode error;
  const auto address = net::ip::make_address(host, error);
  if (!error) return {address, port};
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error || found.empty()) throw std::runtime_error("cannot find the address '" + host + "' of --host");
  return *found.begin();
}

void listen(HttpServer::State& state, const tcp::endpoint& endpoint) {
  ErrorCode error;
  const auto check = [&](const char* what) {
    if (error)
      throw std::runtime_error(std::string(what) + " " + endpoint.address().to_string() + " port " +
                               std::to_string(endpoint.port()) + ": " + error.message());
  };
  state.acceptor.open(endpoint.protocol(), error);
  check("cannot open");
  state.acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  state.acceptor.bind(endpoint, error);
  check("cannot take");
  state.acceptor.listen(net::socket_base::max_listen_connections, error);
  check("cannot listen on");
  state.port = state.acceptor.local_endpoint().port();
}

void wait_for_signal(HttpServer::State& state) {
  state.signals.async_wait([&state](const ErrorCode& error, int) {
    if (error) return;
    wait_for_signal(state);
    state.signalled();
  });
}

}  // namespace

void HttpServer::State::accept() {
  acceptor.async_accept([this](const ErrorCode& error, tcp::socket socket) {
    if (error == net::error::operation_aborted || !acceptor.is_open()) return;
    if (error) {  // out of file descriptors, say: others leave in a while
      retry.expires_after(kRetry);
      retry.async_wait([this](const ErrorCode& stopped) {
        if (!stopped) accept();
      });
      return;
    }
    if (count < limits.connections + kTurnedAway) {
      const auto connection = std::make_shared<Connection>(*this, std::move(socket));
      open.insert(connection.get());
      if (++count > limits.connections)
        connection->turn_away(503, "too many connections");
      else
        connection->start();
    }
    accept();
  });
}

void HttpServer::State::closed(Connection* connection) {
  open.erase(connection);
  --count;
  stop_when_idle();
}

void HttpServer::State::stop_when_idle() {
  if (stopping && open.empty()) io.stop();
}

HttpServer::HttpServer(const std::string& host, uint16_t port, const HttpLimits& limits, HttpHandler handler)
    : state_(std::make_shared<State>(limits, std::move(handler))) {
  listen(*state_, resolve(state_->io, host, port));
  state_->accept();
}

HttpServer::~HttpServer() {
  const std::set<Connection*> open = state_->open;
  for (Connection* connection : open) connection->close();  // what waits for them may hold on to the network
}

uint16_t HttpServer::port() const {
  return state_->port;
}

int HttpServer::connections() const {
  return state_->count;
}

void HttpServer::run() {
  const auto work = net::make_work_guard(state_->io);
  state_->io.run();
}

void HttpServer::on_signal(std::function<void()> callback) {
  state_->signalled = std::move(callback);
  state_->signals.add(SIGINT);
  state_->signals.add(SIGTERM);
  wait_for_signal(*state_);
}

void HttpServer::close_listener() {
  net::post(state_->io, [state = state_.get()] {
    ErrorCode ignored;
    state->acceptor.close(ignored);
    const std::set<Connection*> open = state->open;  // closing takes them out
    for (Connection* connection : open) connection->close_if_idle();
  });
}

void HttpServer::stop(std::chrono::milliseconds grace) {
  net::post(state_->io, [state = state_.get(), grace] {
    ErrorCode ignored;
    state->acceptor.close(ignored);
    state->stopping = true;
    const std::set<Connection*> open = state->open;
    for (Connection* connection : open) connection->close_if_idle();
    state->timer.expires_after(grace);
    state->timer.async_wait([state](const ErrorCode& error) {
      if (!error) state->io.stop();
    });
    state->stop_when_idle();
  });
}

}  // namespace server
