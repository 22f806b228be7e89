import { sizeText } from './bytes.ts'

/** Bytes on disk, and on their way there. */
export type DiskMeasure = {
  readonly bytes: number
  /** Bytes that left the sources and are not on disk or not in the index yet: an estimate, rather too high. */
  readonly pendingBytes: number
  readonly freeBytes: number | null
}

export type DiskLimits = { readonly maxBytes: number | null; readonly minFreeBytes: number }

/** How much more fits, and which of the two limits applies. */
export type Room = { readonly bytes: number; readonly by: 'budget' | 'free space'; readonly measured: DiskMeasure }

const MB = 1e6
/** Reserve below the budget for temporary growth of database logs and checkpoints. */
const MARGIN = { share: 0.15, most: 64 * MB }
/** With less space than this, nothing is started. */
const LEAST = { share: 0.02, most: 16 * MB }
/** Space that must become free before sources resume; less would start and stop them repeatedly. */
const GO_ON = { share: 0.05, most: 256 * MB }

type Part = { readonly share: number; readonly most: number }

export function roomIn(measured: DiskMeasure, { maxBytes, minFreeBytes }: DiskLimits): Room {
  const { bytes, pendingBytes, freeBytes } = measured
  const inBudget =
    maxBytes === null ? Number.POSITIVE_INFINITY : maxBytes - part(MARGIN, maxBytes) - bytes - pendingBytes
  const isLookedAt = freeBytes !== null && minFreeBytes > 0
  const onDisk = isLookedAt ? freeBytes - minFreeBytes - pendingBytes : Number.POSITIVE_INFINITY
  const by = onDisk < inBudget ? 'free space' : 'budget'
  return { bytes: Math.min(inBudget, onDisk), by, measured }
}

export function isEnough({ bytes, by }: Room, { maxBytes, minFreeBytes }: DiskLimits, isPaused: boolean): boolean {
  const limit = by === 'budget' ? (maxBytes ?? 0) : minFreeBytes
  return bytes > part(LEAST, limit) + (isPaused ? part(GO_ON, limit) : 0)
}

/** Completes 'waits for …', and suggests what helps. */
export function reasonOf({ by, measured }: Room, { maxBytes, minFreeBytes }: DiskLimits): string {
  if (by === 'free space') {
    return (
      `free disk space: ${sizeText(measured.freeBytes ?? 0)} are left, and ${sizeText(minFreeBytes)} must stay free ` +
      '(minFreeDisk). Free some space, or set keep (--keep) to remove old data; the source then resumes'
    )
  }
  return (
    `space in the disk budget of ${sizeText(maxBytes ?? 0)}: ${sizeText(measured.bytes)} are used. Start again with a larger ` +
    'maxDisk (--max-disk 10GB, or none), set keep (--keep 1h) to remove old data, or remove runs; the source then resumes'
  )
}

const part = ({ share, most }: Part, of: number): number => Math.min(most, share * of)
