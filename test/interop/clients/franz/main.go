// SPDX-License-Identifier: Apache-2.0
// Castellan authors

// franz-go behind the common command line of the interoperability tests (see README.md).
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	bootstrap, topic, codec, records, out, group, assignor, instance string
	count                                                            int
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func client(more ...kgo.Opt) *kgo.Client {
	c, err := kgo.NewClient(append(more, kgo.SeedBrokers(bootstrap))...)
	check(err)
	return c
}

func readBlob(in io.Reader) []byte {
	var size int32
	check(binary.Read(in, binary.BigEndian, &size))
	if size < 0 {
		return nil
	}
	data := make([]byte, size)
	_, err := io.ReadFull(in, data)
	check(err)
	return data
}

func writeBlob(to io.Writer, data []byte) {
	if data == nil {
		binary.Write(to, binary.BigEndian, int32(-1))
		return
	}
	binary.Write(to, binary.BigEndian, int32(len(data)))
	to.Write(data)
}

func produce() {
	compression := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}[codec]
	c := client(kgo.ProducerBatchCompression(compression), kgo.ProducerLinger(20*time.Millisecond), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	file, err := os.Open(records)
	check(err)
	in := bufio.NewReader(file)
	var failure error
	var once sync.Once
	for {
		var timestamp int64
		err := binary.Read(in, binary.BigEndian, &timestamp)
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		record := &kgo.Record{Topic: topic, Timestamp: time.UnixMilli(timestamp), Key: readBlob(in), Value: readBlob(in)}
		var left int32
		check(binary.Read(in, binary.BigEndian, &left))
		for ; left > 0; left-- {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: string(readBlob(in)), Value: readBlob(in)})
		}
		c.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
			if err != nil {
				once.Do(func() { failure = err })
			}
		})
	}
	check(c.Flush(context.Background()))
	check(failure)
	c.Close()
}

func consume() {
	c := client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	file, err := os.Create(out)
	check(err)
	to := bufio.NewWriter(file)
	for next := 0; next < count; {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		fetches := c.PollFetches(ctx)
		cancel()
		check(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			if record.Offset != int64(next) {
				check(fmt.Errorf("offset %d read where %d was next", record.Offset, next))
			}
			binary.Write(to, binary.BigEndian, record.Timestamp.UnixMilli())
			writeBlob(to, record.Key)
			writeBlob(to, record.Value)
			binary.Write(to, binary.BigEndian, int32(len(record.Headers)))
			for _, header := range record.Headers {
				writeBlob(to, []byte(header.Key))
				writeBlob(to, header.Value)
			}
			next++
		})
	}
	check(to.Flush())
	c.Close()
}

// event prints one line of JSON; callbacks and the loop share standard output.
var printing sync.Mutex

func event(fields map[string]any) {
	line, _ := json.Marshal(fields)
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(string(line))
}

func member() {
	owned := map[int32]bool{}
	changed := func(gained bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			for _, partition := range partitions[topic] {
				if gained {
					owned[partition] = true
				} else {
					delete(owned, partition)
				}
			}
			list := []int{}
			for partition := range owned {
				list = append(list, int(partition))
			}
			sort.Ints(list)
			event(map[string]any{"event": "assigned", "partitions": list})
		}
	}
	balancer := kgo.GroupBalancer(kgo.RangeBalancer())
	if assignor != "range" {
		balancer = kgo.CooperativeStickyBalancer()
	}
	more := []kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.Balancers(balancer), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.SessionTimeout(10 * time.Second), kgo.HeartbeatInterval(time.Second),
		kgo.OnPartitionsAssigned(changed(true)), kgo.OnPartitionsRevoked(changed(false)), kgo.OnPartitionsLost(changed(false)),
		kgo.BlockRebalanceOnPoll()}
	if instance != "" {
		more = append(more, kgo.InstanceID(instance))
	}
	c := client(more...)
	stop, cancel := context.WithCancel(context.Background())
	go func() {
		os.Stdin.Read(make([]byte, 1)) // a q, or the end
		cancel()
	}()
	for stop.Err() == nil {
		fetches := c.PollFetches(stop)
		fetches.EachRecord(func(record *kgo.Record) {
			event(map[string]any{"event": "record", "partition": record.Partition, "offset": record.Offset, "key": string(record.Key)})
		})
		if fetches.NumRecords() > 0 {
			check(c.CommitUncommittedOffsets(context.Background()))
		}
		c.AllowRebalance()
	}
	c.Close()
}

func main() {
	flags := flag.NewFlagSet("franz", flag.ExitOnError)
	flags.StringVar(&bootstrap, "bootstrap", "", "")
	flags.StringVar(&topic, "topic", "", "")
	flags.StringVar(&codec, "codec", "none", "")
	flags.StringVar(&records, "records", "", "")
	flags.StringVar(&out, "out", "", "")
	flags.StringVar(&group, "group", "", "")
	flags.StringVar(&assignor, "assignor", "range", "")
	flags.StringVar(&instance, "instance", "", "")
	flags.IntVar(&count, "count", 0, "")
	check(flags.Parse(os.Args[2:]))
	map[string]func(){"produce": produce, "consume": consume, "group": member}[os.Args[1]]()
}
