import { readSync, writeSync } from 'node:fs'
import { SyncError } from '../../errors.ts'

/** SQLite defines the layout of the WAL: https://sqlite.org/fileformat2.html#walformat */
const HEADER = 32
const FRAME_HEADER = 24
const LITTLE_ENDIAN_SUMS = 0x377f0682
const BIG_ENDIAN_SUMS = 0x377f0683

type Sum = readonly [number, number]

/**
 * Rewrites the WAL with the same bytes, so that the next sync has to write all of it to disk. What is read may differ
 * from what was written, if the system dropped pages that it could not write; the checksums detect that, because each
 * frame's covers all frames before it. Call it while nobody writes to the WAL; `frames` is the number of frames it had
 * before.
 */
export function rewriteWal(fd: number, path: string, frames: number): void {
  const header = readAt(fd, HEADER, 0)
  // Emptied by a checkpoint, which has copied everything into the database file.
  if (header === undefined || frames === 0) return
  const isLittleEndian = header.readUInt32BE(0) === LITTLE_ENDIAN_SUMS
  if (!isLittleEndian && header.readUInt32BE(0) !== BIG_ENDIAN_SUMS) throw damaged(path)
  const add = (sum: Sum, bytes: Buffer): Sum => addTo(sum, bytes, isLittleEndian)
  let sum = add([0, 0], header.subarray(0, 24))
  if (!matches(sum, header, 24)) throw damaged(path)
  writeAt(fd, header, 0)
  const frameSize = FRAME_HEADER + header.readUInt32BE(8)
  for (let number = 0; ; number++) {
    const at = HEADER + number * frameSize
    const frame = readAt(fd, frameSize, at)
    const isOfThisLog = frame?.subarray(8, 16).equals(header.subarray(16, 24)) ?? false
    if (frame !== undefined && isOfThisLog) sum = add(add(sum, frame.subarray(0, 8)), frame.subarray(FRAME_HEADER))
    if (frame === undefined || !isOfThisLog || !matches(sum, frame, 16)) {
      if (number < frames) throw damaged(path)
      return
    }
    writeAt(fd, frame, at)
  }
}

const damaged = (path: string): SyncError =>
  new SyncError(
    `The disk has lost a part of ${path} that was written and not yet synced. Stop the processes that use the database, ` +
      'keep a copy of its files, and check the disk; when it is opened again, it has what was stored before the loss',
  )

function addTo([first, second]: Sum, bytes: Buffer, isLittleEndian: boolean): Sum {
  let [one, two] = [first, second]
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + (isLittleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)) + two) >>> 0
    two = (two + (isLittleEndian ? bytes.readUInt32LE(at + 4) : bytes.readUInt32BE(at + 4)) + one) >>> 0
  }
  return [one, two]
}

const matches = ([one, two]: Sum, bytes: Buffer, at: number): boolean =>
  bytes.readUInt32BE(at) === one && bytes.readUInt32BE(at + 4) === two

/** undefined if the file ends before that. */
function readAt(fd: number, length: number, position: number): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(length)
  let read = 0
  while (read < length) {
    const count = readSync(fd, bytes, read, length - read, position + read)
    if (count === 0) return undefined
    read += count
  }
  return bytes
}

function writeAt(fd: number, bytes: Buffer, position: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(fd, bytes, written, bytes.length - written, position + written)
  }
}
