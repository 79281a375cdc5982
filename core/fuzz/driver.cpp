// A small coverage-guided fuzzing engine, so that no special compiler is needed. Links with any libFuzzer-style target.
//
// Idea: the code under test is compiled with -fsanitize-coverage=trace-pc, which calls __sanitizer_cov_trace_pc at
// every branch. Each edge (hash of this place and the one before) has a cell that counts hits, rounded to a power of
// two. An input that lights a new (cell, count) pair joins the corpus; new inputs are mutations of corpus members.
// Without that flag the engine still runs, blindly.
//
// Usage: fuzz_<target> [--seconds N] [--seed S] [--corpus DIR] [--max-length BYTES] [FILE...]
// With FILEs: runs each once and stops, to reproduce a crash. The corpus is read from DIR and grown there. An input
// that crashes (signal, abort, sanitizer report, or 10 s without an answer) is saved as crash-<target>-<seed>-<run>.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t cell_count = 1 << 16;
std::array<std::uint8_t, cell_count> hits;       // of the present run
std::array<std::uint8_t, cell_count> seen;       // one bit per magnitude, of all runs
std::uintptr_t previous_place = 0;
bool recording = false;

// What a crash handler may touch: plain memory only.
const Input* running = nullptr;
char crash_name[256];

void save_crash() {
    if (running == nullptr) return;
    const int file = open(crash_name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0) return;
    std::size_t done = 0;
    while (done < running->size()) {
        const ssize_t step = write(file, running->data() + done, running->size() - done);
        if (step <= 0) break;
        done += static_cast<std::size_t>(step);
    }
    close(file);
    const auto say = [](const char* text) {
        if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
    };
    say("crash: input saved as ");
    say(crash_name);
    say("\n");
    running = nullptr;
}

void on_signal(int number) {
    save_crash();
    signal(number, SIG_DFL);
    raise(number);
}

struct Settings {
    double seconds = 60;
    std::uint64_t seed = 1;
    std::size_t longest = 4096;
    std::string corpus;
    std::vector<std::string> files;
};

[[noreturn]] void usage(const char* name) {
    std::fprintf(stderr, "usage: %s [--seconds N] [--seed S] [--corpus DIR] [--max-length BYTES] [FILE...]\n", name);
    std::exit(2);
}

Settings read_settings(int argc, char** argv) {
    Settings settings;
    for (int i = 1; i < argc; ++i) {
        const std::string flag = argv[i];
        if (!flag.starts_with("--")) {
            settings.files.push_back(flag);
            continue;
        }
        if (i + 1 >= argc) usage(argv[0]);
        const char* value = argv[++i];
        if (flag == "--seconds") settings.seconds = std::atof(value);
        else if (flag == "--seed") settings.seed = std::strtoull(value, nullptr, 10);
        else if (flag == "--corpus") settings.corpus = value;
        else if (flag == "--max-length") settings.longest = std::max<std::size_t>(1, std::strtoull(value, nullptr, 10));
        else usage(argv[0]);
    }
    return settings;
}

Input read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return Input(std::istreambuf_iterator<char>(file), {});
}

class Engine {
public:
    explicit Engine(const Settings& settings) : settings_(settings), random_(settings.seed) {}

    void run() {
        load_corpus();
        const auto start = std::chrono::steady_clock::now();
        const auto elapsed = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
        double next_report = 1;
        while (elapsed() < settings_.seconds) {
            for (int i = 0; i < 100; ++i) try_input(mutated());
            if (elapsed() < next_report) continue;
            report(elapsed());
            next_report *= 2;
        }
        report(elapsed());
    }

private:
    std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

    void load_corpus() {
        try_input({0});
        if (settings_.corpus.empty()) return;
        std::filesystem::create_directories(settings_.corpus);
        std::vector<std::filesystem::path> paths;
        for (const auto& entry : std::filesystem::directory_iterator(settings_.corpus))
            if (entry.is_regular_file()) paths.push_back(entry.path());
        std::sort(paths.begin(), paths.end());  // the same seed and corpus give the same run
        saved_ = paths.size();
        for (const auto& path : paths) try_input(read_file(path), false);
    }

    void report(double seconds) const {
        std::size_t places = 0;
        for (const auto cell : seen) places += cell != 0;
        std::printf("%6.0f s  %9llu execs  %6.0f/s  coverage %zu edges  corpus %zu\n", seconds,
                    static_cast<unsigned long long>(runs_), static_cast<double>(runs_) / std::max(seconds, 1e-9),
                    places, corpus_.size());
        std::fflush(stdout);
    }

    // Runs one input; keeps it if it reached something new.
    void try_input(Input input, bool save = true) {
        ++runs_;
        std::snprintf(crash_name, sizeof crash_name, "crash-%s-%llu-%llu", program_invocation_short_name,
                      static_cast<unsigned long long>(settings_.seed), static_cast<unsigned long long>(runs_));
        hits.fill(0);
        previous_place = 0;
        running = &input;
        alarm(10);
        recording = true;
        LLVMFuzzerTestOneInput(input.data(), input.size());
        recording = false;
        alarm(0);
        running = nullptr;
        if (!merge_coverage() && !corpus_.empty()) return;
        if (save) save_to_corpus(input);
        corpus_.push_back(std::move(input));
    }

    bool merge_coverage() const {
        bool fresh = false;
        for (std::size_t i = 0; i < cell_count; ++i) {
            if (hits[i] == 0) continue;
            const auto magnitude = static_cast<std::uint8_t>(1u << (std::bit_width(hits[i]) - 1));
            fresh |= (seen[i] & magnitude) == 0;
            seen[i] |= magnitude;
        }
        return fresh;
    }

    void save_to_corpus(const Input& input) {
        if (settings_.corpus.empty()) return;
        char name[32];
        std::snprintf(name, sizeof name, "%08zu", saved_++);
        std::ofstream file(std::filesystem::path(settings_.corpus) / name, std::ios::binary);
        file.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
    }

    Input mutated() {
        Input input = corpus_[below(corpus_.size())];
        const std::size_t steps = 1 + below(6);
        for (std::size_t i = 0; i < steps; ++i) mutate(input);
        if (input.empty()) input.push_back(0);
        if (input.size() > settings_.longest) input.resize(settings_.longest);
        return input;
    }

    void mutate(Input& input) {
        const std::size_t at = below(input.size()), length = std::min(input.size() - at, 1 + below(32));
        const auto here = input.begin() + static_cast<std::ptrdiff_t>(at);
        const auto end = here + static_cast<std::ptrdiff_t>(length);
        switch (below(7)) {
            case 0:  // flip a bit
                if (!input.empty()) *here = static_cast<std::uint8_t>(*here ^ (1u << below(8)));
                break;
            case 1:  // another byte
                if (!input.empty()) *here = interesting_byte();
                break;
            case 2: input.insert(here, interesting_byte()); break;
            case 3: input.erase(here, end); break;
            case 4: {  // repeat a stretch
                const Input copy(here, end);
                input.insert(end, copy.begin(), copy.end());
                break;
            }
            case 5: {  // a stretch of another input
                const Input& other = corpus_[below(corpus_.size())];
                const std::size_t from = below(other.size()), size = std::min(other.size() - from, 1 + below(200));
                const auto first = other.begin() + static_cast<std::ptrdiff_t>(from);
                const Input copy(first, first + static_cast<std::ptrdiff_t>(size));
                input.insert(here, copy.begin(), copy.end());
                break;
            }
            default:  // another digit, where there is one
                if (!input.empty() && *here >= '0' && *here <= '9') *here = static_cast<std::uint8_t>('0' + below(10));
        }
    }

    std::uint8_t interesting_byte() {
        static constexpr std::uint8_t often[] = {0, 9, 10, 13, 32, '#', '-', '.', '_', '0', '1', '2', 0x7F, 0x80, 0xC3, 0xFF};
        return below(2) == 0 ? often[below(sizeof often)] : static_cast<std::uint8_t>(below(256));
    }

    const Settings& settings_;
    std::mt19937_64 random_;
    std::vector<Input> corpus_;
    std::size_t saved_ = 0;
    std::uint64_t runs_ = 0;
};

}  // namespace

extern "C" void __sanitizer_cov_trace_pc() {
    if (!recording) return;
    const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
    const std::uintptr_t mixed = place * 0x9E3779B97F4A7C15u >> 40;
    std::uint8_t& cell = hits[(mixed ^ previous_place) % cell_count];
    if (cell < 255) ++cell;
    previous_place = mixed >> 1;
}

// Sanitizers call this before they end the process.
extern "C" void __asan_on_error() { save_crash(); }

int main(int argc, char** argv) {
    const Settings settings = read_settings(argc, argv);
    for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS, SIGALRM}) signal(number, on_signal);
    for (const auto& name : settings.files) {
        const Input input = read_file(name);
        std::printf("%s: %zu bytes\n", name.c_str(), input.size());
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    if (settings.files.empty()) Engine(settings).run();
    return 0;
}
