// SPDX-License-Identifier: Apache-2.0
// Castellan authors

#include "sim/command_line.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstring>
#include <cstdio>

#include "base/planted_fault.h"
#include "sim/model_trace.h"
#include "sim/run.h"

namespace castellan::sim {
namespace {

constexpr int jobs_max = 64;

struct Arguments {
  std::string seeds = "1..1000";
  uint64_t seed = 1;
  std::string profile = "short";
  std::string fault;
  std::string without;
  int steps = -1;
  int jobs = 1;
  bool trace = false;
  std::string model_trace;
  bool keep_going = false;
  int64_t seconds = 0;
};

// What the processes of a run share.
struct Shared {
  std::atomic<uint64_t> next;
  std::atomic<uint64_t> first_found;  // the lowest seed with a violation
  std::atomic<uint64_t> seeds, events, messages, simulated_ms, epochs, acknowledged, voter_changes, snapshots, lives, violations;
  std::atomic<uint64_t> current[jobs_max];
};

std::optional<std::pair<uint64_t, uint64_t>> parse_range(const std::string& text) {
  const char* end = text.data() + text.size();
  uint64_t first = 0, last = 0;
  const auto a = std::from_chars(text.data(), end, first);
  if (a.ec != std::errc{}) return std::nullopt;
  if (a.ptr == end) return std::pair(first, first);
  if (end - a.ptr < 3 || a.ptr[0] != '.' || a.ptr[1] != '.') return std::nullopt;
  const auto b = std::from_chars(a.ptr + 2, end, last);
  if (b.ec != std::errc{} || b.ptr != end || last < first) return std::nullopt;
  return std::pair(first, last);
}

std::optional<Options> options_of(const Arguments& arguments) {
  Options options{.seed = arguments.seed};
  if (arguments.profile != "short" && arguments.profile != "long") {
    std::fprintf(stderr, "castellan-sim: --profile %s: there are short and long\n", arguments.profile.c_str());
    return std::nullopt;
  }
  options.profile = arguments.profile == "long" ? Profile::extended : Profile::brief;
  if (arguments.steps >= 0) options.steps = arguments.steps;
  for (size_t at = 0; at < arguments.without.size();) {
    const size_t end = std::min(arguments.without.find(',', at), arguments.without.size());
    const auto trouble = find_trouble(std::string_view(arguments.without).substr(at, end - at));
    if (!trouble) {
      std::fprintf(stderr, "castellan-sim: --without %s: no such trouble; there are", arguments.without.substr(at, end - at).c_str());
      for (size_t i = 0; i < trouble_count; ++i) std::fprintf(stderr, " %s", std::string(name_of(static_cast<Trouble>(i))).c_str());
      std::fprintf(stderr, "\n");
      return std::nullopt;
    }
    options.without.set(static_cast<size_t>(*trouble));
    at = end + 1;
  }
  return options;
}

std::string replay_command(const Options& options, const Arguments& arguments) {
  return replay_command(options) + (arguments.fault.empty() ? "" : " --fault " + arguments.fault);
}

void tell(const Options& options, const Violation& violation, const Arguments& arguments) {
  std::string text = fmt::format("seed {}: {}: {}\n", options.seed, violation.checker, violation.what);
  // One write, so that lines of several processes stay whole.
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  const Options smaller = shrink(options);
  text = fmt::format("  replay: {}\n", replay_command(options, arguments));
  if (replay_command(smaller) != replay_command(options)) text += fmt::format("  less of it: {}\n", replay_command(smaller, arguments));
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

int work(int job, Shared& shared, uint64_t last, Options options, const Arguments& arguments, const std::chrono::steady_clock::time_point until) {
  for (;;) {
    const uint64_t seed = shared.next.fetch_add(1);
    if (seed > last || (!arguments.keep_going && seed > shared.first_found.load())) return 0;
    if (arguments.seconds > 0 && std::chrono::steady_clock::now() >= until) return 0;
    shared.current[job] = seed;
    options.seed = seed;
    const Outcome outcome = run_seed(options);
    ++shared.seeds;
    shared.events += outcome.events;
    shared.messages += outcome.messages;
    shared.simulated_ms += static_cast<uint64_t>(outcome.simulated_ms);
    shared.epochs += outcome.epochs;
    shared.acknowledged += outcome.acknowledged;
    shared.voter_changes += static_cast<uint64_t>(outcome.voter_changes);
    shared.snapshots += outcome.snapshots;
    shared.lives += static_cast<uint64_t>(outcome.lives);
    if (outcome.violation) {
      ++shared.violations;
      uint64_t known = shared.first_found.load();
      while (seed < known && !shared.first_found.compare_exchange_weak(known, seed)) {
      }
      tell(options, *outcome.violation, arguments);
    }
  }
}

int run(const Arguments& arguments) {
  const auto range = parse_range(arguments.seeds);
  const auto options = options_of(arguments);
  if (!range) std::fprintf(stderr, "castellan-sim: --seeds %s: want A..B\n", arguments.seeds.c_str());
  if (!range || !options) return 2;
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("castellan-sim: mmap");
    return 2;
  }
  auto& shared = *new (memory) Shared{};
  shared.next = range->first;
  shared.first_found = UINT64_MAX;
  const auto begun = std::chrono::steady_clock::now();
  const int jobs = std::clamp(arguments.jobs, 1, jobs_max);
  // Processes, so that one that dies takes no other along, and its seed is known.
  std::map<pid_t, int> workers;
  for (int job = 0; job < jobs; ++job) {
    const pid_t pid = fork();
    if (pid == 0) {
      const int code = work(job, shared, range->second, *options, arguments, begun + std::chrono::seconds(arguments.seconds));
      std::fflush(stdout);
      _exit(code);
    }
    if (pid > 0) workers[pid] = job;
  }
  bool died = workers.empty();
  while (!workers.empty()) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    const auto worker = workers.extract(pid);
    if (worker.empty()) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    died = true;
    ++shared.violations;
    Options failed = *options;
    failed.seed = shared.current[worker.mapped()];
    std::printf("seed %llu: the process died: %s\n  replay: %s\n", static_cast<unsigned long long>(failed.seed),
                WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit", replay_command(failed, arguments).c_str());
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  fmt::print("{} seeds, {} violations: {} events, {} messages, {} s simulated, {} epochs, {} acknowledged changes, {} voter changes, {} snapshots, {} lives, in {:.1f} s\n",
             shared.seeds.load(), shared.violations.load(), shared.events.load(), shared.messages.load(), shared.simulated_ms.load() / 1000, shared.epochs.load(),
             shared.acknowledged.load(), shared.voter_changes.load(), shared.snapshots.load(), shared.lives.load(), took);
  const bool found = died || shared.violations.load() > 0;
  munmap(memory, sizeof(Shared));
  return found ? 1 : 0;
}

int replay(const Arguments& arguments) {
  auto options = options_of(arguments);
  if (!options) return 2;
  if (arguments.trace) options->trace = [](const std::string& line) { std::fprintf(stdout, "%s\n", line.c_str()); };
  ModelTrace model_trace;
  if (!arguments.model_trace.empty()) options->model_trace = &model_trace;
  const Outcome outcome = run_seed(*options);
  if (options->model_trace && !model_trace.write(arguments.model_trace)) {
    std::fprintf(stderr, "castellan-sim: --model-trace %s cannot be written: %s\n", arguments.model_trace.c_str(), std::strerror(errno));
    return 2;
  }
  if (outcome.violation) std::printf("seed %llu: %s: %s\n", static_cast<unsigned long long>(options->seed), outcome.violation->checker.c_str(), outcome.violation->what.c_str());
  std::printf("seed %llu: %s: %llu events, %lld ms simulated, %zu epochs, %lld records committed, %zu acknowledged changes\n", static_cast<unsigned long long>(options->seed),
              outcome.violation ? "a violation" : "no violation", static_cast<unsigned long long>(outcome.events), static_cast<long long>(outcome.simulated_ms), outcome.epochs,
              static_cast<long long>(outcome.committed), outcome.acknowledged);
  return outcome.violation ? 1 : 0;
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("The simulator: whole clusters on one thread, each from one seed, with everything going wrong");
  app.name("castellan-sim");
  app.require_subcommand(1);
  Arguments given;
  const auto common = [&](CLI::App* command) {
    command->add_option("--profile", given.profile, "short: seconds of storm; long: minutes")->capture_default_str();
    command->add_option("--fault", given.fault, "with this mistake planted; see faults");
    command->add_option("--without", given.without, "kinds of trouble to leave out, separated by commas");
    command->add_option("--steps", given.steps, "of the storm, instead of what the seed says");
  };
  auto* run_command = app.add_subcommand("run", "runs seeds, and stops at the first violation");
  run_command->add_option("--seeds", given.seeds, "A..B, both inclusive")->capture_default_str();
  run_command->add_option("--jobs", given.jobs, "processes")->capture_default_str();
  run_command->add_option("--seconds", given.seconds, "ends after so long, whatever seeds are left");
  run_command->add_flag("--keep-going", given.keep_going, "does not stop at a violation");
  common(run_command);
  auto* replay_command = app.add_subcommand("replay", "repeats one seed");
  replay_command->add_option("seed", given.seed)->required();
  replay_command->add_flag("--trace", given.trace, "a line for each thing that happens");
  replay_command->add_option("--model-trace", given.model_trace, "writes the module TraceData for spec/Trace.tla to this file");
  common(replay_command);
  auto* faults_command = app.add_subcommand("faults", "lists the mistakes that can be planted");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (*faults_command) {
    for (const PlantedFault& fault : planted_faults()) fmt::print("{:<34} {}\n", fault.name, fault.sentence);
    return 0;
  }
  std::optional<ScopedFault> planted;
  if (!given.fault.empty()) {
    const auto fault = find_planted_fault(given.fault);
    if (!fault) {
      std::fprintf(stderr, "castellan-sim: --fault %s: no such fault; castellan-sim faults lists them\n", given.fault.c_str());
      return 2;
    }
    planted.emplace(*fault);
  }
  return *run_command ? run(given) : replay(given);
}

}  // namespace castellan::sim
