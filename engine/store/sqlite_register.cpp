#include <sqlite3.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "engine/store/register.hpp"

namespace refit {

namespace {

constexpr std::uint64_t kSchemaVersion = 1;
constexpr int kBusyMilliseconds = 10'000;  // another process holds the lock for one small commit

/// Ours, because SQLite's own busy handler is not asked where waiting could deadlock: when two
/// handles turn a new file into a write-ahead log at once, or the last one to close cleans up.
template <class Attempt>
int retry_while_busy(Attempt attempt) {
    int code = attempt();
    for (int i = 0; code == SQLITE_BUSY && i < kBusyMilliseconds; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        code = attempt();
    }
    return code;
}

/// One connection. Every SQLite error becomes a MachineError that names the file.
class Database {
public:
    explicit Database(const std::filesystem::path& file) : file_(file.string()) {
        const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
        const int code = sqlite3_open_v2(file.c_str(), &handle_, flags, nullptr);
        if (code == SQLITE_OK) return;
        const std::string reason = handle_ != nullptr ? sqlite3_errmsg(handle_) : "no memory";
        sqlite3_close_v2(handle_);
        throw MachineError(file_ + ": cannot open the register: " + reason);
    }
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    ~Database() { sqlite3_close_v2(handle_); }

    sqlite3* handle() const { return handle_; }

    [[noreturn]] void fail(std::string_view reason) const {
        throw MachineError(file_ + ": register: " + std::string(reason));
    }
    void check(int code) const {
        if (code != SQLITE_OK) fail(sqlite3_errmsg(handle_));
    }
    /// Statements that may be run again after a refusal.
    void execute(const char* sql) const {
        check(retry_while_busy(
            [&] { return sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); }));
    }

private:
    std::string file_;
    sqlite3* handle_ = nullptr;
};

/// A prepared statement; reset() between uses.
class Statement {
public:
    Statement(const Database& database, const char* sql) : database_(database) {
        // Preparing reads the schema, which takes a lock as well.
        database_.check(retry_while_busy([&] {
            return sqlite3_prepare_v3(database_.handle(), sql, -1, SQLITE_PREPARE_PERSISTENT,
                                      &statement_, nullptr);
        }));
    }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;
    ~Statement() { sqlite3_finalize(statement_); }

    void bind(int place, std::uint64_t value) {
        REFIT_ASSERT(std::in_range<std::int64_t>(value));
        database_.check(sqlite3_bind_int64(statement_, place, static_cast<std::int64_t>(value)));
    }
    void bind(int place, const Hash256& hash) {
        database_.check(sqlite3_bind_blob(statement_, place, hash.bytes.data(),
                                          static_cast<int>(hash.bytes.size()), SQLITE_TRANSIENT));
    }

    /// True while there is a row.
    bool step() {
        const int code = retry_while_busy([this] {
            const int answer = sqlite3_step(statement_);
            if (answer == SQLITE_BUSY) sqlite3_reset(statement_);
            return answer;
        });
        if (code != SQLITE_ROW && code != SQLITE_DONE) {
            const std::string reason = sqlite3_errmsg(database_.handle());
            reset();
            database_.fail(reason);
        }
        return code == SQLITE_ROW;
    }
    void reset() { sqlite3_reset(statement_); }

    std::uint64_t number(int column) const {
        const std::int64_t value = sqlite3_column_int64(statement_, column);
        if (value < 0) database_.fail("holds a negative number");
        return static_cast<std::uint64_t>(value);
    }
    std::string text(int column) const {
        const unsigned char* const bytes = sqlite3_column_text(statement_, column);
        return bytes == nullptr ? "" : reinterpret_cast<const char*>(bytes);
    }
    Hash256 hash(int column) const {
        Hash256 hash;
        const void* const bytes = sqlite3_column_blob(statement_, column);
        if (sqlite3_column_bytes(statement_, column) != static_cast<int>(hash.bytes.size()))
            database_.fail("holds a hash that is not 32 bytes long");
        std::memcpy(hash.bytes.data(), bytes, hash.bytes.size());
        return hash;
    }

private:
    const Database& database_;
    sqlite3_stmt* statement_ = nullptr;
};

std::uint64_t read_number(const Database& database, const char* sql) {
    Statement statement(database, sql);
    if (!statement.step()) database.fail("a query without an answer");
    return statement.number(0);
}

/// Opens the journal mode we promise and writes the first decision into a new file.
void prepare_file(const Database& database, const Decision& initial) {
    {
        Statement journal(database, "PRAGMA journal_mode = WAL");
        if (!journal.step() || journal.text(0) != "wal")
            database.fail("this file system offers no write-ahead log");
    }
    database.execute("PRAGMA synchronous = FULL; BEGIN IMMEDIATE");
    const std::uint64_t schema = read_number(database, "PRAGMA user_version");
    if (schema == 0) {
        if (read_number(database, "SELECT count(*) FROM sqlite_schema") != 0)
            database.fail("the file is a database of something else");
        database.execute(
            "CREATE TABLE register (id INTEGER PRIMARY KEY CHECK (id = 0),"
            " epoch INTEGER NOT NULL, version INTEGER NOT NULL, delta BLOB NOT NULL) STRICT");
        database.execute(("PRAGMA user_version = " + std::to_string(kSchemaVersion)).c_str());
        Statement insert(database, "INSERT INTO register VALUES (0, 0, ?1, ?2)");
        insert.bind(1, initial.version);
        insert.bind(2, initial.delta);
        insert.step();
    } else if (schema != kSchemaVersion) {
        database.fail("the file has schema " + std::to_string(schema) + ", this program reads " +
                      std::to_string(kSchemaVersion));
    }
    database.execute("COMMIT");
}

/// Every change is one UPDATE of the one row: SQLite makes it atomic and durable by itself.
class SqliteRegister final : public Register {
public:
    explicit SqliteRegister(std::unique_ptr<Database> database) : database_(std::move(database)) {}

    std::uint64_t acquire() override {
        const std::lock_guard lock(mutex_);
        if (!acquire_.step()) database_->fail("holds no decision");
        const std::uint64_t epoch = acquire_.number(0);
        acquire_.step();  // a statement commits when it is done
        acquire_.reset();
        return epoch;
    }

    Decision read() const override {
        const std::lock_guard lock(mutex_);
        return read_row();
    }

    bool decide(std::uint64_t epoch, std::uint64_t from, const Decision& next) override {
        REFIT_ASSERT(next.version == from + 1);
        const std::lock_guard lock(mutex_);
        decide_.bind(1, epoch);
        decide_.bind(2, from);
        decide_.bind(3, next.version);
        decide_.bind(4, next.delta);
        decide_.step();
        decide_.reset();
        return sqlite3_changes(database_->handle()) == 1 || read_row() == next;
    }

private:
    Decision read_row() const {
        if (!read_.step()) database_->fail("holds no decision");
        const Decision decision{read_.number(0), read_.hash(1)};
        read_.reset();
        return decision;
    }

    mutable std::mutex mutex_;  // a statement serves one caller at a time
    std::unique_ptr<Database> database_;
    Statement acquire_{*database_,
                       "UPDATE register SET epoch = epoch + 1 WHERE id = 0 RETURNING epoch"};
    Statement decide_{*database_,
                      "UPDATE register SET version = ?3, delta = ?4"
                      " WHERE id = 0 AND epoch = ?1 AND version = ?2"};
    mutable Statement read_{*database_, "SELECT version, delta FROM register WHERE id = 0"};
};

}  // namespace

std::unique_ptr<Register> make_sqlite_register(const std::filesystem::path& file,
                                               const Decision& initial) {
    auto database = std::make_unique<Database>(file);
    prepare_file(*database, initial);
    return std::make_unique<SqliteRegister>(std::move(database));
}

}  // namespace refit
