#include "app/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/nearest.hpp"

namespace refit {
namespace {

struct Question {
    std::string_view text;
    std::array<std::string_view, 6> commands;
};

constexpr Question kQuestions[] = {
    {"What does a refit look like, end to end?", {"run", "report", "view", "compare"}},
    {"Is 12-40x, 87.5 min to 150 s, true? What part is codec, tree, baseline?", {"reproduce"}},
    {"My model, my regions, my budget: how long, how idle, how much money?", {"plan", "sweep"}},
    {"Show it, break it, watch it recover.", {"demo"}},
    {"Is my encoding better? On my weights? On my GPU?",
     {"profile", "bench", "encode", "apply", "verify", "inspect"}},
    {"Run it for real on several hosts.", {"node", "launch"}},
    {"How do layouts map? What is shipped? What has this machine?", {"map", "list", "doctor"}},
};

const CLI::App& chosen_command(const CLI::App& program) {
    const auto chosen = program.get_subcommands();
    return chosen.empty() ? program : *chosen.front();
}

std::vector<std::string> flag_names(const CLI::App& program) {
    std::vector<std::string> names;
    for (const CLI::App* app : {&chosen_command(program), &program}) {
        for (const CLI::Option* option : app->get_options()) {
            for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        }
    }
    return names;
}

std::vector<std::string> command_names(const CLI::App& program) {
    std::vector<std::string> names;
    for (const CLI::App* command : program.get_subcommands({}))
        names.push_back(command->get_name());
    return names;
}

std::string with_hint(std::string text, const std::string& hint) {
    return hint.empty() ? text : text + "; did you mean " + hint + "?";
}

}  // namespace

std::string usage_error(const CLI::App& program, const CLI::ParseError& error) {
    std::vector<std::string> unknown = program.remaining(true);
    std::erase(unknown, "--");  // the mark itself is no mistake
    const CLI::App& command = chosen_command(program);
    const std::string where = &command == &program ? "" : command.get_name() + ": ";
    const auto flag = std::ranges::find_if(
        unknown, [](const std::string& word) { return word.size() > 1 && word[0] == '-'; });
    if (flag != unknown.end()) {
        const std::string name = flag->substr(0, flag->find('='));
        return with_hint(where + "unknown flag " + name, nearest_name(name, flag_names(program)));
    }
    if (!unknown.empty() && &command == &program) {
        return with_hint("unknown command " + unknown.front(),
                         nearest_name(unknown.front(), command_names(program)));
    }
    if (!unknown.empty()) return where + "unexpected argument " + unknown.front();
    const std::string what = error.what();
    return where + what.substr(0, what.find('\n'));
}

std::string overview(const std::vector<Command>& commands) {
    std::string text = "Refit: an RL weight refit end to end, bit-exact, with the time told.\n\n";
    for (const Question& question : kQuestions) {
        std::string names;
        for (const std::string_view name : question.commands) {
            const bool built = std::ranges::any_of(
                commands, [&](const Command& known) { return known.app->get_name() == name; });
            if (built) names += (names.empty() ? "" : ", ") + std::string(name);
        }
        if (!names.empty()) text += fmt::format("{}\n    refit {}\n", question.text, names);
    }
    return text + "\nrefit --help lists everything; refit COMMAND --help explains one.";
}

}  // namespace refit
