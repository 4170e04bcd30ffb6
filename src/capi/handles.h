#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "gesso/gesso.h"
#include "pipeline/engine.h"

/// An engine and its running jobs.
struct gesso_engine {
  explicit gesso_engine(std::unique_ptr<gesso::Engine> painter) : engine(std::move(painter)) {}

  const std::unique_ptr<gesso::Engine> engine;
  std::mutex mutex;
  std::condition_variable idle;
  std::map<uint64_t, gesso::CancelToken> jobs;  ///< guarded by mutex
  uint64_t last_job = 0;                        ///< guarded by mutex
};

struct gesso_result {
  gesso::GenerateResult generated;
  std::string request;
};
