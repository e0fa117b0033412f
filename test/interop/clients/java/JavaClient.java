// SPDX-License-Identifier: Apache-2.0
// Castellan authors
// Apache Kafka's own Java clients behind the common command line of the interoperability tests (see README.md).
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class JavaClient {
    static final Map<String, String> options = new HashMap<>(Map.of("codec", "none", "assignor", "range"));

    public static void main(String[] arguments) throws Exception {
        for (int i = 1; i + 1 < arguments.length; i += 2) {
            options.put(arguments[i].substring(2), arguments[i + 1]);
        }
        switch (arguments[0]) {
            case "produce" -> produce();
            case "consume" -> consume();
            case "transact" -> transact();
            default -> group();
        }
    }

    static Map<String, Object> settings(Map<String, Object> more) {
        Map<String, Object> all = new HashMap<>(more);
        all.put("bootstrap.servers", options.get("bootstrap"));
        return all;
    }

    static byte[] readBlob(DataInputStream in) throws IOException {
        int size = in.readInt();
        return size < 0 ? null : in.readNBytes(size);
    }

    static void writeBlob(DataOutputStream out, byte[] data) throws IOException {
        out.writeInt(data == null ? -1 : data.length);
        if (data != null) {
            out.write(data);
        }
    }

    static void produce() throws Exception {
        AtomicReference<Exception> failure = new AtomicReference<>();
        try (var in = new DataInputStream(new BufferedInputStream(new FileInputStream(options.get("records"))));
             var producer = new KafkaProducer<>(settings(Map.of("compression.type", options.get("codec"), "linger.ms", 20,
                     "batch.size", 65536, "max.request.size", 4 << 20)), new ByteArraySerializer(), new ByteArraySerializer())) {
            while (true) {
                long timestamp;
                try {
                    timestamp = in.readLong();
                } catch (EOFException end) {
                    break;
                }
                byte[] key = readBlob(in);
                byte[] value = readBlob(in);
                RecordHeaders headers = new RecordHeaders();
                for (int left = in.readInt(); left > 0; left--) {
                    String name = new String(readBlob(in), StandardCharsets.UTF_8);
                    headers.add(name, readBlob(in));
                }
                producer.send(new ProducerRecord<>(options.get("topic"), 0, timestamp < 0 ? null : timestamp, key, value, headers),
                        (metadata, error) -> {
                            if (error != null) {
                                failure.compareAndSet(null, error);
                            }
                        });
            }
            producer.flush();
        }
        if (failure.get() != null) {
            throw failure.get();
        }
    }

    static void consume() throws Exception {
        int count = Integer.parseInt(options.get("count"));
        TopicPartition partition = new TopicPartition(options.get("topic"), 0);
        try (var out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(options.get("out"))));
             var consumer = new KafkaConsumer<>(settings(Map.of()), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            for (int next = 0; next < count; ) {
                var found = consumer.poll(Duration.ofSeconds(30));
                if (found.isEmpty()) {
                    throw new IllegalStateException(next + " of " + count + " read");
                }
                for (var record : found) {
                    if (record.offset() != next) {
                        throw new IllegalStateException("offset " + record.offset() + " read where " + next + " was next");
                    }
                    out.writeLong(record.timestamp());
                    writeBlob(out, record.key());
                    writeBlob(out, record.value());
                    out.writeInt(record.headers().toArray().length);
                    for (var header : record.headers()) {
                        writeBlob(out, header.key().getBytes(StandardCharsets.UTF_8));
                        writeBlob(out, header.value());
                    }
                    next++;
                }
            }
        }
    }

    // Beyond the common verbs: `transact --topic T --id I --count N --end commit|abort|none` sends N records in one transaction;
    // none leaves it open, as a producer that dies does.
    static void transact() throws Exception {
        var producer = new KafkaProducer<>(settings(Map.of("transactional.id", options.get("id"), "transaction.timeout.ms", 900000)),
                new ByteArraySerializer(), new ByteArraySerializer());
        producer.initTransactions();
        producer.beginTransaction();
        for (int i = 0; i < Integer.parseInt(options.get("count")); i++) {
            producer.send(new ProducerRecord<>(options.get("topic"), ("in-transaction-" + i).getBytes(StandardCharsets.UTF_8)));
        }
        producer.flush();
        switch (options.get("end")) {
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            default -> Runtime.getRuntime().halt(0);
        }
        producer.close();
    }

    static class PrintAssignment implements ConsumerRebalanceListener {
        final TreeSet<Integer> owned = new TreeSet<>();

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            partitions.forEach(p -> owned.add(p.partition()));
            print();
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            partitions.forEach(p -> owned.remove(p.partition()));
            print();
        }

        void print() {
            System.out.println("{\"event\": \"assigned\", \"partitions\": " + owned + "}");
        }
    }

    static boolean stopRequested() throws IOException {
        return System.in.available() > 0 && System.in.read() == 'q';
    }

    static void group() throws Exception {
        String assignor = options.get("assignor").equals("range") ? "RangeAssignor" : "CooperativeStickyAssignor";
        Map<String, Object> more = new HashMap<>(Map.of("group.id", options.get("group"), "auto.offset.reset", "earliest", "enable.auto.commit", false));
        if (options.get("assignor").equals("uniform")) {
            more.put("group.protocol", "consumer");
        } else {
            more.putAll(Map.of("session.timeout.ms", 10000, "heartbeat.interval.ms", 1000,
                    "partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor));
        }
        if (options.containsKey("instance")) {
            more.put("group.instance.id", options.get("instance"));
        }
        try (var consumer = new KafkaConsumer<>(settings(more), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(options.get("topic")), new PrintAssignment());
            while (!stopRequested()) {
                var found = consumer.poll(Duration.ofMillis(100));
                for (var record : found) {
                    System.out.println("{\"event\": \"record\", \"partition\": " + record.partition() + ", \"offset\": " + record.offset()
                            + ", \"key\": \"" + new String(record.key(), StandardCharsets.UTF_8) + "\"}");
                }
                if (!found.isEmpty()) {
                    consumer.commitSync();
                }
            }
        }
    }
}
