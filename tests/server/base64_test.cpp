#include "server/base64.h"

#include <gtest/gtest.h>

namespace server {
namespace {

TEST(Base64, VectorsOfTheStandard) {  // RFC 4648, 10
  const std::pair<const char*, const char*> cases[] = {{"f", "Zg=="},         {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text), bytes);
  }
  EXPECT_EQ(base64_encode(""), "");
}

TEST(Base64, EveryByteComesBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(base64_decode(base64_encode(bytes)), bytes);
}

TEST(Base64, WhatClientsSend) {
  EXPECT_EQ(base64_decode("data:image/png;base64,Zm9v"), "foo");
  EXPECT_EQ(base64_decode("Zm\r\n9v\n"), "foo");
  EXPECT_EQ(base64_decode("Zg"), "f");  // padding left out
  for (const char* bad :
       {"", "=", "====", "Z", "Zg=", "Zg=a", "Zm9-", "Zm9_", "data:image/png,Zm9v", "data:;base64", "Zm9v="})
    EXPECT_EQ(base64_decode(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace server
