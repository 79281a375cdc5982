// A replacement for libFuzzer for compilers other than clang: runs the files of a corpus, then random changes of them, without
// coverage. Usage, like libFuzzer's: fuzz_<target> [-max_total_time=SECONDS] [-seed=N] [DIRECTORY|FILE]... Single FILEs are run
// once each. An input that crashes, or runs for 10 s, is saved as crash-input.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kLongest = 4096;
const Input* running = nullptr;

void save_crash() {
    if (running == nullptr) return;
    std::FILE* file = std::fopen("crash-input", "wb");
    if (file == nullptr) return;
    std::fwrite(running->data(), 1, running->size(), file);
    std::fclose(file);
    running = nullptr;
}

void on_signal(int number) {
    save_crash();
    signal(number, SIG_DFL);
    raise(number);
}

void run(const Input& input) {
    running = &input;
    alarm(10);
    LLVMFuzzerTestOneInput(input.data(), input.size());
    alarm(0);
    running = nullptr;
}

Input read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return Input(std::istreambuf_iterator<char>(file), {});
}

// Another byte, fewer bytes, or some bytes of another input.
void change(Input& input, const Input& other, std::mt19937_64& random) {
    const auto from = static_cast<std::ptrdiff_t>(random() % (input.size() + 1));
    const auto to = std::min(static_cast<std::ptrdiff_t>(input.size()), from + 1 + static_cast<std::ptrdiff_t>(random() % 32));
    const auto start = static_cast<std::ptrdiff_t>(random() % (other.size() + 1));
    const auto stop = std::min(static_cast<std::ptrdiff_t>(other.size()), start + 1 + static_cast<std::ptrdiff_t>(random() % 200));
    const std::uint64_t kind = random() % 3;
    if (kind == 0 && from < to) input[static_cast<std::size_t>(from)] = static_cast<std::uint8_t>(random() % 2 == 0 ? "\t\n\r #-._012\x7f\x80\xc3\xff"[random() % 15] : random());
    if (kind == 1) input.erase(input.begin() + from, input.begin() + to);
    if (kind == 2) input.insert(input.begin() + from, other.begin() + start, other.begin() + stop);
}

}  // namespace

extern "C" void __asan_on_error() { save_crash(); }

int main(int argc, char** argv) {
    double seconds = 60;
    std::mt19937_64 random(1);
    std::vector<Input> corpus;
    bool only_files = argc > 1;
    for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS, SIGALRM}) signal(number, on_signal);
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument.starts_with("-max_total_time=")) seconds = std::atof(argv[i] + 16);
        else if (argument.starts_with("-seed=")) random.seed(std::strtoull(argv[i] + 6, nullptr, 10));
        else if (argument.starts_with("-")) continue;
        else if (std::filesystem::is_directory(argument))
            for (const auto& entry : std::filesystem::directory_iterator(argument)) only_files = false, corpus.push_back(read_file(entry.path()));
        else corpus.push_back(read_file(argument));
    }
    if (corpus.empty()) only_files = false, corpus.push_back({0});
    for (const Input& input : corpus) run(input);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(only_files ? 0.0 : seconds);
    std::uint64_t runs = corpus.size();
    for (; std::chrono::steady_clock::now() < end; ++runs) {
        Input input = corpus[random() % corpus.size()];
        for (std::uint64_t steps = 1 + random() % 6; steps > 0; --steps) change(input, corpus[random() % corpus.size()], random);
        input.resize(std::min(std::max<std::size_t>(input.size(), 1), kLongest));
        run(input);
    }
    std::printf("%llu runs\n", static_cast<unsigned long long>(runs));
}
