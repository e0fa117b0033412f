// SPDX-License-Identifier: Apache-2.0
// Castellan authors
// librdkafka's C++ API behind the common command line of the interoperability tests (see README.md).
#include <librdkafka/rdkafkacpp.h>
#include <poll.h>
#include <unistd.h>  // STDIN_FILENO

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace {

std::map<std::string, std::string> options;

[[noreturn]] void fail(const std::string& message) {
    std::cerr << message << "\n";
    std::exit(1);
}

// One record of a record file (test/lib/records.py has the form). A null is an absent flag, since empty is another thing.
struct Blob {
    bool null = true;
    std::string data;
};

struct Record {
    int64_t timestamp = -1;
    Blob key, value;
    std::vector<std::pair<std::string, Blob>> headers;
};

class RecordFile {
public:
    explicit RecordFile(std::string data) : data_(std::move(data)) {}
    bool at_end() const { return position_ == data_.size(); }

    Record next() {
        Record record;
        record.timestamp = number(8);
        record.key = blob();
        record.value = blob();
        for (int64_t left = number(4); left > 0; left--) {
            Blob name = blob();
            record.headers.emplace_back(name.data, blob());
        }
        return record;
    }

private:
    int64_t number(int size) {
        uint64_t value = 0;
        for (int i = 0; i < size; i++) value = value << 8 | static_cast<uint8_t>(data_.at(position_++));
        return size == 4 ? static_cast<int32_t>(value) : static_cast<int64_t>(value);
    }
    Blob blob() {
        int64_t size = number(4);
        if (size < 0) return {};
        position_ += size;
        return {false, data_.substr(position_ - size, size)};
    }
    std::string data_;
    size_t position_ = 0;
};

void put_number(std::string& out, int64_t value, int size) {
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
}

void put_blob(std::string& out, const void* data, size_t size) {
    put_number(out, data == nullptr ? -1 : static_cast<int64_t>(size), 4);
    if (data != nullptr) out.append(static_cast<const char*>(data), size);
}

std::unique_ptr<RdKafka::Conf> settings(std::map<std::string, std::string> more) {
    std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
    std::string error;
    more["bootstrap.servers"] = options["bootstrap"];
    for (const auto& [key, value] : more) {
        if (conf->set(key, value, error) != RdKafka::Conf::CONF_OK) fail(error);
    }
    return conf;
}

struct CountFailures : RdKafka::DeliveryReportCb {
    int failed = 0;
    void dr_cb(RdKafka::Message& message) override {
        if (message.err() != RdKafka::ERR_NO_ERROR && failed++ == 0) std::cerr << message.errstr() << "\n";
    }
};

void produce() {
    CountFailures failures;
    std::string error;
    auto conf = settings({{"compression.type", options["codec"]}, {"enable.idempotence", "true"}, {"linger.ms", "20"}});
    conf->set("dr_cb", &failures, error);
    std::unique_ptr<RdKafka::Producer> producer(RdKafka::Producer::create(conf.get(), error));
    if (!producer) fail(error);
    std::ifstream in(options["records"], std::ios::binary);
    RecordFile file(std::string(std::istreambuf_iterator<char>(in), {}));
    while (!file.at_end()) {
        Record record = file.next();
        auto pointer = [](Blob& blob) { return blob.null ? nullptr : blob.data.data(); };
        for (;;) {
            RdKafka::Headers* headers = RdKafka::Headers::create();
            for (auto& [name, value] : record.headers) headers->add(name, pointer(value), value.data.size());
            auto result = producer->produce(options["topic"], 0, RdKafka::Producer::RK_MSG_COPY, pointer(record.value), record.value.data.size(),
                                            pointer(record.key), record.key.data.size(), record.timestamp, headers, nullptr);
            if (result == RdKafka::ERR_NO_ERROR) break;
            delete headers;  // only a produce that succeeds takes them over
            if (result != RdKafka::ERR__QUEUE_FULL) fail(RdKafka::err2str(result));
            producer->poll(100);
        }
        producer->poll(0);
    }
    if (producer->flush(120000) != RdKafka::ERR_NO_ERROR || failures.failed > 0) fail("not every record was delivered");
}

void consume() {
    std::string error, out;
    auto conf = settings({{"group.id", "unused"}, {"enable.auto.commit", "false"}, {"check.crcs", "true"}});
    std::unique_ptr<RdKafka::KafkaConsumer> consumer(RdKafka::KafkaConsumer::create(conf.get(), error));
    if (!consumer) fail(error);
    std::vector<RdKafka::TopicPartition*> from{RdKafka::TopicPartition::create(options["topic"], 0, 0)};
    consumer->assign(from);
    RdKafka::TopicPartition::destroy(from);
    int64_t count = std::stoll(options["count"]);
    for (int64_t next = 0; next < count; next++) {
        std::unique_ptr<RdKafka::Message> message(consumer->consume(30000));
        if (message->err() != RdKafka::ERR_NO_ERROR) fail(std::to_string(next) + " read: " + message->errstr());
        if (message->offset() != next) fail("offset " + std::to_string(message->offset()) + " read where " + std::to_string(next) + " was next");
        put_number(out, message->timestamp().timestamp, 8);
        put_blob(out, message->key_pointer(), message->key_len());
        put_blob(out, message->payload(), message->len());
        std::vector<RdKafka::Headers::Header> headers;
        if (message->headers() != nullptr) headers = message->headers()->get_all();
        put_number(out, static_cast<int64_t>(headers.size()), 4);
        for (const auto& header : headers) {
            std::string name = header.key();
            put_blob(out, name.data(), name.size());
            put_blob(out, header.value(), header.value_size());
        }
    }
    consumer->close();
    std::ofstream(options["out"], std::ios::binary) << out;
}

class PrintAssignment : public RdKafka::RebalanceCb {
public:
    void rebalance_cb(RdKafka::KafkaConsumer* consumer, RdKafka::ErrorCode code, std::vector<RdKafka::TopicPartition*>& partitions) override {
        bool cooperative = consumer->rebalance_protocol() == "COOPERATIVE";
        bool gained = code == RdKafka::ERR__ASSIGN_PARTITIONS;
        if (cooperative) {
            delete (gained ? consumer->incremental_assign(partitions) : consumer->incremental_unassign(partitions));
        } else if (gained) {
            consumer->assign(partitions);
        } else {
            consumer->unassign();
        }
        for (const auto* partition : partitions) {
            if (gained) {
                owned_.insert(partition->partition());
            } else {
                owned_.erase(partition->partition());
            }
        }
        std::string list;
        for (int partition : owned_) list += (list.empty() ? "" : ", ") + std::to_string(partition);
        std::cout << R"({"event": "assigned", "partitions": [)" << list << "]}" << std::endl;
    }

private:
    std::set<int> owned_;
};

bool stop_requested() {
    pollfd in{STDIN_FILENO, POLLIN, 0};
    return poll(&in, 1, 0) > 0;  // a q, or the end
}

void group() {
    PrintAssignment rebalance;
    std::string error;
    std::map<std::string, std::string> more{{"group.id", options["group"]}, {"auto.offset.reset", "earliest"},
                                            {"enable.auto.commit", "false"}, {"session.timeout.ms", "10000"},
                                            {"partition.assignment.strategy", options["assignor"]}};
    if (options.contains("instance")) more["group.instance.id"] = options["instance"];
    auto conf = settings(more);
    conf->set("rebalance_cb", &rebalance, error);
    std::unique_ptr<RdKafka::KafkaConsumer> consumer(RdKafka::KafkaConsumer::create(conf.get(), error));
    if (!consumer) fail(error);
    consumer->subscribe({options["topic"]});
    while (!stop_requested()) {
        std::unique_ptr<RdKafka::Message> message(consumer->consume(100));
        if (message->err() != RdKafka::ERR_NO_ERROR) continue;
        std::cout << R"({"event": "record", "partition": )" << message->partition() << R"(, "offset": )" << message->offset()
                  << R"(, "key": ")" << *message->key() << "\"}" << std::endl;
        consumer->commitSync(message.get());
    }
    consumer->close();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) fail("usage: produce|consume|group --NAME VALUE ...");
    options["codec"] = "none";
    options["assignor"] = "range";
    for (int i = 2; i + 1 < argc; i += 2) options[std::string(argv[i]).substr(2)] = argv[i + 1];
    std::string verb = argv[1];
    if (verb == "produce") {
        produce();
    } else if (verb == "consume") {
        consume();
    } else {
        group();
    }
}
