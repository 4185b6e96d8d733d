#include "engine/observe/event_columns.hpp"

namespace refit {

namespace {

void write_number(std::uint64_t number, ByteWriter& out) {
    for (; number >= 0x80; number >>= 7)
        out.write(static_cast<std::uint8_t>(0x80 | (number & 0x7F)));
    out.write(static_cast<std::uint8_t>(number));
}

constexpr std::uint64_t kNotANumber = ~std::uint64_t{0};

/// At most nine bytes: no number of an event has more than 63 bits. kNotANumber otherwise.
std::uint64_t read_number(ByteReader& in) {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        const auto byte = in.read<std::uint8_t>();
        number |= std::uint64_t{byte & 0x7Fu} << shift;
        if (byte < 0x80) return in.failed() ? kNotANumber : number;
    }
    return kNotANumber;
}

/// None is 0.
std::uint64_t node_number(NodeId node) { return NodeId{node + 1}; }

class ColumnReader {
public:
    ColumnReader(ByteReader& in, std::vector<Event>& events) : in_(in), events_(events) {}

    /// Hands each event the next number; false once one is over `most`.
    template <class Set>
    bool read(std::uint64_t most, Set set) {
        for (Event& event : events_) {
            const std::uint64_t number = read_number(in_);
            if (number > most) return false;
            set(event, number);
        }
        return true;
    }

private:
    ByteReader& in_;
    std::vector<Event>& events_;
};

bool read_columns(ByteReader& in, std::size_t nodes, Nanoseconds earliest, std::vector<Event>& to) {
    constexpr std::uint64_t kMost = kNotANumber >> 1;
    ColumnReader columns(in, to);
    Nanoseconds at{0};
    const auto set_at = [&](Event& event, std::uint64_t since) {
        at = event.at = Nanoseconds{
            static_cast<std::int64_t>((static_cast<std::uint64_t>(at.count) + since) & kMost)};
    };
    const auto as_node = [](std::uint64_t number) { return static_cast<NodeId>(number) - 1; };
    if (!columns.read(kMost, set_at)) return false;
    for (const Event& event : to) {
        if (event.at < earliest) return false;  // also what an overflow looks like
        earliest = event.at;
    }
    return columns.read(static_cast<std::uint64_t>(EventKind::link_up), [](Event& event,
                                                                           std::uint64_t kind) {
        event.kind = static_cast<EventKind>(kind);
    }) && columns.read(nodes, [&](Event& event, std::uint64_t node) {
        event.node = as_node(node);
    }) && columns.read(nodes, [&](Event& event, std::uint64_t node) {
        event.peer = as_node(node);
    }) && columns.read(kMost, [](Event& event, std::uint64_t n) {
        event.version = n;
    }) && columns.read(0xFFFF'FFFFu, [](Event& event, std::uint64_t n) {
        event.index = static_cast<std::uint32_t>(n);
    }) && columns.read(kMost, [](Event& event, std::uint64_t n) { event.amount = n; });
}

}  // namespace

ByteVector pack_events(std::span<const Event> events) {
    ByteWriter out;
    const auto column = [&](auto number_of) {
        for (const Event& event : events) write_number(number_of(event), out);
    };
    write_number(events.size(), out);
    Nanoseconds before{0};
    column([&](const Event& event) {
        const auto since = static_cast<std::uint64_t>((event.at - before).count);
        before = event.at;
        return since;
    });
    column([](const Event& event) { return static_cast<std::uint64_t>(event.kind); });
    column([](const Event& event) { return node_number(event.node); });
    column([](const Event& event) { return node_number(event.peer); });
    column([](const Event& event) { return event.version; });
    column([](const Event& event) { return std::uint64_t{event.index}; });
    column([](const Event& event) { return event.amount; });
    return std::move(out).take();
}

Result<std::vector<Event>> unpack_events(ByteSpan bytes,
                                         std::size_t most,
                                         std::size_t nodes,
                                         Nanoseconds earliest) {
    ByteReader in(bytes);
    const std::uint64_t count = read_number(in);
    if (count > most) return Error{ErrorCode::corrupt, "a block has too many events"};
    std::vector<Event> events(static_cast<std::size_t>(count));
    if (!read_columns(in, nodes, earliest, events))
        return Error{ErrorCode::corrupt, "a block has an event that cannot be"};
    REFIT_CHECK(in.finish("a block of events"));
    return events;
}

}  // namespace refit
