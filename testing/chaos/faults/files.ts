/** Faults of a SQLite file and of the disk below it. */
import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { temporaryFolder } from '../../folders.ts'
import { now } from '../journal.ts'
import type { FilePlace } from '../place.ts'
import type { Fault, Scene } from './fault.ts'

const LOSING_MS = 1_200
const SUFFIXES = ['', '-wal', '-shm']

const FILE = {
  engines: ['sqlite'],
  lane: 'database',
  reaches: [],
  missing: scene => fileOf(scene).whyNoDisk,
} as const satisfies Partial<Fault>

export const powerLoss: Fault = {
  ...FILE,
  name: 'power-loss',
  about: 'SQLite: the disk loses everything that was not synced (FS_IOC_SHUTDOWN), and all processes end',
  async inject(scene) {
    const { disk } = fileOf(scene)
    const from = now()
    await scene.place.turns.take(() =>
      scene.fleet.allDown(
        async () => await disk?.restorePower(),
        async () => await disk?.cutPower(),
      ),
    )
    scene.journal.write({ what: 'crash', fault: 'power-loss', scope: '', from, to: now() })
  },
}

export const diskFull: Fault = {
  ...FILE,
  name: 'disk-full',
  about: 'SQLite: the disk is full for a while',
  async inject(scene, random) {
    const { disk } = fileOf(scene)
    await disk?.fill()
    await delay(1_000 + random.below(2_000))
    disk?.free()
  },
}

export const restoredFile: Fault = {
  name: 'restored-copy',
  about: 'the data folder or file is replaced by an earlier copy',
  engines: ['sqlite'],
  lane: 'database',
  reaches: [],
  async inject(scene) {
    const { path } = fileOf(scene)
    using folder = temporaryFolder()
    const backup = join(folder.path, 'app.db')
    await withoutFile(scene, () => copy(path, backup))
    const from = now()
    await delay(LOSING_MS)
    await withoutFile(scene, () => copy(backup, path))
    scene.journal.write({ what: 'loss', fault: 'restored-copy', scope: 'default/', from, to: now() })
  },
}

const withoutFile = (scene: Scene, work: () => void): Promise<void> =>
  scene.place.turns.take(() => scene.fleet.allDown(async () => work()))

function copy(from: string, to: string): void {
  for (const suffix of SUFFIXES) {
    rmSync(to + suffix, { force: true })
    if (existsSync(from + suffix)) copyFileSync(from + suffix, to + suffix)
  }
}

function fileOf({ place }: Scene): FilePlace {
  if (place.file === undefined) throw new Error('This fault needs a SQLite file')
  return place.file
}
