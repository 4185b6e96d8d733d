#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/ffmpeg.hpp"
#include "app/film.hpp"
#include "app/kept_run.hpp"
#include "app/output_file.hpp"
#include "app/tile_words.hpp"
#include "viz/cut_view.hpp"
#include "viz/gif.hpp"
#include "viz/picture.hpp"
#include "viz/report/report.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

struct Flags {
    std::string run;
    std::string png;
    std::string gif;
    std::string mp4;
    double at = -1;    // seconds; negative: the end of the run
    double from = -1;  // negative: the beginning
    double to = -1;    // negative: the end
    double seconds = 12;
    std::uint32_t frames_per_second = 0;  // 0: as usual for the kind of film
    std::string size = "1600x900";
    std::string theme = "light";
    std::string fonts;
    std::string page = "run";
    std::string tensor;
};

/// "1600x900"; nothing when it is none or out of bounds.
std::optional<PixelSize> parse_size(const std::string& text) {
    PixelSize size;
    int end = 0;
    if (text.size() > 11 ||
        std::sscanf(text.c_str(), "%5ux%5u%n", &size.width, &size.height, &end) != 2 ||
        static_cast<std::size_t>(end) != text.size())
        return std::nullopt;
    const bool fits = size.width >= kPictureLeast.width && size.height >= kPictureLeast.height &&
                      size.width <= kPictureLargest.width && size.height <= kPictureLargest.height;
    return fits ? std::optional(size) : std::nullopt;
}

std::string check_size(const std::string& text) {
    if (parse_size(text)) return "";
    return fmt::format("'{}' is no size from {}x{} to {}x{}", text, kPictureLeast.width,
                       kPictureLeast.height, kPictureLargest.width, kPictureLargest.height);
}

/// Where Debian and others keep the two fonts.
std::vector<fs::path> font_folders(const std::string& wanted) {
    if (!wanted.empty()) return {wanted};
    return {"/usr/share/fonts/opentype/inter", "/usr/share/fonts/truetype/inter",
            "/usr/share/fonts/inter",          "/usr/share/fonts/truetype/jetbrains-mono",
            "/usr/share/fonts/jetbrains-mono", "/usr/share/fonts/TTF"};
}

/// Past the end of the run is its end.
Nanoseconds moment_of(double seconds, const SavedRun& run) {
    if (seconds < 0 || seconds >= to_seconds(run.end())) return run.end();
    return Nanoseconds{std::llround(seconds * 1e9)};
}

bool is_film(const Flags& flags) { return !flags.gif.empty() || !flags.mp4.empty(); }

FilmLength length_of(const Flags& flags) {
    const std::uint32_t usual = flags.gif.empty() ? 30 : 12;
    return {flags.seconds, flags.frames_per_second == 0 ? usual : flags.frames_per_second};
}

/// What cannot be told flag by flag.
void check_flags(const CLI::App& command, const Flags& flags) {
    const auto refuse = [](const std::string& why) { throw CLI::ValidationError(why); };
    if (command.count("--tensor") > 0 && flags.page != "weights")
        refuse("--tensor is for --page weights");
    if (command.count("--gif") + command.count("--mp4") > 0 && !is_film(flags))
        refuse("a film needs the name of a file");
    if (!is_film(flags)) {
        for (const char* flag : {"--from", "--to", "--seconds", "--fps"})
            if (command.count(flag) > 0)
                refuse(fmt::format("{} is for films: --gif or --mp4", flag));
        return;
    }
    if (command.count("--at") > 0) refuse("--at is for pictures; films have --from and --to");
    if (flags.to >= 0 && std::max(flags.from, 0.0) >= flags.to) refuse("--to must be after --from");
    const FilmLength length = length_of(flags);
    if (!flags.gif.empty() && length.frames_per_second > kGifFramesPerSecondMost)
        refuse(fmt::format("a GIF has at most {} frames a second", kGifFramesPerSecondMost));
    if (length.frames() > kFilmFramesMost)
        refuse(fmt::format("these are {} frames; a film has at most {}", length.frames(),
                           kFilmFramesMost));
    const PixelSize size = *parse_size(flags.size);
    if (!flags.mp4.empty() && (size.width % 2 != 0 || size.height % 2 != 0))
        refuse("--mp4 needs an even width and height, not " + flags.size);
}

/// What of the run a film shows.
TimeWindow window_of(const Flags& flags, const SavedRun& run) {
    const TimeWindow window{flags.from < 0 ? Nanoseconds{0} : moment_of(flags.from, run),
                            moment_of(flags.to, run)};
    if (flags.from > 0 && window.from >= window.to)
        throw CLI::ValidationError(fmt::format("--from {} is not before the end of the run, {:.3f}",
                                               flags.from, to_seconds(run.end())));
    return window;
}

struct Drawn {
    fs::path file;
    std::uint64_t bytes = 0;
    nlohmann::ordered_json facts;  // of the document
};

Result<Drawn> draw_to_file(const Flags& flags,
                           const SavedRun& run,
                           const std::vector<PublishedRow>& published,
                           PictureRequest request,
                           const fs::path& target) {
    request.at = moment_of(flags.at, run);
    const ByteVector png = draw_picture(run, published, request);
    REFIT_TRY(file, OutputFile::create(target));
    file->write(png);
    file->commit();
    return Drawn{target, png.size(), {{"at_seconds", to_seconds(request.at)}}};
}

Result<Drawn> film_to_file(const Console& console,
                           const Flags& flags,
                           const SavedRun& run,
                           const std::vector<PublishedRow>& published,
                           const PictureRequest& request) {
    const TimeWindow window = window_of(flags, run);
    const FilmLength length = length_of(flags);
    const auto width = static_cast<float>(request.size.width);
    const Film film{
        film_moments(TimeScale::squeezed(run.recording.timeline, width), window, length),
        length.frames_per_second, request.size};
    const fs::path target = flags.gif.empty() ? flags.mp4 : flags.gif;
    REFIT_TRY(file, OutputFile::create(target));
    const auto painter = make_painter(run, published, request);
    (flags.gif.empty() ? write_mp4 : write_gif)(console, *painter, film, *file);
    const std::uint64_t bytes = fs::file_size(file->temporary());
    file->commit();
    return Drawn{target,
                 bytes,
                 {{"from_seconds", to_seconds(window.from)},
                  {"to_seconds", to_seconds(window.to)},
                  {"frames", film.moments.size()},
                  {"frames_per_second", length.frames_per_second}}};
}

/// The tensor that was named, else the usual one; and its words.
Result<Subject> subject_of(const Console& console,
                           const Flags& flags,
                           const fs::path& folder,
                           const SavedRun& run) {
    const Catalog& catalog = run.recording.cast.catalog;
    Subject subject;
    subject.tensor = flags.tensor.empty() ? pick_tensor(catalog) : catalog.find(flags.tensor);
    if (!flags.tensor.empty() && !subject.tensor)
        return Error{ErrorCode::not_found, "the run has no tensor of this name", flags.tensor};
    if (subject.tensor)
        subject.words = words_of_run(folder, run, *subject.tensor, console.data_root);
    return subject;
}

Result<ExitCode> view(const Console& console, const Flags& flags) {
    REFIT_TRY(kept, open_kept_run(console, flags.run));
    const auto& [folder, run] = kept;
    REFIT_TRY(all_published, load_published(console.data_root / "workloads" / "published.csv"));
    const std::vector<PublishedRow> published = comparable(all_published, run.record);
    PictureRequest request;
    request.size = *parse_size(flags.size);
    request.shade = flags.theme == "dark" ? Shade::dark : Shade::light;
    request.font_folders = font_folders(flags.fonts);
    if (flags.page == "weights") {
        REFIT_TRY(subject, subject_of(console, flags, folder, run));
        request.page = Page::weights;
        request.subject = subject;
    }
    const fs::path png = flags.png.empty() ? folder / "view.png" : fs::path(flags.png);
    REFIT_TRY(drawn, is_film(flags) ? film_to_file(console, flags, run, published, request)
                                    : draw_to_file(flags, run, published, request, png));
    nlohmann::ordered_json document{{"schema", "refit.view/1"}, {"run", folder.string()}};
    document.update(drawn.facts);
    document.update({{"width", request.size.width},
                     {"height", request.size.height},
                     {"theme", flags.theme},
                     {"page", flags.page},
                     {"output", drawn.file.string()},
                     {"bytes", drawn.bytes},
                     {"missing", run.missing}});
    console.document(document);
    console.say("wrote " + drawn.file.string());
    return ExitCode::success;
}

void add_film_flags(CLI::App& command, Flags& flags) {
    command.add_option("--from", flags.from, "Where a film begins; the run's beginning by default")
        ->check(CLI::Range(0.0, 1e9).description(""))
        ->type_name("SECONDS");
    command.add_option("--to", flags.to, "Where it ends; the run's end by default")
        ->check(CLI::Range(0.0, 1e9).description(""))
        ->type_name("SECONDS");
    command
        .add_option("--seconds", flags.seconds,
                    "How long a film is, the 2 s for which its end stands included")
        ->check(CLI::Range(3.0, 600.0).description(""))
        ->type_name("S")
        ->capture_default_str();
    command
        .add_option("--fps", flags.frames_per_second,
                    "Frames a second; 12 of a GIF, 30 of an MP4 by default")
        ->check(CLI::Range(1U, kMp4FramesPerSecondMost).description(""))
        ->type_name("N");
}

}  // namespace

Command add_view(CLI::App& program, const Console& console) {
    CLI::App* command = program.add_subcommand(
        "view", "A kept run at one moment as a picture, or as a film, drawn without a display");
    const auto flags = std::make_shared<Flags>();
    command->add_option("RUN_DIR", flags->run, "A run's folder; the newest kept run by default")
        ->type_name("");
    command->add_option("--png", flags->png, "Where to; view.png in the run's folder by default")
        ->type_name("FILE");
    CLI::Option* gif = command->add_option("--gif", flags->gif, "A film instead, as a GIF")
                           ->excludes("--png")
                           ->type_name("FILE");
    command->add_option("--mp4", flags->mp4, "A film instead, as an MP4, with ffmpeg from PATH")
        ->excludes("--png")
        ->excludes(gif)
        ->type_name("FILE");
    command->add_option("--at", flags->at, "The moment of the run; its end by default")
        ->check(CLI::Range(0.0, 1e9).description(""))
        ->type_name("SECONDS");
    command->add_option("--size", flags->size, "Pixels of the picture")
        ->check(check_size)
        ->type_name("WxH")
        ->capture_default_str();
    command->add_option("--theme", flags->theme, "light or dark")
        ->check(CLI::IsMember({"light", "dark"}))
        ->capture_default_str();
    command
        ->add_option("--fonts", flags->fonts,
                     "Folder with Inter and JetBrains Mono; the system's by default")
        ->check(CLI::Validator(CLI::ExistingDirectory).description(""))
        ->type_name("DIR");
    command
        ->add_option("--page", flags->page,
                     "run: who did what and what crossed the links; weights: which words changed")
        ->check(CLI::IsMember({"run", "weights"}))
        ->capture_default_str();
    command
        ->add_option(
            "--tensor", flags->tensor,
            "The tensor of --page weights; a fused QKV, an expert or the largest by default")
        ->type_name("NAME");
    add_film_flags(*command, *flags);
    return {command, [&console, command, flags] {
                check_flags(*command, *flags);
                return view(console, *flags);
            }};
}

}  // namespace refit
