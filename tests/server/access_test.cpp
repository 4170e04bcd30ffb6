#include "server/access.h"

#include <gtest/gtest.h>

namespace server {
namespace {

TEST(Access, ComparesWholeKeys) {
  EXPECT_TRUE(equal_in_constant_time("secret", "secret"));
  for (const char* other : {"", "s", "secre", "secret2", "Secret", "secretsecret", "xxxxxx"})
    EXPECT_FALSE(equal_in_constant_time("secret", other)) << other;
  EXPECT_FALSE(equal_in_constant_time("", "secret"));
  EXPECT_FALSE(equal_in_constant_time("secretsecret", "secret"));
}

TEST(Target, IsTakenApart) {
  Request request;
  ASSERT_TRUE(parse_target("/a%20b/c+d?x=1+2&y=%26&z&=&x=3#e", request));
  EXPECT_EQ(request.path, "/a b/c+d");
  EXPECT_EQ(request.parameter("x"), "1 2");
  EXPECT_EQ(request.parameter("y"), "&");
  EXPECT_EQ(request.parameter("none"), "");
  std::string many = "/?";
  for (int i = 0; i < 100; ++i) many += "a=b&";
  for (const std::string& bad : {std::string(), std::string("a"), std::string("*"), std::string("/%"),
                                 std::string("/%4"), std::string("/%zz"), std::string("/%00"), many}) {
    Request out;
    EXPECT_FALSE(parse_target(bad, out)) << bad;
  }
}

}  // namespace
}  // namespace server
