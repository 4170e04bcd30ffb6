#include "server/model_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/api_error.h"
#include "temp_folder.h"

namespace server {
namespace {

namespace fs = std::filesystem;
using gesso::testing::put;
using gesso::testing::TempFolder;

class Models : public testing::Test {
 protected:
  Models() {
    fs::create_directories(folder / "sub" / "diffusers" / "unet");
    put(folder / "a.safetensors", "1");
    put(folder / "b.gguf", "1");
    put(folder / "notes.txt", "1");
    put(folder / "sub" / "a.safetensors", "1");
    put(folder / "sub" / "c.ckpt", "1");
    put(folder / "sub" / "diffusers" / "model_index.json", "{}");
    put(folder / "sub" / "diffusers" / "unet" / "part.safetensors", "1");
  }
  std::vector<std::string> names(const ModelList& list) {
    std::vector<std::string> out;
    for (const auto& entry : list.entries()) out.push_back(entry.name);
    return out;
  }
  TempFolder folder;
};

TEST_F(Models, AreListedByNamesBelowTheFolder) {
  const ModelList list(folder.path(), {});
  EXPECT_THAT(names(list),
              testing::ElementsAre("a.safetensors", "b.gguf", "sub/a.safetensors", "sub/c.ckpt", "sub/diffusers"));
  EXPECT_EQ(list.chosen()->name, "a.safetensors");
}

TEST_F(Models, AreFoundByTheNamesThatPeopleUse) {
  const ModelList list(folder.path(), {});
  for (const char* name : {"c", "c.ckpt", "sub/c", "sub/c.ckpt", "c.ckpt [0123456789]"})
    EXPECT_EQ(list.find("model", name).name, "sub/c.ckpt") << name;
  EXPECT_EQ(list.find("model", "a.safetensors").name, "a.safetensors");
  EXPECT_EQ(list.find("model", "diffusers").name, "sub/diffusers");
  try {
    list.find("vae", "a");
    FAIL() << "two files are called so";
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status(), 400);
    EXPECT_EQ(error.field(), "vae");
  }
}

TEST_F(Models, OfPathsThereAreNone) {
  const TempFolder outside;
  const fs::path secret = put(outside / "secret.safetensors", "1");
  fs::create_symlink(secret, folder / "link.safetensors");
  const ModelList list(folder.path(), {});
  const std::string there = (folder / "b.gguf").string();
  for (const std::string& name :
       {secret.string(), there, std::string("../b.gguf"), std::string("./b.gguf"), std::string(), std::string("link"),
        std::string("link.safetensors"), std::string("sub")}) {
    try {
      list.find("model", name);
      FAIL() << name;
    } catch (const ApiError& error) {
      EXPECT_EQ(error.status(), 404) << name;
      EXPECT_THAT(error.what(), testing::HasSubstr("b.gguf"));
    }
  }
}

TEST_F(Models, TheGivenOneIsTheDefaultWhereverItLies) {
  const TempFolder outside;
  const ModelList list(folder.path(), put(outside / "mine.safetensors", "1"));
  EXPECT_EQ(list.chosen()->name, "mine.safetensors");
  const ModelList inside(folder.path(), folder / "sub" / "c.ckpt");
  EXPECT_EQ(inside.chosen()->name, "sub/c.ckpt");
  EXPECT_EQ(inside.entries().size(), 5u);
  EXPECT_THROW(ModelList(folder / "none", {}), std::runtime_error);
  EXPECT_THROW(ModelList({}, folder / "none"), std::runtime_error);
}

TEST_F(Models, ANewLookFindsWhatChanged) {
  ModelList list(folder.path(), {});
  fs::remove(folder / "a.safetensors");
  put(folder / "d.safetensors", "1");
  list.refresh();
  EXPECT_EQ(list.find("model", "d").name, "d.safetensors");
  EXPECT_EQ(list.chosen()->name, "b.gguf");
}

}  // namespace
}  // namespace server
