// The command line of Gesso. It sees the library only through gesso/gesso.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "bench.h"
#include "convert.h"
#include "generate.h"
#include "help.h"
#include "inspect.h"
#include "json.h"
#include "library.h"
#include "metadata.h"
#include "serve.h"
#include "upscale.h"

namespace {

using cli::Failure;

std::string help_text(bool all) {
  const auto schema = cli::parse_json(gesso_schema());
  return all ? cli::full_help(schema) : cli::short_help(schema);
}

int print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int run(std::vector<std::string> arguments) {
  if (arguments.empty()) return print(help_text(false));
  const std::string command = arguments.front();
  if (command == "--version") return print(fmt::format("gesso {}\n", gesso_version()));
  if (command.starts_with('-')) return cli::generate(arguments);
  arguments.erase(arguments.begin());
  if (command == "generate") return cli::generate(arguments);
  if (command == "inspect") return cli::inspect(arguments);
  if (command == "convert") return cli::convert(arguments);
  if (command == "metadata") return cli::metadata(arguments);
  if (command == "schema") return print(std::string(gesso_schema()) + "\n");
  if (command == "version") return print(fmt::format("gesso {}\n", gesso_version()));
  if (command == "help") return print(help_text(std::ranges::find(arguments, "all") != arguments.end()));
  if (command == "serve") return cli::serve(arguments);
  if (command == "bench") return cli::bench(arguments);
  if (command == "upscale") return cli::upscale(arguments);
  throw cli::usage(fmt::format(
      "unknown command '{}'; known: generate, upscale, serve, inspect, convert, metadata, bench, schema, version, help",
      command));
}

}  // namespace

int main(int argc, char** argv) {
  int code = cli::kExitFailure;
  try {
    code = run(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
    if (std::fflush(stdout) != 0) throw Failure(cli::kExitFailure, "cannot write to the standard output");
  } catch (const Failure& failure) {
    std::fputs(fmt::format("gesso: {}\n", failure.what()).c_str(), stderr);
    code = failure.exit_code();
  } catch (const std::exception& error) {
    std::fputs(fmt::format("gesso: {}\n", error.what()).c_str(), stderr);
  }
  return code;
}
