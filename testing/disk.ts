/**
 * A disk of its own for a SQLite file: an ext4 file system in a file, mounted through a loop device. It can lose its power
 * (FS_IOC_SHUTDOWN drops everything that was not synced) and run full. Its blocks are smaller than a page of memory, as on
 * any small ext4. It needs root and a kernel that allows loop mounts.
 */
import { execFile } from 'node:child_process'
import { rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createFolder, removeFolder } from './folders.ts'
import { until } from './until.ts'
import { unwatchMount, watchMount } from './watchdog.ts'

const run = promisify(execFile)
const SIZE_MB = 128
/** EXT4_GOING_FLAGS_NOLOGFLUSH: not even the journal of the file system is written. */
const SHUT_DOWN =
  'sysopen(my $root, $ARGV[0], 0) or die $!; my $flags = pack("L", 2); ioctl($root, 0x8004587D, $flags) or die $!'

export class Disk implements AsyncDisposable {
  readonly path: string
  readonly #folder: string
  #image: string
  #lives = 1
  readonly #ballast: string

  /** A text says why this machine has none. */
  static async create(): Promise<Disk | string> {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'loop mounts need Linux and root'
    const folder = createFolder('tidemark-chaos-disk')
    const disk = new Disk(folder)
    try {
      await run('truncate', ['-s', `${SIZE_MB}M`, disk.#image])
      await run('mkfs.ext4', ['-q', '-F', '-m', '0', '-b', '1024', disk.#image])
      await mkdir(disk.path)
      await disk.#mount()
      return disk
    } catch (error) {
      unwatchMount(disk.path)
      removeFolder(folder)
      return `this machine allows no loop mount (${(error as Error).message.split('\n')[0]})`
    }
  }

  private constructor(folder: string) {
    this.#folder = folder
    this.#image = join(folder, 'disk.img')
    this.path = join(folder, 'mounted')
    this.#ballast = join(this.path, 'ballast')
  }

  /** From now on nothing is written, and everything that was not synced is lost. */
  async cutPower(): Promise<void> {
    await run('perl', ['-e', SHUT_DOWN, this.path])
  }

  /** Nobody may have a file open, or the disk stays busy. */
  async restorePower(): Promise<void> {
    await this.#unmount()
    // What is on the disk now, as a new one: a process elsewhere that inherited the mount would keep the dead one alive.
    const image = join(this.#folder, `disk-${++this.#lives}.img`)
    await run('cp', ['--sparse=always', this.#image, image])
    rmSync(this.#image)
    this.#image = image
    await this.#mount()
    // Its removal may not have been synced either.
    this.free()
  }

  /** Only `left` bytes are left until `free` is called. */
  async fill(left = 0): Promise<void> {
    // Otherwise the machine's own disk would be filled.
    if (statSync(this.path).dev === statSync(this.#folder).dev) throw new Error(`Somebody has unmounted ${this.path}`)
    const { bavail, bsize } = statfsSync(this.path)
    await run('fallocate', ['-l', String(Math.max(bavail - 1, 1) * bsize), this.#ballast]).catch(() => {}) // Others were quicker.
    try {
      for (let size = 0; size < SIZE_MB * 2 ** 20; size += 4_096) {
        writeFileSync(this.#ballast, Buffer.alloc(4_096), { flag: 'a' })
      }
    } catch {
      truncateSync(this.#ballast, statSync(this.#ballast).size - left) // Now it was full.
    }
  }

  free(): void {
    rmSync(this.#ballast, { force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#unmount()
    removeFolder(this.#folder)
  }

  async #mount(): Promise<void> {
    watchMount(this.path)
    await run('mount', ['-o', 'loop', this.#image, this.path])
  }

  async #unmount(): Promise<void> {
    // A process that was killed a moment ago may still hold its files.
    const isUnmounted = (): Promise<boolean> =>
      run('umount', [this.path]).then(
        () => true,
        () => false,
      )
    await until(isUnmounted, { what: `nobody to use ${this.path}` })
    unwatchMount(this.path)
  }
}
