// SPDX-License-Identifier: Apache-2.0
// Castellan authors
// kafkajs behind the common command line of the interoperability tests (see README.md).
'use strict'
process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1'
const fs = require('fs')
const { CompressionCodecs, CompressionTypes, Kafka, PartitionAssigners, logLevel } = require('kafkajs')

const verb = process.argv[2]
const options = { codec: 'none', assignor: 'range' }
for (let i = 3; i + 1 < process.argv.length; i += 2) options[process.argv[i].slice(2)] = process.argv[i + 1]

// kafkajs brings gzip; the other codecs are pluggable.
const XERIAL = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1])
CompressionCodecs[CompressionTypes.Snappy] = () => {
  const snappy = require('snappyjs')
  return {
    compress: async encoder => snappy.compress(encoder.buffer),
    decompress: async buffer => {
      if (!buffer.subarray(0, 8).equals(XERIAL.subarray(0, 8))) return snappy.uncompress(buffer)
      const parts = []
      for (let at = 16; at < buffer.length;) {
        const size = buffer.readInt32BE(at)
        parts.push(snappy.uncompress(buffer.subarray(at + 4, at + 4 + size)))
        at += 4 + size
      }
      return Buffer.concat(parts)
    },
  }
}
CompressionCodecs[CompressionTypes.LZ4] = () => {
  const lz4 = require('lz4js')
  return {
    compress: async encoder => Buffer.from(lz4.compress(encoder.buffer)),
    decompress: async buffer => Buffer.from(lz4.decompress(buffer)),
  }
}
let zstdReady // kafkajs asks for the codec with each batch; its memory must be set up once
CompressionCodecs[CompressionTypes.ZSTD] = () => {
  const zstd = require('@bokuweb/zstd-wasm')
  const ready = zstdReady ??= zstd.init()
  return {
    compress: async encoder => { await ready; return Buffer.from(zstd.compress(encoder.buffer, 3)) },
    decompress: async buffer => { await ready; return Buffer.from(zstd.decompress(buffer)) },
  }
}
const TYPES = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, lz4: CompressionTypes.LZ4, zstd: CompressionTypes.ZSTD }

const kafka = new Kafka({ clientId: 'kafkajs', brokers: [options.bootstrap], logLevel: logLevel.ERROR })

// kafkajs gives headers as an object: a name that repeats becomes an array, and the order of different names is kept as first seen.
function headersObject(list) {
  const object = {}
  for (const [name, value] of list) {
    if (name in object) object[name] = [].concat(Array.isArray(object[name]) ? object[name] : [object[name]], [value])
    else object[name] = value
  }
  return object
}

function readRecords(path) {
  const data = fs.readFileSync(path)
  const records = []
  let at = 0
  const blob = () => {
    const size = data.readInt32BE(at)
    at += 4
    if (size < 0) return null
    at += size
    return data.subarray(at - size, at)
  }
  while (at < data.length) {
    const timestamp = data.readBigInt64BE(at)
    at += 8
    const key = blob()
    const value = blob()
    let left = data.readInt32BE(at)
    at += 4
    const headers = []
    for (; left > 0; left--) headers.push([blob().toString(), blob()])
    records.push({ partition: 0, timestamp: String(timestamp), key, value, headers: headersObject(headers) })
  }
  return records
}

function blobBytes(data) {
  if (data === null || data === undefined) return Buffer.from([255, 255, 255, 255])
  const size = Buffer.alloc(4)
  size.writeInt32BE(data.length)
  return Buffer.concat([size, data])
}

function recordBytes(message) {
  const timestamp = Buffer.alloc(8)
  timestamp.writeBigInt64BE(BigInt(message.timestamp))
  const pairs = []
  for (const [name, value] of Object.entries(message.headers)) {
    for (const one of Array.isArray(value) ? value : [value]) pairs.push([name, one])
  }
  const count = Buffer.alloc(4)
  count.writeInt32BE(pairs.length)
  return Buffer.concat([timestamp, blobBytes(message.key), blobBytes(message.value), count,
    ...pairs.flatMap(([name, value]) => [blobBytes(Buffer.from(name)), blobBytes(value)])])
}

async function produce() {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const records = readRecords(options.records)
  for (let at = 0; at < records.length; at += 1000) {
    await producer.send({ topic: options.topic, acks: -1, compression: TYPES[options.codec], messages: records.slice(at, at + 1000) })
  }
  await producer.disconnect()
}

// kafkajs reads in groups only.
async function consume() {
  const consumer = kafka.consumer({ groupId: `read-${options.topic}`, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topic: options.topic, fromBeginning: true })
  const parts = []
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, event => reject(event.payload.error))
    consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        for (const message of batch.messages) {
          if (parts.length >= Number(options.count)) break
          if (Number(message.offset) !== parts.length) reject(new Error(`offset ${message.offset} read where ${parts.length} was next`))
          parts.push(recordBytes(message))
        }
        if (parts.length >= Number(options.count)) resolve()
      },
    })
  })
  await consumer.disconnect()
  fs.writeFileSync(options.out, Buffer.concat(parts))
}

function event(fields) {
  process.stdout.write(JSON.stringify(fields) + '\n')
}

async function group() {
  const consumer = kafka.consumer({
    groupId: options.group, sessionTimeout: 10000, heartbeatInterval: 1000, maxWaitTimeInMs: 100,
    partitionAssigners: [PartitionAssigners.roundRobin],
  })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) =>
    event({ event: 'assigned', partitions: (payload.memberAssignment[options.topic] || []).sort() }))
  await consumer.connect()
  await consumer.subscribe({ topic: options.topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ topic, partition, message }) => {
      event({ event: 'record', partition, offset: Number(message.offset), key: message.key.toString() })
      await consumer.commitOffsets([{ topic, partition, offset: String(Number(message.offset) + 1) }])
    },
  })
  await new Promise(resolve => process.stdin.once('data', resolve).once('end', resolve)) // a q, or the end
  await consumer.disconnect()
  process.exit(0)
}

({ produce, consume, group })[verb]().catch(error => {
  console.error(error)
  process.exit(1)
})
