#pragma once
#include <stdexcept>
#include <string>
#include <utility>

namespace server {

/// Why a request is not served: each API words it in the form that its clients read.
class ApiError : public std::runtime_error {
 public:
  /// `code` is one of the names of gesso_status_name() or of HTTP ("queue_full"); `field` names the culprit, if one.
  ApiError(int status, std::string code, const std::string& message, std::string field = {}, int retry_after = 0)
      : std::runtime_error(message),
        status_(status),
        retry_after_(retry_after),
        code_(std::move(code)),
        field_(std::move(field)) {}

  int status() const { return status_; }
  int retry_after() const { return retry_after_; }  ///< seconds; 0: not worth trying again
  const std::string& code() const { return code_; }
  const std::string& field() const { return field_; }
  /// Of a 405: the methods that the path takes ("GET, POST").
  const std::string& allow() const { return allow_; }
  ApiError&& allowing(std::string methods) && {
    allow_ = std::move(methods);
    return std::move(*this);
  }

 private:
  int status_, retry_after_;
  std::string code_, field_, allow_;
};

inline ApiError bad_field(const std::string& field, const std::string& message) {
  return {400, "usage", field + ": " + message, field};
}

}  // namespace server
