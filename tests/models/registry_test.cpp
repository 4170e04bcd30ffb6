// Nothing is registered without what shows that it is right.
#include "models/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace gesso {
namespace {

/// The families that tests/data/expected_components.tsv expects some real file to be.
std::set<std::string> families_with_manifest() {
  std::ifstream file(GESSO_TEST_DATA "/expected_components.tsv");
  std::set<std::string> found;
  for (std::string line, manifest, family; std::getline(file, line);) {
    std::istringstream fields(line);
    if (line.starts_with('#') || !std::getline(fields, manifest, '\t') || !std::getline(fields, family, '\t')) continue;
    if (std::filesystem::exists(GESSO_TEST_DATA "/manifests/" + manifest + ".json.gz")) found.insert(family);
  }
  return found;
}

TEST(Registry, EveryFamilyHasTheManifestOfARealFile) {
  const std::set<std::string> found = families_with_manifest();
  ASSERT_FALSE(found.empty());
  for (const Family* family : families()) EXPECT_TRUE(found.contains(std::string(family->id))) << family->id;
}

TEST(Registry, EveryFamilyThatRunsHasItsGoldens) {
  int built = 0;
  for (const Family* family : families()) {
    if (!family->make) continue;
    ++built;
    const auto has = [&](const char* kind) {
      const std::string name = kind + std::string(family->id) + ".safetensors";
      return std::filesystem::exists(std::string(GESSO_TEST_DATA "/golden/") + name);
    };
    EXPECT_TRUE(has("unet_") || has("")) << "the network of " << family->id;
    EXPECT_TRUE(has("tiny_")) << "a whole run of " << family->id;
  }
  EXPECT_EQ(built, 5);
}

TEST(Registry, WhatRunsSaysWhatItNeeds) {
  for (const Family* family : families())
    if (family->make) {
      EXPECT_THAT(family->needs, testing::Contains(Role::kVae)) << family->id;
    }
}

TEST(Registry, IdsAreUnique) {
  std::set<std::string_view> ids;
  for (const Family* family : families()) EXPECT_TRUE(ids.insert(family->id).second) << family->id;
}

}  // namespace
}  // namespace gesso
