#include "sampling/catalogue.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace gesso {
namespace {

TEST(Catalogue, IsTheCommittedDocument) {
  const std::string path = GESSO_SOURCE_DIR "/docs/samplers.md";
  if (std::getenv("GESSO_RENEW_DOCS")) std::ofstream(path) << sampling_catalogue();
  std::ifstream file(path);
  std::stringstream stored;
  stored << file.rdbuf();
  EXPECT_TRUE(stored.str() == sampling_catalogue())
      << "renew it: GESSO_RENEW_DOCS=1 build/dev/tests/test_sampling --gtest_filter=Catalogue.*";
}

}  // namespace
}  // namespace gesso
