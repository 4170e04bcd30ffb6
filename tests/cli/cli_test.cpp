// Runs the program, built around the fake engine, as a user would.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Ended {
  int code;
  std::string out, err;
};

class CommandLine : public testing::Test {
 protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("gesso cli é模 " + std::to_string(::getpid()));
    fs::remove_all(folder);
    fs::create_directories(folder / "models");
    std::ofstream(folder / "models/demo.safetensors") << "demo";
    environment = {"PATH=/usr/bin:/bin", "GESSO_DEMO_MODEL=" + (folder / "models/demo.safetensors").string(),
                   "TERM=dumb"};
  }
  void TearDown() override { fs::remove_all(folder); }

  /// Starts the program in the test's folder; its output goes to files there.
  pid_t start(const std::vector<std::string>& arguments) {
    std::vector<char*> argv = {const_cast<char*>("gesso")}, envp;
    for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    for (const auto& entry : environment) envp.push_back(const_cast<char*>(entry.c_str()));
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, ".stdout", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, ".stderr", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    pid_t process = -1;
    EXPECT_EQ(posix_spawn(&process, GESSO_FAKE_CLI, &actions, nullptr, argv.data(), envp.data()), 0);
    posix_spawn_file_actions_destroy(&actions);
    return process;
  }

  Ended wait(pid_t process) {
    int status = 0;
    ::waitpid(process, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    return {code, contents(folder / ".stdout"), contents(folder / ".stderr")};
  }

  Ended gesso(const std::vector<std::string>& arguments) { return wait(start(arguments)); }

  /// The request in the iTXt chunk "gesso" of a PNG file.
  nlohmann::json recipe_of(const std::string& picture) {
    const std::string bytes = contents(folder / picture);
    const size_t chunk = bytes.find("iTXtgesso");
    if (chunk == std::string::npos) return nlohmann::json::object();
    size_t length = 0;
    for (size_t i = chunk - 4; i < chunk; ++i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
    const std::string data = bytes.substr(chunk + 4, length);
    return nlohmann::json::parse(data.substr(data.find('{')));
  }

  /// Expects a one-line refusal with exit code 2 that contains the text.
  void expect_usage(const std::vector<std::string>& arguments, const std::string& text) {
    const Ended ended = gesso(arguments);
    EXPECT_EQ(ended.code, 2) << ended.err;
    EXPECT_THAT(ended.err, AllOf(StartsWith("gesso: "), HasSubstr(text)));
    EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 1) << ended.err;
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(pictures(), 0);
  }

  int64_t pictures() {
    int64_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      count += entry.is_regular_file() && entry.path().extension() != ".safetensors" &&
               entry.path().extension() != ".gguf" && entry.path().filename() != ".stdout" &&
               entry.path().filename() != ".stderr";
    return count;
  }

  fs::path folder;
  std::vector<std::string> environment;
};

TEST_F(CommandLine, PaintsWithTheDemoModel) {
  const Ended ended = gesso({"-p", "a red house", "-o", "new/folder/out.png"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "new/folder/out.png\n");
  EXPECT_EQ(recipe_of("new/folder/out.png")["model"], "demo.safetensors");
  EXPECT_EQ(contents(folder / "new/folder/out.png").find(folder.string()), std::string::npos);
  EXPECT_EQ(pictures(), 1);
}

TEST_F(CommandLine, TheFieldsCommandLineWorksUnchanged) {
  const Ended ended = gesso({"generate",
                             "-M",
                             "img_gen",
                             "-m",
                             "x.safetensors",
                             "-p",
                             "a",
                             "-n",
                             "b",
                             "-W",
                             "128",
                             "-H",
                             "64",
                             "--steps",
                             "3",
                             "--cfg-scale",
                             "7.5",
                             "-s",
                             "7",
                             "-b",
                             "2",
                             "--rng",
                             "cpu",
                             "--sampling-method",
                             "euler_a",
                             "--scheduler",
                             "karras",
                             "--clip-skip",
                             "-1",
                             "--diffusion-fa",
                             "--mmap",
                             "--vae-on-cpu",
                             "--color",
                             "-t",
                             "-1",
                             "--lora-model-dir",
                             ".",
                             "--guidance",
                             "3.5",
                             "-o",
                             "out.png"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "out_0001.png\nout_0002.png\n");
  const auto recipe = recipe_of("out_0002.png");
  EXPECT_EQ(recipe["model"], "x.safetensors");
  EXPECT_EQ(recipe["width"], 128);
  EXPECT_EQ(recipe["height"], 64);
  EXPECT_EQ(recipe["steps"], 3);
  EXPECT_EQ(recipe["cfg_scale"], 7.5);
  EXPECT_EQ(recipe["seed"], 8);
  EXPECT_EQ(recipe["rng"], "cpu");
  EXPECT_EQ(recipe["sampling_method"], "euler_a");
  EXPECT_EQ(recipe["scheduler"], "karras");
  EXPECT_FALSE(recipe.contains("clip_skip"));
}

TEST_F(CommandLine, PromptsArriveAsTheyWereTyped) {
  for (const std::string prompt :
       {"[cat]", "(cat:1.2), {dog}", "--steps", "-5", "a=b", "\"quoted\" 'text'", "%d {} \\n", " lead", "猫 é 😀"}) {
    const Ended ended = gesso({"-p", prompt, "-o", "out.png"});
    ASSERT_EQ(ended.code, 0) << prompt << ended.err;
    EXPECT_EQ(recipe_of("out.png").value("prompt", ""), prompt);
  }
}

TEST_F(CommandLine, FromImageRepeatsThePictureByteForByte) {
  ASSERT_EQ(gesso({"-p", "a cat", "-s", "-1", "-b", "2", "--steps", "5", "-o", "a.png"}).code, 0);
  const Ended ended = gesso({"--from-image", "a_0002.png", "-o", "b.png"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(contents(folder / "a_0002.png"), contents(folder / "b.png"));
  ASSERT_EQ(gesso({"--from-image", "b.png", "--steps", "6", "-o", "c.png"}).code, 0);
  EXPECT_EQ(recipe_of("c.png")["steps"], 6);
  EXPECT_EQ(recipe_of("c.png")["seed"], recipe_of("b.png")["seed"]);
}

TEST_F(CommandLine, UpscalesPictures) {
  std::ofstream(folder / "models/x2.pth") << "x2";
  ASSERT_EQ(gesso({"-p", "a cat", "-W", "64", "-H", "64", "-b", "2", "-o", "a.png"}).code, 0);
  const Ended one = gesso({"upscale", "a_0001.png", "--upscale-model", "models/x2.pth", "-o", "new/large.png"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out, "new/large.png\n");
  EXPECT_EQ(recipe_of("new/large.png"), recipe_of("a_0001.png")) << "what the picture said";
  const std::string bytes = contents(folder / "new/large.png");
  EXPECT_THAT(bytes, HasSubstr("Postprocess upscaler: x2"));
  EXPECT_EQ(bytes.substr(16, 8), std::string("\0\0\0\x80\0\0\0\x80", 8)) << "128 x 128";
  const Ended two = gesso({"upscale",
                           "a_0001.png",
                           "a_0002.png",
                           "--upscale-model",
                           "models/x2.pth",
                           "--scale",
                           "4",
                           "--tile",
                           "256",
                           "--repeats",
                           "0",
                           "-t",
                           "1",
                           "--memory",
                           "1GiB",
                           "--precision",
                           "f32",
                           "--no-metadata",
                           "-o",
                           "b.png"});
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(two.out, "b_0001.png\nb_0002.png\n");
  EXPECT_EQ(contents(folder / "b_0001.png").substr(16, 8), std::string("\0\0\1\0\0\0\1\0", 8));
  EXPECT_THAT(contents(folder / "b_0001.png"), Not(HasSubstr("Postprocess")));
  EXPECT_THAT(gesso({"upscale", "--help"}).out, AllOf(HasSubstr("--upscale-model"), Not(HasSubstr("--tile"))));
  EXPECT_THAT(gesso({"upscale", "--help-all"}).out, HasSubstr("--tile"));
}

TEST_F(CommandLine, UpscaleRefusesMistakesBeforeAnyWork) {
  std::ofstream(folder / "models/x2.safetensors") << "x2";
  std::ofstream(folder / "models/in.safetensors") << "no picture";
  const std::vector<std::string> base = {"upscale", "models/in.safetensors", "--upscale-model",
                                         "models/x2.safetensors"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return more;
  };
  expect_usage({"upscale", "models/in.safetensors", "-o", "out.png"}, "--upscale-model");
  expect_usage({"upscale", "--upscale-model", "models/x2.safetensors"}, "no picture");
  expect_usage(with({"-o", "out.bmp"}), "out.bmp");
  expect_usage(with({"--scale", "abc"}), "scale: wanted a number from 0.05 to 64, found \"abc\"");
  expect_usage(with({"--scale", "0"}), "scale");
  expect_usage(with({"--repeats", "1.5"}), "repeats");
  expect_usage(with({"--memory", "much"}), "memory");
  expect_usage(with({"--scael", "2"}), "--scael");
  expect_usage(with({"--quality", "0"}), "--quality");
  const Ended missing = gesso({"upscale", "none.png", "--upscale-model", "models/x2.safetensors", "-o", "out.png"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err, "gesso: file not found: 'none.png'\n");
  const Ended bad = gesso(with({"-o", "out.png"}));
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("not a PNG, JPEG or WebP picture"));
  EXPECT_EQ(pictures(), 0);
}

TEST_F(CommandLine, UpscaleStopsAtASignalAndKeepsWhatIsDone) {
  std::ofstream(folder / "models/x2.safetensors") << "x2";
  ASSERT_EQ(gesso({"-p", "a cat", "-W", "64", "-H", "64", "-o", "a.png"}).code, 0);
  environment.push_back("GESSO_FAKE_STEP_MS=200");
  const pid_t process = start({"upscale", "a.png", "a.png", "--upscale-model", "models/x2.safetensors", "-o", "b.png"});
  for (int i = 0; i < 500 && !fs::exists(folder / "b_0001.png"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(process, SIGINT);
  EXPECT_EQ(wait(process).code, 130);
  EXPECT_EQ(pictures(), 2) << "the original and the first result";
}

TEST_F(CommandLine, FromImageFindsItsModel) {
  std::ofstream(folder / "models/own.safetensors") << "own";
  ASSERT_EQ(gesso({"-m", "models/own.safetensors", "-p", "a", "-o", "a.png"}).code, 0);
  const Ended missing = gesso({"--from-image", "a.png", "-o", "b.png"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("own.safetensors"), HasSubstr("--model")));
  EXPECT_EQ(gesso({"--from-image", "a.png", "-m", "models/own.safetensors", "-o", "b.png"}).code, 0);
  environment.push_back("GESSO_MODELS=/none:" + (folder / "models").string());
  EXPECT_EQ(gesso({"--from-image", "a.png", "-o", "b.png"}).code, 0);
}

TEST_F(CommandLine, MistakesAreRefusedInOneLine) {
  const std::vector<std::string> base = {"-p", "a", "-o", "out.png"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return more;
  };
  expect_usage(with({"--steps", "0"}), "steps: wanted a whole number from 1 to 10000, found 0");
  expect_usage(with({"--steps", "abc"}), "found \"abc\"");
  expect_usage(with({"--cfg-scale", "nan"}), "cfg_scale: wanted a number");
  expect_usage(with({"--cfg-scale", "7,5"}), "cfg_scale: wanted a number");
  expect_usage(with({"-W", "513"}), "512 and 520");
  expect_usage(with({"-W", "99999999999999999999"}), "width");
  expect_usage(with({"--stepz", "3"}), "did you mean --steps?");
  expect_usage(with({"red", "house"}), "quotes");
  expect_usage(with({"--steps"}), "--steps: a value is missing");
  expect_usage(with({"-n", "\xFF"}), "UTF-8");
  expect_usage(with({"--quality", "101"}), "1 to 100");
  expect_usage({"-o", "out.png"}, "prompt: missing");
  expect_usage({"-p", "", "-o", "out.png"}, "not blank");
  expect_usage({"-p", "a", "-o", "out.bmp"}, "out.bmp");
  expect_usage({"-p", "a", "-o", "models"}, "models");
  expect_usage({"paint"}, "unknown command 'paint'");
}

TEST_F(CommandLine, ServeSaysWhatIsWrongWithItsOptions) {
  expect_usage({"serve", "--port", "70000"}, "serve: --port");
  expect_usage({"serve", "--nonsense"}, "serve: ");
  expect_usage({"serve", "--api-key-file", "models/demo.safetensors"}, "shorter than 16");
}

TEST_F(CommandLine, MissingFeaturesAreRefusedUnlessTheyAskForNothing) {
  expect_usage({"-p", "a", "--control-image", "in.png"}, "--control-image: not supported yet");
  expect_usage({"-p", "a", "--hires"}, "not supported yet");
  expect_usage({"-p", "a", "-M", "vid_gen"}, "not supported yet");
  const Ended lora = gesso({"-p", "a <lora:x:1>"});
  EXPECT_EQ(lora.code, 1);
  EXPECT_THAT(lora.err, HasSubstr("<lora:...> is not supported yet"));
  expect_usage({"upscale"}, "no picture");
  expect_usage({"bench", "nrom"}, "there is no benchmark 'nrom'; known are matmul, ");
  expect_usage({"bench", "-t", "-1"}, "--threads");
  EXPECT_EQ(gesso({"-p", "a", "--slg-scale", "0", "--video-frames", "1", "--preview", "none", "-o", "o.png"}).code, 0);
}

TEST_F(CommandLine, PreviewsAreWrittenOverEachOther) {
  expect_usage({"-p", "a", "--preview", "oil"}, "none, proj, tae, vae");
  expect_usage({"-p", "a", "--preview", "proj", "--preview-interval", "0"}, "preview_interval");
  expect_usage({"-p", "a", "--preview", "proj", "--preview-path", "p.bmp"}, "--preview-path");
  expect_usage({"-p", "a", "--vae-tiling", "--vae-tile-size", "4x4"}, "vae_tile_size");
  EXPECT_EQ(gesso({"-p", "a", "--preview", "proj", "--steps", "3", "-o", "o.png"}).code, 0);
  const std::string preview = contents(folder / "preview.png");
  EXPECT_THAT(preview, StartsWith("\x89PNG"));
  EXPECT_EQ(gesso({"-p", "a", "--steps", "3", "-o", "again.png"}).code, 0);
  EXPECT_EQ(contents(folder / "again.png"), contents(folder / "o.png"));

  EXPECT_EQ(gesso({"-p", "a", "--preview", "proj", "--preview-interval", "2", "--preview-noisy", "--steps", "3",
                   "--preview-path", "sub/p.jpg", "-o", "o.png"})
                .code,
            0);
  EXPECT_THAT(contents(folder / "sub/p.jpg"), StartsWith("\xFF\xD8"));
  EXPECT_EQ(contents(folder / "preview.png"), preview);
  fs::remove_all(folder / "sub");
  EXPECT_EQ(gesso({"-p", "a", "--preview-path", "sub/p.jpg", "-o", "o.png"}).code, 0);
  EXPECT_FALSE(fs::exists(folder / "sub"));

  EXPECT_EQ(
      gesso({"-p", "a", "--vae-tiling", "--vae-tile-size", "32x48", "--vae-tile-overlap", "0.5", "-o", "o.png"}).code,
      0);
}

TEST_F(CommandLine, ConvertsFiles) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[2,32],"data_offsets":[0,256]}})";
  std::string file(1, static_cast<char>(header.size()));
  file += std::string(7, '\0') + header + std::string(256, '\0');
  std::ofstream(folder / "in.safetensors", std::ios::binary) << file;
  const Ended text = gesso({"convert", "in.safetensors", "-o", "out.gguf", "--type", "q8_0"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("F32 -> Q8_0: 1 tensors, RMSE 0,"));
  EXPECT_EQ(contents(folder / "out.gguf").substr(0, 4), "GGUF");
  const Ended json =
      gesso({"convert", "--json", "--no-verify", "-o", "o.gguf", "--tensor-type-rules", "^w$=f16", "in.safetensors"});
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["types"][0]["to"], "F16");
  expect_usage({"convert"}, "no file");
  expect_usage({"convert", "in.safetensors"}, "no output");
  expect_usage({"convert", "in.safetensors", "-o"}, "-o needs a value");
  expect_usage({"convert", "in.safetensors", "-o", "a.gguf", "--output", "b.gguf"}, "there twice");
  expect_usage({"convert", "in.safetensors", "-o", "a.bin"}, "ending in .gguf or .safetensors");
  expect_usage({"convert", "in.safetensors", "-o", "a.gguf", "--type", "q9"}, "unknown type 'q9'");
  expect_usage({"convert", "in.safetensors", "--fast"}, "unknown option '--fast'");
  EXPECT_EQ(gesso({"convert", "absent.gguf", "-o", "a.gguf"}).code, 1);
  EXPECT_THAT(gesso({"convert", "--help"}).out, HasSubstr("--tensor-type-rules"));
}

TEST_F(CommandLine, PromptsFromFiles) {
  std::ofstream(folder / "p.txt") << "\xEF\xBB\xBFtwo\nlines\n";
  ASSERT_EQ(gesso({"--prompt-file", "p.txt", "-o", "a.png"}).code, 0);
  EXPECT_EQ(recipe_of("a.png")["prompt"], "two\nlines");
  EXPECT_EQ(gesso({"--prompt-file", "none.txt"}).code, 1);
  EXPECT_EQ(gesso({"--prompt-file", "."}).code, 1);
  EXPECT_EQ(gesso({"--prompt-file", "p.txt", "-p", "a"}).code, 2);
}

TEST_F(CommandLine, EachLineOfAFileIsAPrompt) {
  std::ofstream(folder / "p.txt") << "a red house\n\n  a blue car \r\n";
  const Ended ended = gesso({"--prompts-from-file", "p.txt", "-b", "2", "-o", "a.png"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "a_0001.png\na_0002.png\na_0003.png\na_0004.png\n");
  EXPECT_EQ(recipe_of("a_0002.png")["prompt"], "a red house");
  EXPECT_EQ(recipe_of("a_0003.png")["prompt"], "a blue car");
  EXPECT_EQ(gesso({"--prompts-from-file", "p.txt", "-o", "100%.png"}).out, "100%_0001.png\n100%_0002.png\n");
  EXPECT_EQ(gesso({"--prompts-from-file", "p.txt", "-p", "a"}).code, 2);
  std::ofstream(folder / "empty.txt") << "\n \n";
  EXPECT_EQ(gesso({"--prompts-from-file", "empty.txt"}).code, 2);
}

TEST_F(CommandLine, AGridIsOnePicture) {
  const Ended ended = gesso({"-p", "a", "--grid", "steps=2,3;cfg=3,7", "-o", "g.png"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "g.png\n");
  EXPECT_EQ(recipe_of("g.png")["grid"], "steps=2,3;cfg=3,7");
  EXPECT_EQ(gesso({"--from-image", "g.png", "-o", "h.png"}).code, 0);
  EXPECT_EQ(contents(folder / "g.png"), contents(folder / "h.png"));
  const Ended cells = gesso({"-p", "a", "--grid", "steps=2,3", "--grid-cells", "-o", "c.png"});
  EXPECT_EQ(cells.out, "c_0001.png\nc_0002.png\nc_0003.png\n");
  EXPECT_EQ(recipe_of("c_0003.png")["steps"], 3);
  EXPECT_FALSE(recipe_of("c_0003.png").contains("grid"));
  EXPECT_EQ(gesso({"-p", "a", "--grid", "steps=2;steps=3", "-o", "x.png"}).code, 2);
  EXPECT_EQ(gesso({"-p", "a", "--grid", "steps=0", "-o", "x.png"}).code, 2);
}

TEST_F(CommandLine, WildcardsAreFilledInBySeed) {
  fs::create_directories(folder / "wild");
  std::ofstream(folder / "wild/colour.txt") << "# comment\nred\nblue\n\ngreen\nyellow\n";
  const Ended ended = gesso({"-p", "a __colour__ house", "--wildcards", "wild", "-b", "8", "-o", "w.png"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::vector<std::string> prompts;
  for (int i = 1; i <= 8; ++i) prompts.push_back(recipe_of("w_000" + std::to_string(i) + ".png")["prompt"]);
  EXPECT_THAT(prompts, testing::Each(testing::AnyOf("a red house", "a blue house", "a green house", "a yellow house")));
  EXPECT_THAT(prompts, testing::Contains(testing::Ne(prompts[0])));
  EXPECT_FALSE(recipe_of("w_0001.png").contains("wildcards"));
  EXPECT_EQ(gesso({"--from-image", "w_0005.png", "-o", "again.png"}).code, 0);
  EXPECT_EQ(contents(folder / "again.png"), contents(folder / "w_0005.png")) << "without the folder";
  EXPECT_EQ(gesso({"-p", "a __size__ house", "--wildcards", "wild", "-o", "x.png"}).code, 1);
}

TEST_F(CommandLine, PicturesTellTheirMaking) {
  ASSERT_EQ(gesso({"-p", "a red house", "-n", "dog", "-o", "m.png"}).code, 0);
  EXPECT_EQ(gesso({"metadata", "m.png"}).out,
            "m.png: made by Gesso\nPrompt: a red house\nNegative prompt: dog\nSteps: 4\nSeed: 42\nSize: 64x64\n");
  const auto info = nlohmann::json::parse(gesso({"metadata", "m.png", "--json"}).out);
  EXPECT_EQ(info["program"], "Gesso");
  EXPECT_EQ(info["request"]["negative_prompt"], "dog");
  EXPECT_EQ(nlohmann::json::parse(gesso({"metadata", "--json", "m.png", "m.png"}).out).size(), 2u);
  EXPECT_THAT(gesso({"metadata", "--raw", "m.png"}).out, HasSubstr("[parameters]\na red house"));
  ASSERT_EQ(gesso({"-p", "a \x1b[31m", "-o", "e.png"}).code, 0);
  EXPECT_THAT(gesso({"metadata", "e.png"}).out, AllOf(HasSubstr("a ?[31m"), Not(HasSubstr("\x1b"))));
  ASSERT_EQ(gesso({"-p", "a", "--disable-image-metadata", "-o", "n.png"}).code, 0);
  EXPECT_EQ(gesso({"metadata", "n.png"}).out, "n.png: nothing says what made it\n");
  for (const char* path : {"none.png", ".", "models/demo.safetensors"}) {
    const Ended ended = gesso({"metadata", path});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr(path));
  }
  EXPECT_EQ(gesso({"metadata"}).code, 2);
}

TEST_F(CommandLine, SeamlessAndExplained) {
  ASSERT_EQ(gesso({"-p", "a", "--circular", "--subseed", "3", "--subseed-strength", "0.5", "-o", "s.png"}).code, 0);
  EXPECT_EQ(recipe_of("s.png")["circular_x"], true);
  EXPECT_EQ(recipe_of("s.png")["circular_y"], true);
  EXPECT_EQ(recipe_of("s.png")["subseed"], 3);
  EXPECT_EQ(gesso({"-p", "a red house", "--explain-prompt"}).out, "a red house as it is read\n");
}

TEST_F(CommandLine, NumberedPicturesReplaceNothing) {
  std::ofstream(folder / "a_0001.png") << "mine";
  const Ended ended = gesso({"-p", "a", "-b", "2", "-o", "a.png"});
  EXPECT_EQ(ended.out, "a_0002.png\na_0003.png\n");
  EXPECT_EQ(contents(folder / "a_0001.png"), "mine");
  EXPECT_EQ(gesso({"-p", "a", "-o", "b%03d.png"}).out, "b000.png\n");
  EXPECT_EQ(gesso({"-p", "a", "-o", "b%03d.png", "--output-begin-idx", "5"}).out, "b005.png\n");
  EXPECT_EQ(gesso({"-p", "a"}).out, "output.png\n");
  EXPECT_THAT(gesso({"-p", "a"}).out, AllOf(StartsWith("output_"), Not(HasSubstr("output.png"))));
}

TEST_F(CommandLine, FailuresExitWithOne) {
  const Ended ended = gesso({"-p", "fail numeric the decoder gave NaN", "-o", "out.png"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("gesso: the decoder gave NaN\n"));
  EXPECT_EQ(pictures(), 0);
}

TEST_F(CommandLine, ProgressIsPlainLinesWithoutATerminal) {
  const Ended ended = gesso({"-p", "a", "--steps", "50", "-o", "out.png"});
  EXPECT_THAT(ended.err,
              AllOf(HasSubstr("denoise 50/50  0.50 s/step\n"), Not(HasSubstr("\r")), Not(HasSubstr("message"))));
  EXPECT_LT(std::count(ended.err.begin(), ended.err.end(), '\n'), 10);
  EXPECT_THAT(gesso({"-p", "a", "-v", "--mmap", "-o", "out.png"}).err,
              AllOf(HasSubstr("a message"), HasSubstr("mapped")));
}

TEST_F(CommandLine, InterruptStopsWithinAStepAndLeavesNothing) {
  environment.push_back("GESSO_FAKE_STEP_MS=50");
  const pid_t process = start({"-p", "a", "--steps", "10000", "-o", "out.png"});
  for (int i = 0; i < 200 && contents(folder / ".stderr").find("denoise") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ::kill(process, SIGINT);
  const Ended ended = wait(process);
  EXPECT_EQ(ended.code, 130);
  EXPECT_THAT(ended.err, HasSubstr("gesso: cancelled\n"));
  EXPECT_EQ(pictures(), 0);
}

TEST_F(CommandLine, ASecondInterruptEndsTheProgramAtOnce) {
  environment.push_back("GESSO_FAKE_STEP_MS=600000");
  const pid_t process = start({"-p", "a", "-o", "out.png"});
  for (int i = 0; i < 200 && contents(folder / ".stderr").find("denoise") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ::kill(process, SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // signals of one kind are not queued
  ::kill(process, SIGINT);
  EXPECT_EQ(wait(process).code, 130);
  EXPECT_EQ(pictures(), 0);
}

TEST_F(CommandLine, OtherCommands) {
  EXPECT_EQ(gesso({"--dry-run", "-p", "a", "--steps", "9"}).out, "9 steps\n");
  EXPECT_EQ(pictures(), 0);
  EXPECT_EQ(gesso({"inspect", "models/demo.safetensors"}).out, "a fake\n");
  EXPECT_THAT(gesso({"inspect", "--json", "models/demo.safetensors"}).out, HasSubstr("\"family\": \"fake\""));
  EXPECT_EQ(gesso({"inspect"}).code, 2);
  EXPECT_EQ(gesso({"inspect", "none"}).code, 1);
  EXPECT_TRUE(nlohmann::json::parse(gesso({"schema"}).out).contains("properties"));
  EXPECT_THAT(gesso({"version"}).out, StartsWith("gesso "));
  EXPECT_EQ(gesso({"version"}).out, gesso({"--version"}).out);
}

TEST_F(CommandLine, HelpIsShortFirstAndThenComplete) {
  const std::string help = gesso({"--help"}).out, all = gesso({"generate", "--help-all"}).out;
  EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 24);
  for (const char* name : {"--prompt", "--steps", "--cfg-scale", "--output", "--help-all"}) {
    EXPECT_THAT(help, HasSubstr(name));
    EXPECT_THAT(all, HasSubstr(name));
  }
  for (const char* name : {"--clip_g", "karras", "1 to 10000", "--init-img", "--mmap", "GESSO_DEMO_MODEL"})
    EXPECT_THAT(all, HasSubstr(name));
  EXPECT_EQ(gesso({}).out, help);
  EXPECT_EQ(gesso({"help", "all"}).out, all);
}

}  // namespace
