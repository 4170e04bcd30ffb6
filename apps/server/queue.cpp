#include "server/queue.h"

#include <algorithm>

namespace server {

void FairQueue::push(const std::string& client, const std::string& job) {
  std::deque<std::string>& jobs = waiting_[client];
  if (jobs.empty()) turns_.push_back(client);
  jobs.push_back(job);
  ++size_;
}

std::string FairQueue::pop() {
  if (turns_.empty()) return {};
  const std::string client = std::move(turns_.front());
  turns_.pop_front();
  const auto jobs = waiting_.find(client);
  std::string job = std::move(jobs->second.front());
  jobs->second.pop_front();
  --size_;
  if (jobs->second.empty())
    waiting_.erase(jobs);
  else
    turns_.push_back(client);
  return job;
}

bool FairQueue::remove(const std::string& job) {
  for (auto client = waiting_.begin(); client != waiting_.end(); ++client) {
    const auto found = std::ranges::find(client->second, job);
    if (found == client->second.end()) continue;
    client->second.erase(found);
    --size_;
    if (client->second.empty()) {
      std::erase(turns_, client->first);
      waiting_.erase(client);
    }
    return true;
  }
  return false;
}

size_t FairQueue::size_of(const std::string& client) const {
  const auto jobs = waiting_.find(client);
  return jobs == waiting_.end() ? 0 : jobs->second.size();
}

std::vector<std::string> FairQueue::order() const {
  FairQueue copy = *this;
  std::vector<std::string> jobs;
  while (copy.size() > 0) jobs.push_back(copy.pop());
  return jobs;
}

}  // namespace server
