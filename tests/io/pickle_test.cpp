#include "io/pickle.h"

#include <gtest/gtest.h>

#include "pickles.h"
#include "temp_folder.h"

namespace gesso {
namespace {

using namespace std::string_literals;

Pickle read(const std::string& code) {
  return read_pickle(std::as_bytes(std::span(code.data(), code.size())), "'x'");
}
/// The one value of a pickle whose bytes must outlive the call.
#define ROOT(variable, code)                           \
  const std::string variable##_code = code;            \
  const Pickle variable##_all = read(variable##_code); \
  const PickleValue& variable = variable##_all[variable##_all.root]

TEST(Pickle, NumbersOfEveryProtocol) {
  for (const auto& [code, value] : std::vector<std::pair<std::string, int64_t>>{{"I-7\n.", -7},
                                                                                {"L-7L\n.", -7},
                                                                                {"K\xff.", 255},
                                                                                {"M\x01\x02.", 513},
                                                                                {"J\xff\xff\xff\xff.", -1},
                                                                                {"\x8a\x01\xff.", -1},
                                                                                {"\x8a\x02\xff\x00."s, 255},
                                                                                {"\x8a\x00."s, 0},
                                                                                {"\x8b\x01\x00\x00\x00\x05."s, 5}}) {
    ROOT(v, code);
    EXPECT_EQ(v.kind, PickleKind::kInt) << code;
    EXPECT_EQ(v.integer, value) << code;
  }
  ROOT(yes, "I01\n.");
  EXPECT_EQ(yes.kind, PickleKind::kBool);
  ROOT(big, "L123456789012345678901L\n.");
  EXPECT_EQ(big.kind, PickleKind::kBigInt);
  EXPECT_EQ(big.text, "123456789012345678901");
}

TEST(Pickle, TextOfEveryProtocol) {
  for (const std::string& code : {"S'a\\'\\x62\\n\\143'\n."s, "Va'b\\u000ac\n."s, "X\x05\0\0\0a'b\nc."s,
                                  "\x8c\x05"
                                  "a'b\nc."s,
                                  "\x8d\x05\0\0\0\0\0\0\0a'b\nc."s,
                                  "U\x05"
                                  "a'b\nc."s,
                                  "T\x05\0\0\0a'b\nc."s}) {
    ROOT(v, code);
    EXPECT_EQ(v.kind, PickleKind::kString);
    EXPECT_EQ(v.text, "a'b\nc") << code;
  }
  ROOT(wide, "V\xe9\\u4e2d\\U0001f3a8\n.");
  EXPECT_EQ(wide.text, "é中🎨");
}

TEST(Pickle, SharesAndHoldsItself) {
  ROOT(list,
       "]q\x00h\x00"
       "ah\x00"
       "a."s);
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[0], list_all.root);
}

TEST(Pickle, GlobalsAndCallsAreRecords) {
  ROOT(call, "\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R.");
  EXPECT_EQ(call.kind, PickleKind::kObject);
  EXPECT_EQ(call_all[call.first].text, "os.system");
  ROOT(old, "(ios\nsystem\n.");
  EXPECT_EQ(old_all[old.first].text, "os.system");
  ROOT(object, "(cos\nsystem\nK\x01o.");
  EXPECT_EQ(object_all[object.second].items.size(), 1u);
}

TEST(Pickle, MalformedStreamsNameTheByte) {  // P10
  struct Row {
    std::string code;
    const char* says;
  };
  const Row rows[] = {
      {"\x80\x02\x8b\xff\xff\xff\xff.", "at byte 2 of the pickle: a number of negative length"},
      {"\x80\x02]h\x07.", "at byte 3 of the pickle: there is no memo 7"},
      {"]j\xff\xff\xff\xff.", "there is no memo 4294967295"},
      {"g99999999999999999999\n.", "wanted a number"},
      {"N\xff.", "at byte 1 of the pickle: there is no opcode 0xff"},
      {"", "truncated"},
      {"N", "truncated"},
      {".", "a value is needed"},
      {"X\xff\xff\xff\xff"
       "abc.",
       "truncated: 4294967295 bytes more"},
      {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "truncated"},
      {"\x95\xff\xff\xff\xff\xff\xff\xff\x7f.", "frame"},
      {"t.", "a mark is needed"},
      {"K\x01\x86.", "a tuple of more values"},
      {"(0N(s.", "a value is needed"},
      {"}(K\x01u.", "a key without a value"},
      {"N(K\x01K\x02u.", "no dict"},
      {"NNa.", "no list"},
      {"(o.", "without a class"},
      {"NN\x93.", "no text"},
      {"S'abc\n.", "quoted"},
      {"Vabc\\u12\n.", "escape"},
      {"I1x\n.", "wanted a number"},
  };
  for (const Row& row : rows) EXPECT_REFUSED(read(row.code), ErrorCode::kBadFile, row.says);
  EXPECT_REFUSED(read("\x80\x09N."), ErrorCode::kUnsupported, "protocol 9");
  EXPECT_REFUSED(read("\x82\x01."), ErrorCode::kUnsupported, "opcode 0x82");
  EXPECT_REFUSED(read("\x97."), ErrorCode::kUnsupported, "opcode 0x97");
}

TEST(Pickle, SaysHowMuchItTook) {
  EXPECT_EQ(read("N.rest").size, 2u);
}

}  // namespace
}  // namespace gesso
