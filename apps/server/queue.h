#pragma once
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace server {

/// Job numbers waiting in turn, fair across clients: each client's own are first come, first served, and clients take
/// turns, however many jobs one of them has. Not thread-safe.
class FairQueue {
 public:
  void push(const std::string& client, const std::string& job);
  /// Takes the next job out; empty when none waits.
  std::string pop();
  bool remove(const std::string& job);
  size_t size() const { return size_; }
  size_t size_of(const std::string& client) const;
  /// All jobs in the order in which pop() would give them.
  std::vector<std::string> order() const;

 private:
  std::map<std::string, std::deque<std::string>> waiting_;  ///< by client; none is empty
  std::deque<std::string> turns_;                           ///< clients that have jobs waiting, the next first
  size_t size_ = 0;
};

}  // namespace server
